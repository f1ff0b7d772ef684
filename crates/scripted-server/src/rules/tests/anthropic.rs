//! Anthropic's Messages: form, roles, tools and models.

use serde_json::{Value, json};

use super::{Service, then, user, with};
use crate::provider::Provider;
use crate::view::Protocol;

fn service() -> Service {
    Service::new(Provider::Anthropic, Protocol::Messages)
}

fn asking(model: &str) -> Value {
    json!({"model": model, "max_tokens": 1000, "messages": [user("go")]})
}

fn set(key: &str, value: Value) -> Value {
    with(asking("claude-sonnet-4-6"), &format!("/{key}"), value)
}

fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "bash", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "ok"})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn marked(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

/// Returns a request with a call and these contents after it.
fn after(calls: Value, answer: Value) -> Value {
    then(then(asking("claude-sonnet-4-6"), assistant(calls)), json!({"role": "user", "content": answer}))
}

fn tool(schema: Value) -> Value {
    json!({"name": "draft", "input_schema": schema})
}

fn strict(properties: Value, required: Value) -> Value {
    let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    json!([{"name": "draft", "strict": true, "input_schema": schema}])
}

/// Returns `count` properties with this schema.
fn properties(count: usize, schema: &Value) -> Value {
    (0..count).map(|index| (format!("p{index}"), schema.clone())).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn headers() {
    let request = asking("claude-sonnet-4-6");
    service().without_header("x-api-key").check("no key", &request, "x-api-key header is required");
    assert_eq!(service().without_header("x-api-key").refusal(&request).0, 401);
    service().without_header("anthropic-version").check("no version", &request, "anthropic-version: header is required");
    service().check("both", &request, "");
}

#[test]
fn members() {
    let message = |message: Value| then(asking("claude-sonnet-4-6"), message);
    let schema = json!({"type": "object", "title": "aime_plan", "properties": {}, "additionalProperties": false});
    let format = |schema: &Value| json!({"format": {"type": "json_schema", "schema": schema}});
    let cases = [
        ("whole", asking("claude-sonnet-4-6"), ""),
        ("no bound", set("max_tokens", Value::Null), "max_tokens: Field required"),
        ("no messages", set("messages", Value::Null), "messages: Field required"),
        ("seed", set("seed", json!(1)), "seed: Extra inputs are not permitted"),
        ("response_format", set("response_format", json!({})), "response_format: Extra inputs are not permitted"),
        ("a beta without its header", set("context_management", json!({})), "context_management: Extra inputs are not permitted"),
        ("output_format", set("output_format", json!({})), "This field is deprecated. Use 'output_config.format' instead."),
        ("output_config.format", set("output_config", format(&schema)), ""),
        (
            "a name of the format",
            set("output_config", json!({"format": {"type": "json_schema", "name": "x", "schema": schema}})),
            "output_config.format.name: Extra inputs are not permitted",
        ),
        ("a member of a message", message(json!({"role": "user", "content": "x", "name": "y"})), "messages.1.name: Extra inputs"),
        ("no content", message(json!({"role": "user"})), "messages.1.content: Field required"),
        (
            "calls of a chat",
            message(json!({"role": "assistant", "content": "x", "tool_calls": []})),
            "messages.1.tool_calls: Extra inputs are not permitted",
        ),
        ("an unknown block", message(assistant(json!([{"type": "input_text"}]))), "Input tag 'input_text' found using 'type'"),
        (
            "a member of a block",
            message(assistant(json!([{"type": "text", "text": "x", "index": 0}]))),
            "messages.1.content.0.text.index: Extra inputs are not permitted",
        ),
        (
            "arguments that are a text",
            message(assistant(json!([{"type": "tool_use", "id": "a", "name": "b", "input": "{}"}]))),
            "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        ),
        (
            "a call without input",
            message(assistant(json!([{"type": "tool_use", "id": "a", "name": "b"}]))),
            "messages.1.content.0.tool_use.input: Field required",
        ),
        ("a member of a system block", set("system", json!([{"type": "text", "text": "x", "id": 1}])), "system.0.id: Extra inputs"),
        ("block_binding", set("thinking", json!({"type": "adaptive", "block_binding": {}})), "block_binding: Extra inputs"),
        ("a function of a chat", set("tools", json!([{"type": "custom", "function": {}}])), "tools.0.custom.function: Extra inputs"),
        ("a tool of the service", set("tools", json!([{"type": "web_search_20260209", "name": "web_search", "max_uses": 2}])), ""),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
    let beta = service().with_header("anthropic-beta", "x-1, structured-outputs-2025-11-13,context-management-2025-06-27");
    beta.check("betas", &with(set("context_management", json!({})), "/output_format", json!({"type": "json_schema"})), "");
}

#[test]
fn roles_and_empty_texts() {
    let messages = |messages: Value| set("messages", messages);
    let message = |message: Value| then(asking("claude-sonnet-4-5"), message);
    let cases = [
        ("a system message", messages(json!([{"role": "system", "content": "x"}])), "Unexpected role \"system\"."),
        ("a tool message", messages(json!([user("x"), {"role": "tool", "content": "x"}])), "messages.1.role: Input should be 'user'"),
        ("an assistant first", messages(json!([{"role": "assistant", "content": "x"}])), "first message must use the \"user\" role"),
        ("nothing", messages(json!([])), "at least one message is required"),
        ("two of the user", messages(json!([user("x"), user("y")])), ""),
        ("an empty message", messages(json!([user("")])), "messages.0: all messages must have non-empty content"),
        ("an empty list", messages(json!([{"role": "user", "content": []}])), "messages.0: all messages must have non-empty content"),
        ("an empty block", messages(json!([{"role": "user", "content": [text("")]}])), "messages: text content blocks must be non-empty"),
        ("a blank block", messages(json!([{"role": "user", "content": [text(" \n")]}])), "must contain non-whitespace text"),
        ("an empty system block", set("system", json!([text("")])), "system: text content blocks must be non-empty"),
        ("a prefill of an older model", message(assistant(json!("I"))), ""),
        (
            "a prefill",
            with(message(assistant(json!("I"))), "/model", json!("claude-opus-4-6")),
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
}

#[test]
fn marks() {
    let marks = |count: usize| (0..count).map(|_| marked(text("x"))).collect::<Value>();
    let thinking = json!({"type": "thinking", "thinking": "x", "signature": "y"});
    let in_result = json!({"type": "tool_result", "tool_use_id": "a", "content": [marked(text("x"))]});
    let tools = json!([marked(tool(json!({"type": "object"})))]);
    let cases = [
        ("four", set("system", marks(4)), ""),
        ("five", set("system", marks(5)), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        ("tools count", with(set("system", marks(4)), "/tools", tools), "Found 5."),
        ("the mark of the body counts", with(set("system", marks(4)), "/cache_control", json!({"type": "ephemeral"})), "Found 5."),
        ("marks in results count", with(after(json!([call("a")]), json!([in_result])), "/system", marks(4)), "Found 5."),
        (
            "on thinking",
            then(asking("claude-sonnet-4-6"), assistant(json!([marked(thinking)]))),
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
        (
            "on an empty block",
            set("messages", json!([{"role": "user", "content": [marked(text(""))]}])),
            "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
        ),
        ("on a message", set("messages", json!([marked(user("x"))])), "messages.0.cache_control: Extra inputs are not permitted"),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
}

#[test]
fn calls_and_results() {
    let open = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` block must have a \
                corresponding `tool_result` block in the next message.";
    let two = json!([call("a"), call("b")]);
    let cases = [
        ("paired", after(two.clone(), json!([result("b"), result("a"), text("and a note")])), ""),
        ("one result", after(two.clone(), json!([result("a")])), open),
        ("a text before a result", after(two.clone(), json!([result("a"), text("x"), result("b")])), open),
        ("no results", after(json!([call("b")]), json!("x")), open),
        ("at the end", then(asking("claude-sonnet-4-6"), assistant(json!([call("b")]))), open),
        (
            "a result without its call",
            after(json!([text("x")]), json!([result("c")])),
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: c.",
        ),
        (
            "two results of one call",
            after(json!([call("a")]), json!([result("a"), result("a")])),
            "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
        ),
        ("an id twice", after(json!([call("a"), call("a")]), json!([result("a")])), "messages.1.content.1: `tool_use` ids must be unique"),
        (
            "a bad id",
            after(json!([call("functions.bash:0")]), json!([result("functions.bash:0")])),
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            "a bad name",
            with(after(json!([call("a")]), json!([result("a")])), "/messages/1/content/0/name", json!("functions.bash")),
            "messages.1.content.0.tool_use.name: String should match pattern",
        ),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
    for provider in [Provider::Generic, Provider::DeepSeek, Provider::OpenRouter] {
        let service = Service::new(provider, Protocol::Messages).without_header("x-api-key");
        service.check("others pair, too", &after(two.clone(), json!([result("a")])), open);
        service.check("and check no more", &with(asking("m"), "/seed", json!(1)), "");
    }
}

#[test]
fn tools() {
    let object = json!({"type": "object", "properties": {}});
    let named = |name: &str| set("tools", json!([{"name": name, "input_schema": object}]));
    let schema = |schema: Value| set("tools", json!([tool(schema)]));
    let pattern = "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
    let choice = "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level";
    let cases = [
        ("whole", named("bash"), ""),
        ("dots", named("fs.read"), pattern),
        ("a long name", named(&"a".repeat(129)), pattern),
        ("equal names", set("tools", json!([tool(object.clone()), tool(object.clone())])), "tools: Tool names must be unique."),
        ("no schema", set("tools", json!([{"name": "a"}])), "tools.0.custom.input_schema: Field required"),
        ("no type", schema(json!({"properties": {}})), "tools.0.custom.input_schema.type: Field required"),
        ("a list", schema(json!({"type": "array"})), "tools.0.custom.input_schema.type: Input should be 'object'"),
        ("anyOf", schema(json!({"type": "object", "anyOf": []})), choice),
        ("oneOf", schema(json!({"type": "object", "oneOf": []})), choice),
        ("an inner anyOf", schema(json!({"type": "object", "properties": {"a": {"anyOf": []}}})), ""),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
}

#[test]
fn strict_schemas() {
    let string = json!({"type": "string"});
    let nullable = json!({"type": ["string", "null"]});
    let names = |count: usize| (0..count).map(|index| json!(format!("p{index}"))).collect::<Value>();
    let of_answer = |schema: Value| set("output_config", json!({"format": {"type": "json_schema", "schema": schema}}));
    let tools = |count: usize| {
        let mut tool = strict(json!({}), json!([]))[0].clone();
        (0..count)
            .map(|index| {
                tool["name"] = json!(format!("t{index}"));
                tool.clone()
            })
            .collect::<Value>()
    };
    let closed = "For 'object' type, 'additionalProperties' must be explicitly set to false";
    let inner = |schema: Value| set("tools", strict(json!({"a": schema}), json!(["a"])));
    let node =
        json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "required": ["next"], "additionalProperties": false});
    let recursive = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/Node"}}, "required": ["a"], "additionalProperties": false,
        "$defs": {"Node": node}});
    let shared = with(recursive.clone(), "/$defs/Node/properties/next", string.clone());
    let cases = [
        ("closed", set("tools", strict(json!({"a": string}), json!(["a"]))), ""),
        ("an open tool", inner(json!({"type": "object"})), &format!("tools.0.custom: {closed}")),
        ("an open answer", of_answer(json!({"type": "object"})), &format!("output_config.format.schema: {closed}")),
        ("an open tool that is not strict", set("tools", json!([tool(json!({"type": "object"}))])), ""),
        ("a map", inner(json!({"type": "object", "additionalProperties": {}})), "'additionalProperties: true' is not supported"),
        (
            "bounds",
            inner(json!({"type": "integer", "minimum": 1, "maximum": 2})),
            "For 'integer' type, properties maximum, minimum are not supported",
        ),
        ("a bound", inner(json!({"type": "array", "items": {}, "maxItems": 2})), "For 'array' type, property 'maxItems' is not supported"),
        ("few items", inner(json!({"type": "array", "items": {}, "minItems": 1})), ""),
        ("oneOf", inner(json!({"oneOf": []})), "Schema type 'oneOf' is not supported"),
        ("20 tools", set("tools", tools(20)), ""),
        ("21 tools", set("tools", tools(21)), "Too many strict tools (21). The maximum number of strict tools supported is 20."),
        ("24 optional", set("tools", strict(properties(24, &string), json!([]))), ""),
        ("25 optional", set("tools", strict(properties(25, &string), json!([]))), "Schemas contains too many optional parameters (25)"),
        ("16 unions", set("tools", strict(properties(16, &nullable), names(16))), ""),
        ("17 unions", set("tools", strict(properties(17, &nullable), names(17))), "too many parameters with union types (17 parameters"),
        (
            "tools and answer together",
            with(
                set("tools", strict(properties(24, &string), json!([]))),
                "/output_config",
                json!({"format": {"schema": {"type": "object", "properties": {"a": {}}, "additionalProperties": false}}}),
            ),
            "too many optional parameters (25)",
        ),
        ("a shared definition", of_answer(shared), ""),
        (
            "a definition in itself",
            of_answer(recursive),
            "output_config.format.schema: Circular reference detected in schema definitions: Node -> Node",
        ),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
}

#[test]
fn models() {
    let of = |model: &str, key: &str, value: Value| with(asking(model), &format!("/{key}"), value);
    let enabled = json!({"type": "enabled", "budget_tokens": 2000});
    let adaptive = json!({"type": "adaptive"});
    let disabled = json!({"type": "disabled"});
    let forced = |model: &str, choice: Value| with(of(model, "tools", json!([tool(json!({"type": "object"}))])), "/tool_choice", choice);
    let thinking = |model: &str, thinking: &Value| with(of(model, "thinking", thinking.clone()), "/max_tokens", json!(4000));
    let any = json!({"type": "any"});
    let named = json!({"type": "tool", "name": "draft"});
    let not_with_thinking = "Thinking may not be enabled when tool_choice forces tool use.";
    let cases = [
        (
            "a high bound",
            of("claude-opus-4-1-20250805", "max_tokens", json!(48000)),
            "max_tokens: 48000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4-1-20250805",
        ),
        ("the bound of a newer model", of("claude-opus-4-7", "max_tokens", json!(128_000)), ""),
        ("any bound of an unnamed model", of("scripted", "max_tokens", json!(1_000_000)), ""),
        ("temperature", of("claude-opus-4-7", "temperature", json!(1.0)), "`temperature` is deprecated for this model."),
        ("top_k", of("claude-sonnet-5", "top_k", json!(4)), "`top_k` is deprecated for this model."),
        ("temperature of an older model", of("claude-opus-4-6", "temperature", json!(0)), ""),
        (
            "both",
            with(of("claude-sonnet-4-5", "temperature", json!(0)), "/top_p", json!(0.9)),
            "`temperature` and `top_p` cannot both be specified",
        ),
        (
            "temperature with thinking",
            with(thinking("claude-sonnet-4-6", &adaptive), "/temperature", json!(0)),
            "`temperature` may only be set to 1 when thinking is enabled",
        ),
        ("the default temperature with thinking", with(thinking("claude-sonnet-4-6", &adaptive), "/temperature", json!(1)), ""),
        ("a budget", thinking("claude-sonnet-4-5", &enabled), ""),
        ("a budget of a newer model", thinking("claude-opus-4-8", &enabled), "\"thinking.type.enabled\" is not supported for this model."),
        ("no thinking", thinking("claude-opus-5", &disabled), ""),
        (
            "no thinking of the newest",
            thinking("claude-opus-5-5", &disabled),
            "\"thinking.type.disabled\" is not supported for this model.",
        ),
        ("no thinking of a Fable", thinking("claude-fable-5", &disabled), "\"thinking.type.disabled\" is not supported for this model."),
        (
            "adaptive thinking of an older model",
            thinking("claude-haiku-4-5", &adaptive),
            "adaptive thinking is not supported on this model",
        ),
        (
            "a small budget",
            thinking("claude-sonnet-4-5", &json!({"type": "enabled", "budget_tokens": 512})),
            "Input should be greater than or equal to 1024",
        ),
        ("no budget", thinking("claude-sonnet-4-5", &json!({"type": "enabled"})), "thinking.enabled.budget_tokens: Field required"),
        (
            "a budget above the bound",
            of("claude-sonnet-4-5", "thinking", enabled.clone()),
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        ),
        ("effort", of("claude-sonnet-4-6", "output_config", json!({"effort": "high"})), ""),
        (
            "effort of an older model",
            of("claude-haiku-4-5", "output_config", json!({"effort": "high"})),
            "This model does not support the effort parameter.",
        ),
        (
            "an unknown effort",
            of("scripted", "output_config", json!({"effort": "minimal"})),
            "output_config.effort: Input should be 'low',",
        ),
        ("an unknown kind of thinking", of("scripted", "thinking", json!({"type": "auto"})), "thinking: Input tag 'auto' found"),
        ("a forced call", forced("claude-opus-4-7", named.clone()), ""),
        (
            "a forced call of the newest",
            forced("claude-fable-5-1", any.clone()),
            "tool_choice: type \"tool\" and \"any\" are not supported for this model.",
        ),
        ("a free call of the newest", forced("claude-fable-5-1", json!({"type": "auto"})), ""),
        ("a forced call of Haiku 5.5", forced("claude-haiku-5-5", any.clone()), ""),
        ("a named call with thinking", with(forced("claude-sonnet-4-6", named), "/thinking", adaptive.clone()), not_with_thinking),
        ("any call with thinking", with(forced("claude-sonnet-4-6", any), "/thinking", adaptive), not_with_thinking),
    ];
    for (name, request, expected) in cases {
        service().check(name, &request, expected);
    }
}
