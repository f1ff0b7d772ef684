//! `aime run`.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use aime_durable::{Clock, JournalError, SystemClock};
use aime_orchestrator::{
    Bounds, FailureCode, Models, Orchestrator, OrchestratorError, PublishedEvent, RunControl, RunFailure, RunRequest, RunResult,
    RunSettings, view,
};
use aime_progress::{Plan, PlanMode, ProgressEvent, ProgressState, RunId};
use aime_tools::Approval;

use super::{
    check::{checker_parts, told},
    plan::plan_here,
    read_goal, read_images, read_text,
    review::{editor, review},
    runs::output_of,
    showing::{Shown, finish_screen, is_first, show, stopped_twice, teach},
};
use crate::{
    args::{ApproveArg, BoundArgs, Global, ModeArg, Output, RunArgs},
    config::{Config, ModeConfig},
    consents::Consents,
    failure::{Failure, code},
    models,
    output::{self, BOLD, DIM, count},
    screen::{column, span},
    wiring::Setup,
    words::{msg, named, said},
};

pub(super) async fn run(args: RunArgs, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let (run, form) = (run_id(args.run_id.as_deref(), setup)?, args.output);
    begin(args, run.clone(), global, setup).await.map_err(|failure| told_as_result(failure, form, |failed| RunResult::unbegun(run, failed)))
}

async fn begin(args: RunArgs, run: RunId, global: &Global, setup: &Setup) -> Result<u8, Failure> {
    let plan = args.plan.as_deref().map(|path| read_plan(path, setup)).transpose()?;
    let goal = match (&args.goal, &args.goal_file, &plan) {
        (Some(goal), _, _) => read_goal(goal)?,
        (None, Some(file), _) => read_goal(&read_text(file, &msg!("goal-of-file", file = file.display()))?)?,
        (None, None, Some(plan)) if !plan.goal.is_empty() => plan.goal.clone(),
        (None, None, Some(_)) => "carry out the plan".to_owned(),
        (None, None, None) => return Err(Failure::usage("no goal").hint("aime run \"what is to be reached\"")),
    };
    let images = read_images(&args.image)?;
    if args.review {
        // A missing editor is told before a plan is paid for.
        editor(setup)?;
    }
    let elsewhere = is_elsewhere(global);
    if elsewhere && args.choice.model.is_some() {
        return Err(Failure::usage("workers have models of their own, so --model says nothing here").hint("name it to `aime worker`"));
    }
    let choice = models::choose(&setup.config, &setup.environment, args.choice.model.as_deref())?;
    let needs_model = plan.as_ref().is_none_or(|plan| plan.tasks.iter().any(|task| task.kind == aime_progress::TaskKind::Actor));
    let models = match &choice {
        // What is looked at before it is carried out is made here.
        _ if elsewhere && !(args.review && plan.is_none()) => {
            setup.tell_notes();
            None
        }
        Some(choice) if needs_model || plan.is_none() => {
            tell_model(Some(choice), setup);
            Some(models::ready(choice, setup).await?)
        }
        None if needs_model => return Err(models::none_configured()),
        _ => at_hand(choice.as_ref(), setup),
    };
    let settings = settings(&args, &setup.config, plan.is_some() || args.review);
    let bounds = settings.bounds.clone();
    if models.is_some() {
        tell_unpriced(&bounds, choice.as_ref(), setup)?;
    }
    let mut request = RunRequest { images, plan, settings, ..RunRequest::new(run.clone(), goal) };
    if args.review {
        let plan = match (request.plan.take(), &models) {
            (Some(plan), _) => plan,
            (None, Some(models)) => {
                let (plan, calls) = plan_here(request.clone(), models.clone(), setup).await?;
                request.planning = calls;
                plan
            }
            (None, None) => return Err(models::none_configured()),
        };
        request.plan = Some(review(&plan, setup).await?);
    }
    carry_out(
        Carry { run, output: args.output, unattended: args.unattended, models, bounds },
        global,
        setup,
        Work::Start(Box::new(request)),
    )
    .await
}

/// Prints the result that programs are promised where a run ends before it is begun or resumed: no model can be had, or planning for
/// a review comes to nothing.
pub(super) fn told_as_result(failure: Failure, form: Output, result: impl FnOnce(RunFailure) -> RunResult) -> Failure {
    let ends = [FailureCode::ModelUnavailable, FailureCode::GoalNotReached, FailureCode::BoundReached, FailureCode::Interrupted];
    let end = ends.into_iter().find(|end| end.exit_code() == failure.code);
    if let Some(code) = end.filter(|_| form != Output::Text) {
        let failed = RunFailure { code, message: failure.message.clone(), hint: failure.hint.clone() };
        if let Err(lost) = tell(&result(failed), form) {
            return lost;
        }
    }
    failure
}

/// Whether an engine carries the run out, with what its workers have.
#[cfg(feature = "temporal")]
const fn is_elsewhere(global: &Global) -> bool {
    global.engine.on.is_some()
}

#[cfg(not(feature = "temporal"))]
const fn is_elsewhere(_: &Global) -> bool {
    false
}

/// The models that a replan may use where none is needed: nothing is fetched for it.
pub(super) fn at_hand(choice: Option<&models::Choice>, setup: &Setup) -> Option<Models> {
    let found = choice.and_then(|choice| Some((choice, models::build(choice, setup).ok()?)));
    tell_model(found.as_ref().map(|(choice, _)| *choice), setup);
    found.map(|(_, models)| models)
}

/// Says which models a bound on cost does not cover.
pub(super) fn tell_unpriced(bounds: &Bounds, choice: Option<&models::Choice>, setup: &Setup) -> Result<(), Failure> {
    let Some(choice) = choice.filter(|_| bounds.max_cost_usd.is_some()) else { return Ok(()) };
    let unpriced: Vec<String> = models::unpriced(choice, setup)?.into_iter().map(|name| format!("models.{name}")).collect();
    if !unpriced.is_empty() {
        let settings: Vec<String> = unpriced.iter().map(|model| format!("{model}.prices")).collect();
        let (models, settings) = (unpriced.join(", "), settings.join(", "));
        output::note(&format!("the bound on cost cannot hold: no prices are known for {models}; set {settings}, or bound --max-tokens"));
    }
    Ok(())
}

/// The first line: which model is used, and why; then what was left out of the configuration.
pub(super) fn tell_model(choice: Option<&models::Choice>, setup: &Setup) {
    output::note(&model_line(choice, setup));
    output::note(&format!("{}{}", column(&format!("{BOLD}{}{BOLD:#}", msg!("head-sandbox")), 8), said(&setup.confinement().to_string())));
    setup.tell_notes();
    setup.skills().notes.iter().for_each(|note| output::note(note));
    for missing in setup.missing_skills().unwrap_or_default() {
        output::note(&format!("{}: {}", said(&missing.message), said(&missing.hint.unwrap_or_default())));
    }
}

/// Which model is used, and why.
pub(super) fn model_line(choice: Option<&models::Choice>, setup: &Setup) -> String {
    let head = column(&format!("{BOLD}{}{BOLD:#}", msg!("head-model")), 8);
    match choice.and_then(|choice| Some((choice, choice.models.get("default")?))) {
        Some((choice, model)) => {
            let (name, place) = (models::model_name(model), models::place(model, &setup.environment));
            format!("{head}{name} {} {DIM}({}){DIM:#}", said(&place), said(&choice.because))
        }
        None => format!("{head}{}", msg!("model-none", because = format!("{DIM}({}){DIM:#}", msg!("model-not-needed")))),
    }
}

/// Reads and checks a plan; every fault at once.
fn read_plan(path: &std::path::Path, setup: &Setup) -> Result<Plan, Failure> {
    let name = msg!("plan-of-file", file = path.display());
    checked_plan(&read_text(path, &name)?, &name, setup)
}

/// The plan in a text, mended where that is plain; every fault at once.
pub(super) fn checked_plan(text: &str, what: &str, setup: &Setup) -> Result<Plan, Failure> {
    let parts = checker_parts(setup)?;
    match parts.check(text) {
        Ok(checked) => {
            for repair in &checked.repairs {
                output::note(&format!("mended in the plan: {repair}"));
            }
            Ok(checked.plan)
        }
        Err(faults) => Err(Failure::usage(told(what, &faults)).hint("`aime check` gives the same list; `aime schema plan` the format")),
    }
}

/// The name that was asked for, or a new one. `last` means the newest run wherever a run is named, so none can be called that; and one that
/// holds a secret would stand everywhere without it, and not be found by its name.
pub(super) fn run_id(name: Option<&str>, setup: &Setup) -> Result<RunId, Failure> {
    match name {
        Some("last") => Err(Failure::usage("no run can be named `last`: that is the newest run").hint("choose another --run-id")),
        Some(name) if setup.redactor().finds(name) => Err(failure_of(&OrchestratorError::SecretName)),
        Some(name) => RunId::new(name).map_err(|error| Failure::usage(error).hint("choose another --run-id")),
        None => new_run_id(),
    }
}

/// A new name that sorts by time.
pub(super) fn new_run_id() -> Result<RunId, Failure> {
    let id = uuid::Uuid::now_v7().simple().to_string();
    RunId::new(id).map_err(Failure::internal)
}

fn settings(args: &RunArgs, config: &Config, handed_over: bool) -> RunSettings {
    let configured = configured(config);
    let approval = args.approve.map_or(configured.approval, |approve| match approve {
        ApproveArg::Ask => Approval::Ask,
        ApproveArg::Edits => Approval::Edits,
        ApproveArg::All => Approval::All,
        ApproveArg::ReadOnly => Approval::ReadOnly,
    });
    RunSettings {
        mode: args.choice.mode.map_or(configured.mode, mode_of),
        max_parallel: args.max_parallel.unwrap_or(configured.max_parallel),
        bounds: bounds(&args.bounds, configured.bounds),
        approval,
        // Who asks to be asked is asked, by the flag or in their settings.
        plan_approved: handed_over && args.approve.is_none() && approval == Approval::default(),
        unattended: args.unattended,
        ..configured
    }
}

/// How a run works where nobody says otherwise.
pub(super) fn configured(config: &Config) -> RunSettings {
    let run = &config.run;
    RunSettings {
        strategy: config.planning.strategy,
        mode: match config.planning.mode {
            ModeConfig::Auto => None,
            ModeConfig::Direct => Some(PlanMode::Direct),
            ModeConfig::Simple => Some(PlanMode::Simple),
            ModeConfig::Complex => Some(PlanMode::Complex),
            ModeConfig::Emergent => Some(PlanMode::Emergent),
        },
        max_parallel: run.max_parallel,
        bounds: Bounds {
            max_tokens: run.max_tokens,
            max_cost_usd: run.max_cost_usd,
            max_seconds: run.max_seconds,
            max_steps: run.max_steps,
            max_tool_calls: run.max_tool_calls,
            max_actors: run.max_actors,
        },
        triggers: config.triggers.clone(),
        frequency: config.frequency.clone(),
        growth: config.planning.growth.clone(),
        adaptive: config.planning.adaptive,
        eager_start: config.planning.eager_start,
        reflect: config.planning.reflect,
        approval: config.permissions.approve,
        plan_approved: false,
        unattended: false,
        // The orchestrator knows what its parts are.
        trust: None,
        origins: Vec::new(),
    }
}

pub(super) const fn mode_of(mode: ModeArg) -> Option<PlanMode> {
    match mode {
        ModeArg::Auto => None,
        ModeArg::Direct => Some(PlanMode::Direct),
        ModeArg::Simple => Some(PlanMode::Simple),
        ModeArg::Complex => Some(PlanMode::Complex),
        ModeArg::Emergent => Some(PlanMode::Emergent),
    }
}

/// The bounds of the flags over those that stood before.
pub(super) fn bounds(args: &BoundArgs, before: Bounds) -> Bounds {
    Bounds {
        max_tokens: args.max_tokens.or(before.max_tokens),
        max_cost_usd: args.max_cost.or(before.max_cost_usd),
        max_seconds: args.timeout.map(|timeout| timeout.as_secs().max(1)).or(before.max_seconds),
        ..before
    }
}

/// What is carried out.
pub(super) enum Work {
    /// A new run.
    Start(Box<RunRequest>),
    /// One that was left.
    Resume {
        /// Bounds that were changed.
        bounds: Option<Bounds>,
        /// Where it stood.
        before: Box<ProgressState>,
    },
}

/// A run and how it is shown.
pub(super) struct Carry {
    pub(super) run: RunId,
    pub(super) output: Output,
    pub(super) unattended: bool,
    pub(super) models: Option<Models>,
    /// The bounds that it has, to be shown.
    pub(super) bounds: Bounds,
}

/// Carries a run out: screen, signals, result, exit code.
pub(super) async fn carry_out(carry: Carry, global: &Global, setup: &Setup, work: Work) -> Result<u8, Failure> {
    #[cfg(feature = "temporal")]
    if let (Some(on), Work::Start(request)) = (&global.engine.on, &work) {
        return super::engine::carry_out(carry, on, request.as_ref().clone(), global, setup).await;
    }
    let before = match &work {
        Work::Resume { before, .. } => Some(before.as_ref()),
        Work::Start(_) => None,
    };
    let first = is_first(before, setup);
    let seen = Shown::begin(&carry, global, setup, before)?;
    let Carry { run, output, models, .. } = carry;
    let orchestrator = Orchestrator::new(setup.parts(models, Arc::clone(&seen.human))?);
    let (control, watched) = RunControl::new();
    let stop = control.stop.clone();
    let shown = tokio::spawn(show(Arc::clone(&seen.screen), watched, setup.consents(), setup.watch(&run)));
    let (own, name) = (orchestrator.clone(), run.clone());
    // Among its own effects, and not on the thread that only waits: a step from one to the next need not wake another thread.
    let mut carried = tokio::spawn(async move {
        match work {
            Work::Start(request) => own.run(*request, control).await,
            Work::Resume { bounds, .. } => own.resume(&name, bounds, control).await,
        }
    });
    let result = tokio::select! {
        result = &mut carried => match result {
            Ok(result) => result,
            Err(fault) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
            Err(cancelled) => return Err(Failure::internal(cancelled)),
        },
        () = stopped_twice(&stop, &seen) => {
            carried.abort();
            // What it has still to print would stand behind the result.
            shown.abort();
            drop(shown.await);
            drop(seen);
            output::note(&format!("stopped at once; go on with `aime resume {run}`"));
            tell_as_it_stands(&run, output, setup);
            return Ok(FailureCode::Interrupted.exit_code());
        }
    };
    drop(orchestrator);
    let shown = finish_screen(shown, &seen.screen).await;
    drop(seen);
    setup.end_telemetry().await;
    shown?;
    let result = result.map_err(|error| failure_of(&error))?;
    let code = tell(&result, output)?;
    if first && code == 0 && output == Output::Text {
        teach();
    }
    Ok(code)
}

/// Gives programs the result that they are promised of a run that was stopped at once, as far as its journal has it.
fn tell_as_it_stands(run: &RunId, form: Output, setup: &Setup) {
    if form == Output::Text {
        return;
    }
    let stands = setup.journal().ok().and_then(|journal| view(&journal, run).ok());
    let result = match stands {
        Some(seen) => RunResult::new(run.clone(), &seen.state, &output_of(run, &seen)),
        None => {
            let message = "stopped before anything was recorded".to_owned();
            RunResult::unbegun(run.clone(), RunFailure { code: FailureCode::Interrupted, message, hint: None })
        }
    };
    if let Err(failure) = tell(&result, form) {
        output::failure(&failure.message, failure.hint.as_deref());
    }
}

/// Keeps what a person has allowed for good. A run goes on without; then it says why.
pub(super) fn remember(event: &PublishedEvent, consents: Option<&Consents>) -> Option<String> {
    let ProgressEvent::ConsentGiven { rules, .. } = &event.event else { return None };
    match consents.map(|consents| consents.add(rules, SystemClock.now())) {
        Some(Ok(())) => None,
        Some(Err(failure)) => Some(format!("allowed for this run only: {}", failure.message)),
        None => Some("allowed for this run only: there is no folder of your own outside of the working folder to keep it in".to_owned()),
    }
}

/// Waits for Ctrl-C or TERM.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        if let Ok(mut terminate) = terminate {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    drop(tokio::signal::ctrl_c().await);
}

/// Prints the result and gives the exit code.
pub(super) fn tell(result: &RunResult, form: Output) -> Result<u8, Failure> {
    match form {
        Output::Json => output::json(result, true)?,
        Output::Jsonl => output::json(result, false)?,
        Output::Text => {
            if !result.answer.is_empty() {
                output::answer(&result.answer);
            }
            result.notes.iter().for_each(|note| output::note(note));
            output::note(&summary(result));
        }
    }
    let Some(error) = &result.error else { return Ok(0) };
    if form == Output::Text {
        match code_of(&error.code) {
            Some(code @ (FailureCode::WaitingForHuman | FailureCode::Interrupted)) => {
                output::open_end(code, &error.message, error.hint.as_deref());
            }
            _ => output::failure(&error.message, error.hint.as_deref()),
        }
    }
    Ok(exit_code(&error.code))
}

/// The last line: how it ended and what it took.
pub(super) fn summary(result: &RunResult) -> String {
    let done = result.tasks.iter().filter(|task| task.status == aime_progress::TaskStatus::Completed).count();
    let tokens = result.usage.input_tokens + result.usage.output_tokens;
    let cost = if result.usage.cost_usd > 0.0 { format!(", ${:.4}", result.usage.cost_usd) } else { String::new() };
    let ended = result.error.as_ref().map_or_else(|| result.status.to_string(), |error| error.code.replace('_', " "));
    let told = msg!(
        "run-summary",
        run = result.run_id,
        ended = named("ended", &ended),
        done = done,
        tasks = count(result.tasks.len(), "task"),
        replans = count(usize::try_from(result.replans).unwrap_or(usize::MAX), "replan"),
        span = span(result.duration_ms),
        tokens = tokens,
        requests = count(usize::try_from(result.usage.requests).unwrap_or(usize::MAX), "request"),
    );
    let cached = match result.usage.cached_input_tokens {
        0 => String::new(),
        tokens => format!("{}{}", msg!("view-comma"), msg!("run-cached", tokens = tokens)),
    };
    format!("{DIM}{told}{cached}{cost}{DIM:#}")
}

fn exit_code(word: &str) -> u8 {
    code_of(word).map_or(code::NOT_REACHED, FailureCode::exit_code)
}

fn code_of(word: &str) -> Option<FailureCode> {
    let codes = [
        FailureCode::GoalNotReached,
        FailureCode::ModelUnavailable,
        FailureCode::BoundReached,
        FailureCode::WaitingForHuman,
        FailureCode::Cancelled,
        FailureCode::Interrupted,
        FailureCode::Internal,
    ];
    codes.into_iter().find(|code| code.word() == word)
}

pub(super) fn failure_of(error: &OrchestratorError) -> Failure {
    match error {
        OrchestratorError::NoSuchRun { .. } => Failure::caused(code::USAGE, error).hint("`aime runs` lists the runs of this folder"),
        OrchestratorError::NoSuchVersion { run, .. } => {
            Failure::caused(code::USAGE, error).hint(format!("`aime runs show {run}` tells what made each version"))
        }
        OrchestratorError::SecretName => Failure::caused(code::USAGE, error).hint("choose another --run-id"),
        OrchestratorError::Lock(_) => Failure::caused(code::USAGE, error).hint("wait for it, or stop it with Ctrl-C there"),
        OrchestratorError::Journal(JournalError::RunExists { .. }) => {
            Failure::caused(code::USAGE, error).hint("choose another --run-id, or `aime resume` it")
        }
        OrchestratorError::Journal(JournalError::Beginning { run, .. }) => Failure::caused(code::USAGE, error)
            .hint(format!("`aime runs check {run}` tells what else is damaged, and `aime runs delete {run}` takes it away")),
        OrchestratorError::Journal(JournalError::Encode { .. } | JournalError::Closed { .. }) | OrchestratorError::Unreplayable { .. } => {
            Failure::caused(code::INTERNAL, error)
        }
        // A full disk, missing rights, another version: not faults of aime, and what was recorded before is safe.
        OrchestratorError::Journal(_) => {
            Failure::caused(code::USAGE, error).hint("what was recorded before is safe: mend it, then `aime resume` the run")
        }
    }
}
