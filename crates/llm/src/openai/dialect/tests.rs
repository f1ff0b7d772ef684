use serde_json::{Value, json};

use super::*;
use crate::openai::fault::Refusal;
use crate::openai::fault::tests::refusal_of;

fn usual() -> Dialect {
    Dialect::new(Provider::Other, Protocol::Chat, "m", true)
}

fn tools() -> Vec<String> {
    ["read_file", "draft", "bash"].map(str::to_owned).to_vec()
}

/// Returns the lesson of a refusal with this status and body, and the dialect after it.
fn learned(mut dialect: Dialect, status: u16, body: &Value, sent: Value) -> (RefusalAction, Dialect) {
    let refusal = refusal_of(status, body).unwrap_or_default();
    let settings = sent.as_object().cloned().unwrap_or_default();
    let used = dialect.clone();
    let tools = tools();
    let places = ["/reasoning_effort", "/reasoning/effort"];
    let effort = places.iter().find_map(|place| serde_json::from_value(sent.pointer(place)?.clone()).ok());
    let sent = RefusedRequest {
        settings: &settings,
        tools: &tools,
        open_form: true,
        wordless: true,
        effort,
        native: true,
        images: None,
        estimated: 1_000,
        bound: Some(4_096),
    };
    let lesson = dialect.learn_from(&used, "m", &refusal, sent);
    (lesson, dialect)
}

#[test]
fn refusals_of_images_are_understood() {
    use ImagesForm::{Anywhere, InUserTurns, InWords};
    let chat = (Provider::Other, Protocol::Chat);
    let responses = (Provider::OpenAi, Protocol::Responses);
    let mistral = (Provider::Mistral, Protocol::Chat);
    let cases = [
        (chat, "No endpoints found that support image input", InUserTurns, InWords),
        (chat, "m is not a multimodal model", InUserTurns, InWords),
        (chat, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", InUserTurns, InWords),
        (responses, "Invalid type for 'input[2].output': expected a string, but got an array instead.", Anywhere, InUserTurns),
        (responses, "Invalid content type. image_url is only supported by certain models.", Anywhere, InUserTurns),
        (mistral, "Image input is not enabled for this model", Anywhere, InWords),
        (chat, "The image is too large: at most 20 MB", InUserTurns, InUserTurns),
        (responses, "image dimensions exceed max allowed size: 8000 pixels", Anywhere, Anywhere),
        (chat, "The model is overloaded", InUserTurns, InUserTurns),
    ];
    for ((provider, protocol), message, before, after) in cases {
        let mut dialect = Dialect::new(provider, protocol, "m", true);
        assert_eq!(dialect.form.images, before, "{message}");
        let refusal = refusal_of(400, &error(message)).unwrap_or_default();
        let (used, settings, images) = (dialect.clone(), serde_json::Map::new(), Some(SentImages::InResults));
        let sent = RefusedRequest {
            settings: &settings,
            tools: &[],
            open_form: true,
            wordless: false,
            effort: None,
            native: false,
            images,
            estimated: 1,
            bound: None,
        };
        let lesson = dialect.learn_from(&used, "m", &refusal, sent);
        assert_eq!((dialect.form.images, lesson == RefusalAction::Again), (after, before != after), "{message}");
        let unsent = RefusedRequest { images: None, ..sent };
        assert_eq!(
            Dialect::new(provider, protocol, "m", true).learn_from(&used, "m", &refusal, unsent),
            RefusalAction::Nothing,
            "{message}"
        );
    }
}

fn error(message: &str) -> Value {
    json!({"error": {"message": message}})
}

fn param(message: &str, param: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": null}})
}

/// Change that a refusal makes to the initial dialect.
type Change = fn(&mut Dialect);

#[test]
fn refusals_of_parameters_are_understood() {
    let completion: Change = |dialect| {
        dialect.max_tokens = Some(MaxTokens::Completion);
        dialect.both_refused = true;
    };
    let cases: Vec<(Value, Value, Option<Change>)> = vec![
        (
            param(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                "max_tokens",
            ),
            json!({"max_tokens": 4096}),
            Some(completion),
        ),
        (
            param(
                "max_tokens is too large: 4096. This model supports at most 2048 completion tokens, whereas you provided 4096.",
                "max_tokens",
            ),
            json!({"max_tokens": 4096}),
            Some(|dialect| dialect.longest_answer = Some(2048)),
        ),
        (
            param(
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
                "temperature",
            ),
            json!({"temperature": 0.0}),
            Some(|dialect| dialect.optional.temperature = false),
        ),
        (error("property 'seed' is unsupported"), json!({"seed": 1}), Some(|dialect| dialect.optional.seed = false)),
        (
            param("Extra inputs are not permitted", "stream_options"),
            json!({"stream": true, "stream_options": {}}),
            Some(|dialect| dialect.optional.stream_options = false),
        ),
        (
            error("deepseek-reasoner does not support this tool_choice"),
            json!({"tool_choice": "required"}),
            Some(|dialect| dialect.optional.tool_choice = false),
        ),
        (
            param("Unsupported parameter: 'reasoning_effort' is not supported with this model.", "reasoning_effort"),
            json!({"reasoning_effort": "high"}),
            Some(|dialect| dialect.optional.effort = false),
        ),
        (
            param(
                "Unsupported value: 'minimal' is not supported with the 'm' model. Supported values are: 'none', 'low', and 'high'.",
                "reasoning.effort",
            ),
            json!({"reasoning": {"effort": "minimal", "summary": "auto"}}),
            Some(|dialect| dialect.efforts = vec![Effort::None, Effort::Low, Effort::High]),
        ),
        (
            param("Your organization must be verified to generate reasoning summaries.", "reasoning.summary"),
            json!({"reasoning": {"summary": "auto"}}),
            Some(|dialect| dialect.optional.summary = false),
        ),
        (
            param("Encrypted content is not supported with this model.", "include"),
            json!({"include": []}),
            Some(|dialect| dialect.optional.include = false),
        ),
        (error("Streaming is not supported"), json!({"stream": true}), Some(|dialect| dialect.stream = false)),
        (
            param("Invalid schema for response_format 'aime_plan': with strict every property is required", "response_format"),
            json!({"response_format": {"json_schema": {"strict": true}}}),
            Some(|dialect| dialect.optional.strict = false),
        ),
        (
            json!({"code": "invalid-argument", "error": "Model grok-4.20-0309-reasoning does not support parameter reasoningEffort."}),
            json!({"reasoning_effort": "high"}),
            Some(|dialect| dialect.optional.effort = false),
        ),
        (
            json!({"code": "Client specified an invalid argument", "error": "Model grok-4-latest does not support parameter reasoningEffort."}),
            json!({"reasoning": {"effort": "high"}}),
            Some(|dialect| dialect.optional.effort = false),
        ),
        (error("Model grok-4.7 does not support parameter reasoningEffort."), json!({}), None),
        (
            error("Model grok-4.7 does not support parameter parallelToolCalls."),
            json!({"parallel_tool_calls": true}),
            Some(|dialect| dialect.optional.parallel_calls = false),
        ),
        (
            error(
                "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 5000 input tokens (4096 > 4096 - 5000).",
            ),
            json!({"max_tokens": 4096}),
            None,
        ),
        (error("temperature must be between 0 and 2"), json!({"seed": 1}), None),
        (error("upstream is broken"), json!({"stream": true}), None),
        (param("messages must not be empty", "messages"), json!({"temperature": 1, "stream": true}), None),
    ];
    for (body, sent, change) in cases {
        let (lesson, dialect) = learned(usual(), 400, &body, sent);
        let expected = change.map(|change| {
            let mut dialect = usual();
            change(&mut dialect);
            dialect
        });
        assert_eq!((lesson == RefusalAction::Again).then_some(dialect), expected, "{body}");
    }
}

#[test]
fn refusals_of_messages_and_tools_are_understood() {
    let simplified: Change = |dialect| dialect.tools.by_name.extend([("draft".to_owned(), ToolForm::Simplified)]);
    let as_text: Change = |dialect| dialect.form.calls_as_text = true;
    let alternate: Change = |dialect| dialect.form.alternate = true;
    let cases: Vec<(u16, Value, Change)> = vec![
        (
            400,
            json!({"object": "error", "message": "Unexpected role 'user' after role 'tool'", "type": "invalid_request_message_order", "code": "3230"}),
            alternate,
        ),
        (500, error("Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/..."), alternate),
        (
            400,
            json!({"object": "error", "message": "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", "code": "3280"}),
            |dialect| dialect.form.ids = IdForm::Nine,
        ),
        (
            400,
            param(
                "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.",
                "messages[2].tool_calls[0].id",
            ),
            |dialect| dialect.form.ids = IdForm::Forty,
        ),
        (400, error("Missing `reasoning_content` field in the assistant message at message index 2."), |dialect| {
            dialect.form.reasoning = ReasoningForm::Demanded;
        }),
        (
            422,
            json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 2, "assistant", "reasoning_content"], "msg": "Extra inputs are not permitted"}]}),
            |dialect| {
                dialect.form.reasoning = ReasoningForm::Refused;
            },
        ),
        (
            400,
            json!([{"error": {"code": 400, "message": "Function call is missing a thought_signature in functionCall parts.", "status": "INVALID_ARGUMENT"}}]),
            |dialect| {
                dialect.form.skip_signature = true;
            },
        ),
        (500, error("Value is not callable: null at row 12"), |dialect| dialect.form.empty_content = EmptyContent::Empty),
        (400, error("messages.1.content: field required, got null"), |dialect| dialect.form.empty_content = EmptyContent::Empty),
        (
            400,
            json!({"object": "error", "message": "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set", "code": 400}),
            as_text,
        ),
        (400, json!({"error": {"message": "registry.ollama.ai/library/phi3:latest does not support tools", "type": "api_error"}}), as_text),
        (404, error("No endpoints found that support tool use. To learn more about provider routing, visit the docs."), as_text),
        (
            400,
            param(
                "Invalid schema for function 'draft': schema must have type 'object' and not have 'oneOf' at the top level.",
                "tools[1].function.parameters",
            ),
            simplified,
        ),
        (400, error("tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"), simplified),
        (
            400,
            error("Invalid JSON payload: GenerateContentRequest.tools[0].function_declarations[1].parameters: schema is wrong"),
            simplified,
        ),
        (400, error("failed to parse grammar"), |dialect| dialect.tools.all_simplified = true),
        (500, error("failed to parse grammar"), |dialect| dialect.tools.all_simplified = true),
        (
            400,
            error(
                "You passed 512 input tokens and requested 4096 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 0 tokens. (parameter=input_tokens, value=512)",
            ),
            |dialect| dialect.window = Some(KnownWindow { tokens: 4_096, per_mille: 512 }),
        ),
    ];
    for (status, body, change) in cases {
        let (lesson, dialect) = learned(usual(), status, &body, json!({"stream": true}));
        let mut expected = usual();
        change(&mut expected);
        assert_eq!((lesson, dialect), (RefusalAction::Again, expected), "{body}");
    }
}

#[test]
fn refused_reasoning_of_turns_is_not_that_of_the_request() {
    let turns: Change = |dialect| dialect.form.reasoning = ReasoningForm::Refused;
    let request: Change = |dialect| {
        dialect.optional.summary = false;
        dialect.optional.effort = false;
    };
    let groq = "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported)]";
    let openai = "Unsupported parameter: 'reasoning' is not supported with this model.";
    let extra = json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 2, "assistant", "reasoning"], "msg": "Extra inputs are not permitted"}]});
    let asked = || json!({"stream": true, "reasoning": {"effort": "low"}});
    let plain = || json!({"stream": true, "reasoning_effort": "low"});
    let cases: Vec<(Value, Value, Option<Change>)> = vec![
        (error(groq), plain(), Some(turns)),
        (error(groq), asked(), Some(turns)),
        (param(groq, ""), plain(), Some(turns)),
        (param("property 'reasoning' is unsupported", "messages.2"), asked(), Some(turns)),
        (error("property 'reasoning' of the assistant message is unsupported"), plain(), Some(turns)),
        (extra, plain(), Some(turns)),
        (param(openai, "reasoning"), asked(), Some(request)),
        (error("property 'reasoning' is unsupported for this assistant"), asked(), Some(request)),
        (error("This model does not support reasoning"), plain(), None),
    ];
    for (body, sent, change) in cases {
        let (lesson, dialect) = learned(usual(), 400, &body, sent);
        let mut expected = usual();
        if let Some(change) = change {
            change(&mut expected);
        }
        let action = if change.is_some() { RefusalAction::Again } else { RefusalAction::Nothing };
        assert_eq!((lesson, dialect), (action, expected), "{body}");
    }
}

#[test]
fn refused_cache_marks_are_left_out() {
    let claude = || Dialect::new(Provider::OpenRouter, Protocol::Chat, "anthropic/claude-opus-5.5", true);
    let body = error("messages.0.content.0.cache_control: Extra inputs are not permitted");
    let mut expected = claude();
    assert!(std::mem::replace(&mut expected.optional.cache_marks, false));
    assert_eq!(learned(claude(), 400, &body, json!({"stream": true})), (RefusalAction::Again, expected));
    assert!(!Dialect::new(Provider::OpenRouter, Protocol::Chat, "openai/gpt-5.6-terra", true).optional.cache_marks);
}

#[test]
fn the_protocol_is_switched_once() {
    let switching = || Dialect { may_switch: true, ..usual() };
    let body = param(
        "Function tools with reasoning_effort are not supported for gpt-5.6-terra in /v1/chat/completions. Please use /v1/responses instead.",
        "reasoning_effort",
    );
    let (lesson, dialect) = learned(switching(), 400, &body, json!({}));
    assert_eq!((lesson, dialect.protocol, dialect.may_switch), (RefusalAction::Again, Protocol::Responses, false));
    assert!(dialect.optional.include, "only a model that reasons must be asked there");
    let (lesson, dialect) = learned(dialect, 404, &error("Not Found"), json!({}));
    assert_eq!((lesson, &dialect), (RefusalAction::Again, &usual()), "without Responses the dialect goes back");
    for (status, refusal) in [(400, &body), (404, &error("Not Found"))] {
        let (lesson, after) = learned(dialect.clone(), status, refusal, json!({}));
        assert_eq!((lesson, after), (RefusalAction::Nothing, usual()), "a server that has neither is not asked for ever");
    }
    let (_, dialect) = learned(usual(), 400, &body, json!({}));
    assert_eq!(dialect.protocol, Protocol::Chat, "a configured protocol stays");
    let responses = Dialect { may_switch: true, ..Dialect::new(Provider::Other, Protocol::Responses, "m", true) };
    assert_eq!(learned(responses, 404, &error("Not Found"), json!({})).1.protocol, Protocol::Chat);
}

#[test]
fn reasoning_is_asked_for_unless_the_model_has_none() {
    let cases = [
        ("gpt-5.6-terra", true),
        ("grok-4.7", true),
        ("prod-large", true),
        ("gpt-oss-120b", true),
        ("m", true),
        ("gpt-4.1", false),
        ("openai/gpt-4o-mini", false),
        ("gpt-3.5-turbo", false),
        ("grok-4-fast-non-reasoning", false),
    ];
    for (model, expected) in cases {
        assert_eq!(Dialect::new(Provider::Other, Protocol::Responses, model, true).optional.include, expected, "{model}");
    }
}

#[test]
fn a_claude_that_refuses_forced_calls_gets_none() {
    let cases = [
        (Protocol::Messages, "claude-sonnet-5-5", false),
        (Protocol::Messages, "claude-fable-5-1", false),
        (Protocol::Messages, "claude-haiku-5-5", true),
        (Protocol::Messages, "claude-opus-5", true),
        (Protocol::Messages, "claude-sonnet-4-5", true),
        (Protocol::Messages, "kimi-k2.6", true),
        (Protocol::Chat, "anthropic/claude-sonnet-5.5", true),
    ];
    for (protocol, model, expected) in cases {
        assert_eq!(Dialect::new(Provider::Other, protocol, model, true).optional.tool_choice, expected, "{model}");
    }
}

#[test]
fn opaque_state_that_is_refused_is_left_out() {
    for words in
        ["Invalid `signature` in `thinking` block", "The encrypted content gAAA could not be verified.", "Item with id 'rs_1' not found."]
    {
        let (lesson, dialect) = learned(usual(), 400, &error(words), json!({}));
        assert_eq!((lesson, dialect), (RefusalAction::WithoutNative, usual()), "{words}");
    }
}

#[test]
fn thinking_that_the_history_lacks_is_not_demanded() {
    let words = "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.";
    let (lesson, dialect) = learned(usual(), 400, &error(words), json!({"reasoning_effort": "high"}));
    assert_eq!((lesson, dialect), (RefusalAction::WithoutEffort, usual()));
    assert_eq!(learned(usual(), 400, &error(words), json!({})).0, RefusalAction::Nothing, "once");
}

#[test]
fn learning_comes_to_an_end() {
    let mut dialect = Dialect { may_switch: true, ..Dialect::new(Provider::OpenAi, Protocol::Chat, "m", true) };
    let all = "max_tokens max_completion_tokens temperature seed tool_choice stream stream_options strict include prompt_cache_key reasoning \
               reasoning_effort parallel_tool_calls content null roles must alternate 'draft' tools schema with a length of 9 tool_use.id \
               reasoning_content missing thought_signature does not support tools v1/responses image";
    let refusal = Refusal { status: 400, message: all.to_owned(), lower: all.to_owned(), ..Refusal::default() };
    let sent = json!({"max_tokens": 1, "max_completion_tokens": 1, "temperature": 1, "seed": 1, "tool_choice": "none", "stream": true,
        "stream_options": {}, "include": [], "prompt_cache_key": "k", "reasoning": {}, "reasoning_effort": "low", "parallel_tool_calls": true,
        "response_format": {"json_schema": {"strict": true}}});
    let tools = tools();
    let settings = sent.as_object().unwrap();
    let steps = std::iter::repeat_with(|| {
        let used = dialect.clone();
        let sent = RefusedRequest {
            settings,
            tools: &tools,
            open_form: true,
            wordless: true,
            effort: Some(Effort::Low),
            native: false,
            images: Some(SentImages::InResults),
            estimated: 1,
            bound: Some(1),
        };
        dialect.learn_from(&used, "m", &refusal, sent)
    });
    assert!(steps.take_while(|lesson| *lesson == RefusalAction::Again).take(60).count() < 40);
}
