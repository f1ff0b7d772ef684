//! The cost of model calls, by asker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cost of model calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelCost {
    /// Number of answered requests.
    pub requests: u64,
    /// Number of tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Number of tokens sent that the server had in its cache.
    pub cached_input_tokens: u64,
    /// Number of tokens sent that the server wrote into its cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Number of tokens received, reasoning included.
    pub output_tokens: u64,
    /// Number of reasoning tokens among those received.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// Cost in US dollars; 0 for models without a price.
    pub cost_usd: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl ModelCost {
    /// Adds the cost of another call.
    pub fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.cost_usd += other.cost_usd;
    }
}

/// Cost of model calls by requester.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CostByRole {
    /// The lead; in a run without one, the requests for the route, the plan, its changes and the answer.
    pub lead: ModelCost,
    /// The actors, including delegated ones and the model requests of their tools.
    pub actors: ModelCost,
    /// The verdicts on criteria.
    pub checks: ModelCost,
}

impl CostByRole {
    /// Adds the cost of a call with this purpose.
    pub(crate) fn add(&mut self, purpose: &str, for_task: bool, spent: &ModelCost) {
        let of = match purpose {
            "verdict" => &mut self.checks,
            "lead" | "route" | "plan" | "patch" | "answer" => &mut self.lead,
            _ if for_task => &mut self.actors,
            _ => &mut self.lead,
        };
        of.add(spent);
    }

    /// Returns true if nothing was spent.
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the parts with their names.
    #[must_use]
    pub const fn parts(&self) -> [(&'static str, &ModelCost); 3] {
        [("lead", &self.lead), ("actors", &self.actors), ("checks", &self.checks)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 10.1
    #[test]
    fn each_call_counts_for_one_who_asked() {
        let cases = [
            ("lead", false, "lead"),
            ("lead", true, "lead"),
            ("route", false, "lead"),
            ("plan", false, "lead"),
            ("patch", false, "lead"),
            ("answer", false, "lead"),
            ("act", true, "actors"),
            ("search", true, "actors"),
            ("search", false, "lead"),
            ("verdict", true, "checks"),
            ("verdict", false, "checks"),
        ];
        for (purpose, for_task, expected) in cases {
            let mut by = CostByRole::default();
            assert!(by.is_nothing());
            by.add(purpose, for_task, &ModelCost { requests: 1, input_tokens: 7, ..ModelCost::default() });
            let counted = by.parts().map(|(name, spent)| (name, spent.requests));
            assert_eq!(
                counted.iter().filter(|(_, requests)| *requests == 1).map(|(name, _)| *name).collect::<Vec<_>>(),
                [expected],
                "{purpose}"
            );
        }
    }
}
