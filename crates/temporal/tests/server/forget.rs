//! A run is forgotten with its actors, once it has ended.

use std::time::Duration;

use aime_progress_management::RunId;
use aime_temporal::{Access, Blobs, Certificates, Client, EngineError, Queues, RunsClient, connect, run_workflow};
use temporalio_client::{
    UntypedWorkflow, WorkflowDescribeOptions, WorkflowExecutionStatus, WorkflowListOptions, WorkflowStartOptions, WorkflowTerminateOptions,
    errors::WorkflowInteractionError,
};
use temporalio_common::data_converters::RawValue;

/// Number of polls for work that the engine does in the background.
const LOOKS: usize = 600;

#[expect(clippy::disallowed_methods, reason = "a test takes its server from the environment")]
async fn client() -> Client {
    let server = std::env::var("AIME_TEMPORAL_ADDRESS").expect("`cargo xtask test temporal` starts a server and names it");
    let (address, certificates) = (server.parse().unwrap(), Certificates::default());
    connect(Access { address, blobs: Blobs::in_folder("blobs"), api_key: None, certificates }).await.unwrap()
}

/// Begins a workflow that no worker takes up.
async fn begin(client: &Client, name: &str) {
    let options = WorkflowStartOptions::new("nobody", name).build();
    client.start_workflow(UntypedWorkflow::new("aime.run"), RawValue::empty(), options).await.unwrap();
}

async fn terminate(client: &Client, name: &str) {
    client.get_workflow_handle::<UntypedWorkflow>(name).terminate(WorkflowTerminateOptions::default()).await.unwrap();
}

/// Returns the status of a workflow; `None` if the engine does not have it.
async fn status(client: &Client, name: &str) -> Option<WorkflowExecutionStatus> {
    match client.get_workflow_handle::<UntypedWorkflow>(name).describe(WorkflowDescribeOptions::default()).await {
        Ok(described) => Some(described.status()),
        Err(WorkflowInteractionError::NotFound(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the number of workflows that the engine lists with this name prefix.
async fn listed(client: &Client, name: &str) -> usize {
    use futures::TryStreamExt as _;
    let found = client.list_workflows(format!("WorkflowId STARTS_WITH '{name}'"), WorkflowListOptions::default());
    found.try_collect::<Vec<_>>().await.unwrap().len()
}

macro_rules! until {
    ($holds:expr) => {
        for look in 0.. {
            if $holds {
                break;
            }
            assert!(look < LOOKS, "it did not come about: {}", stringify!($holds));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_forgotten_with_its_actors_once_it_has_ended() {
    let client = client().await;
    let runs = RunsClient::new(client.clone(), Queues::default());
    let run: RunId = format!("gone-{}-{}", std::process::id(), aime_durable::Clock::now(&aime_durable::SystemClock)).parse().unwrap();
    assert!(matches!(runs.delete(&run).await, Err(EngineError::NoSuchRun { .. })));

    let name = run_workflow(run.as_str());
    let (actor, neighbour) = (format!("{name}/find/1"), format!("{name}-2"));
    for workflow in [&name, &actor, &neighbour] {
        begin(&client, workflow).await;
    }
    until!(listed(&client, &name).await == 3);
    assert!(matches!(runs.delete(&run).await, Err(EngineError::NotEnded { .. })));
    assert_eq!(status(&client, &actor).await, Some(WorkflowExecutionStatus::Running), "nothing of a run under way is touched");

    terminate(&client, &actor).await;
    terminate(&client, &name).await;
    runs.delete(&run).await.unwrap();
    until!(status(&client, &name).await.is_none() && status(&client, &actor).await.is_none());
    until!(listed(&client, &name).await == 1);
    assert_eq!(status(&client, &neighbour).await, Some(WorkflowExecutionStatus::Running));
    // Its name is free.
    begin(&client, &name).await;
    assert!(matches!(runs.delete(&run).await, Err(EngineError::NotEnded { .. })));
    terminate(&client, &name).await;
    terminate(&client, &neighbour).await;
}
