//! `aime run`.

use std::{path::Path, sync::Arc};

use aime_messages::{Message, message};
use aime_orchestrator::{Bounds, FailureCode, Models, RunFailure, RunOutput, RunRequest, RunResult};
use aime_progress_management::{Owner, ProgressState, RunId};
use aime_runs::{Drive, Review, Runs, models};

use super::{
    input::{no_goal, read_goal, read_goal_file, read_images, read_text},
    models_in_use::{at_hand, by_flag, print_model, print_unpriced},
    outcome::{print_cut_off, print_failure_as_result, print_interrupted, print_outcome},
    plan::{forecast_line, plan_here},
    review::{ReviewOutcome, editor, review},
    run_display::{DisplayedRun, RunDisplay, finish_screen, print_command_hints, show, stop_on_signals},
    settings::settings,
};
use crate::{
    args::{Global, Output, RunArgs},
    failure::Failure,
    i18n::{msg, print},
    output,
    signals::{Interruptions, interruptions, unless_interrupted},
};

pub(super) async fn run(args: RunArgs, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    let (run, form) = (runs.new_name(args.run_id.as_deref())?, args.output);
    let (carry, request) = prepare(args, run.clone(), global, runs)
        .await
        .map_err(|failure| print_failure_as_result(failure, form, |failed| RunResult::unbegun(run, failed)))?;
    carry_out(carry, global, runs, RunAction::Start(Box::new(request))).await
}

/// Reads the plan and the goal, makes the models ready, and lets the person review the plan.
async fn prepare(args: RunArgs, run: RunId, global: &Global, runs: &Runs) -> Result<(DisplayedRun, RunRequest), Failure> {
    let setup = runs.setup();
    let plan = args.plan.as_deref().map(read_plan).transpose()?;
    let goal = match (&args.goal, &args.goal_file) {
        (Some(goal), _) => Some(read_goal(goal)?),
        (None, Some(file)) => Some(read_goal_file(file)?),
        (None, None) if plan.is_none() => return Err(no_goal("run")),
        (None, None) => None,
    };
    let images = read_images(&args.image)?;
    let mut interruptions = interruptions();
    unless_interrupted(&mut interruptions, runs.ready()).await?;
    // The tools of servers are known, so that the plan can be checked.
    let plan = plan.map(|(text, name)| setup.checked_plan(&text, &name)).transpose()?.map(|plan| plan.owned_by(Owner::Person));
    let goal_of_plan = || plan.as_ref().map(|plan| plan.goal.clone()).filter(|goal| !goal.is_empty());
    let goal = goal.or_else(goal_of_plan).unwrap_or_else(|| "carry out the plan".to_owned());
    if args.review {
        // A missing editor must be reported before the plan costs money.
        editor(setup)?;
    }
    let elsewhere = is_elsewhere(global);
    if elsewhere && args.choice.model.is_some() {
        return Err(Failure::usage(message!("engine-model")).hint(message!("engine-model-hint")));
    }
    if elsewhere && args.commit {
        return Err(Failure::usage("an engine's workers make no branch, so --commit cannot be used"));
    }
    let choice = models::choose(&setup.config, &setup.environment, args.choice.model.as_deref().map(by_flag))?;
    let needs_model = plan.as_ref().is_none_or(|plan| plan.tasks.iter().any(|task| task.kind == aime_progress_management::TaskKind::Actor));
    let models = match &choice {
        // A plan for review is created here, before the engine carries it out.
        _ if elsewhere && !(args.review && plan.is_none()) => {
            output::release_notes();
            None
        }
        Some(choice) if needs_model || plan.is_none() => {
            print_model(Some(choice), setup);
            Some(unless_interrupted(&mut interruptions, models::ready(choice, setup)).await?)
        }
        None if needs_model => return Err(models::none_configured().into()),
        _ => at_hand(choice.as_ref(), setup),
    };
    let settings = settings(&args, &setup.config, plan.is_some() || args.review);
    let bounds = settings.bounds.clone();
    if models.is_some() {
        print_unpriced(&bounds, choice.as_ref(), setup)?;
    }
    let mut request = RunRequest { images, plan, settings, ..RunRequest::new(run.clone(), goal) };
    if args.review {
        request = reviewed(request, models.as_ref(), runs, &mut interruptions).await?;
    }
    Ok((DisplayedRun { run, output: args.output, unattended: args.unattended, models, bounds, interruptions }, request))
}

/// Lets the person edit the plan or comment on it. A plan that was commented on is made again and shown again.
async fn reviewed(
    mut request: RunRequest,
    models: Option<&Models>,
    runs: &Runs,
    interruptions: &mut Interruptions,
) -> Result<RunRequest, Failure> {
    let again = async |request: &RunRequest, review: Option<&Review>, interruptions: &mut Interruptions| match models {
        Some(models) => plan_here(RunRequest { plan: None, ..request.clone() }, models.clone(), review, runs, interruptions).await,
        None => Err(models::none_configured().into()),
    };
    let mut plan = match request.plan.take() {
        Some(plan) => plan,
        None => {
            let made = again(&request, None, interruptions).await?;
            (request.planning, request.conversation) = (made.calls, made.conversation);
            made.plan
        }
    };
    loop {
        let forecast = models.map(|models| forecast_line(&plan, models, runs)).transpose()?;
        match review(&plan, &request.run, forecast.as_deref(), runs.setup(), interruptions).await? {
            ReviewOutcome::Accepted(accepted) => return Ok(RunRequest { plan: Some(*accepted), ..request }),
            ReviewOutcome::Commented(review) => {
                let changed = again(&request, Some(&review), interruptions).await?;
                request.planning.extend(changed.calls);
                (request.conversation, plan) = (changed.conversation, changed.plan);
            }
        }
    }
}

/// Returns true if an engine carries the run out, with the tools and models of its workers.
#[cfg(feature = "temporal")]
const fn is_elsewhere(global: &Global) -> bool {
    global.engine.engine.is_some()
}

#[cfg(not(feature = "temporal"))]
const fn is_elsewhere(_: &Global) -> bool {
    false
}

/// Reads the text of a plan. Returns it with its name in faults.
fn read_plan(path: &Path) -> Result<(String, Message), Failure> {
    let name = message!("plan-of-file", file = path.display());
    Ok((read_text(path, &print(&name))?, name))
}

/// Work of this command.
pub(super) enum RunAction {
    /// Start a new run.
    Start(Box<RunRequest>),
    /// Resume a run that was suspended.
    Resume {
        /// Changed bounds.
        bounds: Option<Bounds>,
        /// Next goal of a run that has ended.
        follow_up: Option<String>,
        /// State of the run before.
        before: Box<ProgressState>,
    },
}

/// Carries a run out: screen, signals, result, exit code.
pub(super) async fn carry_out(carry: DisplayedRun, global: &Global, runs: &Runs, work: RunAction) -> Result<u8, Failure> {
    let setup = runs.setup();
    #[cfg(feature = "temporal")]
    if let (Some(on), RunAction::Start(request)) = (&global.engine.engine, &work) {
        return super::engine::carry_out(carry, on, request.as_ref().clone(), global, runs).await;
    }
    let before = match &work {
        RunAction::Resume { before, .. } => Some(before.as_ref()),
        RunAction::Start(_) => None,
    };
    let first = setup.is_first_run(before);
    let seen = RunDisplay::begin(&carry, global, setup, before)?;
    let DisplayedRun { run, output, models, mut interruptions, .. } = carry;
    let drive = Drive::default().models(models).human(Arc::clone(&seen.human));
    let (driven, before) = match work {
        RunAction::Start(request) => (runs.start(*request, drive).await, None),
        RunAction::Resume { bounds, follow_up: Some(goal), before } => (runs.continue_run(&run, goal, bounds, drive).await, Some(before)),
        RunAction::Resume { bounds, follow_up: None, before } => (runs.resume(&run, bounds, drive).await, Some(before)),
    };
    let as_before = |failed: RunFailure| match &before {
        Some(state) => RunResult::new(run.clone(), state, &RunOutput { status: state.status, error: Some(failed) }),
        None => RunResult::unbegun(run.clone(), failed),
    };
    let mut driven = driven.map_err(|error| print_failure_as_result(error.into(), output, as_before))?;
    let (stop, abort) = (driven.stop().clone(), driven.abort_handle());
    let shown = tokio::spawn(show(Arc::clone(&seen.screen), driven.take_updates()));
    let result = tokio::select! {
        result = driven.result() => result,
        () = stop_on_signals(&stop, &seen, &mut interruptions) => {
            abort.abort();
            // Later output would appear after the result.
            shown.abort();
            drop(shown.await);
            drop(seen);
            output::note(&msg!("stopped-at-once", run));
            print_interrupted(&run, output, setup);
            return Ok(FailureCode::Interrupted.exit_code());
        }
    };
    let shown = finish_screen(shown, &seen.screen).await;
    drop(seen);
    setup.end_telemetry().await;
    let has_begun = shown?;
    let result = result.map_err(|error| match has_begun {
        true => print_cut_off(error.into(), &run, output, setup),
        false => print_failure_as_result(error.into(), output, as_before),
    })?;
    let code = print_outcome(&result, output)?;
    if first && code == 0 && output == Output::Text {
        print_command_hints();
    }
    Ok(code)
}
