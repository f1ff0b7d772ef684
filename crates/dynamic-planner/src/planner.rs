//! The planner: asks a model for a plan, checks it, asks again with the faults, and finally falls back to a simpler
//! plan.

mod direct;
mod earlier;
mod error;
mod replan;
mod request;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use aime_llm::{
    ChatModel, Effort, Image, InvalidAnswer, Message, Model, ModelError, Structured, StructuredError, StructuredRequest, Tiers, ask,
};
use aime_messages::message;
use aime_progress_management::{ModelCost, Plan, PlanMode};
use aime_tools::ModelClasses;
use serde_json::Value;

use crate::{
    CheckedPlan, PlanCache, PlanChecker, PlanFault, PlanValidator, PlannerPromptError, Prompts,
    prompt::PlanContext,
    schema::{self, TaskShape},
    spent,
};

pub use direct::direct_plan;
pub use earlier::ReusedPlan;
pub use error::PlannerError;
pub use replan::{ReplanRequest, ReplanResult};
pub use request::{Fallback, PlanRequest, PlannerSettings};

/// An executable plan, and the course of its planning.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Descriptions of the harmless faults that were repaired.
    pub repairs: Vec<aime_messages::Message>,
    /// The refused answers, each with all its faults.
    pub refused: Vec<InvalidAnswer>,
    /// Reason for a simplified or direct plan instead of the requested one, if it is one.
    pub fallback: Option<aime_messages::Message>,
    /// Origin of a plan that was reused from an earlier request.
    pub reused: Option<ReusedPlan>,
    /// Cost of all requests.
    pub spent: ModelCost,
    /// The model that was asked.
    pub model: String,
    /// Reasoning effort that the last request asked for.
    pub effort: Option<Effort>,
}

/// Makes plans and patches with a model.
///
/// Dropping a returned future cancels its request. One planner serves many goals at once.
#[derive(Clone)]
pub struct Planner {
    model: Model,
    settings: PlannerSettings,
    classes: ModelClasses,
    prompts: Arc<Prompts>,
    tiers: Arc<Tiers>,
    validators: Arc<[Arc<dyn PlanValidator>]>,
    cache: Option<Arc<Mutex<PlanCache>>>,
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner").field("model", &self.model.name()).field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Planner {
    /// Creates a planner with the built-in prompts, no custom rules and no cache.
    #[must_use]
    pub fn new(model: Model, settings: PlannerSettings) -> Self {
        let (classes, prompts) = (ModelClasses::default(), Arc::new(Prompts::default()));
        Self { model, settings, classes, prompts, tiers: Arc::new(Tiers::new()), validators: Arc::from([]), cache: None }
    }

    /// Sets the settings for classes of models. They decide whether the model gets the short prompts.
    #[must_use]
    pub const fn with_classes(mut self, classes: ModelClasses) -> Self {
        self.classes = classes;
        self
    }

    /// Sets the prompts.
    #[must_use]
    pub fn with_prompts(mut self, prompts: Arc<Prompts>) -> Self {
        self.prompts = prompts;
        self
    }

    /// Sets the known abilities of the servers, which other planners may share.
    #[must_use]
    pub fn with_tiers(mut self, tiers: Arc<Tiers>) -> Self {
        self.tiers = tiers;
        self
    }

    /// Adds custom rules for plans.
    #[must_use]
    pub fn with_validators(mut self, validators: Vec<Arc<dyn PlanValidator>>) -> Self {
        self.validators = validators.into();
        self
    }

    /// Sets the cache of plans.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<Mutex<PlanCache>>) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Makes the first plan of a goal.
    ///
    /// `direct` needs no model. Otherwise the model is asked, and asked again with all faults as often as the settings
    /// allow. Then it is asked once for a simplified plan. Finally the goal's category's actor gets the whole goal, as
    /// a plan of one task. The plan of an emergent goal is its first few TODOs; [`Planner::replan`] lets it grow.
    ///
    /// # Errors
    ///
    /// [`PlannerError::Model`] if the model cannot be used; [`PlannerError::NoPlan`] if no answer fits and the settings
    /// forbid the fallback.
    pub async fn plan(&self, request: &PlanRequest) -> Result<Planned, PlannerError> {
        let model = self.model.name().to_owned();
        if request.mode == PlanMode::Direct {
            let plan = direct_plan(&request.goal, request.category_profile.as_deref());
            return Ok(Planned { model, ..Planned::new(plan) });
        }
        let key = self.key(request);
        let mut notes = Vec::new();
        if let Some((plan, reused)) = self.reuse_plan(&key, request, &mut notes) {
            return Ok(Planned { model, reused: Some(reused), ..Planned::new(plan) });
        }
        let context = request.context(&self.settings, (self.model.limits(), self.classes), self.similar(&key).as_ref());
        let (mut refused, mut cost) = match self.ask_plan(request, &context).await {
            Ok(PlannerAnswer { value: checked, repairs, refused, spent, effort }) => {
                self.remember(key, request, &checked.plan);
                let repairs = notes.into_iter().chain(repairs).chain(checked.repairs).collect();
                return Ok(Planned { repairs, refused, spent, model, effort, ..Planned::new(checked.plan) });
            }
            Err(error) => self.refusals(error)?,
        };
        let why = refused.last().map_or_else(|| message!("request-too-long"), |last| aime_messages::Message::list("; ", &last.faults));
        match self.ask_simplified(request, &context).await {
            Ok(PlannerAnswer { value: checked, mut repairs, refused: further, spent: further_cost, effort }) => {
                add_refused(&mut refused, further);
                let fallback = Some(message!("fallback-simplified", reason = why));
                let spent = spent::sum(cost, further_cost);
                repairs.extend(checked.repairs);
                Ok(Planned { repairs, refused, fallback, spent, model, effort, ..Planned::new(checked.plan) })
            }
            Err(error) => {
                let (further, further_cost) = self.refusals(error)?;
                add_refused(&mut refused, further);
                cost = spent::sum(cost, further_cost);
                if self.settings.fallback == Fallback::Fail {
                    return Err(PlannerError::NoPlan { model, refused, spent: cost });
                }
                let plan = direct_plan(&request.goal, request.category_profile.as_deref());
                let fallback = Some(message!("fallback-category", reason = why));
                Ok(Planned { refused, fallback, spent: cost, model, ..Planned::new(plan) })
            }
        }
    }

    async fn ask_plan(&self, request: &PlanRequest, context: &PlanContext) -> AskResult<CheckedPlan> {
        let shape = TaskShape { tools: &context.tools, profiles: &context.profiles, tool_tasks: context.tool_tasks };
        let limits = self.settings.limits;
        let (messages, schema) = match request.mode {
            PlanMode::Emergent => (self.prompts.plan_emergent(context)?, schema::plan_simple(shape, limits.first_todos)),
            PlanMode::Complex => {
                let edges = !context.simple;
                (self.prompts.plan_complex(context)?, schema::plan_complex(shape, limits.max_sub_goals, limits.max_actions, edges))
            }
            PlanMode::Simple | PlanMode::Direct => (self.prompts.plan_simple(context)?, schema::plan_simple(shape, limits.max_tasks)),
        };
        let mut question = self.question("aime_plan", schema, with_images(messages, &request.images), self.settings.max_attempts);
        if request.mode == PlanMode::Emergent {
            question.temperature = Some(self.settings.first_todos_temperature);
        }
        let checker = self.checker(request, request.mode);
        self.ask(question, |value| check(&checker, &value, &request.goal)).await
    }

    async fn ask_simplified(&self, request: &PlanRequest, context: &PlanContext) -> AskResult<CheckedPlan> {
        let schema = schema::plan_simplified(self.settings.limits.max_tasks);
        let question = self.question("aime_plan", schema, with_images(self.prompts.plan_simplified(context)?, &request.images), 1);
        let checker = self.checker(request, PlanMode::Simple);
        self.ask(question, |value| check(&checker, &value, &request.goal)).await
    }

    fn question(&self, name: &str, schema: Value, messages: Vec<Message>, tries: u32) -> StructuredRequest {
        StructuredRequest {
            // The parser accepts more forms than the schema allows, so the schema only guides the model and the checker
            // decides.
            must_fit: false,
            temperature: Some(self.settings.temperature),
            max_output_tokens: Some(self.model.limits().max_output_tokens),
            tries,
            ..StructuredRequest::new(name, schema, messages.into_iter().map(Arc::new).collect())
        }
    }

    async fn ask<T>(&self, question: StructuredRequest, judge: impl Fn(Value) -> Result<T, Vec<PlanFault>>) -> AskResult<T> {
        let judge = |value| judge(value).map_err(|faults| faults.into_iter().map(Into::into).collect());
        Ok(ask(&self.model, &self.tiers, question, judge).await?.into())
    }

    fn checker<'a>(&'a self, request: &'a PlanRequest, mode: PlanMode) -> PlanChecker<'a> {
        PlanChecker {
            tools: &request.tools,
            actor_tools: &request.actor_tools,
            profiles: &request.profiles,
            models: &request.models,
            bundles: &request.bundles,
            validators: &self.validators,
            mode: Some(mode),
            limits: self.settings.limits,
        }
    }

    /// Returns the refused answers of an error after which the model itself is still usable.
    fn refusals(&self, error: AskError) -> Result<(Vec<InvalidAnswer>, ModelCost), PlannerError> {
        let model = self.model.name().to_owned();
        match error {
            AskError::Prompt(error) => Err(PlannerError::Prompt(error)),
            AskError::Structured(StructuredError::Refused { refused, spent, .. }) => Ok((refused, spent::of(spent))),
            // A shorter request may still fit.
            AskError::Structured(StructuredError::Model { source: ModelError::ContextOverflow { .. }, refused, spent, .. }) => {
                Ok((refused, spent::of(spent)))
            }
            AskError::Structured(other) => {
                Err(PlannerError::of(other, model, |model, refused, spent| PlannerError::NoPlan { model, refused, spent }))
            }
        }
    }
}

/// Adds the images of the goal to the user message.
fn with_images(mut messages: Vec<Message>, images: &[Image]) -> Vec<Message> {
    if !images.is_empty() {
        let words = match messages.pop_if(|last| matches!(last, Message::User { .. })) {
            Some(Message::User { content, .. }) => content,
            _ => String::new(),
        };
        messages.push(Message::user_with_images(words, images.to_vec()));
    }
    messages
}

/// Parsed answer, or the reason why there is none.
type AskResult<T> = Result<PlannerAnswer<T>, AskError>;

/// A parsed answer with the repairs of its JSON, the refused answers before it, and the total cost.
struct PlannerAnswer<T> {
    value: T,
    repairs: Vec<aime_messages::Message>,
    refused: Vec<InvalidAnswer>,
    spent: ModelCost,
    effort: Option<Effort>,
}

impl<T> From<Structured<T>> for PlannerAnswer<T> {
    fn from(Structured { value, repairs, refused, spent }: Structured<T>) -> Self {
        let repairs = repairs.into_iter().map(aime_messages::Message::text).collect();
        Self { value, repairs, refused, spent: spent::of(spent), effort: spent.effort }
    }
}

/// Reason why a request has no usable answer.
enum AskError {
    Prompt(PlannerPromptError),
    Structured(StructuredError),
}

impl From<PlannerPromptError> for AskError {
    fn from(error: PlannerPromptError) -> Self {
        Self::Prompt(error)
    }
}

impl From<StructuredError> for AskError {
    fn from(error: StructuredError) -> Self {
        Self::Structured(error)
    }
}

/// Appends the refused answers of another request and continues the count of attempts.
fn add_refused(refused: &mut Vec<InvalidAnswer>, further: Vec<InvalidAnswer>) {
    let before = u32::try_from(refused.len()).unwrap_or(0);
    refused.extend(further.into_iter().map(|one| InvalidAnswer { attempt: one.attempt + before, ..one }));
}

fn check(checker: &PlanChecker<'_>, value: &Value, goal: &str) -> Result<CheckedPlan, Vec<PlanFault>> {
    let mut checked = checker.check_value(value)?;
    goal.clone_into(&mut checked.plan.goal);
    Ok(checked)
}
