//! Message catalogues, and the formatting of messages with values.

use std::sync::OnceLock;

use fluent_bundle::{FluentArgs, FluentResource, FluentValue, concurrent::FluentBundle};
use unic_langid::LanguageIdentifier;

use crate::{Language, Value};

macro_rules! files {
    ($language:literal) => {
        [
            include_str!(concat!("../", $language, "/words.ftl")),
            include_str!(concat!("../", $language, "/run.ftl")),
            include_str!(concat!("../", $language, "/view.ftl")),
            include_str!(concat!("../", $language, "/doctor.ftl")),
            include_str!(concat!("../", $language, "/questions.ftl")),
            include_str!(concat!("../", $language, "/reasons.ftl")),
            include_str!(concat!("../", $language, "/faults.ftl")),
            include_str!(concat!("../", $language, "/commands.ftl")),
            include_str!(concat!("../", $language, "/settings.ftl")),
            include_str!(concat!("../", $language, "/plans.ftl")),
            include_str!(concat!("../", $language, "/help.ftl")),
        ]
    };
}

const ENGLISH: [&str; 11] = files!("en");
const CHINESE: [&str; 11] = files!("zh");

/// Returns the files of a catalogue.
#[must_use]
pub const fn texts(language: Language) -> &'static [&'static str] {
    match language {
        Language::English => &ENGLISH,
        Language::Chinese => &CHINESE,
    }
}

type Catalogue = FluentBundle<FluentResource>;

/// Returns the catalogue with a message. A file is parsed when one of its messages is first needed: all of them take milliseconds.
fn catalogue(language: Language, id: &str) -> Option<&'static Catalogue> {
    static ENGLISH: [OnceLock<Catalogue>; 11] = [const { OnceLock::new() }; 11];
    static CHINESE: [OnceLock<Catalogue>; 11] = [const { OnceLock::new() }; 11];
    let (name, catalogues) = match language {
        Language::English => ("en", &ENGLISH),
        Language::Chinese => ("zh-Hans", &CHINESE),
    };
    let parsed = catalogues.iter().filter_map(OnceLock::get).find(|catalogue| catalogue.has_message(id));
    parsed.or_else(|| {
        let (text, catalogue) = texts(language).iter().zip(catalogues).find(|(text, _)| defines(text, id))?;
        Some(catalogue.get_or_init(|| read(name, text)))
    })
}

/// Returns true if a file defines a message.
fn defines(text: &str, id: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(id).is_some_and(|rest| rest.trim_start().starts_with('=')))
}

/// Parses a file. Broken messages are left out; the tests refuse them.
fn read(name: &str, text: &str) -> Catalogue {
    let name: LanguageIdentifier = name.parse().unwrap_or_default();
    let mut catalogue = Catalogue::new_concurrent(vec![name]);
    // Values include commands and paths that people copy, so they get no invisible isolation marks.
    catalogue.set_use_isolating(false);
    catalogue.add_resource_overriding(FluentResource::try_new(text.to_owned()).unwrap_or_else(|(resource, _)| resource));
    catalogue
}

/// Formats a message with its values; none if the catalogue lacks it.
#[must_use]
pub fn format(language: Language, id: &str, values: &[(&str, Value)]) -> Option<String> {
    let mut arguments = FluentArgs::with_capacity(values.len());
    for (name, value) in values {
        arguments.set(
            *name,
            match value {
                Value::Text(text) => FluentValue::from(text.as_str()),
                Value::Number(number) => FluentValue::from(*number),
                Value::Message(message) => FluentValue::from(message.render(language)),
            },
        );
    }
    let catalogue = catalogue(language, id)?;
    let pattern = catalogue.get_message(id)?.value()?;
    // A missing value appears as its name; the tests refuse that.
    Some(catalogue.format_pattern(pattern, Some(&arguments), &mut Vec::new()).into_owned())
}

/// Translates a word of a kind: the message `KIND-WORD`, or the word itself.
#[must_use]
pub fn word_name(language: Language, kind: &str, word: &str) -> String {
    let id = format!("{kind}-{}", word.replace([' ', '_'], "-"));
    format(language, &id, &[]).unwrap_or_else(|| word.to_owned())
}

/// Formats a count: `1 task`, `2 tasks`.
#[must_use]
pub fn counted(language: Language, number: usize, thing: &str) -> String {
    let number_of = Value::Number(u64::try_from(number).unwrap_or(u64::MAX));
    let counted = format(language, &format!("count-{thing}"), &[("number", number_of)]);
    counted.unwrap_or_else(|| if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") })
}

/// Returns true if the catalogues have a message with this id.
pub(crate) fn has(id: &str) -> bool {
    catalogue(Language::English, id).is_some()
}
