//! The effects of a run one at a time, for hosts that drive its machines elsewhere and carry out each effect where its tools are.

use std::sync::Arc;

use aime_durable::{EffectContext, EffectId, Issue, carry_out_alone, fact_channel};
use aime_progress::{Conclusion, LiveStore, Outcome, ProgressEvent, ProgressState, TaskId, TaskSpec};
use aime_redact::Redactor;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Context, RunRunner, evidence::CallRecord, private::PrivatePlaces};
use crate::{
    Budget, HookPoint, Orchestrator, RunContext, RunEffect, RunFact, RunInput, RunMachine, RunResult, questions::Answers, words::Words,
};

/// Carries out single effects of one run. Nothing is kept of a run here but what it changes in the working folder, for an undo: what is to be known of
/// it comes with each effect.
///
/// What it gives holds no secret. The bounds on tokens, money and calls are those of [`RunContext`]: effects that go on at once in different
/// processes do not see what the others reserve, so a run may exceed a bound by what is under way.
pub struct Apart {
    pub(super) runner: Arc<RunRunner>,
}

/// An attempt at a task that an actor has ended.
pub struct Attempted<'a> {
    /// The effect that began it.
    pub id: EffectId,
    /// The task.
    pub spec: &'a TaskSpec,
    /// What it came to.
    pub conclusion: Conclusion,
    /// The calls in this attempt and those before it.
    pub calls: CallRecord,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl Orchestrator {
    /// What carries out effects of a run that is driven elsewhere.
    #[must_use]
    pub fn apart(&self, input: RunInput, so_far: &RunContext) -> Apart {
        let run = input.run.clone();
        let live = Arc::<LiveStore>::default();
        // An actor is driven elsewhere too, so no journal of one can break here.
        let (broken, _) = mpsc::unbounded_channel();
        let budget = Budget::new(&so_far.bounds, &so_far.spent, so_far.tool_calls).with_actors(so_far.actors);
        let mut parts = self.parts().clone();
        // The next effect may be carried out by another process.
        parts.tool_context.background = None;
        let runner = RunRunner {
            run: run.clone(),
            private: PrivatePlaces::new(&parts, &run),
            input,
            bounds: so_far.bounds.clone(),
            has_journal: false,
            parts,
            plan_tools: self.plan_tools().clone(),
            budget: Arc::new(budget),
            answers: Arc::new(Answers::given(so_far.answers.iter().cloned())),
            words: Arc::new(Words::default()),
            kept_files: self.kept_apart(&run, &live),
            live,
            broken,
        };
        Apart { runner: Arc::new(runner) }
    }
}

impl Apart {
    /// The same, where it is known how the run stands, as it must be for calls of [`undo_task`](Self::needs_progress).
    #[must_use]
    pub fn with_progress(self, state: ProgressState) -> Self {
        self.runner.live.insert(self.runner.run.clone(), state);
        self
    }

    /// Whether calls of a tool can be made only where it is known how the run stands.
    #[must_use]
    pub fn needs_progress(tool: &str) -> bool {
        tool == "undo_task"
    }

    /// Carries out one effect of the run machine. Of a call that was begun before, and is neither read-only nor idempotent, it is said that
    /// its outcome is not known; it is not made again. Facts on the way go to `told`.
    ///
    /// [`RunEffect::StartActor`] is no single effect: see [`make_actor`](Self::make_actor), [`act`](Self::act) and [`judge`](Self::judge).
    pub async fn run(
        &self,
        issue: Issue<RunEffect>,
        cancelled: impl Future<Output = ()> + Send,
        mut told: impl FnMut(RunFact) + Send,
    ) -> RunFact {
        let redactor = self.redactor();
        if let RunEffect::StartActor { .. } = &issue.effect {
            let message = "an actor has a machine of its own, which another process drives".to_owned();
            return RunFact::EffectFailed { id: issue.id, message };
        }
        if let Some(fact) = self.in_doubt(&issue) {
            return fact;
        }
        let mut told = |fact: RunFact| told(fact.without_secrets(redactor));
        let fact = carry_out_alone::<RunMachine, _>(Arc::clone(&self.runner), issue, cancelled, &mut told).await;
        self.runner.kept_files.leave().await.into_iter().for_each(told);
        fact.without_secrets(redactor)
    }

    /// Looks whether an attempt at a task holds what its criteria ask for. Facts on the way go to `told`.
    pub async fn judge(&self, attempted: Attempted<'_>, cancel: CancellationToken, mut told: impl FnMut(RunFact) + Send) -> RunFact {
        let Attempted { id, spec, conclusion, calls, duration_ms } = attempted;
        let (facts, mut on_the_way) = fact_channel::<RunMachine>();
        let context = Context::from(EffectContext::new(cancel, facts));
        let evidence = || Ok(calls.evidence());
        let (checks, calls) = self.runner.verify_task((id.to_string(), spec, ""), &conclusion, evidence, &context).await;
        context.revoked_if_out_of_budget().await;
        let fact = RunFact::TaskEnded { id, conclusion, checks, calls, duration_ms };
        let fact = self.runner.after_attempt(spec.clone(), fact, &context).await;
        while let Some(fact) = on_the_way.ready() {
            told(fact.without_secrets(self.redactor()));
        }
        self.runner.kept_files.leave().await.into_iter().for_each(|fact| told(fact.without_secrets(self.redactor())));
        fact.without_secrets(self.redactor())
    }

    /// Does what is done where a run ends for good (`over`), or is left: its snapshot and its plan are kept, and hooks are told. Gives what there is to be
    /// said of that, for the notes of the result.
    pub async fn end(&self, mut result: RunResult, state: &ProgressState, over: bool) -> Vec<String> {
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
        let lost = lost.into_iter().filter_map(|fact| if let RunFact::UndoLost { message } = fact { Some(message) } else { None });
        result.notes.extend(lost);
        result.notes.iter().map(|note| self.redactor().text(note).into_owned()).collect()
    }

    pub(super) fn redactor(&self) -> &Redactor {
        &self.runner.parts.redactor
    }

    /// The end of a tool task whose call was begun before, by a process that is gone.
    fn in_doubt(&self, issue: &Issue<RunEffect>) -> Option<RunFact> {
        let RunEffect::CallTool { call, .. } = &issue.effect else { return None };
        let tool = call.tool();
        let repeatable = self.runner.parts.tools.get(tool).is_some_and(|known| known.sheet().repeatable());
        if !issue.reissued || repeatable {
            return None;
        }
        let id = issue.id.clone();
        let error = format!("{tool} was begun ({id}) and cut off before its end, and its outcome is unknown");
        let conclusion = Conclusion::without_result(Outcome::InDoubt, error, None);
        Some(RunFact::TaskEnded { id, conclusion, checks: Vec::new(), calls: Vec::new(), duration_ms: 0 })
    }
}

/// A new actor, and what is told of it: the first of its reports.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct MadeActor {
    /// What its machine starts from.
    pub input: aime_actors::ActorInput,
    /// What the run is told of it.
    pub created: ProgressEvent,
}

/// A new actor that does a part of a task for another one.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct MadeBelow {
    /// The actor.
    pub actor: MadeActor,
    /// How many bytes of text the other one is told of what it comes to, at most: for [`delegated`](crate::delegated).
    pub text_limit: Option<usize>,
}

/// A task for which an actor is wanted: what [`RunEffect::StartActor`] holds.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct ActorOrder {
    /// The run as far as the actor works with it.
    pub brief: crate::ActorBrief,
    /// The task.
    pub task: TaskId,
    /// Which execution.
    pub execution: u32,
    /// Where the texts come from that nobody vouches for.
    pub origins: Vec<aime_progress::Origin>,
    /// What was recalled, in Markdown; may be empty.
    pub known: String,
}
