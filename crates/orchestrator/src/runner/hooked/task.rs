//! Attempts at tasks, with hooks around them.

use std::sync::Arc;

use aime_actors::{ActorMachine, effect_prefix};
use aime_durable::{EffectId, Issue};
use aime_progress::{Conclusion, FailureCause, Outcome, TaskSpec};
use serde_json::Value;

use crate::{
    HookPoint, RunEffect, RunFact,
    hooks::HookPayload,
    runner::{Context, RunRunner},
};

impl RunRunner {
    /// Makes one attempt at a task: asks before it, carries it out, and asks what is to be thought of it.
    pub(in crate::runner) async fn attempt(self: &Arc<Self>, issue: Issue<RunEffect>, context: &Context) -> RunFact {
        let hooks = &self.parts.hooks;
        let (before, after) = (hooks.are_at(HookPoint::BeforeTask), hooks.are_at(HookPoint::AfterTask));
        let spec = if before || after { spec_of(&issue.effect) } else { None };
        let Some(spec) = spec else { return self.perform(issue, context).await };
        let asking = self.asking(&context.facts, Some(&spec.id));
        let stopped = |id: &EffectId| RunFact::EffectFailed { id: id.clone(), message: "stopped".to_owned() };
        if before && !self.is_begun(&issue.effect) {
            let payload = HookPayload::Task { spec: Box::new(spec.clone()), conclusion: None, criteria: Vec::new() };
            match context.cancel.run_until_cancelled(Box::pin(asking.ask(HookPoint::BeforeTask, payload))).await {
                None => return stopped(&issue.id),
                Some(Err(reason)) => return not_begun(issue.id, reason),
                Some(Ok(_)) => {}
            }
        }
        let mut fact = self.perform(issue, context).await;
        if let (true, RunFact::TaskEnded { id, conclusion, checks, .. }) = (after, &mut fact)
            && matches!(conclusion.outcome, Outcome::Success | Outcome::Failure)
        {
            let payload = HookPayload::Task { spec: Box::new(spec), conclusion: Some(conclusion.clone()), criteria: checks.clone() };
            match context.cancel.run_until_cancelled(Box::pin(asking.ask(HookPoint::AfterTask, payload))).await {
                None => return stopped(id),
                Some(Err(reason)) if conclusion.outcome == Outcome::Success => {
                    conclusion.outcome = Outcome::Failure;
                    conclusion.error = Some(format!("reported as done, but {reason}"));
                }
                Some(_) => {}
            }
        }
        fact
    }

    /// Whether an attempt goes on that was begun before a stop or a crash: its hooks were asked then.
    fn is_begun(&self, effect: &RunEffect) -> bool {
        let RunEffect::StartActor { task, execution, .. } = effect else { return false };
        let stream = effect_prefix(task, *execution, None);
        self.parts.journal.load::<ActorMachine>(self.run.as_str(), &stream).is_ok_and(|loaded| loaded.is_some())
    }
}

fn spec_of(effect: &RunEffect) -> Option<TaskSpec> {
    match effect {
        RunEffect::StartActor { brief, .. } => Some(brief.spec.clone()),
        RunEffect::CallTool { spec, .. } => Some(spec.as_ref().clone()),
        _ => None,
    }
}

/// A task that a hook does not let begin. To try it again would only ask the same.
fn not_begun(id: EffectId, reason: String) -> RunFact {
    let conclusion = Conclusion {
        outcome: Outcome::Failure,
        summary: reason.clone(),
        text: None,
        result: Value::Null,
        references: Vec::new(),
        error: Some(reason),
        cause: Some(FailureCause::Denied),
        origins: Vec::new(),
    };
    RunFact::TaskEnded { id, conclusion, checks: Vec::new(), calls: Vec::new(), duration_ms: 0 }
}
