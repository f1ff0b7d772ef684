//! An actor as a child of another workflow: of its run, or of the actor that has called it.

use aime_actors::ActorFact;
use aime_durable::Reason;
use futures::{
    FutureExt as _,
    future::{Either, select},
};
use temporalio_sdk::{ChildWorkflowOptions, ParentClosePolicy, SignalWorkflowOptions, WorkflowCancellationToken, WorkflowContext};

use crate::{ActorBegin, ActorEnd, ActorWorkflow, Capability};

/// Lets a child workflow drive an actor. When that is not wanted any more (`stop`) the actor is told to stop, and its end is awaited.
///
/// # Errors
/// Why it came to no end, in words.
pub(crate) async fn drive_child<W: 'static>(
    ctx: &WorkflowContext<W>,
    begin: ActorBegin,
    workflow: String,
    stop: &WorkflowCancellationToken,
) -> Result<ActorEnd, String> {
    let options = ChildWorkflowOptions::builder()
        .workflow_id(workflow.clone())
        .task_queue(begin.queues.name(Capability::Runs))
        .cancellation_token(WorkflowCancellationToken::new())
        .parent_close_policy(ParentClosePolicy::RequestCancel)
        .build();
    let started = ctx.start_child_workflow(ActorWorkflow::run, begin, options).await.map_err(|error| error.to_string())?;
    let stopped = async {
        stop.cancelled().await;
        let options = SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
        // By its name, so that it is reached also where it goes on in a new history. One that has ended needs no stop.
        let actor = ctx.external_workflow(workflow, None);
        drop(actor.signal(ActorWorkflow::told, ActorFact::Stopped { why: Reason::Stopped }, options).await);
    };
    let ended = match select(stopped.boxed_local(), started.result().boxed_local()).await {
        Either::Left(((), ending)) => ending.await,
        Either::Right((ended, _)) => ended,
    };
    ended.map_err(|error| error.to_string())
}
