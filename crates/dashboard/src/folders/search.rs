//! Search in runs. It searches the texts as they are shown, with secrets removed, so that a search cannot reveal them.

use aime_terminal::first_line;
use serde_json::Value;

use crate::{Found, Hit};

/// Number of events that are read at once.
pub(super) const PAGE: usize = 500;
/// Largest number of hits in total; the constant below limits those of one run.
const MAX_HITS: usize = 200;
const MAX_OF_ONE: usize = 20;
/// Largest number of characters that are read, which takes some seconds.
const MAX_SEARCHED_CHARS: usize = 200_000_000;
/// Width of the text shown around a hit; the constant below is the part before it. Both in characters.
const AROUND: usize = 160;
const BEFORE: usize = 40;

/// Search under way.
pub(super) struct Search<'a> {
    words: &'a [String],
    /// True if JSON never escapes the words, so that a document without them as text does not match at all.
    plain: bool,
    run: String,
    goal: String,
    of_run: usize,
    room: usize,
    found: Found,
}

impl<'a> Search<'a> {
    /// Creates a search for words in lower case.
    pub(super) fn new(words: &'a [String]) -> Self {
        let plain =
            words.iter().all(|word| word.chars().all(|character| character.is_alphanumeric() || matches!(character, '-' | '_' | '.')));
        Self { words, plain, run: String::new(), goal: String::new(), of_run: 0, room: MAX_SEARCHED_CHARS, found: Found::default() }
    }

    /// Begins with a run and searches its goal. Returns false if the limits are reached.
    pub(super) fn begin(&mut self, run: &str, goal: &str, created: &str) -> bool {
        if self.room == 0 || self.found.hits.len() >= MAX_HITS {
            self.found.more = true;
            return false;
        }
        run.clone_into(&mut self.run);
        goal.clone_into(&mut self.goal);
        self.of_run = 0;
        if self.has_all(&goal.to_lowercase()) {
            self.hit(0, "goal", created, goal);
        }
        true
    }

    /// Returns true if the run may yield more hits.
    pub(super) fn has_room(&mut self) -> bool {
        let full = self.room == 0 || self.of_run >= MAX_OF_ONE || self.found.hits.len() >= MAX_HITS;
        self.found.more |= full;
        !full
    }

    /// Returns true if a stored event may contain the words. Only then is it parsed.
    pub(super) fn may_be_in(&mut self, kept: &str) -> bool {
        self.room = self.room.saturating_sub(kept.len());
        !self.plain || self.has_all(&kept.to_lowercase())
    }

    /// Searches an event as it is shown.
    pub(super) fn scan_event(&mut self, event: &Value) {
        if self.of_run >= MAX_OF_ONE || self.found.hits.len() >= MAX_HITS {
            return;
        }
        let word = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut text = String::new();
        let members = event.as_object().into_iter().flatten();
        members
            .filter(|(name, _)| !["schema", "run_id", "time", "type"].contains(&name.as_str()))
            .for_each(|(_, value)| texts(value, &mut text));
        if self.has_all(&text.to_lowercase()) {
            self.hit(event.get("seq").and_then(Value::as_u64).unwrap_or_default(), &word("type"), &word("time"), &text);
        }
    }

    pub(super) fn found(self) -> Found {
        self.found
    }

    fn has_all(&self, text: &str) -> bool {
        self.words.iter().all(|word| text.contains(word.as_str()))
    }

    fn hit(&mut self, seq: u64, kind: &str, time: &str, text: &str) {
        self.of_run += 1;
        self.found.hits.push(Hit {
            run: self.run.clone(),
            goal: first_line(&self.goal, AROUND),
            seq,
            kind: kind.to_owned(),
            time: time.to_owned(),
            text: self.around(text),
        });
    }

    /// Returns the text around the first match.
    fn around(&self, text: &str) -> String {
        let small = text.to_lowercase();
        let at = self.words.iter().filter_map(|word| small.find(word.as_str())).min().unwrap_or(0);
        // Lower-case text may differ in its number of bytes, so positions are counted in characters.
        let place = small.get(..at).map_or(0, |before| before.chars().count());
        let begin = place.saturating_sub(BEFORE);
        let shown: String = text.chars().skip(begin).take(AROUND * 2).collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = first_line(&shown, AROUND);
        if begin > 0 { format!("…{shown}") } else { shown }
    }
}

/// Collects all texts of a document, one per line.
fn texts(value: &Value, all: &mut String) {
    match value {
        Value::String(text) => {
            all.push_str(text);
            all.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
        Value::Object(members) => members.values().for_each(|member| texts(member, all)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn search(words: &[&str], goal: &str, events: &[Value]) -> Found {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut search = Search::new(&words);
        assert!(search.begin("r", goal, "then"));
        for event in events {
            if search.has_room() && search.may_be_in(&event.to_string()) {
                search.scan_event(event);
            }
        }
        search.found()
    }

    // Requirement: 12.19
    #[test]
    fn all_words_stand_in_what_is_found() {
        let events = [
            json!({"type": "answered", "seq": 7, "time": "now", "text": format!("{} The BRIDGE\nof  Zürich", "x ".repeat(60))}),
            json!({"type": "other", "seq": 8, "time": "now", "detail": {"deep": ["a bridge"]}}),
        ];
        let found = search(&["bridge", "zürich"], "over the river", &events);
        assert_eq!(found.hits.iter().map(|hit| (hit.seq, hit.kind.as_str())).collect::<Vec<_>>(), [(7, "answered")]);
        assert!(found.hits[0].text.starts_with('…') && found.hits[0].text.ends_with("The BRIDGE of Zürich"), "{}", found.hits[0].text);
        assert_eq!(search(&["bridge"], "The Bridge", &events).hits.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [0, 7, 8]);
        // Member names are not searched; escaped text in a document is found all the same.
        assert!(search(&["deep"], "", &events).hits.is_empty());
        assert_eq!(search(&["say \"yes\""], "", &[json!({"type": "other", "seq": 1, "text": "to say \"yes\""})]).hits.len(), 1);
    }

    // Requirement: 12.19
    #[test]
    fn what_is_found_is_bounded() {
        let events: Vec<Value> = (0..100).map(|seq| json!({"type": "other", "seq": seq, "text": "word"})).collect();
        let found = search(&["word"], "", &events);
        assert_eq!((found.hits.len(), found.more), (MAX_OF_ONE, true));
    }
}
