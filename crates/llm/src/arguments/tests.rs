//! Which calls run, with what, and which must not.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ArgumentsError, coerce_to_schema, read_arguments, read_arguments_with_repairs};

fn check(raw: &str, schema: Option<&Value>, expected: &Value) {
    match read_arguments(raw, schema) {
        Ok(values) => assert_eq!(&Value::Object(values), expected, "from {raw:?}"),
        Err(error) => panic!("{raw:?}: {error}"),
    }
}

fn write_file() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": ["integer", "null"]},
            "depth": {"type": "integer"},
            "ratio": {"type": "number"},
            "force": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "lines": {"type": "array", "items": {"type": "integer"}},
            "options": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
            "item": {"$ref": "#/$defs/item"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "any": {}
        },
        "required": ["path", "depth"],
        "$defs": {"item": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    })
}

fn bash() -> Value {
    json!({"type": "object", "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}}, "required": ["command"]})
}

#[test]
fn nothing_is_no_arguments() {
    for raw in ["", "  \n", "null", "{}", "\"\"", "\"{}\"", "\"null\"", "\u{feff}", " {\n} "] {
        check(raw, None, &json!({}));
    }
}

#[test]
fn objects_are_read() {
    check(r#"{"a": 1}"#, None, &json!({"a": 1}));
    check(r#""{\"a\": 1}""#, None, &json!({"a": 1}));
    check(r#""\"{\\\"a\\\": 1}\"""#, None, &json!({"a": 1}));
    check("{'a': True,}", None, &json!({"a": true}));
    check("```json\n{\"a\": 1}\n```", None, &json!({"a": 1}));
    check(r#"{"a": 1}}"#, None, &json!({"a": 1}));
    check(r#"{"re": "\d+"}"#, None, &json!({"re": r"\d+"}));
    check(r#"{\"a\": 1}"#, None, &json!({"a": 1}));
    check("{\"text\": \"one\ntwo\"}", None, &json!({"text": "one\ntwo"}));
    check(r#"{"a": 1}{"a": 1}"#, None, &json!({"a": 1}));
    check(r#"{}{"a": 1}"#, None, &json!({"a": 1}));
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
fn what_is_no_object_is_refused() {
    for raw in ["[1]", "42", "true", "\"text\"", "[{\"a\": 1}]"] {
        assert!(matches!(read_arguments(raw, None), Err(ArgumentsError::NotAnObject { .. })), "{raw}");
    }
    assert!(matches!(read_arguments("ls -la", Some(&bash())), Err(ArgumentsError::Unreadable { .. })));
    assert!(matches!(read_arguments(r#"{"a": 1}{"a": 2}"#, None), Err(ArgumentsError::SeveralObjects { count: 2 })));
    assert!(matches!(read_arguments(r#"{"a": 1} or {"a": 2}"#, None), Err(ArgumentsError::SeveralObjects { .. })));
    assert!(matches!(read_arguments(r#"{"a": 1, ...}"#, None), Err(ArgumentsError::Cut { .. })));
}

#[test]
fn a_bare_string_is_the_only_required_one() {
    check(r#""ls -la""#, Some(&bash()), &json!({"command": "ls -la"}));
    check(r#""{\"command\": \"ls\"}""#, Some(&bash()), &json!({"command": "ls"}));
    check(r#""{ echo hi; }""#, Some(&bash()), &json!({"command": "{ echo hi; }"}));
    check(r#""{\"json\": \"document\"}""#, Some(&bash()), &json!({"command": "{\"json\": \"document\"}"}));
    assert!(read_arguments(r#""a.txt""#, Some(&write_file())).is_err());
    assert!(read_arguments(r#""ls -la"#, Some(&bash())).is_err());
}

#[test]
fn harmless_types_are_evened_out() {
    let schema = write_file();
    let cases = [
        (json!({"depth": "3"}), json!({"depth": 3}), "depth: read the string as an integer"),
        (json!({"depth": 3.0}), json!({"depth": 3}), "depth: read the float as an integer"),
        (json!({"ratio": "0.5"}), json!({"ratio": 0.5}), "ratio: read the string as a number"),
        (json!({"force": "True"}), json!({"force": true}), "force: read the string as a truth value"),
        (json!({"path": 7}), json!({"path": "7"}), "path: wrote 7 as a string"),
        (json!({"tags": "x"}), json!({"tags": ["x"]}), "tags: made an array of the single value"),
        (json!({"tags": "[\"x\", \"y\"]"}), json!({"tags": ["x", "y"]}), "tags: read the JSON inside the string"),
        (json!({"lines": 5}), json!({"lines": [5]}), "lines: made an array of the single value"),
        (json!({"lines": ["5"]}), json!({"lines": [5]}), "lines[0]: read the string as an integer"),
        (json!({"options": "{\"deep\": true}"}), json!({"options": {"deep": true}}), "options: read the JSON inside the string"),
        (json!({"options": {"deep": "false"}}), json!({"options": {"deep": false}}), "options.deep: read the string as a truth value"),
        (json!({"item": {"id": "9"}}), json!({"item": {"id": 9}}), "item.id: read the string as an integer"),
        (json!({"maybe": "4"}), json!({"maybe": 4}), "maybe: read the string as an integer"),
        (json!({"force": null}), json!({}), "force: left out null"),
    ];
    for (given, expected, repair) in cases {
        let read = read_arguments_with_repairs(&given.to_string(), Some(&schema)).unwrap();
        assert_eq!(Value::Object(read.values), expected, "{given}");
        assert_eq!(read.repairs, [repair], "{given}");
    }
}

#[test]
fn what_fits_or_cannot_be_helped_stays() {
    let schema = write_file();
    let cases = [
        json!({"path": "3", "depth": 3}),
        json!({"path": null}),
        json!({"limit": null}),
        json!({"maybe": null}),
        json!({"any": null}),
        json!({"either": "4"}),
        json!({"depth": "three"}),
        json!({"depth": 2.5}),
        json!({"depth": "0x10"}),
        json!({"ratio": "inf"}),
        json!({"force": "yes"}),
        json!({"options": "deep"}),
        json!({"path": {"a": 1}}),
        json!({"unknown": "5"}),
    ];
    for given in cases {
        let read = read_arguments_with_repairs(&given.to_string(), Some(&schema)).unwrap();
        assert_eq!((Value::Object(read.values), read.repairs), (given, vec![]));
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
}
