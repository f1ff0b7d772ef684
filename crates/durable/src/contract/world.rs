//! World in which a toy's effects run.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};

use super::toy::{LATE, Toy, ToyEffect, ToyFact};
use crate::{EffectContext, EffectId, EffectRunner, FailedEffect, Issue};

/// An effect that was started, and whether it was said to have been started before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedEffect {
    /// The effect.
    pub id: EffectId,
    /// [`Issue::reissued`].
    pub reissued: bool,
}

/// Does a toy's effects and remembers which.
#[derive(Debug, Default)]
pub struct World {
    /// Give every answer twice.
    pub duplicates: bool,
    started: Mutex<Vec<StartedEffect>>,
}

impl World {
    /// Returns a world that gives every answer twice.
    #[must_use]
    pub fn repeating() -> Self {
        Self { duplicates: true, ..Self::default() }
    }

    /// Returns the effects that were started so far.
    #[must_use]
    pub fn started(&self) -> Vec<StartedEffect> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Does an effect; `cancelled` is ready when it is revoked. A host that does not use [`EffectRunner`] calls this.
    pub async fn perform(&self, issue: Issue<ToyEffect>, cancelled: impl Future<Output = ()> + Send) -> ToyFact {
        let Issue { id, effect, reissued } = issue;
        self.started.lock().unwrap_or_else(PoisonError::into_inner).push(StartedEffect { id: id.clone(), reissued });
        let value = match effect {
            ToyEffect::Work(value) => value,
            ToyEffect::Timer(value) => {
                tokio::time::sleep(Duration::from_millis(1)).await;
                value
            }
            ToyEffect::Wait | ToyEffect::Stubborn => {
                cancelled.await;
                LATE
            }
        };
        ToyFact::Done { id, value }
    }
}

impl EffectRunner<Toy> for World {
    fn run(self: Arc<Self>, issue: Issue<ToyEffect>, context: EffectContext<Toy>) -> BoxFuture<'static, ToyFact> {
        async move {
            let polite = issue.effect == ToyEffect::Wait;
            let id = issue.id.clone();
            let mut fact = self.perform(issue, context.cancel.cancelled()).await;
            if let (true, Some(why)) = (polite, context.reason()) {
                fact = ToyFact::Revoked { id, why };
            }
            if self.duplicates {
                context.facts.send(fact.clone());
            }
            fact
        }
        .boxed()
    }

    fn failed(&self, effect: FailedEffect<'_>) -> ToyFact {
        ToyFact::Done { id: effect.id.clone(), value: LATE }
    }
}
