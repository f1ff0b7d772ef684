//! `aime resume` and `aime continue`.

use aime_orchestrator::{Bounds, Models, RunOutput, RunResult, RunStatusView};
use aime_runs::{Runs, Setup, models, raise_reached_bounds};

use super::{
    input::{no_goal, read_goal},
    models_in_use::{at_hand, by_flag, print_model, print_unpriced},
    outcome::{failed_result, print_failure_as_result},
    run::{RunAction, carry_out},
    run_display::DisplayedRun,
    settings::bounds,
};
use crate::{
    args::{ContinueArgs, Global, ResumeArgs},
    failure::Failure,
    signals::{interruptions, unless_interrupted},
};

pub(super) async fn resume(args: ResumeArgs, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    #[cfg(feature = "temporal")]
    if let Some(on) = &global.engine.engine {
        return super::engine::resume(args, on, global, runs).await;
    }
    go_on(args, None, global, runs).await
}

pub(super) async fn continue_run(args: ContinueArgs, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    let goal = args.goal.as_deref().map(read_goal).transpose()?.ok_or_else(|| no_goal(&format!("continue {}", args.of.run)))?;
    go_on(args.of, Some(goal), global, runs).await
}

async fn go_on(args: ResumeArgs, follow_up: Option<String>, global: &Global, runs: &Runs) -> Result<u8, Failure> {
    let setup = runs.setup();
    let mut interruptions = interruptions();
    let run = runs.find(&args.run)?;
    let seen = runs
        .resumable(&run)
        .map_err(|error| print_failure_as_result(error.into(), args.output, |failed| failed_result(&run, failed, setup)))?;
    let wanted = raise_reached_bounds(bounds(&args.bounds, seen.bounds.clone()), &seen.bounds_reached, &setup.config.run);
    let prepared = async {
        runs.ready().await?;
        models_for(&seen, follow_up.is_some(), &wanted, args.model.as_deref(), setup).await
    };
    let models = unless_interrupted(&mut interruptions, prepared).await.map_err(|failure| {
        let as_it_stands = |failed| RunOutput { status: seen.state.status, error: Some(failed) };
        print_failure_as_result(failure, args.output, |failed| RunResult::new(run.clone(), &seen.state, &as_it_stands(failed)))
    })?;
    let bounds = (wanted != seen.bounds).then(|| wanted.clone());
    let unattended = seen.settings().unattended;
    let carry = DisplayedRun { run, output: args.output, unattended, models, bounds: wanted, interruptions };
    carry_out(carry, global, runs, RunAction::Resume { bounds, follow_up, before: Box::new(seen.state) }).await
}

/// Returns the models that a run continues with, within these bounds.
async fn models_for(
    seen: &RunStatusView,
    follows_up: bool,
    bounds: &Bounds,
    named: Option<&str>,
    setup: &Setup,
) -> Result<Option<Models>, Failure> {
    let choice = models::choose(&setup.config, &setup.environment, named.map(by_flag))?;
    let plans = seen.can_plan() && (follows_up || !seen.is_over);
    match &choice {
        Some(choice) if plans => {
            print_model(Some(choice), setup);
            let models = models::ready(choice, setup).await?;
            print_unpriced(bounds, Some(choice), setup)?;
            Ok(Some(models))
        }
        None if plans => Err(models::none_configured().into()),
        _ => Ok(at_hand(choice.as_ref(), setup)),
    }
}
