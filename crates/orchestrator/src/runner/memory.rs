//! Recalls memories before a goal is planned, and stores one at its end. Both block, so they run on threads of their
//! own.

use std::sync::Arc;

use aime_durable::EffectId;
use aime_messages::Message;
use aime_progress_management::ProgressState;

use super::{Context, RunRunner};
use crate::{KnownContext, RunFact, memory::lesson};

/// Roles whose prompts contain the recalled texts.
const ROLES: [&str; 2] = ["planner", "default"];

impl RunRunner {
    pub(super) async fn recall(&self, id: EffectId, context: &Context) -> RunFact {
        let Some(memory) = self.parts.memory.clone() else { return RunFact::Recalled { id, known: KnownContext::default() } };
        let models = self.parts.models.as_ref();
        let windows = ROLES.iter().filter_map(|role| Some(models?.role(role).limits().context_tokens));
        let window = windows.min().unwrap_or_default();
        let (goal, now, cancel) = (self.input.goal.clone(), self.parts.clock.now(), context.cancel.clone());
        let recalled = tokio::task::spawn_blocking(move || memory.recall(&goal, now, window, || !cancel.is_cancelled())).await;
        match recalled {
            Ok(known) => RunFact::Recalled { id, known },
            Err(error) => RunFact::EffectFailed { id, message: Message::text(error) },
        }
    }

    pub(super) async fn remember(&self, id: EffectId, state: &ProgressState, failure: Option<&str>) -> RunFact {
        let lesson = lesson(&self.run, state, failure, self.parts.clock.now());
        let (Some(memory), Some(lesson)) = (self.parts.memory.as_ref().map(Arc::clone), lesson) else {
            return RunFact::Remembered { id, fault: None };
        };
        match tokio::task::spawn_blocking(move || memory.remember(lesson)).await {
            Ok(kept) => RunFact::Remembered { id, fault: kept.err() },
            Err(error) => RunFact::EffectFailed { id, message: Message::text(error) },
        }
    }
}
