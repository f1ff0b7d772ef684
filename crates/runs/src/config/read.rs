//! Reads one file or variable by itself, since only then can a fault name its line and column.

mod tree;

use std::{fmt, path::Path};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use self::tree::{Fault, Place, Tree};
use super::Config;

/// Fault of a configuration, with its place and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// File or variable, with line and column if known.
    pub place: String,
    /// Description of the fault.
    pub message: String,
    /// Hint on how to correct it.
    pub hint: Option<String>,
}

impl ConfigFault {
    pub(super) fn new(place: impl fmt::Display, message: impl Into<String>) -> Self {
        Self { place: place.to_string(), message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for ConfigFault {}

/// Reads a file and returns only the settings that it names. Returns `None` if the file does not exist and is not `required`.
pub(super) fn read_file(path: &Path, required: bool) -> Result<Option<Value>, ConfigFault> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(ConfigFault::new(path.display(), "is not text in UTF-8").hint("save it as UTF-8, or name another file"));
        }
        Err(error) => {
            return Err(
                ConfigFault::new(path.display(), format!("cannot be read: {error}")).hint("check the path and the permissions of the file")
            );
        }
    };
    let format = Format::of(path);
    let config: Config = format.parse(&text).map_err(|fault| fault.in_file(path))?;
    if let Some((rule, fault)) = config.permissions.faults().next() {
        let place = text.find(rule).map(|at| position(&text, at));
        let place = place.map_or_else(|| path.display().to_string(), |(line, column)| format!("{}:{line}:{column}", path.display()));
        return Err(ConfigFault::new(place, fault).hint(
            "write a tool, or a tool with a pattern: `bash(git log *)`, `write_file(docs/**)`, `web_fetch(docs.rs)`, `mcp__git__*`",
        ));
    }
    if let Some(fault) = super::check::faults(&config).into_iter().next() {
        return Err(Fault { place: format.place_of(&text, &fault), message: fault }.in_file(path));
    }
    let mut document = format.parse(&text).map_err(|fault| fault.in_file(path))?;
    drop_nulls(&mut document);
    if !document.is_object() {
        return Err(ConfigFault::new(path.display(), "holds no table of keys").hint("`aime config init` writes a file to begin with"));
    }
    Ok(Some(document))
}

/// Reads the setting that a variable `AIME__SECTION__KEY` names.
pub(super) fn read_variable(name: &str, value: &str) -> Result<Value, ConfigFault> {
    let key = name.trim_start_matches("AIME__").to_lowercase();
    let nested = |value: Value| {
        let parts: Vec<&str> = key.split("__").collect();
        parts.into_iter().rev().fold(value, |inner, part| Value::Object([(part.to_owned(), inner)].into_iter().collect()))
    };
    let text = nested(Value::from(value));
    // The value is read as JSON (number, boolean, list) if the setting accepts that, otherwise as text.
    let typed = serde_json::from_str::<Value>(value).ok().map(nested);
    let read = typed.into_iter().chain([text.clone()]).find_map(|document| Some((Config::deserialize(&document).ok()?, document)));
    let Some((config, document)) = read else {
        let problem = Config::deserialize(&text).err().map(|error| error.to_string()).unwrap_or_default();
        return Err(explain(name, &problem));
    };
    match super::check::faults(&config).into_iter().next() {
        Some(fault) => Err(ConfigFault::new(name, fault)),
        None => Ok(document),
    }
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Toml,
    Yaml,
    Json,
}

impl Fault {
    fn in_file(self, path: &Path) -> ConfigFault {
        let place = match self.place {
            Some((line, column)) => format!("{}:{line}:{column}", path.display()),
            None => path.display().to_string(),
        };
        explain(&place, &self.message)
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

    fn parse<T: DeserializeOwned>(self, text: &str) -> Result<T, Fault> {
        let tree = match self {
            // An empty file sets nothing.
            Self::Yaml if text.trim().is_empty() => return Self::Json.parse("{}"),
            Self::Json => {
                return serde_json::from_str(text).map_err(|error| {
                    let said = error.to_string();
                    let message = said.rsplit_once(" at line ").map_or(said.as_str(), |(message, _)| message).to_owned();
                    // At the beginning of a line the parser reports column 0.
                    Fault { message, place: Some((error.line(), error.column().max(1))) }
                });
            }
            Self::Toml => Tree::of_toml(text),
            Self::Yaml => Tree::of_yaml(text),
        };
        T::deserialize(&tree?)
    }

    /// Returns the place of the setting whose key a fault begins with.
    fn place_of(self, text: &str, fault: &str) -> Option<Place> {
        let tree = match self {
            Self::Toml => Tree::of_toml(text),
            Self::Json | Self::Yaml => Tree::of_yaml(text),
        };
        tree.ok()?.place_of(fault)
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
        let fault = ConfigFault::new(place, format!("unknown key `{unknown}`"));
        let keys = listed(&known);
        return fault.hint(match nearest(unknown, &known) {
            Some(near) => format!("did you mean `{near}`? The keys here are {keys}"),
            None => format!("the keys here are {keys}"),
        });
    }
    if let Some((unknown, known)) = unknown(message, "unknown variant `") {
        let (fault, values) = (ConfigFault::new(place, format!("unknown value `{unknown}`")), listed(&known));
        return fault.hint(match nearest(unknown, &known) {
            Some(near) => format!("did you mean `{near}`? The values here are {values}"),
            None => format!("write one of {values}"),
        });
    }
    let other = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, wanted)) = other.and_then(|rest| rest.rsplit_once(", expected ")) {
        let found =
            ["string ", "integer ", "boolean ", "floating point "].iter().find_map(|kind| found.strip_prefix(kind)).unwrap_or(found);
        return ConfigFault::new(place, format!("expected {}, found {found}", kind(wanted)));
    }
    if let Some(missing) = message.strip_prefix("missing field ") {
        return ConfigFault::new(place, format!("{missing} is missing"));
    }
    ConfigFault::new(place, message.trim_end().replace('\n', ", "))
}

/// Parses "unknown field `x`, expected one of `a`, `b`" into `x` and the list of `a` and `b`.
fn unknown<'a>(message: &'a str, beginning: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let (unknown, rest) = message.split_once(beginning)?.1.split_once('`')?;
    Some((unknown, rest.split('`').skip(1).step_by(2).collect()))
}

/// Returns the known name most similar to an unknown one, if any is similar enough.
pub fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    let (distance, key) = known.iter().map(|key| (strsim::damerau_levenshtein(unknown, key), *key)).min()?;
    (distance <= unknown.len().div_ceil(2)).then_some(key)
}

fn listed(words: &[&str]) -> String {
    words.join(", ")
}

fn kind(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        _ if wanted.starts_with("struct ") || wanted == "a map" => "a table of keys",
        _ => wanted,
    }
}
