//! Converts costs of the model layer into the form that a run stores.

use aime_progress_management::ModelCost;

pub(crate) fn of(spent: aime_llm::StructuredUsage) -> ModelCost {
    ModelCost {
        requests: u64::from(spent.requests),
        input_tokens: spent.usage.input_tokens,
        cached_input_tokens: spent.usage.cached_input_tokens,
        cache_write_tokens: spent.usage.cache_write_tokens,
        output_tokens: spent.usage.output_tokens,
        reasoning_tokens: spent.usage.reasoning_tokens,
        cost_usd: spent.cost_usd,
    }
}

pub(crate) fn sum(mut a: ModelCost, b: ModelCost) -> ModelCost {
    a.add(&b);
    a
}
