//! `aime eval`.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use aime_evaluation::{
    Evaluated, Failure as TrialFailure, Outcome, OutcomeLog, Program, Suite, Summary, Task, Variant, page, prove, trials,
};
use clap::ValueEnum;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::write_whole;
use crate::{
    args::{EvalArgs, EvalFormat, Global},
    config,
    failure::{Failure, code},
    output::{self, DIM, GREEN, RED, count},
    wiring::Setup,
    words::{msg, said},
};

/// The suite that is built in.
const CORE: &str = "core";

pub(super) async fn evaluate(args: EvalArgs, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    if global.config.is_some() {
        return Err(Failure::usage("`aime eval` writes a --config file of its own for each trial")
            .hint("put these settings into your own config.toml, or into AIME__SECTION__KEY variables"));
    }
    let mut suite = suite(&args.suite)?;
    suite.notes.iter().for_each(|note| output::note(note));
    suite.tasks.retain(|task| is_wanted(task, &args));
    if let Some(wanted) = args.sample {
        suite.sample(usize::try_from(wanted).unwrap_or(usize::MAX));
    }
    if suite.tasks.is_empty() {
        return Err(Failure::usage("no task of this suite is asked for").hint("look at --task, --level, --held-out and --tuned"));
    }
    let folder = match &args.output_folder {
        Some(folder) => folder.clone(),
        None => setup.made_keep()?.join("evaluations").join(&suite.name),
    };
    let kept = |error: io::Error| Failure::new(code::USAGE, format!("cannot use {}: {error}", folder.display()));
    if args.fresh {
        forget(&folder).map_err(kept)?;
    }
    fs::create_dir_all(&folder).map_err(kept)?;
    if args.prove {
        return prove_all(&suite, &folder, args.output, setup).await;
    }
    let modes: Vec<String> = args.mode.iter().filter_map(|mode| Some(mode.to_possible_value()?.get_name().to_owned())).collect();
    let faults: Vec<_> = args.fault.iter().map(|fault| fault.wanted()).collect();
    let replanning: Vec<_> = args.replanning.iter().map(|replanning| replanning.0).collect();
    let of_agents = args.agent.iter().flat_map(|agent| Variant::of_agent(&agent.name, &args.model));
    // Beside other agents aime is tried in the modes that are named.
    let settings = named_settings(&args)?;
    let names: Vec<String> = args.settings.iter().map(|(name, _)| name.clone()).collect();
    let own = if modes.is_empty() && !args.agent.is_empty() {
        Vec::new()
    } else {
        Variant::all(&modes, &args.model, &names, &faults, &replanning)
    };
    let variants: Vec<Variant> = own.into_iter().chain(of_agents).collect();
    let all = trials(&suite, &variants, args.repeat);
    if all.is_empty() {
        return Err(
            Failure::usage("no task of this suite has what these faults need").hint("late files (`late`) or a wrong plan (`wrong_plan`)")
        );
    }
    let mut log = OutcomeLog::open(&folder.join("trials.jsonl"))
        .map_err(|error| kept(error).hint("mend or remove the line that is named, or begin anew with --fresh"))?;
    output::note(&msg!(
        "eval-begins",
        trials = count(all.len(), "trial"),
        ways = count(variants.len(), "way"),
        done = already(&all, &log),
        folder = folder.display()
    ));
    let program = Program {
        path: std::env::current_exe().map_err(Failure::internal)?,
        agents: args.agent.clone(),
        settings,
        environment: setup.environment.variables().collect(),
        scripts: setup.clean_environment(),
    };
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            output::note(&msg!("eval-stopping"));
            stop.cancel();
        }
    });
    let evaluated = program
        .evaluate(&all, &folder.join("trials"), usize::try_from(args.jobs).unwrap_or(1), &mut log, &cancel, tell)
        .await
        .map_err(|error| Failure::new(code::USAGE, error.to_string()))?;
    let summary = Summary::new(&suite, &variants, log.outcomes());
    let written = [("summary.md", summary.to_markdown()), ("summary.html", page(&summary))];
    for (name, text) in &written {
        write_whole(&folder.join(name), text, true).map_err(kept)?;
    }
    match args.output {
        EvalFormat::Text => output::result(&in_words(&summary.to_markdown())),
        EvalFormat::Json => output::json(&json!({"schema": "aime.evaluation/v1", "summary": summary, "trials": log.outcomes()}), false)?,
    }
    output::note(&msg!("eval-tables", file = folder.join("summary.html").display()));
    if evaluated.stopped {
        return Ok(code::INTERRUPTED);
    }
    if evaluated.without_model > 0 {
        output::note(&msg!("eval-without-model", trials = count(evaluated.without_model, "trial")));
        return Ok(code::MODEL);
    }
    Ok(0)
}

/// The settings that are to be tried, by their names.
fn named_settings(args: &EvalArgs) -> Result<BTreeMap<String, toml::Table>, Failure> {
    let mut all = BTreeMap::new();
    for (name, file) in &args.settings {
        let table = match file {
            Some(file) => toml::Table::try_from(config::read_alone(file)?).map_err(Failure::internal)?,
            None => toml::Table::new(),
        };
        if all.insert(name.clone(), table).is_some() {
            return Err(Failure::usage(format!("two settings are called {name:?}")).hint("give each a name of its own"));
        }
    }
    Ok(all)
}

/// Tables in the person's language: their heads, and what is told between them.
fn in_words(markdown: &str) -> String {
    let lines: Vec<&str> = markdown.trim_end().lines().collect();
    let is_head = |at: usize| lines.get(at + 1).is_some_and(|next| next.starts_with("|---"));
    let told = lines.iter().enumerate().map(|(at, line)| match line.strip_prefix("| ").and_then(|cells| cells.strip_suffix(" |")) {
        Some(cells) if is_head(at) => format!("| {} |", cells.split(" | ").map(said).collect::<Vec<_>>().join(" | ")),
        Some(_) => (*line).to_owned(),
        None => said(line).into_owned(),
    });
    told.collect::<Vec<_>>().join("\n")
}

fn suite(name: &str) -> Result<Suite, Failure> {
    if Path::new(name).is_dir() {
        return Suite::read(Path::new(name)).map_err(|error| Failure::usage(error.to_string()));
    }
    if name == CORE {
        return Suite::core().map_err(Failure::internal);
    }
    Err(Failure::usage(format!("there is no folder {name:?}, and no suite of that name is built in"))
        .hint("name a folder with a suite.toml, or `core`; how one is written: docs/src/guide/evaluation.md"))
}

fn is_wanted(task: &Task, args: &EvalArgs) -> bool {
    let named = args.task.is_empty() || args.task.iter().any(|text| task.name.contains(text) || task.category.contains(text));
    let of_level = args.level.is_empty() || args.level.contains(&task.level);
    named && of_level && (!args.held_out || task.held_out) && (!args.tuned || !task.held_out)
}

/// How many have ended.
fn already(all: &[aime_evaluation::Trial<'_>], log: &OutcomeLog) -> usize {
    let done = log.done();
    all.iter().filter(|trial| done.contains(&(trial.task.name.clone(), trial.variant.name(), trial.repeat))).count()
}

/// Removes what an evaluation has kept, and nothing else.
fn forget(folder: &Path) -> io::Result<()> {
    let parts: [PathBuf; 2] = [folder.join("trials"), folder.join("proofs")];
    for part in parts.iter().filter(|part| part.is_dir()) {
        fs::remove_dir_all(part)?;
    }
    for file in ["trials.jsonl", "summary.md", "summary.html"].map(|name| folder.join(name)) {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// One line for a trial that has ended.
fn tell(outcome: &Outcome, evaluated: Evaluated) {
    let how = match outcome.failure {
        None => format!("{GREEN}{}{GREEN:#}", msg!("eval-reached")),
        Some(failure) => format!("{RED}{}{RED:#}", words_of(failure)),
    };
    let Evaluated { done, all, .. } = evaluated;
    let tokens = outcome.input_tokens + outcome.output_tokens;
    let trial = msg!("eval-trial", task = outcome.task, variant = outcome.variant.name(), how = how);
    let cost = msg!("eval-cost", seconds = outcome.seconds, tokens = tokens);
    output::note(&format!("{DIM}{done}/{all}{DIM:#} {trial} {DIM}{cost}{DIM:#}"));
}

fn words_of(failure: TrialFailure) -> String {
    match failure {
        TrialFailure::FalseClaim => msg!("eval-false-claim"),
        TrialFailure::GivenUp => msg!("eval-given-up"),
        TrialFailure::Bound => msg!("eval-bound"),
        TrialFailure::Waiting => msg!("eval-waiting"),
        TrialFailure::Model => msg!("eval-model"),
        TrialFailure::Usage => msg!("eval-usage"),
        TrialFailure::Fault => msg!("eval-fault"),
    }
}

async fn prove_all(suite: &Suite, folder: &Path, form: EvalFormat, setup: &Setup) -> Result<u8, Failure> {
    let below = folder.join("proofs");
    if below.is_dir() {
        fs::remove_dir_all(&below).map_err(Failure::internal)?;
    }
    let proofs = prove(suite, &below, &setup.clean_environment()).await.map_err(Failure::internal)?;
    let bad = proofs.iter().filter(|proof| !proof.holds()).count();
    match form {
        EvalFormat::Json => {
            let told = proofs
                .iter()
                .map(|proof| json!({"task": proof.task, "solved": proof.solved, "undone": proof.undone, "holds": proof.holds()}));
            output::json(&json!({"schema": "aime.proofs/v1", "proofs": told.collect::<Vec<_>>()}), false)?;
        }
        EvalFormat::Text => {
            for proof in &proofs {
                let came_to = match (proof.solved, proof.undone) {
                    (_, true) => msg!("eval-passes-undone"),
                    (Some(false), _) => msg!("eval-fails-solved"),
                    (None, false) => msg!("eval-no-solution"),
                    (Some(true), false) => msg!("eval-good"),
                };
                output::result(&format!("{}: {came_to}", proof.task));
            }
        }
    }
    output::note(&msg!("eval-hold", good = proofs.len() - bad, checks = count(proofs.len(), "check")));
    Ok(u8::from(bad > 0))
}
