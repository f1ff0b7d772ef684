//! Elicitation: questions of a server to a person. A form becomes one question per field.
//!
//! Pure. A person answers in words; the parser accepts every unambiguous answer.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::listed::one_line;
use crate::schema::Checker;

/// Maximum characters of a server's text in a question.
const WORDS: usize = 1_000;
/// Maximum number of fields in a form.
const MAX_FIELDS: usize = 20;
/// Words that decline a server's request.
const NO: [&str; 8] = ["no", "n", "decline", "cancel", "skip", "stop", "不", "否"];

/// A form as a person sees it.
#[derive(Debug)]
pub(super) struct Form {
    head: String,
    pub(super) fields: Vec<Field>,
}

/// One field.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    schema: Value,
    required: bool,
    checker: Checker,
}

impl Form {
    pub(super) fn new(server: &str, message: &str, schema: &Value) -> Self {
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let fields = properties.into_iter().flatten().take(MAX_FIELDS).map(|(name, property)| {
            let whole = serde_json::json!({"type": "object", "properties": {name: property}});
            Field {
                name: name.clone(),
                schema: property.clone(),
                required: required.contains(&name.as_str()),
                checker: Checker::new("elicitation", &whole),
            }
        });
        Self { head: format!("The MCP server `{server}` asks: {}", words(message)), fields: fields.collect() }
    }

    /// Returns the question of a form without fields.
    pub(super) fn bare_question(&self) -> String {
        format!("{}\nAnswer yes or no.", self.head)
    }

    pub(super) fn question(&self, field: &Field) -> String {
        let mut question = self.head.clone();
        let text = |key: &str| field.schema.get(key).and_then(Value::as_str).map(words).filter(|text| !text.is_empty());
        let title = text("title").unwrap_or_else(|| words(&field.name));
        // Writing to a string cannot fail.
        let _ = write!(question, "\n{title}");
        if let Some(description) = text("description").filter(|description| *description != title) {
            let _ = write!(question, ": {description}");
        }
        if let Some(choices) = choices(&field.schema) {
            let _ = write!(question, "\nOne of: {}", choices.join(", "));
        } else if field.schema.get("type").is_some_and(|kind| kind == "boolean") {
            question.push_str("\nAnswer yes or no.");
        }
        if let Some(default) = field.schema.get("default") {
            let _ = write!(question, "\nIf you say nothing: {}", words(&plain(default)));
        } else if !field.required {
            question.push_str("\nIt may be left empty.");
        }
        question.push_str("\n(`decline` gives the server no answer.)");
        question
    }

    pub(super) fn question_again(&self, field: &Field, fault: &str) -> String {
        format!("{}\nThat does not fit: {fault}", self.question(field))
    }
}

impl Field {
    /// Parses an answer. `None` declines the request; `Ok(None)` omits the field; `Err` says why the answer does not fit.
    pub(super) fn read(&self, answer: &str) -> Option<Result<Option<Value>, String>> {
        let answer = answer.trim();
        let lower = answer.to_lowercase();
        let is_yes_no = self.schema.get("type").is_some_and(|kind| kind == "boolean");
        if lower == "decline" || (!is_yes_no && choices(&self.schema).is_none() && lower == "cancel") {
            return None;
        }
        if answer.is_empty() {
            return Some(match self.schema.get("default") {
                Some(default) => Ok(Some(default.clone())),
                None if !self.required => Ok(None),
                None => Err("it is needed".to_owned()),
            });
        }
        let meant = if is_yes_no {
            match lower.as_str() {
                "y" | "yes" | "true" | "1" | "是" | "好" => Value::Bool(true),
                _ if NO.contains(&lower.as_str()) || lower == "false" || lower == "0" => Value::Bool(false),
                _ => Value::from(answer),
            }
        } else {
            self.choice(answer).unwrap_or_else(|| Value::from(answer))
        };
        let checked = self.checker.take(Map::from_iter([(self.name.clone(), meant)]));
        Some(checked.map(|mut values| values.remove(&self.name)))
    }

    /// Finds a choice by its value or its title, in any case.
    fn choice(&self, answer: &str) -> Option<Value> {
        let values: Vec<&Value> = match self.schema.get("enum").and_then(Value::as_array) {
            Some(values) => values.iter().collect(),
            None => one_of(&self.schema)?.iter().filter_map(|option| option.get("const")).collect(),
        };
        let names: Vec<&str> = match self.schema.get("enumNames").and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => one_of(&self.schema).into_iter().flatten().filter_map(|option| option.get("title")?.as_str()).collect(),
        };
        let same = |text: &str| text.to_lowercase() == answer.to_lowercase();
        let by_value = values.iter().find(|value| value.as_str().is_some_and(same)).copied();
        let by_name = || names.iter().position(|name| same(name)).and_then(|at| values.get(at).copied());
        by_value.or_else(by_name).cloned()
    }
}

fn one_of(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

/// Returns the choices of a field, with titles if there are some.
fn choices(schema: &Value) -> Option<Vec<String>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().map(|value| words(&plain(value))).collect());
    }
    let options = one_of(schema)?.iter().filter_map(|option| {
        let value = words(option.get("const")?.as_str()?);
        let title = option.get("title").and_then(Value::as_str).map(words).filter(|title| *title != value);
        Some(title.map_or_else(|| value.clone(), |title| format!("{value} ({title})")))
    });
    Some(options.collect())
}

/// Returns the question that asks for permission to open a page.
pub(super) fn asks_url(server: &str, message: &str, url: &str) -> String {
    format!(
        "The MCP server `{server}` asks you to open a page: {}\n{}\nOpen it yourself if you trust the address. Answer yes when you have, or no.",
        words(message),
        words(url)
    )
}

/// Returns the note on a page that nobody has opened, for the error of the call that needs it.
pub(super) fn page_note(message: &str, url: &str) -> String {
    format!("\nA person has to open a page first: {}\n{}", words(message), words(url))
}

/// Returns true if an answer is a yes.
pub(super) fn may_go_on(answer: &str) -> bool {
    matches!(answer.trim().trim_end_matches('.').to_lowercase().as_str(), "y" | "yes" | "ok" | "done" | "true" | "是" | "好" | "好的")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a server's text on one line, cut to the maximum length.
fn words(text: &str) -> String {
    one_line(text.trim()).chars().take(WORDS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(schema: Value) -> Form {
        Form::new("shop", "Which one?\u{1b}[2J", &schema)
    }

    #[test]
    fn a_field_is_a_question() {
        let form = form(json!({"type": "object", "required": ["size"], "properties": {
            "size": {"type": "string", "title": "Size", "description": "of the shirt", "enum": ["s", "m"]},
            "gift": {"type": "boolean", "default": false},
            "note": {"type": "string"},
            "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
        }}));
        let questions: Vec<String> = form.fields.iter().map(|field| form.question(field)).collect();
        let head = "The MCP server `shop` asks: Which one?[2J";
        let end = "(`decline` gives the server no answer.)";
        let expected = [
            format!("{head}\nSize: of the shirt\nOne of: s, m\n{end}"),
            format!("{head}\ngift\nAnswer yes or no.\nIf you say nothing: false\n{end}"),
            format!("{head}\nnote\nIt may be left empty.\n{end}"),
            format!("{head}\ncolour\nOne of: r (Red), g (Green)\nIt may be left empty.\n{end}"),
        ];
        let mut sorted = questions.clone();
        sorted.sort();
        let mut wanted = expected.to_vec();
        wanted.sort();
        assert_eq!(sorted, wanted);
    }

    #[test]
    fn what_was_meant_is_taken_and_what_does_not_fit_is_told() {
        let table = [
            (json!({"type": "string"}), "a word", Some(Ok(Some(json!("a word"))))),
            (json!({"type": "integer", "minimum": 2}), " 5 ", Some(Ok(Some(json!(5))))),
            (json!({"type": "integer", "minimum": 2}), "1", Some(Err("`x` must be at least 2"))),
            (json!({"type": "integer"}), "many", Some(Err("`x` must be an integer"))),
            (json!({"type": "boolean"}), "Yes", Some(Ok(Some(json!(true))))),
            (json!({"type": "boolean"}), "no", Some(Ok(Some(json!(false))))),
            (json!({"type": "boolean"}), "perhaps", Some(Err("`x` must be a boolean"))),
            (json!({"type": "string", "enum": ["s", "m"]}), "M", Some(Ok(Some(json!("m"))))),
            (json!({"type": "string", "enum": ["s", "m"]}), "xl", Some(Err("must be one of"))),
            (json!({"type": "string", "enum": ["s"], "enumNames": ["Small"]}), "small", Some(Ok(Some(json!("s"))))),
            (json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}), "red", Some(Ok(Some(json!("r"))))),
            (json!({"type": "string", "default": "d"}), "", Some(Ok(Some(json!("d"))))),
            (json!({"type": "string"}), "", Some(Ok(None))),
            (json!({"type": "string"}), "decline", None),
            (json!({"type": "boolean"}), "Decline", None),
        ];
        for (property, answer, expected) in table {
            let form = form(json!({"properties": {"x": property}}));
            let read = form.fields[0].read(answer);
            match (read, expected) {
                (Some(Err(fault)), Some(Err(part))) => assert!(fault.contains(part), "{fault}: {part}"),
                (read, expected) => assert_eq!(read, expected.map(|r| r.map_err(str::to_owned)), "{property} {answer:?}"),
            }
        }
        let needed = form(json!({"required": ["x"], "properties": {"x": {"type": "string"}}}));
        assert_eq!(needed.fields[0].read(""), Some(Err("it is needed".to_owned())));
    }
}
