//! Taking a model's reasoning out of its answer.

/// Tags that open reasoning, with those that close it.
const TAGS: [(&str, &str); 7] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<thought>", "</thought>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
];

/// Marks after which, in the form of gpt-oss, the answer follows.
const FINAL: &str = "<|channel|>final<|message|>";
/// The mark before reasoning in that form.
const ANALYSIS: &str = "<|channel|>analysis<|message|>";
/// Marks that end a message in that form.
const ENDS: [&str; 3] = ["<|return|>", "<|end|>", "<|start|>"];

/// Returns the text without reasoning, or none if it has no reasoning. Reasoning that is never closed reaches to the
/// end.
///
/// A tag inside a quoted string of JSON is content and stays.
pub(super) fn without_reasoning(text: &str) -> Option<String> {
    if let Some(at) = text.rfind(FINAL) {
        let mut answer = text.get(at + FINAL.len()..).unwrap_or_default();
        for end in ENDS {
            answer = answer.split(end).next().unwrap_or_default();
        }
        return Some(answer.to_owned());
    }
    if let Some((before, thought)) = text.split_once(ANALYSIS) {
        let end = ENDS.iter().filter_map(|end| thought.find(end)).min();
        let after = end.and_then(|at| thought.get(at..)).unwrap_or_default();
        let rest = ENDS.iter().find_map(|end| after.strip_prefix(end)).unwrap_or_default();
        return Some(format!("{before}{rest}"));
    }
    if !TAGS.iter().any(|(open, close)| text.contains(open) || text.contains(close)) {
        return None;
    }
    let paired = without_pairs(text);
    let changed = paired.len() != text.len();
    // Some templates put the opening tag into the prompt: the answer then begins inside the reasoning.
    match orphan_close(&paired) {
        Some(after) => Some(paired.get(after..).unwrap_or_default().to_owned()),
        None => changed.then_some(paired),
    }
}

fn without_pairs(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut quotes = Quotes::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !quotes.inside
            && matches!(c, '<' | '◁' | '[')
            && let Some((open, close)) = TAGS.iter().find(|(open, _)| rest.starts_with(open))
        {
            let after = rest.get(open.len()..).unwrap_or_default();
            match after.find(close) {
                Some(at) => rest = after.get(at + close.len()..).unwrap_or_default(),
                None => return kept,
            }
            continue;
        }
        quotes.step(c);
        kept.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    kept
}

/// Returns the position after the last closing tag that has no opening one.
fn orphan_close(text: &str) -> Option<usize> {
    let starts_as_json = text.trim_start().starts_with(['{', '[', '`', '"']);
    let (at, close) = TAGS.iter().filter_map(|(_, close)| Some((text.rfind(close)?, *close))).max()?;
    if starts_as_json {
        let mut quotes = Quotes::default();
        text.get(..at)?.chars().for_each(|c| quotes.step(c));
        if quotes.inside {
            return None;
        }
    }
    Some(at + close.len())
}

/// Tracks if the reader is inside a double-quoted string of an object or array.
#[derive(Default)]
struct Quotes {
    depth: usize,
    inside: bool,
    escaped: bool,
}

impl Quotes {
    fn step(&mut self, c: char) {
        if self.inside {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' => self.escaped = true,
                '"' => self.inside = false,
                _ => {}
            }
            return;
        }
        match c {
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            '"' => self.inside = self.depth > 0,
            _ => {}
        }
    }
}
