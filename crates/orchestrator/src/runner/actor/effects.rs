//! An actor's effects: its model, its tools, people, and other actors.

use std::sync::Arc;

use aime_actors::{ActorEffect, ActorFact, ActorInput, ActorMachine, ModelAnswer, ModelFault};
use aime_durable::{EffectContext, EffectId, EffectRunner, Issue, Reason};
use aime_llm::{ChatModel, Model, ModelError};
use aime_progress::{CallOutcome, QuestionId};
use aime_tools::{ToolContext, ToolError, ToolOutput, ValidatedCall};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

use super::{Attempt, NO_MODEL, reports::Refused};
use crate::{RunFact, runner::millis_since};

type Context = EffectContext<ActorMachine>;

/// Does an actor's effects.
pub(super) struct ActorRunner {
    pub(super) attempt: Arc<Attempt>,
    pub(super) input: ActorInput,
    /// Where there is none, only calls of tools are carried out.
    pub(super) model: Option<Model>,
    pub(super) tool_context: ToolContext,
    pub(super) refused: Arc<Refused>,
}

impl EffectRunner<ActorMachine> for ActorRunner {
    fn run(self: Arc<Self>, issue: Issue<ActorEffect>, context: Context) -> BoxFuture<'static, ActorFact> {
        Box::pin(async move {
            let (id, reissued, begun) = (issue.id, issue.reissued, Instant::now());
            match issue.effect {
                ActorEffect::Model(request) => {
                    let Some(model) = &self.model else {
                        let answer = ModelAnswer::Error { kind: ModelFault::Unusable, text: NO_MODEL.to_owned() };
                        return ActorFact::ModelAnswered { id, answer, duration_ms: 0 };
                    };
                    match context.cancel.run_until_cancelled(model.complete(request)).await {
                        // The run, which was told, revokes the actor: this waits until it has.
                        Some(Err(error)) if matches!(error.root(), ModelError::OutOfBudget { .. }) => {
                            context.cancel.cancelled().await;
                            revoked(id)
                        }
                        Some(answer) => {
                            ActorFact::ModelAnswered { id, answer: ModelAnswer::from(answer), duration_ms: millis_since(begun) }
                        }
                        None => revoked(id),
                    }
                }
                ActorEffect::Tool { call, .. } => {
                    let repeatable = self.input.spec.tool(call.tool()).is_some_and(|sheet| sheet.repeatable());
                    if reissued && !repeatable {
                        return ended(id, CallOutcome::InDoubt, String::new(), begun);
                    }
                    if self.refuses(id.as_str(), &context).await {
                        return revoked(id);
                    }
                    // Boxed: while it waits for its model an actor need not hold the room for a call.
                    Box::pin(self.call_tool(id, call, &context)).await
                }
                ActorEffect::Delegate { call, request, origins } => {
                    if self.refuses(&call, &context).await {
                        return revoked(id);
                    }
                    let told = self.attempt.delegate(&self.input, &call, (&request, &origins), &context.cancel);
                    let (outcome, output, origins) = Box::pin(told).await;
                    let ToolOutput { text, value, references, images } = output;
                    ActorFact::ToolEnded { id, outcome, text, value, references, images, duration_ms: millis_since(begun), origins }
                }
                ActorEffect::Ask { id: question, question: text, kind } => {
                    let answer = self.ask(question, kind.as_str(), text);
                    match context.cancel.run_until_cancelled(answer).await {
                        Some(text) => ActorFact::Answered { id, text },
                        None => revoked(id),
                    }
                }
            }
        })
    }

    fn failed(&self, id: &EffectId, message: &str) -> ActorFact {
        ended(id.clone(), CallOutcome::Error, format!("a fault in aime: {message}"), Instant::now())
    }
}

impl ActorRunner {
    /// Whether the run's budget leaves no room for a call. The run, which is told, then revokes it: this waits until it has.
    async fn refuses(&self, call: &str, context: &Context) -> bool {
        let Some(error) = self.refused.take(call) else { return false };
        (self.attempt.on_bound)(&error);
        context.cancel.cancelled().await;
        true
    }

    async fn call_tool(&self, id: EffectId, mut call: ValidatedCall, context: &Context) -> ActorFact {
        let begun = Instant::now();
        let mut tool_context = self.tool_context.clone().with_cancel(context.cancel.clone());
        if self.input.attended {
            let Attempt { runner, facts, task, execution, .. } = self.attempt.as_ref();
            tool_context = tool_context.with_person(runner.person(facts, task, *execution));
        }
        let asking = self.attempt.asking();
        match self.attempt.runner.call_with_hooks(&asking, &mut call, tool_context).await {
            Ok(ToolOutput { text, value, references, images }) => {
                let (outcome, duration_ms, origins) = (CallOutcome::Ok, millis_since(begun), Vec::new());
                ActorFact::ToolEnded { id, outcome, text, value, references, images, duration_ms, origins }
            }
            Err(ToolError::Cancelled) => ended(id, CallOutcome::Cancelled, String::new(), begun),
            Err(error) => ended(id, CallOutcome::Error, error.to_string(), begun),
        }
    }

    async fn ask(&self, question: QuestionId, kind: &str, text: String) -> String {
        let Attempt { runner, facts, task, .. } = self.attempt.as_ref();
        // A run that is gone cannot be asked: the actor is stopped with it.
        let _gone = facts.send(RunFact::ActorAsked { task: task.clone(), question: question.clone(), kind: kind.to_owned(), text });
        runner.answers.wait(&question).await
    }
}

const fn revoked(id: EffectId) -> ActorFact {
    ActorFact::Revoked { id, why: Reason::Stopped }
}

fn ended(id: EffectId, outcome: CallOutcome, text: String, begun: Instant) -> ActorFact {
    let (duration_ms, origins) = (millis_since(begun), Vec::new());
    ActorFact::ToolEnded { id, outcome, text, value: Value::Null, references: Vec::new(), images: Vec::new(), duration_ms, origins }
}
