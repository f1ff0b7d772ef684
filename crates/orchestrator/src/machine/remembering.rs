//! Long-term memory: recalled before planning, and extended at the end of the run. No fault of it ends a run.

use std::collections::BTreeSet;

use aime_messages::Message;
use aime_progress_management::{Origin, ProgressEvent, TaskKind};
use serde::{Deserialize, Serialize};

use super::{Out, Phase, RunMachine, effects::EffectPurpose};
use crate::{KnownContext, RunEffect};

/// The texts recalled for the prompts, and the faults of memory so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct MemoryState {
    /// In Markdown; may be empty.
    text: String,
    /// The sources of the text.
    origins: Vec<Origin>,
    faults: BTreeSet<String>,
}

impl MemoryState {
    pub(super) fn text(&self) -> String {
        self.text.clone()
    }

    pub(super) fn origins(&self) -> &[Origin] {
        &self.origins
    }
}

impl RunMachine {
    /// Returns true if a model will work for this run, so that recalled texts are useful.
    pub(super) fn uses_memory(&self) -> bool {
        let acts = || self.input.plan.as_ref().is_none_or(|plan| plan.tasks.iter().any(|task| task.kind == TaskKind::Actor));
        self.input.has_memory && self.input.can_plan && acts()
    }

    pub(super) fn ask_memory(&mut self, out: &mut Out) {
        self.phase = Phase::Recalling;
        let id = self.effects.next_id("recall");
        self.issue(id, RunEffect::Recall, EffectPurpose::Recall, out);
    }

    pub(super) fn recalled(&mut self, known: &KnownContext, out: &mut Out) {
        let KnownContext { text, items, tokens, left_out, faults, origins } = known.clone();
        for fault in faults {
            self.memory_failed(fault.into(), out);
        }
        if !items.is_empty() {
            self.emit(ProgressEvent::Recalled { items, tokens, left_out }, out);
        }
        (self.memory.text, self.memory.origins) = (text, origins);
        self.begin_work(out);
    }

    /// Reports a fault of memory, once.
    pub(super) fn memory_failed(&mut self, message: Message, out: &mut Out) {
        if self.memory.faults.insert(message.to_string()) {
            self.emit(ProgressEvent::MemoryFailed { message }, out);
        }
    }

    /// Requests to store the lessons of the run, if anything was tried. The run has ended by then, and its output waits
    /// for this.
    pub(super) fn remember(&mut self, out: &mut Out) {
        let tried = self.state.tasks.values().any(|task| task.spec.kind != TaskKind::Group && task.conclusion.is_some());
        if !tried || !self.uses_memory() {
            return;
        }
        let failure = self.stopping.failure().map(|error| error.message.to_string());
        let id = self.effects.next_id("remember");
        self.issue(id, RunEffect::Remember { state: Box::new(self.state.get().clone()), failure }, EffectPurpose::Remember, out);
    }
}
