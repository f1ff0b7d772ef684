//! Hooks: programs and code of one's own that see what a run does, and may change or block it.
//!
//! Hooks are asked by the effect runners alone; the machines learn what came of it as facts, so a replay asks no hook.

mod command;
mod event;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::time::timeout;

use crate::RunResult;

pub use command::{CommandHook, CommandHookSettings, HookSettingsError, ToolPatterns};
pub use event::{HookAct, HookDeed, HookEvent, HookMessage, HookPayload, HookPoint, HookToolResult};

/// How long a hook may take that says nothing of it.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// What a hook says.
#[derive(Debug, Clone, PartialEq)]
pub enum HookAnswer {
    /// Go on.
    Continue,
    /// Go on with this in its place: `{"message": …}` before a prompt, `{"parameters": …}` before a tool, `{"text": …}` after one,
    /// `{"plan": …}` or `{"patch": …}` after the planner.
    Change(Value),
    /// Do not go on.
    Block {
        /// Why, for the model and for people.
        reason: String,
    },
}

/// A hook that could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(
    /// What went wrong.
    pub String,
);

/// Sees what a run does, and may change or block it.
pub trait Hook: Send + Sync {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// When it is asked.
    fn points(&self) -> &[HookPoint];

    /// Whether it is asked about this very event, at one of its points.
    fn wants(&self, event: &HookEvent) -> bool {
        let _ = event;
        true
    }

    /// Whether nothing goes on when it fails. Otherwise that is told, and things go on.
    fn required(&self) -> bool {
        false
    }

    /// How long it may take; then it has failed.
    fn time_limit(&self) -> Duration {
        TIME_LIMIT
    }

    /// Looks at an event. The future is dropped when the run is stopped or the time is over.
    fn ask<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, Result<HookAnswer, HookError>>;
}

/// Hooks in the order in which they are asked. Cheap to clone; none by default.
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

/// What all hooks together say of an event.
pub(crate) struct Heard {
    /// The event as they left it.
    pub(crate) event: HookEvent,
    /// What they did.
    pub(crate) acts: Vec<HookAct>,
    /// The first block, in words.
    pub(crate) blocked: Option<String>,
}

impl Hooks {
    /// Whether any hook is asked at this point.
    #[must_use]
    pub fn are_at(&self, point: HookPoint) -> bool {
        self.list.iter().any(|hook| hook.points().contains(&point))
    }

    /// Asks every hook of the event's point in order. Each sees what those before it changed; after a block no other is asked.
    pub(crate) async fn ask(&self, event: HookEvent) -> Heard {
        let mut heard = Heard { event, acts: Vec::new(), blocked: None };
        for hook in self.list.iter() {
            if !hook.points().contains(&heard.event.point) || !hook.wants(&heard.event) {
                continue;
            }
            let (limit, name) = (hook.time_limit(), hook.name());
            let late = |_| Err(HookError(format!("it took longer than {} s", limit.as_secs())));
            let answer = timeout(limit, hook.ask(&heard.event)).await.unwrap_or_else(late);
            let problem = match answer {
                Ok(HookAnswer::Continue) => continue,
                Ok(HookAnswer::Change(change)) => match heard.event.change(&change) {
                    Ok(()) => {
                        heard.tell(name, HookDeed::Changed, &change.to_string());
                        continue;
                    }
                    Err(fault) => fault,
                },
                Ok(HookAnswer::Block { reason }) => {
                    heard.block(name, &reason);
                    break;
                }
                Err(HookError(problem)) => problem,
            };
            if hook.required() {
                heard.block(name, &format!("it is required and failed: {problem}"));
                break;
            }
            heard.tell(name, HookDeed::Failed, &problem);
        }
        heard
    }

    /// Tells of the end of a run, or of this part of it. Nothing can be changed any more, and the run's journal is closed: what hooks
    /// failed at, or tried to do, is said in the result.
    pub(crate) async fn stopped(&self, result: &mut RunResult) {
        if !self.are_at(HookPoint::Stop) {
            return;
        }
        let payload = HookPayload::Stop { result: Box::new(result.clone()) };
        let heard = self.ask(HookEvent::new(HookPoint::Stop, result.run_id.clone(), None, payload)).await;
        let note = |act: HookAct| match act.did {
            HookDeed::Failed => format!("the hook {} at {} failed: {}", act.hook, act.point, act.detail),
            // The end has come already.
            HookDeed::Changed | HookDeed::Blocked => format!("the hook {} at {} blocks in vain: {}", act.hook, act.point, act.detail),
        };
        result.notes.extend(heard.acts.into_iter().map(note));
    }
}

impl Heard {
    fn tell(&mut self, hook: &str, did: HookDeed, detail: &str) {
        self.acts.push(HookAct::new(hook, &self.event, did, detail));
    }

    fn block(&mut self, hook: &str, reason: &str) {
        self.tell(hook, HookDeed::Blocked, reason);
        self.blocked = Some(format!("blocked by the hook {hook}: {reason}"));
    }

    /// The hooks that changed the event, for who is told of a change that does not fit.
    pub(crate) fn changed_by(&self) -> Option<String> {
        let names: Vec<&str> = self.acts.iter().filter(|act| act.did == HookDeed::Changed).map(|act| act.hook.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}
