//! What the command says to a person, in the person's language.
//!
//! Two ways lead to a message. What the command says itself has a name in the catalogues: `msg!("run-stopping")`, `msg!("tree-more", number = 3)`.
//! What was said in English elsewhere (the error of a library, a reason that stands in a journal) is recognised by its sentence: [`said`]. So
//! everything that a program reads (JSON, journals, names of fields, the log, what editors and other agents are told) stays English, and a
//! sentence that no catalogue has is shown as it is.
//!
//! The catalogues are `messages/en` and `messages/zh`, in the syntax of [Project Fluent](https://projectfluent.org).

mod catalogue;
mod sentence;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
};

use aime_runs::{Environment, config};
use aime_tools::Consent;
use clap::ValueEnum;

/// A message of the catalogues by its name, with its values: `msg!("tree-after", tasks = "find, count")`.
macro_rules! msg {
    ($id:literal $(, $name:ident = $value:expr)* $(,)?) => {
        $crate::words::message($id, &[$((stringify!($name), $value.to_string())),*])
    };
}
pub(crate) use msg;
#[cfg(test)]
pub(crate) use tests::in_language;

/// The language of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    /// Simplified.
    Chinese,
}

/// What a person can choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LanguageChoice {
    /// What the environment says
    #[default]
    Auto,
    /// English
    En,
    /// Chinese, in simplified characters
    #[value(aliases = ["zh-CN", "zh-Hans", "zh_CN"])]
    Zh,
}

impl From<config::LanguageChoice> for LanguageChoice {
    fn from(choice: config::LanguageChoice) -> Self {
        match choice {
            config::LanguageChoice::Auto => Self::Auto,
            config::LanguageChoice::En => Self::En,
            config::LanguageChoice::Zh => Self::Zh,
        }
    }
}

impl Language {
    /// The flag comes first, then the settings, then the environment.
    pub(crate) fn of(flag: Option<LanguageChoice>, configured: LanguageChoice, environment: &Environment) -> Self {
        match flag.unwrap_or(configured) {
            LanguageChoice::En => Self::English,
            LanguageChoice::Zh => Self::Chinese,
            LanguageChoice::Auto => Self::of_locale(environment),
        }
    }

    /// The first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set says it all, as POSIX has it. Whoever reads Chinese of another script is
    /// given the simplified one rather than English.
    fn of_locale(environment: &Environment) -> Self {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|name| environment.text(name)).unwrap_or_default();
        match locale.trim().split(['_', '-', '.', '@']).next() {
            Some(language) if language.eq_ignore_ascii_case("zh") => Self::Chinese,
            _ => Self::English,
        }
    }
}

/// Whether messages are Chinese; English until something else is chosen.
static CHINESE: AtomicBool = AtomicBool::new(false);

/// From here on messages are in this language.
pub(crate) fn speak(language: Language) {
    CHINESE.store(language == Language::Chinese, Ordering::Relaxed);
}

/// Whether messages are as they stand in the sources.
pub(crate) fn is_english() -> bool {
    language() == Language::English
}

fn language() -> Language {
    #[cfg(test)]
    if let Some(language) = tests::language_of_this_thread() {
        return language;
    }
    if CHINESE.load(Ordering::Relaxed) { Language::Chinese } else { Language::English }
}

/// The message of this name. What no catalogue has is its name.
pub(crate) fn message(id: &str, values: &[(&str, String)]) -> String {
    catalogue::format(language(), id, values).or_else(|| catalogue::format(Language::English, id, values)).unwrap_or_else(|| id.to_owned())
}

/// What a word of a kind is called: the message `KIND-WORD`, or the word as it is.
pub(crate) fn named(kind: &str, word: &str) -> String {
    let id = format!("{kind}-{}", word.replace([' ', '_'], "-"));
    catalogue::format(language(), &id, &[]).unwrap_or_else(|| word.to_owned())
}

/// `1 task`, `2 tasks`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    let counted = catalogue::count(language(), &format!("count-{thing}"), number);
    counted.unwrap_or_else(|| if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") })
}

/// Several things in a row.
pub(crate) fn row<T: AsRef<str>>(things: impl IntoIterator<Item = T>) -> String {
    let said: Vec<String> = things.into_iter().map(|thing| said(thing.as_ref()).into_owned()).collect();
    said.join(&msg!("row-separator"))
}

/// An English text of the command or its libraries in the person's language: whole where a catalogue has it, else line by line. What no catalogue
/// has stays as it is.
pub(crate) fn said(text: &str) -> Cow<'_, str> {
    match language() {
        Language::English => Cow::Borrowed(text),
        language => sentence::said(language, text),
    }
}

/// A question of a run in the person's language. What it asks about stands in lines of its own that begin with a space, and is never touched.
pub(crate) fn asked(question: &str) -> Cow<'_, str> {
    match language() {
        Language::English => Cow::Borrowed(question),
        language => sentence::asked(language, question),
    }
}

/// A text of help, or of what was typed wrong, in the person's language, line by line; examples and what no catalogue has stay as they are.
pub(crate) fn typed(text: &str) -> String {
    match language() {
        Language::English => text.to_owned(),
        language => sentence::typed(language, text),
    }
}

/// A person's answer to an approval as it is recorded: `yes`, `always`, `no`, or as it was typed where it is something else.
pub(crate) fn meant(answer: String) -> String {
    let word = match Consent::said(&answer) {
        Some(Consent::Yes) => "yes",
        Some(Consent::Always) => "always",
        Some(Consent::No) => "no",
        None => return answer,
    };
    word.to_owned()
}
