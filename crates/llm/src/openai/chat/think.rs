//! Reasoning that a server leaves in the text of an answer.

/// Tags that open reasoning at the beginning of a text, with those that close it.
const TAGS: [(&str, &str); 6] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
];

/// Piece of a text, classified as reasoning or answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Reasoning(String),
}

/// Parts the reasoning at the beginning of a text from the answer, while the text arrives.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    state: State,
    buffer: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only white space and perhaps the beginning of a tag has arrived.
    #[default]
    Start,
    /// Inside the reasoning that this tag closes.
    Inside(&'static str),
    /// Blanks between the reasoning and the answer.
    Between,
    /// The answer.
    Answer,
}

impl Splitter {
    /// Takes more of the text, and gives what is certain of it.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.buffer.push_str(text);
        let mut pieces = Vec::new();
        while self.step(&mut pieces) {}
        pieces
    }

    /// Returns the rest at the end of the text. An incomplete tag counts as text.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.buffer);
        match self.state {
            _ if held.is_empty() => None,
            State::Inside(_) => Some(Piece::Reasoning(held)),
            State::Between => None,
            State::Start | State::Answer => Some(Piece::Text(held)),
        }
    }

    fn step(&mut self, pieces: &mut Vec<Piece>) -> bool {
        match self.state {
            State::Start => {
                let begin = self.buffer.trim_start();
                if let Some((open, close)) = TAGS.iter().find(|(open, _)| begin.starts_with(open)) {
                    self.buffer = begin.get(open.len()..).unwrap_or_default().to_owned();
                    self.state = State::Inside(close);
                    return true;
                }
                if !begin.is_empty() && !TAGS.iter().any(|(open, _)| open.starts_with(begin)) {
                    self.state = State::Answer;
                    return true;
                }
                false
            }
            State::Inside(close) => match self.buffer.split_once(close) {
                Some((reasoning, rest)) => {
                    push(pieces, Piece::Reasoning(reasoning.to_owned()));
                    self.buffer = rest.to_owned();
                    self.state = State::Between;
                    true
                }
                None => {
                    let certain = self.buffer.len() - longest_begin(&self.buffer, close);
                    let rest = self.buffer.split_off(certain);
                    push(pieces, Piece::Reasoning(std::mem::replace(&mut self.buffer, rest)));
                    false
                }
            },
            State::Between => {
                self.buffer = self.buffer.trim_start().to_owned();
                if self.buffer.is_empty() {
                    return false;
                }
                self.state = State::Answer;
                true
            }
            State::Answer => {
                push(pieces, Piece::Text(std::mem::take(&mut self.buffer)));
                false
            }
        }
    }
}

fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    let (Piece::Text(text) | Piece::Reasoning(text)) = &piece;
    if !text.is_empty() {
        pieces.push(piece);
    }
}

/// Returns the length of the longest end of a text that begins a tag.
fn longest_begin(text: &str, tag: &str) -> usize {
    tag.char_indices()
        .map(|(at, _)| at)
        .rev()
        .find(|length| *length > 0 && tag.get(..*length).is_some_and(|head| text.ends_with(head)))
        .unwrap_or(0)
}

/// Splits a whole text whose template opened the reasoning before it: reasoning, a closing tag on its own, and the
/// answer. Also reads the form of gpt-oss: an analysis and a final message. Returns reasoning and answer.
pub(super) fn closed_only(text: &str) -> Option<(String, String)> {
    const FINAL: &str = "<|channel|>final<|message|>";
    if let Some((before, answer)) = text.rsplit_once(FINAL) {
        let answer = ["<|return|>", "<|end|>", "<|start|>"].iter().fold(answer, |answer, end| answer.split(end).next().unwrap_or_default());
        let reasoning = before.rsplit_once("<|channel|>analysis<|message|>").map_or(before, |(_, analysis)| analysis);
        let reasoning = reasoning.split("<|end|>").next().unwrap_or_default();
        return Some((reasoning.trim().to_owned(), answer.trim().to_owned()));
    }
    let (open, close) = TAGS.iter().find(|(_, close)| text.contains(close))?;
    let (reasoning, answer) = text.split_once(close)?;
    // In a sentence about the tag it is a word; as the end of reasoning it ends a line or begins one.
    let alone = answer.starts_with(['\n', '\r']) || reasoning.ends_with(['\n', '\r']) || answer.is_empty();
    (alone && !reasoning.contains(open)).then(|| (reasoning.trim().to_owned(), answer.trim_start().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text and reasoning, however the whole is cut into pieces.
    fn split(text: &str, size: usize) -> (String, String) {
        let letters: Vec<char> = text.chars().collect();
        let mut splitter = Splitter::default();
        let (mut answer, mut reasoning) = (String::new(), String::new());
        let mut pieces: Vec<Piece> = letters.chunks(size).flat_map(|piece| splitter.push(&piece.iter().collect::<String>())).collect();
        pieces.extend(splitter.finish());
        for piece in pieces {
            match piece {
                Piece::Text(text) => answer += &text,
                Piece::Reasoning(text) => reasoning += &text,
            }
        }
        (answer, reasoning)
    }

    #[test]
    fn reasoning_at_the_beginning_is_parted_from_the_answer() {
        let cases = [
            ("<think>a < b </thin</think>\n\nyes", "yes", "a < b </thin"),
            ("\n<think>\nhm\n</think>", "", "\nhm\n"),
            ("<think>never closed", "", "never closed"),
            ("[THINK]x[/THINK]{\"a\":1}", "{\"a\":1}", "x"),
            ("◁think▷x◁/think▷y", "y", "x"),
            ("The tag <think> opens it.</think>", "The tag <think> opens it.</think>", ""),
            ("<thin", "<thin", ""),
            ("<b>bold</b>", "<b>bold</b>", ""),
            ("  spaced", "  spaced", ""),
        ];
        for (text, answer, reasoning) in cases {
            for size in [1, 2, 5, 100] {
                assert_eq!(split(text, size), (answer.to_owned(), reasoning.to_owned()), "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn a_closing_tag_alone_ends_reasoning() {
        let cases = [
            ("I look.\n</think>\n\nyes", Some(("I look.", "yes"))),
            ("so</think>\nyes", Some(("so", "yes"))),
            ("Write </think> to close it.", None),
            ("<think>a</think>b", None),
            ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>", Some(("hm", "yes"))),
            ("yes", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|(reasoning, answer)| (reasoning.to_owned(), answer.to_owned()));
            assert_eq!(closed_only(text), expected, "{text}");
        }
    }
}
