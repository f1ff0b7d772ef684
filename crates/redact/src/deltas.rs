//! A text that comes in parts.

use crate::{REDACTED, Redactor};

/// Takes known values out of a text that comes in parts. A value may begin in one part and end in a later one: as much as could be the
/// beginning of one is held back.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    buffer: String,
}

impl StreamRedactor {
    /// Creates the state for one text.
    #[must_use]
    pub const fn new(redactor: Redactor) -> Self {
        Self { redactor, buffer: String::new() }
    }

    /// Takes in a part and returns the text that can be passed on now; may be empty.
    pub fn push(&mut self, part: &str) -> String {
        let known = self.redactor.known_values();
        self.buffer.push_str(part);
        let mut safe = self.buffer.len().saturating_sub(known.longest.saturating_sub(1));
        while !self.buffer.is_char_boundary(safe) {
            safe -= 1;
        }
        let (mut clean, mut kept) = (String::new(), 0);
        for (from, to) in known.places(&self.buffer) {
            if from >= safe {
                break;
            }
            clean.push_str(self.buffer.get(kept..from).unwrap_or_default());
            clean.push_str(REDACTED);
            kept = to;
        }
        let safe = safe.max(kept);
        clean.push_str(self.buffer.get(kept..safe).unwrap_or_default());
        self.buffer.drain(..safe);
        clean
    }

    /// Returns the rest, at the end of the text.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.buffer);
        self.redactor.values(&rest).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However a text is cut into parts, what comes out is the text without its secrets.
        // Requirement: 14.4
        #[test]
        fn parts_are_as_the_whole(cuts in proptest::collection::vec(0_usize..40, 0..8), text in "(.|x){0,10}(hunter22|hunter|é){0,3}(.|x){0,10}") {
            let redactor = Redactor::new(["hunter22"]);
            let mut deltas = StreamRedactor::new(redactor.clone());
            let mut passed = String::new();
            let mut rest = text.as_str();
            for cut in cuts {
                let at = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
                let (part, after) = rest.split_at(at);
                passed.push_str(&deltas.push(part));
                rest = after;
            }
            passed.push_str(&deltas.push(rest));
            passed.push_str(&deltas.finish());
            prop_assert_eq!(passed, redactor.values(&text).into_owned());
        }
    }

    #[test]
    fn without_secrets_nothing_is_held_back() {
        let mut deltas = StreamRedactor::new(Redactor::default());
        assert_eq!(deltas.push("abc"), "abc");
        assert_eq!(deltas.finish(), "");
    }
}
