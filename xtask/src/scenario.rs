//! `cargo xtask scenario [NAME]`: the built binary in whole situations.

use anyhow::{Result, bail};
use clap::Args;

use crate::run::{ModelArguments, fresh_folder, run_goal};
use crate::workspace::{cargo, run};

/// The name of the scenario with a real model.
const REAL: &str = "local-model";

/// The goal of the scenario with a real model: small enough for a 1.5B model, and its outcome can be seen.
const GOAL: &str = "Create the file sea.txt with a short poem about the sea";

/// Which scenario.
#[derive(Args)]
pub(crate) struct ScenarioArguments {
    /// Part of a scenario's name, or `local-model` for a run on a real model; all scripted ones by default
    name: Option<String>,
    #[command(flatten)]
    model: ModelArguments,
}

/// Runs the scenarios.
pub(crate) fn scenario(arguments: &ScenarioArguments) -> Result<()> {
    match arguments.name.as_deref() {
        Some(REAL) => real(&arguments.model),
        name => run(cargo(["test", "--package", "aime", "--test", "scenarios"]).args(name)),
    }
}

/// A real model is given a goal in an empty folder: the run must say that it reached it, and the file must be there.
fn real(model: &ModelArguments) -> Result<()> {
    let folder = fresh_folder("aime-scenario")?;
    let code = run_goal(GOAL, &folder, model, &["--unattended".into()])?;
    let file = folder.join("sea.txt");
    let written = std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0);
    if code != 0 || !written {
        let seen = if written { "was written" } else { "was not written" };
        bail!("scenario {REAL} failed: exit code {code}, sea.txt {seen}; look into {}", folder.display());
    }
    eprintln!("scenario {REAL} passed: exit code 0, {} was written", file.display());
    Ok(())
}
