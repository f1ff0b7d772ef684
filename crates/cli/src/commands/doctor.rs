//! `aime doctor`: what works here, what does not, and the mend.

use std::{sync::Arc, time::Duration};

use aime_llm::{ChatRequest, Message};
use aime_sandbox::probe;

use crate::{
    failure::{Failure, code},
    models,
    output::{self, GREEN, RED, YELLOW},
    wiring::Setup,
};

/// How long a model may take to say a word.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) async fn doctor(setup: &Setup) -> Result<u8, Failure> {
    let good = |what: &str, detail: &str| output::result(&format!("{GREEN}works{GREEN:#}  {what}: {detail}"));
    let bad = |what: &str, detail: &str, mend: &str| output::result(&format!("{RED}broken{RED:#} {what}: {detail}\n       mend: {mend}"));
    let missing =
        |what: &str, detail: &str, mend: &str| output::result(&format!("{YELLOW}absent{YELLOW:#} {what}: {detail}\n       mend: {mend}"));
    let mut broken = false;

    good("configuration", &setup.sources.join(" < "));
    match setup.journal() {
        Ok(journal) => good("journal", &journal.path().display().to_string()),
        Err(failure) => {
            broken = true;
            bad("journal", &failure.message, failure.hint.as_deref().unwrap_or("mend the rights of the working folder"));
        }
    }
    for protection in probe() {
        let what = format!("{}: {}", protection.name, protection.detail);
        if protection.enforced {
            good("confinement", &what);
        } else {
            missing("confinement", &what, "run aime in a container or as another user where this matters");
        }
    }
    for (program, tool) in [("bash", "bash"), ("python3", "python")] {
        match find_program(setup, program) {
            Some(path) => good("tool", &format!("{tool} ({path})")),
            None => missing("tool", &format!("{tool} needs {program}"), &format!("install {program}")),
        }
    }
    let model = check_model(setup).await;
    match &model {
        Ok(detail) => good("model", detail),
        Err(failure) => bad("model", &failure.message, failure.hint.as_deref().unwrap_or("see `aime models list`")),
    }
    Ok(match model {
        _ if broken => code::USAGE,
        Err(failure) => failure.code,
        Ok(_) => 0,
    })
}

fn find_program(setup: &Setup, program: &str) -> Option<String> {
    let path = setup.environment.text("PATH")?;
    let found = std::env::split_paths(path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())?;
    Some(found.display().to_string())
}

/// Asks the default model for one word.
async fn check_model(setup: &Setup) -> Result<String, Failure> {
    let choice = models::choose(&setup.config, &setup.environment, None)?.ok_or_else(models::none_configured)?;
    let model = models::build(&choice, &setup.environment)?.role("default");
    let request = ChatRequest {
        messages: vec![Arc::new(Message::User { content: "Answer with the one word: ready".to_owned() })],
        max_output_tokens: Some(16),
        ..ChatRequest::default()
    };
    let answer = tokio::time::timeout(PATIENCE, model.complete(request)).await;
    let answer = answer.map_err(|_| Failure::new(code::MODEL, format!("{} said nothing within {} s", model.name(), PATIENCE.as_secs())))?;
    match answer {
        Ok(response) => Ok(format!("{} answers as {} ({})", model.name(), response.model, choice.because)),
        Err(error) => Err(Failure { hint: error.hint(), ..Failure::caused(code::MODEL, &error) }),
    }
}
