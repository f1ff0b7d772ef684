//! Long-term memory and knowledge of runs: recalled before a goal is planned, extended at the end of the run.

mod lesson;

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use aime_memory::{KnowledgeSettings, Memory, MemoryError, MemorySettings, MemoryStore, Origin as Place, PromptBounds, UnixMillis, render};
use aime_progress_management::{Origin, RecalledFrom, RecalledItem};
use aime_redact::{Redactor, redact};

use crate::KnownContext;

pub(crate) use lesson::{lesson, origins_of};

/// Maximum time that a run waits for the index of its knowledge folder. Later runs index the rest.
const INDEXING: Duration = Duration::from_secs(10);
/// Maximum shares of a model's context window for memories and for knowledge, in percent. Together they equal the share
/// that actors use.
const MEMORY_SHARE: u64 = 7;
const KNOWLEDGE_SHARE: u64 = 13;

/// Settings of the memory: its files and its bounds.
#[derive(Debug, Clone)]
pub struct RunMemorySettings {
    /// Path of the memory file. It is created when the first run ends, or when there is a knowledge folder to index.
    pub file: PathBuf,
    /// Bounds of the stored memories.
    pub store: MemorySettings,
    /// Path of a folder of documents.
    pub knowledge: Option<PathBuf>,
    /// Bounds of that folder.
    pub documents: KnowledgeSettings,
    /// Maximum number of memories that a run recalls.
    pub recall: usize,
    /// Maximum number of pieces of documents that a run retrieves.
    pub chunks: usize,
    /// Maximum number of prompt tokens for both. A small context window lowers the bounds further: to 7 percent of it
    /// for memories, 13 for knowledge.
    pub prompt: PromptBounds,
    /// Removes values that must never be stored, in addition to text that looks like a secret.
    pub redactor: Redactor,
}

impl RunMemorySettings {
    /// Returns settings for a memory in this file with the default bounds and no knowledge folder: 3 memories, 3 pieces
    /// of documents.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            store: MemorySettings::default(),
            knowledge: None,
            documents: KnowledgeSettings::default(),
            recall: 3,
            chunks: 3,
            prompt: PromptBounds::default(),
            redactor: Redactor::default(),
        }
    }
}

/// Long-term memory of runs. The file is opened when a run first needs it. Several runs may share one memory.
#[derive(Debug)]
pub struct RunMemory {
    settings: RunMemorySettings,
    opened: Mutex<Option<MemoryStore>>,
}

impl RunMemory {
    /// Creates a memory that is not opened yet.
    #[must_use]
    pub const fn new(settings: RunMemorySettings) -> Self {
        Self { settings, opened: Mutex::new(None) }
    }

    /// Returns the memories and pieces of documents that fit a goal, sized for prompts of models with windows of
    /// `window` tokens. Blocks. Reports faults in its result, because a run continues without memory. Asks `go_on`
    /// between documents while it indexes.
    pub(crate) fn recall(&self, goal: &str, at: UnixMillis, window: u32, go_on: impl Fn() -> bool) -> KnownContext {
        let mut faults = Vec::new();
        if self.settings.knowledge.is_none() && !self.settings.file.exists() {
            return KnownContext::default();
        }
        let store = match self.store() {
            Ok(store) => store,
            Err(error) => return KnownContext { faults: vec![error_text(&error)], ..KnownContext::default() },
        };
        let memories = if self.settings.recall == 0 { Ok(Vec::new()) } else { store.recall(goal, self.settings.recall) };
        let memories = memories.map_err(|error| faults.push(error_text(&error))).unwrap_or_default();
        let chunks = self.retrieve(&store, goal, at, go_on, &mut faults);
        let chunks = chunks.map_err(|error| faults.push(error_text(&error))).unwrap_or_default();
        let PromptBounds { memory_tokens, knowledge_tokens } = self.settings.prompt;
        let share = |percent| u64::from(window) * percent / 100;
        let bounds = PromptBounds {
            memory_tokens: memory_tokens.min(share(MEMORY_SHARE)),
            knowledge_tokens: knowledge_tokens.min(share(KNOWLEDGE_SHARE)),
        };
        let rendering = render(&memories, &chunks, &bounds);
        let mut origins = Vec::new();
        let documents = (!chunks.is_empty()).then_some(Origin::Knowledge);
        Origin::merge(
            &mut origins,
            memories.iter().flat_map(|recalled| origins_of(&recalled.memory)).chain(documents).collect::<Vec<_>>().iter(),
        );
        let items = rendering.shown.into_iter().map(|shown| {
            let (from, name, line) = match shown.origin {
                Place::Document { path, line } => (RecalledFrom::Document, path, Some(line)),
                Place::Memory { id, .. } => (RecalledFrom::Memory, id, None),
                other => (RecalledFrom::Memory, format!("{other:?}"), None),
            };
            RecalledItem { from, name, line, title: shown.title, cut: shown.cut }
        });
        let (tokens, left_out) = (rendering.tokens, rendering.left_out as u64);
        KnownContext { items: items.collect(), text: rendering.text, tokens, left_out, faults, origins }
    }

    /// Updates the index of the knowledge folder and searches it.
    fn retrieve(
        &self,
        store: &MemoryStore,
        goal: &str,
        at: UnixMillis,
        go_on: impl Fn() -> bool,
        faults: &mut Vec<String>,
    ) -> Result<Vec<aime_memory::Chunk>, MemoryError> {
        let Some(folder) = self.settings.knowledge.as_ref().filter(|_| self.settings.chunks > 0) else { return Ok(Vec::new()) };
        let knowledge = store.knowledge(folder, self.settings.documents.clone())?;
        let begun = Instant::now();
        let report = knowledge.update(at, || go_on() && begun.elapsed() < INDEXING)?;
        let place = folder.display();
        if report.stopped && go_on() {
            let indexed = report.added.len() + report.changed.len() + report.unchanged;
            faults.push(format!("the knowledge folder {place} is large: {indexed} documents are indexed so far, the next run goes on"));
        }
        if report.more {
            let most = self.settings.documents.max_files;
            faults.push(format!("the knowledge folder {place} has more than {most} files, and those beyond are not indexed"));
        }
        knowledge.retrieve(goal, self.settings.chunks)
    }

    /// Stores the lesson of a run, with secrets removed. Blocks.
    pub(crate) fn remember(&self, memory: Memory) -> Result<(), String> {
        let redactor = &self.settings.redactor;
        let memory = Memory { title: redact(&memory.title, redactor), text: redact(&memory.text, redactor), ..memory };
        let kept = self.store().and_then(|store| store.remember(&memory));
        kept.map(drop).map_err(|error| error_text(&error))
    }

    fn store(&self) -> Result<MemoryStore, MemoryError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = opened.as_ref() {
            return Ok(store.clone());
        }
        let store = MemoryStore::open(&self.settings.file, self.settings.store.clone())?;
        *opened = Some(store.clone());
        Ok(store)
    }
}

/// Formats an error with its cause, if the cause adds information.
fn error_text(error: &MemoryError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error} ({cause})"),
        None => error.to_string(),
    }
}
