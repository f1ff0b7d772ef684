//! What people say unasked, on its way from the run to the actors at work.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use aime_actors::{ActorFact, ActorMachine, Told};
use aime_durable::FactSender;
use aime_progress::{EvidenceId, TaskId};
use tokio::sync::watch;

use crate::{RunFact, RunMachine, machine::people::Said, run_context::words_of_lead};

/// Who hears: the actor of this task.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pub(crate) task: TaskId,
    /// It is the only one, and hears what is said to the run itself.
    pub(crate) alone: bool,
}

/// Everything that was said and stands in the run's journal. An actor hears it only once the run can no longer forget it; what is said
/// before an actor begins is not lost.
#[derive(Debug, Default)]
pub(crate) struct Words {
    said: watch::Sender<Vec<(Option<TaskId>, Told)>>,
    /// The messages from other processes that cancelled something.
    cancels: Mutex<BTreeSet<i64>>,
    /// Signals that the live state of the run has changed.
    state: watch::Sender<()>,
}

impl Words {
    /// With what was said before a resume.
    pub(crate) fn of(run: &RunMachine) -> Self {
        let told = |said: &Said| (said.task.clone(), said.told());
        Self { said: watch::Sender::new(run.said().iter().map(told).collect()), cancels: Mutex::default(), state: watch::Sender::default() }
    }

    /// Takes in a fact of the run's journal; all but words and cancels are let pass.
    pub(crate) fn put(&self, fact: &RunFact) {
        match fact {
            RunFact::PersonSaid { id, task, text } => self.said.send_modify(|said| {
                if !said.iter().any(|(_, told)| told.id == *id) {
                    said.push((task.clone(), Told { id: id.clone(), text: text.clone() }));
                }
            }),
            RunFact::LeadRested { rest, .. } => {
                let words: Vec<_> = words_of_lead(rest).collect();
                if !words.is_empty() {
                    self.said.send_modify(|said| said.extend(words.into_iter().map(|(task, told)| (Some(task), told))));
                }
            }
            RunFact::CancelRequested { message: Some(message), .. } => {
                self.cancels.lock().unwrap_or_else(PoisonError::into_inner).insert(*message);
            }
            _ => {}
        }
    }

    /// Signals that the live state of the run has changed.
    pub(crate) fn state_changed(&self) {
        self.state.send_replace(());
    }

    /// Waits until `look` finds something in the live state of the run.
    pub(crate) async fn until<T>(&self, mut look: impl FnMut() -> Option<T> + Send) -> T {
        let mut changes = self.state.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(found) = look() {
                return found;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Whether the run's journal has what this message cancelled, since the run was taken up.
    pub(crate) fn has_cancelled(&self, message: i64) -> bool {
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner).contains(&message)
    }

    /// Whether the run's journal has these words.
    pub(crate) fn knows(&self, id: &EvidenceId) -> bool {
        self.said.borrow().iter().any(|(_, told)| told.id == *id)
    }

    /// What was said so far to one actor.
    pub(crate) fn so_far(&self, listener: &Listener) -> Vec<Told> {
        let said = self.said.borrow();
        let theirs = said.iter().filter(|(task, _)| task.as_ref().map_or(listener.alone, |task| *task == listener.task));
        theirs.map(|(_, told)| told.clone()).collect()
    }

    /// Passes on to an actor what is said while it works and is not `heard` yet. Ends with the actor.
    pub(crate) async fn pass_on(&self, listener: &Listener, mut heard: BTreeSet<EvidenceId>, actor: &FactSender<ActorMachine>) {
        let mut changes = self.said.subscribe();
        loop {
            changes.mark_unchanged();
            for said in self.so_far(listener) {
                if heard.insert(said.id.clone()) && !actor.send(ActorFact::Told { said }) {
                    return;
                }
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}
