//! Text of an answer during its generation.

use crate::calls::shown_at_once;

/// Text of a growing answer: converts the bytes of tokens to text, and returns the part that can be shown.
#[derive(Debug, Default)]
pub(super) struct Writing {
    text: String,
    /// Bytes of an incomplete character.
    open: Vec<u8>,
    shown: usize,
    /// True if a text that may become a call is held back.
    may_call: bool,
}

impl Writing {
    pub(super) fn new(may_call: bool) -> Self {
        Self { may_call, ..Self::default() }
    }

    /// Adds the bytes of a token.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
        loop {
            let (good, bad) = match std::str::from_utf8(&self.open) {
                Ok(text) => (text.len(), 0),
                Err(error) => (error.valid_up_to(), error.error_len().unwrap_or(0)),
            };
            let rest = self.open.split_off(good);
            self.text.push_str(&String::from_utf8_lossy(&self.open));
            self.open = rest;
            if bad == 0 {
                return;
            }
            self.text.push(char::REPLACEMENT_CHARACTER);
            self.open.drain(..bad);
        }
    }

    /// Replaces the bytes that were not shown yet.
    pub(super) fn rewrite(&mut self, bytes: Vec<u8>) {
        self.text.clear();
        self.open.clear();
        self.push(&bytes);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the new text that can be shown.
    pub(super) fn show(&mut self) -> Option<String> {
        let until = if self.may_call { shown_at_once(&self.text) } else { self.text.len() };
        let new = self.text.get(self.shown..until).filter(|new| !new.is_empty())?.to_owned();
        self.shown = until;
        Some(new)
    }

    /// Returns the part of the whole text that was not shown yet.
    pub(super) fn remaining(&self, whole: &str) -> Option<String> {
        whole.get(self.shown..).filter(|rest| !rest.is_empty()).map(ToOwned::to_owned)
    }
}
