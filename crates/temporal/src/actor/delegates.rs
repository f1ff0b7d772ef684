//! A part of the work that another actor does: it is made by an activity, and driven by a child workflow.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc};

use aime_actor_factory::{ActorEffect, ActorFact, ActorMachine};
use aime_durable::{EffectId, Reason};
use aime_messages::Message;
use aime_orchestrator::delegation_result;
use aime_progress_management::{Conclusion, Origin, Outcome};
use aime_tools::{DelegateTask, ToolOutput};
use futures::FutureExt as _;
use temporalio_sdk::{ActivityExecutionError, SignalWorkflowOptions, WorkflowCancellationToken, WorkflowContext};

use super::{ActorDriver, ActorWorkflow, failed};
use crate::{
    ActorEnd, ActorWorkflowInput, Capability, DelegateCreation, DelegateInput, Effects, Handover, MachineStart, RunningEffect,
    StoppedActor, TaskWork, Wire, WorkspaceSnapshot,
    child::drive_child,
    effect::lost,
    workflow_context::now,
    workflow_workspace::{conflict_message, current_workspace, merge_reply},
};

/// A part of the work, on its way to another actor.
struct Delegation {
    ctx: WorkflowContext<ActorWorkflow>,
    id: EffectId,
    call: String,
    request: DelegateTask,
    origins: Vec<Origin>,
    /// Initial state of the calling actor, without its past.
    by: ActorWorkflowInput,
    /// The name of the other one's journal.
    name: String,
    /// Fires when the actor is no longer needed.
    stop: WorkflowCancellationToken,
    delegates: Rc<RefCell<BTreeSet<String>>>,
}

impl ActorDriver {
    pub(super) fn delegate(&mut self, id: EffectId, effect: ActorEffect) -> RunningEffect<ActorMachine> {
        let ActorEffect::Delegate { call, request, origins } = effect else {
            return RunningEffect::working(async move { vec![failed(id, &Message::text("this is no work to delegate"))] });
        };
        let begin = MachineStart { journal: None, ..self.begin.begin.clone() };
        let by = ActorWorkflowInput { begin, run_context: self.context.clone(), created: None, ..self.begin.clone() };
        let (ctx, stop, delegates, name) =
            (self.ctx.clone(), self.cancels.token(&id), Rc::clone(&self.delegates), self.delegate_name(&call));
        let delegation = Delegation { ctx, id, call, request, origins, by, name, stop, delegates };
        RunningEffect::working(delegation.execute().map(|fact| vec![fact]))
    }

    /// Returns the name of the journal of the actor that answers a call.
    pub(super) fn delegate_name(&self, call: &str) -> String {
        aime_actor_factory::effect_prefix(&self.input().spec.task, self.input().execution, Some(call))
    }

    /// Passes answers on to the delegated actors. The run sends answers only to the actor that works for the plan.
    pub(super) fn pass_on(&mut self) {
        let new = self.ctx.state(|actor| actor.answers.get(self.passed..).unwrap_or_default().to_vec());
        self.passed += new.len();
        let delegates: Vec<String> = self.delegates.borrow().iter().cloned().collect();
        for answer in new {
            for actor in delegates.clone() {
                let (ctx, answer) = (self.ctx.clone(), answer.clone());
                self.requests.add(async move {
                    let options = SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
                    // One that has ended needs no answer.
                    drop(ctx.external_workflow(actor, None).signal(ActorWorkflow::answered, answer, options).await);
                });
            }
        }
    }
}

impl Delegation {
    async fn execute(self) -> ActorFact {
        let begun = now(&self.ctx);
        let ended = self.ctx.state(|actor| actor.stopped.get(&self.name).and_then(|known| Some((known.ended.clone()?, known.text_limit))));
        let (conclusion, text_limit) = match ended {
            Some(ended) => ended,
            None => match self.drive_delegate().await {
                Ok(ended) => ended,
                Err(fact) => return *fact,
            },
        };
        let (outcome, output) = delegation_result(&conclusion, text_limit);
        let ToolOutput { text, value, references, images, seen } = output;
        let duration_ms = u64::try_from(now(&self.ctx).saturating_sub(begun)).unwrap_or_default();
        ActorFact::ToolEnded { id: self.id, outcome, text, value, references, images, seen, duration_ms, origins: conclusion.origins }
    }

    /// Returns the conclusion of the delegated actor, and the limit of the text that its caller receives.
    async fn drive_delegate(&self) -> Result<(Conclusion, Option<usize>), Box<ActorFact>> {
        let private = self.ctx.state(|actor| actor.stopped.get(&self.name).and_then(|known| known.private.clone()));
        let is_private = private.is_some();
        let begin = self.start_input(private).await?;
        let text_limit = begin.text_limit;
        let workflow = format!("{}/{}", self.by.run, self.name);
        self.delegates.borrow_mut().insert(workflow.clone());
        let (machine, from) = (begin.begin.clone(), begin.tree.clone());
        let ended = drive_child(&self.ctx, begin, workflow.clone(), &self.stop, Vec::new).await;
        self.delegates.borrow_mut().remove(&workflow);
        let failed = |why: &Message| Box::new(failed(self.id.clone(), why));
        let ActorEnd { conclusion, journal, reports, tree, delegates } = ended.map_err(|why| failed(&why))?;
        let is_partial = conclusion.outcome == Outcome::Interrupted || (self.stop.is_cancelled() && conclusion.can_continue());
        let mut private = None;
        if let (Some(from), Some(tree)) = (from, tree) {
            let work = TaskWork::new(self.by.input.run(), &self.by.begin.input.what.spec.task, &self.name);
            let work = TaskWork { is_partial, ..work };
            let from = Some(&from).filter(|_| !is_private);
            let taken = merge_reply(&self.ctx, &self.by.queues, &self.id, (from, Handover::Tree { tree }), work).await;
            let taken = taken.map_err(|why| failed(&why))?;
            if !is_partial && taken.private.is_some() {
                return Err(failed(&conflict_message(&taken.conflicts)));
            }
            private = taken.private;
        }
        let ended = (!is_partial).then(|| conclusion.clone());
        let actor = StoppedActor { begin: MachineStart { journal, ..machine }, reports, ended, text_limit, private, conflicts: Vec::new() };
        self.ctx.state_mut(|known| known.stopped.extend(delegates.into_iter().chain([(self.name.clone(), actor)])));
        if is_partial && self.stop.is_cancelled() {
            return Err(Box::new(ActorFact::Revoked { id: self.id.clone(), why: Reason::Stopped }));
        }
        Ok((conclusion, text_limit))
    }

    /// Returns the delegated actor in its suspended state, or a new one.
    async fn start_input(&self, private: Option<WorkspaceSnapshot>) -> Result<ActorWorkflowInput, Box<ActorFact>> {
        let tree = private.or_else(|| current_workspace(&self.ctx));
        if let Some(StoppedActor { mut begin, reports, text_limit, .. }) = self.ctx.state_mut(|actor| actor.stopped.remove(&self.name)) {
            if let Some(journal) = &mut begin.journal {
                journal.then = vec![ActorFact::Resumed {}];
            }
            let within = format!("{}/", self.name);
            let stopped = self.ctx.state_mut(|actor| actor.stopped.extract_if(.., |name, _| name.starts_with(&within)).collect());
            return Ok(ActorWorkflowInput { begin, reports, tree, stopped, text_limit, ..self.by.clone() });
        }
        let failed = |why: &Message| Box::new(failed(self.id.clone(), why));
        let Some(order) = self.by.order.clone() else {
            return Err(failed(&Message::text("a version of aime that cannot delegate began this actor: do the work yourself")));
        };
        let ActorWorkflowInput { run, input, run_context, queues, begin, .. } = &self.by;
        let queue = queues.name(Capability::Planner);
        let options = queues.options(Capability::Planner, &self.id, self.stop.clone());
        let order = DelegateInput {
            run_context: run_context.clone(),
            run: run.clone(),
            order,
            by: begin.input.what.clone(),
            call: self.call.clone(),
            request: self.request.clone(),
            origins: self.origins.clone(),
            tree: tree.clone(),
        };
        match self.ctx.execute_activity(Effects::delegate, (input.clone(), Wire(order)), options).await {
            Ok(Wire(DelegateCreation::Made { made })) => {
                let begin = MachineStart::<ActorMachine>::fresh(now(&self.ctx), made.actor.input);
                let created = Some(made.actor.created);
                let text_limit = made.text_limit;
                Ok(ActorWorkflowInput { begin, reports: 0, created, tree, stopped: Vec::new(), text_limit, ..self.by.clone() })
            }
            Ok(Wire(DelegateCreation::Refused { why })) => Err(failed(&why.into())),
            Err(ActivityExecutionError::Cancelled(_)) => Err(Box::new(ActorFact::Revoked { id: self.id.clone(), why: Reason::Stopped })),
            Err(error) => Err(failed(&lost(&queue, &error))),
        }
    }
}
