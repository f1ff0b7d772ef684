//! One budget for the whole tree of actors: reserved before it is spent.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use aime_llm::{Prices, Usage};
use aime_messages::{Describe, Message, message};
use aime_progress_management::ModelCost;

use crate::Bounds;

/// Reason for refusing a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BudgetError {
    /// Too few tokens remain.
    Tokens {
        /// The limit.
        limit: u64,
        /// Tokens spent or reserved.
        used: u64,
        /// Tokens that the request needs at least.
        wanted: u64,
    },
    /// Too little money remains.
    Money {
        /// The limit.
        limit: f64,
        /// US dollars spent or reserved.
        used: f64,
        /// Expected cost of the request; 0 if the prices are unknown.
        wanted: f64,
    },
    /// No tool calls are left.
    ToolCalls {
        /// The limit.
        limit: u64,
    },
    /// No actors are left.
    Actors {
        /// The limit.
        limit: u32,
    },
}

impl Describe for BudgetError {
    fn describe(&self) -> Message {
        match self {
            Self::Tokens { limit, used, wanted } => message!("limit-tokens", used, limit, wanted),
            Self::Money { limit, used, wanted } => {
                let [used, limit, wanted] = [used, limit, wanted].map(|dollars| format!("{dollars:.4}"));
                message!("limit-money", used, limit, wanted)
            }
            Self::ToolCalls { limit } => message!("limit-calls-used", number = limit),
            Self::Actors { limit } => message!("limit-actors-used", number = limit),
        }
    }
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

impl std::error::Error for BudgetError {}

impl BudgetError {
    /// Returns the bound's name in events.
    #[must_use]
    pub(crate) const fn bound(&self) -> &'static str {
        match self {
            Self::Tokens { .. } => "tokens",
            Self::Money { .. } => "money",
            Self::ToolCalls { .. } => "tool_calls",
            Self::Actors { .. } => "actors",
        }
    }
}

/// Expected minimum size of an answer in tokens: a short one with a tool call.
const SHORT_ANSWER: u64 = 300;

/// Expected usage of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Estimate {
    /// Tokens sent.
    pub tokens: u64,
    /// US dollars; 0 if the model's prices are unknown.
    pub cost_usd: f64,
}

#[derive(Debug, Default)]
struct Account {
    tokens: u64,
    reserved: u64,
    cost_usd: f64,
    reserved_usd: f64,
    /// The longest answer so far, in tokens.
    longest: u64,
    tool_calls: u64,
    actors: u32,
}

/// Tokens, money, tool calls and actors of one run. Every actor and each of its model calls and tool calls draws on it.
#[derive(Debug)]
pub(crate) struct Budget {
    max_tokens: Option<u64>,
    max_cost_usd: Option<f64>,
    max_tool_calls: u64,
    max_actors: u32,
    account: Mutex<Account>,
}

impl Budget {
    /// Creates a budget within `bounds`, of which `spent` and `tool_calls` are used up.
    #[must_use]
    pub(crate) fn new(bounds: &Bounds, spent: &ModelCost, tool_calls: u64) -> Self {
        let tokens = spent.input_tokens + spent.output_tokens;
        // Only the mean answer length is known from before a resume.
        let longest = spent.output_tokens / spent.requests.max(1);
        let account = Account { tokens, cost_usd: spent.cost_usd, longest, tool_calls, ..Account::default() };
        let (max_tokens, max_cost_usd, max_tool_calls) = (bounds.max_tokens, bounds.max_cost_usd, bounds.max_tool_calls);
        Self { max_tokens, max_cost_usd, max_tool_calls, max_actors: bounds.max_actors, account: Mutex::new(account) }
    }

    /// Returns the budget with `used` actors counted.
    #[must_use]
    pub(crate) fn with_actors(mut self, used: u32) -> Self {
        self.account.get_mut().unwrap_or_else(PoisonError::into_inner).actors = used;
        self
    }

    /// Counts an actor that is about to be created, for an attempt at a task or for a delegation. An actor resumed
    /// after a stop was counted when it was created. The count is never reverted.
    ///
    /// # Errors
    ///
    /// [`BudgetError::Actors`] when none is left: then the actor must not be created.
    pub(crate) fn count_actor(&self) -> Result<(), BudgetError> {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        if account.actors >= self.max_actors {
            return Err(BudgetError::Actors { limit: self.max_actors });
        }
        account.actors += 1;
        Ok(())
    }

    /// Counts a tool call that is about to be made. The count is never reverted.
    ///
    /// # Errors
    ///
    /// [`BudgetError::ToolCalls`] when none is left: then the call must not be made.
    pub(crate) fn count_tool_call(&self) -> Result<(), BudgetError> {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        if account.tool_calls >= self.max_tool_calls {
            return Err(BudgetError::ToolCalls { limit: self.max_tool_calls });
        }
        account.tool_calls += 1;
        Ok(())
    }

    /// Estimates a request of `tokens` tokens at the given prices. The estimate assumes no cache hits and an answer as
    /// long as the longest of the run so far, but at least [`SHORT_ANSWER`] and at most `max_output_tokens`.
    #[must_use]
    pub(crate) fn estimate(&self, tokens: u64, max_output_tokens: Option<u32>, prices: Option<Prices>) -> Estimate {
        let allowed = max_output_tokens.map_or(u64::MAX, u64::from);
        let longest = self.account.lock().unwrap_or_else(PoisonError::into_inner).longest;
        let usage = Usage::new(tokens, longest.max(SHORT_ANSWER).min(allowed));
        Estimate { tokens, cost_usd: prices.map_or(0.0, |prices| prices.cost(&usage)) }
    }

    /// Reserves tokens and money for one call. The reservation ends when it is settled or dropped. Every call in
    /// progress of every actor holds a reservation, so a bound is exceeded at most by the error of the estimates.
    ///
    /// # Errors
    ///
    /// [`BudgetError`] when a limit leaves no room: then nothing is reserved.
    pub(crate) fn reserve(&self, wanted: Estimate) -> Result<Reservation<'_>, BudgetError> {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        let used = account.tokens + account.reserved;
        if let Some(limit) = self.max_tokens.filter(|limit| used + wanted.tokens > *limit) {
            return Err(BudgetError::Tokens { limit, used, wanted: wanted.tokens });
        }
        let (spent, used) = (account.cost_usd, account.cost_usd + account.reserved_usd);
        if let Some(limit) = self.max_cost_usd.filter(|limit| spent >= *limit || used + wanted.cost_usd > *limit) {
            return Err(BudgetError::Money { limit, used, wanted: wanted.cost_usd });
        }
        account.reserved += wanted.tokens;
        account.reserved_usd += wanted.cost_usd;
        Ok(Reservation { budget: self, wanted })
    }
}

/// Tokens and money reserved for one call.
#[derive(Debug)]
pub(crate) struct Reservation<'a> {
    budget: &'a Budget,
    wanted: Estimate,
}

impl Reservation<'_> {
    /// Books the actual usage of the call.
    pub(crate) fn settle(self, spent: &ModelCost) {
        let mut account = self.budget.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.tokens += spent.input_tokens + spent.output_tokens;
        account.cost_usd += spent.cost_usd;
        account.longest = account.longest.max(spent.output_tokens);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut account = self.budget.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.reserved = account.reserved.saturating_sub(self.wanted.tokens);
        account.reserved_usd = (account.reserved_usd - self.wanted.cost_usd).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(tokens: u64, cost_usd: f64) -> ModelCost {
        ModelCost { requests: 1, input_tokens: tokens, cost_usd, ..ModelCost::default() }
    }

    // Requirement: 10.1
    #[test]
    fn reservations_count_until_they_are_settled_or_dropped() {
        let bounds = Bounds { max_tokens: Some(100), ..Bounds::default() };
        let budget = Budget::new(&bounds, &spent(10, 0.0), 0);
        let first = budget.reserve(tokens(60)).unwrap();
        assert_eq!(budget.reserve(tokens(60)).unwrap_err(), BudgetError::Tokens { limit: 100, used: 70, wanted: 60 });
        first.settle(&spent(20, 0.0));
        drop(budget.reserve(tokens(60)).unwrap());
        assert!(budget.reserve(tokens(70)).is_ok());
        assert!(budget.reserve(tokens(71)).is_err());
    }

    fn tokens(tokens: u64) -> Estimate {
        Estimate { tokens, cost_usd: 0.0 }
    }

    // Requirement: 10.3
    #[test]
    fn money_is_reserved_before_it_is_spent() {
        let budget = Budget::new(&Bounds { max_cost_usd: Some(1.0), ..Bounds::default() }, &spent(0, 0.25), 0);
        let wanted = |cost_usd| Estimate { tokens: 1, cost_usd };
        let (first, second) = (budget.reserve(wanted(0.25)).unwrap(), budget.reserve(wanted(0.25)).unwrap());
        let refused = BudgetError::Money { limit: 1.0, used: 0.75, wanted: 0.5 };
        assert_eq!(budget.reserve(wanted(0.5)).unwrap_err(), refused, "what others have reserved counts");
        drop(first);
        assert!(budget.reserve(wanted(0.5)).is_ok(), "one that came to nothing costs nothing");
        second.settle(&spent(1, 0.5));
        assert!(budget.reserve(wanted(0.5)).is_err());
        assert!(budget.reserve(wanted(0.25)).is_ok(), "to the bound, and not beyond it");
    }

    /// Concurrent callers see each other's reservations, so together they exceed no bound.
    // Requirement: 10.1
    #[test]
    fn many_at_once_pass_no_bound() {
        let bounds = Bounds { max_tokens: Some(1_000), max_cost_usd: Some(8.0), max_tool_calls: 300, max_actors: 200, ..Bounds::default() };
        let budget = Budget::new(&bounds, &ModelCost::default(), 0);
        let wanted = Estimate { tokens: 7, cost_usd: 0.015_625 };
        let one = || {
            let (mut requests, mut calls, mut actors) = (0, 0, 0);
            loop {
                let reserved = budget.reserve(wanted).ok();
                let (call, actor) = (budget.count_tool_call().is_ok(), budget.count_actor().is_ok());
                calls += u64::from(call);
                actors += u64::from(actor);
                std::thread::yield_now();
                let Some(reserved) = reserved else {
                    if call || actor {
                        continue;
                    }
                    return [requests, calls, actors];
                };
                requests += 1;
                reserved.settle(&ModelCost { input_tokens: wanted.tokens, cost_usd: wanted.cost_usd, ..ModelCost::default() });
            }
        };
        let done: Vec<[u64; 3]> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let sum = |of: usize| done.iter().map(|done| done[of]).sum::<u64>();
        assert_eq!((sum(1), sum(2)), (300, 200));
        assert!(sum(0) * wanted.tokens <= 1_000, "{} requests", sum(0));
        let spent = budget.account.lock().unwrap();
        assert_eq!((spent.tokens, spent.reserved), (sum(0) * wanted.tokens, 0));
    }

    // Requirement: 10.3
    #[test]
    fn an_estimate_learns_how_long_answers_are() {
        let prices = Prices { output: 1_000_000.0, ..Prices::default() };
        let budget = Budget::new(&Bounds::default(), &ModelCost::default(), 0);
        let cost = || budget.estimate(0, Some(2_000), Some(prices)).cost_usd;
        assert_eq!((cost(), budget.estimate(0, Some(2_000), None).cost_usd), (300.0, 0.0));
        for (answered, expected) in [(100, 300.0), (700, 700.0), (400, 700.0), (9_000, 2_000.0)] {
            budget.reserve(tokens(1)).unwrap().settle(&ModelCost { output_tokens: answered, ..spent(1, 0.0) });
            assert_eq!(cost(), expected, "{answered}");
        }
        let resumed = Budget::new(&Bounds::default(), &ModelCost { requests: 2, output_tokens: 1_000, ..ModelCost::default() }, 0);
        assert_eq!(resumed.estimate(0, Some(2_000), Some(prices)).cost_usd, 500.0);
    }

    // Requirement: 10.2
    #[test]
    fn money_ends_too() {
        let bounds = Bounds { max_cost_usd: Some(0.5), ..Bounds::default() };
        let budget = Budget::new(&bounds, &ModelCost::default(), 0);
        budget.reserve(tokens(1)).unwrap().settle(&spent(1, 0.5));
        assert_eq!(budget.reserve(tokens(1)).unwrap_err().bound(), "money");
    }

    // Requirement: 10.9
    #[test]
    fn actors_end_too() {
        let budget = Budget::new(&Bounds { max_actors: 3, ..Bounds::default() }, &ModelCost::default(), 0).with_actors(1);
        assert_eq!([budget.count_actor(), budget.count_actor()], [Ok(()), Ok(())]);
        let refused = budget.count_actor().unwrap_err();
        assert_eq!((refused.bound(), refused.to_string().as_str()), ("actors", "3 actors are allowed, and all are used"));
    }

    // Requirement: 10.9
    #[test]
    fn tool_calls_end_too() {
        let budget = Budget::new(&Bounds { max_tool_calls: 3, ..Bounds::default() }, &ModelCost::default(), 1);
        assert_eq!([budget.count_tool_call(), budget.count_tool_call()], [Ok(()), Ok(())]);
        for _ in 0..2 {
            assert_eq!(budget.count_tool_call().unwrap_err().bound(), "tool_calls");
        }
    }
}
