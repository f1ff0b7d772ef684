//! A task that an actor works on: it is made by an activity, driven by a child workflow, and judged by an activity.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use aime_actor_factory::{ActorFact, ActorMachine, IllegalStep, PersonMessage};
use aime_durable::{EffectId, Machine as _, Reason, Recorded, replay};
use aime_messages::Describe as _;
use aime_orchestrator::{
    ActorContinuation, ActorOrder, FoundConflict, Isolation, RunFact, RunMachine, RunSettings, conflict_criterion_result,
};
use aime_progress_management::{Conclusion, PlanMode, TaskId};
use aime_tools::{ToolScope, ToolSpec};
use temporalio_sdk::{WorkflowCancellationToken, WorkflowContext};

use super::{Ledger, RunDriver, RunWorkflow};
use crate::{
    ActorCreation, ActorEnd, ActorWorkflowInput, Capability, Effects, Handover, JudgeInput, MachineStart, MakeActorInput, Queues,
    RunningEffect, StoppedActor, TaskWork, Wire, WorkspaceSnapshot, actor_workflow,
    child::drive_child,
    effect::attempt_failed,
    messages::RunInput,
    workflow_context::{now, until},
    workflow_workspace::{MergeReply, current_workspace, merge_reply},
};

/// End of an actor, with the conflicts of its work.
struct Ended {
    conclusion: Conclusion,
    conflicts: Vec<FoundConflict>,
}

/// One attempt at a task.
struct Attempt {
    ctx: WorkflowContext<RunWorkflow>,
    id: EffectId,
    input: RunInput,
    order: ActorOrder,
    ledger: Rc<RefCell<Ledger>>,
    queues: Queues,
    /// Fires when the attempt is no longer needed.
    stop: WorkflowCancellationToken,
    actors: Rc<RefCell<BTreeMap<TaskId, String>>>,
    /// The name of the actor's journal.
    name: String,
}

impl RunDriver {
    pub(super) fn start_actor(&mut self, id: EffectId, order: ActorOrder) -> RunningEffect<RunMachine> {
        let name = aime_actor_factory::effect_prefix(&order.task, order.execution, None);
        let attempt = Attempt {
            ctx: self.ctx.clone(),
            stop: self.cancels.token(&id),
            id,
            input: self.input().clone(),
            ledger: Rc::clone(&self.ledger),
            order,
            queues: self.queues.clone(),
            actors: Rc::clone(&self.actors),
            name,
        };
        RunningEffect::working(attempt.execute())
    }
}

impl Attempt {
    async fn execute(self) -> Vec<RunFact> {
        let (ctx, id) = (self.ctx.clone(), self.id.clone());
        let facts = self.work().await;
        ctx.state_mut(|run| run.writer.take_if(|writer| *writer == id));
        facts
    }

    async fn work(self) -> Vec<RunFact> {
        let begun = now(&self.ctx);
        let again = self
            .ctx
            .state(|run| run.stopped.get(&self.name).map_or(Ok(None), |actor| run_again(&actor.begin, self.order.brief.returned.as_ref())));
        let again = match again {
            Ok(again) => again,
            Err(refused) => return vec![RunFact::EffectFailed { id: self.id.clone(), message: refused.describe() }],
        };
        if again.is_none()
            && let Some(Ended { conclusion, conflicts }) = self.ended_before()
        {
            return vec![self.judge_attempt(conclusion, conflicts, 0).await];
        }
        let (private, conflicts) = self
            .ctx
            .state(|run| run.stopped.get(&self.name).map(|actor| (actor.private.clone(), actor.conflicts.clone())).unwrap_or_default());
        let is_private = private.is_some();
        let begin = match self.start_input(private, again).await {
            Ok(begin) => begin,
            Err(fact) => return vec![fact],
        };
        if begin.tree.is_none()
            && takes_turns(self.input.settings(), begin.begin.input.what.spec.tools.iter().map(AsRef::as_ref))
            && !self.wait_for_turn().await
        {
            return vec![RunMachine::revoked(&self.id, &Reason::Stopped)];
        }
        let workflow = actor_workflow(self.ctx.workflow_id(), &self.order.task, self.order.execution);
        let (machine, from) = (begin.begin.clone(), begin.tree.clone());
        let reached = || {
            self.actors.borrow_mut().insert(self.order.task.clone(), workflow.clone());
            self.undelivered(&machine).map(|message| ActorFact::PersonMessage { message }).collect()
        };
        let ended = drive_child(&self.ctx, begin, workflow.clone(), &self.stop, reached).await;
        self.actors.borrow_mut().remove(&self.order.task);
        let ActorEnd { conclusion, journal, reports, tree, delegates } = match ended {
            Ok(ended) => ended,
            Err(message) => return vec![RunFact::EffectFailed { id: self.id, message }],
        };
        let is_partial = conclusion.can_continue();
        let taken = match (from, tree) {
            (Some(from), Some(tree)) => {
                let name = format!("{}-{}", self.order.task, self.order.execution);
                let work = TaskWork::new(self.input.run(), &self.order.task, &name);
                let work = TaskWork { conflicts, is_partial, is_shown: true, ..work };
                let from = Some(&from).filter(|_| !is_private);
                merge_reply(&self.ctx, &self.queues, &self.id, (from, Handover::Tree { tree }), work).await
            }
            _ => Ok(MergeReply::default()),
        };
        // A stop may arrive before the run has received the end, and then the run never does. So an ended actor is
        // kept too. An actor whose work is lost starts anew; if it was stopped it is kept, and continues its reports.
        let whole = taken.is_ok();
        if whole || self.stop.is_cancelled() {
            let ended = (whole && !is_partial).then(|| conclusion.clone());
            let begin = MachineStart { journal: journal.filter(|_| whole), ..machine };
            let delegates = delegates.into_iter().filter(|_| whole);
            let (private, conflicts) = taken.as_ref().map(|taken| (taken.private.clone(), taken.conflicts.clone())).unwrap_or_default();
            let actor = StoppedActor { begin, reports, ended, text_limit: None, private, conflicts };
            self.ctx.state_mut(|run| run.stopped.extend(delegates.chain([(self.name.clone(), actor)])));
        }
        let MergeReply { merged, conflicts, .. } = match taken {
            Ok(taken) => taken,
            Err(message) => return vec![RunFact::EffectFailed { id: self.id, message }],
        };
        let duration_ms = u64::try_from(now(&self.ctx).saturating_sub(begun)).unwrap_or_default();
        let ended = self.judge_attempt(conclusion, conflicts, duration_ms).await;
        merged.into_iter().chain([ended]).collect()
    }

    /// Waits until no other actor that may write works in the folder, and tells the run that the task does so. Returns false if the attempt is
    /// stopped meanwhile.
    async fn wait_for_turn(&self) -> bool {
        let awaited = |is_over| {
            let fact = RunFact::FolderAwaited { task: self.order.task.clone(), is_over };
            self.ctx.state_mut(|run| run.inbox.push(fact));
        };
        let mut waits = false;
        loop {
            let writer = self.ctx.state_mut(|run| run.writer.get_or_insert_with(|| self.id.clone()).clone());
            let (is_mine, is_stopped) = (writer == self.id, self.stop.is_cancelled());
            if waits && (is_mine || is_stopped) {
                awaited(true);
            }
            if is_mine || is_stopped {
                return is_mine;
            }
            if !waits {
                awaited(false);
                waits = true;
            }
            until(&self.ctx, |run: &RunWorkflow| run.writer.is_none() || self.stop.is_cancelled()).await;
        }
    }

    /// Returns the end of the actor if it had ended when the attempt was stopped.
    fn ended_before(&self) -> Option<Ended> {
        self.ctx.state(|run| {
            let actor = run.stopped.get(&self.name)?;
            Some(Ended { conclusion: actor.ended.clone()?, conflicts: actor.conflicts.clone() })
        })
    }

    /// Returns the actor in its suspended state, with the fact `again` that runs it again, or a new one. It works in the state `private` of the
    /// folder, if its earlier work is not merged.
    async fn start_input(&self, private: Option<WorkspaceSnapshot>, again: Option<ActorFact>) -> Result<ActorWorkflowInput, RunFact> {
        let (run, input, run_context) = (self.ctx.workflow_id().to_owned(), self.input.clone(), self.ledger.borrow().context.clone());
        if let Some(StoppedActor { mut begin, reports, .. }) = self.ctx.state_mut(|run| run.stopped.remove(&self.name)) {
            let within = format!("{}/", self.name);
            let stopped = self.ctx.state_mut(|run| run.stopped.extract_if(.., |name, _| name.starts_with(&within)).collect());
            let mut undelivered: Vec<_> = self.undelivered(&begin).map(|message| ActorFact::PersonMessage { message }).collect();
            undelivered.extend(again);
            if let Some(journal) = &mut begin.journal {
                journal.then = undelivered.into_iter().chain([ActorFact::Resumed {}]).collect();
            }
            let tree = private.or_else(|| current_workspace(&self.ctx));
            let (queues, order) = (self.queues.clone(), Some(self.order.clone()));
            let text_limit = None;
            return Ok(ActorWorkflowInput {
                begin,
                run,
                input,
                run_context,
                queues,
                reports,
                created: None,
                tree,
                order,
                stopped,
                text_limit,
            });
        }
        let queue = self.queues.name(Capability::Planner);
        let tree = current_workspace(&self.ctx);
        let messages = run_context.messages_to(&self.order.task, self.is_alone());
        let order = MakeActorInput {
            run_context: run_context.clone(),
            id: self.id.clone(),
            order: self.order.clone(),
            messages,
            tree: tree.clone(),
        };
        let options = self.queues.options(Capability::Planner, &self.id, self.stop.clone());
        match self.ctx.execute_activity(Effects::make, (self.input.clone(), Wire(order)), options).await {
            Ok(Wire(ActorCreation::Made { actor })) => {
                let mut begin = MachineStart::<ActorMachine>::fresh(now(&self.ctx), actor.input);
                // People may have said more while it was made.
                let undelivered: Vec<_> = self.undelivered(&begin).collect();
                begin.input.what.messages.extend(undelivered);
                let created = Some(actor.created);
                let (queues, order) = (self.queues.clone(), Some(self.order.clone()));
                let (stopped, text_limit) = (Vec::new(), None);
                Ok(ActorWorkflowInput { begin, run, input, run_context, queues, reports: 0, created, tree, order, stopped, text_limit })
            }
            Ok(Wire(ActorCreation::Ended { fact })) => Err(*fact),
            Err(error) => Err(attempt_failed(&self.id, &queue, &error)),
        }
    }

    fn is_alone(&self) -> bool {
        self.order.brief.mode == Some(PlanMode::Direct)
    }

    /// Returns the messages to this actor so far that its start state does not include.
    fn undelivered(&self, begin: &MachineStart<ActorMachine>) -> impl Iterator<Item = PersonMessage> {
        let facts = begin.journal.iter().flat_map(|journal| journal.facts.iter().map(|dated| &dated.what).chain(&journal.then));
        let later = facts.filter_map(|fact| if let ActorFact::PersonMessage { message } = fact { Some(message) } else { None });
        let delivered: BTreeSet<_> = begin.input.what.messages.iter().chain(later).map(|message| message.id.clone()).collect();
        let messages = self.ledger.borrow().context.messages_to(&self.order.task, self.is_alone());
        messages.into_iter().filter(move |message| !delivered.contains(&message.id))
    }

    /// Returns the end of the attempt. Open conflicts come before the criteria of the task.
    async fn judge_attempt(&self, conclusion: Conclusion, conflicts: Vec<FoundConflict>, duration_ms: u64) -> RunFact {
        if !conclusion.can_continue()
            && let Some(fact) = conflict_ended(&self.id, &conclusion, &conflicts, duration_ms)
        {
            return fact;
        }
        let queue = self.queues.name(Capability::Planner);
        let (run_context, calls) = {
            let ledger = self.ledger.borrow();
            (ledger.context.clone(), ledger.calls.get(&self.order.task).cloned().unwrap_or_default())
        };
        let (id, spec, tree) = (self.id.clone(), self.order.brief.spec.clone(), current_workspace(&self.ctx));
        let order = JudgeInput { run_context, id, spec, conclusion, calls, conflicts, duration_ms, tree };
        let options = self.queues.options(Capability::Planner, &self.id, self.stop.clone());
        match self.ctx.execute_activity(Effects::judge, (self.input.clone(), Wire(order)), options).await {
            Ok(fact) => fact.0,
            Err(error) => attempt_failed(&self.id, &queue, &error),
        }
    }
}

/// Returns the fact by which an actor continues after its result was not accepted, unless its journal holds it.
///
/// # Errors
/// [`IllegalStep`] for an actor that is running or has failed.
pub(super) fn run_again(
    begin: &MachineStart<ActorMachine>,
    returned: Option<&ActorContinuation>,
) -> Result<Option<ActorFact>, IllegalStep> {
    let (Some(ActorContinuation { number, missing, answer }), Some(journal)) = (returned, &begin.journal) else { return Ok(None) };
    let facts: Vec<_> = journal.facts.iter().cloned().map(Recorded::from).collect();
    replay::<ActorMachine>(&begin.input.clone().into(), &facts).machine.run_again_fact(*number, missing.clone(), *answer)
}

/// Returns the end of an attempt whose changes conflict with those of others, as it is in a folder; `None` if no conflict is open.
pub(super) fn conflict_ended(id: &EffectId, conclusion: &Conclusion, conflicts: &[FoundConflict], duration_ms: u64) -> Option<RunFact> {
    let violated = conflict_criterion_result(conflicts, |conflict| conflict.kept.clone().unwrap_or_default())
        .filter(|check| check.passed == Some(false))?;
    let (checks, calls, conflicts) = (vec![violated], Vec::new(), conflicts.to_vec());
    Some(RunFact::TaskEnded { id: id.clone(), conclusion: conclusion.clone(), checks, calls, conflicts, duration_ms })
}

/// Returns true if an actor with these tools works in the folder of all hosts only while no other one does that may write.
pub(super) fn takes_turns<'a>(settings: &RunSettings, tools: impl IntoIterator<Item = &'a ToolSpec>) -> bool {
    let is_there = |tool: &ToolSpec| matches!(tool.touches, ToolScope::Files | ToolScope::Processes | ToolScope::Anything);
    let writes = tools.into_iter().any(|tool| !tool.read_only && is_there(tool));
    settings.isolation != Isolation::Shared && settings.max_parallel > 1 && writes
}
