//! Prints the history of a workflow as the replay tests read it: a `temporal.api.history.v1.History` in the encoding
//! of Protocol Buffers, without the names of machines. If the workflow has continued in new histories, it prints the
//! last one, or with `first` the first one. `cargo xtask scenario temporal --record` uses it.
//!
//! `cargo run -p aime-temporal --example history -- ADDRESS WORKFLOW [first] > FILE`

use std::{error::Error, io::Write as _};

use aime_temporal::{Access, Blobs, Certificates, RunWorkflow, connect};
use prost::Message as _;
use temporalio_client::{WorkflowFetchHistoryOptions, WorkflowHandle};
use temporalio_common::protos::temporal::api::history::v1::{History, HistoryEvent, history_event::Attributes};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (address, workflow, first) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [address, workflow] => (address, workflow, false),
        [address, workflow, "first"] => (address, workflow, true),
        _ => return Err("the address of an engine, a workflow, and perhaps `first`".into()),
    };
    // The history keeps the names of blobs, so their content is not read.
    let access = Access { address: address.parse()?, blobs: Blobs::in_folder("."), api_key: None, certificates: Certificates::default() };
    let client = connect(access).await?;
    let mut handle = client.get_workflow_handle::<RunWorkflow>(workflow);
    let mut events = handle.fetch_history(WorkflowFetchHistoryOptions::builder().build()).into_events().await?;
    if first {
        let begun = events.iter().find_map(|event| match &event.attributes {
            Some(Attributes::WorkflowExecutionStartedEventAttributes(of)) => Some(of.first_execution_run_id.clone()),
            _ => None,
        });
        let mut info = handle.info().clone();
        info.run_id = begun;
        handle = WorkflowHandle::new(client, info);
        events = handle.fetch_history(WorkflowFetchHistoryOptions::builder().build()).into_events().await?;
    }
    events.iter_mut().for_each(forget_machines);
    std::io::stdout().write_all(&History { events }.encode_to_vec())?;
    Ok(())
}

fn forget_machines(event: &mut HistoryEvent) {
    let Some(attributes) = &mut event.attributes else { return };
    let identity = match attributes {
        Attributes::WorkflowExecutionStartedEventAttributes(of) => &mut of.identity,
        Attributes::WorkflowTaskStartedEventAttributes(of) => &mut of.identity,
        Attributes::WorkflowTaskCompletedEventAttributes(of) => &mut of.identity,
        Attributes::WorkflowTaskFailedEventAttributes(of) => &mut of.identity,
        Attributes::ActivityTaskStartedEventAttributes(of) => &mut of.identity,
        Attributes::ActivityTaskCompletedEventAttributes(of) => &mut of.identity,
        Attributes::ActivityTaskFailedEventAttributes(of) => &mut of.identity,
        Attributes::ActivityTaskCanceledEventAttributes(of) => &mut of.identity,
        Attributes::WorkflowExecutionSignaledEventAttributes(of) => &mut of.identity,
        Attributes::WorkflowExecutionCancelRequestedEventAttributes(of) => &mut of.identity,
        Attributes::TimerCanceledEventAttributes(of) => &mut of.identity,
        // The queue of the worker that has the workflow in memory is named after it.
        Attributes::WorkflowTaskScheduledEventAttributes(of) => match &mut of.task_queue {
            Some(queue) => &mut queue.name,
            None => return,
        },
        _ => return,
    };
    "worker".clone_into(identity);
}
