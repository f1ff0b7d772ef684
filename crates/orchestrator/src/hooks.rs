//! Hooks: the user's programs and code that see the actions of a run and may change or block them.
//!
//! Only the effect runners call hooks. The machines receive the outcome as facts, so a replay calls no hook.

mod command;
mod event;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use aime_messages::{Message, message};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::timeout;

use crate::RunResult;

pub use aime_progress_management::HookPoint;
use aime_progress_management::{HookAction, HookOutcome};
pub use command::{CommandHook, CommandHookSettings, HookSettingsError, ToolPatterns};
pub use event::{HookEvent, HookFolder, HookMessage, HookPayload, HookToolResult};

/// Default time limit of a hook.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Answer of a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum HookAnswer {
    /// Continue.
    Continue,
    /// Continue with this value instead: `{"message": …}` before a prompt, `{"parameters": …}` before a tool, `{"text":
    /// …}` after one, `{"plan": …}` or `{"patch": …}` after the planner.
    Change(Value),
    /// Do not continue.
    Block {
        /// Reason, for the model and for people.
        reason: String,
    },
}

/// Failure of a hook to answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(
    /// Error message.
    pub String,
);

/// A hook: sees the actions of a run and may change or block them.
pub trait Hook: Send + Sync {
    /// Returns the hook's name, for people.
    fn name(&self) -> &str;

    /// Returns the points at which the hook is called.
    fn points(&self) -> &[HookPoint];

    /// Returns true if the hook is called for this event at one of its points.
    fn wants(&self, event: &HookEvent) -> bool {
        let _ = event;
        true
    }

    /// Returns true if a failure of the hook blocks the action. Otherwise the failure is reported and the action
    /// continues.
    fn required(&self) -> bool {
        false
    }

    /// Returns the time limit. A hook that exceeds it has failed.
    fn time_limit(&self) -> Duration {
        TIME_LIMIT
    }

    /// Handles an event. The future is dropped when the run is stopped or the time limit is reached.
    fn ask<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, Result<HookAnswer, HookError>>;
}

/// Hooks in the order of their calls. Cheap to clone; empty by default.
#[derive(Clone, Default)]
pub struct Hooks {
    list: Arc<[Arc<dyn Hook>]>,
}

impl FromIterator<Arc<dyn Hook>> for Hooks {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Hook>>>(hooks: I) -> Self {
        Self { list: hooks.into_iter().collect() }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(|hook| hook.name())).finish()
    }
}

/// Combined answer of all hooks to an event.
pub(crate) struct HookResponse {
    /// The event after the changes of all hooks.
    pub(crate) event: HookEvent,
    /// Actions of the hooks.
    pub(crate) acts: Vec<HookAction>,
    /// Reason of the first block.
    pub(crate) blocked: Option<String>,
}

impl Hooks {
    /// Returns true if any hook is called at this point.
    #[must_use]
    pub fn are_at(&self, point: HookPoint) -> bool {
        self.list.iter().any(|hook| hook.points().contains(&point))
    }

    /// Calls every hook of the event's point in order. Each sees the changes of those before it. After a block no
    /// further hook is called.
    pub(crate) async fn ask(&self, event: HookEvent) -> HookResponse {
        let mut response = HookResponse { event, acts: Vec::new(), blocked: None };
        for hook in self.list.iter() {
            if !hook.points().contains(&response.event.point) || !hook.wants(&response.event) {
                continue;
            }
            let (limit, name) = (hook.time_limit(), hook.name());
            let late = |_| Err(HookError(format!("it took longer than {} s", limit.as_secs())));
            let answer = timeout(limit, hook.ask(&response.event)).await.unwrap_or_else(late);
            let problem = match answer {
                Ok(HookAnswer::Continue) => continue,
                Ok(HookAnswer::Change(change)) => match response.event.change(&change) {
                    Ok(()) => {
                        response.record(name, HookOutcome::Changed, &change.to_string());
                        continue;
                    }
                    Err(fault) => fault,
                },
                Ok(HookAnswer::Block { reason }) => {
                    response.block(name, &reason);
                    break;
                }
                Err(HookError(problem)) => problem,
            };
            if hook.required() {
                response.block(name, &format!("it is required and failed: {problem}"));
                break;
            }
            response.record(name, HookOutcome::Failed, &problem);
        }
        response
    }

    /// Reports to hooks that the run, or this process's part of it, has ended. The journal is already closed, so
    /// failures and attempted changes go into the result.
    pub(crate) async fn stopped(&self, result: &mut RunResult) {
        if !self.are_at(HookPoint::Stop) {
            return;
        }
        let payload = HookPayload::Stop { result: Box::new(result.clone()) };
        let response = self.ask(HookEvent::new(HookPoint::Stop, result.run_id.clone(), None, payload)).await;
        let note = |act: HookAction| match act.did {
            HookOutcome::Failed => {
                message!("hook-failed-after-end", hook = act.hook, point = act.point, reason = Message::text(act.detail))
            }
            // Nothing can be changed or blocked after the end.
            HookOutcome::Changed | HookOutcome::Blocked => {
                message!("hook-blocks-after-end", hook = act.hook, point = act.point, reason = Message::text(act.detail))
            }
        };
        result.notes.extend(response.acts.into_iter().map(note));
    }
}

impl HookResponse {
    fn record(&mut self, hook: &str, did: HookOutcome, detail: &str) {
        self.acts.push(event::act(hook, &self.event, did, detail));
    }

    fn block(&mut self, hook: &str, reason: &str) {
        self.record(hook, HookOutcome::Blocked, reason);
        self.blocked = Some(format!("blocked by the hook {hook}: {reason}"));
    }

    /// Returns the names of the hooks that changed the event, for the report of a change that does not fit.
    pub(crate) fn changed_by(&self) -> Option<String> {
        let names: Vec<&str> = self.acts.iter().filter(|act| act.did == HookOutcome::Changed).map(|act| act.hook.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}
