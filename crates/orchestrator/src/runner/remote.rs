//! Single effects of a run, for hosts that drive its machines elsewhere and carry out each effect next to its tools.

use std::sync::Arc;

use aime_durable::{EffectContext, EffectId, Issue, execute_effect, fact_channel};
use aime_messages::{Message, message};
use aime_progress_management::{Conclusion, LiveStore, Outcome, ProgressEvent, ProgressState, TaskId, TaskSpec};
use aime_redact::Redactor;
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    Context, RunRunner,
    baseline::BaselineChecks,
    evidence::CallRecord,
    private::{PrivateWorkspaces, conflict_criterion_result},
    verify::CheckedWork,
};
use crate::{
    Budget, FoundConflict, HookPoint, Orchestrator, RunContext, RunEffect, RunFact, RunInput, RunMachine, RunResult,
    messages::MessageChannel, questions::Answers,
};

/// Carries out single effects of one run. Here nothing is stored of a run except the recorded changes of the working
/// folder, for an undo. Each effect brings the state that it needs.
///
/// The returned facts contain no secrets. The bounds on tokens, money and calls are those of [`RunContext`]. Concurrent
/// effects in different processes do not see each other's reservations, so a run may exceed a bound by the effects in
/// progress.
pub struct RemoteEffects {
    pub(super) runner: Arc<RunRunner>,
}

/// An attempt at a task that an actor has ended.
pub struct EndedAttempt<'a> {
    /// The effect that started the attempt.
    pub id: EffectId,
    /// The task.
    pub spec: &'a Arc<TaskSpec>,
    /// Result of the attempt.
    pub conclusion: Conclusion,
    /// The calls in this attempt and the earlier ones.
    pub calls: CallRecord,
    /// Conflicts of its changes with those of others, which the actor has resolved.
    pub conflicts: Vec<FoundConflict>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

impl Orchestrator {
    /// Returns the executor of single effects of a run that is driven elsewhere.
    #[must_use]
    pub fn remote_effects(&self, input: RunInput, run_context: &RunContext) -> RemoteEffects {
        let run = input.run.clone();
        let live = Arc::<LiveStore>::default();
        // Actors are driven elsewhere too, so no actor journal can fail here.
        let (broken, _) = mpsc::unbounded_channel();
        let budget = Budget::new(&run_context.bounds, &run_context.spent, run_context.tool_calls).with_actors(run_context.actors);
        let mut parts = self.parts().clone();
        // Another process may carry out the next effect, so nothing may continue in the background.
        parts.tool_context.background = None;
        parts.hold_to(&input);
        let runner = RunRunner {
            run: run.clone(),
            private: PrivateWorkspaces::new(&parts, &run),
            input,
            bounds: run_context.bounds.clone(),
            has_journal: false,
            audits: OnceCell::new(),
            parts,
            plan_tools: self.plan_tools().clone(),
            budget: Arc::new(budget),
            answers: Arc::new(Answers::with_answers(run_context.answers.iter().cloned())),
            words: Arc::new(MessageChannel::default()),
            kept_files: self.remote_files(&run, &live),
            live,
            tried: BaselineChecks::default(),
            broken,
        };
        RemoteEffects { runner: Arc::new(runner) }
    }
}

impl RemoteEffects {
    /// Adds the state of the run: [`make_actor`](Self::make_actor) needs it to check criteria before the work, [`judge`](Self::judge) for an
    /// auditor, and calls of tools that [need it](Self::needs_progress).
    #[must_use]
    pub fn with_progress(self, state: ProgressState) -> Self {
        self.runner.live.insert(self.runner.run.clone(), state);
        self
    }

    /// Returns true if calls of a tool need the state of the run. The plan tools of the lead need it, too.
    #[must_use]
    pub fn needs_progress(tool: &str) -> bool {
        tool == "undo_task"
    }

    /// Carries out one effect of the run machine. A call that was started before and is neither read-only nor
    /// idempotent is not repeated; its outcome is reported as unknown. Intermediate facts go to `on_fact`.
    ///
    /// [`RunEffect::StartActor`] is not a single effect: see [`make_actor`](Self::make_actor), [`act`](Self::act) and
    /// [`judge`](Self::judge). Nor is a [`RunEffect::Lead`] that [has a conversation](RunEffect::has_conversation): see [`wake_lead`](Self::wake_lead), [`act`](Self::act) and
    /// [`lead_rested`](Self::lead_rested).
    pub async fn run(
        &self,
        issue: Issue<RunEffect>,
        cancelled: impl Future<Output = ()> + Send,
        mut on_fact: impl FnMut(RunFact) + Send,
    ) -> RunFact {
        let redactor = self.redactor();
        if issue.effect.has_conversation() {
            return RunFact::EffectFailed { id: issue.id, message: message!("effect-of-actor") };
        }
        if let Some(fact) = self.in_doubt(&issue) {
            return fact;
        }
        if let RunEffect::Verify { state } = &issue.effect {
            self.runner.live.insert(self.runner.run.clone(), ProgressState::clone(state));
        }
        let mut on_fact = |fact: RunFact| on_fact(fact.without_secrets(redactor));
        let fact = execute_effect::<RunMachine, _>(Arc::clone(&self.runner), issue, cancelled, &mut on_fact).await;
        self.runner.kept_files.leave().await.into_iter().for_each(on_fact);
        fact.without_secrets(redactor)
    }

    /// Checks if an attempt at a task meets its criteria. Intermediate facts go to `on_fact`.
    pub async fn judge(&self, attempted: EndedAttempt<'_>, cancel: CancellationToken, mut on_fact: impl FnMut(RunFact) + Send) -> RunFact {
        let EndedAttempt { id, spec, conclusion, calls, conflicts, duration_ms } = attempted;
        let (facts, mut on_the_way) = fact_channel::<RunMachine>();
        let context = Context::from(EffectContext::new(cancel, facts));
        let evidence = || Ok(calls.evidence());
        let merged = conflict_criterion_result(&conflicts, |conflict| conflict.kept.clone().unwrap_or_default());
        let (checks, calls) = self.runner.verify_task(CheckedWork::new(id.to_string(), spec), &conclusion, evidence, &context).await;
        let checks = merged.into_iter().chain(checks).collect();
        context.revoked_if_out_of_budget().await;
        let fact = RunFact::TaskEnded { id, conclusion, checks, calls, conflicts, duration_ms };
        let fact = self.runner.after_attempt(Arc::clone(spec), fact, &context).await;
        while let Some(fact) = on_the_way.ready() {
            on_fact(fact.without_secrets(self.redactor()));
        }
        self.runner.kept_files.leave().await.into_iter().for_each(|fact| on_fact(fact.without_secrets(self.redactor())));
        fact.without_secrets(self.redactor())
    }

    /// Finishes a run that ends for good (`over`) or is suspended: stores its snapshot and its plan, and calls the hooks.
    /// Returns notes for the result.
    pub async fn end(&self, mut result: RunResult, state: &ProgressState, over: bool) -> Vec<Message> {
        let parts = &self.runner.parts;
        parts.keep_snapshot(state);
        if over {
            self.runner.end_plan(state).await;
        }
        result.notes.clear();
        if parts.hooks.are_at(HookPoint::Stop) {
            self.runner.kept_files.around("hook", parts.hooks.stopped(&mut result)).await;
        }
        let lost = self.runner.kept_files.leave().await;
        let lost = lost
            .into_iter()
            .filter_map(|fact| if let RunFact::UndoLost { reason } = fact { Some(message!("undo-stopped", reason)) } else { None });
        result.notes.extend(lost);
        self.redactor().typed(result.notes)
    }

    pub(super) fn redactor(&self) -> &Redactor {
        &self.runner.parts.redactor
    }

    /// Returns the end of a tool task whose call was started before by a process that no longer exists.
    fn in_doubt(&self, issue: &Issue<RunEffect>) -> Option<RunFact> {
        let RunEffect::CallTool { call, result: None, .. } = &issue.effect else { return None };
        let tool = call.tool();
        let repeatable = self.runner.parts.tools.get(tool).is_some_and(|known| known.spec().repeatable());
        if !issue.reissued || repeatable {
            return None;
        }
        let id = issue.id.clone();
        let error = message!("call-in-doubt", tool, id);
        let conclusion = Conclusion::without_result(Outcome::InDoubt, error, None);
        Some(RunFact::TaskEnded { id, conclusion, checks: Vec::new(), calls: Vec::new(), conflicts: Vec::new(), duration_ms: 0 })
    }
}

/// A new actor and its first report.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct CreatedActor {
    /// Input of the actor's machine.
    pub input: aime_actor_factory::ActorInput,
    /// The report that the actor was created.
    pub created: ProgressEvent,
}

/// A wake of the lead.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct PreparedLeadWake {
    /// The message, with what the lead may do now.
    pub wake: aime_actor_factory::LeadWake,
    /// The lead, if its conversation begins with this wake. The message is a part of its prompt then.
    pub lead: Option<Box<CreatedActor>>,
}

/// A new actor that does a part of a task for another actor.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct CreatedDelegate {
    /// The actor.
    pub actor: CreatedActor,
    /// Maximum number of bytes of its result text that the calling actor receives: for [`delegation_result`](crate::delegation_result).
    pub text_limit: Option<usize>,
}

/// Order of an actor for a task: the content of [`RunEffect::StartActor`].
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct ActorOrder {
    /// The part of the run that the actor needs.
    pub brief: crate::ActorBrief,
    /// The task.
    pub task: TaskId,
    /// Number of the task's execution.
    pub execution: u32,
    /// Untrusted sources of the texts that the task is given.
    pub origins: Vec<aime_progress_management::Origin>,
    /// Recalled memories and documents, in Markdown; may be empty.
    pub known: String,
}
