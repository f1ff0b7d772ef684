//! Tests which calls run, with which arguments, and which calls are refused.

use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use super::{ArgumentsError, coerce_to_schema, read_arguments, read_arguments_with_repairs};
use crate::corpus::{self, TextCase};
use crate::json::json_text::{Place, any_value, json_text, leaves, object_of};

fn bash() -> Value {
    json!({"type": "object", "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}}, "required": ["command"]})
}

// Requirement: 16.2
#[test]
fn every_case_of_the_corpus_runs_or_must_not() {
    let corpus = corpus::read::<TextCase>("arguments.toml");
    let schema = |name: &String| serde_json::from_str::<Value>(&corpus.schemas[name]).unwrap();
    let mut wrong = Vec::new();
    for case in &corpus.cases {
        let schema = case.tool.as_ref().map(schema);
        let read = read_arguments(&case.text, schema.as_ref());
        let right = match (&read, &case.is, &case.refused) {
            (Ok(values), Some(is), None) => serde_json::from_str::<Value>(is).unwrap() == Value::Object(values.clone()),
            (Err(error), None, Some(words)) => error.to_string().contains(words),
            _ => false,
        };
        if !right {
            wrong.push(format!("{}\n  {:?}\n  {read:?}", case.name, case.text));
        }
    }
    corpus::none_of(&wrong);
}

// Requirement: 16.2
#[test]
fn arguments_that_are_cut_anywhere_never_run() {
    let mut wrong = Vec::new();
    for case in corpus::read::<TextCase>("arguments.toml").cases {
        let text = case.text.trim();
        let is_one_value = serde_json::from_str::<Value>(text).is_ok();
        let whole = read_arguments(text, None);
        for (at, _) in text.char_indices().filter(|(at, _)| *at > 0) {
            let read = read_arguments(&text[..at], None);
            if is_one_value && text.starts_with(['{', '"']) && read.is_ok() && read != whole {
                wrong.push(format!("{} cut at {at}: {:?}\n  {read:?}", case.name, &text[..at]));
            }
        }
    }
    corpus::none_of(&wrong);
}

#[test]
fn what_is_cut_never_runs() {
    let whole = r#"{"path": "a/b.txt", "content": "rm -rf \"/tmp/x\" [1, {2}]", "list": [1, {"k": "v"}], "n": 12}"#;
    for at in 1..whole.len() {
        let cut = &whole[..at];
        assert!(matches!(read_arguments(cut, None), Err(ArgumentsError::Cut { .. })), "{cut}");
        let encoded = json!(cut).to_string();
        assert!(read_arguments(&encoded, None).is_err(), "{encoded}");
    }
    for cut in [r#"{"a": 1"#, r#"{'a': 'x"#, r#""{\"a\": 1"#, "{", "[", r#"{"a": [1, 2}"#.trim_end_matches('}')] {
        assert!(matches!(read_arguments(cut, Some(&bash())), Err(ArgumentsError::Cut { .. })), "{cut}");
    }
}

#[test]
fn what_was_evened_out_is_told() {
    let schema = json!({"type": "object", "properties": {
        "depth": {"type": "integer"}, "ratio": {"type": "number"}, "force": {"type": "boolean"}, "path": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}}, "options": {"type": "object", "properties": {"deep": {"type": "boolean"}}}}});
    let cases = [
        (json!({"depth": "3"}), "depth: read the string as an integer"),
        (json!({"depth": 3.0}), "depth: read the float as an integer"),
        (json!({"ratio": "0.5"}), "ratio: read the string as a number"),
        (json!({"force": "True"}), "force: read the string as a truth value"),
        (json!({"path": 7}), "path: wrote 7 as a string"),
        (json!({"tags": "x"}), "tags: made an array of the single value"),
        (json!({"tags": "[\"x\"]"}), "tags: read the JSON inside the string"),
        (json!({"options": {"deep": "false"}}), "options.deep: read the string as a truth value"),
        (json!({"force": null}), "force: left out null"),
    ];
    for (given, repair) in cases {
        assert_eq!(read_arguments_with_repairs(&given.to_string(), Some(&schema)).unwrap().repairs, [repair], "{given}");
    }
    for given in [json!({"path": "3", "depth": 3}), json!({"depth": "three"}), json!({"force": "yes"}), json!({"unknown": "5"})] {
        assert_eq!(read_arguments_with_repairs(&given.to_string(), Some(&schema)).unwrap().repairs, [""; 0], "{given}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let schema = json!({"$ref": "#", "type": "object"});
    let mut value = json!({"a": 1});
    coerce_to_schema(&mut value, &schema, &mut Vec::new());
    let nested = json!({"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}});
    let mut value = json!({"next": {"next": {"n": "1"}}});
    coerce_to_schema(&mut value, &nested, &mut Vec::new());
    assert_eq!(value, json!({"next": {"next": {"n": 1}}}));
}

/// Arguments as models and proxies write them: bare, in a string, with their quotes escaped, in a fence.
fn in_each_form(text: &str) -> [String; 5] {
    let string = json!(text).to_string();
    let escaped = string.trim_matches('"').to_owned();
    [text.to_owned(), string, escaped, format!("```json\n{text}\n```"), format!("Arguments:\n```json\n{text}\n```\nDone.")]
}

fn closers() -> impl Strategy<Value = Vec<(Index, &'static str)>> {
    prop::collection::vec((any::<Index>(), prop::sample::select(vec!["}", "]", "}}", "]]", "}]", "]}"])), 1..3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(raw in "\\PC{0,80}") {
        let _ = read_arguments(&raw, Some(&bash()));
    }

    #[test]
    fn no_cut_object_is_ever_run(text in "[ -~\\n]{0,40}", number in any::<i32>(), at in 0.0..1.0f64) {
        let whole = json!({"command": text, "list": [number, {"x": text}], "last": number}).to_string();
        let at = 1 + ((whole.len() - 2) as f64 * at) as usize;
        prop_assert!(read_arguments(&whole[..at], None).is_err());
    }

    #[test]
    fn no_call_runs_without_a_member(value in object_of(any_value(3), 1..5), surplus in closers()) {
        let whole = json_text(&value);
        let members: Vec<Place> = whole.places.iter().filter(|place| place.open == "}").cloned().collect();
        let surplus: Vec<_> = surplus.iter().map(|(place, closers)| (place.get(&members).clone(), *closers)).collect();
        for text in in_each_form(&whole.with(&surplus)) {
            if let Ok(read) = read_arguments(&text, None) {
                prop_assert_eq!(&Value::Object(read), &value, "{}", text);
            }
        }
    }

    #[test]
    fn no_call_loses_a_part(value in object_of(any_value(3), 1..5), surplus in closers()) {
        let whole = json_text(&value);
        let surplus: Vec<_> = surplus.iter().map(|(place, closers)| (place.get(&whole.places).clone(), *closers)).collect();
        for text in in_each_form(&whole.with(&surplus)) {
            if let Ok(read) = read_arguments(&text, None) {
                prop_assert_eq!(leaves(&Value::Object(read)), leaves(&value), "{}", text);
            }
        }
    }
}
