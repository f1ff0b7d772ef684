//! The toy of the contract as a workflow.

use std::{
    sync::Arc,
    task::Context,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aime_durable::{
    EffectId, Issue, Reason, Recorded, UnixMillis,
    contract::{LATE, Sum, Toy, ToyEffect, ToyEvent, ToyFact, World},
};
use aime_temporal::{
    DriveOutcome, EffectInput, JournalResume, MachineStart, RunningEffect, Timestamped, WorkflowDriver, drive_workflow, effect_options,
    run_effect_activity,
};
use futures::{FutureExt as _, future::LocalBoxFuture};
use serde::{Deserialize, Serialize};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityExecutionError, ContinueAsNewOptions, SyncWorkflowContext, TimerOptions, WaitConditionOptions, WorkflowCancellationToken,
    WorkflowContext, WorkflowContextView, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

/// Journal of a toy, as its workflow returns it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ToyJournal {
    pub(crate) facts: Vec<Timestamped<ToyFact>>,
    pub(crate) events: Vec<Timestamped<ToyEvent>>,
}

#[workflow]
#[derive(Default)]
pub(crate) struct ToyWorkflow {
    inbox: Vec<ToyFact>,
    begin: Option<MachineStart<Toy>>,
    journal: ToyJournal,
}

#[workflow_methods]
impl ToyWorkflow {
    #[run(name = "aime.toy")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, begin: MachineStart<Toy>) -> WorkflowResult<Sum> {
        let (facts, input) = match &begin.journal {
            Some(journal) => (journal.facts.clone(), begin.input.clone()),
            None => (Vec::new(), begin.input.clone()),
        };
        let mut driver = ToyDriver { ctx: ctx.clone(), begin: begin.clone(), cancels: Vec::new(), signalled: None };
        let replayed: Vec<Recorded<ToyFact>> = facts.iter().cloned().map(Recorded::from).collect();
        let events = match &begin.journal {
            Some(_) => aime_durable::replay::<Toy>(&input.into(), &replayed).events.into_iter().map(Timestamped::from).collect(),
            None => Vec::new(),
        };
        ctx.state_mut(|toy| {
            toy.begin = Some(begin.clone());
            toy.journal = ToyJournal { facts, events };
        });
        let now = driver.now();
        match drive_workflow(begin.clone().resume(now), &mut driver).await {
            Ok(DriveOutcome::Ended(ended)) => Ok(ended.output),
            Ok(DriveOutcome::Continued { not_begun, then }) => {
                let ToyJournal { facts, events } = ctx.state_mut(|toy| std::mem::take(&mut toy.journal));
                let journal = JournalResume { facts, events: events.len(), not_begun: not_begun.into_iter().collect(), then };
                ctx.continue_as_new(MachineStart { journal: Some(journal), ..begin }, ContinueAsNewOptions::default())?;
                unreachable!("it goes on in a new history")
            }
            Err(error) => Err(temporalio_sdk::ApplicationFailure::new(error).into()),
        }
    }

    #[signal]
    pub(crate) fn fact(&mut self, _: &mut SyncWorkflowContext<Self>, fact: ToyFact) {
        self.inbox.push(fact);
    }

    #[query]
    pub(crate) fn kept(&self, _: &WorkflowContextView) -> (Option<MachineStart<Toy>>, ToyJournal) {
        (self.begin.clone(), self.journal.clone())
    }
}

struct ToyDriver {
    ctx: WorkflowContext<ToyWorkflow>,
    begin: MachineStart<Toy>,
    cancels: Vec<(EffectId, WorkflowCancellationToken)>,
    signalled: Option<LocalBoxFuture<'static, ()>>,
}

impl WorkflowDriver<Toy> for ToyDriver {
    fn now(&self) -> UnixMillis {
        let since = self.ctx.workflow_time().unwrap_or(SystemTime::UNIX_EPOCH).duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis::try_from(since.as_millis()).unwrap()
    }

    fn begin(&mut self, issue: Issue<ToyEffect>) -> RunningEffect<Toy> {
        let begun_before = self.begin.was_begun(&issue);
        let Issue { id, effect, .. } = issue;
        let (ctx, cancel) = (self.ctx.clone(), WorkflowCancellationToken::new());
        self.cancels.push((id.clone(), cancel.clone()));
        if let ToyEffect::Timer(value) = effect {
            let timer = async move {
                ctx.timer(TimerOptions::builder(Duration::from_millis(1)).cancellation_token(cancel).build()).await;
                vec![ToyFact::Done { id, value }]
            };
            return RunningEffect::waiting(timer);
        }
        let activity = async move {
            let options = effect_options(ctx.task_queue(), &id, cancel);
            let order = EffectInput { id: id.clone(), effect, begun_before };
            match ctx.execute_activity(ToyActivities::effect, order, options).await {
                Ok(facts) => facts,
                Err(ActivityExecutionError::Cancelled(_)) => vec![ToyFact::Revoked { id, why: Reason::Cancelled }],
                Err(_) => vec![ToyFact::Done { id, value: LATE }],
            }
        };
        RunningEffect::working(activity)
    }

    fn revoke(&mut self, id: &EffectId, why: &Reason) {
        let cancel = self.cancels.iter().find(|(known, _)| known == id);
        cancel.unwrap().1.cancel_with_reason(format!("{why:?}"));
    }

    fn external_facts(&mut self, context: &mut Context<'_>) -> Vec<ToyFact> {
        let ctx = self.ctx.clone();
        let signalled = self.signalled.get_or_insert_with(|| {
            async move {
                let detached = WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
                ctx.wait_condition_with_options(|toy| !toy.inbox.is_empty(), detached).await.unwrap();
            }
            .boxed_local()
        });
        if signalled.poll_unpin(context).is_pending() {
            return Vec::new();
        }
        self.signalled = None;
        self.ctx.state_mut(|toy| std::mem::take(&mut toy.inbox))
    }

    fn should_continue_as_new(&self) -> bool {
        self.ctx.continue_as_new_suggested()
    }

    fn observe(&mut self, facts: &[Recorded<ToyFact>], events: &[Recorded<ToyEvent>]) {
        self.ctx.state_mut(|toy| {
            toy.journal.facts.extend(facts.iter().cloned().map(Timestamped::from));
            toy.journal.events.extend(events.iter().cloned().map(Timestamped::from));
        });
    }
}

/// Carries out toys' effects in a world.
pub(crate) struct ToyActivities {
    pub(crate) world: Arc<World>,
}

#[activities]
impl ToyActivities {
    #[activity(name = "aime.toy.effect")]
    pub(crate) async fn effect(
        self: Arc<Self>,
        context: ActivityContext,
        order: EffectInput<ToyEffect>,
    ) -> Result<Vec<ToyFact>, ActivityError> {
        let mut facts = perform::<Toy, World>(&context, Arc::clone(&self.world), order).await;
        if self.world.duplicates {
            // The same answer comes by two ways, and twice by one of them.
            let fact = facts.last().unwrap().clone();
            let toy = context.workflow_handle::<ToyWorkflow>().unwrap();
            toy.signal(ToyWorkflow::fact, fact.clone(), temporalio_client::WorkflowSignalOptions::default()).await?;
            facts.push(fact);
        }
        Ok(facts)
    }
}
