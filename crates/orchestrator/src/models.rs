//! The models of a run, by role.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aime_durable::Clock;
use aime_llm::{ChatResponse, CostReservation, Meter, ModelError, ModelLimits, ModelStack, OutOfBudget, TryCost, TryEstimate, Usage};
use aime_messages::{Describe as _, Message, message};
use aime_progress_management::{ModelCost, Timestamp};

use crate::{Budget, BudgetError, budget::Reservation};

/// Models by role or name. An unknown role or name gets `default`. The models cannot be called yet: the orchestrator
/// builds them with its redactor.
#[derive(Debug, Clone)]
pub struct Models {
    default: ModelStack,
    roles: BTreeMap<String, ModelStack>,
}

impl Models {
    /// Creates the set from models by name; returns `None` without one named `default`.
    #[must_use]
    pub fn new(roles: BTreeMap<String, ModelStack>) -> Option<Self> {
        let default = roles.get("default")?.clone();
        Some(Self { default, roles })
    }

    /// Returns the names of the models.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let default = (!self.roles.contains_key("default")).then_some("default");
        default.into_iter().chain(self.roles.keys().map(String::as_str))
    }

    /// Returns the context window of the model with this name, in tokens.
    #[must_use]
    pub fn window_of(&self, model: &str) -> Option<u32> {
        let mut all = self.roles.values().chain([&self.default]);
        all.find(|known| known.name() == model).map(|known| known.limits().context_tokens)
    }

    /// Returns true if a rule holds for the limits of all models.
    pub(crate) fn all_have(&self, holds: impl Fn(ModelLimits) -> bool) -> bool {
        self.roles.values().chain([&self.default]).all(|model| holds(model.limits()))
    }

    /// Returns the name of the role that leads a run: `lead`, else `planner`, else `default`.
    pub(crate) fn lead_role(&self) -> &'static str {
        ["lead", "planner"].into_iter().find(|name| self.roles.contains_key(*name)).unwrap_or("default")
    }

    /// Returns the name of the role that judges criteria in words: `auditor`, else `planner`, else `default`.
    pub(crate) fn auditor_role(&self) -> &'static str {
        ["auditor", "planner"].into_iter().find(|name| self.roles.contains_key(*name)).unwrap_or("default")
    }

    /// Returns the model of a role, or the default.
    #[must_use]
    pub fn role(&self, name: &str) -> &ModelStack {
        self.roles.get(name).unwrap_or(&self.default)
    }
}

/// Uses one model for every role.
impl<M: Into<ModelStack>> From<M> for Models {
    fn from(model: M) -> Self {
        Self { default: model.into(), roles: BTreeMap::new() }
    }
}

/// Bound of a run whose providers answer no further requests for a while.
const QUOTA: &str = "quota";

/// Handler that is called when a budget leaves no room for a call.
pub(crate) type OnBound = Arc<dyn Fn(&OutOfBudget) + Send + Sync>;

impl From<&BudgetError> for OutOfBudget {
    fn from(error: &BudgetError) -> Self {
        Self { bound: error.bound().to_owned(), detail: error.describe() }
    }
}

/// Meter between a run's models and its budget: it reserves every attempt first. When there is no room, it also tells
/// the run, which then stops.
pub(crate) struct RunMeter {
    pub(crate) budget: Arc<Budget>,
    pub(crate) on_bound: OnBound,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Meter for RunMeter {
    fn reserve(&self, wanted: TryEstimate) -> Result<Box<dyn CostReservation + '_>, OutOfBudget> {
        let TryEstimate { input_tokens, max_output_tokens, prices, searches } = wanted;
        let mut estimate = self.budget.estimate(input_tokens, max_output_tokens, prices);
        estimate.cost_usd += prices.map_or(0.0, |prices| prices.searches(searches));
        match self.budget.reserve(estimate) {
            Ok(reservation) => Ok(Box::new(reservation)),
            Err(error) => {
                let error = OutOfBudget::from(&error);
                (self.on_bound)(&error);
                Err(error)
            }
        }
    }

    /// The run stops, and is resumed when a provider answers again.
    fn used_up(&self, error: &ModelError, wait: Duration) -> Option<OutOfBudget> {
        let back = self.clock.now().saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let back = message!("quota-back", time = Timestamp::from_millis(back));
        let detail = Message::list("; ", &[error.describe(), back]);
        let error = OutOfBudget { bound: QUOTA.to_owned(), detail };
        (self.on_bound)(&error);
        Some(error)
    }
}

impl CostReservation for Reservation<'_> {
    fn settle(self: Box<Self>, cost: TryCost) {
        Reservation::settle(*self, &of_one_try(cost.usage, cost.cost_usd));
    }
}

/// Returns the usage of a response.
pub(crate) fn spent(response: &ChatResponse) -> ModelCost {
    of_one_try(response.usage, response.cost_usd)
}

const fn of_one_try(usage: Usage, cost_usd: f64) -> ModelCost {
    ModelCost {
        requests: 1,
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        cost_usd,
    }
}
