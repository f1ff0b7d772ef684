//! Suspension of a run, and the facts that resume it.

use std::task::Poll;

use aime_messages::message;
use aime_orchestrator::{FailureCode, NextStep, RunFact, RunFailure, RunOutput, RunResult};
use aime_progress_management::{ProgressState, RunId, RunStatus};
use futures::FutureExt as _;
use temporalio_sdk::WorkflowContext;

use super::{RunDriver, RunWorkflow, cancel};
use crate::{
    resumes_run,
    workflow_context::{cancelled, until},
};

/// State in which a run was suspended.
pub(super) struct SuspendedState {
    /// True if it waits for a person.
    waits: bool,
    /// True if its question was answered during the suspension, so that no further answer will come.
    pub(super) answered: bool,
    /// Messages of people that it has not taken in.
    undelivered: Vec<RunFact>,
}

impl SuspendedState {
    /// Returns the state of a run that was suspended with this output; `has_answer` is true if a person had answered.
    pub(super) fn of(output: &RunOutput, state: &ProgressState, has_answer: bool, undelivered: Vec<RunFact>) -> Self {
        let waits = output.status == RunStatus::WaitingForHuman;
        let open = state.questions.iter().filter(|question| question.answer.is_none());
        let open: Vec<String> = open.map(|question| question.question.to_string()).collect();
        let answered = waits && has_answer && output.error.as_ref().is_none_or(|waiting| waiting.message != open.join("\n\n"));
        Self { waits, answered, undelivered }
    }
}

/// Shows a run that was never driven, until a person resumes it. Returns the facts received until then.
pub(super) async fn wait_for_first_resume(ctx: &WorkflowContext<RunWorkflow>, driver: &RunDriver) -> Vec<RunFact> {
    let run = driver.input().run().clone();
    let result = ctx.state(|seen| seen.state.as_ref().map(|state| RunResult::new(run.clone(), state, &never_driven(run))));
    ctx.state_mut(|run| run.result = result);
    let then = wait_for_resume(ctx, SuspendedState { waits: false, answered: false, undelivered: Vec::new() }).await;
    ctx.state_mut(|run| run.result = None);
    then
}

/// Output of a run that was forked and not resumed yet.
fn never_driven(run: RunId) -> RunOutput {
    let error = RunFailure::new(FailureCode::Interrupted, message!("never-driven"), Some(NextStep::Resume { run }));
    RunOutput { status: RunStatus::Interrupted, error: Some(error) }
}

/// Waits until a person resumes a suspended run. Returns the facts received, in order, after the one that resumes it.
pub(super) async fn wait_for_resume(ctx: &WorkflowContext<RunWorkflow>, last: SuspendedState) -> Vec<RunFact> {
    let SuspendedState { waits, answered, undelivered } = last;
    let mut ended = cancelled(ctx);
    let waiting = ctx.clone();
    let goes_on = move |run: &RunWorkflow| answered || run.inbox.iter().any(|fact| resumes_run(fact, waits));
    let mut wanted = async move { until(&waiting, goes_on).await }.boxed_local();
    let ended = futures::future::poll_fn(|context| match (ended.poll_unpin(context), wanted.poll_unpin(context)) {
        (Poll::Ready(()), _) => Poll::Ready(true),
        (_, Poll::Ready(())) => Poll::Ready(false),
        _ => Poll::Pending,
    })
    .await;
    let received = ctx.state_mut(|run| std::mem::take(&mut run.inbox));
    if ended { vec![cancel()] } else { resume_facts(received, undelivered, waits) }
}

/// Returns the first facts of a suspended run: that it is resumed or given up, and then the messages received.
pub(super) fn resume_facts(received: Vec<RunFact>, undelivered: Vec<RunFact>, waits: bool) -> Vec<RunFact> {
    // Resuming a run cancels earlier requests to stop it; later requests count.
    let moved = received.iter().position(|fact| resumes_run(fact, waits)).unwrap_or(received.len());
    let received = received.into_iter().enumerate();
    let received = received.filter(|(place, fact)| *place > moved || !matches!(fact, RunFact::StopRequested { .. })).map(|(_, fact)| fact);
    let (mut more, mut then) = (None, undelivered);
    for fact in received {
        match fact {
            // Several people may resume it at once. It continues once, with the bounds of the last one.
            RunFact::Resumed { bounds } => more = bounds.or(more),
            RunFact::CancelRequested { task: None, .. } => return vec![fact],
            fact => then.push(fact),
        }
    }
    then.insert(0, RunFact::Resumed { bounds: more });
    then
}
