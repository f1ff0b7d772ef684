//! The contract of hosts, clause by clause: the same list that the embedded host keeps.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use aime_durable::{
    Recorded,
    contract::{self, BEGUN, ContractViolation, Hosts, INPUT, Opened, StoredToy, Sum, Toy, World},
};
use aime_temporal::{BlobCodec, Blobs, JournalResume, MachineStart, Timestamped};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, Url, WorkflowDescribeOptions, WorkflowGetResultOptions, WorkflowHandle,
    WorkflowIdReusePolicy, WorkflowQueryOptions, WorkflowStartOptions, errors::WorkflowInteractionError,
};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};

use crate::toy::{ToyActivities, ToyWorkflow};

/// Runs that were entered as a kill would have left them, and are not begun here yet.
type Entered = Arc<Mutex<HashMap<String, StoredToy>>>;

struct OnTemporal {
    runtime: Arc<Runtime>,
    client: Client,
    entered: Entered,
    /// The runs of other test processes have other names.
    process: String,
}

struct ToyRun {
    runtime: Arc<Runtime>,
    client: Client,
    entered: Entered,
    name: String,
    id: String,
    world: Arc<World>,
    kept: Option<StoredToy>,
}

impl OnTemporal {
    #[expect(clippy::disallowed_methods, reason = "a test takes its server from the environment")]
    async fn connect(address: &str, blobs: &std::path::Path) -> Self {
        let address = std::env::var(address).expect("`cargo xtask test temporal` starts servers and names them");
        let runtime = Arc::new(Runtime::from_current_tokio(Default::default()).unwrap());
        let url: Url = format!("http://{address}").parse().unwrap();
        let connection = Connection::connect(ConnectionOptions::new(url).build()).await.unwrap();
        let options = ClientOptions::new("default").data_converter(BlobCodec::converter(Blobs::in_folder(blobs))).build();
        let process = format!("{}-{}", std::process::id(), aime_durable::Clock::now(&aime_durable::SystemClock));
        Self { runtime, client: Client::new(connection, options).unwrap(), entered: Entered::default(), process }
    }
}

impl Hosts for OnTemporal {
    type Opened = ToyRun;

    async fn open(&self, run: &str, world: Arc<World>) -> Result<ToyRun, ContractViolation> {
        let id = format!("toy-{}-{run}", self.process);
        let (runtime, client, entered) = (Arc::clone(&self.runtime), self.client.clone(), Arc::clone(&self.entered));
        let mut toy = ToyRun { runtime, client, entered, name: run.to_owned(), id, world, kept: None };
        toy.kept = toy.look().await?;
        Ok(toy)
    }
}

impl ToyRun {
    fn handle(&self) -> WorkflowHandle<Client, ToyWorkflow> {
        self.client.get_workflow_handle(self.id.clone())
    }

    /// Returns the stored state: from the server, which replays the whole history for it, or from this test until the
    /// workflow has begun.
    async fn look(&self) -> Result<Option<StoredToy>, ContractViolation> {
        match self.handle().describe(WorkflowDescribeOptions::default()).await {
            Ok(_) => {}
            Err(WorkflowInteractionError::NotFound(_)) => {
                return Ok(self.entered.lock().unwrap().get(&self.name).cloned());
            }
            Err(error) => return Err(ContractViolation::because(error)),
        }
        let (begin, journal) = self
            .with_worker(async {
                self.handle().query(ToyWorkflow::kept, (), WorkflowQueryOptions::default()).await.map_err(ContractViolation::because)
            })
            .await?;
        let begin = begin.ok_or_else(|| ContractViolation("it has not begun".to_owned()))?;
        Ok(Some(StoredToy {
            input: begin.input.into(),
            facts: journal.facts.into_iter().map(Recorded::from).collect(),
            events: journal.events.into_iter().map(Recorded::from).collect(),
        }))
    }

    /// Runs a future while a worker of this run's queue exists. The worker caches no workflows, so each task replays
    /// the history.
    async fn with_worker<T>(&self, work: impl Future<Output = Result<T, ContractViolation>>) -> Result<T, ContractViolation> {
        let options = WorkerOptions::new(self.id.as_str())
            .max_cached_workflows(0)
            .max_heartbeat_throttle_interval(Duration::from_millis(100))
            .register_activities(ToyActivities { world: Arc::clone(&self.world) })
            .register_workflow::<ToyWorkflow>()
            .map_err(ContractViolation::because)?
            .build();
        let mut worker = Worker::new(&self.runtime, self.client.clone(), options).map_err(ContractViolation::because)?;
        let stop = worker.shutdown_handle();
        let working = worker.run();
        let mut working = std::pin::pin!(working);
        let done = tokio::select! {
            ended = &mut working => return Err(ContractViolation(format!("the worker ended: {ended:?}"))),
            done = work => done,
        };
        stop();
        working.await.map_err(ContractViolation::because)?;
        done
    }
}

impl Opened for ToyRun {
    fn kept(self) -> Option<StoredToy> {
        self.kept
    }

    async fn enter(self, kept: &StoredToy) -> Result<(), ContractViolation> {
        self.entered.lock().unwrap().insert(self.name, kept.clone());
        Ok(())
    }

    async fn finish(self) -> Result<Sum, ContractViolation> {
        let begin: MachineStart<Toy> = match &self.kept {
            None => MachineStart::fresh(BEGUN, INPUT),
            Some(StoredToy { input, facts, events }) => MachineStart {
                input: input.clone().into(),
                journal: Some(JournalResume {
                    facts: facts.iter().cloned().map(Timestamped::from).collect(),
                    events: events.len(),
                    not_begun: Default::default(),
                    then: Vec::new(),
                }),
            },
        };
        let options = WorkflowStartOptions::new(self.id.as_str(), self.id.as_str());
        let options = options.id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate).build();
        let started = self.client.start_workflow(ToyWorkflow::run, begin, options).await.map_err(ContractViolation::because)?;
        self.with_worker(async { started.get_result(WorkflowGetResultOptions::default()).await.map_err(ContractViolation::because) }).await
    }
}

// Requirement: 18.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_is_kept_on_temporal() {
    let blobs = tempfile::tempdir().unwrap();
    contract::all(&OnTemporal::connect("AIME_TEMPORAL_ADDRESS", blobs.path()).await).await.unwrap();
}

/// The server makes every run continue in a new history, again and again.
// Requirement: 18.4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_is_kept_in_new_histories() {
    let blobs = tempfile::tempdir().unwrap();
    contract::all(&OnTemporal::connect("AIME_TEMPORAL_SOON_ADDRESS", blobs.path()).await).await.unwrap();
}
