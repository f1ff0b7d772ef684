//! Costs as the model layer counts them, in the form in which a run keeps them.

use aime_progress::Spent;

pub(crate) fn of(spent: aime_llm::Spent) -> Spent {
    Spent {
        requests: u64::from(spent.requests),
        input_tokens: spent.usage.input_tokens,
        cached_input_tokens: spent.usage.cached_input_tokens,
        output_tokens: spent.usage.output_tokens,
        cost_usd: spent.cost_usd,
    }
}

pub(crate) fn sum(a: Spent, b: Spent) -> Spent {
    Spent {
        requests: a.requests + b.requests,
        input_tokens: a.input_tokens + b.input_tokens,
        cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
        output_tokens: a.output_tokens + b.output_tokens,
        cost_usd: a.cost_usd + b.cost_usd,
    }
}
