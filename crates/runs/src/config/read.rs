//! Reads one file or variable by itself, since only then can a fault name its line and column.

mod tree;

use std::{fmt, path::Path};

use aime_messages::{Describe, Message, message, nearest};

use serde::{
    Deserialize as _,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use self::tree::{Fault, Place, Removed, Tree};
use super::{Config, check::range, hooks, network};
use crate::Hint;

/// Fault of a configuration, with its place and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// File or variable, with line and column if known.
    pub place: String,
    /// Description of the fault.
    pub message: Message,
    /// Hint on how to correct it.
    pub hint: Option<Hint>,
}

impl ConfigFault {
    pub(super) fn new(place: impl fmt::Display, message: impl Into<Message>) -> Self {
        Self { place: place.to_string(), message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Describe for ConfigFault {
    fn describe(&self) -> Message {
        message!("at-place", place = self.place, what = self.message)
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe().fmt(f)
    }
}

impl std::error::Error for ConfigFault {}

/// Settings that one file names.
pub(super) struct Document {
    pub(super) value: Value,
    tree: Tree,
}

impl Document {
    /// Returns the place of the innermost part of a key that the file names.
    pub(super) fn place_of(&self, path: &Path, key: &str) -> String {
        in_file(path, self.tree.place_of(key))
    }
}

/// Reads a file and returns only the settings that it names. Returns `None` if the file does not exist and is not `required`.
///
/// # Errors
/// All faults of the file in the order of their places, or the one that hides the others.
pub(super) fn read_file(path: &Path, required: bool) -> Result<Option<Document>, Vec<ConfigFault>> {
    let whole = |message: Message, hint: Hint| vec![ConfigFault::new(path.display(), message).hint(hint)];
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(whole(message!("not-utf8"), message!("not-utf8-hint").into()));
        }
        Err(error) => return Err(whole(message!("cannot-be-read", reason = Message::text(error)), message!("file-hint").into())),
    };
    let at_place = |fault: Fault| vec![fault.in_file(path)];
    let mut tree = Format::of(path).tree(&text).map_err(at_place)?;
    let mut value = Value::deserialize(&tree).map_err(at_place)?;
    if !value.is_object() {
        return Err(whole(message!("no-table"), Hint::InitConfiguration));
    }
    drop_nulls(&mut value);
    let faults = faults(&mut tree, &text, path);
    if faults.is_empty() { Ok(Some(Document { value, tree })) } else { Err(faults) }
}

/// Returns all faults of a document, in the order of their places. Faulty parts are removed from the tree.
fn faults(tree: &mut Tree, text: &str, path: &Path) -> Vec<ConfigFault> {
    let mut found: Vec<(Option<Place>, ConfigFault)> = Vec::new();
    let mut removed: Vec<Removed> = Vec::new();
    // A deserializer ends at its first fault. Without the faulty part it finds the next one.
    let config = loop {
        match Config::deserialize(&*tree) {
            Ok(config) => break Some(config),
            Err(fault) => {
                let place = fault.place;
                if !removed.iter().any(|part| part.explains(&fault)) {
                    found.push((place, fault.in_file(path)));
                }
                match place.and_then(|place| tree.remove_at(place)) {
                    Some(part) => removed.push(part),
                    None => break None,
                }
            }
        }
    };
    if let Some(config) = config {
        for (rule, fault) in config.permissions.faults() {
            let place = text.find(rule).map(|at| position(text, at));
            found.push((place, ConfigFault::new(in_file(path, place), fault.message).hint(message!("rule-hint"))));
        }
        let of_rules: Vec<Message> = config.permissions.faults().map(|(_, fault)| fault.message).collect();
        for fault in super::check::faults(&config).into_iter().filter(|fault| !of_rules.contains(&fault.message)) {
            let place = tree.place_of(&fault.key);
            found.push((place, ConfigFault::new(in_file(path, place), fault.message)));
        }
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, fault)| fault).collect()
}

/// Reads the setting that a variable `AIME__SECTION__KEY` names.
///
/// # Errors
/// All faults of the value.
pub(super) fn read_variable(name: &str, value: &str) -> Result<Value, Vec<ConfigFault>> {
    let key = name.trim_start_matches("AIME__").to_lowercase();
    let nested = |value: Value| {
        let parts: Vec<&str> = key.split("__").collect();
        parts.into_iter().rev().fold(value, |inner, part| Value::Object([(part.to_owned(), inner)].into_iter().collect()))
    };
    let text = nested(Value::from(value));
    // The value is read as JSON (number, boolean, list) if the setting accepts that, otherwise as text.
    let parsed = serde_json::from_str::<Value>(value).ok().map(nested);
    let read = parsed.into_iter().chain([text.clone()]).find_map(|document| Some((typed::<Config>(&document).ok()?, document)));
    let Some((config, document)) = read else {
        let problem = typed::<Config>(&text).err().unwrap_or_default();
        return Err(vec![explain(name, &problem)]);
    };
    let faults: Vec<_> = super::check::faults(&config).into_iter().map(|fault| ConfigFault::new(name, fault.message)).collect();
    if faults.is_empty() { Ok(document) } else { Err(faults) }
}

/// Deserializes a value like a file, by the one deserializer for which the settings are compiled.
pub(super) fn typed<T: DeserializeOwned>(document: &Value) -> Result<T, String> {
    T::deserialize(&Tree::of_value(document)).map_err(|fault| fault.to_string())
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Toml,
    Yaml,
    Json,
}

impl Fault {
    fn in_file(self, path: &Path) -> ConfigFault {
        explain(&in_file(path, self.place), &self.message)
    }
}

/// Formats a place in a file.
fn in_file(path: &Path, place: Option<Place>) -> String {
    match place {
        Some((line, column)) => format!("{}:{line}:{column}", path.display()),
        None => path.display().to_string(),
    }
}

impl Format {
    fn of(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Self::Json,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Toml,
        }
    }

    fn tree(self, text: &str) -> Result<Tree, Fault> {
        match self {
            // An empty file sets nothing.
            Self::Yaml if text.trim().is_empty() => Tree::of_yaml("{}"),
            Self::Json => {
                // YAML permits more than JSON.
                let parsed: Result<IgnoredAny, _> = serde_json::from_str(text);
                parsed.map_err(|error| {
                    let error_text = error.to_string();
                    let message = error_text.rsplit_once(" at line ").map_or(error_text.as_str(), |(message, _)| message).to_owned();
                    // At the beginning of a line the parser reports column 0.
                    Fault { message, place: Some((error.line(), error.column().max(1))) }
                })?;
                Tree::of_yaml(text)
            }
            Self::Toml => Tree::of_toml(text),
            Self::Yaml => Tree::of_yaml(text),
        }
    }
}

/// Converts an offset in bytes to line and column, both from 1; columns count characters.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// Removes null values, which JSON and YAML permit: they set nothing.
fn drop_nulls(document: &mut Value) {
    if let Value::Object(members) = document {
        members.retain(|_, value| !value.is_null());
        members.values_mut().for_each(drop_nulls);
    }
}

/// Rewrites a parser's message for people, with a hint: the nearest known key or the valid values.
pub(super) fn explain(place: &str, message: &str) -> ConfigFault {
    if let Some((unknown, known)) = unknown(message, "unknown field `") {
        let fault = ConfigFault::new(place, message!("unknown-key", key = unknown));
        let keys = listed(&known);
        return fault.hint(match nearest(unknown, known.iter().copied()) {
            Some(near) => message!("near-key", key = near, keys = keys),
            None => message!("keys", keys = keys),
        });
    }
    if let Some((unknown, known)) = unknown(message, "unknown variant `") {
        let (fault, values) = (ConfigFault::new(place, message!("unknown-value", value = unknown)), listed(&known));
        return fault.hint(match nearest(unknown, known.iter().copied()) {
            Some(near) => message!("near-value", value = near, values = values),
            None => message!("values", values = values),
        });
    }
    let other = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, wanted)) = other.and_then(|rest| rest.rsplit_once(", expected ")) {
        let found =
            ["string ", "integer ", "boolean ", "floating point "].iter().find_map(|kind| found.strip_prefix(kind)).unwrap_or(found);
        let found = match found {
            "sequence" => message!("want-list"),
            "map" => message!("want-table"),
            other => Message::text(other),
        };
        return ConfigFault::new(place, message!("wanted", kind = kind(wanted), found));
    }
    if let Some(missing) = message.strip_prefix("missing field ") {
        return ConfigFault::new(place, message!("key-missing", key = missing));
    }
    ConfigFault::new(place, message.trim_end().replace('\n', ", "))
}

/// Parses "unknown field `x`, expected one of `a`, `b`" into `x` and the list of `a` and `b`.
fn unknown<'a>(message: &'a str, beginning: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let (unknown, rest) = message.split_once(beginning)?.1.split_once('`')?;
    Some((unknown, rest.split('`').skip(1).step_by(2).collect()))
}

fn listed(words: &[&str]) -> String {
    words.join(", ")
}

/// Describes the type that the parser of a setting wants.
fn kind(wanted: &str) -> Message {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => message!("want-natural"),
        "i32" | "i64" => message!("want-integer"),
        "f32" | "f64" => message!("want-number"),
        "a boolean" => message!("want-truth"),
        "a string" => message!("want-text"),
        _ if wanted.starts_with("enum ") => message!("want-text"),
        "a sequence" => message!("want-list"),
        _ if wanted.starts_with("struct ") || wanted == "a map" => message!("want-table"),
        network::WANTED => message!("want-network"),
        hooks::COMMAND => message!("want-command"),
        _ => match wanted.split_once(" to ") {
            Some((from, to)) => range(from, to),
            None => Message::text(wanted),
        },
    }
}
