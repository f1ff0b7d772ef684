//! Tests which texts are understood and which are refused, and that no text breaks the reader.

mod corpus;
mod properties;
mod surplus;

use serde_json::json;

use super::{UnreadableJson, read_json, read_json_where};

#[test]
fn strict_json_needs_no_repairs() {
    for text in ["{}", "[]", r#" {"a": [1, 2.5, null, "x"]} "#, "42", "true", r#""text""#, "\u{feff}{\"a\":1}"] {
        assert_eq!(read_json(text).unwrap().repairs, Vec::<String>::new(), "{text}");
    }
}

#[test]
fn repairs_are_told_in_words() {
    let cases = [
        (
            "```json\n{'a': True,}\n```",
            vec![
                "left out the text around the JSON",
                "replaced single quotes",
                "left out trailing commas",
                "read Python's True, False and None",
            ],
        ),
        (r#""{\"a\": 1}""#, vec!["read the JSON inside a JSON string"]),
        ("<think>hm</think>{\"a\": 1}", vec!["left out the reasoning"]),
        (r#"{"a": "\d"}"#, vec!["doubled 1 backslash"]),
        (r#"{"a": [1, 2"#, vec!["repaired brackets", "closed what was cut off"]),
        ("{\"a\": 1 // one\n}", vec!["left out comments"]),
    ];
    for (text, expected) in cases {
        assert_eq!(read_json(text).unwrap().repairs, expected, "{text}");
    }
}

#[test]
fn what_is_missing_is_told_from_what_is_only_unclosed() {
    let cut =
        [r#"{"a": "half a sen"#, r#"{"a": [1, 2"#, r#"{"a":"#, r#"{"a": 1, "b"#, r#"{"a": 1,"#, r#"[{"a": 1}, ...]"#, r#"{"a": 1, "b""#];
    for text in cut {
        assert!(read_json(text).unwrap().cut, "{text}");
    }
    let whole = [r#"{"a": {"b": 1}"#, r#"{"a": "x""#, r#"{"a": ["x", "y""#, r#"{"a": [{"b": 1}]"#, "{'a': 1}"];
    for text in whole {
        assert!(!read_json(text).unwrap().cut, "{text}");
    }
}

#[test]
fn refusals_say_why() {
    let long = " ".repeat(super::LIMIT + 1);
    assert!(matches!(read_json(&long), Err(UnreadableJson::TooLong { .. })));
    assert_eq!(read_json(" \n\u{feff}"), Err(UnreadableJson::Empty));
    assert_eq!(read_json("<think>{\"a\": 1}</think>"), Err(UnreadableJson::OnlyReasoning));
    assert!(matches!(read_json("I cannot do that."), Err(UnreadableJson::NoJson { start }) if start == "I cannot do that."));
    let Err(UnreadableJson::Broken { reason }) = read_json("{\"a\": 1,\n\"b\": {1, 2}}") else { panic!() };
    assert!(reason.contains("line 2"), "{reason}");
}

#[test]
fn the_value_that_fits_is_preferred() {
    let text = "Example: {\"example\": 1}\nPlan: {\"tasks\": []}\nFor {\"note\": 2} see below.";
    let read = read_json_where(text, |value| value.get("tasks").is_some()).unwrap();
    assert_eq!(read.value, json!({"tasks": []}));
    assert_eq!(read.repairs, ["took one of 3 JSON values"]);
    assert_eq!(read_json_where(text, |_| false).unwrap().value, json!({"note": 2}));
}

#[test]
fn deep_nesting_ends_in_an_error_and_not_in_a_crash() {
    for open in ["[", "{\"a\":", "[{\"a\":", "{'a':"] {
        for levels in [100, 127, 128, 129, 10_000, 100_000] {
            let _ = read_json(&open.repeat(levels));
        }
    }
    assert!(read_json(&"[".repeat(100_000)).is_err());
}

#[test]
fn text_made_to_be_slow_ends() {
    // A quadratic algorithm would not finish in reasonable time at this size.
    let hostile = [
        "[",
        "{\"a\":",
        "[1,",
        "\"[",
        "{'a':\"",
        "[#",
        "[\"a\",[1],",
        "<think>",
        "</think>",
        "{\\\"",
        "{a:1 ",
        "```json\n{\"a\":'x",
        "C:\\U",
        "a:\\",
        "\"\"\"",
        "'''",
        "x{y:",
        "[/*",
        "{\"k\":\"\\d",
        "}]",
        "{\"a\":1}\"",
        "{\"a\":1},\"b\":2},",
        "[{\"a\":1}},",
        "[{\"a\":1}],\"b\":",
        "{\"a\":[1}},{\"b\":2}],",
        "[[1],2],[3]],",
    ];
    for pattern in hostile {
        for head in ["x ", "{\"a\": '", "{\"a\": \""] {
            let _ = read_json(&format!("{head}{}", pattern.repeat(100_000 / pattern.len())));
        }
    }
}

/// Only a second try understands a quote that is not escaped at the end of a text. It is made up to a length, so that it is bounded.
#[test]
fn a_second_try_is_bounded_by_the_length_of_the_text() {
    let text = |length: usize| format!("{{\"a\": \"{}he said \"hi\"\", \"b\": 2}}", "x".repeat(length));
    assert!(read_json(&text(100)).is_ok());
    assert!(read_json(&text(super::repair::MAX_SECOND_TRY)).is_err());
}
