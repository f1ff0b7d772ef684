//! One life of a run: a process that executes it until the run ends, is left, or the process dies.

use std::{sync::Arc, time::Duration};

use aime_durable::Journal;
use aime_orchestrator::{Bounds, OrchestratorError, RunControl, RunRequest, RunResult};
use aime_progress_management::RunId;
use tokio::{runtime::Builder, select, time::timeout};

use crate::{
    Stage, check,
    model::WorldModel,
    people::{Person, external_events},
    world::{World, lock},
};

/// Name of every run.
pub(crate) const RUN: &str = "simulated";
/// Goal of every run; an actor of a direct run finds its name in it.
const GOAL: &str =
    "[[goal]] Read the notes, write a report of them, compare it with the one of last year, and check that all numbers agree";
/// Maximum virtual duration of a life: bounds, time limits and people end it earlier.
const MAX_LIFE: Duration = Duration::from_secs(4 * 3_600);

/// End of a life.
pub(crate) enum Left {
    /// The process died.
    Died,
    /// The run ended, or was left.
    Carried(Box<RunResult>),
    /// The run could not be executed.
    Failed(OrchestratorError),
    /// The life exceeded its maximum duration.
    Endless,
}

/// Beginning of a life.
pub(crate) enum LifeStart {
    Fresh,
    Resumed(Option<Bounds>),
}

/// Returns the run's id. A test shows that the name is valid.
pub(crate) fn run_id() -> RunId {
    #[expect(clippy::expect_used, reason = "a constant that a test looks at")]
    RUN.parse().expect("a name")
}

/// Plays one life.
pub(crate) fn live(stage: &Stage, world: &Arc<World>, journal: &Journal, beginning: LifeStart) -> Left {
    let Ok(runtime) = Builder::new_current_thread().enable_time().start_paused(true).build() else {
        world.fault("there is no runtime".to_owned());
        return Left::Endless;
    };
    let left = runtime.block_on(async {
        world.begin_life();
        let builder = stage.builder.clone().journal(journal.clone(), &stage.keep).model(WorldModel(Arc::clone(world)));
        let builder = builder.human(Arc::new(Person(Arc::clone(world)))).clock(Arc::clone(world) as Arc<_>);
        let orchestrator = match builder.build() {
            Ok(orchestrator) => orchestrator,
            Err(error) => {
                world.fault(error.to_string());
                return Left::Endless;
            }
        };
        *lock(&world.orchestrator) = Some(orchestrator.clone());
        let (control, events) = RunControl::new();
        let watching = tokio::spawn(check::watch(Arc::clone(world), journal.clone(), events));
        let doing = tokio::spawn(external_events(Arc::clone(world), journal.clone(), control.clone()));
        let carried = async {
            match beginning {
                LifeStart::Fresh => {
                    let scenario = &world.scenario;
                    let (plan, settings) = (scenario.plan.clone(), scenario.settings.clone());
                    orchestrator.run_with(RunRequest { plan, settings, ..RunRequest::new(run_id(), GOAL) }, control).await
                }
                LifeStart::Resumed(bounds) => orchestrator.resume(&run_id(), bounds, control).await,
            }
        };
        let left = select! {
            biased;
            () = world.death() => Left::Died,
            carried = timeout(MAX_LIFE, carried) => match carried {
                Ok(Ok(result)) => Left::Carried(Box::new(result)),
                Ok(Err(error)) => Left::Failed(error),
                Err(_) => Left::Endless,
            }
        };
        doing.abort();
        if !matches!(left, Left::Died) {
            // Dropping the run closes the channel, which ends the watch.
            drop(orchestrator);
            lock(&world.orchestrator).take();
            drop(timeout(Duration::from_secs(60), watching).await);
        }
        world.end_life();
        left
    });
    drop(runtime);
    left
}
