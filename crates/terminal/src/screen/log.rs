//! Log of events as text.

use std::collections::VecDeque;

use aime_progress_management::Timestamp;

use super::Scroll;
use crate::{
    labels::{Phrase, PhraseTranslator},
    theme::Tone,
};

/// Number of recent entries that are kept.
const MAX_ENTRIES: usize = 1_000;
/// Largest number of lines of one entry; the rest is only counted.
const MAX_LINES: usize = 14;

/// Bounded log, oldest entry first.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: VecDeque<Entry>,
}

/// Entry of the log.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: Timestamp,
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Log {
    /// Appends an entry. If the person has scrolled up, their position stays about the same.
    pub(super) fn push(&mut self, mut entry: Entry, words: PhraseTranslator, shown: bool, scroll: &mut Scroll) {
        let lines = entry.text.lines().count();
        if lines > MAX_LINES {
            let kept: Vec<&str> = entry.text.lines().take(MAX_LINES - 1).collect();
            entry.text = format!("{}\n{}", kept.join("\n"), words(Phrase::LinesLeftOut(lines - MAX_LINES + 1)));
        }
        if shown && scroll.at > 0 {
            scroll.at += lines.clamp(1, MAX_LINES);
        }
        if self.entries.len() >= MAX_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }
}
