use serde_json::json;

use super::*;
use crate::testing::*;

fn refs(text: &str) -> Vec<String> {
    references_in_text(text).iter().map(Reference::to_string).collect()
}

// Requirement: 3.15
#[test]
fn references_are_found_and_written_back() {
    let cases: [(&str, &[&str]); 9] = [
        ("@{steps.a.result}", &["@{steps.a.result}"]),
        ("x @{steps.a.status} y @{ steps.b-1.result } z", &["@{steps.a.status}", "@{steps.b-1.result}"]),
        ("@{steps.a.result.x.y[0].z}", &["@{steps.a.result.x.y[0].z}"]),
        ("@{steps.a.result[0][1]}", &["@{steps.a.result[0][1]}"]),
        (r#"@{steps.a.result["a key"]['}']}"#, &[r#"@{steps.a.result["a key"]["}"]}"#]),
        ("@{steps.v1.2.result.x}", &["@{steps.v1.2.result.x}"]),
        ("@{steps.a.result.中文}", &["@{steps.a.result.中文}"]),
        ("@{steps.a.result}@{steps.a.result}", &["@{steps.a.result}"]),
        ("@{foo} $@{x} @ {steps.a.result} @{step.a.result}", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(refs(text), expected, "{text}");
    }
    let found = &references_in_text("@{steps.v1.2.result.x}")[0];
    assert_eq!((found.task.as_str(), &found.part), ("v1.2", &ReferencePart::Result(vec![PathSegment::Key("x".into())])));
}

#[test]
fn pieces_give_the_text_again() {
    for text in ["", "plain", "@", "@{", "a@@{steps.a.result}b", "@@@{steps.a.result}", "@{steps.a.result", "@{foo}@{steps.a.status}@@{"] {
        let again: String = scan(text)
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) | Piece::Malformed(text) => text.to_owned(),
                Piece::Escape => "@@{".to_owned(),
                Piece::Reference(reference) => reference.to_string(),
            })
            .collect();
        assert_eq!(again, text);
    }
}

#[test]
fn what_begins_like_a_reference_and_is_none_is_malformed() {
    for text in [
        "@{steps.a}",
        "@{steps.a.output}",
        "@{steps.a.result.}",
        "@{steps.a.result[x]}",
        "@{steps.a.result[0}",
        "@{steps..result}",
        "@{steps.a b.result}",
        "@{steps.a.result",
        "@{steps.a.status.x}",
    ] {
        assert_eq!(scan(text), [Piece::Malformed(text)], "{text}");
        assert!(matches!(expand_text(text, &empty_state()), Err(ReferenceError::Malformed { .. })), "{text}");
    }
}

fn known() -> ProgressState {
    let mut state = state("a\nb\nc\nd");
    state.conclude("a", done("the text of a", json!({"n": 3, "list": [1, {"x": "deep"}], "s": "word", "@": null})));
    state.conclude("b", done("only text", Value::Null));
    state.conclude("c", done(r#" {"count": 7, "trap": "@{steps.a.result}"} "#, Value::Null));
    state
}

// Requirement: 3.16, 3.17
#[test]
fn expansion_keeps_types_and_interpolates() {
    let state = known();
    let any = Value::Null;
    let text = json!({"properties": {"p": {"type": "string"}}});
    let optional = json!({"properties": {"p": {"type": ["string", "null"]}}});
    let union = json!({"properties": {"p": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
    let number = json!({"properties": {"p": {"type": "integer"}}});
    let cases = [
        // A whole parameter keeps the type of the result.
        (&any, json!("@{steps.a.result.n}"), json!(3)),
        (&any, json!("@{steps.a.result.list}"), json!([1, {"x": "deep"}])),
        (&any, json!("@{steps.a.result.list[1].x}"), json!("deep")),
        (&any, json!("@{steps.a.result.list.0}"), json!(1)),
        (&any, json!(" @{steps.a.result.n} "), json!(3)),
        (&any, json!("@{steps.b.result}"), json!("only text")),
        (&any, json!("@{steps.b.status}"), json!("completed")),
        (&any, json!("@{steps.d.status}"), json!("ready")),
        (&number, json!("@{steps.a.result.n}"), json!(3)),
        // A path is resolved in text that is JSON.
        (&any, json!("@{steps.c.result.count}"), json!(7)),
        // A tool that wants a string gets the text.
        (&text, json!("@{steps.a.result}"), json!("the text of a")),
        (&text, json!("@{steps.a.result.n}"), json!("3")),
        (&text, json!("@{steps.a.result.s}"), json!("word")),
        (&optional, json!("@{steps.a.result}"), json!("the text of a")),
        (&union, json!("@{steps.a.result}"), json!("the text of a")),
        // Inside a longer string the text is inserted.
        (&any, json!("<@{steps.a.result}>"), json!("<the text of a>")),
        (&any, json!("n=@{steps.a.result.n} l=@{steps.a.result.list}"), json!(r#"n=3 l=[1,{"x":"deep"}]"#)),
        // Escaped literals stay.
        (&any, json!("@@{steps.a.result}"), json!("@{steps.a.result}")),
        (&any, json!("echo @{foo} ${bar} a@b.c"), json!("echo @{foo} ${bar} a@b.c")),
        (&any, json!(5), json!(5)),
        // At any depth.
        (&any, json!({"x": ["@{steps.a.result.n}", "-@{steps.a.result.n}"]}), json!({"x": [3, "-3"]})),
        // Inserted text is never expanded again.
        (&any, json!("@{steps.c.result.trap}"), json!("@{steps.a.result}")),
        (&any, json!("[@{steps.c.result.trap}]"), json!("[@{steps.a.result}]")),
    ];
    for (schema, value, expected) in cases {
        let expanded = expand(&parameters(json!({ "p": value })), Some(schema), &state).unwrap();
        assert_eq!(expanded["p"], expected, "{value} as {schema}");
    }
}

#[test]
fn schemas_are_followed_into_lists_and_objects() {
    let schema = json!({"properties": {
        "list": {"type": "array", "items": {"type": "string"}},
        "o": {"type": "object", "properties": {"s": {"type": "string"}}},
    }});
    let given = parameters(json!({"list": ["@{steps.a.result.n}"], "o": {"s": "@{steps.a.result.n}", "t": "@{steps.a.result.n}"}}));
    let expanded = expand(&given, Some(&schema), &known()).unwrap();
    assert_eq!(Value::Object(expanded), json!({"list": ["3"], "o": {"s": "3", "t": 3}}));
}

// Requirement: 3.19
#[test]
fn errors_name_the_path_and_what_is_there() {
    let state = known();
    let cases = [
        ("@{steps.a.result.missing}", "`@{steps.a.result.missing}`: the result has no `missing`; the keys are: n, list, s, @"),
        ("@{steps.a.result.list[7]}", "`@{steps.a.result.list[7]}`: the result has no `list[7]`; there is a list of 2"),
        ("@{steps.a.result.s.x}", "`@{steps.a.result.s.x}`: the result has no `s.x`; there is text"),
        ("@{steps.b.result.x}", "`@{steps.b.result.x}`: the result has no `x`; there is text"),
        ("@{steps.d.result}", "`@{steps.d.result}`: step \"d\" has no result, it is ready"),
        ("@{steps.zz.result}", "`@{steps.zz.result}`: there is no step \"zz\""),
    ];
    for (text, expected) in cases {
        for text in [text.to_owned(), format!("in {text} text")] {
            let error = expand(&parameters(json!({ "p": text })), None, &state).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn renaming_touches_only_the_one_step() {
    let (old, new) = (id("a"), id("a2"));
    let text = "@{steps.a.result.x} @{steps.ab.result} @@{steps.a.result} @{steps.a.status} steps.a";
    assert_eq!(rename(text, &old, &new), "@{steps.a2.result.x} @{steps.ab.result} @@{steps.a.result} @{steps.a2.status} steps.a");
    let mut given = parameters(json!({"x": [{"y": "@{steps.a.result}"}], "n": 1}));
    rename_in(&mut given, &old, &new);
    assert_eq!(Value::Object(given), json!({"x": [{"y": "@{steps.a2.result}"}], "n": 1}));
}

#[test]
fn references_in_parameters_are_found_at_any_depth() {
    let given = parameters(json!({"a": "@{steps.x.result}", "b": [{"c": "@{steps.y.result.z}"}, "@{steps.x.result}"], "d": 4}));
    let found: Vec<String> = references_in(&given).iter().map(Reference::to_string).collect();
    assert_eq!(found, ["@{steps.x.result}", "@{steps.y.result.z}"]);
}
