//! Destination of a host's commits.

use std::{
    future::ready,
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(feature = "journal")]
use crate::Loaded;
use crate::{Commit, Machine, Recorded, UnixMillis};

/// Makes commits durable: a stream of the journal, memory, or one of them wrapped.
///
/// A wrapper may hand a machine's events up to another one once they are durable. After a crash in between it hands up again what
/// [`replay`](crate::replay) gives, with the same running numbers, and the receiver drops what it has.
pub trait Sink<M: Machine>: Send {
    /// Error of a failed commit.
    type Error: Send;

    /// Appends facts and events, whole or not at all, after those of earlier appends. They are durable when
    /// [`flush`](Sink::flush) has returned, if not before. After a failure nothing more can be appended.
    fn append(&mut self, commit: Commit<'_, M>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Waits until all that was appended is durable; at once for a sink that makes each append so. It may be dropped while it waits, and be
    /// called again.
    fn flush(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        ready(Ok(()))
    }

    /// Returns the time of the last record, so that time does not run backwards after a resume.
    fn last(&self) -> UnixMillis {
        UnixMillis::MIN
    }
}

struct MemoryJournal<M: Machine> {
    input: Option<Recorded<M::Input>>,
    facts: Vec<Recorded<M::Fact>>,
    events: Vec<Recorded<M::Event>>,
}

/// Journal of one machine in memory, for tests and for programs that need no durability. Clones are further writers
/// of the same journal. As on disk, a writer that falls behind is fenced off.
pub struct MemoryStream<M: Machine> {
    journal: Arc<Mutex<MemoryJournal<M>>>,
    /// Number of records that this writer has seen.
    known_records: usize,
}

/// Another writer has continued a journal in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("another writer continues the journal in memory")]
pub struct FencedWriter;

impl<M: Machine> MemoryStream<M> {
    /// Returns an empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self { journal: Arc::new(Mutex::new(MemoryJournal { input: None, facts: Vec::new(), events: Vec::new() })), known_records: 0 }
    }

    /// Continues after what was loaded.
    #[cfg(feature = "journal")]
    #[must_use]
    pub fn after(mut self, loaded: &Loaded<M>) -> Self {
        self.known_records = loaded.facts.len() + 1;
        self
    }

    /// Returns the content; `None` if nothing was written.
    #[cfg(feature = "journal")]
    #[must_use]
    pub fn load(&self) -> Option<Loaded<M>> {
        self.with(|kept| Some(Loaded::whole(kept.input.clone()?, kept.facts.clone(), kept.events.len())))
    }

    /// Returns every event.
    #[must_use]
    pub fn events(&self) -> Vec<Recorded<M::Event>> {
        self.with(|kept| kept.events.clone())
    }

    fn with<T>(&self, work: impl FnOnce(&mut MemoryJournal<M>) -> T) -> T {
        work(&mut self.journal.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<M: Machine> Default for MemoryStream<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Machine> Clone for MemoryStream<M> {
    fn clone(&self) -> Self {
        Self { journal: Arc::clone(&self.journal), known_records: self.known_records }
    }
}

impl<M: Machine> Sink<M> for MemoryStream<M> {
    type Error = FencedWriter;

    async fn append(&mut self, commit: Commit<'_, M>) -> Result<(), FencedWriter> {
        let seen = self.known_records;
        self.known_records = self.with(|kept| {
            let held = usize::from(kept.input.is_some()) + kept.facts.len();
            if seen != held {
                return Err(FencedWriter);
            }
            if let Some(input) = commit.input {
                kept.input = Some(input.clone());
            }
            kept.facts.extend_from_slice(commit.facts);
            kept.events.extend(commit.events.into_owned());
            Ok(usize::from(kept.input.is_some()) + kept.facts.len())
        })?;
        Ok(())
    }

    fn last(&self) -> UnixMillis {
        self.with(|kept| kept.facts.last().map(|fact| fact.at).or(kept.input.as_ref().map(|input| input.at))).unwrap_or(UnixMillis::MIN)
    }
}
