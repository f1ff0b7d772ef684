//! Recognition of English sentences that exist only as text: the questions of runs (messages with the prefix `asked-`), which name what they
//! ask about in the same text, and the texts of clap (`help-` and `typed-`), whose derive macros take literals.

use std::{borrow::Cow, sync::OnceLock};

use fluent_syntax::{
    ast::{Entry, Expression, InlineExpression, PatternElement},
    parser,
};

use crate::{Language, Value, format, texts};

/// Sentence with placeholders for values.
pub(super) struct Sentence {
    pub(super) id: &'static str,
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Value(&'static str),
}

impl Sentence {
    /// Returns the values if a text matches this sentence; each is non-empty. With `strict` the match must be unambiguous.
    fn values_of<'a>(&self, text: &'a str, strict: bool) -> Option<Vec<(&'static str, &'a str)>> {
        let mut values = Vec::new();
        let mut open = None;
        let mut rest = text;
        let last = self.parts.len().saturating_sub(1);
        for (place, part) in self.parts.iter().enumerate() {
            match (part, open.take()) {
                (Part::Value(name), None) => open = Some(*name),
                (Part::Text(fixed), None) => rest = rest.strip_prefix(fixed.as_str())?,
                (Part::Text(fixed), Some(name)) => {
                    let (value, behind) =
                        if place == last { (rest.strip_suffix(fixed.as_str())?, "") } else { rest.split_once(fixed.as_str())? };
                    if strict && (behind.contains(fixed.as_str()) || value.contains(fixed.as_str())) {
                        return None;
                    }
                    values.push((name, value));
                    rest = behind;
                }
                // Between two adjacent values the boundary is ambiguous.
                (Part::Value(_), Some(_)) => return None,
            }
        }
        match open {
            Some(name) => values.push((name, rest)),
            None if rest.is_empty() => {}
            None => return None,
        }
        values.iter().all(|(_, value)| !value.is_empty()).then_some(values)
    }

    /// Returns whether the beginning is fixed text, and the amount of fixed text. If two sentences match, the more specific one is used.
    fn fixed(&self) -> (bool, usize) {
        let length = |part: &Part| if let Part::Text(text) = part { text.len() } else { 0 };
        (matches!(self.parts.first(), Some(Part::Text(_))), self.parts.iter().map(length).sum())
    }
}

/// Returns the sentences whose ids have this prefix.
pub(super) fn sentences(beginning: &'static str) -> Vec<Sentence> {
    let mut found = Vec::new();
    for text in texts(Language::English) {
        let resource = parser::parse(*text).unwrap_or_else(|(resource, _)| resource);
        for entry in resource.body {
            let Entry::Message(message) = entry else { continue };
            let (id, Some(pattern)) = (message.id.name, message.value) else { continue };
            if id.starts_with(beginning) {
                found.push(Sentence { id, parts: parts(pattern.elements) });
            }
        }
    }
    found.sort_by_key(|sentence| std::cmp::Reverse(sentence.fixed()));
    found
}

fn parts(elements: Vec<PatternElement<&'static str>>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for element in elements {
        let text = match element {
            PatternElement::TextElement { value } => value,
            PatternElement::Placeable { expression: Expression::Inline(InlineExpression::StringLiteral { value }) } => value,
            PatternElement::Placeable { expression: Expression::Inline(InlineExpression::VariableReference { id }) } => {
                parts.push(Part::Value(id.name));
                continue;
            }
            PatternElement::Placeable { .. } => continue,
        };
        match parts.last_mut() {
            Some(Part::Text(before)) => before.push_str(text),
            _ => parts.push(Part::Text(text.to_owned())),
        }
    }
    parts
}

fn of_questions() -> &'static [Sentence] {
    static SENTENCES: OnceLock<Vec<Sentence>> = OnceLock::new();
    SENTENCES.get_or_init(|| sentences("asked-"))
}

fn of_help() -> &'static [Sentence] {
    static SENTENCES: OnceLock<Vec<Sentence>> = OnceLock::new();
    SENTENCES.get_or_init(|| {
        let mut both = sentences("typed-");
        both.extend(sentences("help-"));
        both
    })
}

/// Translates a question of a run. The lines that begin with a space quote what it asks about, and stay unchanged.
#[must_use]
pub fn translate_question(language: Language, question: &str) -> Cow<'_, str> {
    let mut lines = Vec::new();
    for line in question.split('\n') {
        let translated = if line.starts_with(' ') { None } else { translate_known(language, (of_questions(), true), line) };
        lines.push(translated.map_or(Cow::Borrowed(line), Cow::Owned));
    }
    Cow::Owned(lines.join("\n"))
}

/// Translates a text about arguments line by line, and keeps the indents.
#[must_use]
pub fn typed(language: Language, text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let bare = line.trim_start();
        let indent = line.strip_suffix(bare).unwrap_or_default();
        translate_known(language, (of_help(), false), bare).map_or_else(|| line.to_owned(), |translated| format!("{indent}{translated}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Translates a text if it is a known sentence whose values have the required form.
fn translate_known(language: Language, (sentences, strict): (&[Sentence], bool), text: &str) -> Option<String> {
    sentences.iter().find_map(|sentence| {
        let values = sentence.values_of(text, strict)?.into_iter();
        let values: Vec<_> = values.map(|(name, value)| (name, Value::Text(translate_value(language, name, value)))).collect();
        format(language, sentence.id, &values)
    })
}

/// Translates a value of a sentence: a text of clap within another, whose name begins with `typed`. Other values stay unchanged.
fn translate_value(language: Language, name: &str, value: &str) -> String {
    let inner = if name.starts_with("typed") { translate_known(language, (of_help(), false), value) } else { None };
    inner.unwrap_or_else(|| value.to_owned())
}
