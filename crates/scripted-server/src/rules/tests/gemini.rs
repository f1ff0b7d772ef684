//! Gemini's generateContent.

use serde_json::{Value, json};

use super::{Service, then, with};
use crate::provider::Provider;
use crate::reply::Reply;
use crate::view::Protocol;

const GEMINI_2: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent";
const UNEQUAL: &str = "Please ensure that the number of function response parts is equal to the number of function call parts of the function \
                       call turn.";
const CORRUPTED: &str = "Corrupted thought signature.";

fn service() -> Service {
    Service::new(Provider::Gemini, Protocol::Gemini)
}

fn content(role: &str, text: &str) -> Value {
    json!({"role": role, "parts": [{"text": text}]})
}

fn asking() -> Value {
    json!({"contents": [content("user", "go")]})
}

fn set(key: &str, value: Value) -> Value {
    with(asking(), &format!("/{key}"), value)
}

fn called(names: &[&str]) -> Value {
    let parts: Value = names.iter().map(|name| json!({"functionCall": {"name": name, "args": {}}})).collect();
    json!({"role": "model", "parts": parts})
}

fn answered(names: &[&str]) -> Value {
    let parts: Value = names.iter().map(|name| json!({"functionResponse": {"name": name, "response": {"output": "ok"}}})).collect();
    json!({"role": "user", "parts": parts})
}

/// Returns a request with these contents after the first.
fn after(contents: &[Value]) -> Value {
    contents.iter().fold(asking(), |request, content| then(request, content.clone()))
}

fn declared(name: &str, member: &str, schema: Value) -> Value {
    let mut function = json!({"name": name});
    function[member] = schema;
    json!([{"functionDeclarations": [function]}])
}

#[test]
fn the_key_is_in_the_header_or_the_query() {
    let service = service().without_header("x-goog-api-key");
    service.check("no key", &asking(), "Method doesn't allow unregistered callers");
    let (status, body) = service.refusal(&asking());
    assert_eq!((status, &body["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    let request = asking();
    let view = crate::view::View { query: "alt=sse&key=k", ..service.view(&request) };
    let asked = super::RuleContext { request: view, headers: &service.headers, memory: &service.memory };
    assert_eq!(super::refusal(Provider::Gemini, &asked), None);
}

#[test]
fn members() {
    let part = |part: Value| then(asking(), json!({"role": "user", "parts": [part]}));
    let cases = [
        ("whole", asking(), ""),
        ("seed", set("seed", json!(1)), "Unknown name \"seed\": Cannot find field."),
        ("messages", set("messages", json!([])), "Unknown name \"messages\": Cannot find field."),
        (
            "a member of a content",
            set("contents", json!([{"role": "user", "parts": [{"text": "x"}], "x": 1}])),
            "Unknown name \"x\" at 'contents[0]': Cannot find field.",
        ),
        (
            "a member of a part",
            part(json!({"text": "x", "type": "text"})),
            "Unknown name \"type\" at 'contents[1].parts[0]': Cannot find field.",
        ),
        (
            "a member of a call",
            part(json!({"functionCall": {"name": "a", "thoughtSignature": "x"}})),
            "Unknown name \"thoughtSignature\" at 'contents[1].parts[0].function_call'",
        ),
        (
            "a member of the configuration",
            set("generationConfig", json!({"max_tokens": 5})),
            "Unknown name \"max_tokens\" at 'generation_config'",
        ),
        (
            "the configuration",
            set("generationConfig", json!({"maxOutputTokens": 5, "seed": 1, "temperature": 0, "responseMimeType": "text/plain"})),
            "",
        ),
        ("snake case", set("generation_config", json!({"max_output_tokens": 5, "thinking_config": {"include_thoughts": true}})), ""),
        ("of a tool", set("tools", json!([{"function": {}}])), "Unknown name \"function\" at 'tools[0]'"),
        (
            "of a function",
            set("tools", json!([{"functionDeclarations": [{"name": "a", "strict": true}]}])),
            "Unknown name \"strict\" at 'tools[0].function_declarations[0]'",
        ),
        (
            "of the choice",
            set("toolConfig", json!({"functionCallingConfig": {"type": "auto"}})),
            "Unknown name \"type\" at 'tool_config.function_calling_config'",
        ),
        (
            "arguments as a text",
            after(&[json!({"role": "model", "parts": [{"functionCall": {"name": "a", "args": "{}"}}]})]),
            "Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct), \"{}\"",
        ),
        (
            "a result as a text",
            after(&[json!({"role": "user", "parts": [{"functionResponse": {"name": "a", "response": "ok"}}]})]),
            "Invalid value at 'contents[1].parts[0].function_response.response'",
        ),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
    let (_, body) = service().refusal(&with(set("seed", json!(1)), "/user", json!("x")));
    assert_eq!(body["error"]["message"].as_str().unwrap().lines().count(), 2, "each fault has a line");
    assert_eq!(body["error"]["details"][0]["fieldViolations"].as_array().unwrap().len(), 2);
}

#[test]
fn schemas() {
    let object = |member: &str, value: Value| {
        let mut schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        schema[member] = value;
        schema
    };
    let parameters = |schema: Value| set("tools", declared("draft", "parameters", schema));
    let at = "at 'tools[0].function_declarations[0].parameters'";
    for member in ["additionalProperties", "$ref", "$schema", "oneOf", "allOf", "const", "exclusiveMinimum", "uniqueItems", "$defs"] {
        let schema = object(member, json!(1));
        service().check(member, &parameters(schema.clone()), &format!("Unknown name \"{member}\" {at}: Cannot find field."));
        service().check(member, &set("tools", declared("draft", "parametersJsonSchema", schema.clone())), "");
        service().check(member, &set("generationConfig", json!({"responseJsonSchema": schema})), "");
        let answer = set("generationConfig", json!({"responseSchema": schema}));
        service().check(member, &answer, &format!("Unknown name \"{member}\" at 'generation_config.response_schema'"));
    }
    let inner = json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"const": 1}]}});
    let cases = [
        ("whole", parameters(object("title", json!("x"))), ""),
        (
            "an inner fault",
            parameters(object("properties", json!({"a": {"type": "string"}, "b": inner}))),
            "Unknown name \"const\" at 'tools[0].function_declarations[0].parameters.properties[1].value.items.any_of[1]'",
        ),
        (
            "a list of types",
            parameters(object("properties", json!({"a": {"type": ["string", "null"]}}))),
            "Proto field is not repeating, cannot start list.",
        ),
        (
            "an enumeration of numbers",
            parameters(object("properties", json!({"a": {"type": "string", "enum": [1]}}))),
            "parameters.properties[0].value.enum[0]' (TYPE_STRING), 1",
        ),
        (
            "no properties",
            parameters(json!({"type": "object", "properties": {}})),
            "tools[0].function_declarations[0].parameters.properties: should be non-empty for OBJECT type",
        ),
        (
            "inner without properties",
            parameters(object("properties", json!({"a": {"type": "OBJECT"}}))),
            "parameters.properties[\"a\"].properties: should be non-empty for OBJECT type",
        ),
        ("no parameters", set("tools", json!([{"functionDeclarations": [{"name": "a"}]}])), ""),
        (
            "an answer without properties",
            set("generationConfig", json!({"responseSchema": {"type": "object"}})),
            "generation_config.response_schema.properties: should be non-empty",
        ),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
}

#[test]
fn contents() {
    let empty = "required oneof field 'data' must have one initialized field";
    let parts = |parts: Value| set("contents", json!([{"role": "user", "parts": parts}]));
    let function_turn = "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    let response_turn = "Please ensure that function response turn comes immediately after a function call turn.";
    let cases = [
        ("a system role", set("contents", json!([content("system", "x")])), "Please use a valid role: user, model."),
        ("no role", set("contents", json!([{"parts": [{"text": "x"}]}])), ""),
        ("nothing", set("contents", json!([])), "contents is not specified"),
        ("no parts", parts(json!([])), "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty."),
        ("an empty part", parts(json!([{"text": "x"}, {}])), &format!("contents[0].parts[1].data: {empty}")),
        ("an empty text", parts(json!([{"text": ""}])), empty),
        (
            "the model first",
            set("contents", json!([content("model", "x"), content("user", "y")])),
            "multiturn requests alternate between user and model",
        ),
        ("a call first", set("contents", json!([called(&["a"]), answered(&["a"])])), function_turn),
        ("a call after the model", after(&[content("model", "x"), called(&["a"]), answered(&["a"])]), function_turn),
        ("a result first", set("contents", json!([answered(&["a"])])), response_turn),
        ("a result after the user", after(&[answered(&["a"])]), response_turn),
        ("the model last", after(&[content("model", "x")]), "multiturn requests ends with a user role or a function response."),
        ("two of the user", after(&[content("user", "x")]), ""),
        ("two calls, two results", after(&[called(&["a", "b"]), answered(&["a", "b"])]), ""),
        ("a loop", after(&[called(&["a"]), answered(&["a"]), called(&["b"]), answered(&["b"])]), ""),
        ("two calls, a result", after(&[called(&["a", "b"]), answered(&["a"])]), UNEQUAL),
        ("two calls, results apart", after(&[called(&["a", "b"]), answered(&["a"]), answered(&["b"])]), response_turn),
        ("no result", after(&[called(&["a"]), content("user", "x")]), UNEQUAL),
        (
            "a nameless result",
            after(&[called(&["a"]), answered(&[""])]),
            "contents[2].parts[0].function_response.name: Name cannot be empty.",
        ),
    ];
    for (name, request, expected) in cases {
        service().at(GEMINI_2).check(name, &request, expected);
    }
    let generic = Service::new(Provider::Generic, Protocol::Gemini).without_header("x-goog-api-key");
    generic.check("the generic provider pairs, too", &after(&[called(&["a", "b"]), answered(&["a"])]), UNEQUAL);
    generic.check("and checks no more", &set("seed", json!(1)), "");
}

#[test]
fn functions_and_thinking() {
    let named = |name: &str| set("tools", declared(name, "description", json!("x")));
    let thinking = |config: Value| set("generationConfig", json!({"thinkingConfig": config}));
    let json_mode = with(named("a"), "/generationConfig", json!({"responseMimeType": "application/json"}));
    let invalid = "tools[0].function_declarations[0].name: Invalid function name. Must start with a letter or an underscore.";
    let choice = set("toolConfig", json!({"functionCallingConfig": {"mode": "ANY"}}));
    let cases = [
        ("a name", service(), named("a_b.c-d:e"), ""),
        ("a name that begins with a digit", service(), named("1a"), invalid),
        ("a name with a slash", service(), named("a/b"), invalid),
        ("a long name", service(), named(&"a".repeat(65)), invalid),
        ("a choice of nothing", service(), choice.clone(), "Function calling config is set without function_declarations."),
        ("a choice", service(), with(choice, "/tools", declared("a", "description", json!("x"))), ""),
        ("a level", service(), thinking(json!({"thinkingLevel": "LOW"})), ""),
        (
            "a level of an earlier model",
            service().at(GEMINI_2),
            thinking(json!({"thinkingLevel": "LOW"})),
            "Thinking level is not supported for this model.",
        ),
        ("a budget of an earlier model", service().at(GEMINI_2), thinking(json!({"thinkingBudget": 0})), ""),
        (
            "both",
            service(),
            thinking(json!({"thinkingLevel": "LOW", "thinkingBudget": 0})),
            "You can only set only one of thinking budget and thinking level.",
        ),
        ("functions and JSON", service(), json_mode.clone(), ""),
        (
            "functions and JSON of an earlier model",
            service().at(GEMINI_2),
            json_mode,
            "Function calling with a response mime type: 'application/json' is unsupported",
        ),
    ];
    for (name, service, request, expected) in cases {
        service.check(name, &request, expected);
    }
}

/// Returns a service that made two calls, and the request with both results: user, model, user.
fn after_calls() -> (Service, Value) {
    let mut service = service();
    let made = service.answer(7, &Reply::tool_calls([("bash", json!({"command": "ls"})), ("look", json!({}))]), &asking());
    (service, after(&[made, answered(&["bash", "look"])]))
}

#[test]
fn signatures_come_back_with_the_first_call() {
    let (service, request) = after_calls();
    let signature = "/contents/1/parts/0/thoughtSignature";
    let given = request.pointer(signature).unwrap().clone();
    let unsigned = with(request.clone(), signature, Value::Null);
    let missing = "Additional data, function call `default_api:bash` , position 2. Please refer to";
    let moved = {
        let mut request = unsigned.clone();
        request["contents"][1]["parts"][1]["thoughtSignature"] = given;
        request
    };
    let note = then(unsigned.clone(), json!({"role": "model", "parts": [{"text": "Done."}]}));
    let cases = [
        ("as it was sent", request.clone(), ""),
        ("missing", unsigned.clone(), missing),
        ("on another call", moved, missing),
        ("missing in an earlier turn", then(note, content("user", "more")), ""),
        ("changed", with(request.clone(), signature, json!("x")), CORRUPTED),
        ("the documented one", with(request.clone(), signature, json!("skip_thought_signature_validator")), ""),
        ("the other documented one", with(request.clone(), signature, json!("context_engineering_is_the_way_to_go")), ""),
        (
            "in snake case",
            {
                let given = request.pointer(signature).unwrap().clone();
                with(unsigned.clone(), "/contents/1/parts/0/thought_signature", given)
            },
            "",
        ),
    ];
    for (name, request, expected) in cases {
        service.check(name, &request, expected);
    }
    service.at(GEMINI_2).check("missing for an earlier model", &unsigned, "");
}

#[test]
fn each_step_of_a_turn_is_signed() {
    let (mut service, request) = after_calls();
    let made = service.answer(8, &Reply::call("bash", json!({})), &request);
    let second = then(then(request, made), answered(&["bash"]));
    service.check("both signed", &second, "");
    let first = with(second.clone(), "/contents/1/parts/0/thoughtSignature", Value::Null);
    service.check("the first step unsigned", &first, "position 2.");
    let last = with(second.clone(), "/contents/3/parts/0/thoughtSignature", Value::Null);
    service.check("the second step unsigned", &last, "position 4.");
    let swapped =
        with(second.clone(), "/contents/3/parts/0/thoughtSignature", second["contents"][1]["parts"][0]["thoughtSignature"].clone());
    service.check("that of another step", &swapped, CORRUPTED);
    let renamed = with(second, "/contents/3/parts/0/functionCall/id", json!("mine"));
    service.check("of a call with a new id", &renamed, "");
}

#[test]
fn signed_texts_come_back_too() {
    let mut service = service();
    let made = service.answer(1, &Reply::text("Done."), &asking());
    let request = after(&[made, content("user", "more")]);
    let signature = "/contents/1/parts/0/thoughtSignature";
    service.check("as it was sent", &request, "");
    service.check("without", &with(request.clone(), signature, Value::Null), "");
    service.check("changed", &with(request.clone(), signature, json!("x")), CORRUPTED);
    let given = request.pointer(signature).unwrap().clone();
    let separate = json!({"role": "model", "parts": [{"text": "Done."}, {"text": "", "thoughtSignature": given}]});
    service.check("in an empty part, as in a stream", &with(request, "/contents/1", separate), "");
}
