//! One budget for the whole tree of actors: reserved before it is spent.

use std::sync::{Mutex, PoisonError};

use aime_progress::Spent;

use crate::Bounds;

/// Why a call is not made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BudgetError {
    /// Too few tokens remain.
    #[error("{used} of {limit} tokens are used or reserved, and the next request needs about {wanted}")]
    Tokens {
        /// The limit.
        limit: u64,
        /// What was spent or is reserved.
        used: u64,
        /// What the request needs at least.
        wanted: u64,
    },
    /// The money is spent.
    #[error("{used:.4} of {limit:.4} USD are spent")]
    Money {
        /// The limit.
        limit: f64,
        /// What was spent.
        used: f64,
    },
    /// The tool calls are used up.
    #[error("{limit} tool calls were allowed, and all of them are begun")]
    ToolCalls {
        /// The limit.
        limit: u64,
    },
    /// The actors are used up.
    #[error("{limit} actors were allowed, and all of them are used")]
    Actors {
        /// The limit.
        limit: u32,
    },
}

impl BudgetError {
    /// The bound's name in events.
    #[must_use]
    pub const fn bound(&self) -> &'static str {
        match self {
            Self::Tokens { .. } => "tokens",
            Self::Money { .. } => "money",
            Self::ToolCalls { .. } => "tool_calls",
            Self::Actors { .. } => "actors",
        }
    }
}

#[derive(Debug, Default)]
struct Account {
    tokens: u64,
    reserved: u64,
    cost_usd: f64,
    tool_calls: u64,
    actors: u32,
}

/// Tokens, money, tool calls and actors of one run. Every actor, and every model call and tool call of every actor, goes through it.
#[derive(Debug)]
pub struct Budget {
    max_tokens: Option<u64>,
    max_cost_usd: Option<f64>,
    max_tool_calls: u64,
    max_actors: u32,
    account: Mutex<Account>,
}

impl Budget {
    /// A budget within `bounds`, of which `spent` is gone and `tool_calls` were made.
    #[must_use]
    pub fn new(bounds: &Bounds, spent: &Spent, tool_calls: u64) -> Self {
        let tokens = spent.input_tokens + spent.output_tokens;
        let account = Account { tokens, reserved: 0, cost_usd: spent.cost_usd, tool_calls, actors: 0 };
        let (max_tokens, max_cost_usd, max_tool_calls) = (bounds.max_tokens, bounds.max_cost_usd, bounds.max_tool_calls);
        Self { max_tokens, max_cost_usd, max_tool_calls, max_actors: bounds.max_actors, account: Mutex::new(account) }
    }

    /// The same after so many actors were used.
    #[must_use]
    pub fn with_actors(mut self, used: u32) -> Self {
        self.account.get_mut().unwrap_or_else(PoisonError::into_inner).actors = used;
        self
    }

    /// Counts an actor that is about to work: one for a task of the plan with each of its attempts, one for each delegation. The count
    /// stays, whatever the actor comes to.
    ///
    /// # Errors
    /// [`BudgetError::Actors`] when there is none left: then the actor must not be made.
    pub fn count_actor(&self) -> Result<(), BudgetError> {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        if account.actors >= self.max_actors {
            return Err(BudgetError::Actors { limit: self.max_actors });
        }
        account.actors += 1;
        Ok(())
    }

    /// Counts a tool call that is about to be made. The count stays, whatever the call comes to.
    ///
    /// # Errors
    /// [`BudgetError::ToolCalls`] when there is none left: then the call must not be made.
    pub fn count_tool_call(&self) -> Result<(), BudgetError> {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        if account.tool_calls >= self.max_tool_calls {
            return Err(BudgetError::ToolCalls { limit: self.max_tool_calls });
        }
        account.tool_calls += 1;
        Ok(())
    }

    /// Reserves `tokens` for one call. The reservation ends when it is settled or dropped.
    ///
    /// # Errors
    /// [`BudgetError`] when a limit leaves no room: then nothing is reserved.
    pub fn reserve(&self, tokens: u64) -> Result<Reservation<'_>, BudgetError> {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        let used = account.tokens + account.reserved;
        if let Some(limit) = self.max_tokens.filter(|limit| used + tokens > *limit) {
            return Err(BudgetError::Tokens { limit, used, wanted: tokens });
        }
        if let Some(limit) = self.max_cost_usd.filter(|limit| account.cost_usd >= *limit) {
            return Err(BudgetError::Money { limit, used: account.cost_usd });
        }
        account.reserved += tokens;
        Ok(Reservation { budget: self, tokens })
    }
}

/// Tokens set aside for one call.
#[derive(Debug)]
pub struct Reservation<'a> {
    budget: &'a Budget,
    tokens: u64,
}

impl Reservation<'_> {
    /// Books what the call really took.
    pub fn settle(self, spent: &Spent) {
        let mut account = self.budget.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.tokens += spent.input_tokens + spent.output_tokens;
        account.cost_usd += spent.cost_usd;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut account = self.budget.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.reserved = account.reserved.saturating_sub(self.tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(tokens: u64, cost_usd: f64) -> Spent {
        Spent { requests: 1, input_tokens: tokens, cached_input_tokens: 0, output_tokens: 0, cost_usd }
    }

    #[test]
    fn reservations_count_until_they_are_settled_or_dropped() {
        let bounds = Bounds { max_tokens: Some(100), ..Bounds::default() };
        let budget = Budget::new(&bounds, &spent(10, 0.0), 0);
        let first = budget.reserve(60).unwrap();
        assert_eq!(budget.reserve(60).unwrap_err(), BudgetError::Tokens { limit: 100, used: 70, wanted: 60 });
        first.settle(&spent(20, 0.0));
        drop(budget.reserve(60).unwrap());
        assert!(budget.reserve(70).is_ok());
        assert!(budget.reserve(71).is_err());
    }

    #[test]
    fn money_ends_too() {
        let bounds = Bounds { max_cost_usd: Some(0.5), ..Bounds::default() };
        let budget = Budget::new(&bounds, &Spent::default(), 0);
        budget.reserve(1).unwrap().settle(&spent(1, 0.5));
        assert_eq!(budget.reserve(1).unwrap_err().bound(), "money");
    }

    #[test]
    fn actors_end_too() {
        let budget = Budget::new(&Bounds { max_actors: 3, ..Bounds::default() }, &Spent::default(), 0).with_actors(1);
        assert_eq!([budget.count_actor(), budget.count_actor()], [Ok(()), Ok(())]);
        let refused = budget.count_actor().unwrap_err();
        assert_eq!((refused.bound(), refused.to_string().as_str()), ("actors", "3 actors were allowed, and all of them are used"));
    }

    #[test]
    fn tool_calls_end_too() {
        let budget = Budget::new(&Bounds { max_tool_calls: 3, ..Bounds::default() }, &Spent::default(), 1);
        assert_eq!([budget.count_tool_call(), budget.count_tool_call()], [Ok(()), Ok(())]);
        for _ in 0..2 {
            assert_eq!(budget.count_tool_call().unwrap_err().bound(), "tool_calls");
        }
    }
}
