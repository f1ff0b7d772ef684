use super::*;

#[test]
fn only_closed_schemas_are_strict() {
    let cases = [
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}), true),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": false}), false),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}), false),
        (json!({"type": "object"}), false),
        (
            json!({"type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {}}}}}),
            false,
        ),
        (
            json!({"type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}]}}}),
            true,
        ),
        (json!({"oneOf": [{"type": "string"}]}), false),
    ];
    for (schema, expected) in cases {
        assert_eq!(is_strict(&schema), expected, "{schema}");
    }
}

#[test]
fn broken_arguments_are_not_sent_back() {
    let cases = [
        (r#"{"a": 1}"#, r#"{"a": 1}"#),
        ("", "{}"),
        (" ", "{}"),
        ("[1]", r#"{"unreadable_arguments":"[1]"}"#),
        (r#"{"a": "#, r#"{"unreadable_arguments":"{\"a\": "}"#),
    ];
    for (arguments, expected) in cases {
        assert_eq!(sendable_arguments(arguments), expected);
    }
}

#[test]
fn ids_and_names_take_the_form_of_the_server() {
    let long = "toolu_".to_owned() + &"x".repeat(40);
    for (form, id, kept) in [
        (IdForm::Any, long.as_str(), true),
        (IdForm::Forty, "call_0", true),
        (IdForm::Forty, &long, false),
        (IdForm::Forty, "functions.bash:0", false),
        (IdForm::Nine, "abcDEF123", true),
        (IdForm::Nine, "call_0", false),
    ] {
        let written = call_id(id, form);
        assert_eq!(written == id, kept, "{id} as {form:?}: {written}");
        assert_eq!(call_id(id, form), written, "the same id becomes the same one again");
        assert_eq!(call_id(&written, form), written);
    }
    assert_eq!(tool_name("write_file<|channel|>commentary"), "write_file__channel__commentary");
    assert_eq!(tool_name(""), "unnamed");
}
