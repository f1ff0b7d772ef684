//! The final answer, written from the results of the tasks.

use std::sync::Arc;

use aime_durable::EffectId;
use aime_llm::{ChatModel, ChatRequest, Message};
use aime_progress_management::ProgressState;
use tokio::time::Instant;

use super::{Context, RunRunner, evidence::of_run, millis_since};
use crate::{ModelUse, RunFact, criteria_lines::criteria_lines, models::spent};

/// Placeholder of the facts in the prompt. The text before it is the system message.
const FACTS: &str = "{{ facts }}";

/// The prompt of final answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPrompt {
    system: String,
    after: String,
}

/// Error of a prompt without the placeholder of the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the prompt `answer` lacks the facts: write {{{{ facts }}}} where they belong")]
pub struct MissingPlaceholder;

impl AnswerPrompt {
    /// Name under which a user's file replaces the prompt.
    pub const NAME: &'static str = "answer";

    /// Parses a text that contains `{{ facts }}` once. The text before it becomes the system message, the text after it
    /// the rest of the user message.
    ///
    /// # Errors
    ///
    /// [`MissingPlaceholder`].
    pub fn new(text: &str) -> Result<Self, MissingPlaceholder> {
        let (system, after) = text.split_once(FACTS).ok_or(MissingPlaceholder)?;
        Ok(Self { system: system.trim().to_owned(), after: after.trim().to_owned() })
    }
}

impl Default for AnswerPrompt {
    fn default() -> Self {
        let text = include_str!("../../prompts/answer.md");
        Self::new(text).unwrap_or_else(|_| Self { system: text.to_owned(), after: String::new() })
    }
}

impl RunRunner {
    pub(super) async fn answer(&self, id: EffectId, state: &ProgressState, context: &Context) -> RunFact {
        let begun = Instant::now();
        let Some(model) = self.model("default", context) else { return RunFact::AnswerWritten { id, text: None, calls: Vec::new() } };
        match model
            .complete(ChatRequest {
                max_output_tokens: Some(model.limits().max_output_tokens),
                ..answer_request(&self.parts.answer_prompt, state)
            })
            .await
        {
            Ok(response) => {
                let call = ModelUse {
                    purpose: "answer".to_owned(),
                    model: model.name().to_owned(),
                    effort: response.effort.map(|effort| effort.as_str().to_owned()),
                    spent: spent(&response),
                    duration_ms: millis_since(begun),
                    finish: response.finish.word(),
                };
                RunFact::AnswerWritten { id, text: Some(response.content), calls: vec![call] }
            }
            Err(error) => {
                tracing::warn!(%error, "the model could not write the answer; the tasks' own summaries are given");
                RunFact::AnswerWritten { id, text: None, calls: Vec::new() }
            }
        }
    }
}

/// Returns the whole request for the answer.
fn answer_request(prompt: &AnswerPrompt, state: &ProgressState) -> ChatRequest {
    let mut facts = format!("Goal: {}\n\nWhat was done:\n{}", state.goal, of_run(state, false));
    let criteria: Vec<String> = criteria_lines(state).into_iter().map(|(_, line)| line).collect();
    if !criteria.is_empty() {
        facts.push_str(&format!("\n\nCriteria:\n{}", criteria.join("\n")));
    }
    let user = format!("{facts}\n\n{}", prompt.after);
    ChatRequest {
        messages: vec![Arc::new(Message::System { content: prompt.system.clone() }), Arc::new(Message::user(user))],
        temperature: Some(0.2),
        ..ChatRequest::default()
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{Plan, PlanId, ProgressEvent, TaskId, TaskSpec, Timestamp};

    use super::*;

    // Requirement: 1.9, 19.6
    #[test]
    fn the_whole_request_for_an_answer() {
        let now = Timestamp::from_millis(0);
        let mut state = ProgressState::new(PlanId::new("p").unwrap(), "Count the words of a.txt".to_owned(), now);
        let tasks = vec![TaskSpec::actor(TaskId::new("count").unwrap(), "Count the words")];
        let plan = Plan::new("", tasks);
        state.apply(now, &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
        insta::assert_debug_snapshot!(answer_request(&AnswerPrompt::default(), &state));
    }

    // Requirement: 3.42
    #[test]
    fn a_users_prompt_must_have_a_place_for_the_facts() {
        assert_eq!(AnswerPrompt::new("Just answer."), Err(MissingPlaceholder));
        assert_eq!(MissingPlaceholder.to_string(), "the prompt `answer` lacks the facts: write {{ facts }} where they belong");
    }
}
