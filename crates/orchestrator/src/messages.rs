//! Unsolicited messages, on the way from the run to its working actors.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use aime_actor_factory::{ActorFact, ActorMachine, PersonMessage};
use aime_durable::FactSender;
use aime_progress_management::{EvidenceId, LeadCommand, ProgressEvent, TaskId, TaskStatus};
use tokio::sync::watch;

use crate::{
    RunFact, RunMachine,
    machine::people::RunMessage,
    run_context::{ActorMessage, messages_after, messages_in},
};

/// Receiver of messages: the actor of this task.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pub(crate) task: TaskId,
    /// True for the only actor, which also receives messages to the run itself.
    pub(crate) alone: bool,
}

/// All messages in the run's journal. An actor receives a message only after it is journaled. An actor that starts
/// later receives earlier messages too.
#[derive(Debug, Default)]
pub(crate) struct MessageChannel {
    messages: watch::Sender<Vec<ActorMessage>>,
    /// The tasks that run.
    working: Mutex<BTreeSet<TaskId>>,
    /// The running tasks that the lead holds.
    held: watch::Sender<BTreeSet<TaskId>>,
    /// Ids of the messages from other processes that cancelled something.
    cancels: Mutex<BTreeSet<i64>>,
    /// Signals a change of the run's live state.
    state: watch::Sender<()>,
}

impl MessageChannel {
    /// Creates the channel with the messages from before a resume.
    pub(crate) fn of(run: &RunMachine) -> Self {
        let addressed = |message: &RunMessage| (message.task.clone(), message.for_actor());
        Self {
            messages: watch::Sender::new(run.person_messages().iter().map(addressed).collect()),
            working: Mutex::new(run.working()),
            held: watch::Sender::default(),
            cancels: Mutex::default(),
            state: watch::Sender::default(),
        }
    }

    /// Takes in a fact of the run's journal. Ignores all facts but messages, cancellations and holds.
    pub(crate) fn put(&self, fact: &RunFact) {
        if let RunFact::CancelRequested { message: Some(message), .. } = fact {
            self.cancels.lock().unwrap_or_else(PoisonError::into_inner).insert(*message);
        }
        if let RunFact::LeadRested { rest, .. } = fact {
            rest.commands.iter().for_each(|command| self.hold(command));
        }
        self.add(messages_in(fact));
    }

    /// Takes in a hold or a release of a running task.
    fn hold(&self, command: &LeadCommand) {
        let runs = |task: &TaskId| self.working.lock().unwrap_or_else(PoisonError::into_inner).contains(task);
        let can_hold = matches!(command, LeadCommand::HoldTask { task } if runs(task));
        self.held.send_if_modified(|held| match command {
            LeadCommand::HoldTask { task } if can_hold => held.insert(task.clone()),
            LeadCommand::ReleaseTask { task } => held.remove(task),
            _ => false,
        });
    }

    /// Takes in events of the run's journal.
    pub(crate) fn see<'a>(&self, events: impl Iterator<Item = &'a ProgressEvent>) {
        let mut working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stopped = Vec::new();
        let new = events.flat_map(|event| {
            if let ProgressEvent::TaskStatusChanged { task, to, .. } = event
                && *to != TaskStatus::Running
            {
                stopped.push(task.clone());
            }
            messages_after(event, &mut working)
        });
        let new = new.collect();
        drop(working);
        self.held.send_if_modified(|held| stopped.iter().filter(|task| held.remove(*task)).count() > 0);
        self.add(new);
    }

    fn add(&self, mut new: Vec<ActorMessage>) {
        if new.is_empty() {
            return;
        }
        self.messages.send_if_modified(|messages| {
            new.retain(|message| !messages.contains(message));
            messages.append(&mut new.clone());
            !new.is_empty()
        });
    }

    /// Signals a change of the run's live state.
    pub(crate) fn state_changed(&self) {
        self.state.send_replace(());
    }

    /// Waits until `look` returns a value for the live state of the run.
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

    /// Returns true if the run's journal contains the cancellation of this message, since the run was started or
    /// resumed.
    pub(crate) fn has_cancelled(&self, message: i64) -> bool {
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner).contains(&message)
    }

    /// Returns true if the run's journal contains this message.
    pub(crate) fn contains(&self, id: &EvidenceId) -> bool {
        self.messages.borrow().iter().any(|(_, message)| message.id == *id)
    }

    /// Returns the messages to one actor so far.
    pub(crate) fn messages_for(&self, listener: &Listener) -> Vec<PersonMessage> {
        let messages = self.messages.borrow();
        let theirs = messages.iter().filter(|(task, _)| task.as_ref().map_or(listener.alone, |task| *task == listener.task));
        theirs.map(|(_, message)| message.clone()).collect()
    }

    /// Tells the actor of a task when the lead holds and releases the task. Ends with the actor.
    pub(crate) async fn pass_on_holds(&self, task: &TaskId, actor: &FactSender<ActorMachine>) {
        let (mut changes, mut is_paused) = (self.held.subscribe(), false);
        loop {
            let is_held = changes.borrow_and_update().contains(task);
            let fact = || if is_held { ActorFact::Paused {} } else { ActorFact::Resumed {} };
            if std::mem::replace(&mut is_paused, is_held) != is_held && !actor.send(fact()) {
                return;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Forwards to an actor the messages that arrive while it works and are not in `delivered` yet. Ends with the actor.
    pub(crate) async fn pass_on(&self, listener: &Listener, mut delivered: BTreeSet<EvidenceId>, actor: &FactSender<ActorMachine>) {
        let mut changes = self.messages.subscribe();
        loop {
            changes.mark_unchanged();
            for message in self.messages_for(listener) {
                if delivered.insert(message.id.clone()) && !actor.send(ActorFact::PersonMessage { message }) {
                    return;
                }
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}
