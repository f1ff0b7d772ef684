//! What happened, in words.

use std::collections::VecDeque;

use aime_progress::Timestamp;

use super::Scroll;
use crate::{
    theme::Tone,
    words::{Phrase, Words},
};

/// The latest entries that are kept.
const MOST: usize = 1_000;
/// The most lines of one entry; the rest is counted.
const MOST_LINES: usize = 14;

/// What happened, the oldest first, bounded.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: VecDeque<Entry>,
}

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) at: Timestamp,
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

impl Log {
    /// Puts one at the end. Who reads further up stays about where they are.
    pub(super) fn push(&mut self, mut entry: Entry, words: Words, shown: bool, scroll: &mut Scroll) {
        let lines = entry.text.lines().count();
        if lines > MOST_LINES {
            let kept: Vec<&str> = entry.text.lines().take(MOST_LINES - 1).collect();
            entry.text = format!("{}\n{}", kept.join("\n"), words(Phrase::LinesLeftOut(lines - MOST_LINES + 1)));
        }
        if shown && scroll.at > 0 {
            scroll.at += lines.clamp(1, MOST_LINES);
        }
        if self.entries.len() >= MOST {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }
}
