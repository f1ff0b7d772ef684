//! What workers do: single effects of runs and actors.
#![expect(missing_docs, reason = "the macros of the SDK make items without documentation beside each documented one")]

use std::sync::Arc;

use aime_actors::{ActorFact, ActorInput};
use aime_durable::Reason;
use aime_orchestrator::{Apart, Attempted, Orchestrator, RunFact, RunInput};
use temporalio_client::{WorkflowSignalOptions, errors::WorkflowInteractionError};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{sync::mpsc, task::AbortHandle};
use tokio_util::sync::CancellationToken;

use crate::{ActOrder, JudgeOrder, MakeOrder, Making, RunOrder, RunWorkflow, alive};

/// Carries out effects with the parts of an orchestrator: its models, its tools, its working folder.
pub struct Effects {
    orchestrator: Orchestrator,
}

impl Effects {
    /// With these parts.
    #[must_use]
    pub const fn new(orchestrator: Orchestrator) -> Self {
        Self { orchestrator }
    }

    fn apart(&self, input: RunInput, so_far: &aime_orchestrator::RunSoFar) -> Apart {
        self.orchestrator.apart(input, so_far)
    }
}

#[activities]
impl Effects {
    /// One effect of a run.
    #[activity(name = "aime.run.effect")]
    pub async fn of_run(self: Arc<Self>, context: ActivityContext, input: RunInput, order: RunOrder) -> Result<RunFact, ActivityError> {
        let apart = self.apart(input, &order.so_far);
        let issue = order.order.issue(context.info().attempt);
        let cancelled = Cancelled::of(&context);
        let cancel = cancelled.token.clone();
        heard(&context, None, |told| async move { apart.run(issue, cancel.cancelled(), told).await }).await
    }

    /// The making of an actor.
    #[activity(name = "aime.actor.make")]
    pub async fn make(self: Arc<Self>, context: ActivityContext, input: RunInput, order: MakeOrder) -> Result<Making, ActivityError> {
        let apart = self.apart(input, &order.so_far);
        let MakeOrder { id, order, said, .. } = order;
        let cancelled = Cancelled::of(&context);
        let cancel = cancelled.token.clone();
        let made = heard(&context, None, |told| async move { apart.make_actor(id, order, said, cancel, told).await });
        Ok(match made.await? {
            Ok(made) => Making::Made { actor: Box::new(made) },
            Err(fact) => Making::Ended { fact: Box::new(fact) },
        })
    }

    /// A look at what an attempt came to.
    #[activity(name = "aime.actor.judge")]
    pub async fn judge(self: Arc<Self>, context: ActivityContext, input: RunInput, order: JudgeOrder) -> Result<RunFact, ActivityError> {
        let apart = self.apart(input, &order.so_far);
        let cancelled = Cancelled::of(&context);
        let cancel = cancelled.token.clone();
        let judged = heard(&context, None, |told| async move {
            let JudgeOrder { id, spec, conclusion, calls, duration_ms, .. } = order;
            apart.judge(Attempted { id, spec: &spec, conclusion, calls, duration_ms }, cancel, told).await
        });
        judged.await
    }

    /// One effect of an actor.
    #[activity(name = "aime.actor.effect")]
    pub async fn of_actor(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        actor: ActorInput,
        order: ActOrder,
    ) -> Result<ActorFact, ActivityError> {
        let apart = self.apart(input, &order.so_far);
        let issue = order.order.issue(context.info().attempt);
        let cancelled = Cancelled::of(&context);
        let cancel = cancelled.token.clone();
        if cancel.is_cancelled() {
            return Ok(ActorFact::Revoked { id: issue.id, why: Reason::Cancelled });
        }
        heard(&context, Some(order.run), |told| async move { apart.act(actor, issue, cancel, told).await }).await
    }
}

/// Fires when the activity is cancelled, for as long as it is held.
struct Cancelled {
    token: CancellationToken,
    watch: AbortHandle,
}

impl Cancelled {
    fn of(context: &ActivityContext) -> Self {
        let token = CancellationToken::new();
        let (fires, context) = (token.clone(), context.clone());
        let watch = tokio::spawn(async move {
            context.cancelled().await;
            fires.cancel();
        });
        Self { token, watch: watch.abort_handle() }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// Does work whose facts on the way are signalled to the run at once, in their order, and all of them before the work's own answer is given.
async fn heard<T, F>(
    context: &ActivityContext,
    run: Option<String>,
    work: impl FnOnce(Box<dyn FnMut(RunFact) + Send>) -> F,
) -> Result<T, ActivityError>
where
    F: Future<Output = T>,
{
    let (tell, mut told) = mpsc::unbounded_channel();
    // Whoever listens is there until the work is done.
    let work = work(Box::new(move |fact| drop(tell.send(fact))));
    let run = run.or_else(|| context.info().workflow_id.clone());
    let signals = async {
        while let Some(fact) = told.recv().await {
            let Some(run) = &run else { continue };
            let run = context.client().get_workflow_handle::<RunWorkflow>(run.clone());
            match run.signal(RunWorkflow::facts, vec![fact], WorkflowSignalOptions::default()).await {
                // A run that is gone has nobody to be told.
                Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok::<(), ActivityError>(())
    };
    let (done, signalled) = alive(context, futures::future::join(work, signals)).await;
    signalled?;
    Ok(done)
}
