//! Messages of people and of the lead to an actor at work.

use std::{collections::BTreeSet, sync::Arc};

use aime_actor_factory::ActorMachine;
use aime_durable::FactSender;
use aime_progress_management::{EvidenceId, PlanMode, ProgressState};
use tokio::task::JoinHandle;

use super::Attempt;
use crate::messages::Listener;

impl Attempt {
    /// Returns the receiver of the messages that people send to this task.
    pub(super) fn listener(&self) -> Listener {
        Listener { task: self.task.clone(), alone: self.leads || self.brief.mode == Some(PlanMode::Direct) }
    }

    /// Returns whether an actor that begins or goes on is told a message that came before. The lead's wakes contain the messages before them, but
    /// a wake that was interrupted is repeated unchanged.
    pub(super) fn is_due(&self, message: &EvidenceId) -> bool {
        if self.audit.is_some() {
            return false;
        }
        let is_processed = |state: Arc<ProgressState>| state.evidence.iter().any(|known| known.id == *message && known.processed);
        !self.leads || !self.told.contains(message) && !self.runner.live.get(&self.runner.run).is_some_and(is_processed)
    }

    /// Forwards to an actor, until the task is aborted, the messages that arrive and are not in `delivered`, and the holds of its task. A
    /// delegated actor (`call`) is stopped by the one that delegated to it.
    pub(super) fn listen(&self, call: Option<&str>, delivered: BTreeSet<EvidenceId>, actor: FactSender<ActorMachine>) -> JoinHandle<()> {
        let (words, listener, listens) = (Arc::clone(&self.runner.words), self.listener(), self.audit.is_none());
        let can_be_held = listens && call.is_none() && !self.leads;
        tokio::spawn(async move {
            let holds = async {
                if can_be_held {
                    words.pass_on_holds(&listener.task, &actor).await;
                }
            };
            let messages = async {
                if listens {
                    words.pass_on(&listener, delivered, &actor).await;
                }
            };
            tokio::join!(holds, messages);
        })
    }
}
