//! Messages of the command in the person's language.
//!
//! Messages are ids of the catalogues of `aime-messages` with their values: `msg!("tree-more", number = 3)` prints one, and errors, events
//! and results carry [`Message`]s. Only the questions of runs and the texts of clap are recognised by their English sentences.
//! Everything that programs read (JSON, journals, field names, the log, texts for editors and other agents) stays English, and a
//! sentence that no catalogue has is shown unchanged.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use aime_messages::{Language, Message};
use aime_runs::{Environment, config};
use clap::ValueEnum;

/// Returns a message in the person's language: `msg!("tree-after", tasks = "find, count")`.
macro_rules! msg {
    ($($message:tt)*) => {
        $crate::i18n::print(&aime_messages::message!($($message)*))
    };
}
pub(crate) use msg;
#[cfg(test)]
pub(crate) use tests::in_language;

/// Language that a person can choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LanguageChoice {
    /// Language of the environment
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

impl LanguageChoice {
    /// Chooses the language by the flag, else the settings, else the environment.
    pub(crate) fn language(flag: Option<Self>, configured: Self, environment: &Environment) -> Language {
        match flag.unwrap_or(configured) {
            Self::En => Language::English,
            Self::Zh => Language::Chinese,
            Self::Auto => locale_language(environment),
        }
    }
}

/// Chooses the language by the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set, as POSIX defines. Readers of traditional Chinese
/// get simplified Chinese rather than English.
fn locale_language(environment: &Environment) -> Language {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|name| environment.text(name)).unwrap_or_default();
    match locale.trim().split(['_', '-', '.', '@']).next() {
        Some(language) if language.eq_ignore_ascii_case("zh") => Language::Chinese,
        _ => Language::English,
    }
}

/// True if messages are Chinese; English is the default.
static CHINESE: AtomicBool = AtomicBool::new(false);

/// Sets the language of messages.
pub(crate) fn speak(language: Language) {
    CHINESE.store(language == Language::Chinese, Ordering::Relaxed);
}

/// Returns true if messages are the texts of the sources.
pub(crate) fn is_english() -> bool {
    language() == Language::English
}

/// Returns the language of messages.
pub(crate) fn language() -> Language {
    #[cfg(test)]
    if let Some(language) = tests::language_of_this_thread() {
        return language;
    }
    if CHINESE.load(Ordering::Relaxed) { Language::Chinese } else { Language::English }
}

/// Returns a message in the person's language.
pub(crate) fn print(message: &Message) -> String {
    message.render(language())
}

/// Returns the message with this id, which takes no values.
pub(crate) fn plain_message(id: &str) -> String {
    aime_messages::format(language(), id, &[]).unwrap_or_else(|| id.to_owned())
}

/// Translates a word of a kind: the message `KIND-WORD`, or the word itself.
pub(crate) fn word_name(kind: &str, word: &str) -> String {
    aime_messages::word_name(language(), kind, word)
}

/// Formats a count: `1 task`, `2 tasks`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    aime_messages::counted(language(), number, thing)
}

/// Joins several messages into a list.
pub(crate) fn messages(messages: &[Message]) -> String {
    messages.iter().map(print).collect::<Vec<_>>().join(&msg!("row-separator"))
}

/// Joins several things into a list.
pub(crate) fn row<T: AsRef<str>>(things: impl IntoIterator<Item = T>) -> String {
    let things: Vec<T> = things.into_iter().collect();
    let texts: Vec<&str> = things.iter().map(AsRef::as_ref).collect();
    texts.join(&msg!("row-separator"))
}

/// Returns a question of a run in the person's language. In a question that is only text, the lines that begin with a space quote what it
/// asks about, and stay unchanged.
pub(crate) fn print_question(question: &Message) -> String {
    match language() {
        Language::English => print(question),
        language => question.render_with(language, &|text| aime_messages::translate_question(language, text)),
    }
}

/// Translates a help text or an argument error line by line. Examples and unknown lines stay unchanged.
pub(crate) fn typed(text: &str) -> String {
    match language() {
        Language::English => text.to_owned(),
        language => aime_messages::typed(language, text),
    }
}
