//! Passes the actions of a person in the full-screen view to the run, as `aime tell`, `aime pause`, `aime cancel` and `aime answer` do.

use std::sync::Arc;

use aime_durable::{Clock, Journal, SystemClock};
use aime_orchestrator::InboxMessage;
use aime_progress_management::RunId;
use aime_redact::Redactor;
use aime_runs::{Runs, Setup};
use aime_terminal::{ActionHandler, UserAction};
use tokio::sync::{
    Notify,
    mpsc::{self, UnboundedReceiver},
};

use crate::{
    failure::Failure,
    i18n::msg,
    output::{BOLD, plain},
    person::{AtTerminal, ScreenPerson},
    screen::{Screen, head},
};

/// Creates the channel of actions: one end for the view, one for [`ActionListener`].
pub(super) fn action_channel() -> (ActionHandler, UnboundedReceiver<UserAction>) {
    let (sender, actions) = mpsc::unbounded_channel();
    // Sending fails if the receiver has ended.
    (Box::new(move |action| drop(sender.send(action))), actions)
}

/// Carries out the actions of the view.
pub(super) struct ActionListener<'a> {
    run: RunId,
    journal: Journal,
    redactor: Redactor,
    screen: Arc<Screen>,
    /// Questions that wait for answers in this process.
    person: Option<Arc<ScreenPerson>>,
    /// Runs of the folder, if another process may drive the run.
    runs: Option<&'a Runs>,
    /// Notified of Ctrl-C and of leaving.
    stops: Arc<Notify>,
}

impl<'a> ActionListener<'a> {
    pub(super) fn new(
        run: &RunId,
        screen: &Arc<Screen>,
        setup: &Setup,
        asked: Option<Arc<ScreenPerson>>,
        runs: Option<&'a Runs>,
        stops: &Arc<Notify>,
    ) -> Result<Self, Failure> {
        let (journal, redactor) = (setup.journal()?, setup.redactor().clone());
        Ok(Self { run: run.clone(), journal, redactor, screen: Arc::clone(screen), person: asked, runs, stops: Arc::clone(stops) })
    }

    /// Carries out actions one after another until the channel closes.
    pub(super) async fn handle_actions(self, mut actions: UnboundedReceiver<UserAction>) {
        while let Some(act) = actions.recv().await {
            let (message, note) = match act {
                UserAction::Tell { task, text } => {
                    let note = format!("{}{}", head(BOLD, "head-sent"), plain(&text));
                    (InboxMessage::Say { task, text }, Some(note))
                }
                UserAction::Pause => (InboxMessage::Pause {}, None),
                UserAction::Cancel { task } => {
                    // Nobody reads the inbox of a run that no process drives.
                    if let (None, Some(runs)) = (&task, self.runs.filter(|runs| !runs.is_driven(&self.run))) {
                        if let Err(error) = runs.cancel(&self.run, None).await {
                            self.screen.note(&msg!("view-not-done", error = error.message));
                        }
                        continue;
                    }
                    let note = task.as_ref().map(|task| format!("{}{task}", head(BOLD, "head-cancel")));
                    (InboxMessage::Cancel { task }, note)
                }
                UserAction::Answer { question, text } => {
                    let asked = self.person.as_ref();
                    let left = asked.map_or_else(|| Err(text.clone()), |asked| asked.answer(&question, text.clone()));
                    let Err(text) = left else { continue };
                    (InboxMessage::Answer { question, text }, None)
                }
                UserAction::Interrupt | UserAction::Leave => {
                    self.stops.notify_one();
                    continue;
                }
                UserAction::Lost => {
                    self.screen.switch_to_lines();
                    if let Some(asked) = self.person.clone() {
                        // A person may take their time, and other actions must still be handled meanwhile.
                        let terminal = Arc::new(AtTerminal::new(self.screen.pause()));
                        tokio::spawn(async move { asked.switch_channel(terminal).await });
                    }
                    continue;
                }
                // The view handles these itself.
                UserAction::Suspend | UserAction::Redraw => continue,
            };
            match self.put(&message).await {
                Ok(()) => note.iter().for_each(|note| self.screen.note(note)),
                Err(error) => self.screen.note(&msg!("view-not-done", error)),
            }
        }
    }

    async fn put(&self, message: &InboxMessage) -> Result<(), String> {
        let mut message = serde_json::to_value(message).map_err(|error| error.to_string())?;
        self.redactor.document(&mut message);
        let put = self.journal.inbox_put(self.run.as_str(), SystemClock.now(), &message.to_string()).await;
        put.map(drop).map_err(|error| error.to_string())
    }
}
