//! A run as a workflow: planning and calls of tools are activities, actors are child workflows, people come by signals.
#![expect(missing_docs, reason = "the macros of the SDK make items without documentation beside each documented one")]

mod lead;
mod suspended;
mod task;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use aime_actor_factory::LEAD_PREFIX;
use aime_durable::{EffectId, Issue, Machine, Reason, Recorded, UnixMillis};
use aime_messages::{Message, message};
use aime_orchestrator::{ActorMessage, Bounds, CallRecord, FoundConflict, RunContext, RunEffect, RunFact, RunMachine, RunResult};
use aime_progress_management::{Conclusion, FailureCause, Outcome, PlanId, PlanMode, ProgressEvent, ProgressState, TaskId, Timestamp};
use futures::{FutureExt as _, future::LocalBoxFuture};
use temporalio_common::RetryPolicy;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityExecutionError, ContinueAsNewOptions, SignalWorkflowOptions, SyncWorkflowContext, TimerOptions, WorkflowCancellationToken,
    WorkflowContext, WorkflowContextView, WorkflowResult,
};

use self::suspended::{SuspendedState, wait_for_first_resume, wait_for_resume};
use crate::{
    ActorAnswer, ActorWorkflow, CallReply, Capability, DriveOutcome, EffectInput, Effects, EndRunInput, JournalPage, JournalResume,
    MachineStart, Queues, RunEffectInput, RunWorkflowInput, RunningEffect, StoppedActor, TaskWork, Timestamped, WatchReply, Wire,
    WorkflowDriver, WorkspaceSnapshot, drive_workflow,
    effect::{begun_and_lost, lost},
    lead_workflow,
    messages::RunInput,
    workflow_context::{CancellationTokens, LONG_HISTORY, RequestQueue, cancelled, now, until, workflow_error},
    workflow_workspace::{HasWorkspace, MergeReply, conflict_message, current_workspace, merge_reply},
};

/// Maximum number of events in one query of a run.
const WATCHED: usize = 200;
/// Time that one attempt at the start or the end of a run waits for a worker.
const END_WITHIN: Duration = Duration::from_secs(60);
/// Maximum number of these attempts.
const END_TRIES: u32 = 3;

/// Drives one run.
#[workflow]
#[derive(Default)]
pub struct RunWorkflow {
    /// Facts from outside that the machine has not taken in yet.
    inbox: Vec<RunFact>,
    /// Input of the run; the next field holds the facts that it has taken in.
    input: Option<Timestamped<RunInput>>,
    facts: Vec<Timestamped<RunFact>>,
    /// Published events.
    events: Vec<Timestamped<ProgressEvent>>,
    state: Option<ProgressState>,
    bounds: Option<Bounds>,
    result: Option<RunResult>,
    is_over: bool,
    /// Actors that were stopped before their end, or whose end the run has not taken in.
    stopped: BTreeMap<String, StoppedActor>,
    /// Current state of the working folder, if it moves between hosts.
    tree: Option<WorkspaceSnapshot>,
    /// The attempt whose actor may write in the working folder, if all hosts share one.
    writer: Option<EffectId>,
}

impl HasWorkspace for RunWorkflow {
    fn tree(&self) -> &Option<WorkspaceSnapshot> {
        &self.tree
    }

    fn set_tree(&mut self, tree: WorkspaceSnapshot) {
        self.tree = Some(tree);
    }
}

#[workflow_methods]
impl RunWorkflow {
    /// Drives a run until it has ended for good. A run that waits for a person, or was stopped, waits in here.
    #[run(name = "aime.run")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, begin: Wire<RunWorkflowInput>) -> WorkflowResult<RunResult> {
        let RunWorkflowInput { mut begin, queues, stopped, tree, is_waiting, seeks_lead } = begin.0;
        ctx.state_mut(|run| (run.stopped, run.tree) = (stopped.into_iter().collect(), tree));
        if seeks_lead {
            begin.input.what = lead::seek_lead(ctx, begin.input.what, &queues).await;
        }
        if is_waiting {
            let then = wait_for_first_resume(ctx, &RunDriver::new(ctx.clone(), begin.clone(), queues.clone())).await;
            if let Some(journal) = &mut begin.journal {
                journal.then = then;
            }
        }
        loop {
            let mut driver = RunDriver::new(ctx.clone(), begin.clone(), queues.clone());
            let driven = drive_workflow(begin.clone().resume(driver.now()), &mut driver).await;
            let driven = driven.map_err(workflow_error)?;
            if let DriveOutcome::Ended(_) = driven {
                driver.requests.done().await;
            }
            // The facts are kept for queries of a history that was left.
            let (events, facts) = (driver.events, ctx.state(|run| run.facts.clone()));
            let run_context = driver.ledger.borrow().context.clone();
            match driven {
                DriveOutcome::Continued { not_begun, then } => {
                    let journal = JournalResume { facts, events, not_begun: not_begun.into_iter().collect(), then };
                    begin.journal = Some(journal);
                    let stopped = ctx.state_mut(|run| std::mem::take(&mut run.stopped)).into_iter().collect();
                    let onwards = RunWorkflowInput {
                        begin: begin.clone(),
                        queues: queues.clone(),
                        stopped,
                        tree: current_workspace(ctx),
                        is_waiting: false,
                        seeks_lead: false,
                    };
                    ctx.continue_as_new(Wire(onwards), ContinueAsNewOptions::default())?;
                }
                DriveOutcome::Ended(ended) => {
                    let (over, state) = (ended.machine.is_over(), ended.machine.state());
                    let before = begin.journal.as_ref().map_or(0, |journal| journal.facts.len());
                    let has_answer = facts.iter().skip(before).any(|fact| matches!(fact.what, RunFact::PersonAnswered { .. }));
                    let last = SuspendedState::of(&ended.output, state, has_answer, driver.undelivered);
                    let mut result = RunResult::new(begin.input.what.run().clone(), state, &ended.output);
                    let order = EndRunInput { result: result.clone(), is_over: over, run_context, tree: current_workspace(ctx) };
                    result.notes.extend(end(ctx, begin.input.what.clone(), &queues, order).await);
                    // The result can be queried until the run continues, or forever.
                    ctx.state_mut(|run| (run.result, run.is_over) = (Some(result.clone()), over));
                    if over {
                        return Ok(result);
                    }
                    let then = wait_for_resume(ctx, last).await;
                    ctx.state_mut(|run| run.result = None);
                    begin.journal = Some(JournalResume { facts, events, not_begun: Default::default(), then });
                }
            }
        }
    }

    /// Facts from outside: answers, messages and decisions of people, and what happens in actors and effects.
    #[signal]
    pub fn facts(&mut self, _: &mut SyncWorkflowContext<Self>, facts: Wire<Vec<RunFact>>) {
        self.inbox.extend(facts.0);
    }

    /// Returns the events from a number on, counted from 0, and the result.
    #[query]
    pub fn watch(&self, _: &WorkflowContextView, from: usize) -> Wire<WatchReply> {
        let events = self.events.iter().skip(from).take(WATCHED).cloned().collect();
        let (result, bounds) = (self.result.clone(), self.bounds.clone());
        Wire(WatchReply { events, all: self.events.len(), result, is_over: self.is_over, bounds, tree: self.tree.clone() })
    }

    /// Returns the input, and the facts that it has taken in from a number on, counted from 0. The whole state of the
    /// run follows from these.
    #[query]
    pub fn journal(&self, _: &WorkflowContextView, from: usize) -> Wire<JournalPage> {
        let facts = self.facts.iter().skip(from).take(WATCHED).cloned().collect();
        Wire(JournalPage { input: self.input.clone(), facts, all: self.facts.len() })
    }

    /// Returns the state of the run.
    #[query]
    pub fn progress(&self, _: &WorkflowContextView) -> Wire<Option<ProgressState>> {
        Wire(self.state.clone())
    }
}

/// Has a worker carry out the end of a run, or of a part of it. Returns notes for the user.
async fn end(ctx: &WorkflowContext<RunWorkflow>, input: RunInput, queues: &Queues, order: EndRunInput) -> Vec<Message> {
    let queue = queues.name(Capability::Planner);
    let mut options = queues.options(Capability::Planner, &EffectId::new("end"), WorkflowCancellationToken::new());
    // The result of a run must be published even if no worker can carry out its end.
    options.schedule_to_start_timeout.get_or_insert(END_WITHIN);
    options.retry_policy = Some(RetryPolicy::builder().maximum_attempts(END_TRIES).build());
    match ctx.execute_activity(Effects::end, (input, Wire(order)), options).await {
        Ok(notes) => notes.0,
        Err(error) => vec![message!("end-not-done", reason = lost(&queue, &error))],
    }
}

/// Returns true if a person sent the fact and nothing will repeat it.
const fn is_from_person(fact: &RunFact) -> bool {
    matches!(fact, RunFact::PersonSaid { .. } | RunFact::PersonAnswered { .. } | RunFact::CancelRequested { task: Some(_), .. })
}

/// Returns the fact for a cancellation of the workflow itself.
fn cancel() -> RunFact {
    RunFact::CancelRequested { task: None, reason: message!("workflow-cancelled"), message: None }
}

/// Returns the end of a call that was begun on a lost host.
fn in_doubt(id: EffectId, lost: Message) -> RunFact {
    let error = message!("call-lost", id, reason = lost);
    attempt_ended(id, Conclusion::without_result(Outcome::InDoubt, error, None), 0)
}

/// Returns the end of an attempt whose criteria are not checked.
fn attempt_ended(id: EffectId, conclusion: Conclusion, duration_ms: u64) -> RunFact {
    RunFact::TaskEnded { id, conclusion, checks: Vec::new(), calls: Vec::new(), conflicts: Vec::new(), duration_ms }
}

/// Reason why the changes of a call are not in the folder.
#[derive(Debug, Clone)]
enum Loss {
    /// They conflict with those of others.
    Conflict(Vec<FoundConflict>),
    /// They could not be handed back or merged.
    Lost(Message),
}

/// Turns the answer to a call whose file changes are left out into a failure, with its text. Two kinds of calls are in doubt instead: a call that
/// was in doubt already, and a completed call that may have had other effects and whose changes are lost.
fn omit(fact: RunFact, why: Loss, repeatable: bool) -> RunFact {
    match fact {
        RunFact::TaskEnded { id, mut conclusion, checks, calls, mut conflicts, duration_ms } => {
            let before = conclusion.error.take();
            let made_and_lost = conclusion.outcome == Outcome::Success && !repeatable && matches!(why, Loss::Lost(_));
            let in_doubt = conclusion.outcome == Outcome::InDoubt || made_and_lost;
            conclusion.outcome = if in_doubt { Outcome::InDoubt } else { Outcome::Failure };
            let reason = match why {
                Loss::Conflict(found) => {
                    let reason = conflict_message(&found);
                    conclusion.cause = Some(FailureCause::Conflict);
                    conflicts = found;
                    reason
                }
                Loss::Lost(why) => why,
            };
            conclusion.error = Some(Message::list("\n\n", &before.into_iter().chain([reason]).collect::<Vec<_>>()));
            RunFact::TaskEnded { id, conclusion, checks, calls, conflicts, duration_ms }
        }
        other => other,
    }
}

struct RunDriver {
    ctx: WorkflowContext<RunWorkflow>,
    begin: MachineStart<RunMachine>,
    queues: Queues,
    events: usize,
    ledger: Rc<RefCell<Ledger>>,
    /// The workflows of actors at work, by their tasks.
    actors: Rc<RefCell<BTreeMap<TaskId, String>>>,
    requests: RequestQueue,
    cancels: CancellationTokens,
    signalled: Option<LocalBoxFuture<'static, ()>>,
    workflow_cancelled: Option<LocalBoxFuture<'static, ()>>,
    /// Messages of people that the machine has not taken in: it takes in nothing more once it is suspended.
    undelivered: Vec<RunFact>,
    /// Length of the history when it was first to be left.
    continue_length: Cell<Option<u32>>,
}

/// Data on the run for its effects.
struct Ledger {
    context: RunContext,
    /// Calls of each task.
    calls: BTreeMap<TaskId, CallRecord>,
}

impl RunDriver {
    fn new(ctx: WorkflowContext<RunWorkflow>, begin: MachineStart<RunMachine>, queues: Queues) -> Self {
        let input = &begin.input.what;
        let at = Timestamp::from_millis(begin.input.at);
        let workflow_cancelled = Some(cancelled(&ctx));
        let mut driver = Self {
            ledger: Rc::new(RefCell::new(Ledger { context: RunContext::new(input), calls: BTreeMap::new() })),
            events: 0,
            actors: Rc::default(),
            requests: RequestQueue::default(),
            cancels: CancellationTokens::default(),
            signalled: None,
            workflow_cancelled,
            undelivered: begin
                .journal
                .iter()
                .flat_map(|journal| journal.then.iter().filter(|fact| is_from_person(fact)).cloned())
                .collect(),
            continue_length: Cell::new(None),
            queues,
            ctx,
            begin,
        };
        let state = ProgressState::new(PlanId::from(driver.input().run()), driver.input().goal(), at);
        driver.ctx.state_mut(|run| {
            run.facts.clear();
            run.events.clear();
            (run.input, run.state) = (Some(driver.begin.input.clone()), Some(state));
        });
        if let Some(journal) = driver.begin.journal.clone() {
            let facts: Vec<Recorded<RunFact>> = journal.facts.into_iter().map(Recorded::from).collect();
            let replayed = aime_durable::replay::<RunMachine>(&driver.begin.input.clone().into(), &facts);
            // The actors heard these messages before.
            let _messages = driver.remember(&facts, &replayed.events);
        }
        driver
    }

    fn input(&self) -> &RunInput {
        &self.begin.input.what
    }

    /// Takes in what happened, whenever it did. Returns the new messages to actors.
    fn remember(&mut self, facts: &[Recorded<RunFact>], events: &[Recorded<ProgressEvent>]) -> Vec<ActorMessage> {
        self.events += events.len();
        let mut ledger = self.ledger.borrow_mut();
        let messages = ledger.context.observe(facts, events);
        for recorded in facts {
            if let RunFact::ActorReported { task, event, .. } = &recorded.fact {
                ledger.calls.entry(task.clone()).or_default().observe(event);
            }
        }
        let bounds = ledger.context.bounds.clone();
        drop(ledger);
        self.ctx.state_mut(|run| {
            run.bounds = Some(bounds);
            run.facts.extend(facts.iter().cloned().map(Timestamped::from));
            run.events.extend(events.iter().cloned().map(Timestamped::from));
            if let Some(state) = &mut run.state {
                for event in events {
                    // The machine has applied the event itself, and errors cannot occur. The first event is already
                    // in the state.
                    drop(state.apply(Timestamp::from_millis(event.at), &event.fact));
                }
            }
        });
        messages
    }

    /// Passes on to actors what the run has learnt for them.
    fn pass_on(&mut self, facts: &[Recorded<RunFact>], events: &[Recorded<ProgressEvent>]) {
        let mut answers: Vec<ActorAnswer> = Vec::new();
        for event in events {
            if let ProgressEvent::QuestionAnswered { id, answer } = &event.fact {
                answers.push(ActorAnswer { question: id.clone(), text: answer.clone() });
            }
        }
        for recorded in facts {
            // One that was continued asks again.
            if let RunFact::ActorAsked { question, .. } = &recorded.fact {
                let ledger = self.ledger.borrow();
                let known = ledger.context.answers.iter().find(|(known, _)| known == question);
                answers.extend(known.map(|(question, text)| ActorAnswer { question: question.clone(), text: text.clone() }));
            }
        }
        for answer in answers {
            for actor in self.workflows(|_, _| true) {
                self.signal(actor, ActorWorkflow::answered, answer.clone());
            }
        }
    }

    /// Passes messages on to the actors at work.
    fn signal_actors(&mut self, messages: Vec<ActorMessage>) {
        let (alone, lead) = (self.is_direct(), lead_workflow(self.ctx.workflow_id()));
        for (task, message) in messages {
            for actor in self.workflows(|of, workflow| task.as_ref().map_or(alone || workflow == lead, |task| task == of)) {
                self.signal(actor, ActorWorkflow::deliver, Wire(aime_actor_factory::ActorFact::PersonMessage { message: message.clone() }));
            }
        }
    }

    fn is_direct(&self) -> bool {
        self.ctx.state(|run| run.state.as_ref().is_some_and(|state| state.mode == Some(PlanMode::Direct)))
    }

    fn workflows(&self, of: impl Fn(&TaskId, &str) -> bool) -> Vec<String> {
        self.actors.borrow().iter().filter(|(task, workflow)| of(task, workflow)).map(|(_, workflow)| workflow.clone()).collect()
    }

    fn signal<S>(&mut self, workflow: String, signal: S, what: S::Input)
    where
        S: temporalio_common::SignalDefinition + 'static,
    {
        let ctx = self.ctx.clone();
        self.requests.add(async move {
            let options = SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
            // An actor that has ended needs no word.
            drop(ctx.external_workflow(workflow, None).signal(signal, what, options).await);
        });
    }

    fn activity(&mut self, id: EffectId, effect: RunEffect, begun_before: bool) -> RunningEffect<RunMachine> {
        let tools = self.input().tools();
        let tool_spec = |name: &str| tools.iter().map(AsRef::as_ref).find(|tool: &&aime_tools::ToolSpec| tool.name() == name);
        let capability = Capability::of_effect(&effect, tool_spec);
        let repeatable = match &effect {
            RunEffect::CallTool { call, .. } => tool_spec(call.tool()).is_some_and(aime_tools::ToolSpec::repeatable),
            _ => true,
        };
        let (queue, options) = (self.queues.name(capability), self.queues.options(capability, &id, self.cancels.token(&id)));
        let task = if let RunEffect::CallTool { spec, .. } = &effect { Some(spec.id.clone()) } else { None };
        let run_context = self.ledger.borrow().context.clone();
        let order =
            RunEffectInput { run_context, order: EffectInput { id: id.clone(), effect, begun_before }, tree: current_workspace(&self.ctx) };
        let (ctx, input, queues) = (self.ctx.clone(), self.input().clone(), self.queues.clone());
        let facts = async move {
            // Only a call of a tool changes the folder.
            let done = match order.tree.clone().zip(task) {
                None => ctx.execute_activity(Effects::run_effect, (input, Wire(order)), options).await.map(|fact| vec![fact.0]),
                Some((tree, task)) => {
                    let work = TaskWork { is_shown: true, ..TaskWork::new(input.run(), &task, id.as_str()) };
                    match ctx.execute_activity(Effects::run_tool_call, (input, Wire(order)), options).await {
                        Err(error) => Err(error),
                        Ok(Wire(CallReply { fact, handover })) => {
                            Ok(match merge_reply(&ctx, &queues, &id, (Some(&tree), handover), work).await {
                                Ok(MergeReply { conflicts, private: Some(_), .. }) => {
                                    vec![omit(fact, Loss::Conflict(conflicts), repeatable)]
                                }
                                Ok(MergeReply { merged, .. }) => merged.into_iter().chain([fact]).collect(),
                                Err(why) => vec![omit(fact, Loss::Lost(why), repeatable)],
                            })
                        }
                    }
                }
            };
            match done {
                Ok(facts) => facts,
                Err(ActivityExecutionError::Cancelled(_)) => vec![RunMachine::revoked(&id, &Reason::Cancelled)],
                Err(error) if begun_and_lost(&error) && !repeatable => vec![in_doubt(id, lost(&queue, &error))],
                Err(error) => vec![RunFact::EffectFailed { id, message: lost(&queue, &error) }],
            }
        };
        RunningEffect::working(facts)
    }

    fn timer(&mut self, id: EffectId, at: Timestamp) -> RunningEffect<RunMachine> {
        let wait = at.millis_since(Timestamp::from_millis(self.now()));
        let options = TimerOptions::builder(Duration::from_millis(wait.max(1))).cancellation_token(self.cancels.token(&id)).build();
        let ctx = self.ctx.clone();
        RunningEffect::waiting(async move {
            // A cancelled timer ends too, and acknowledges its revoke by that.
            ctx.timer(options).await;
            vec![RunFact::TimerFired { id }]
        })
    }
}

impl WorkflowDriver<RunMachine> for RunDriver {
    fn now(&self) -> UnixMillis {
        now(&self.ctx)
    }

    fn begin(&mut self, issue: Issue<RunEffect>) -> RunningEffect<RunMachine> {
        let begun_before = self.begin.was_begun(&issue);
        let Issue { id, effect, .. } = issue;
        match effect {
            RunEffect::Timer { at } => self.timer(id, at),
            // A workflow has no user at hand: an answer arrives later as a signal.
            RunEffect::Ask { .. } => RunningEffect::working(async move { vec![RunFact::Deferred { id }] }),
            RunEffect::StartActor { brief, task, execution, origins, known } => {
                let order = aime_orchestrator::ActorOrder { brief: *brief, task, execution, origins, known };
                self.start_actor(id, order)
            }
            RunEffect::Lead { order } if order.has_conversation() => self.wake_lead(id, *order),
            effect => self.activity(id, effect, begun_before),
        }
    }

    fn revoke(&mut self, id: &EffectId, why: &Reason) {
        self.cancels.cancel(id, why);
    }

    fn external_facts(&mut self, context: &mut Context<'_>) -> Vec<RunFact> {
        self.requests.poll(context);
        let ctx = self.ctx.clone();
        let signalled =
            self.signalled.get_or_insert_with(|| async move { until(&ctx, |run: &RunWorkflow| !run.inbox.is_empty()).await }.boxed_local());
        let mut facts = Vec::new();
        if signalled.poll_unpin(context).is_ready() {
            self.signalled = None;
            facts = self.ctx.state_mut(|run| std::mem::take(&mut run.inbox));
            // A run in progress needs no resumption.
            facts.retain(|fact| !matches!(fact, RunFact::Resumed { .. }));
            self.undelivered.extend(facts.iter().filter(|fact| is_from_person(fact)).cloned());
        }
        if self.workflow_cancelled.as_mut().map(|ended| ended.poll_unpin(context)) == Some(Poll::Ready(())) {
            self.workflow_cancelled = None;
            facts.push(cancel());
        }
        facts
    }

    fn observe(&mut self, facts: &[Recorded<RunFact>], events: &[Recorded<ProgressEvent>]) {
        for recorded in facts.iter().filter(|recorded| is_from_person(&recorded.fact)) {
            if let Some(place) = self.undelivered.iter().position(|fact| *fact == recorded.fact) {
                self.undelivered.remove(place);
            }
        }
        self.pass_on(facts, events);
        let messages = self.remember(facts, events);
        self.signal_actors(messages);
        for event in events {
            if let ProgressEvent::TaskConcluded { task, .. } = &event.fact {
                // The lead outlives the task of its own work.
                self.ctx.state_mut(|run| {
                    run.stopped.retain(|name, actor| name == LEAD_PREFIX || actor.begin.input.what.spec.task != *task);
                });
            }
        }
    }

    fn flush_reports(&mut self, context: &mut Context<'_>) -> bool {
        self.requests.poll(context)
    }

    fn should_continue_as_new(&self) -> bool {
        let is_wanted = self.ctx.continue_as_new_suggested() || self.ctx.history_length() > LONG_HISTORY;
        if is_wanted && self.continue_length.get().is_none() {
            self.continue_length.set(Some(self.ctx.history_length()));
        }
        is_wanted
    }

    /// Postpones new tasks if the history has grown to twice its intended length. While a person is asked, tasks are
    /// begun nevertheless, because the answer may take long.
    fn defers(&self, effect: &RunEffect) -> bool {
        let is_task = effect.has_conversation() || matches!(effect, RunEffect::CallTool { .. });
        let too_long = self.continue_length.get().is_some_and(|length| self.ctx.history_length() > length.saturating_mul(2));
        let is_open = |state: &ProgressState| state.questions.iter().any(|asked| asked.answer.is_none());
        is_task && too_long && self.should_continue_as_new() && !self.ctx.state(|run| run.state.as_ref().is_some_and(is_open))
    }
}

#[cfg(test)]
mod tests;
