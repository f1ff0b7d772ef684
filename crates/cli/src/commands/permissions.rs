//! `aime permissions`.

use aime_messages::message;
use aime_runs::{Consent, Consents, Setup};
use serde_json::json;

use crate::{
    args::{PermissionsCommand, PermissionsFormat},
    failure::Failure,
    i18n::{msg, word_name},
    output::{self, BOLD, DIM, plain},
    screen::{column, moment, rfc3339},
};

pub(super) fn permissions(command: Option<PermissionsCommand>, form: PermissionsFormat, setup: &Setup) -> Result<u8, Failure> {
    let consents = setup.consents();
    match command.unwrap_or(PermissionsCommand::List) {
        PermissionsCommand::List => list(consents.as_ref(), form, setup)?,
        PermissionsCommand::Forget { number, .. } => {
            let gone = consents.map(|consents| consents.forget(number)).transpose()?.unwrap_or_default();
            if gone.is_empty() && number.is_some() {
                return Err(Failure::usage(message!("permissions-number")).hint(message!("permissions-list")));
            }
            for consent in &gone {
                output::note(&msg!("permissions-forgotten", rule = plain(&consent.rule)));
            }
            if gone.is_empty() {
                output::note(&msg!("permissions-nothing"));
            }
        }
    }
    Ok(0)
}

fn list(consents: Option<&Consents>, form: PermissionsFormat, setup: &Setup) -> Result<(), Failure> {
    let remembered = consents.map(Consents::list).transpose()?.unwrap_or_default();
    let config = &setup.config.permissions;
    let lists = [("deny", &config.deny), ("ask", &config.ask), ("allow", &config.allow)];
    if form == PermissionsFormat::Json {
        let document =
            |(number, consent): (usize, &Consent)| json!({"number": number + 1, "rule": consent.rule, "time": rfc3339(consent.at)});
        let remembered: Vec<_> = remembered.iter().enumerate().map(document).collect();
        return output::json(
            &json!({"approve": config.approve, "deny": config.deny, "ask": config.ask, "allow": config.allow, "remembered": remembered}),
            true,
        );
    }
    let head = |name: &str| column(&format!("{BOLD}{}{BOLD:#}", word_name("permissions", name)), 12);
    let row = |name: &str, text: &str| output::result(&format!("{}{}", head(name), plain(text)));
    row("mode", serde_json::to_value(config.approve).ok().as_ref().and_then(|mode| mode.as_str()).unwrap_or_default());
    for (name, rules) in lists {
        rules.iter().for_each(|rule| row(name, rule));
    }
    for (place, consent) in remembered.iter().enumerate() {
        let when = moment(consent.at);
        output::result(&format!("{}{:>2}  {}  {DIM}{when}{DIM:#}", head("remembered"), place + 1, plain(&consent.rule)));
    }
    match consents {
        None => output::note(&msg!("permissions-no-place")),
        Some(consents) if remembered.is_empty() => {
            output::note(&msg!("permissions-none", file = consents.file().display()));
        }
        Some(_) => {}
    }
    Ok(())
}
