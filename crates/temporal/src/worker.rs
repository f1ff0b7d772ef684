//! A worker: it polls the queues of what it can do, and does it.

use std::{collections::BTreeSet, fmt, time::Duration};

use aime_messages::{Describe, Message, message};
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

use crate::{ActorWorkflow, Capability, Effects, HEARTBEAT, Queues, RunWorkflow, WorkspaceStore};

/// Time that a workflow task waits for the worker that has the workflow in memory, before any other worker may take
/// it. The loss of a worker delays a run by this time.
const STICKY: Duration = Duration::from_secs(2);

/// Time that effects in progress have to end by themselves when a worker is stopped.
const GRACE: Duration = Duration::from_secs(5);

/// Reason why a worker could not start or continue.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.describe())]
pub struct WorkError {
    what: Message,
    why: Message,
}

impl Describe for WorkError {
    fn describe(&self) -> Message {
        message!("worker-cannot", what = self.what, reason = self.why)
    }
}

impl WorkError {
    /// Returns the error of an operation of a worker.
    fn new(what: Message, why: impl fmt::Display) -> Self {
        Self { what, why: Message::text(why) }
    }
}

/// Resources of a worker for carrying out effects.
#[derive(Clone)]
pub struct WorkerResources {
    /// Models, tools, the working folder.
    pub orchestrator: Orchestrator,
    /// Folder into which the states of runs are checked out, if the working folder moves between hosts.
    pub trees: Option<WorkspaceStore>,
}

/// A folder for checkouts holds one state at a time, so this worker takes one effect and leaves others to other
/// workers.
fn one_at_a_time() -> TunerHolder {
    let one = FixedSizeSlotSupplier::new(1);
    TunerHolder::builder()
        .workflow_task_slot_supplier(one)
        .activity_task_slot_supplier(one)
        .local_activity_task_slot_supplier(one)
        .nexus_task_slot_supplier(one)
        .build()
}

/// Serves capabilities until `stop` is ready. Then it takes no new effects, gives those in progress some seconds to
/// end, and returns. Another worker gets the rest. Must be awaited within a tokio runtime.
///
/// # Errors
/// [`WorkError`] if there is no capability to serve, or the engine refuses the worker permanently.
pub async fn work(
    client: Client,
    resources: Option<WorkerResources>,
    serves: &BTreeSet<Capability>,
    queues: &Queues,
    stop: impl Future<Output = ()>,
) -> Result<(), WorkError> {
    let runtime =
        Runtime::from_current_tokio(RuntimeOptions::default()).map_err(|error| WorkError::new(message!("worker-to-begin"), error))?;
    let mut workers = Vec::new();
    let takes_turns = resources.as_ref().is_some_and(|resources| resources.trees.is_some());
    for capability in serves {
        let options = WorkerOptions::new(queues.name(*capability))
            .sticky_queue_schedule_to_start_timeout(STICKY)
            .max_heartbeat_throttle_interval(HEARTBEAT)
            .maybe_tuner((takes_turns && capability.is_bound()).then(one_at_a_time));
        let options = match (capability, resources.clone()) {
            (Capability::Runs, _) => options
                .register_workflow::<RunWorkflow>()
                .and_then(|options| options.register_workflow::<ActorWorkflow>())
                .map_err(|error| WorkError::new(message!("worker-to-drive"), error))?
                .build(),
            (_, Some(WorkerResources { orchestrator, trees })) => options.register_activities(Effects::new(orchestrator, trees)).build(),
            (_, None) => return Err(WorkError { what: message!("worker-to-act"), why: message!("worker-no-parts") }),
        };
        workers.push(Worker::new(&runtime, client.clone(), options).map_err(|error| WorkError::new(message!("worker-to-begin"), error))?);
    }
    if workers.is_empty() {
        return Err(WorkError { what: message!("worker-to-begin"), why: message!("worker-serves-nothing") });
    }
    let ends: Vec<_> = workers.iter().map(Worker::shutdown_handle).collect();
    let mut working = std::pin::pin!(try_join_all(workers.iter_mut().map(Worker::run)));
    let ended = tokio::select! {
        ended = &mut working => ended,
        () = stop => {
            ends.iter().for_each(|end| end());
            // Effects that have not ended are dropped without an answer. That is no cancellation, and another worker
            // takes them up.
            match tokio::time::timeout(GRACE, working).await {
                Ok(ended) => ended,
                Err(_) => return Ok(()),
            }
        }
    };
    ended.map(|_| ()).map_err(|error| WorkError::new(message!("worker-to-go-on"), error))
}
