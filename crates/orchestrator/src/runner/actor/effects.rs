//! Effects of an actor: calls of its model, its tools, people and other actors.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use aime_actor_factory::{ActorEffect, ActorFact, ActorInput, ActorMachine, ModelAnswer, ModelFault, QuestionKind};
use aime_durable::{EffectContext, EffectId, EffectRunner, FailedEffect, Issue, Reason, UnixMillis};
use aime_llm::{ChatModel, Model, ModelError};
use aime_messages::message;
use aime_progress_management::{CallOutcome, Origin, QuestionId};
use aime_tools::{Permissions, SeenFiles, Surroundings, ToolContext, ToolError, ToolOutput, ToolScope, UnfinishedOutput, ValidatedCall};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Attempt, agent::AgentGuard, reports::RefusedCalls};
use crate::{
    RunFact,
    runner::{kept_files::author, millis_since},
};

/// Text after the answer to an actor's question, if files that the actor has read may have changed meanwhile.
const MERGED_MEANWHILE: &str = "\n\n[Other tasks changed files of the folder meanwhile. Read a file again before you write it.]";

/// Maximum characters of an interrupted call's output, if results are not cut.
const MAX_PRINTED: usize = 10_000;

type Context = EffectContext<ActorMachine>;

/// Carries out an actor's effects.
pub(super) struct ActorRunner {
    pub(super) attempt: Arc<Attempt>,
    pub(super) input: ActorInput,
    /// The model; without one only tool calls are carried out.
    pub(super) model: Option<Model>,
    pub(super) tool_context: ToolContext,
    pub(super) refused: Arc<RefusedCalls>,
    /// Guard of the folder against the process of an external agent.
    pub(super) guard: Option<Arc<AgentGuard>>,
    /// Start times of the calls that had not ended when the actor was resumed.
    pub(super) calls_begun: BTreeMap<String, UnixMillis>,
}

impl EffectRunner<ActorMachine> for ActorRunner {
    fn run(self: Arc<Self>, issue: Issue<ActorEffect>, context: Context) -> BoxFuture<'static, ActorFact> {
        Box::pin(async move {
            let (id, reissued, begun) = (issue.id, issue.reissued, Instant::now());
            match issue.effect {
                ActorEffect::Model(request) => {
                    let Some(model) = &self.model else {
                        let answer = ModelAnswer::Error { kind: ModelFault::Unusable, text: message!("none-for-actors"), hint: None };
                        return ActorFact::ModelAnswered { id, answer, duration_ms: 0 };
                    };
                    // An external agent may change files at any time while it works.
                    let runner = &self.attempt.runner;
                    let watches = self.input.spec.agent && self.attempt.private.is_none();
                    let recording = if watches {
                        let author = author(Some(&self.attempt.task), &self.input.spec.profile).of_actor(Some(&self.input.effect_prefix()));
                        Some(Box::pin(runner.kept_files.open(author, &self.attempt.facts)).await)
                    } else {
                        None
                    };
                    let answer = context.cancel.run_until_cancelled(self.with_exclusive_lease(model.complete(request))).await;
                    if let Some(recording) = recording {
                        Box::pin(runner.kept_files.close(recording, &self.attempt.facts)).await;
                    }
                    if let Some(guard) = &self.guard {
                        Box::pin(guard.check()).await;
                    }
                    match answer {
                        // The run was told and revokes the actor. This waits until it has.
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
                ActorEffect::Tool { call, seen, origins, .. } => {
                    let repeatable = self.input.spec.tool(call.tool()).is_some_and(|tool_spec| tool_spec.repeatable());
                    if reissued && !repeatable {
                        let known = Box::pin(self.interruption(id.as_str(), call.tool())).await;
                        return ended_with(id, CallOutcome::InDoubt, known, begun);
                    }
                    if self.refuses(id.as_str(), &context).await {
                        return revoked(id);
                    }
                    // Boxed, so that an actor waiting for its model need not reserve memory for a call.
                    self.with_exclusive_lease(Box::pin(self.call_tool(id, call, (seen, &origins), &context))).await
                }
                ActorEffect::Delegate { call, request, origins } => {
                    if self.refuses(&call, &context).await {
                        return revoked(id);
                    }
                    let delegation = self.attempt.delegate(&self.input, &call, (&request, &origins), &context.cancel);
                    let (outcome, output, origins) = Box::pin(delegation).await;
                    let ToolOutput { text, value, references, images, seen } = output;
                    let duration_ms = millis_since(begun);
                    ActorFact::ToolEnded { id, outcome, text, value, references, images, seen, duration_ms, origins }
                }
                ActorEffect::Plan { call, .. } => Box::pin(self.attempt.read_plan_call(id, &call, &self.input.spec.tools)).await,
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

    fn failed(&self, effect: FailedEffect<'_>) -> ActorFact {
        ended(effect.id.clone(), CallOutcome::Error, format!("a fault in aime: {}", effect.message), Instant::now())
    }
}

impl ActorRunner {
    /// Describes an interrupted call: how long it ran, the end of its processes, and the files changed since. The value holds the end of
    /// its output as `printed`, which is data.
    async fn interruption(&self, call: &str, tool: &str) -> (String, Value) {
        let Some(at) = self.calls_begun.get(call) else { return (String::new(), Value::Null) };
        let seconds = self.attempt.runner.parts.clock.now().saturating_sub(*at) / 1_000;
        let since = UNIX_EPOCH + Duration::from_millis(u64::try_from(*at).unwrap_or_default());
        let output = self.tool_context.output_folder.as_deref().and_then(|folder| UnfinishedOutput::read(folder, call));
        let mut known = format!("It was begun {seconds} s ago");
        if let Some(ran) = output.as_ref().and_then(|output| output.seen_at.duration_since(since).ok()) {
            let _never_fails = write!(known, " and ran for about {} s", ran.as_secs().max(1));
        }
        known.push_str(". ");
        if self.input.spec.tool(tool).is_some_and(|tool_spec| tool_spec.touches == ToolScope::Processes) {
            known.push_str("Its processes were ended with aime. ");
        }
        let printed = output.map(|output| output.tail(self.tool_context.text_limit.unwrap_or(MAX_PRINTED)));
        match printed.as_deref() {
            None => known.push_str("Its output is lost. "),
            Some("") => known.push_str("It had printed nothing. "),
            Some(_) => {}
        }
        known.push_str(&Surroundings::changed_since(&self.tool_context, since).await);
        let printed = printed.filter(|printed| !printed.is_empty());
        (known, printed.map(|printed| json!({"printed": printed})).unwrap_or_default())
    }

    /// Returns true if the run's budget leaves no room for a call. In that case it first waits until the run, which was
    /// told, has revoked the call.
    async fn refuses(&self, call: &str, context: &Context) -> bool {
        let Some(error) = self.refused.take(call) else { return false };
        (self.attempt.on_bound)(&(&error).into());
        context.cancel.cancelled().await;
        true
    }

    async fn call_tool(
        &self,
        id: EffectId,
        mut call: ValidatedCall,
        (seen, origins): (SeenFiles, &[Origin]),
        context: &Context,
    ) -> ActorFact {
        let begun = Instant::now();
        let Attempt { runner, facts, task, .. } = self.attempt.as_ref();
        let mut tool_context = self.tool_context.clone().with_cancel(context.cancel.clone());
        // An auditor leaves no effects, as a check does.
        let leaves_nothing =
            self.attempt.audit.is_some() && self.input.spec.tool(call.tool()).is_some_and(|tool_spec| !tool_spec.read_only);
        if !leaves_nothing {
            tool_context = tool_context.with_guard(runner.kept_files.guard(&self.input.effect_prefix(), seen));
        }
        tool_context = tool_context.with_trace_parent(runner.trace_parent(&id)).with_unfinished_output(id.as_str());
        if self.input.attended {
            tool_context = tool_context.with_person(runner.person(facts, task, self.attempt.execution));
        }
        let asking = self.attempt.asking();
        let (spec, trust, place) = (&self.input.spec, self.input.trust.as_ref(), self.attempt.private.as_ref());
        let permissions = Permissions { trust, origins, ..Permissions::new(spec.approval, &spec.rules) };
        let result = if leaves_nothing {
            Box::pin(runner.call_without_effects(place, asking, &mut call, tool_context, permissions)).await.0
        } else {
            runner.call_with_hooks(&asking, &mut call, tool_context, permissions).await
        };
        match result {
            Ok(ToolOutput { text, value, references, images, seen }) => {
                let (outcome, duration_ms, origins) = (CallOutcome::Ok, millis_since(begun), Vec::new());
                ActorFact::ToolEnded { id, outcome, text, value, references, images, seen, duration_ms, origins }
            }
            Err(ToolError::Cancelled) => ended(id, CallOutcome::Cancelled, String::new(), begun),
            Err(error) => {
                let text = error.to_string();
                let value = match error {
                    ToolError::Exited { code, .. } => json!({"exit_code": code}),
                    ToolError::Stopped { .. } => json!({"stopped": true}),
                    _ => Value::Null,
                };
                ended_with(id, CallOutcome::Error, (text, value), begun)
            }
        }
    }

    /// Makes a call in the turn of the task to work in the working folder, if it has one.
    async fn with_exclusive_lease<T>(&self, call: impl Future<Output = T>) -> T {
        match &self.attempt.turn {
            Some(turn) => turn.call(call).await,
            None => call.await,
        }
    }

    async fn ask(&self, question: QuestionId, kind: &str, text: String) -> String {
        let Attempt { runner, facts, task, turn, .. } = self.attempt.as_ref();
        // If the run is gone, the actor is stopped with it and gets no answer.
        let _gone = facts.send(RunFact::ActorAsked { task: task.clone(), question: question.clone(), kind: kind.to_owned(), text });
        let answer = runner.answers.wait(&question);
        let Some(turn) = turn else { return answer.await };
        let (mut answer, has_merged) = turn.ask(answer).await;
        if has_merged && kind == QuestionKind::Question.as_str() {
            answer.push_str(MERGED_MEANWHILE);
        }
        answer
    }
}

const fn revoked(id: EffectId) -> ActorFact {
    ActorFact::Revoked { id, why: Reason::Stopped }
}

fn ended(id: EffectId, outcome: CallOutcome, text: String, begun: Instant) -> ActorFact {
    ended_with(id, outcome, (text, Value::Null), begun)
}

fn ended_with(id: EffectId, outcome: CallOutcome, (text, value): (String, Value), begun: Instant) -> ActorFact {
    let (duration_ms, origins) = (millis_since(begun), Vec::new());
    let (references, images, seen) = (Vec::new(), Vec::new(), Vec::new());
    ActorFact::ToolEnded { id, outcome, text, value, references, images, seen, duration_ms, origins }
}
