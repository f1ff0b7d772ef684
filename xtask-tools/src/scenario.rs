//! `cargo xtask scenario [NAME]`: tests the built binary in whole situations.

use std::fs;

use anyhow::{Result, bail};
use clap::Args;

use crate::acp;
use crate::agents;
use crate::browser;
use crate::documents;
use crate::mcp;
use crate::run::{ModelArguments, Prepared, run_goal};
use crate::telemetry;
use crate::temporal;
use crate::trial::{COST, Trial};
use xtask::fresh_folder;
use xtask::workspace::{cargo, run};

/// Scenario with a real model.
const REAL: &str = "local-model";

/// Scenario that runs one goal on a real model in every mode.
const MODES: &str = "modes";

/// Scenario with real MCP servers.
const SERVERS: &str = "mcp";

/// Scenario with public agents.
const AGENTS: &str = "agents";

/// Scenario with an editor that uses the official library.
const EDITOR: &str = "acp";

/// Scenario with a real browser.
const BROWSER: &str = "browser";

/// Scenario with a real collector.
const COLLECTOR: &str = "telemetry";

/// Scenario that runs the commands in the documents.
const DOCUMENTS: &str = "documents";

/// Scenario on a real engine.
const ENGINE: &str = "temporal";

/// Goal of the scenarios with a real model: small enough for a 1.5B model, and with a visible outcome.
const GOAL: &str = "Create the file sea.txt with a short poem about the sea";

/// Choice of a scenario.
#[derive(Args)]
pub(crate) struct ScenarioArguments {
    /// Part of a scenario's name, or on a real model: `local-model` for one run, `modes` for one in each mode; `mcp` drives official MCP servers,
    /// which are fetched; `agents` has public agents do tasks, which are fetched; `acp` is driven by an editor over the official TypeScript library, which is fetched; `browser` looks at a report and works
    /// with the dashboard in Chromium, which is installed; `telemetry` tells a collector, which is fetched; `temporal` carries runs out on an engine,
    /// which is fetched, and kills its processes; `documents` types at cargo what the documents show, for most of an hour; all scripted ones by
    /// default
    name: Option<String>,
    #[command(flatten)]
    engine: temporal::EngineArguments,
    #[command(flatten)]
    model: ModelArguments,
}

/// Runs the scenarios.
pub(crate) fn scenario(arguments: &ScenarioArguments) -> Result<()> {
    match arguments.name.as_deref() {
        Some(REAL) => real(&arguments.model),
        Some(MODES) => modes(&arguments.model),
        Some(SERVERS) => mcp::drive(),
        Some(AGENTS) => agents::drive(),
        Some(EDITOR) => acp::drive(),
        Some(BROWSER) => browser::drive(),
        Some(COLLECTOR) => telemetry::drive(),
        Some(ENGINE) => temporal::drive(&arguments.engine),
        Some(DOCUMENTS) => documents::drive(arguments.engine.part.as_deref()),
        name => run(cargo(["test", "--package", "aime", "--test", "scenarios"]).args(name)),
    }
}

/// Runs a goal on a real model in an empty folder. The run must report success, and the file must exist.
fn real(model: &ModelArguments) -> Result<()> {
    let folder = fresh_folder("aime-scenario")?;
    let code = run_goal(GOAL, &folder, model, &["--unattended".into()])?;
    let file = folder.join("sea.txt");
    let written = fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0);
    if code != 0 || !written {
        let seen = if written { "was written" } else { "was not written" };
        bail!("scenario {REAL} failed: exit code {code}, sea.txt {seen}; look into {}", folder.display());
    }
    eprintln!("scenario {REAL} passed: exit code 0, {} was written", file.display());
    Ok(())
}

/// Runs one goal on a real model in each mode, each in its own folder, and prints the results: aime's status, the file, the tasks, the
/// costs, and the answer. Fails if a mode missed the goal or reported it wrongly.
fn modes(model: &ModelArguments) -> Result<()> {
    let prepared = Prepared::new(model)?;
    let all = fresh_folder("aime-modes")?;
    eprintln!("goal: {GOAL}\neach mode has a folder in {}", all.display());
    println!("| mode | aime says | sea.txt | tasks | {COST} |\n|---|---|---|---|---|---|---|---|");
    let mut failed = Vec::new();
    let mut answers = Vec::new();
    for mode in ["direct", "simple", "complex", "emergent"] {
        let folder = all.join(mode);
        fs::create_dir(&folder)?;
        let trial = Trial::run(&prepared, &folder, GOAL, ["--mode", mode, "--timeout", "10m"])?;
        let bytes = fs::metadata(folder.join("sea.txt")).map_or(0, |file| file.len());
        let tasks = trial.tasks().join(", ");
        println!("| {mode} | {} | {bytes} bytes | {tasks} | {} |", trial.status(), trial.cost());
        answers.push(format!("{mode}: {}", trial.error().unwrap_or(trial.answer()).trim()));
        if trial.status() != "completed" || bytes == 0 {
            failed.push(mode);
        }
    }
    println!("\n{}", answers.join("\n"));
    if failed.is_empty() { Ok(()) } else { bail!("scenario {MODES} failed in {}; look into {}", failed.join(", "), all.display()) }
}
