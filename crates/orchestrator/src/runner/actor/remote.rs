//! Actors whose machines are driven elsewhere: their creation, and their effects one at a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
};

use aime_actor_factory::{ActorEffect, ActorFact, ActorInput, ActorMachine, LeadRest, PersonMessage};
use aime_durable::{EffectContext, EffectId, FactSender, Issue, UnixMillis, execute_effect, fact_channel};
use aime_messages::{Message, message};
use aime_progress_management::{Origin, ProgressState, TaskSpec};
use aime_tools::DelegateTask;
use tokio_util::sync::CancellationToken;

use super::{Attempt, NewActor, effects::ActorRunner, reports::RefusedCalls};
use crate::{
    ActorBrief, LeadWakeOrder, RunFact, RunMachine,
    runner::{
        Context, RunRunner, on_bound_of,
        remote::{ActorOrder, CreatedActor, CreatedDelegate, PreparedLeadWake, RemoteEffects},
    },
};

impl RemoteEffects {
    /// Calls the hooks, creates the actor for a task, and checks the criteria before its work. `messages` are the messages of people to it.
    /// Intermediate facts go to `on_fact`. A folder without permanent content must not be handed back after that.
    ///
    /// # Errors
    ///
    /// The end of the attempt, if it cannot start.
    pub async fn make_actor(
        &self,
        id: EffectId,
        order: ActorOrder,
        messages: Vec<PersonMessage>,
        cancel: CancellationToken,
        mut on_fact: impl FnMut(RunFact) + Send,
    ) -> Result<CreatedActor, RunFact> {
        let (facts, mut on_the_way) = fact_channel::<RunMachine>();
        let made = self.create(id, order, messages, EffectContext::new(cancel, facts).into()).await;
        while let Some(fact) = on_the_way.ready() {
            on_fact(fact.without_secrets(self.redactor()));
        }
        self.runner.kept_files.leave().await.into_iter().for_each(|fact| on_fact(fact.without_secrets(self.redactor())));
        made.map_err(|fact| fact.without_secrets(self.redactor()))
    }

    /// Creates an actor that does a part of a task for another one, `by`, which was created from `order`; `call` is the
    /// delegating call. `state` is the state of the run, which is needed if the call names a task of the plan.
    ///
    /// # Errors
    ///
    /// The reason, as a message to the calling actor.
    pub async fn make_below(
        &self,
        order: ActorOrder,
        by: &ActorInput,
        (call, request, origins): (&str, &DelegateTask, &[Origin]),
        state: Option<ProgressState>,
    ) -> Result<CreatedDelegate, String> {
        if let Some(state) = state {
            self.runner.live.insert(self.runner.run.clone(), state);
        }
        let (facts, _) = fact_channel::<RunMachine>();
        let made = Attempt::apart(&self.runner, order, facts).compose_below(by, call, request, origins).await;
        let NewActor { input, created } = made.and_then(not_external).map_err(|reason| reason.to_string())?;
        let redactor = self.redactor();
        let actor = CreatedActor { input: input.without_secrets(redactor), created: redactor.typed(created) };
        Ok(CreatedDelegate { actor, text_limit: self.runner.parts.tool_context.text_limit })
    }

    async fn create(
        &self,
        id: EffectId,
        order: ActorOrder,
        messages: Vec<PersonMessage>,
        context: Context,
    ) -> Result<CreatedActor, RunFact> {
        if let Some(ended) = self.runner.before_attempt(&id, &order.brief.spec, &context).await {
            return Err(ended);
        }
        let attempt = Attempt::apart(&self.runner, order, context.facts.clone());
        let made = attempt.compose_for_plan().await.and_then(not_external);
        if attempt.execution == 1 && made.is_ok() {
            let tried = self.runner.try_criteria(&attempt.brief.spec, None, &attempt.origins, &context);
            context.cancel.run_until_cancelled(Box::pin(tried)).await;
        }
        let NewActor { mut input, created } = made.map_err(|message| RunFact::EffectFailed { id, message })?;
        input.messages = messages;
        let redactor = self.redactor();
        Ok(CreatedActor { input: input.without_secrets(redactor), created: redactor.typed(created) })
    }

    /// Composes the message of a wake of the lead, and the lead itself if its conversation begins (`is_new`).
    ///
    /// # Errors
    ///
    /// The reason why there is no lead.
    pub async fn wake_lead(&self, order: &LeadWakeOrder, is_new: bool) -> Result<PreparedLeadWake, Message> {
        let redactor = self.redactor();
        let (wake, first) = self.runner.lead_wake(order).await;
        let (facts, _) = fact_channel::<RunMachine>();
        let lead = match is_new {
            false => None,
            true => {
                let attempt = self.runner.lead_attempt(order, facts.clone(), on_bound_of(facts));
                let NewActor { input, created } = attempt.compose_lead(&first).await?;
                Some(Box::new(CreatedActor { input: input.without_secrets(redactor), created: redactor.typed(created) }))
            }
        };
        Ok(PreparedLeadWake { wake: redactor.typed(wake), lead })
    }

    /// Returns the end of a wake of the lead, whose conversation paused with `rest`, after the checks of its work. `state` is that of the
    /// run. Intermediate facts go to `on_fact`.
    pub async fn lead_rested(
        &self,
        id: EffectId,
        rest: LeadRest,
        state: ProgressState,
        cancel: CancellationToken,
        mut on_fact: impl FnMut(RunFact) + Send,
    ) -> RunFact {
        self.runner.live.insert(self.runner.run.clone(), state.clone());
        let (facts, mut on_the_way) = fact_channel::<RunMachine>();
        let context = Context::from(EffectContext::new(cancel, facts));
        let fact = self.runner.lead_rested(id, rest, &state, &context).await;
        context.revoked_if_out_of_budget().await;
        while let Some(fact) = on_the_way.ready() {
            on_fact(fact.without_secrets(self.redactor()));
        }
        self.runner.kept_files.leave().await.into_iter().for_each(|fact| on_fact(fact.without_secrets(self.redactor())));
        fact.without_secrets(self.redactor())
    }

    /// Carries out one effect of an actor: [`ActorEffect::Model`], [`ActorEffect::Tool`] or [`ActorEffect::Plan`]. A call that was started
    /// before, at the time `begun`, and is neither read-only nor idempotent is in doubt and is not repeated. Intermediate
    /// facts for the run go to `on_fact`, in order.
    pub async fn act(
        &self,
        input: ActorInput,
        (issue, begun): (Issue<ActorEffect>, Option<UnixMillis>),
        cancel: CancellationToken,
        mut on_fact: impl FnMut(RunFact) + Send,
    ) -> ActorFact {
        let redactor = self.redactor().clone();
        let (facts, mut on_the_way) = fact_channel::<RunMachine>();
        let fact = {
            // A transient folder has only just been filled.
            let begun = begun.filter(|_| !self.runner.kept_files.is_transient());
            let calls_begun = begun.into_iter().map(|at| (issue.id.to_string(), at)).collect();
            let runner = Arc::new(ActorRunner { calls_begun, ..ActorRunner::apart(&self.runner, input, facts, cancel.clone()) });
            let mut acting = pin!(execute_effect::<ActorMachine, _>(runner, issue, cancel.cancelled(), |_| {}));
            loop {
                tokio::select! {
                    biased;
                    Some(fact) = on_the_way.next() => on_fact(fact.without_secrets(&redactor)),
                    fact = &mut acting => break fact,
                }
            }
        };
        while let Some(fact) = on_the_way.ready() {
            on_fact(fact.without_secrets(&redactor));
        }
        self.runner.kept_files.leave().await.into_iter().for_each(|fact| on_fact(fact.without_secrets(&redactor)));
        fact.without_secrets(&redactor)
    }
}

impl Attempt {
    fn apart(runner: &Arc<RunRunner>, order: ActorOrder, facts: FactSender<RunMachine>) -> Self {
        let ActorOrder { brief, task, execution, origins, known } = order;
        let on_bound = on_bound_of(facts.clone());
        Self {
            runner: Arc::clone(runner),
            facts,
            on_bound,
            brief: Box::new(brief),
            task,
            execution,
            origins,
            recalled: known,
            leads: false,
            told: BTreeSet::new(),
            private: None,
            turn: None,
            audit: None,
        }
    }
}

impl ActorRunner {
    /// Returns the runner of an existing actor, without the inputs that only its creation needs.
    fn apart(runner: &Arc<RunRunner>, input: ActorInput, facts: FactSender<RunMachine>, cancel: CancellationToken) -> Self {
        let mut spec = TaskSpec::actor(input.spec.task.clone(), String::new());
        spec.model = Some(input.spec.model.clone());
        let task = spec.id.clone();
        let brief = ActorBrief {
            plan_id: input.spec.plan.clone(),
            goal: String::new(),
            mode: None,
            category: String::new(),
            risks: Vec::new(),
            consents: Vec::new(),
            spec: Arc::new(spec),
            overview: String::new(),
            results: String::new(),
            returned: None,
        };
        let order = ActorOrder { brief, task, execution: input.execution, origins: Vec::new(), known: String::new() };
        let attempt = Arc::new(Attempt { leads: input.lead.is_some(), ..Attempt::apart(runner, order, facts) });
        let model = attempt.model(&input.spec.model);
        let tool_context = runner.tool_context(cancel, &attempt.task).for_model(input.limits);
        let refused = Arc::new(RefusedCalls::default());
        Self { attempt, input, model, tool_context, refused, guard: None, calls_begun: BTreeMap::new() }
    }
}

/// Refuses an actor that is an external agent: its process cannot move between the hosts that carry out its effects.
fn not_external(made: NewActor) -> Result<NewActor, Message> {
    if made.input.spec.agent {
        return Err(message!("agent-is-local", profile = made.input.spec.profile));
    }
    Ok(made)
}
