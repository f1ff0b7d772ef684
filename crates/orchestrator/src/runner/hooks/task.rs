//! Attempts at tasks, with hooks around them.

use std::sync::Arc;

use aime_actor_factory::{ActorMachine, effect_prefix};
use aime_durable::{EffectId, Issue};
use aime_messages::message;
use aime_progress_management::{Conclusion, FailureCause, Outcome, TaskId, TaskSpec};

use crate::{
    HookPoint, RunEffect, RunFact,
    hooks::HookPayload,
    runner::{Context, RunRunner},
};

impl RunRunner {
    /// Makes one attempt at a task, with hooks before and after it.
    pub(in crate::runner) async fn attempt(self: &Arc<Self>, issue: Issue<RunEffect>, context: &Context) -> RunFact {
        let hooks = &self.parts.hooks;
        let (before, after) = (hooks.are_at(HookPoint::BeforeTask), hooks.are_at(HookPoint::AfterTask));
        match if before || after { spec_of(&issue.effect) } else { None } {
            None => self.perform(issue, context).await,
            // Boxed, so that an attempt without hooks need not reserve memory for them.
            Some(spec) => Box::pin(self.attempt_between(issue, spec, context, before)).await,
        }
    }

    /// Makes the attempt between its hooks.
    async fn attempt_between(self: &Arc<Self>, issue: Issue<RunEffect>, spec: Arc<TaskSpec>, context: &Context, before: bool) -> RunFact {
        if before
            && !self.is_begun(&issue.effect)
            && let Some(fact) = self.before_attempt(&issue.id, &spec, context).await
        {
            return fact;
        }
        let fact = self.perform(issue, context).await;
        self.after_attempt(spec, fact, context).await
    }

    /// Calls the hooks before an attempt. Returns the end of the attempt if a hook blocks it.
    pub(in crate::runner) async fn before_attempt(&self, id: &EffectId, spec: &Arc<TaskSpec>, context: &Context) -> Option<RunFact> {
        if !self.parts.hooks.are_at(HookPoint::BeforeTask) {
            return None;
        }
        let asking = self.asking(&context.facts, Some(&spec.id));
        let payload = HookPayload::Task { spec: Arc::clone(spec), conclusion: None, criteria: Vec::new() };
        match context.cancel.run_until_cancelled(Box::pin(asking.ask(HookPoint::BeforeTask, payload))).await {
            None => Some(stopped(id)),
            Some(Err(reason)) => Some(not_begun(id.clone(), reason)),
            Some(Ok(_)) => None,
        }
    }

    /// Calls the hooks after an attempt. Returns the end of the attempt.
    pub(in crate::runner) async fn after_attempt(&self, spec: Arc<TaskSpec>, mut fact: RunFact, context: &Context) -> RunFact {
        if let (true, RunFact::TaskEnded { id, conclusion, checks, .. }) = (self.parts.hooks.are_at(HookPoint::AfterTask), &mut fact)
            && matches!(conclusion.outcome, Outcome::Success | Outcome::Failure)
            && !conclusion.can_continue()
        {
            let asking = self.asking(&context.facts, Some(&spec.id));
            let payload = HookPayload::Task { spec, conclusion: Some(conclusion.clone()), criteria: checks.clone() };
            match context.cancel.run_until_cancelled(Box::pin(asking.ask(HookPoint::AfterTask, payload))).await {
                None => return stopped(id),
                Some(Err(reason)) if conclusion.outcome == Outcome::Success => {
                    conclusion.outcome = Outcome::Failure;
                    conclusion.error = Some(message!("reported-done", reason));
                }
                Some(_) => {}
            }
        }
        fact
    }

    /// Returns true if the attempt was started before a stop or a crash, so that its hooks were already called.
    fn is_begun(&self, effect: &RunEffect) -> bool {
        match effect {
            RunEffect::StartActor { task, execution, .. } => self.has_actor(task, *execution),
            RunEffect::CallTool { result, .. } => result.is_some(),
            _ => false,
        }
    }

    /// Returns true if the actor of this execution of a task has a journal.
    pub(in crate::runner) fn has_actor(&self, task: &TaskId, execution: u32) -> bool {
        let stream = effect_prefix(task, execution, None);
        self.parts.journal.load::<ActorMachine>(self.run.as_str(), &stream).is_ok_and(|loaded| loaded.is_some())
    }
}

fn stopped(id: &EffectId) -> RunFact {
    RunFact::EffectFailed { id: id.clone(), message: message!("effect-stopped") }
}

fn spec_of(effect: &RunEffect) -> Option<Arc<TaskSpec>> {
    match effect {
        RunEffect::StartActor { brief, .. } => Some(Arc::clone(&brief.spec)),
        RunEffect::CallTool { spec, .. } => Some(Arc::clone(spec)),
        _ => None,
    }
}

/// Returns the failure of a task that a hook blocks. It is not retried, because the hook would be asked the same again.
fn not_begun(id: EffectId, reason: String) -> RunFact {
    let conclusion = Conclusion::without_result(Outcome::Failure, reason, Some(FailureCause::Denied));
    RunFact::TaskEnded { id, conclusion, checks: Vec::new(), calls: Vec::new(), conflicts: Vec::new(), duration_ms: 0 }
}
