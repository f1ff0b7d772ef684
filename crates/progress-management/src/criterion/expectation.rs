//! The expected result of a command.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{PathSegment, reference::parse_path};

/// Maximum size of a compiled regular expression, in bytes.
const PATTERN_BYTES: usize = 1 << 20;
/// The accepted forms, for error messages.
const FORMS: &str = "`exit 0`, `output contains TEXT`, `output matches REGEX`, `json PATH equals VALUE`";

/// The expected result of a command. Documents write it as one text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Expectation {
    /// `exit N`: the command ends with this exit code.
    Exit(i32),
    /// `output contains TEXT`: any output stream contains this text. The exit code does not matter.
    Contains(String),
    /// `output matches REGEX`: any output stream matches. The exit code does not matter.
    Matches(Pattern),
    /// `json PATH equals VALUE`: the output is JSON and has this value at the path. The exit code does not matter.
    Json {
        /// The path in the output.
        path: JsonPath,
        /// The value.
        value: Value,
    },
}

/// The result of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandResult<'a> {
    /// The exit code; absent if a signal ended the command.
    pub exit: Option<i32>,
    /// Standard output.
    pub stdout: &'a str,
    /// Standard error.
    pub stderr: &'a str,
}

/// A valid regular expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

/// A path into a JSON value, such as `.items[0].name`; empty for the whole value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath(Vec<PathSegment>);

/// Error of a text that is no valid expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidExpectation {
    /// The text has none of the forms.
    #[error("{text:?} is not a valid expectation: write {FORMS}")]
    Unknown {
        /// The text.
        text: String,
    },
    /// The regular expression does not compile.
    #[error("the regular expression {pattern:?} is invalid: {why}")]
    Pattern {
        /// The regular expression.
        pattern: String,
        /// The compiler's message, in one line.
        why: String,
    },
    /// The path into JSON is invalid.
    #[error("{path:?} is not a valid JSON path: write `.items[0].name`")]
    Path {
        /// The path.
        path: String,
    },
}

impl Expectation {
    /// Returns true for the expectation that a document implies if it gives none.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if a command with this result met the expectation.
    #[must_use]
    pub fn holds(&self, result: &CommandResult<'_>) -> bool {
        let streams = [result.stdout, result.stderr];
        match self {
            Self::Exit(code) => result.exit == Some(*code),
            Self::Contains(text) => streams.iter().any(|stream| stream.contains(text)),
            Self::Matches(pattern) => streams.iter().any(|stream| pattern.is_match(stream)),
            Self::Json { path, value } => {
                serde_json::from_str::<Value>(result.stdout.trim()).is_ok_and(|output| path.find(&output) == Some(value))
            }
        }
    }
}

impl Default for Expectation {
    fn default() -> Self {
        Self::Exit(0)
    }
}

impl FromStr for Expectation {
    type Err = InvalidExpectation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Some(code) = exit_code(text) {
            return Ok(Self::Exit(code));
        }
        let unknown = || InvalidExpectation::Unknown { text: text.to_owned() };
        let (first, rest) = text.split_once(char::is_whitespace).ok_or_else(unknown)?;
        let (first, rest) = match (first.to_ascii_lowercase().as_str(), rest.trim_start()) {
            ("output" | "stdout", rest) => {
                let (verb, rest) = rest.split_once(char::is_whitespace).ok_or_else(unknown)?;
                (verb.to_ascii_lowercase(), rest.trim())
            }
            (first, rest) => (first.to_owned(), rest.trim()),
        };
        match first.as_str() {
            _ if rest.is_empty() => Err(unknown()),
            "contains" | "includes" => Ok(Self::Contains(unquoted(rest))),
            "matches" => Pattern::new(unquoted(rest)).map(Self::Matches),
            "json" => json(rest).ok_or_else(unknown)?,
            _ => Err(unknown()),
        }
    }
}

/// Parses `exit 1`, `exit code 1`, `exits with 1`, `1`, and words for success.
fn exit_code(text: &str) -> Option<i32> {
    let lower = text.to_ascii_lowercase();
    if matches!(lower.as_str(), "" | "ok" | "success" | "succeeds" | "pass" | "passes") {
        return Some(0);
    }
    let words = lower.split_whitespace().filter(|word| !matches!(*word, "exit" | "exits" | "code" | "status" | "with" | "=" | "=="));
    let words: Vec<&str> = words.collect();
    match words.as_slice() {
        [code] => code.trim_start_matches("exit:").parse().ok(),
        _ => None,
    }
}

fn json(rest: &str) -> Option<Result<Expectation, InvalidExpectation>> {
    let verbs = [" equals ", " == ", " = ", " is "];
    let (path, value) = verbs.iter().find_map(|verb| rest.split_once(verb))?;
    let value = value.trim();
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Some(JsonPath::new(path.trim()).map(|path| Expectation::Json { path, value }))
}

/// Returns the text without quotes around it.
fn unquoted(text: &str) -> String {
    match text.chars().next() {
        Some('"') => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
        Some(quote @ ('\'' | '`')) => {
            let inside = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)).filter(|inside| !inside.is_empty());
            inside.unwrap_or(text).to_owned()
        }
        _ => text.to_owned(),
    }
}

/// Returns the text, quoted if it would be parsed differently without quotes.
fn quoted(text: &str) -> String {
    if unquoted(text.trim()) == text && !text.contains(['\n', '\r']) { text.to_owned() } else { Value::from(text).to_string() }
}

impl Pattern {
    /// Compiles a regular expression. `^` and `$` match at the beginning and end of each line.
    ///
    /// # Errors
    ///
    /// [`InvalidExpectation::Pattern`] if it does not compile.
    pub fn new(pattern: impl Into<String>) -> Result<Self, InvalidExpectation> {
        let pattern = pattern.into();
        match compile(&pattern) {
            Ok(_) => Ok(Self(pattern)),
            Err(error) => {
                let why = error.to_string().lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
                Err(InvalidExpectation::Pattern { pattern, why })
            }
        }
    }

    /// Returns true if the text matches anywhere.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        compile(&self.0).is_ok_and(|pattern| pattern.is_match(text))
    }

    /// Returns the source of the expression.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    regex::RegexBuilder::new(pattern).multi_line(true).size_limit(PATTERN_BYTES).build()
}

impl JsonPath {
    /// Parses a path such as `.items[0].name`. A leading `$` and a missing first dot are accepted.
    ///
    /// # Errors
    ///
    /// [`InvalidExpectation::Path`] if it is invalid.
    pub fn new(path: &str) -> Result<Self, InvalidExpectation> {
        let plain = path.strip_prefix('$').unwrap_or(path);
        let dotted = match plain.chars().next() {
            None | Some('.' | '[') => plain.to_owned(),
            Some(_) => format!(".{plain}"),
        };
        let segments = if dotted == "." { Some(Vec::new()) } else { parse_path(&dotted) };
        segments.map(Self).ok_or_else(|| InvalidExpectation::Path { path: path.to_owned() })
    }

    /// Returns the value at the path.
    #[must_use]
    pub fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(value, |value, segment| match segment {
            PathSegment::Key(key) => value.get(key),
            PathSegment::Index(index) => value.get(index),
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str(".") } else { self.0.iter().try_for_each(|segment| segment.fmt(f)) }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Contains(text) => write!(f, "output contains {}", quoted(text)),
            Self::Matches(pattern) => write!(f, "output matches {}", quoted(pattern.as_str())),
            Self::Json { path, value } => write!(f, "json {path} equals {value}"),
        }
    }
}

impl TryFrom<String> for Expectation {
    type Error = InvalidExpectation;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Expectation> for String {
    fn from(expectation: Expectation) -> Self {
        expectation.to_string()
    }
}

impl JsonSchema for Expectation {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expectation".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let described = format!("The result that a command must have: {FORMS}.");
        schemars::json_schema!({"type": "string", "description": described})
    }
}
