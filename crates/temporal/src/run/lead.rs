//! A wake of the lead: an activity composes its message, a child workflow goes on with the conversation, and an activity checks the result.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, time::Duration};

use aime_actor_factory::{ActorFact, ActorMachine, ActorOutput, LEAD_PREFIX, LeadRest, last_wake};
use aime_durable::{EffectId, Machine as _, Reason, Recorded, replay};
use aime_messages::message;
use aime_orchestrator::{
    CreatedActor, FoundConflict, LeadPolicy, LeadWakeOrder, PreparedLeadWake, RunFact, RunMachine, conflict_criterion_result,
};
use aime_progress_management::TaskId;
use temporalio_sdk::{WorkflowCancellationToken, WorkflowContext};

use super::{END_WITHIN, Ledger, RunDriver, RunWorkflow};
use crate::{
    ActorEnd, ActorWorkflowInput, Capability, Effects, Handover, LeadCheckInput, MachineStart, Queues, RunningEffect, StoppedActor,
    TaskWork, WakeComposition, WakeInput, Wire,
    child::drive_child,
    effect::attempt_failed,
    lead_workflow,
    messages::RunInput,
    workflow_context::now,
    workflow_workspace::{MergeReply, current_workspace, merge_reply},
};

/// One wake of the lead.
struct ActiveWake {
    ctx: WorkflowContext<RunWorkflow>,
    id: EffectId,
    input: RunInput,
    order: LeadWakeOrder,
    ledger: Rc<RefCell<Ledger>>,
    queues: Queues,
    /// Fires when the wake is no longer needed.
    stop: WorkflowCancellationToken,
    actors: Rc<RefCell<BTreeMap<TaskId, String>>>,
}

impl RunDriver {
    pub(super) fn wake_lead(&mut self, id: EffectId, order: LeadWakeOrder) -> RunningEffect<RunMachine> {
        let wake = ActiveWake {
            ctx: self.ctx.clone(),
            stop: self.cancels.token(&id),
            id,
            input: self.input().clone(),
            order,
            ledger: Rc::clone(&self.ledger),
            queues: self.queues.clone(),
            actors: Rc::clone(&self.actors),
        };
        RunningEffect::working(wake.execute())
    }
}

impl ActiveWake {
    async fn execute(self) -> Vec<RunFact> {
        let known = self.ctx.state(|run| run.stopped.get(LEAD_PREFIX).cloned());
        if let Some(lead) = &known
            && let Some(rest) = rest_of(&lead.begin).filter(|rest| rest.wake >= self.order.wake.number)
        {
            // The run was stopped before it took in the end of this wake.
            return vec![self.check_lead_work(rest, &lead.conflicts).await];
        }
        let (is_private, conflicts) = known.as_ref().map_or((false, Vec::new()), |lead| (lead.private.is_some(), lead.conflicts.clone()));
        let begin = match self.start_input(known).await {
            Ok(begin) => begin,
            Err(fact) => return vec![fact],
        };
        let (task, workflow) = (begin.begin.input.what.spec.task.clone(), lead_workflow(self.ctx.workflow_id()));
        let (machine, from) = (begin.begin.clone(), begin.tree.clone());
        let reached = || {
            self.actors.borrow_mut().insert(task.clone(), workflow.clone());
            // Its wakes hold all messages of people before this moment.
            Vec::new()
        };
        let ended = drive_child(&self.ctx, begin, workflow.clone(), &self.stop, reached).await;
        self.actors.borrow_mut().remove(&task);
        let ActorEnd { conclusion, journal, reports, tree, .. } = match ended {
            Ok(ended) => ended,
            Err(message) => return vec![RunFact::EffectFailed { id: self.id, message }],
        };
        let begin = MachineStart { journal, ..machine.clone() };
        let rest = rest_of(&begin);
        let taken = match (from, tree) {
            (Some(from), Some(tree)) => {
                let work = TaskWork::new(self.input.run(), &task, &format!("lead-{}", self.order.wake.number));
                let work = TaskWork { conflicts, is_partial: rest.is_none(), is_shown: true, ..work };
                let from = Some(&from).filter(|_| !is_private);
                merge_reply(&self.ctx, &self.queues, &self.id, (from, Handover::Tree { tree }), work).await
            }
            _ => Ok(MergeReply::default()),
        };
        // A lead whose work is lost is woken again at the point before this wake, and continues its reports.
        let (begin, private, conflicts) = match &taken {
            Ok(taken) => (begin, taken.private.clone(), taken.conflicts.clone()),
            Err(_) => (machine, None, Vec::new()),
        };
        let lead = StoppedActor { begin, reports, ended: None, text_limit: None, private, conflicts: conflicts.clone() };
        self.ctx.state_mut(|run| run.stopped.insert(LEAD_PREFIX.to_owned(), lead));
        let merged = match taken {
            Ok(taken) => taken.merged,
            Err(message) => return vec![RunFact::EffectFailed { id: self.id, message }],
        };
        let ended = match rest {
            Some(rest) => self.check_lead_work(rest, &conflicts).await,
            None if self.stop.is_cancelled() => RunMachine::revoked(&self.id, &Reason::Stopped),
            None => RunFact::EffectFailed { id: self.id, message: conclusion.explanation() },
        };
        merged.into_iter().chain([ended]).collect()
    }

    /// Returns the lead with its conversation so far and the message of this wake, or a new one.
    async fn start_input(&self, known: Option<StoppedActor>) -> Result<ActorWorkflowInput, RunFact> {
        let run_context = self.ledger.borrow().context.clone();
        let tree = known.as_ref().and_then(|lead| lead.private.clone()).or_else(|| current_workspace(&self.ctx));
        let facts = known.iter().flat_map(|lead| &lead.begin.journal).flat_map(|journal| &journal.facts);
        // A wake that was stopped goes on where it was.
        let is_woken = known.is_some() && last_wake(facts.map(|dated| &dated.what)) >= self.order.wake.number;
        let woken = if is_woken { None } else { Some(self.compose_wake(known.is_none()).await?) };
        let (goes_on, new) =
            woken.map_or((ActorFact::Resumed {}, None), |PreparedLeadWake { wake, lead }| (ActorFact::Woken { wake }, lead));
        let (begin, reports, created) = match (known, new) {
            (Some(StoppedActor { mut begin, reports, .. }), _) => {
                if let Some(journal) = &mut begin.journal {
                    journal.then = vec![goes_on];
                }
                (begin, reports, None)
            }
            (None, Some(new)) => {
                let CreatedActor { input, created } = *new;
                (MachineStart::<ActorMachine>::fresh(now(&self.ctx), input), 0, Some(created))
            }
            (None, None) => {
                return Err(RunFact::EffectFailed { id: self.id.clone(), message: message!("no-lead-composed") });
            }
        };
        let (run, input, queues) = (self.ctx.workflow_id().to_owned(), self.input.clone(), self.queues.clone());
        let (stopped, order, text_limit) = (Vec::new(), None, None);
        Ok(ActorWorkflowInput { begin, run, input, run_context, queues, reports, created, tree, order, stopped, text_limit })
    }

    async fn compose_wake(&self, is_new: bool) -> Result<PreparedLeadWake, RunFact> {
        let queue = self.queues.name(Capability::Planner);
        let run_context = self.ledger.borrow().context.clone();
        let order = WakeInput { run_context, order: self.order.clone(), is_new, tree: current_workspace(&self.ctx) };
        let options = self.queues.options(Capability::Planner, &self.id, self.stop.clone());
        match self.ctx.execute_activity(Effects::wake, (self.input.clone(), Wire(order)), options).await {
            Ok(Wire(WakeComposition::Woken { lead })) => Ok(lead),
            Ok(Wire(WakeComposition::Failed { message })) => Err(RunFact::EffectFailed { id: self.id.clone(), message }),
            Err(error) => Err(attempt_failed(&self.id, &queue, &error)),
        }
    }

    /// Returns the end of the wake. Open conflicts of the lead's work count as a check that does not hold.
    async fn check_lead_work(&self, rest: LeadRest, conflicts: &[FoundConflict]) -> RunFact {
        let queue = self.queues.name(Capability::Planner);
        let run_context = self.ledger.borrow().context.clone();
        let order = LeadCheckInput { run_context, id: self.id.clone(), rest, tree: current_workspace(&self.ctx) };
        let options = self.queues.options(Capability::Planner, &self.id, self.stop.clone());
        match self.ctx.execute_activity(Effects::check, (self.input.clone(), Wire(order)), options).await {
            Ok(Wire(mut fact)) => {
                let conflict = conflict_criterion_result(conflicts, |conflict| conflict.kept.clone().unwrap_or_default());
                if let RunFact::LeadRested { checks, .. } = &mut fact {
                    checks.extend(conflict);
                }
                fact
            }
            Err(error) => attempt_failed(&self.id, &queue, &error),
        }
    }
}

/// Asks a worker for the lead of a run. If none answers in time, rules plan the run.
pub(super) async fn seek_lead(ctx: &WorkflowContext<RunWorkflow>, input: RunInput, queues: &Queues) -> RunInput {
    if LeadPolicy::of(input.settings()).is_none() {
        return input;
    }
    let mut options = queues.options(Capability::Planner, &EffectId::new("lead"), WorkflowCancellationToken::new());
    options.schedule_to_start_timeout = Some(seek_timeout(queues));
    let policy = ctx.execute_activity(Effects::lead, input.clone(), options).await;
    input.led_by(policy.ok().flatten())
}

/// Returns the time that the search for a lead waits for a worker. The run has done nothing yet, so nothing is lost if the host of the
/// working folder is only slow.
pub(super) fn seek_timeout(queues: &Queues) -> Duration {
    queues.schedule_to_start_timeout(Capability::Planner).map_or(END_WITHIN, |timeout| timeout.min(END_WITHIN))
}

/// Returns the lead's commands if its conversation pauses.
fn rest_of(begin: &MachineStart<ActorMachine>) -> Option<LeadRest> {
    let facts: Vec<_> = begin.journal.as_ref()?.facts.iter().cloned().map(Recorded::from).collect();
    match replay::<ActorMachine>(&begin.input.clone().into(), &facts).output? {
        ActorOutput::Rested(rest) => Some(rest),
        ActorOutput::Ended(_) => None,
    }
}
