//! `aime run`.

use std::sync::Arc;

use aime_messages::message;
use aime_orchestrator::{Bounds, FailureCode, Models, RunRequest, RunResult};
use aime_progress_management::{Owner, Plan, ProgressState, RunId};
use aime_runs::{Drive, Review, Runs, Setup, models};

use super::{
    input::{read_goal, read_images, read_text},
    models_in_use::{at_hand, by_flag, print_model, print_unpriced},
    outcome::{print_failure_as_result, print_interrupted, print_outcome},
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
};

pub(super) async fn run(args: RunArgs, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    runs.ready().await?;
    let (run, form) = (runs.new_name(args.run_id.as_deref())?, args.output);
    begin(args, run.clone(), global, runs)
        .await
        .map_err(|failure| print_failure_as_result(failure, form, |failed| RunResult::unbegun(run, failed)))
}

async fn begin(args: RunArgs, run: RunId, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    let setup = runs.setup();
    let plan = args.plan.as_deref().map(|path| read_plan(path, setup)).transpose()?;
    let goal = match (&args.goal, &args.goal_file, &plan) {
        (Some(goal), _, _) => read_goal(goal)?,
        (None, Some(file), _) => read_goal(&read_text(file, &msg!("goal-of-file", file = file.display()))?)?,
        (None, None, Some(plan)) if !plan.goal.is_empty() => plan.goal.clone(),
        (None, None, Some(_)) => "carry out the plan".to_owned(),
        (None, None, None) => return Err(Failure::usage(message!("no-goal")).hint(message!("no-goal-hint"))),
    };
    let images = read_images(&args.image)?;
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
            setup.report_notes();
            None
        }
        Some(choice) if needs_model || plan.is_none() => {
            print_model(Some(choice), setup);
            Some(models::ready(choice, setup).await?)
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
        request = reviewed(request, models.as_ref(), runs).await?;
    }
    carry_out(
        DisplayedRun { run, output: args.output, unattended: args.unattended, models, bounds },
        global,
        runs,
        RunAction::Start(Box::new(request)),
    )
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
            let made = again(&request, None).await?;
            (request.planning, request.conversation) = (made.calls, made.conversation);
            made.plan
        }
    };
    loop {
        let forecast = models.map(|models| forecast_line(&plan, models, runs)).transpose()?;
        match review(&plan, forecast.as_deref(), runs.setup()).await? {
            ReviewOutcome::Accepted(accepted) => return Ok(RunRequest { plan: Some(*accepted), ..request }),
            ReviewOutcome::Commented(review) => {
                let changed = again(&request, Some(&review)).await?;
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

/// Reads and checks a plan, and reports all faults at once.
fn read_plan(path: &std::path::Path, setup: &Setup) -> Result<Plan, Failure> {
    let name = message!("plan-of-file", file = path.display());
    Ok(setup.checked_plan(&read_text(path, &print(&name))?, &name)?.owned_by(Owner::Person))
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
    let DisplayedRun { run, output, models, .. } = carry;
    let drive = Drive::default().models(models).human(Arc::clone(&seen.human));
    let mut driven = match work {
        RunAction::Start(request) => runs.start(*request, drive).await?,
        RunAction::Resume { bounds, follow_up: Some(goal), .. } => runs.continue_run(&run, goal, bounds, drive).await?,
        RunAction::Resume { bounds, .. } => runs.resume(&run, bounds, drive).await?,
    };
    let (stop, abort) = (driven.stop().clone(), driven.abort_handle());
    let shown = tokio::spawn(show(Arc::clone(&seen.screen), driven.take_updates()));
    let result = tokio::select! {
        result = driven.result() => result,
        () = stop_on_signals(&stop, &seen) => {
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
    shown?;
    let code = print_outcome(&result?, output)?;
    if first && code == 0 && output == Output::Text {
        print_command_hints();
    }
    Ok(code)
}
