//! An actor as a workflow: model and tool calls are activities, people and reports go by the workflow of its run.
#![expect(missing_docs, reason = "the macros of the SDK make items without documentation beside each documented one")]

mod delegates;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    task::{Context, Poll},
};

use aime_actor_factory::{ActorEffect, ActorFact, ActorInput, ActorMachine, ModelAnswer, ModelFault};
use aime_durable::{EffectId, Issue, Reason, Recorded, UnixMillis};
use aime_messages::{Message, message};
use aime_orchestrator::{RunContext, RunFact};
use aime_progress_management::{CallOutcome, Conclusion, Outcome, ProgressEvent};
use futures::{FutureExt as _, future::LocalBoxFuture};
use serde_json::Value;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityExecutionError, ApplicationFailure, ContinueAsNewOptions, SignalWorkflowOptions, SyncWorkflowContext,
    WorkflowCancellationToken, WorkflowContext, WorkflowContextView, WorkflowResult,
};

use crate::{
    ActorAnswer, ActorEffectInput, ActorEnd, ActorJournalPage, ActorWorkflowInput, CallReply, Capability, DriveOutcome, EffectInput,
    Effects, JournalResume, MachineStart, RunWorkflow, RunningEffect, StoppedActor, TaskWork, Timestamped, Wire, WorkflowDriver,
    WorkspaceSnapshot, drive_workflow,
    effect::{begun_and_lost, lost},
    workflow_context::{CancellationTokens, LONG_HISTORY, RequestQueue, cancelled, now, until, workflow_error},
    workflow_workspace::{HasWorkspace, MergeReply, conflict_message, current_workspace, merge_reply},
};

/// Maximum number of facts in one query of an actor.
const PAGE: usize = 200;

/// Drives one actor.
#[workflow]
#[derive(Default)]
pub struct ActorWorkflow {
    /// Facts from outside that the machine has not taken in yet.
    inbox: Vec<ActorFact>,
    /// Answers of people.
    answers: Vec<ActorAnswer>,
    /// Current state of the working folder, if it moves between hosts.
    tree: Option<WorkspaceSnapshot>,
    /// Its delegates that were stopped before their end, or whose end it has not taken in.
    stopped: BTreeMap<String, StoppedActor>,
    /// Published journal: the actor's input, and all facts that it has taken in.
    published: Option<ActorJournalPage>,
}

impl HasWorkspace for ActorWorkflow {
    fn tree(&self) -> &Option<WorkspaceSnapshot> {
        &self.tree
    }

    fn set_tree(&mut self, tree: WorkspaceSnapshot) {
        self.tree = Some(tree);
    }
}

#[workflow_methods]
impl ActorWorkflow {
    /// Drives an actor to its conclusion.
    #[run(name = "aime.actor")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, begin: Wire<ActorWorkflowInput>) -> WorkflowResult<Wire<ActorEnd>> {
        let Wire(mut begin) = begin;
        let stopped = std::mem::take(&mut begin.stopped).into_iter().collect();
        let published = Some(journaled(&begin));
        ctx.state_mut(|actor| (actor.tree, actor.stopped, actor.published) = (begin.tree.clone(), stopped, published));
        let mut driver = ActorDriver::new(ctx.clone(), begin);
        let resume = driver.begin.begin.clone().resume(driver.now());
        let driven = drive_workflow(resume, &mut driver).await.map_err(workflow_error)?;
        if let DriveOutcome::Ended(_) = driven {
            // The run has heard of everything before it hears of the end.
            driver.report();
            driver.requests.done().await;
        }
        let tree = current_workspace(ctx);
        let delegates: Vec<_> = ctx.state_mut(|actor| std::mem::take(&mut actor.stopped)).into_iter().collect();
        let facts = ctx.state(|actor| actor.published.as_ref().map(|published| published.facts.clone()).unwrap_or_default());
        let ActorDriver { begin, events, reports, context: mut run_context, .. } = driver;
        run_context
            .answers
            .extend(ctx.state(|actor| actor.answers.iter().map(|known| (known.question.clone(), known.text.clone())).collect::<Vec<_>>()));
        match driven {
            DriveOutcome::Ended(ended) => {
                let rests = || Conclusion::new(Outcome::Interrupted, "the lead of a run rests until the run wakes it");
                let conclusion = ended.output.ended().unwrap_or_else(rests);
                let journal = Some(JournalResume { facts, events, not_begun: Default::default(), then: Vec::new() });
                Ok(Wire(ActorEnd { conclusion, journal, reports, tree, delegates }))
            }
            DriveOutcome::Continued { not_begun, then } => {
                let journal = JournalResume { facts, events, not_begun: not_begun.into_iter().collect(), then };
                let machine = MachineStart { journal: Some(journal), ..begin.begin };
                ctx.continue_as_new(
                    Wire(ActorWorkflowInput { begin: machine, run_context, reports, created: None, tree, stopped: delegates, ..begin }),
                    ContinueAsNewOptions::default(),
                )?;
                unreachable_end()
            }
        }
    }

    /// Signals the actor, for example with a request to stop or a person's words.
    #[signal]
    pub fn deliver(&mut self, _: &mut SyncWorkflowContext<Self>, fact: Wire<ActorFact>) {
        self.inbox.push(fact.0);
    }

    /// Signals an answer to a question.
    #[signal]
    pub fn answered(&mut self, _: &mut SyncWorkflowContext<Self>, answer: ActorAnswer) {
        self.answers.push(answer);
    }

    /// Returns the actor's input, and the facts that it has taken in, starting with fact number `from`, counted from
    /// 0.
    #[query]
    pub fn journal(&self, _: &WorkflowContextView, from: usize) -> Wire<Option<ActorJournalPage>> {
        Wire(self.published.as_ref().map(|ActorJournalPage { input, created, first, text_limit, facts, all }| {
            let facts = facts.iter().skip(from).take(PAGE).cloned().collect();
            ActorJournalPage { input: input.clone(), created: created.clone(), first: *first, text_limit: *text_limit, facts, all: *all }
        }))
    }
}

/// Returns the initial journal of an actor.
fn journaled(begin: &ActorWorkflowInput) -> ActorJournalPage {
    let journal = begin.begin.journal.as_ref();
    let facts = journal.map(|journal| journal.facts.clone()).unwrap_or_default();
    let reported = journal.map_or(0, |journal| u64::try_from(journal.events).unwrap_or(u64::MAX));
    let first = (begin.reports + u64::from(begin.created.is_some())).saturating_sub(reported);
    let (input, created, text_limit) = (begin.begin.input.clone(), begin.created.clone(), begin.text_limit);
    ActorJournalPage { input, created, first, text_limit, all: facts.len(), facts }
}

/// Code after a continuation is unreachable. This function only gives it a type.
fn unreachable_end<T>() -> WorkflowResult<T> {
    Err(ApplicationFailure::new(std::io::Error::other("the workflow did not go on in a new history")).into())
}

struct ActorDriver {
    ctx: WorkflowContext<ActorWorkflow>,
    begin: ActorWorkflowInput,
    events: usize,
    context: RunContext,
    /// Number of reports that were sent; the next field holds those to send.
    reports: u64,
    unpublished: Vec<ProgressEvent>,
    /// The workflows of its delegates that are at work.
    delegates: Rc<RefCell<BTreeSet<String>>>,
    /// Number of answers that were passed on to these.
    passed: usize,
    requests: RequestQueue,
    cancels: CancellationTokens,
    signalled: Option<LocalBoxFuture<'static, ()>>,
    workflow_cancelled: Option<LocalBoxFuture<'static, ()>>,
}

impl ActorDriver {
    fn new(ctx: WorkflowContext<ActorWorkflow>, begin: ActorWorkflowInput) -> Self {
        let events = begin.begin.journal.as_ref().map_or(0, |journal| journal.events);
        let workflow_cancelled = Some(cancelled(&ctx));
        Self {
            context: begin.run_context.clone(),
            reports: begin.reports,
            unpublished: begin.created.clone().into_iter().collect(),
            ctx,
            begin,
            events,
            delegates: Rc::default(),
            passed: 0,
            requests: RequestQueue::default(),
            cancels: CancellationTokens::default(),
            signalled: None,
            workflow_cancelled,
        }
    }

    fn input(&self) -> &ActorInput {
        &self.begin.begin.input.what
    }

    /// Sends what the run has not heard, in one signal.
    fn report(&mut self) {
        let ActorInput { spec, execution, call, lead, .. } = self.input();
        let (task, execution, call, leads) = (spec.task.clone(), *execution, call.clone(), lead.is_some());
        let unpublished = std::mem::take(&mut self.unpublished);
        let numbers = self.reports..;
        let facts: Vec<RunFact> = numbers
            .zip(unpublished)
            .map(|(number, event)| match leads {
                true => RunFact::LeadReported { call: call.clone(), number, event },
                false => RunFact::ActorReported { task: task.clone(), execution, call: call.clone(), number, event },
            })
            .collect();
        self.reports += u64::try_from(facts.len()).unwrap_or_default();
        if !facts.is_empty() {
            self.signal_run(facts);
        }
    }

    fn signal_run(&mut self, facts: Vec<RunFact>) {
        let (ctx, run) = (self.ctx.clone(), self.begin.run.clone());
        self.requests.add(async move {
            let options = SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
            // A run that no longer exists needs no signal.
            drop(ctx.external_workflow(run, None).signal(RunWorkflow::facts, Wire(facts), options).await);
        });
    }

    fn activity(&mut self, id: EffectId, effect: ActorEffect, begun_before: bool) -> RunningEffect<ActorMachine> {
        let tool_spec = |name: &str| self.input().spec.tool(name);
        let capability = match &effect {
            ActorEffect::Tool { call, .. } => Capability::of_tool(tool_spec(call.tool())),
            ActorEffect::Plan { .. } => Capability::Planner,
            _ => Capability::Llm,
        };
        let queues = self.begin.queues.clone();
        let repeatable = match &effect {
            ActorEffect::Tool { call, .. } => tool_spec(call.tool()).is_some_and(aime_tools::ToolSpec::repeatable),
            _ => true,
        };
        let asks_model = matches!(effect, ActorEffect::Model(_));
        let (queue, options) = (queues.name(capability), queues.options(capability, &id, self.cancels.token(&id)));
        // Requests to models need no folder.
        let tree = current_workspace(&self.ctx).filter(|_| matches!(effect, ActorEffect::Tool { .. }));
        let order = ActorEffectInput {
            run_context: self.context.clone(),
            run: self.begin.run.clone(),
            order: EffectInput { id: id.clone(), effect, begun_before },
            tree: tree.clone(),
        };
        // The worker needs none of its prompts.
        let actor =
            ActorInput { system: String::new(), task: String::new(), images: Vec::new(), messages: Vec::new(), ..self.input().clone() };
        let (ctx, run) = (self.ctx.clone(), self.begin.input.clone());
        let facts = async move {
            let done = match tree {
                None => ctx.execute_activity(Effects::actor_effect, (run, actor, Wire(order)), options).await.map(|fact| fact.0),
                Some(tree) => {
                    let work = TaskWork::new(run.run(), &actor.spec.task, id.as_str());
                    match ctx.execute_activity(Effects::actor_tool_call, (run, actor, Wire(order)), options).await {
                        Err(error) => Err(error),
                        Ok(Wire(CallReply { fact, handover })) => {
                            Ok(match merge_reply(&ctx, &queues, &id, (Some(&tree), handover), work).await {
                                Ok(MergeReply { conflicts, private: Some(_), .. }) => omit(fact, &conflict_message(&conflicts)),
                                Ok(_) => fact,
                                Err(why) => omit(fact, &why),
                            })
                        }
                    }
                }
            };
            match done {
                Ok(fact) => vec![fact],
                Err(ActivityExecutionError::Cancelled(_)) => vec![ActorFact::Revoked { id, why: Reason::Cancelled }],
                Err(error) if asks_model => vec![unasked(id, lost(&queue, &error))],
                Err(error) if begun_and_lost(&error) && !repeatable => {
                    let reason = message!("call-lost", id, reason = lost(&queue, &error));
                    vec![ended(id, CallOutcome::InDoubt, &reason)]
                }
                Err(error) => vec![failed(id, &lost(&queue, &error))],
            }
        };
        RunningEffect::working(facts)
    }

    fn ask(&mut self, id: EffectId, effect: ActorEffect) -> RunningEffect<ActorMachine> {
        let ActorEffect::Ask { id: question, question: text, kind } = effect else {
            return RunningEffect::working(async move { vec![failed(id, &Message::text("this is no question"))] });
        };
        let known = self.context.answers.iter().find(|(known, _)| *known == question).map(|(_, answer)| answer.clone());
        if known.is_none() {
            // The run must receive the report of the question first.
            self.report();
            let (task, kind) = (self.input().spec.task.clone(), kind.as_str().to_owned());
            self.signal_run(vec![RunFact::ActorAsked { task, question: question.clone(), kind, text }]);
        }
        let (ctx, cancel) = (self.ctx.clone(), self.cancels.token(&id));
        let facts = async move {
            let answer = |actor: &ActorWorkflow| {
                let given = actor.answers.iter().find(|answer| answer.question == question).map(|answer| answer.text.clone());
                given.or_else(|| known.clone())
            };
            until(&ctx, |actor| cancel.is_cancelled() || answer(actor).is_some()).await;
            match ctx.state(answer).filter(|_| !cancel.is_cancelled()) {
                Some(text) => vec![ActorFact::Answered { id, text }],
                None => vec![ActorFact::Revoked { id, why: Reason::Stopped }],
            }
        };
        RunningEffect::waiting(facts)
    }
}

/// Returns the answer to an effect for which no worker could be found, or whose worker could not read it.
fn failed(id: EffectId, reason: &Message) -> ActorFact {
    ended(id, CallOutcome::Error, reason)
}

/// Returns the end of a call. The reason is for the actor's model, so it is in English.
fn ended(id: EffectId, outcome: CallOutcome, reason: &Message) -> ActorFact {
    ActorFact::ToolEnded {
        id,
        outcome,
        text: reason.to_string(),
        value: Value::Null,
        references: Vec::new(),
        images: Vec::new(),
        seen: Vec::new(),
        duration_ms: 0,
        origins: Vec::new(),
    }
}

/// Turns the answer to a call whose file changes are left out into a failure, with its text and the reason. A call in doubt stays in doubt.
fn omit(fact: ActorFact, why: &Message) -> ActorFact {
    match fact {
        ActorFact::ToolEnded { id, outcome, text, value, references, images, seen, duration_ms, origins } => {
            let text = format!("{text}\n\n{why}").trim_start().to_owned();
            let outcome = if outcome == CallOutcome::InDoubt { CallOutcome::InDoubt } else { CallOutcome::Error };
            ActorFact::ToolEnded { id, outcome, text, value, references, images, seen, duration_ms, origins }
        }
        other => other,
    }
}

/// Returns the answer to a request that reached no model.
fn unasked(id: EffectId, reason: Message) -> ActorFact {
    let answer = ModelAnswer::Error { kind: ModelFault::Unusable, text: reason, hint: None };
    ActorFact::ModelAnswered { id, answer, duration_ms: 0 }
}

impl WorkflowDriver<ActorMachine> for ActorDriver {
    fn now(&self) -> UnixMillis {
        now(&self.ctx)
    }

    fn begin(&mut self, issue: Issue<ActorEffect>) -> RunningEffect<ActorMachine> {
        let begun_before = self.begin.begin.was_begun(&issue);
        let Issue { id, effect, .. } = issue;
        match &effect {
            ActorEffect::Model(_) | ActorEffect::Tool { .. } | ActorEffect::Plan { .. } => self.activity(id, effect, begun_before),
            ActorEffect::Ask { .. } => self.ask(id, effect),
            ActorEffect::Delegate { .. } => self.delegate(id, effect),
        }
    }

    fn revoke(&mut self, id: &EffectId, why: &Reason) {
        self.cancels.cancel(id, why);
        // A wait for an answer looks at its token when something changes.
        self.ctx.state_mut(|_| {});
    }

    fn external_facts(&mut self, context: &mut Context<'_>) -> Vec<ActorFact> {
        // Reports that arise during a send go with the next one.
        if self.requests.poll(context) {
            self.report();
            self.requests.poll(context);
        }
        let mut facts = Vec::new();
        loop {
            let (ctx, passed) = (self.ctx.clone(), self.passed);
            let come = move |actor: &ActorWorkflow| !actor.inbox.is_empty() || actor.answers.len() > passed;
            let signalled = self.signalled.get_or_insert_with(|| async move { until(&ctx, come).await }.boxed_local());
            if signalled.poll_unpin(context).is_pending() {
                break;
            }
            self.signalled = None;
            facts.extend(self.ctx.state_mut(|actor| std::mem::take(&mut actor.inbox)));
            self.pass_on();
            self.requests.poll(context);
        }
        let ended = self.workflow_cancelled.as_mut().map(|ended| ended.poll_unpin(context));
        if ended == Some(Poll::Ready(())) {
            self.workflow_cancelled = None;
            facts.push(ActorFact::Stopped { why: Reason::Stopped });
        }
        facts
    }

    fn observe(&mut self, facts: &[Recorded<ActorFact>], events: &[Recorded<ProgressEvent>]) {
        self.ctx.state_mut(|actor| {
            if let Some(published) = &mut actor.published {
                published.facts.extend(facts.iter().cloned().map(Timestamped::from));
                published.all = published.facts.len();
            }
        });
        self.events += events.len();
        self.context.observe(&[], events);
        for event in events {
            if let ProgressEvent::ToolCallFinished { call, .. } = &event.fact {
                self.ctx.state_mut(|actor| actor.stopped.remove(&self.delegate_name(call)));
            }
        }
        self.unpublished.extend(events.iter().map(|event| event.fact.clone()));
    }

    fn flush_reports(&mut self, context: &mut Context<'_>) -> bool {
        self.report();
        self.requests.poll(context)
    }

    fn should_continue_as_new(&self) -> bool {
        self.ctx.continue_as_new_suggested() || self.ctx.history_length() > LONG_HISTORY
    }
}

#[cfg(test)]
mod tests;
