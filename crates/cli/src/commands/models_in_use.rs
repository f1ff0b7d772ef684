//! Prints the models in use.

use aime_messages::{Describe, Message};
use aime_orchestrator::{Bounds, Models};
use aime_runs::{Setup, models};

use crate::{
    failure::Failure,
    hints,
    i18n::{msg, print},
    notices::model_line,
    output::{self, BOLD},
    screen::column,
};

/// Returns the model that `--model` names.
pub(super) fn by_flag(name: &str) -> models::NamedModel<'_> {
    models::NamedModel { name, source: Message::text("--model") }
}

/// Returns the models that are available for a replan when the run needs none; this downloads nothing.
pub(super) fn at_hand(choice: Option<&models::Choice>, setup: &Setup) -> Option<Models> {
    let found = choice.and_then(|choice| Some((choice, models::build(choice, setup).ok()?)));
    print_model(found.as_ref().map(|(choice, _)| *choice), setup);
    found.map(|(_, models)| models)
}

/// Names the models that a cost limit does not cover.
pub(super) fn print_unpriced(bounds: &Bounds, choice: Option<&models::Choice>, setup: &Setup) -> Result<(), Failure> {
    let Some(choice) = choice.filter(|_| bounds.max_cost_usd.is_some()) else { return Ok(()) };
    let unpriced: Vec<String> = models::unpriced(choice, setup)?.into_iter().map(|name| format!("models.{name}")).collect();
    if !unpriced.is_empty() {
        let settings: Vec<String> = unpriced.iter().map(|model| format!("{model}.prices")).collect();
        let (models, settings) = (unpriced.join(", "), settings.join(", "));
        output::note(&msg!("cost-bound", models, settings));
    }
    Ok(())
}

/// Prints the model in use with the reason and the sandbox, then the notes that were held back for them, then those on skills.
pub(super) fn print_model(choice: Option<&models::Choice>, setup: &Setup) {
    let sandbox = format!("{}{}", column(&format!("{BOLD}{}{BOLD:#}", msg!("head-sandbox")), 8), print(&setup.confinement().describe()));
    output::first_note(&format!("{}\n{sandbox}", model_line(choice, setup)));
    setup.skills().notes.iter().for_each(|note| output::note(&print(note)));
    for missing in setup.missing_skills().unwrap_or_default() {
        output::note(&format!(
            "{}: {}",
            print(&missing.message),
            missing.hint.as_ref().map(|hint| print(&hints::hint(hint))).unwrap_or_default()
        ));
    }
}
