//! An actor as a child of another workflow: of its run, or of the actor that has called it.

use aime_actor_factory::ActorFact;
use aime_durable::Reason;
use aime_messages::{Message, message};
use futures::{
    FutureExt as _,
    future::{Either, join, join_all, select},
};
use temporalio_sdk::{ChildWorkflowOptions, ParentClosePolicy, SignalWorkflowOptions, WorkflowCancellationToken, WorkflowContext};

use crate::{ActorEnd, ActorWorkflow, ActorWorkflowInput, Capability, Wire};

/// Runs a child workflow that drives an actor. Once it exists, `begun` returns its first signals. When `stop` is
/// ready, the actor is asked to stop, and its end is awaited.
///
/// # Errors
/// Reason why it did not end properly.
pub(crate) async fn drive_child<W: 'static>(
    ctx: &WorkflowContext<W>,
    begin: ActorWorkflowInput,
    workflow: String,
    stop: &WorkflowCancellationToken,
    begun: impl FnOnce() -> Vec<ActorFact>,
) -> Result<ActorEnd, Message> {
    let options = ChildWorkflowOptions::builder()
        .workflow_id(workflow.clone())
        .task_queue(begin.queues.name(Capability::Runs))
        .cancellation_token(WorkflowCancellationToken::new())
        .parent_close_policy(ParentClosePolicy::RequestCancel)
        .build();
    let started = ctx.start_child_workflow(ActorWorkflow::run, Wire(begin), options).await;
    let started = started.map_err(|error| message!("actor-not-begun", reason = error))?;
    // The signal goes by name, so that it also reaches an actor in a new history. An ended actor needs no signal.
    let actor = ctx.external_workflow(workflow, None);
    let signal = |fact| {
        let options = SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
        actor.signal(ActorWorkflow::deliver, Wire(fact), options)
    };
    let signals = join_all(begun().into_iter().map(signal));
    let stopped = async {
        stop.cancelled().await;
        drop(signal(ActorFact::Stopped { why: Reason::Stopped }).await);
    };
    let ended = async {
        match select(stopped.boxed_local(), started.result().boxed_local()).await {
            Either::Left(((), ending)) => ending.await,
            Either::Right((ended, _)) => ended,
        }
    };
    let (_, ended) = join(signals, ended).await;
    ended.map(|ended| ended.0).map_err(|error| message!("actor-broken-off", reason = error))
}
