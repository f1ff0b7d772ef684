//! Gemini's generateContent: unknown members.
//!
//! Members: <https://ai.google.dev/api/generate-content> and <https://ai.google.dev/api/caching>. Each is also accepted in snake case,
//! which the errors use for their places.

use serde_json::{Value, json};

use super::gemini_native::refuse;
use super::gemini_schemas::schema_faults;
use super::{Refusal, RuleContext};
use crate::errors;
use crate::view::gemini::{call, member, parts, result, snake};
use crate::view::list;

const BODY: &[&str] = &[
    "contents",
    "tools",
    "toolConfig",
    "safetySettings",
    "systemInstruction",
    "generationConfig",
    "cachedContent",
    "labels",
    "model",
    "serviceTier",
    "store",
];

const PART: &[&str] = &[
    "text",
    "thought",
    "thoughtSignature",
    "inlineData",
    "functionCall",
    "functionResponse",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "mediaResolution",
    "partMetadata",
    "videoMetadata",
];

const TOOL: &[&str] = &[
    "functionDeclarations",
    "codeExecution",
    "computerUse",
    "fileSearch",
    "googleMaps",
    "googleSearch",
    "googleSearchRetrieval",
    "mcpServers",
    "urlContext",
];

const GENERATION: &[&str] = &[
    "temperature",
    "topP",
    "topK",
    "candidateCount",
    "maxOutputTokens",
    "stopSequences",
    "responseMimeType",
    "responseSchema",
    "responseJsonSchema",
    "_responseJsonSchema",
    "responseFormat",
    "responseModalities",
    "presencePenalty",
    "frequencyPenalty",
    "seed",
    "responseLogprobs",
    "logprobs",
    "thinkingConfig",
    "mediaResolution",
    "speechConfig",
    "imageConfig",
    "enableEnhancedCivicAnswers",
];

/// Collects faults, each with its place.
#[derive(Default)]
pub(super) struct Faults(Vec<(String, String)>);

impl Faults {
    /// Adds an unknown member. The body itself has no name.
    pub(super) fn unknown(&mut self, place: &str, name: &str) {
        self.bad(place, name, "Cannot find field.");
    }

    pub(super) fn bad(&mut self, place: &str, name: &str, why: &str) {
        let at = if place.is_empty() { String::new() } else { format!(" at '{place}'") };
        self.add(place, format!("Invalid JSON payload received. Unknown name \"{name}\"{at}: {why}"));
    }

    pub(super) fn add(&mut self, place: &str, message: String) {
        self.0.push((place.to_owned(), message));
    }

    /// Checks that an object has these members only.
    fn members(&mut self, place: &str, value: Option<&Value>, known: &[&str]) {
        for key in value.and_then(Value::as_object).into_iter().flat_map(|members| members.keys()) {
            if !known.iter().any(|name| name == key || snake(name) == *key) {
                self.unknown(place, key);
            }
        }
    }

    fn refusal(self) -> Option<Refusal> {
        let lines: Vec<&str> = self.0.iter().map(|(_, message)| message.as_str()).collect();
        let mut body = errors::google(400, &lines.join("\n"));
        let violations: Vec<Value> =
            self.0.iter().map(|(field, description)| json!({"field": field, "description": description})).collect();
        if let Some(error) = body.pointer_mut("/error").and_then(Value::as_object_mut) {
            error.insert("details".into(), json!([{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]));
        }
        (!violations.is_empty()).then_some(Refusal { status: 400, body })
    }
}

/// Words and form: <https://github.com/zed-industries/zed/issues/44875> and <https://github.com/ax-llm/ax/issues/293>.
pub(super) fn unknown(asked: &RuleContext<'_>) -> Option<Refusal> {
    let body = asked.request.body;
    if !body.is_object() {
        return Some(refuse("Invalid JSON payload received."));
    }
    let mut faults = Faults::default();
    faults.members("", Some(body), BODY);
    for (place, content) in list(body.get("contents")).iter().enumerate() {
        content_faults(&format!("contents[{place}]"), content, &mut faults);
    }
    if let Some(system) = member(body, "systemInstruction") {
        content_faults("system_instruction", system, &mut faults);
    }
    for (place, tool) in list(body.get("tools")).iter().enumerate() {
        faults.members(&format!("tools[{place}]"), Some(tool), TOOL);
        for (index, function) in list(member(tool, "functionDeclarations")).iter().enumerate() {
            let at = format!("tools[{place}].function_declarations[{index}]");
            let known = ["name", "description", "behavior", "parameters", "parametersJsonSchema", "response", "responseJsonSchema"];
            faults.members(&at, Some(function), &known);
            for name in ["parameters", "response"] {
                function.get(name).into_iter().for_each(|schema| schema_faults(&format!("{at}.{name}"), schema, &mut faults));
            }
        }
    }
    let config = member(body, "toolConfig");
    faults.members("tool_config", config, &["functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"]);
    let calling = config.and_then(|config| member(config, "functionCallingConfig"));
    let known = ["mode", "allowedFunctionNames", "streamFunctionCallArguments"];
    faults.members("tool_config.function_calling_config", calling, &known);
    let generation = member(body, "generationConfig");
    faults.members("generation_config", generation, GENERATION);
    let thinking = generation.and_then(|generation| member(generation, "thinkingConfig"));
    faults.members("generation_config.thinking_config", thinking, &["includeThoughts", "thinkingBudget", "thinkingLevel"]);
    if let Some(schema) = generation.and_then(|generation| member(generation, "responseSchema")) {
        schema_faults("generation_config.response_schema", schema, &mut faults);
    }
    faults.refusal()
}

fn content_faults(place: &str, content: &Value, faults: &mut Faults) {
    faults.members(place, Some(content), &["role", "parts"]);
    for (index, part) in parts(content).iter().enumerate() {
        let at = format!("{place}.parts[{index}]");
        faults.members(&at, Some(part), PART);
        faults.members(&format!("{at}.function_call"), call(part), &["id", "name", "args", "partialArgs", "willContinue"]);
        let known = ["id", "name", "response", "parts", "willContinue", "scheduling"];
        faults.members(&format!("{at}.function_response"), result(part), &known);
        faults.members(&format!("{at}.inline_data"), member(part, "inlineData"), &["mimeType", "data", "displayName"]);
    }
}

/// Arguments and results are objects. Words and form: <https://github.com/preset-io/agor/issues/496>.
pub(super) fn objects(asked: &RuleContext<'_>) -> Option<Refusal> {
    let mut faults = Faults::default();
    for (place, content) in asked.request.entries().iter().enumerate() {
        for (index, part) in parts(content).iter().enumerate() {
            let given = [
                ("function_call.args", call(part).and_then(|call| call.get("args"))),
                ("function_response.response", result(part).and_then(|result| result.get("response"))),
            ];
            for (name, value) in given {
                if let Some(value) = value.filter(|value| !value.is_object() && !value.is_null()) {
                    let at = format!("contents[{place}].parts[{index}].{name}");
                    faults.add(&at, format!("Invalid value at '{at}' (type.googleapis.com/google.protobuf.Struct), {value}"));
                }
            }
        }
    }
    faults.refusal()
}
