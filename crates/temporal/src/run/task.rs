//! A task that an actor works on: it is made by an activity, driven by a child workflow, and judged by an activity.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use aime_actor_factory::{ActorFact, ActorMachine, PersonMessage};
use aime_durable::{EffectId, Machine as _, Reason};
use aime_orchestrator::{ActorOrder, RunFact, RunMachine};
use aime_progress_management::{Conclusion, FailureCause, Outcome, PlanMode, TaskId};
use futures::FutureExt as _;
use temporalio_sdk::{ActivityExecutionError, WorkflowCancellationToken, WorkflowContext};

use super::{Ledger, RunCarrier, RunWorkflow, attempt_ended, tells_conflicts};
use crate::{
    ActorBegin, ActorEnd, Begin, Begun, Capability, Effects, Handover, JudgeOrder, MakeOrder, Making, Queues, StoppedActor, actor_workflow,
    child::drive_child,
    deeds::now,
    effect::lost,
    orders::RunInput,
    tree::{LeftOut, take_in, tree_now},
};

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

impl RunCarrier {
    pub(super) fn start_actor(&mut self, id: EffectId, order: ActorOrder) -> Begun<RunMachine> {
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
        Begun { facts: attempt.go().boxed_local(), holds: true }
    }
}

impl Attempt {
    async fn go(self) -> Vec<RunFact> {
        let begun = now(&self.ctx);
        if let Some(conclusion) = self.ended_before() {
            return vec![self.judge(conclusion, 0).await];
        }
        let begin = match self.actor().await {
            Ok(begin) => begin,
            Err(fact) => return vec![fact],
        };
        let workflow = actor_workflow(self.ctx.workflow_id(), &self.order.task, self.order.execution);
        let (machine, from) = (begin.begin.clone(), begin.tree.clone());
        let reached = || {
            self.actors.borrow_mut().insert(self.order.task.clone(), workflow.clone());
            self.unheard(&machine).map(|said| ActorFact::PersonMessage { said }).collect()
        };
        let ended = drive_child(&self.ctx, begin, workflow.clone(), &self.stop, reached).await;
        self.actors.borrow_mut().remove(&self.order.task);
        let ActorEnd { conclusion, journal, reports, tree, below } = match ended {
            Ok(ended) => ended,
            Err(message) => return vec![RunFact::EffectFailed { id: self.id, message }],
        };
        let joined = match (from, tree) {
            (Some(from), Some(tree)) => take_in(&self.ctx, &self.queues, &self.id, &from, Handover::Tree { tree }).await,
            _ => Ok(()),
        };
        // A stop may arrive before the run has received the end, and then the run never does. So an ended actor is
        // kept too. An actor whose work is rejected starts anew; if it was stopped it is kept, and continues its
        // reports.
        let whole = joined.is_ok();
        if whole || self.stop.is_cancelled() {
            let ended = (whole && conclusion.outcome != Outcome::Interrupted).then(|| conclusion.clone());
            let begin = Begin { journal: journal.filter(|_| whole), ..machine };
            let below = below.into_iter().filter(|_| whole);
            let actor = StoppedActor { begin, reports, ended, text_limit: None };
            self.ctx.state_mut(|run| run.stopped.extend(below.chain([(self.name.clone(), actor)])));
        }
        let duration_ms = u64::try_from(now(&self.ctx).saturating_sub(begun)).unwrap_or_default();
        match joined {
            Ok(()) => {}
            Err(LeftOut::Conflict(error)) if tells_conflicts(&self.ctx) => {
                let conclusion = Conclusion::without_result(Outcome::Failure, error, Some(FailureCause::Conflict));
                return vec![attempt_ended(self.id, conclusion, duration_ms)];
            }
            Err(why) => return vec![RunFact::EffectFailed { id: self.id, message: why.into_words() }],
        }
        vec![self.judge(conclusion, duration_ms).await]
    }

    /// Returns the actor's conclusion if the actor had ended when the attempt was stopped and its result was not
    /// refused.
    fn ended_before(&self) -> Option<Conclusion> {
        self.ctx.state(|run| {
            let actor = run.stopped.get(&self.name)?;
            if self.again(&actor.begin).is_some() { None } else { actor.ended.clone() }
        })
    }

    /// Returns the fact by which the actor continues after its result was not accepted, unless its journal holds it.
    fn again(&self, begin: &Begin<ActorMachine>) -> Option<ActorFact> {
        let aime_orchestrator::ReturnedResult { number, missing, answer } = self.order.brief.returned.clone()?;
        let known = |fact: &ActorFact| matches!(fact, ActorFact::RunAgain { number: known, .. } if *known >= number);
        let journal = begin.journal.as_ref()?;
        (!journal.facts.iter().any(|dated| known(&dated.what))).then_some(ActorFact::RunAgain { number, missing, answer })
    }

    /// Returns the actor in its suspended state, or a new one.
    async fn actor(&self) -> Result<ActorBegin, RunFact> {
        let (run, input, so_far) = (self.ctx.workflow_id().to_owned(), self.input.clone(), self.ledger.borrow().so_far.clone());
        if let Some(StoppedActor { mut begin, reports, .. }) = self.ctx.state_mut(|run| run.stopped.remove(&self.name)) {
            let within = format!("{}/", self.name);
            let stopped = self.ctx.state_mut(|run| run.stopped.extract_if(.., |name, _| name.starts_with(&within)).collect());
            let mut unheard: Vec<_> = self.unheard(&begin).map(|said| ActorFact::PersonMessage { said }).collect();
            unheard.extend(self.again(&begin));
            if let Some(journal) = &mut begin.journal {
                journal.then = unheard.into_iter().chain([ActorFact::Resumed {}]).collect();
            }
            let tree = tree_now(&self.ctx);
            let (queues, order) = (self.queues.clone(), Some(self.order.clone()));
            let text_limit = None;
            return Ok(ActorBegin { begin, run, input, so_far, queues, reports, created: None, tree, order, stopped, text_limit });
        }
        let queue = self.queues.name(Capability::Planner);
        let tree = tree_now(&self.ctx);
        let said = so_far.said_to(&self.order.task, self.is_alone());
        let order = MakeOrder { so_far: so_far.clone(), id: self.id.clone(), order: self.order.clone(), said, tree: tree.clone() };
        let options = self.queues.options(Capability::Planner, &self.id, self.stop.clone());
        match self.ctx.execute_activity(Effects::make, (self.input.clone(), order), options).await {
            Ok(Making::Made { actor }) => {
                let mut begin = Begin::<ActorMachine>::fresh(now(&self.ctx), actor.input);
                // People may have said more while it was made.
                let unheard: Vec<_> = self.unheard(&begin).collect();
                begin.input.what.told.extend(unheard);
                let created = Some(actor.created);
                let (queues, order) = (self.queues.clone(), Some(self.order.clone()));
                let (stopped, text_limit) = (Vec::new(), None);
                Ok(ActorBegin { begin, run, input, so_far, queues, reports: 0, created, tree, order, stopped, text_limit })
            }
            Ok(Making::Ended { fact }) => Err(*fact),
            Err(error) => Err(self.failed(&queue, &error)),
        }
    }

    fn is_alone(&self) -> bool {
        self.order.brief.mode == Some(PlanMode::Direct)
    }

    /// Returns the messages to this actor so far that its start state does not include.
    fn unheard(&self, begin: &Begin<ActorMachine>) -> impl Iterator<Item = PersonMessage> {
        let facts = begin.journal.iter().flat_map(|journal| journal.facts.iter().map(|dated| &dated.what).chain(&journal.then));
        let told = facts.filter_map(|fact| if let ActorFact::PersonMessage { said } = fact { Some(said) } else { None });
        let heard: BTreeSet<_> = begin.input.what.told.iter().chain(told).map(|told| told.id.clone()).collect();
        let said = self.ledger.borrow().so_far.said_to(&self.order.task, self.is_alone());
        said.into_iter().filter(move |told| !heard.contains(&told.id))
    }

    async fn judge(&self, conclusion: Conclusion, duration_ms: u64) -> RunFact {
        let queue = self.queues.name(Capability::Planner);
        let (so_far, calls) = {
            let ledger = self.ledger.borrow();
            (ledger.so_far.clone(), ledger.calls.get(&self.order.task).cloned().unwrap_or_default())
        };
        let (id, spec, tree) = (self.id.clone(), self.order.brief.spec.clone(), tree_now(&self.ctx));
        let order = JudgeOrder { so_far, id, spec, conclusion, calls, duration_ms, tree };
        let options = self.queues.options(Capability::Planner, &self.id, self.stop.clone());
        match self.ctx.execute_activity(Effects::judge, (self.input.clone(), order), options).await {
            Ok(fact) => fact,
            Err(error) => self.failed(&queue, &error),
        }
    }

    fn failed(&self, queue: &str, error: &ActivityExecutionError) -> RunFact {
        match error {
            ActivityExecutionError::Cancelled(_) => RunMachine::revoked(&self.id, &Reason::Stopped),
            error => RunFact::EffectFailed { id: self.id.clone(), message: lost(queue, error) },
        }
    }
}
