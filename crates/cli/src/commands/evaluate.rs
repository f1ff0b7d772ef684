//! `aime eval`.

use std::{collections::BTreeMap, io, path::Path};

use aime_evaluation::{
    Evaluated, EvaluationFolder, Failure as TrialFailure, FolderError, ModelInUse, NamedSettings, Outcome, OutcomeLog, Program, Sandbox,
    Scripts, Suite, Summary, Task, Variant, page, prove, remove_tree, trials,
};
use aime_messages::{Describe, Language, Message, message};
use aime_runs::{
    Environment, RunsError, Setup,
    config::{self, ModelConfig, Provider, SandboxMode},
    models, write_whole,
};
use clap::ValueEnum;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::models_in_use::by_flag;
use crate::{
    args::{EvalArgs, EvalFormat, Global},
    failure::{Failure, code},
    i18n::{self, msg, print},
    output::{self, DIM, GREEN, RED, count},
};

/// Number of output lines shown of a check that fails after the solution.
const PROOF_LINES: usize = 10;
/// Name of the built-in suite.
const CORE: &str = "core";

pub(super) async fn evaluate(args: EvalArgs, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    if global.config.is_some() {
        return Err(Failure::usage(message!("eval-config")).hint(message!("eval-config-hint")));
    }
    let mut suite = suite(&args.suite)?;
    suite.notes.iter().for_each(|note| output::note(&print(note)));
    suite.tasks.retain(|task| is_wanted(task, &args));
    if let Some(wanted) = args.sample {
        suite.sample(usize::try_from(wanted).unwrap_or(usize::MAX));
    }
    if suite.tasks.is_empty() {
        return Err(Failure::usage(message!("eval-none")).hint(message!("eval-none-hint")));
    }
    let folder = match &args.output_folder {
        Some(folder) => folder.clone(),
        None => setup.create_data_folder()?.join("evaluations").join(&suite.name),
    };
    let opened = EvaluationFolder::open(folder).map_err(unusable)?;
    let folder = opened.path();
    let kept = |error: io::Error| Failure::new(code::USAGE, message!("eval-unusable", folder = folder.display(), error));
    // A trial works in its own folder, where no project file is read.
    let of_trials = setup.opener().clone().config_file(None).open(Some(folder))?;
    if setup.places.project.is_file() {
        output::note(&msg!("eval-project", file = setup.places.project.display()));
    }
    if args.verify_checks {
        return prove_all(&suite, folder, args.output, &of_trials).await;
    }
    let modes: Vec<String> = args.mode.iter().filter_map(|mode| Some(mode.to_possible_value()?.get_name().to_owned())).collect();
    let faults: Vec<_> = args.fault.iter().map(|fault| fault.wanted()).collect();
    let replanning: Vec<_> = args.replanning.iter().map(|replanning| replanning.0).collect();
    let of_agents = args.agent.iter().flat_map(|agent| Variant::of_agent(&agent.name, &args.model));
    // In a comparison with other agents, aime runs in the named modes.
    let settings = named_settings(&args)?;
    let names: Vec<String> = args.settings.iter().map(|(name, _)| name.clone()).collect();
    let of_aime = args.fault.len() + args.replanning.len() + args.settings.len() > 0;
    let own = if modes.is_empty() && !args.agent.is_empty() {
        if of_aime {
            return Err(Failure::usage("faults, triggers and settings are aime's own, and agents are tried without them")
                .hint("name a mode with --mode, to have aime tried beside them"));
        }
        Vec::new()
    } else {
        Variant::all(&modes, &args.model, &names, &faults, &replanning)
    };
    if of_aime && !args.agent.is_empty() {
        output::note(&msg!("eval-agents-without"));
    }
    let variants: Vec<Variant> = own.into_iter().chain(of_agents).collect();
    let mut folders = BTreeMap::new();
    for variant in &variants {
        if let Some(other) = folders.insert(variant.file_name(), variant.name()) {
            return Err(Failure::usage(format!("two ways are called {:?} and {other:?}", variant.name()))
                .hint("name each mode, model and fault once, and give agents and settings names of their own"));
        }
    }
    let all = trials(&suite, &variants, args.repeat);
    if all.is_empty() {
        return Err(Failure::usage(message!("eval-no-fault")).hint(message!("eval-no-fault-hint")));
    }
    if args.fresh {
        opened.clear().map_err(kept)?;
    }
    let mut log = OutcomeLog::open(&folder.join("trials.jsonl")).map_err(|error| kept(error).hint(message!("eval-line")))?;
    let program = Program {
        path: std::env::current_exe().map_err(Failure::internal)?,
        agents: args.agent.clone(),
        settings,
        environment: setup.environment.variables().collect(),
        models: models_in_use(&args.model, &of_trials)?,
        scripts: scripts(&of_trials),
    };
    output::note(&msg!(
        "eval-begins",
        trials = count(all.len(), "trial"),
        ways = count(variants.len(), "way"),
        done = all.iter().filter(|trial| program.has_tried(trial, &log)).count(),
        folder = folder.display()
    ));
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            output::note(&msg!("eval-stopping"));
            stop.cancel();
        }
    });
    let mut why = None;
    let on_outcome = |outcome: &Outcome, evaluated| print_trial(outcome, evaluated, &mut why);
    let evaluated = program
        .evaluate(&all, &folder.join("trials"), usize::try_from(args.jobs).unwrap_or(1), &mut log, &cancel, on_outcome)
        .await
        .map_err(|error| Failure::new(code::USAGE, error.to_string()))?;
    let outcomes = program.outcomes_of(&all, &log);
    let summary = Summary::new(&suite, &variants, &outcomes);
    let written = [("summary.md", summary.to_markdown(Language::English)), ("summary.html", page(&summary))];
    // Without new trials, existing tables are worth more than empty ones.
    for (name, text) in written.iter().filter(|_| !outcomes.is_empty()) {
        write_whole(&folder.join(name), text, true).map_err(kept)?;
    }
    match args.output {
        EvalFormat::Text => output::result(summary.to_markdown(i18n::language()).trim_end()),
        EvalFormat::Json => output::json(&json!({"schema": "aime.evaluation/v1", "summary": summary, "trials": outcomes}), false)?,
    }
    if !outcomes.is_empty() {
        output::note(&msg!("eval-tables", file = folder.join("summary.html").display()));
    }
    if evaluated.stopped {
        return Ok(code::INTERRUPTED);
    }
    if evaluated.wrong_use > 0 {
        output::note(&msg!("eval-wrong-use", trials = count(evaluated.wrong_use, "trial")));
    }
    if evaluated.without_model > 0 {
        output::note(&msg!("eval-without-model", trials = count(evaluated.without_model, "trial")));
        if evaluated.skipped > 0 {
            output::note(&msg!("eval-skipped", trials = count(evaluated.skipped, "trial")));
        }
        return Ok(code::MODEL);
    }
    Ok(if evaluated.wrong_use > 0 { code::USAGE } else { 0 })
}

/// Returns the settings to be tried, by name.
fn named_settings(args: &EvalArgs) -> Result<BTreeMap<String, NamedSettings>, Failure> {
    let mut all = BTreeMap::new();
    for (name, file) in &args.settings {
        let table = match file {
            Some(file) => toml::Table::try_from(config::read_alone(file).map_err(RunsError::from)?).map_err(Failure::internal)?,
            None => toml::Table::new(),
        };
        let settings =
            NamedSettings::new(table).map_err(|error| Failure::usage(format!("an extension of the settings {name:?}: {error}")))?;
        if all.insert(name.clone(), settings).is_some() {
            return Err(Failure::usage(format!("two settings are called {name:?}")).hint("give each a name of its own"));
        }
    }
    Ok(all)
}

fn suite(name: &str) -> Result<Suite, Failure> {
    if Path::new(name).is_dir() {
        return Suite::read(Path::new(name)).map_err(|error| Failure::usage(&error));
    }
    if name == CORE {
        return Suite::core().map_err(Failure::internal);
    }
    Err(Failure::usage(message!("eval-no-folder", name = format!("{name:?}"))).hint(message!("eval-name")))
}

fn is_wanted(task: &Task, args: &EvalArgs) -> bool {
    let named = args.task.is_empty() || args.task.iter().any(|text| task.name.contains(text) || task.category.contains(text));
    let of_level = args.level.is_empty() || args.level.contains(&task.level);
    named && of_level && (!args.held_out || task.held_out) && (!args.tuned || !task.held_out)
}

fn unusable(error: FolderError) -> Failure {
    match error {
        FolderError::Foreign(part) => Failure::usage(message!("eval-foreign", folder = part.display())).hint(message!("eval-foreign-hint")),
        FolderError::Busy(_) => Failure::usage(Message::text(error)).hint("wait for its end, or keep this one elsewhere with -o"),
        FolderError::Unusable { path, source } => Failure::usage(message!("eval-unusable", folder = path.display(), error = source)),
    }
}

/// Returns the configured model and the named ones.
fn models_in_use(named: &[String], setup: &Setup) -> Result<BTreeMap<Option<String>, ModelInUse>, Failure> {
    let names = std::iter::once(None).chain(named.iter().map(Some));
    let used = names.map(|name| {
        let chosen = models::choose(&setup.config, &setup.environment, name.map(|name| by_flag(name)))?;
        let model = chosen.and_then(|choice| choice.models.get("default").map(|model| in_use(model, &setup.environment)));
        Ok(model.map(|model| (name.cloned(), model)))
    });
    Ok(used.collect::<Result<Vec<_>, Failure>>()?.into_iter().flatten().collect())
}

/// Describes a model for other programs. The key is that of the described server, to which aime sends it too.
fn in_use(config: &ModelConfig, environment: &Environment) -> ModelInUse {
    let base_url = (config.provider != Provider::Local).then(|| models::server(config, environment).0);
    let variable = models::key_variable(config, environment).filter(|_| base_url.is_some());
    let key = variable.and_then(|name| environment.text(&name)).map(Into::into);
    ModelInUse { name: models::model_name(config), base_url, key, max_output_tokens: config.max_output_tokens }
}

/// Returns the environment of checks: the configured sandbox, own folders, no network.
fn scripts(setup: &Setup) -> Scripts {
    let sandbox = &setup.config.sandbox;
    let sandbox = Sandbox { off: sandbox.mode == SandboxMode::Off, allow_missing: sandbox.allow_missing().collect() };
    Scripts { environment: setup.clean_environment(), sandbox }
}

/// Prints one line for a finished trial. The reason why one could not be made follows below, unless it was printed last.
fn print_trial(outcome: &Outcome, evaluated: Evaluated, last_error: &mut Option<String>) {
    let how = match outcome.failure {
        None => format!("{GREEN}{}{GREEN:#}", msg!("eval-reached")),
        Some(failure) => format!("{RED}{}{RED:#}", print(&failure.describe())),
    };
    let Evaluated { finished: done, all, .. } = evaluated;
    let tokens = outcome.tokens().map_or_else(|| "–".to_owned(), |tokens| tokens.to_string());
    let trial = msg!("eval-trial", task = outcome.task, variant = outcome.variant.name(), how);
    let cost = msg!("eval-cost", seconds = outcome.seconds, tokens);
    output::note(&format!("{DIM}{done}/{all}{DIM:#} {trial} {DIM}{cost}{DIM:#}"));
    let why = outcome.error.as_ref().filter(|_| outcome.failure.is_some_and(TrialFailure::is_of_the_set_up));
    if let Some(why) = why.filter(|why| last_error.as_ref() != Some(*why)) {
        why.lines().for_each(|line| output::note(&format!("  {line}")));
        *last_error = Some(why.clone());
    }
}

async fn prove_all(suite: &Suite, folder: &Path, form: EvalFormat, setup: &Setup) -> Result<u8, Failure> {
    let below = folder.join("proofs");
    remove_tree(&below).map_err(|error| Failure::new(code::USAGE, format!("cannot remove {}: {error}", below.display())))?;
    let proofs = prove(suite, &below, &scripts(setup)).await.map_err(Failure::internal)?;
    let bad = proofs.iter().filter(|proof| !proof.is_proven()).count();
    match form {
        EvalFormat::Json => {
            let reports = proofs
                .iter()
                .map(|proof| json!({"task": proof.task, "solved": proof.solved, "undone": proof.undone, "holds": proof.is_proven()}));
            output::json(&json!({"schema": "aime.proofs/v1", "proofs": reports.collect::<Vec<_>>()}), false)?;
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
                // The end of the output explains the failure.
                let lines: Vec<&str> = proof.output.iter().flat_map(|text| text.trim_end().lines()).collect();
                lines.iter().skip(lines.len().saturating_sub(PROOF_LINES)).for_each(|line| output::result(&format!("  {line}")));
            }
        }
    }
    output::note(&msg!("eval-hold", good = proofs.len() - bad, checks = count(proofs.len(), "check")));
    Ok(u8::from(bad > 0))
}
