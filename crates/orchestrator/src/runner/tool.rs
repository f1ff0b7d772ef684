//! Tool tasks: one call, no model.

use std::sync::Arc;

use aime_durable::{EffectId, FactSender};
use aime_messages::Message;
use aime_progress_management::{Conclusion, FailureCause, Origin, Outcome, QuestionId, TaskId, TaskSpec};
use aime_tools::{AskPerson, Permissions, ToolContext, ToolError, ToolOutput, ValidatedCall};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    Context, RunRunner,
    evidence::of_tool,
    millis_since,
    private::{PrivateWorkspace, TaskWorkspace, check_of_call},
    verify::CheckedWork,
};
use crate::{RunFact, RunMachine, settings::in_force};

/// Maximum number of characters of a text in a task's summary.
const SUMMARY_CHARS: usize = 500;

impl RunRunner {
    /// Makes the call of a tool task, unless its result is known, and checks the criteria of the task.
    pub(super) async fn call_tool(
        self: &Arc<Self>,
        id: EffectId,
        spec: &TaskSpec,
        (call, result): (ValidatedCall, Option<Conclusion>),
        (origins, handed_over): (&[Origin], bool),
        context: &Context,
    ) -> RunFact {
        let begun = Instant::now();
        let made = match result {
            // Boxed, as all that most calls do not need: a large future is copied with each call.
            Some(result) => Box::pin(self.place_left_by(&spec.id, execution_of(&id))).await.map(|private| (call, result, private)),
            None => self.make_call(&id, spec, call, (origins, handed_over), context).await,
        };
        let (call, mut conclusion, private) = match made {
            Ok(made) => made,
            Err(message) => return RunFact::EffectFailed { id, message },
        };
        // An interrupted call is made again in its private folder later, so nothing is merged yet.
        if let Some(private) = private.filter(|_| conclusion.outcome != Outcome::Interrupted) {
            let conflicts = match Box::pin(self.merge(&private, &spec.id, false, context)).await {
                Ok(merge) => merge.conflicts,
                Err(message) => return RunFact::EffectFailed { id, message },
            };
            if let Some(check) = check_of_call(&conflicts) {
                // The call must not be made again in a folder with conflicts.
                conclusion.cause = conclusion.cause.or((conclusion.outcome == Outcome::Failure).then_some(FailureCause::Conflict));
                let (checks, calls) = (vec![check], Vec::new());
                return RunFact::TaskEnded { id, conclusion, checks, calls, conflicts, duration_ms: millis_since(begun) };
            }
            self.private.end(&private).await;
        }
        let duration_ms = millis_since(begun);
        let evidence = || Ok(of_tool(call.tool(), &Value::Object(call.parameters().clone()).to_string(), &conclusion));
        let (checks, calls) = self.verify_task(CheckedWork::new(id.to_string(), spec), &conclusion, evidence, context).await;
        RunFact::TaskEnded { id, conclusion, checks, calls, conflicts: Vec::new(), duration_ms }
    }

    /// Makes the call of a tool task. Returns the call as it was made, its result, and the private folder in which it has worked. If the task has
    /// criteria or changes to merge, the run records the result before.
    async fn make_call(
        self: &Arc<Self>,
        id: &EffectId,
        spec: &TaskSpec,
        mut call: ValidatedCall,
        (origins, handed_over): (&[Origin], bool),
        context: &Context,
    ) -> Result<(ValidatedCall, Conclusion, Option<PrivateWorkspace>), Message> {
        let begun = Instant::now();
        // The run machine has checked the bound already. The call is counted here for the budget of the actors.
        drop(self.budget.count_tool_call());
        if is_first(id) {
            context.cancel.run_until_cancelled(self.try_criteria(spec, None, origins, context)).await;
        }
        let mut tool_context = self.tool_context(context.cancel.clone(), &spec.id).with_whole_results();
        tool_context = tool_context.with_trace_parent(self.trace_parent(id));
        if !self.input.settings.unattended {
            tool_context = tool_context.with_person(self.person(&context.facts, &spec.id, execution_of(id)));
        }
        if let Some(guard) = self.kept_files.guard_of_call(&spec.id) {
            tool_context = tool_context.with_guard(guard);
        }
        let (private, turn) = match self.place_of_call(&call, &spec.id, execution_of(id), context).await? {
            TaskWorkspace::Private(private) => (Some(*private), None),
            TaskWorkspace::Shared(turn) => (None, turn),
        };
        if let Some(private) = &private {
            let output_folder = tool_context.output_folder.clone();
            tool_context = ToolContext { output_folder, ..private.context(tool_context) };
        }
        let consents = self.live.get(&self.run).map(|state| state.consents.clone()).unwrap_or_default();
        let (settings, rules) = (&self.input.settings, in_force(&self.input.rules, &consents));
        let trust = settings.trust.as_ref();
        let permissions = Permissions { trust, origins, handed_over, ..Permissions::new(settings.approval, &rules) };
        let asking = self.asking(&context.facts, Some(&spec.id));
        let made = Box::pin(self.call_with_hooks(&asking, &mut call, tool_context, permissions));
        let conclusion = conclusion(match &turn {
            Some(turn) => turn.call(made).await,
            None => made.await,
        });
        drop(turn);
        let conclusion = Conclusion { origins: self.untrusted(origins), ..conclusion };
        let is_checked = conclusion.outcome == Outcome::Success && !spec.completion_criteria.is_empty();
        if is_checked || private.is_some() && conclusion.outcome != Outcome::Interrupted {
            let (id, call, conclusion) = (id.clone(), call.clone(), Box::new(conclusion.clone()));
            // Committed before the merge and the check begin: a process that dies during them must not leave the call in doubt.
            let called = RunFact::ToolCalled { id, call, conclusion, duration_ms: millis_since(begun) };
            let _gone = context.facts.commit(called).await;
        }
        Ok((call, conclusion, private))
    }
}

impl RunRunner {
    /// Returns the channel through which a task's tool asks a person. The question becomes a question of the run: it is
    /// journaled, and may be answered later and from another process. A call that is repeated in the same execution of
    /// the task and asks the same gets the recorded answer. Answers to another execution do not count, because its
    /// questions may have been withdrawn with it.
    pub(super) fn person(&self, facts: &FactSender<RunMachine>, task: &TaskId, execution: u32) -> AskPerson {
        let (facts, task, answers) = (facts.clone(), task.clone(), Arc::clone(&self.answers));
        AskPerson::new(move |text| {
            let (facts, task, answers) = (facts.clone(), task.clone(), Arc::clone(&answers));
            Box::pin(async move {
                let question = question_of(&task, execution, &text)?;
                let asked = RunFact::ActorAsked { task, question: question.clone(), kind: "question".to_owned(), text };
                if !facts.send(asked) {
                    return None;
                }
                Some(answers.wait(&question).await)
            })
        })
    }
}

/// Returns the id of a tool's question.
fn question_of(task: &TaskId, execution: u32, text: &str) -> Option<QuestionId> {
    // NUL is not part of an id, so that different parts never give the same bytes.
    let hash = blake3::hash(format!("{task}\0{execution}\0{text}").as_bytes());
    QuestionId::new(format!("tool-{}", &hash.to_hex()[..16])).ok()
}

/// Returns the number of the task's execution from the id of the call's effect: `task/execution/attempt`.
fn execution_of(id: &EffectId) -> u32 {
    id.as_str().rsplit('/').nth(1).and_then(|execution| execution.parse().ok()).unwrap_or(1)
}

/// Returns true for the first attempt of a task's first execution.
fn is_first(id: &EffectId) -> bool {
    id.as_str().ends_with("/1/1")
}

fn conclusion(result: Result<ToolOutput, ToolError>) -> Conclusion {
    match result {
        Ok(ToolOutput { text, value, references, images: _, seen: _ }) => {
            let summary: String = text.chars().take(SUMMARY_CHARS).collect();
            let whole = (summary.len() < text.len()).then_some(text);
            Conclusion { text: whole, result: value, references, ..Conclusion::success(summary) }
        }
        Err(ToolError::Cancelled) => Conclusion::new(Outcome::Interrupted, "interrupted"),
        Err(error) => {
            let cause = matches!(error, ToolError::Denied(_)).then_some(FailureCause::Denied);
            let message = error.to_string();
            let summary: String = message.chars().take(SUMMARY_CHARS).collect();
            Conclusion { error: Some(message.into()), cause, ..Conclusion::new(Outcome::Failure, summary) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_execution_asked_is_another_question_in_the_next() {
        let task = TaskId::new("pay").unwrap();
        let of = |id: &str| question_of(&task, execution_of(&EffectId::new(id)), "how much?").unwrap();
        assert_eq!(of("pay/1/1"), of("pay/1/2"), "a call that is made again after a stop");
        assert_ne!(of("pay/1/1"), of("pay/2/1"), "a task that is tried again");
        assert_eq!(of("pay/1/1").as_str(), "tool-207547baecd6a5c2", "the id is part of the journal");
    }
}
