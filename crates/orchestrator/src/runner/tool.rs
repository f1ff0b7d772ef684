//! Tool tasks: one call, no model.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use aime_durable::{EffectId, FactSender};
use aime_progress::{Conclusion, FailureCause, Outcome, QuestionId, TaskId, TaskSpec};
use aime_tools::{AskPerson, ToolError, ToolOutput};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{Context, RunRunner, evidence::of_tool, millis_since};
use crate::{RunFact, RunMachine};

/// How much of a text stands as a task's summary, in characters.
const SUMMARY_CHARS: usize = 500;

impl RunRunner {
    pub(super) async fn call_tool(
        &self,
        id: EffectId,
        spec: &TaskSpec,
        (tool, early): (&str, bool),
        mut parameters: Map<String, Value>,
        context: &Context,
    ) -> RunFact {
        let begun = Instant::now();
        // The run machine has looked at the bound; here the call is counted for the actors.
        drop(self.budget.count_tool_call());
        let mut tool_context = self.tool_context(context.cancel.clone(), &spec.id).with_whole_results();
        if !self.input.settings.unattended && !early {
            tool_context = tool_context.with_person(self.person(&context.facts, &spec.id));
        }
        let asking = self.asking(&context.facts, Some(&spec.id));
        let conclusion = conclusion(self.call_with_hooks(&asking, tool, &mut parameters, tool_context).await);
        let told = Value::Object(parameters).to_string();
        let evidence = || Ok(of_tool(tool, &told, &conclusion));
        let (checks, calls) = self.verify_task(spec, &conclusion, evidence, context).await;
        RunFact::TaskEnded { id, conclusion, checks, calls, duration_ms: millis_since(begun) }
    }
}

impl RunRunner {
    /// The person behind a call of a task. What a tool asks is a question of the run: it stands in the journal, and may be answered later
    /// and from elsewhere. A call that is made again after that and asks the same finds the answer there.
    pub(super) fn person(&self, facts: &FactSender<RunMachine>, task: &TaskId) -> AskPerson {
        let (facts, task, answers) = (facts.clone(), task.clone(), Arc::clone(&self.answers));
        AskPerson::new(move |text| {
            let (facts, task, answers) = (facts.clone(), task.clone(), Arc::clone(&answers));
            Box::pin(async move {
                let mut hash = DefaultHasher::new();
                (task.as_str(), &text).hash(&mut hash);
                let question = QuestionId::new(format!("tool-{:016x}", hash.finish())).ok()?;
                let asked = RunFact::ActorAsked { task, question: question.clone(), kind: "question".to_owned(), text };
                if !facts.send(asked) {
                    return None;
                }
                Some(answers.wait(&question).await)
            })
        })
    }
}

fn conclusion(result: Result<ToolOutput, ToolError>) -> Conclusion {
    match result {
        Ok(ToolOutput { text, value, references }) => {
            let summary: String = text.chars().take(SUMMARY_CHARS).collect();
            let whole = (summary.len() < text.len()).then_some(text);
            Conclusion { text: whole, result: value, references, ..Conclusion::success(summary) }
        }
        Err(ToolError::Cancelled) => Conclusion::new(Outcome::Interrupted, "interrupted"),
        Err(error) => {
            let cause = matches!(error, ToolError::Denied(_)).then_some(FailureCause::Denied);
            let message = error.to_string();
            let summary: String = message.chars().take(SUMMARY_CHARS).collect();
            Conclusion { error: Some(message), cause, ..Conclusion::new(Outcome::Failure, summary) }
        }
    }
}
