//! Tests which texts are calls, which are attempted calls, and which are prose.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::{
    corpus::{self, Named},
    read_arguments,
};

const OFFERED: [&str; 6] = ["write_file", "terminate", "glob", "read_file", "list_all", "set_limits"];
const FILES: [&str; 3] = ["calls.toml", "calls_raw.toml", "calls_prose.toml"];

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    text: String,
    left: Option<String>,
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    attempted: bool,
}

impl Named for Case {
    fn name(&self) -> &str {
        &self.name
    }
}

fn cases() -> Vec<Case> {
    FILES.into_iter().flat_map(|file| corpus::read::<Case>(file).cases).collect()
}

fn shown(found: &CallsInText) -> Vec<String> {
    found.calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect()
}

// Requirement: 4.42
#[test]
fn every_case_of_the_corpus_is_found_or_stays_text() {
    let mut wrong = Vec::new();
    for case in cases() {
        let found = calls_in_text(&case.text, &OFFERED);
        if found.text != *case.left.as_ref().unwrap_or(&case.text) || shown(&found) != case.calls || found.attempted != case.attempted {
            wrong.push(format!(
                "{}\n  {:?}\n  left {:?}, calls {:#?}, attempted {}",
                case.name,
                case.text,
                found.text,
                shown(&found),
                found.attempted
            ));
        }
    }
    corpus::none_of(&wrong);
}

// Requirement: 16.2
#[test]
fn a_text_that_is_cut_anywhere_holds_no_half_call() {
    let mut wrong = Vec::new();
    for case in cases() {
        for (at, _) in case.text.char_indices() {
            let calls = shown(&calls_in_text(&case.text[..at], &OFFERED));
            if calls.iter().any(|call| !case.calls.contains(call)) {
                wrong.push(format!("{} cut at {at}\n  {:?}\n  {calls:?}", case.name, &case.text[..at]));
            }
        }
    }
    corpus::none_of(&wrong);
}

#[test]
fn a_raw_call_that_is_cut_is_an_attempt() {
    let mut wrong = Vec::new();
    for case in corpus::read::<Case>("calls_raw.toml").cases.iter().filter(|case| !case.calls.is_empty()) {
        let (at, mark, _) = next_mark(&case.text, 0).unwrap();
        for (end, _) in case.text.char_indices().filter(|(end, _)| *end >= at + mark.len()) {
            let found = calls_in_text(&case.text[..end], &OFFERED);
            if found.calls.is_empty() && !found.attempted {
                wrong.push(format!("{} cut at {end}\n  {:?}", case.name, &case.text[..end]));
            }
        }
    }
    corpus::none_of(&wrong);
}

#[test]
fn values_in_tags_get_the_types_of_the_schema() {
    let schema = json!({"type": "object", "properties": {
        "depth": {"type": "integer"}, "force": {"type": "boolean"}, "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}}, "options": {"type": "object", "properties": {"ratio": {"type": "number"}}}}});
    let values = [("depth", "3"), ("force", "True"), ("note", "[3]"), ("tags", "[\"a\", \"b\"]"), ("options", "{\"ratio\": \"0.5\"}")];
    let expected = json!({"depth": 3, "force": true, "note": "[3]", "tags": ["a", "b"], "options": {"ratio": 0.5}});
    let qwen: String = values.iter().map(|(key, value)| format!("<parameter={key}>\n{value}\n</parameter>\n")).collect();
    let glm: String = values.iter().map(|(key, value)| format!("<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n")).collect();
    for text in [format!("<function=set_limits>\n{qwen}</function>"), format!("<tool_call>set_limits\n{glm}</tool_call>")] {
        let found = calls_in_text(&text, &OFFERED);
        let read: Map<String, Value> = read_arguments(&found.calls[0].arguments, Some(&schema)).unwrap();
        assert_eq!(Value::Object(read), expected, "{text}");
    }
}

#[test]
fn a_text_full_of_marks_holds_no_call() {
    for mark in ["<tool_call>", "<tool_call>{", "x <tool_call>{\"a\": 1", "```", "`<function=glob>` ", "<invoke name=", "to=functions."] {
        let found = calls_in_text(&mark.repeat(20_000), &OFFERED);
        assert!(found.calls.is_empty(), "{mark}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(```|<tool_call>|</tool_call>|<function=|glob|>|<parameter=|</parameter>|</function>|\\[TOOL_CALLS\\]|<\\|channel\\|>commentary|to=functions\\.|<｜tool▁call▁begin｜>|<｜tool▁sep｜>|<\\|tool_call_begin\\|>|<arg_key>|json|\\{|\\}|\"name\"|: |\"glob\"|, \"arguments\"|\n|\\PC){0,24}") {
        let found = calls_in_text(&text, &OFFERED);
        prop_assert!(found.text.len() <= text.len());
        prop_assert!(found.calls.iter().all(|c| OFFERED.contains(&c.name.as_str())));
        prop_assert!(!found.calls.is_empty() || found.text == text);
    }
}
