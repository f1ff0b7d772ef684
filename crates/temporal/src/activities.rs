//! Activities of workers: single effects of runs and actors.
#![expect(missing_docs, reason = "the macros of the SDK make items without documentation beside each documented one")]

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use aime_actor_factory::{ActorEffect, ActorFact, ActorInput};
use aime_durable::Reason;
use aime_messages::{Message, message};
use aime_orchestrator::{EndedAttempt, LeadPolicy, Orchestrator, RemoteEffects, RunEffect, RunFact};
use aime_progress_management::{ProgressState, RunId};
use aime_undo::Author;
use temporalio_client::{WorkflowQueryOptions, WorkflowSignalOptions, errors::WorkflowInteractionError};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{sync::mpsc, task::AbortHandle, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    ActorCreation, ActorEffectInput, CallReply, DelegateCreation, DelegateInput, EndRunInput, Handover, JudgeInput, LeadCheckInput,
    MakeActorInput, MergeInput, MergeOutcome, RunEffectInput, RunWorkflow, WakeComposition, WakeInput, Wire, WorkspaceSnapshot,
    WorkspaceStore,
    client::EngineError,
    messages::RunInput,
    with_heartbeats,
    workspace_store::{Checkout, TreeError},
};

/// Number of attempts to signal the run before the work counts as failed.
const SIGNAL_TRIES: u32 = 60;
/// Between two of these.
const BETWEEN_SIGNALS: Duration = Duration::from_secs(1);

/// Carries out effects with the parts of an orchestrator: its models, its tools, its working folder.
pub struct Effects {
    orchestrator: Orchestrator,
    trees: Option<WorkspaceStore>,
}

/// Orchestrator and working folder for one effect. No other effect changes the folder meanwhile.
struct Workspace {
    orchestrator: Orchestrator,
    folder: Option<Checkout>,
}

impl Effects {
    /// Creates the activities from these parts; `trees` is given if states of runs' folders are checked out into the
    /// working folder.
    #[must_use]
    pub const fn new(orchestrator: Orchestrator, trees: Option<WorkspaceStore>) -> Self {
        Self { orchestrator, trees }
    }

    /// Checks out the folder state from which an effect begins, for work by an author, unless the effect is cancelled
    /// while it waits for its turn.
    async fn workspace(
        &self,
        context: &ActivityContext,
        run: &RunId,
        tree: Option<&WorkspaceSnapshot>,
        by: Option<Author>,
    ) -> Result<Workspace, ActivityError> {
        let Some(tree) = tree else { return Ok(Workspace { orchestrator: self.orchestrator.clone(), folder: None }) };
        let checkout = async {
            tokio::select! {
                biased;
                checkout = self.trees()?.check_out(tree, run.as_str(), by) => Ok(checkout?),
                () = context.cancelled() => Err(ActivityError::cancelled()),
            }
        };
        let folder = with_heartbeats(context, checkout).await?;
        Ok(Workspace { orchestrator: self.orchestrator.with_folder_replaced(folder.passing()), folder: Some(folder) })
    }

    fn trees(&self) -> Result<&WorkspaceStore, ActivityError> {
        self.trees.as_ref().ok_or_else(|| TreeError::None.into())
    }

    async fn effect_of_run(
        &self,
        context: &ActivityContext,
        input: RunInput,
        order: RunEffectInput,
    ) -> Result<(RunFact, Workspace), ActivityError> {
        let by = match &order.order.effect {
            RunEffect::CallTool { spec, call, .. } => Some(Author::new(Some(spec.id.as_str()), call.tool())),
            _ => None,
        };
        let workspace = self.workspace(context, input.run(), order.tree.as_ref(), by).await?;
        let effects = workspace.orchestrator.remote_effects(input, &order.run_context);
        let issue = order.order.issue(context.info().attempt);
        let effects = match &issue.effect {
            RunEffect::CallTool { call, .. } if RemoteEffects::needs_progress(call.tool()) => {
                effects.with_progress(progress(context, None).await?)
            }
            _ => effects,
        };
        let cancelled = Cancelled::of(context);
        let cancel = cancelled.token.clone();
        // The changes that a call makes in a folder of its own are lost unless the whole effect ends.
        let is_lasting = workspace.folder.is_none();
        let work = |mut sink: Box<dyn FnMut(RunFact) + Send>| async move {
            let lasting = move |fact| {
                if is_lasting || !matches!(fact, RunFact::ToolCalled { .. }) {
                    sink(fact);
                }
            };
            effects.run(issue, cancel.cancelled(), lasting).await
        };
        let fact = forward_facts(context, None, work).await?;
        Ok((fact, workspace))
    }

    async fn effect_of_actor(
        &self,
        context: &ActivityContext,
        input: RunInput,
        actor: ActorInput,
        order: ActorEffectInput,
    ) -> Result<(ActorFact, Workspace), ActivityError> {
        let cancelled = Cancelled::of(context);
        let cancel = cancelled.token.clone();
        let by = match &order.order.effect {
            ActorEffect::Tool { call, .. } => Some(Author::new(Some(actor.spec.task.as_str()), call.tool())),
            _ => None,
        };
        let workspace = self.workspace(context, input.run(), order.tree.as_ref(), by).await?;
        let effects = workspace.orchestrator.remote_effects(input, &order.run_context);
        let issue = order.order.issue(context.info().attempt);
        let effects = match &issue.effect {
            ActorEffect::Plan { .. } => effects.with_progress(progress(context, Some(order.run.clone())).await?),
            ActorEffect::Tool { call, .. } if RemoteEffects::needs_progress(call.tool()) => {
                effects.with_progress(progress(context, Some(order.run.clone())).await?)
            }
            _ => effects,
        };
        if cancel.is_cancelled() {
            return Ok((ActorFact::Revoked { id: issue.id, why: Reason::Cancelled }, workspace));
        }
        let begun = context.info().scheduled_time.map(|at| at.duration_since(UNIX_EPOCH).unwrap_or_default());
        let begun = begun.map(|at| i64::try_from(at.as_millis()).unwrap_or(i64::MAX));
        let fact =
            forward_facts(context, Some(order.run), |sink| async move { effects.act(actor, (issue, begun), cancel, sink).await }).await?;
        Ok((fact, workspace))
    }
}

/// Returns the state of a run: the named one, or the one whose effect this is.
async fn progress(context: &ActivityContext, run: Option<String>) -> Result<ProgressState, ActivityError> {
    let run = run.or_else(|| context.info().workflow_id.clone()).unwrap_or_default();
    let run = context.client().get_workflow_handle::<RunWorkflow>(run);
    let state = with_heartbeats(context, run.query(RunWorkflow::progress, (), WorkflowQueryOptions::default())).await?;
    state.0.ok_or_else(|| EngineError::Refused { what: message!("engine-to-read"), why: message!("engine-not-begun") }.into())
}

/// Adds the final state of the folder to an answer.
async fn worked<T>(context: &ActivityContext, (fact, workspace): (T, Workspace)) -> CallReply<T> {
    let handover = match workspace.folder {
        Some(folder) => with_heartbeats(context, folder.hand_back()).await,
        None => Handover::Lost { why: message!("tree-not-own") },
    };
    CallReply { fact, handover }
}

#[activities]
impl Effects {
    /// Carries out one effect of a run.
    #[activity(name = "aime.run.effect")]
    pub async fn run_effect(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        order: Wire<RunEffectInput>,
    ) -> Result<Wire<RunFact>, ActivityError> {
        self.effect_of_run(&context, input, order.0).await.map(|(fact, _)| Wire(fact))
    }

    /// Carries out a tool call of a run in a folder that moves between hosts.
    #[activity(name = "aime.run.call")]
    pub async fn run_tool_call(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        order: Wire<RunEffectInput>,
    ) -> Result<Wire<CallReply<RunFact>>, ActivityError> {
        let done = self.effect_of_run(&context, input, order.0).await?;
        Ok(Wire(worked(&context, done).await))
    }

    /// Carries out the end of a run, or of a part of it. Returns notes for the user.
    #[activity(name = "aime.run.end")]
    pub async fn end(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        order: Wire<EndRunInput>,
    ) -> Result<Wire<Vec<Message>>, ActivityError> {
        let (Wire(order), state) = (order, progress(&context, None).await?);
        let workspace = self.workspace(&context, input.run(), order.tree.as_ref(), None).await?;
        let effects = workspace.orchestrator.remote_effects(input, &order.run_context);
        Ok(Wire(with_heartbeats(&context, effects.end(order.result, &state, order.is_over)).await))
    }

    /// Merges work into the state of a folder.
    #[activity(name = "aime.tree.merge")]
    pub async fn merge(self: Arc<Self>, context: ActivityContext, order: Wire<MergeInput>) -> Result<Wire<MergeOutcome>, ActivityError> {
        Ok(Wire(with_heartbeats(&context, self.trees()?.merge(&order.0)).await?))
    }

    /// Decides whether a run has a lead: the model is that of this worker.
    #[activity(name = "aime.run.lead")]
    pub async fn lead(self: Arc<Self>, _: ActivityContext, input: RunInput) -> Result<Option<LeadPolicy>, ActivityError> {
        Ok(self.orchestrator.lead_policy(input.settings()))
    }

    /// Composes the message of a wake of the lead, and the lead itself if its conversation begins.
    #[activity(name = "aime.lead.wake")]
    pub async fn wake(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        order: Wire<WakeInput>,
    ) -> Result<Wire<WakeComposition>, ActivityError> {
        let Wire(order) = order;
        let workspace = self.workspace(&context, input.run(), order.tree.as_ref(), None).await?;
        let effects = workspace.orchestrator.remote_effects(input, &order.run_context);
        Ok(Wire(match with_heartbeats(&context, effects.wake_lead(&order.order, order.is_new)).await {
            Ok(lead) => WakeComposition::Woken { lead },
            Err(message) => WakeComposition::Failed { message },
        }))
    }

    /// Checks the work of the lead whose conversation pauses.
    #[activity(name = "aime.lead.check")]
    pub async fn check(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        order: Wire<LeadCheckInput>,
    ) -> Result<Wire<RunFact>, ActivityError> {
        let (Wire(order), state) = (order, progress(&context, None).await?);
        let workspace = self.workspace(&context, input.run(), order.tree.as_ref(), None).await?;
        let effects = workspace.orchestrator.remote_effects(input, &order.run_context);
        let cancelled = Cancelled::of(&context);
        let cancel = cancelled.token.clone();
        let rested =
            forward_facts(&context, None, |sink| async move { effects.lead_rested(order.id, order.rest, state, cancel, sink).await });
        rested.await.map(Wire)
    }

    /// Creates an actor.
    #[activity(name = "aime.actor.make")]
    pub async fn make(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        order: Wire<MakeActorInput>,
    ) -> Result<Wire<ActorCreation>, ActivityError> {
        let Wire(order) = order;
        let workspace = self.workspace(&context, input.run(), order.tree.as_ref(), None).await?;
        let effects = workspace.orchestrator.remote_effects(input, &order.run_context).with_progress(progress(&context, None).await?);
        let MakeActorInput { id, order, messages, .. } = order;
        let cancelled = Cancelled::of(&context);
        let cancel = cancelled.token.clone();
        let made = forward_facts(&context, None, |sink| async move { effects.make_actor(id, order, messages, cancel, sink).await });
        Ok(Wire(match made.await? {
            Ok(made) => ActorCreation::Made { actor: Box::new(made) },
            Err(fact) => ActorCreation::Ended { fact: Box::new(fact) },
        }))
    }

    /// Creates an actor for a part of another one's work.
    #[activity(name = "aime.actor.delegate")]
    pub async fn delegate(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        order: Wire<DelegateInput>,
    ) -> Result<Wire<DelegateCreation>, ActivityError> {
        let DelegateInput { run_context, run, order, by, call, request, origins, tree } = order.0;
        let state = match request.task {
            None => None,
            Some(_) => Some(progress(&context, Some(run)).await?),
        };
        let workspace = self.workspace(&context, input.run(), tree.as_ref(), None).await?;
        let made =
            workspace.orchestrator.remote_effects(input, &run_context).make_below(order, &by, (&call, &request, &origins), state).await;
        Ok(Wire(match made {
            Ok(made) => DelegateCreation::Made { made: Box::new(made) },
            Err(why) => DelegateCreation::Refused { why },
        }))
    }

    /// Judges the conclusion of an attempt.
    #[activity(name = "aime.actor.judge")]
    pub async fn judge(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        order: Wire<JudgeInput>,
    ) -> Result<Wire<RunFact>, ActivityError> {
        let Wire(order) = order;
        let workspace = self.workspace(&context, input.run(), order.tree.as_ref(), None).await?;
        let effects = workspace.orchestrator.remote_effects(input, &order.run_context).with_progress(progress(&context, None).await?);
        let cancelled = Cancelled::of(&context);
        let cancel = cancelled.token.clone();
        let judged = forward_facts(&context, None, |sink| async move {
            let JudgeInput { id, spec, conclusion, calls, conflicts, duration_ms, .. } = order;
            effects.judge(EndedAttempt { id, spec: &spec, conclusion, calls, conflicts, duration_ms }, cancel, sink).await
        });
        judged.await.map(Wire)
    }

    /// Carries out one effect of an actor.
    #[activity(name = "aime.actor.effect")]
    pub async fn actor_effect(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        actor: ActorInput,
        order: Wire<ActorEffectInput>,
    ) -> Result<Wire<ActorFact>, ActivityError> {
        self.effect_of_actor(&context, input, actor, order.0).await.map(|(fact, _)| Wire(fact))
    }

    /// Carries out a tool call of an actor in a folder that moves between hosts.
    #[activity(name = "aime.actor.call")]
    pub async fn actor_tool_call(
        self: Arc<Self>,
        context: ActivityContext,
        input: RunInput,
        actor: ActorInput,
        order: Wire<ActorEffectInput>,
    ) -> Result<Wire<CallReply<ActorFact>>, ActivityError> {
        let done = self.effect_of_actor(&context, input, actor, order.0).await?;
        Ok(Wire(worked(&context, done).await))
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

/// Awaits work and signals its intermediate facts to the run at once, in their order. Returns after all of them are sent.
async fn forward_facts<T, F>(
    context: &ActivityContext,
    run: Option<String>,
    work: impl FnOnce(Box<dyn FnMut(RunFact) + Send>) -> F,
) -> Result<T, ActivityError>
where
    F: Future<Output = T>,
{
    let (sender, mut receiver) = mpsc::unbounded_channel();
    // The receiver exists until the work is done.
    let work = work(Box::new(move |fact| drop(sender.send(fact))));
    let run = run.or_else(|| context.info().workflow_id.clone());
    let signals = async {
        while let Some(fact) = receiver.recv().await {
            let Some(run) = &run else { continue };
            let run = context.client().get_workflow_handle::<RunWorkflow>(run.clone());
            let mut tries = 1;
            // The engine drops a repeated signal with the same request id.
            let once = WorkflowSignalOptions::builder().request_id(uuid::Uuid::now_v7().to_string()).build();
            loop {
                match run.signal(RunWorkflow::facts, Wire(vec![fact.clone()]), once.clone()).await {
                    // A run that no longer exists needs no signal.
                    Ok(()) | Err(WorkflowInteractionError::NotFound(_)) => break,
                    // Work that was done is not thrown away for an engine that is away for a while.
                    Err(error) if tries < SIGNAL_TRIES => tracing::warn!(%error, tries, "the run could not be told what happened"),
                    Err(error) => return Err(error.into()),
                }
                tries += 1;
                sleep(BETWEEN_SIGNALS).await;
            }
        }
        Ok::<(), ActivityError>(())
    };
    let (done, signalled) = with_heartbeats(context, futures::future::join(work, signals)).await;
    signalled?;
    Ok(done)
}
