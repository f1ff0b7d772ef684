//! Short notes to an actor at work. A user can replace each by a text of the same name.

use std::collections::BTreeMap;

/// Note to an actor, beside its task and the results of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// The first answer without a tool call.
    NoToolCall,
    /// The first answer to a task that names work, without any call before it.
    NothingDone,
    /// An answer without a tool call that ran into the length limit.
    AnswerCut,
    /// An answer that was plainly meant as a tool call and could not be read.
    UnreadCall,
    /// Follows each round of tool results.
    EachStep,
    /// Follows a round of tool results whose last one is an error.
    AfterError,
    /// Few steps are left; `{left}` is their number.
    StepsLeft,
    /// The same call had the same result; `{name}` and `{count}`.
    Stuck,
    /// The same call succeeded with the same result; `{name}` and `{count}`.
    Repeated,
    /// A person sent a message; the note must contain `{text}`.
    PersonMessage,
    /// The actor must only report the state of its task.
    Conclude,
    /// Its result was not accepted. The note must contain `{text}`, which lists the missing parts.
    Returned,
    /// A person lets it continue after it was blocked. The note must contain `{text}`, the words of the person.
    Answered,
}

impl Note {
    /// All notes.
    pub(crate) const ALL: [Self; 13] = [
        Self::NoToolCall,
        Self::NothingDone,
        Self::AnswerCut,
        Self::UnreadCall,
        Self::EachStep,
        Self::AfterError,
        Self::StepsLeft,
        Self::Stuck,
        Self::Repeated,
        Self::PersonMessage,
        Self::Conclude,
        Self::Returned,
        Self::Answered,
    ];

    /// Returns its name, which is also the name of its file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NoToolCall => "no_tool_call",
            Self::NothingDone => "nothing_done",
            Self::AnswerCut => "answer_cut",
            Self::UnreadCall => "unread_call",
            Self::EachStep => "each_step",
            Self::AfterError => "after_error",
            Self::StepsLeft => "steps_left",
            Self::Stuck => "stuck",
            Self::Repeated => "repeated",
            Self::PersonMessage => "message",
            Self::Conclude => "conclude",
            Self::Returned => "returned",
            Self::Answered => "answered",
        }
    }

    /// Returns the note with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|note| note.name() == name)
    }

    const fn built_in(self) -> &'static str {
        match self {
            Self::NoToolCall => include_str!("../prompts/no_tool_call.md"),
            Self::NothingDone => include_str!("../prompts/nothing_done.md"),
            Self::AnswerCut => include_str!("../prompts/answer_cut.md"),
            Self::UnreadCall => include_str!("../prompts/unread_call.md"),
            Self::EachStep => include_str!("../prompts/each_step.md"),
            Self::AfterError => include_str!("../prompts/after_error.md"),
            Self::StepsLeft => include_str!("../prompts/steps_left.md"),
            Self::Stuck => include_str!("../prompts/stuck.md"),
            Self::Repeated => include_str!("../prompts/repeated.md"),
            Self::PersonMessage => include_str!("../prompts/message.md"),
            Self::Conclude => include_str!("../prompts/conclude.md"),
            Self::Returned => include_str!("../prompts/returned.md"),
            Self::Answered => include_str!("../prompts/answered.md"),
        }
    }

    /// Returns its Chinese version, used for a Chinese goal: a small model answers in the language of its last instruction.
    pub(crate) const fn in_chinese(self) -> Option<&'static str> {
        match self {
            Self::EachStep => Some(include_str!("../prompts/zh/each_step.md")),
            Self::Conclude => Some(include_str!("../prompts/zh/conclude.md")),
            _ => None,
        }
    }

    /// Returns the placeholders that the note may contain in braces.
    const fn placeholders(self) -> &'static [&'static str] {
        match self {
            Self::StepsLeft => &["left"],
            Self::PersonMessage | Self::Returned | Self::Answered => &["text"],
            Self::Stuck | Self::Repeated => &["name", "count"],
            Self::NoToolCall
            | Self::NothingDone
            | Self::AnswerCut
            | Self::UnreadCall
            | Self::EachStep
            | Self::AfterError
            | Self::Conclude => &[],
        }
    }

    /// Checks that a text can replace the note. The error says why it cannot.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        if matches!(self, Self::PersonMessage | Self::Returned | Self::Answered) && !text.contains("{text}") {
            return Err("it must hold {text}".to_owned());
        }
        let within = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
        let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
        match within.filter(is_name).find(|name| !self.placeholders().contains(name)) {
            Some(unknown) => {
                let known: Vec<String> = self.placeholders().iter().map(|name| format!("{{{name}}}")).collect();
                let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                Err(format!("it uses {{{unknown}}}; it is given {known}"))
            }
            None => Ok(()),
        }
    }

    /// Renders the note: the user's replacement, or else the built-in text, with these values for its placeholders.
    pub(crate) fn text(self, replaced: &BTreeMap<String, String>, values: &[(&str, &str)]) -> String {
        let text = replaced.get(self.name()).map_or(self.built_in(), String::as_str).trim();
        values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_that_is_built_in_can_take_its_own_place() {
        for note in Note::ALL {
            assert_eq!(note.check(note.built_in()), Ok(()), "{}", note.name());
            assert_eq!(note.in_chinese().map_or(Ok(()), |text| note.check(text)), Ok(()), "{}", note.name());
            assert_eq!(Note::from_name(note.name()), Some(note));
        }
    }

    #[test]
    fn a_note_is_filled_in() {
        let replaced = BTreeMap::from([("stuck".to_owned(), "{name}, {count} times: {\"a\": 1}".to_owned())]);
        assert_eq!(Note::Stuck.text(&replaced, &[("name", "grep"), ("count", "3")]), "grep, 3 times: {\"a\": 1}");
        assert!(Note::StepsLeft.text(&replaced, &[("left", "2")]).starts_with("Only 2 steps are left."));
    }
}
