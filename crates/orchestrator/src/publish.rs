//! Publishes events to watchers: after they are durable, in order, each once.

use std::sync::Arc;

use aime_durable::{Commit, JournalError, Recorded, Sink, StreamWriter, UnixMillis};
use aime_progress_management::{EVENT_SCHEMA, LiveStore, ProgressEvent, RunId, Timestamp};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{RunFact, RunMachine, messages::MessageChannel, questions::Answers, snapshots::SnapshotsDue};

/// An event of a run's journal.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedEvent {
    /// Its number, from 1, without gaps.
    pub seq: u64,
    /// Time of the event.
    pub at: Timestamp,
    /// The event.
    pub event: ProgressEvent,
}

impl PublishedEvent {
    /// Returns the event as an `aime.event/v1` document for other programs. `time` is the time in RFC 3339, UTC, as the
    /// caller formats it.
    #[must_use]
    pub fn document(&self, run: &RunId, time: &str) -> Value {
        let mut document = json!({"schema": EVENT_SCHEMA, "run_id": run, "seq": self.seq, "time": time});
        if let (Some(document), Ok(Value::Object(event))) = (document.as_object_mut(), serde_json::to_value(&self.event)) {
            document.extend(event);
        }
        document
    }
}

/// The journal stream of a run, which publishes each event once it is durable.
pub(crate) struct PublishingStream {
    pub(crate) run: RunId,
    pub(crate) live: Arc<LiveStore>,
    pub(crate) answers: Arc<Answers>,
    pub(crate) words: Arc<MessageChannel>,
    pub(crate) snapshots: Arc<SnapshotsDue>,
    pub(crate) writer: StreamWriter,
    pub(crate) published: u64,
    pub(crate) watcher: mpsc::UnboundedSender<PublishedEvent>,
    /// Appended messages and cancels of people and appended events that are published once they are durable.
    pub(crate) pending: (Vec<RunFact>, Vec<Recorded<ProgressEvent>>),
    /// Number of appended facts that are not durable yet.
    pub(crate) facts: usize,
    /// The entry of a new run in the journal, until it is durable.
    pub(crate) entered: Option<Entry>,
}

/// A pending write of a journal entry.
pub(crate) type Entry = BoxFuture<'static, Result<(), JournalError>>;

impl Sink<RunMachine> for PublishingStream {
    type Error = JournalError;

    async fn append(&mut self, commit: Commit<'_, RunMachine>) -> Result<(), JournalError> {
        let is_message = |recorded: &&Recorded<RunFact>| {
            matches!(
                recorded.fact,
                RunFact::PersonSaid { .. } | RunFact::LeadRested { .. } | RunFact::CancelRequested { message: Some(_), .. }
            )
        };
        self.pending.0.extend(commit.facts.iter().filter(is_message).map(|recorded| recorded.fact.clone()));
        self.facts += commit.facts.len();
        self.writer.queue(&commit).await?;
        self.pending.1.append(&mut commit.events.into_owned());
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), JournalError> {
        if let Some(entered) = &mut self.entered {
            entered.await?;
            self.entered = None;
        }
        self.writer.flush().await?;
        self.snapshots.count(std::mem::take(&mut self.facts));
        let (facts, events) = std::mem::take(&mut self.pending);
        facts.iter().for_each(|fact| self.words.put(fact));
        self.words.see(events.iter().map(|event| &event.fact));
        if let Err(error) = self.live.apply_all(&self.run, events.iter().map(|event| (Timestamp::from_millis(event.at), &event.fact))) {
            tracing::warn!(%error, "the live view of the run has missed an event; the journal has it");
        }
        self.words.state_changed();
        for Recorded { at, fact } in events {
            self.published += 1;
            let event = PublishedEvent { seq: self.published, at: Timestamp::from_millis(at), event: fact };
            if let ProgressEvent::QuestionAnswered { id, answer } = &event.event {
                self.answers.put(id.clone(), answer.clone());
            }
            // Without a watcher the event is only in the journal.
            drop(self.watcher.send(event));
        }
        Ok(())
    }

    fn last(&self) -> UnixMillis {
        Sink::<RunMachine>::last(&self.writer)
    }
}
