//! Actor tasks: an actor with its own journal, driven to its conclusion.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use aime_actors::{ActorContext, ActorEffect, ActorFact, ActorInput, ActorMachine, ActorSpec, ModelAnswer};
use aime_durable::{
    Commit, DriveError, EffectContext, EffectId, EffectRunner, EmbeddedHost, FactSender, Issue, JournalError, Reason, Recorded, Resume,
    Sink, StreamWriter, UnixMillis, drive, replay,
};
use aime_llm::ChatModel;
use aime_progress::{CallOutcome, Conclusion, Outcome, PlanMode, ProgressEvent, ProgressState, Task, TaskId, TaskStatus, Timestamp};
use aime_tools::{ToolContext, ToolError, ToolRegistry};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Context, RunRunner, evidence::of_actor, millis_since, on_bound};
use crate::{Budget, BudgetError, RunFact, RunMachine, models::OnBound};

impl RunRunner {
    pub(super) async fn start_actor(
        &self,
        id: EffectId,
        state: &ProgressState,
        task: &TaskId,
        execution: u32,
        context: &Context,
    ) -> RunFact {
        let begun = Instant::now();
        let conclusion = match self.act(state, task, execution, context).await {
            Ok(conclusion) => conclusion,
            Err(message) => return RunFact::EffectFailed { id, message },
        };
        let (checks, calls) = match state.tasks.get(task) {
            Some(known) => {
                let evidence = || of_actor(&self.parts.journal, self.run.as_str(), task, execution, &conclusion);
                self.verify_task(&known.spec, &conclusion, evidence, context).await
            }
            None => (Vec::new(), Vec::new()),
        };
        RunFact::TaskEnded { id, conclusion, checks, calls, duration_ms: millis_since(begun) }
    }

    /// Drives the actor from where its journal leaves it.
    async fn act(&self, state: &ProgressState, task: &TaskId, execution: u32, context: &Context) -> Result<Conclusion, String> {
        let (run, stream) = (self.run.as_str(), format!("{task}/{execution}"));
        let loaded = self.parts.journal.load::<ActorMachine>(run, &stream).map_err(|error| error.to_string())?;
        let now = self.parts.clock.now();
        let mut reports = Reports { facts: context.facts.clone(), task: task.clone(), execution, next: 0 };
        let (input, writer, resume) = match loaded {
            None => {
                let (input, created) = self.compose(state, task, execution)?;
                reports.send(created);
                let resume = Resume::Fresh(Recorded { at: now, fact: input.clone() });
                (input, self.parts.journal.stream(run, &stream), resume)
            }
            Some(loaded) => {
                let before = replay::<ActorMachine>(&loaded.input, &loaded.facts);
                // The first report, that the actor was made, is not one of the machine's own.
                reports.send(self.created(task, &loaded.input.fact.spec, Vec::new()));
                for event in before.events {
                    reports.send(event.fact);
                }
                if let Some(conclusion) = before.output.filter(|conclusion| conclusion.outcome != Outcome::Interrupted) {
                    return Ok(conclusion);
                }
                let input = loaded.input.fact.clone();
                let writer = self.parts.journal.stream(run, &stream).after(&loaded);
                (input, writer, loaded.resume(vec![Recorded { at: now, fact: ActorFact::Resumed {} }]))
            }
        };
        let model = self.model(&input.spec.model, context).ok_or("no model is configured for actors")?;
        let refused = Arc::<Refused>::default();
        let runner = ActorRunner {
            model,
            refused: Arc::clone(&refused),
            on_bound: on_bound(context),
            tools: Arc::clone(&self.parts.tools),
            tool_context: self.tool_context(context.cancel.clone(), task),
            task: task.clone(),
            run: context.facts.clone(),
            wait: Box::new({
                let answers = Arc::clone(&self.answers);
                move |question| {
                    let answers = Arc::clone(&answers);
                    Box::pin(async move { answers.wait(&question).await })
                }
            }),
            sheets: input.spec.tools.clone(),
        };
        let sink = ReportingStream { writer, reports, budget: Arc::clone(&self.budget), refused };
        let mut host = EmbeddedHost::new(Arc::new(runner), sink).with_clock(Arc::clone(&self.parts.clock));
        let sender = host.sender();
        let cancel = context.cancel.clone();
        let why = context.reason().unwrap_or(Reason::Stopped);
        let stop = tokio::spawn(async move {
            cancel.cancelled().await;
            // An actor that has ended needs no stop.
            let _gone = sender.send(ActorFact::Stopped { why });
        });
        let ended = drive(&mut host, resume).await;
        stop.abort();
        host.close().await;
        ended.map(|ended| ended.output).map_err(|error| match error {
            DriveError::Host(error) => error.to_string(),
            other => other.to_string(),
        })
    }

    /// Makes the actor for a task, and the event that tells of it.
    fn compose(&self, state: &ProgressState, task: &TaskId, execution: u32) -> Result<(ActorInput, ProgressEvent), String> {
        let known = state.tasks.get(task).ok_or_else(|| format!("no task {task}"))?;
        let role = self.role_of(&state.category);
        let limits = self.parts.models.as_ref().map(|models| models.role(&role).limits()).unwrap_or_default();
        let (results, environment) = (results(state, known), self.environment());
        let made = self.parts.actors.compose(
            &known.spec,
            &ActorContext {
                category: &state.category,
                execution,
                results: &results,
                knowledge: self.parts.project.trim(),
                environment: &environment,
                approval: self.input.settings.approval,
                attended: !self.input.settings.unattended,
                model: &role,
                limits,
                max_steps: self.bounds.max_steps,
                plain_answer_ends: state.mode == Some(PlanMode::Direct),
                ..ActorContext::new(&state.goal, state.plan_id.clone(), &self.parts.tools, Timestamp::from_millis(self.parts.clock.now()))
            },
        );
        let made = made.map_err(|error| error.to_string())?;
        let created = self.created(task, &made.input.spec, made.selection.reasons);
        Ok((made.input, created))
    }

    fn created(&self, task: &TaskId, spec: &ActorSpec, reasons: Vec<String>) -> ProgressEvent {
        ProgressEvent::ActorCreated {
            task: task.clone(),
            actor: spec.id.to_string(),
            profile: spec.profile.clone(),
            model: self.parts.models.as_ref().map(|models| models.role(&spec.model).name().to_owned()).unwrap_or_default(),
            tools: spec.tools.iter().map(|sheet| sheet.name().to_owned()).collect(),
            reasons,
        }
    }

    /// The role of the model for goals of a category.
    fn role_of(&self, category: &str) -> String {
        let model = self.parts.categories.iter().find(|known| known.name == category).and_then(|known| known.model.clone());
        model.unwrap_or_else(|| "default".to_owned())
    }

    fn environment(&self) -> String {
        let listing = self.listing();
        let listing = if listing.is_empty() { "It is empty.".to_owned() } else { format!("It holds:\n{listing}") };
        format!("You work in one folder on {}. Paths are relative to it. {listing}", std::env::consts::OS)
    }

    pub(super) fn tool_context(&self, cancel: CancellationToken, task: &TaskId) -> ToolContext {
        let outputs = self.parts.keep.join("runs").join(self.run.as_str()).join(task.as_str());
        self.parts.tool_context.clone().with_cancel(cancel).with_output_folder(outputs)
    }
}

/// What the tasks before this one came to, and how this one failed before.
fn results(state: &ProgressState, task: &Task) -> String {
    let mut parts: Vec<String> = Vec::new();
    for before in state.graph().dependencies(&task.spec.id) {
        let Some(before) = state.tasks.get(before) else { continue };
        if let Some(conclusion) = before.conclusion.as_ref().filter(|_| before.status == TaskStatus::Completed) {
            let made =
                if conclusion.references.is_empty() { String::new() } else { format!("\nMade: {}", conclusion.references.join(", ")) };
            parts.push(format!("### {}\n{}{made}", before.spec.title(), conclusion.text()));
        }
    }
    if let Some(error) = task.conclusion.as_ref().and_then(|conclusion| conclusion.error.as_ref()) {
        parts.push(format!("### An earlier attempt at this task failed\n{error}\nDo it another way."));
    }
    parts.join("\n\n")
}

/// Hands an actor's events up to the run, each with its number: the run drops what it has seen.
struct Reports {
    facts: FactSender<RunMachine>,
    task: TaskId,
    execution: u32,
    next: u64,
}

impl Reports {
    fn send(&mut self, event: ProgressEvent) {
        let fact = RunFact::ActorReported { task: self.task.clone(), execution: self.execution, number: self.next, event };
        self.next += 1;
        // A run that is gone will find the event in the actor's journal.
        let _gone = self.facts.send(fact);
    }
}

/// Calls for which the run's budget leaves no room, by their effects.
type Refused = Mutex<BTreeMap<String, BudgetError>>;

/// An actor's stream of the journal, which reports each event once it is durable. A tool call is counted here, before it is made.
struct ReportingStream {
    writer: StreamWriter,
    reports: Reports,
    budget: Arc<Budget>,
    refused: Arc<Refused>,
}

impl Sink<ActorMachine> for ReportingStream {
    type Error = JournalError;

    async fn append(&mut self, commit: Commit<'_, ActorMachine>) -> Result<(), JournalError> {
        let events = commit.events;
        Sink::<ActorMachine>::append(&mut self.writer, commit).await?;
        for event in events {
            if let ProgressEvent::ToolCallStarted { call, .. } = &event.fact
                && let Err(error) = self.budget.count_tool_call()
            {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(call.clone(), error);
            }
            self.reports.send(event.fact.clone());
        }
        Ok(())
    }

    fn last(&self) -> UnixMillis {
        Sink::<ActorMachine>::last(&self.writer)
    }
}

type Wait = Box<dyn Fn(aime_progress::QuestionId) -> BoxFuture<'static, String> + Send + Sync>;

/// Does an actor's effects.
struct ActorRunner {
    model: Arc<dyn ChatModel>,
    tools: Arc<ToolRegistry>,
    tool_context: ToolContext,
    task: TaskId,
    run: FactSender<RunMachine>,
    wait: Wait,
    sheets: Vec<aime_tools::ToolSheet>,
    refused: Arc<Refused>,
    on_bound: OnBound,
}

impl EffectRunner<ActorMachine> for ActorRunner {
    fn run(self: Arc<Self>, issue: Issue<ActorEffect>, context: EffectContext<ActorMachine>) -> BoxFuture<'static, ActorFact> {
        Box::pin(async move {
            let (id, reissued, begun) = (issue.id.clone(), issue.reissued, Instant::now());
            let revoked = ActorFact::Revoked { id: id.clone(), why: Reason::Stopped };
            match issue.effect {
                ActorEffect::Model(request) => {
                    let answer = context.cancel.run_until_cancelled(self.model.complete(request)).await;
                    let Some(answer) = answer else { return revoked };
                    ActorFact::ModelAnswered { id, answer: ModelAnswer::from(answer), duration_ms: millis_since(begun) }
                }
                ActorEffect::Tool { name, parameters, .. } => {
                    let repeatable = self.sheets.iter().any(|sheet| sheet.name() == name && sheet.repeatable());
                    if reissued && !repeatable {
                        return ended(id, CallOutcome::InDoubt, String::new(), begun);
                    }
                    let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).remove(id.as_str());
                    if let Some(error) = refused {
                        (self.on_bound)(&error);
                        // The run, which is told, revokes the call.
                        context.cancel.cancelled().await;
                        return revoked;
                    }
                    let tool_context = self.tool_context.clone().with_cancel(context.cancel.clone());
                    match self.tools.call(&name, parameters, &tool_context).await {
                        Ok(output) => ActorFact::ToolEnded {
                            id,
                            outcome: CallOutcome::Ok,
                            text: output.text,
                            value: output.value,
                            references: output.references,
                            duration_ms: millis_since(begun),
                        },
                        Err(ToolError::Cancelled) => ended(id, CallOutcome::Cancelled, String::new(), begun),
                        Err(error) => ended(id, CallOutcome::Error, error.to_string(), begun),
                    }
                }
                ActorEffect::Ask { id: question, question: text, kind } => {
                    let kind = kind.as_str().to_owned();
                    let asked = RunFact::ActorAsked { task: self.task.clone(), question: question.clone(), kind, text };
                    // A run that is gone cannot be asked: the actor is stopped with it.
                    let _gone = self.run.send(asked);
                    match context.cancel.run_until_cancelled((self.wait)(question)).await {
                        Some(text) => ActorFact::Answered { id, text },
                        None => revoked,
                    }
                }
            }
        })
    }

    fn failed(&self, id: &EffectId, message: &str) -> ActorFact {
        ActorFact::ToolEnded {
            id: id.clone(),
            outcome: CallOutcome::Error,
            text: format!("a fault in aime: {message}"),
            value: Value::Null,
            references: Vec::new(),
            duration_ms: 0,
        }
    }
}

fn ended(id: EffectId, outcome: CallOutcome, text: String, begun: Instant) -> ActorFact {
    ActorFact::ToolEnded { id, outcome, text, value: Value::Null, references: Vec::new(), duration_ms: millis_since(begun) }
}
