//! The final answer, written from what the tasks came to.

use std::{sync::Arc, time::Instant};

use aime_durable::EffectId;
use aime_llm::{ChatRequest, Message};
use aime_progress::ProgressState;

use super::{Context, RunRunner, millis_since, verify::evidence};
use crate::{ModelUse, RunFact, models::spent};

const PROMPT: &str = include_str!("../../prompts/answer.md");

impl RunRunner {
    pub(super) async fn answer(&self, id: EffectId, state: &ProgressState, context: &Context) -> RunFact {
        let begun = Instant::now();
        let Some(model) = self.model("default", context) else { return RunFact::AnswerWritten { id, text: None, calls: Vec::new() } };
        match model.complete(ChatRequest { max_output_tokens: Some(model.limits().max_output_tokens), ..answer_request(state) }).await {
            Ok(response) => {
                let call = ModelUse {
                    purpose: "answer".to_owned(),
                    model: model.name().to_owned(),
                    spent: spent(&response),
                    duration_ms: millis_since(begun),
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

/// The whole request for the answer.
fn answer_request(state: &ProgressState) -> ChatRequest {
    let facts = format!("Goal: {}\n\nWhat was done:\n{}", state.goal, evidence(state));
    let (before, after) = PROMPT.split_once("{{ facts }}").unwrap_or((PROMPT, ""));
    let system = before.trim().to_owned();
    let user = format!("{facts}\n\n{}", after.trim());
    ChatRequest {
        messages: vec![Arc::new(Message::System { content: system }), Arc::new(Message::User { content: user })],
        temperature: Some(0.2),
        ..ChatRequest::default()
    }
}

#[cfg(test)]
mod tests {
    use aime_progress::{Plan, PlanId, ProgressEvent, TaskId, TaskSpec, Timestamp};

    use super::*;

    #[test]
    fn the_whole_request_for_an_answer() {
        let now = Timestamp::from_millis(0);
        let mut state = ProgressState::new(PlanId::new("p").unwrap(), "Count the words of a.txt".to_owned(), now);
        let tasks = vec![TaskSpec::actor(TaskId::new("count").unwrap(), "Count the words")];
        let plan = Plan {
            schema: aime_progress::PLAN_SCHEMA.to_owned(),
            goal: String::new(),
            strategic: Default::default(),
            tasks,
            edges: vec![],
        };
        state.apply(now, &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
        insta::assert_debug_snapshot!(answer_request(&state));
    }
}
