//! Carries out the effects of the run machine.

pub(crate) mod actor;
pub(crate) mod answer;
pub(crate) mod audit;
pub(crate) mod baseline;
mod checks;
pub(crate) mod commit;
pub(crate) mod evidence;
mod execute;
mod folder_access;
mod hooks;
pub(crate) mod kept_files;
mod kept_plans;
mod lead;
mod memory;
pub(crate) mod plan;
pub(crate) mod private;
mod recheck;
pub(crate) mod remote;
mod tool;
mod tool_models;
mod verify;

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use aime_durable::{EffectContext, EffectRunner, FactSender, FailedEffect, Issue, JournalError};
use aime_dynamic_planner::{LeadMemory, WakeKind};
use aime_llm::{Model, OutOfBudget};
use aime_messages::message;
use aime_progress_management::{LiveStore, RunId, Timestamp};
use futures::future::BoxFuture;
use tokio::{
    sync::{OnceCell, mpsc},
    time::Instant,
};

use crate::{
    Bounds, Budget, HumanQuestion, Parts, RunEffect, RunFact, RunInput, RunMachine,
    messages::MessageChannel,
    models::{OnBound, RunMeter},
    questions::Answers,
};

/// State that the effects of one run share.
pub(crate) struct RunRunner {
    pub(crate) run: RunId,
    pub(crate) input: RunInput,
    /// Bounds in force, which a resume may have raised.
    pub(crate) bounds: Bounds,
    pub(crate) parts: Parts,
    pub(crate) plan_tools: plan::ToolsOfPlans,
    /// True if the journals of actors are kept here; false where another host drives them.
    pub(crate) has_journal: bool,
    /// The journal of auditors where another host drives the actors. It lasts as long as the effect.
    pub(crate) audits: OnceCell<audit::AuditJournal>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) answers: Arc<Answers>,
    pub(crate) words: Arc<MessageChannel>,
    pub(crate) kept_files: kept_files::KeptFiles,
    pub(crate) private: private::PrivateWorkspaces,
    pub(crate) tried: baseline::BaselineChecks,
    /// Live states of the runs.
    pub(crate) live: Arc<LiveStore>,
    /// Receives the error of an actor's journal that cannot be written. The error ends this process's work on the run.
    pub(crate) broken: mpsc::UnboundedSender<JournalError>,
}

/// Context of an effect in progress.
pub(crate) struct Context {
    effect: EffectContext<RunMachine>,
    /// True once the run has been told that its budget leaves no room for the effect.
    ran_out: Arc<AtomicBool>,
}

impl From<EffectContext<RunMachine>> for Context {
    fn from(effect: EffectContext<RunMachine>) -> Self {
        Self { effect, ran_out: Arc::default() }
    }
}

impl Deref for Context {
    type Target = EffectContext<RunMachine>;

    fn deref(&self) -> &Self::Target {
        &self.effect
    }
}

impl Context {
    /// Waits until the run has revoked an effect for which its budget left no room. Without its model the effect has no
    /// valid outcome, so none is reported. The effect is carried out again when the run continues.
    pub(crate) async fn revoked_if_out_of_budget(&self) -> bool {
        let ran_out = self.ran_out.load(Ordering::Acquire);
        if ran_out {
            self.cancel.cancelled().await;
        }
        ran_out
    }
}

impl EffectRunner<RunMachine> for RunRunner {
    fn run(self: Arc<Self>, issue: Issue<RunEffect>, context: EffectContext<RunMachine>) -> BoxFuture<'static, RunFact> {
        Box::pin(async move {
            let context = Context::from(context);
            let cancel = context.cancel.clone();
            let id = issue.id.clone();
            if issue.effect.has_conversation() || matches!(issue.effect, RunEffect::CallTool { .. }) {
                // These effects end by themselves when they are cancelled, so that their work until then is recorded.
                let fact = self.attempt(issue, &context).await;
                context.revoked_if_out_of_budget().await;
                return fact;
            }
            // Boxed, because the many attempts at tasks need not reserve memory for it.
            let performed = Box::pin(cancel.run_until_cancelled(self.perform(issue, &context))).await;
            let revoked = context.revoked_if_out_of_budget().await;
            performed.filter(|_| !revoked).unwrap_or_else(|| RunFact::EffectFailed { id, message: message!("effect-stopped") })
        })
    }

    fn failed(&self, effect: FailedEffect<'_>) -> RunFact {
        RunFact::EffectFailed { id: effect.id.clone(), message: effect.message.into() }
    }
}

impl RunRunner {
    /// Carries an effect out. Each future is boxed, so that none has the size of the largest.
    fn perform<'a>(self: &'a Arc<Self>, issue: Issue<RunEffect>, context: &'a Context) -> BoxFuture<'a, RunFact> {
        let id = issue.id;
        match issue.effect {
            RunEffect::CallTool { spec, call, result, origins, handed_over, .. } => Box::pin(async move {
                let result = result.map(|result| *result);
                self.call_tool(id, &spec, (call, result), (&origins, handed_over), context).await
            }),
            RunEffect::Recall => Box::pin(self.recall(id, context)),
            RunEffect::Remember { state, failure } => Box::pin(async move { self.remember(id, &state, failure.as_deref()).await }),
            RunEffect::Route => Box::pin(self.route(id, context)),
            RunEffect::Lead { order } => match (order.wake.memory, order.wake.kind) {
                (LeadMemory::Kept, _) => Box::pin(self.wake_lead(id, *order, context)),
                (LeadMemory::Fresh, WakeKind::Begin) => Box::pin(self.plan(id, *order, context)),
                (LeadMemory::Fresh, _) => Box::pin(self.replan(id, *order, context)),
            },
            RunEffect::StartActor { brief, task, execution, origins, known } => {
                Box::pin(async move { self.start_actor(id, brief, &task, (execution, origins, known), context).await })
            }
            RunEffect::Verify { state } => Box::pin(async move { self.verify(id, &state, context).await }),
            RunEffect::Answer { state } => Box::pin(async move { self.answer(id, &state, context).await }),
            RunEffect::Ask { question, kind, task, text } => Box::pin(async move {
                let asked = HumanQuestion { id: question, kind, task, text };
                match self.parts.human.ask(asked).await {
                    Some(text) => RunFact::Answered { id, text },
                    None => RunFact::Deferred { id },
                }
            }),
            RunEffect::Timer { at } => Box::pin(async move {
                let now = Timestamp::from_millis(self.parts.clock.now());
                tokio::time::sleep(std::time::Duration::from_millis(at.millis_since(now))).await;
                RunFact::TimerFired { id }
            }),
        }
    }

    /// Returns the model of a role, within the run's budget and with its hooks.
    fn model(&self, role: &str, context: &Context) -> Option<Model> {
        self.model_for(role, on_bound(context), self.asking(&context.facts, None))
    }

    /// Like [`model`](Self::model), with an explicit handler for an exhausted budget and an explicit subject of the
    /// hooks.
    fn model_for(&self, role: &str, on_bound: OnBound, asking: hooks::HookCaller) -> Option<Model> {
        let model = self.parts.models.as_ref()?.role(role).build(&self.parts.redactor);
        let meter = self.meter(on_bound);
        Some(in_run(model, meter, &self.run, asking))
    }

    /// Returns the meter of models in this run.
    fn meter(&self, on_bound: OnBound) -> RunMeter {
        RunMeter { budget: Arc::clone(&self.budget), on_bound, clock: Arc::clone(&self.parts.clock) }
    }
}

/// Wraps a model with a run's budget and hooks.
fn in_run(model: Model, meter: RunMeter, run: &RunId, asking: hooks::HookCaller) -> Model {
    asking.around(model.metered(Arc::new(meter)).cached_as(run.as_str()))
}

/// Returns a handler that tells the run that its budget leaves no room for a call.
fn on_bound(context: &Context) -> OnBound {
    let (facts, ran_out) = (context.facts.clone(), Arc::clone(&context.ran_out));
    Arc::new(move |error: &OutOfBudget| {
        if send_bound(&facts, error) {
            ran_out.store(true, Ordering::Release);
        }
    })
}

fn on_bound_of(facts: FactSender<RunMachine>) -> OnBound {
    Arc::new(move |error: &OutOfBudget| {
        send_bound(&facts, error);
    })
}

/// Tells the run that it has reached a bound. Returns false if the run is gone.
fn send_bound(facts: &FactSender<RunMachine>, error: &OutOfBudget) -> bool {
    facts.send(RunFact::BoundReached { bound: error.bound.clone(), detail: error.detail.clone() })
}

/// Returns the milliseconds since a moment.
fn millis_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
