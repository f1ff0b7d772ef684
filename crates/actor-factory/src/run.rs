//! Runs one actor in this process, without an orchestrator and without a journal.

use std::{convert::Infallible, future::pending, sync::Arc, time::Instant};

use aime_durable::{
    DriveError, EffectContext, EffectId, EffectRunner, EmbeddedHost, FailedEffect, FencedWriter, Issue, MemoryStream, Reason, Recorded,
    Resume, drive,
};
use aime_llm::{ChatModel as _, Model, ModelStack};
use aime_progress_management::{CallOutcome, Conclusion, Outcome};
use aime_tools::{SeenFiles, ToolContext, ToolError, ToolOutput, ToolRegistry, ValidatedCall, WriteGuard};
use futures::future::BoxFuture;

use crate::{ActorEffect, ActorFact, ActorInput, ActorMachine, ModelAnswer, ModelFault};

/// Error of an actor that reached no conclusion.
#[derive(Debug, thiserror::Error)]
#[error("the actor of task {task} stopped without a conclusion")]
pub struct RunError {
    /// Task of the actor.
    pub task: String,
    /// The reason.
    #[source]
    pub source: DriveError<FencedWriter>,
}

/// Runs an actor to its conclusion: asks the model, calls the tools, asks the person of `context`. Create the input with
/// [`ActorFactory::compose`](crate::ActorFactory::compose). Cancel `context.cancel` to stop it. The actor cannot delegate.
///
/// # Errors
/// [`RunError`] on a fault in the machine. If the actor fails its task, its conclusion says so.
pub async fn run(input: ActorInput, model: &ModelStack, tools: &ToolRegistry, context: &ToolContext) -> Result<Conclusion, RunError> {
    let (task, redactor, cancel) = (input.spec.task.to_string(), context.redactor.clone(), context.cancel.clone());
    let runner = Runner { model: model.build(&redactor), tools: tools.clone(), context: context.clone() };
    let input = input.without_secrets(&redactor);
    let host = EmbeddedHost::new(Arc::new(runner), MemoryStream::<ActorMachine>::new());
    let mut host = host.with_facts_through(move |fact| fact.without_secrets(&redactor));
    let (at, facts) = (host.now(), host.sender());
    let stop = async {
        cancel.cancelled().await;
        // Sending fails only if the actor has ended, which needs no stop.
        let _gone = facts.send(ActorFact::Stopped { why: Reason::Stopped });
        pending::<Infallible>().await
    };
    let ended = tokio::select! {
        ended = drive(&mut host, Resume::Fresh(Recorded { at, fact: input })) => ended,
        never = stop => match never {},
    };
    host.close().await;
    // Only a run can wake a lead.
    let rests = || Conclusion::new(Outcome::Interrupted, "the lead of a run rests until the run wakes it");
    ended.map(|ended| ended.output.ended().unwrap_or_else(rests)).map_err(|source| RunError { task, source })
}

struct Runner {
    model: Model,
    tools: ToolRegistry,
    context: ToolContext,
}

impl EffectRunner<ActorMachine> for Runner {
    fn run(self: Arc<Self>, issue: Issue<ActorEffect>, context: EffectContext<ActorMachine>) -> BoxFuture<'static, ActorFact> {
        Box::pin(async move {
            let (id, effect) = (issue.id.clone(), self.carry_out(issue, &context));
            context.cancel.run_until_cancelled(effect).await.unwrap_or(ActorFact::Revoked { id, why: Reason::Stopped })
        })
    }

    fn failed(&self, effect: FailedEffect<'_>) -> ActorFact {
        let (id, text) = (effect.id.clone(), effect.message.to_owned());
        match effect.kind {
            "model" => ActorFact::ModelAnswered {
                id,
                answer: ModelAnswer::Error { kind: ModelFault::Other, text: text.into(), hint: None },
                duration_ms: 0,
            },
            _ => ended(id, CallOutcome::Error, ToolOutput::text(text), Instant::now()),
        }
    }
}

impl Runner {
    async fn carry_out(&self, issue: Issue<ActorEffect>, context: &EffectContext<ActorMachine>) -> ActorFact {
        let (id, begun) = (issue.id, Instant::now());
        match issue.effect {
            ActorEffect::Model(request) => {
                let answer = ModelAnswer::from(self.model.complete(request).await);
                ActorFact::ModelAnswered { id, answer, duration_ms: millis_since(begun) }
            }
            ActorEffect::Tool { call, seen, .. } => self.call(id, call, seen, context).await,
            ActorEffect::Ask { question, .. } => {
                let answer = match &self.context.person {
                    Some(person) => person.ask(question).await,
                    None => None,
                };
                ActorFact::Answered { id, text: answer.unwrap_or_else(|| "nobody answers".to_owned()) }
            }
            ActorEffect::Plan { .. } => {
                let text = Some("this actor runs alone and has no plan".to_owned());
                ActorFact::PlanCallRead { id, text, refused: true, command: None, origins: Vec::new() }
            }
            ActorEffect::Delegate { .. } => {
                ended(id, CallOutcome::Error, ToolOutput::text("this actor runs alone and cannot delegate"), begun)
            }
        }
    }

    async fn call(&self, id: EffectId, call: ValidatedCall, seen: SeenFiles, context: &EffectContext<ActorMachine>) -> ActorFact {
        let begun = Instant::now();
        let guard = WriteGuard::new(id.as_str(), seen);
        let tool_context = self.context.clone().with_cancel(context.cancel.clone()).with_guard(guard);
        match self.tools.call(call, &tool_context).await {
            Ok(output) => ended(id, CallOutcome::Ok, output, begun),
            Err(ToolError::Cancelled) => ended(id, CallOutcome::Cancelled, ToolOutput::default(), begun),
            Err(error) => ended(id, CallOutcome::Error, ToolOutput::text(error.to_string()), begun),
        }
    }
}

fn ended(id: EffectId, outcome: CallOutcome, output: ToolOutput, begun: Instant) -> ActorFact {
    let ToolOutput { text, value, references, images, seen } = output;
    ActorFact::ToolEnded { id, outcome, text, value, references, images, seen, duration_ms: millis_since(begun), origins: Vec::new() }
}

fn millis_since(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
