//! `aime run`.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use aime_orchestrator::{Bounds, CriterionOutcome, FailureCode, Models, RunFailure, RunRequest, RunResult, RunSettings, view};
use aime_progress_management::{CheckMethod, Owner, Plan, PlanMode, ProgressState, RunId};
use aime_runs::{Drive, Review, Runs, Setup, config::Config, models, outcome, settings_of};
use aime_tools::Approval;

use super::{
    check::told,
    plan::{forecast_line, plan_here},
    read_goal, read_images, read_text,
    review::{Reviewed, editor, review},
    showing::{Shown, finish_screen, is_first, show, stopped_twice, teach},
};
use crate::{
    args::{ApproveArg, BoundArgs, Global, ModeArg, Output, RunArgs},
    failure::Failure,
    i18n::{msg, named, row, said},
    output::{self, BOLD, DIM, count, plain},
    screen::{column, conflict_line, first_line, span},
};

pub(super) async fn run(args: RunArgs, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    runs.ready().await?;
    let (run, form) = (runs.new_name(args.run_id.as_deref())?, args.output);
    begin(args, run.clone(), global, runs).await.map_err(|failure| told_as_result(failure, form, |failed| RunResult::unbegun(run, failed)))
}

async fn begin(args: RunArgs, run: RunId, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    let setup = runs.setup();
    let plan = args.plan.as_deref().map(|path| read_plan(path, setup)).transpose()?;
    let goal = match (&args.goal, &args.goal_file, &plan) {
        (Some(goal), _, _) => read_goal(goal)?,
        (None, Some(file), _) => read_goal(&read_text(file, &msg!("goal-of-file", file = file.display()))?)?,
        (None, None, Some(plan)) if !plan.goal.is_empty() => plan.goal.clone(),
        (None, None, Some(_)) => "carry out the plan".to_owned(),
        (None, None, None) => return Err(Failure::usage("no goal").hint("aime run \"write the goal here\"")),
    };
    let images = read_images(&args.image)?;
    if args.review {
        // A missing editor must be reported before the plan costs money.
        editor(setup)?;
    }
    let elsewhere = is_elsewhere(global);
    if elsewhere && args.choice.model.is_some() {
        return Err(Failure::usage("workers have models of their own, so --model says nothing here").hint("name it to `aime worker`"));
    }
    if elsewhere && args.commit {
        return Err(Failure::usage("an engine's workers make no branch, so --commit cannot be used"));
    }
    let choice = models::choose(&setup.config, &setup.environment, args.choice.model.as_deref())?;
    let needs_model = plan.as_ref().is_none_or(|plan| plan.tasks.iter().any(|task| task.kind == aime_progress_management::TaskKind::Actor));
    let models = match &choice {
        // A plan for review is created here, before the engine carries it out.
        _ if elsewhere && !(args.review && plan.is_none()) => {
            setup.tell_notes();
            None
        }
        Some(choice) if needs_model || plan.is_none() => {
            tell_model(Some(choice), setup);
            Some(models::ready(choice, setup).await?)
        }
        None if needs_model => return Err(models::none_configured().into()),
        _ => at_hand(choice.as_ref(), setup),
    };
    let settings = settings(&args, &setup.config, plan.is_some() || args.review);
    let bounds = settings.bounds.clone();
    if models.is_some() {
        tell_unpriced(&bounds, choice.as_ref(), setup)?;
    }
    let mut request = RunRequest { images, plan, settings, ..RunRequest::new(run.clone(), goal) };
    if args.review {
        request = reviewed(request, models.as_ref(), runs).await?;
    }
    carry_out(Carry { run, output: args.output, unattended: args.unattended, models, bounds }, global, runs, Work::Start(Box::new(request)))
        .await
}

/// Lets the person edit the plan or comment on it. A plan that was commented on is made again and shown again.
async fn reviewed(mut request: RunRequest, models: Option<&Models>, runs: &Runs) -> Result<RunRequest, Failure> {
    let again = async |request: &RunRequest, review: Option<&Review>| match models {
        Some(models) => plan_here(RunRequest { plan: None, ..request.clone() }, models.clone(), review, runs).await,
        None => Err(models::none_configured().into()),
    };
    let mut plan = match request.plan.take() {
        Some(plan) => plan,
        None => {
            let (plan, calls) = again(&request, None).await?;
            request.planning = calls;
            plan
        }
    };
    loop {
        let forecast = models.map(|models| forecast_line(&plan, models, runs)).transpose()?;
        match review(&plan, forecast.as_deref(), runs.setup()).await? {
            Reviewed::Accepted(accepted) => return Ok(RunRequest { plan: Some(*accepted), ..request }),
            Reviewed::Commented(review) => {
                let (changed, calls) = again(&request, Some(&review)).await?;
                request.planning.extend(calls);
                plan = changed;
            }
        }
    }
}

/// Prints the documented result for a run that ends before it starts or resumes, because no model is available or planning for a review
/// fails.
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

/// Returns true if an engine carries the run out, with the tools and models of its workers.
#[cfg(feature = "temporal")]
const fn is_elsewhere(global: &Global) -> bool {
    global.engine.on.is_some()
}

#[cfg(not(feature = "temporal"))]
const fn is_elsewhere(_: &Global) -> bool {
    false
}

/// Returns the models that are available for a replan when the run needs none; this downloads nothing.
pub(super) fn at_hand(choice: Option<&models::Choice>, setup: &Setup) -> Option<Models> {
    let found = choice.and_then(|choice| Some((choice, models::build(choice, setup).ok()?)));
    tell_model(found.as_ref().map(|(choice, _)| *choice), setup);
    found.map(|(_, models)| models)
}

/// Names the models that a cost limit does not cover.
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

/// Prints the model in use with the reason, then the notes on the configuration.
pub(super) fn tell_model(choice: Option<&models::Choice>, setup: &Setup) {
    output::note(&model_line(choice, setup));
    output::note(&format!("{}{}", column(&format!("{BOLD}{}{BOLD:#}", msg!("head-sandbox")), 8), said(&setup.confinement().to_string())));
    setup.tell_notes();
    setup.skills().notes.iter().for_each(|note| output::note(note));
    for missing in setup.missing_skills().unwrap_or_default() {
        output::note(&format!("{}: {}", said(&missing.message), said(&missing.hint.unwrap_or_default())));
    }
}

/// Names the model in use and the reason.
pub(crate) fn model_line(choice: Option<&models::Choice>, setup: &Setup) -> String {
    let head = column(&format!("{BOLD}{}{BOLD:#}", msg!("head-model")), 8);
    match choice.and_then(|choice| Some((choice, choice.models.get("default")?))) {
        Some((choice, model)) => {
            let (name, place) = (models::model_name(model), models::place(model, &setup.environment));
            format!("{head}{name} {} {DIM}({}){DIM:#}", said(&place), said(&choice.because))
        }
        None => format!("{head}{}", msg!("model-none", because = format!("{DIM}({}){DIM:#}", msg!("model-not-needed")))),
    }
}

/// Reads and checks a plan, and reports all faults at once.
fn read_plan(path: &std::path::Path, setup: &Setup) -> Result<Plan, Failure> {
    let name = msg!("plan-of-file", file = path.display());
    checked_plan(&read_text(path, &name)?, &name, setup).map(|plan| plan.owned_by(Owner::Person))
}

/// Parses a plan, repairs it where the intention is plain, and reports all faults at once.
pub(super) fn checked_plan(text: &str, what: &str, setup: &Setup) -> Result<Plan, Failure> {
    let parts = setup.checker()?;
    match parts.check(text) {
        Ok(checked) => {
            for repair in &checked.repairs {
                output::note(&format!("repaired in the plan: {repair}"));
            }
            Ok(checked.plan)
        }
        Err(faults) => Err(Failure::usage(told(what, &faults)).hint("`aime check` gives the same list; `aime schema plan` the format")),
    }
}

fn settings(args: &RunArgs, config: &Config, handed_over: bool) -> RunSettings {
    let configured = settings_of(config);
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
        // A plan that the person supplies counts as approved, unless a flag or the settings set the approval mode.
        plan_approved: handed_over && args.approve.is_none() && approval == Approval::default(),
        unattended: args.unattended,
        commit: args.commit,
        ..configured
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

/// Applies the bounds of the flags to the previous ones.
pub(super) fn bounds(args: &BoundArgs, before: Bounds) -> Bounds {
    Bounds {
        max_tokens: args.max_tokens.or(before.max_tokens),
        max_cost_usd: args.max_cost.or(before.max_cost_usd),
        max_seconds: args.timeout.map(|timeout| timeout.as_secs().max(1)).or(before.max_seconds),
        ..before
    }
}

/// Work of this command.
pub(super) enum Work {
    /// Start a new run.
    Start(Box<RunRequest>),
    /// Resume a run that was left.
    Resume {
        /// Changed bounds.
        bounds: Option<Bounds>,
        /// Next goal of a run that has ended.
        follow_up: Option<String>,
        /// State of the run before.
        before: Box<ProgressState>,
    },
}

/// Run with its display options.
pub(super) struct Carry {
    pub(super) run: RunId,
    pub(super) output: Output,
    pub(super) unattended: bool,
    pub(super) models: Option<Models>,
    /// Bounds of the run, for display.
    pub(super) bounds: Bounds,
}

/// Carries a run out: screen, signals, result, exit code.
pub(super) async fn carry_out(carry: Carry, global: &Global, runs: &Runs, work: Work) -> Result<u8, Failure> {
    let setup = runs.setup();
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
    let drive = Drive::default().models(models).human(Arc::clone(&seen.human));
    let mut driven = match work {
        Work::Start(request) => runs.start(*request, drive).await?,
        Work::Resume { bounds, follow_up: Some(goal), .. } => runs.continue_run(&run, goal, bounds, drive).await?,
        Work::Resume { bounds, .. } => runs.resume(&run, bounds, drive).await?,
    };
    let (stop, abort) = (driven.stop().clone(), driven.abort_handle());
    let shown = tokio::spawn(show(Arc::clone(&seen.screen), driven.take_news()));
    let result = tokio::select! {
        result = driven.result() => result,
        () = stopped_twice(&stop, &seen) => {
            abort.abort();
            // Later output would appear after the result.
            shown.abort();
            drop(shown.await);
            drop(seen);
            output::note(&format!("stopped at once; go on with `aime resume {run}`"));
            tell_as_it_stands(&run, output, setup);
            return Ok(FailureCode::Interrupted.exit_code());
        }
    };
    let shown = finish_screen(shown, &seen.screen).await;
    drop(seen);
    setup.end_telemetry().await;
    shown?;
    let code = tell(&result?, output)?;
    if first && code == 0 && output == Output::Text {
        teach();
    }
    Ok(code)
}

/// Prints the documented result of a run that was stopped immediately, as far as its journal has it.
fn tell_as_it_stands(run: &RunId, form: Output, setup: &Setup) {
    if form == Output::Text {
        return;
    }
    let stands = setup.journal().ok().and_then(|journal| view(&journal, run).ok());
    let result = match stands {
        Some(seen) => RunResult::new(run.clone(), &seen.state, &outcome(run, &seen)),
        None => {
            let message = "stopped before anything was recorded".to_owned();
            RunResult::unbegun(run.clone(), RunFailure { code: FailureCode::Interrupted, message, hint: None })
        }
    };
    if let Err(failure) = tell(&result, form) {
        output::failure(&failure.message, failure.hint.as_deref());
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

/// Prints the result and returns the exit code.
pub(super) fn tell(result: &RunResult, form: Output) -> Result<u8, Failure> {
    match form {
        Output::Json => output::json(result, true)?,
        Output::Jsonl => output::json(result, false)?,
        Output::Text => {
            if !result.answer.is_empty() {
                output::answer(&result.answer);
            }
            result.notes.iter().for_each(|note| output::note(note));
            checks(result).into_iter().chain(doubts(result)).for_each(|line| output::note(&line));
            result.conflicts.iter().filter(|conflict| !conflict.resolved).for_each(|conflict| output::note(&conflict_line(conflict)));
            output::note(&summary(result));
        }
    }
    let Some(error) = &result.error else { return Ok(0) };
    if form == Output::Text {
        match error.code {
            code @ (FailureCode::WaitingForHuman | FailureCode::Interrupted) => {
                output::open_end(code, &error.message, error.hint.as_deref());
            }
            _ => output::failure(&error.message, error.hint.as_deref()),
        }
    }
    Ok(error.code.exit_code())
}

/// Returns the number of checks by their result, and of the amended ones; none if there were no checks.
fn checks(result: &RunResult) -> Option<String> {
    let checks = |number: usize| count(number, "check");
    let of = |holds: Option<bool>| result.criteria.iter().filter(move |known| known.holds == holds);
    let passed = of(Some(true)).count();
    let judged = of(Some(true)).filter(|known| known.how == CheckMethod::Audited).count();
    let (failed, open, amended) = (of(Some(false)).count(), of(None).count(), result.amended.len());
    let told = row([
        (passed > 0).then(|| msg!("run-checks-passed", checks = checks(passed))),
        (judged > 0).then(|| msg!("run-checks-judged", number = judged)),
        (failed > 0).then(|| msg!("run-checks-failed", checks = checks(failed))),
        (open > 0).then(|| msg!("run-checks-open", checks = checks(open))),
        (amended > 0).then(|| msg!("run-checks-amended", checks = checks(amended))),
    ]
    .into_iter()
    .flatten());
    (!told.is_empty()).then(|| format!("{DIM}{told}{DIM:#}"))
}

/// Maximum width of the reason why a criterion was not checked.
const REASON: usize = 160;

/// Names the criteria that nobody checked, with the reasons, and those that held already before the work.
fn doubts(result: &RunResult) -> Vec<String> {
    let line = |known: &CriterionOutcome| {
        let (unchecked, before) = (known.how == CheckMethod::Unchecked && !known.evidence.is_empty(), known.held_before == Some(true));
        let said = match (unchecked, before) {
            (true, _) => msg!("run-unchecked", criterion = plain(&known.text), reason = first_line(&said(&known.evidence), REASON)),
            (false, true) => msg!("run-held-before", criterion = plain(&known.text)),
            (false, false) => return None,
        };
        Some(format!("{DIM}{said}{DIM:#}"))
    };
    result.criteria.iter().filter_map(line).collect()
}

/// Returns the last line: the outcome and the cost of the run.
pub(super) fn summary(result: &RunResult) -> String {
    let done = result.tasks.iter().filter(|task| task.status == aime_progress_management::TaskStatus::Completed).count();
    let tokens = result.usage.input_tokens + result.usage.output_tokens;
    let cost = if result.usage.cost_usd > 0.0 { format!(", ${:.4}", result.usage.cost_usd) } else { String::new() };
    let ended = result.error.as_ref().map_or_else(|| result.status.to_string(), |error| error.code.word().replace('_', " "));
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
    let by_who = output::by_who(&result.usage_by).map(|text| format!(" · {text}")).unwrap_or_default();
    format!("{DIM}{told}{cached}{cost}{by_who}{DIM:#}")
}
