//! An actor as a child of another workflow: of its run, or of the actor that has called it.

use aime_actor_factory::ActorFact;
use aime_durable::Reason;
use futures::{
    FutureExt as _,
    future::{Either, join, join_all, select},
};
use temporalio_sdk::{ChildWorkflowOptions, ParentClosePolicy, SignalWorkflowOptions, WorkflowCancellationToken, WorkflowContext};

use crate::{ActorBegin, ActorEnd, ActorWorkflow, Capability};

/// Runs a child workflow that drives an actor. Once it exists, `begun` returns its first signals. When `stop` is
/// ready, the actor is asked to stop, and its end is awaited.
///
/// # Errors
/// Reason why it did not end properly, as text.
pub(crate) async fn drive_child<W: 'static>(
    ctx: &WorkflowContext<W>,
    begin: ActorBegin,
    workflow: String,
    stop: &WorkflowCancellationToken,
    begun: impl FnOnce() -> Vec<ActorFact>,
) -> Result<ActorEnd, String> {
    let options = ChildWorkflowOptions::builder()
        .workflow_id(workflow.clone())
        .task_queue(begin.queues.name(Capability::Runs))
        .cancellation_token(WorkflowCancellationToken::new())
        .parent_close_policy(ParentClosePolicy::RequestCancel)
        .build();
    let started = ctx.start_child_workflow(ActorWorkflow::run, begin, options).await.map_err(|error| error.to_string())?;
    // The signal goes by name, so that it also reaches an actor in a new history. An ended actor needs no signal.
    let actor = ctx.external_workflow(workflow, None);
    let tell = |fact| {
        let options = SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
        actor.signal(ActorWorkflow::told, fact, options)
    };
    let told = join_all(begun().into_iter().map(tell));
    let stopped = async {
        stop.cancelled().await;
        drop(tell(ActorFact::Stopped { why: Reason::Stopped }).await);
    };
    let ended = async {
        match select(stopped.boxed_local(), started.result().boxed_local()).await {
            Either::Left(((), ending)) => ending.await,
            Either::Right((ended, _)) => ended,
        }
    };
    let (_, ended) = join(told, ended).await;
    ended.map_err(|error| error.to_string())
}
