//! A worker: it polls the queues of what it can do, and does it.

use std::{collections::BTreeSet, time::Duration};

use aime_orchestrator::Orchestrator;
use futures::future::try_join_all;
use temporalio_client::Client;
use temporalio_sdk::{
    Runtime, Worker, WorkerOptions,
    runtime::{
        RuntimeOptions,
        worker_tuner::{FixedSizeSlotSupplier, TunerHolder},
    },
};

use crate::{ActorWorkflow, Capability, Effects, HEARTBEAT, Queues, RunWorkflow, Trees};

/// How long a workflow's task may wait for the worker that has the workflow in memory, before any other may take it. This is how long the
/// loss of a worker holds up a run.
const STICKY: Duration = Duration::from_secs(2);

/// How long effects under way have to end by themselves when a worker is told to end.
const GRACE: Duration = Duration::from_secs(5);

/// Why a worker could not begin, or go on.
#[derive(Debug, thiserror::Error)]
#[error("the worker cannot {what}: {why}")]
pub struct WorkError {
    what: &'static str,
    why: String,
}

/// What a worker carries effects out with.
#[derive(Clone)]
pub struct Equipment {
    /// Models, tools, the working folder.
    pub orchestrator: Orchestrator,
    /// Where states of folders of runs are checked out into the working folder: those.
    pub trees: Option<Trees>,
}

/// A folder into which states are checked out holds one at a time: what would have to wait for it is left to other workers.
fn one_at_a_time() -> TunerHolder {
    let one = FixedSizeSlotSupplier::new(1);
    TunerHolder::builder()
        .workflow_task_slot_supplier(one)
        .activity_task_slot_supplier(one)
        .local_activity_task_slot_supplier(one)
        .nexus_task_slot_supplier(one)
        .build()
}

/// Serves capabilities until `stop` is ready: then it takes nothing new, gives what is under way some seconds to end, and returns. What has not
/// ended by then is given to another worker. Must be awaited within a tokio runtime.
///
/// # Errors
/// [`WorkError`] when it serves nothing, or the engine refuses it for good.
pub async fn work(
    client: Client,
    equipment: Option<Equipment>,
    serves: &BTreeSet<Capability>,
    queues: &Queues,
    stop: impl Future<Output = ()>,
) -> Result<(), WorkError> {
    let failed = |what: &'static str| move |error: &dyn std::fmt::Display| WorkError { what, why: error.to_string() };
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default()).map_err(|error| failed("begin")(&error))?;
    let mut workers = Vec::new();
    let takes_turns = equipment.as_ref().is_some_and(|equipment| equipment.trees.is_some());
    for capability in serves {
        let options = WorkerOptions::new(queues.name(*capability))
            .sticky_queue_schedule_to_start_timeout(STICKY)
            .max_heartbeat_throttle_interval(HEARTBEAT)
            .maybe_tuner((takes_turns && capability.is_bound()).then(one_at_a_time));
        let options = match (capability, equipment.clone()) {
            (Capability::Runs, _) => options
                .register_workflow::<RunWorkflow>()
                .and_then(|options| options.register_workflow::<ActorWorkflow>())
                .map_err(|error| failed("drive runs")(&error))?
                .build(),
            (_, Some(Equipment { orchestrator, trees })) => options.register_activities(Effects::new(orchestrator, trees)).build(),
            (_, None) => return Err(failed("do anything but drive runs")(&"it has no parts")),
        };
        workers.push(Worker::new(&runtime, client.clone(), options).map_err(|error| failed("begin")(&error))?);
    }
    if workers.is_empty() {
        return Err(failed("begin")(&"it serves nothing"));
    }
    let ends: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    let mut working = std::pin::pin!(try_join_all(workers.iter_mut().map(Worker::run)));
    let ended = tokio::select! {
        ended = &mut working => ended,
        () = stop => {
            ends.iter().for_each(|end| end());
            // What has not ended is dropped and never answered: it is no cancellation, and another worker takes it up.
            match tokio::time::timeout(GRACE, working).await {
                Ok(ended) => ended,
                Err(_) => return Ok(()),
            }
        }
    };
    ended.map(|_| ()).map_err(|error| failed("go on")(&error))
}
