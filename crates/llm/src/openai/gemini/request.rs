//! The body of a request to Gemini.

use serde_json::{Map, Value, json};

use crate::openai::dialect::{Dialect, MessageForm};
use crate::openai::form::{Writing, call_id, sendable_arguments, tool_name, with_images};
use crate::{ChatRequest, Effort, Image, Message, ResponseFormat, ToolCall, ToolChoice};

/// Gemini's own word for the signature of a call that it did not make.
const SKIP: &str = "skip_thought_signature_validator";

/// Returns the path of a request for a model. An address that ends in a version gets none. On Vertex AI, the version comes
/// before the project, and Google's models are below `publishers/google`.
pub(in crate::openai) fn path(base: &str, model: &str, streams: bool) -> String {
    const PUBLISHER: &str = "publishers/google";
    let is_version = |part: &str| part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let vertex = base.contains("aiplatform.googleapis.com");
    let versioned = if vertex { base.split('/').any(is_version) } else { base.rsplit('/').next().is_some_and(is_version) };
    let version = match (versioned, vertex) {
        (true, _) => "",
        (false, true) => "/v1",
        (false, false) => "/v1beta",
    };
    let model = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    let model = match model.strip_prefix(PUBLISHER) {
        Some(rest) if vertex && base.ends_with(PUBLISHER) => rest.trim_start_matches('/').to_owned(),
        None if vertex && !base.ends_with(PUBLISHER) && model.starts_with("models/") => format!("{PUBLISHER}/{model}"),
        _ => model,
    };
    let method = if streams { "streamGenerateContent" } else { "generateContent" };
    format!("{version}/{model}:{method}")
}

/// Everything but the system instruction, the contents and the tools.
pub(in crate::openai) fn settings(request: &ChatRequest, dialect: &Dialect, writing: &Writing<'_>, tools: bool) -> Map<String, Value> {
    let optional = &dialect.optional;
    let mut body = Map::new();
    if tools && optional.tool_choice {
        let config = match &request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::Required => Some(json!({"mode": "ANY"})),
            ToolChoice::None => Some(json!({"mode": "NONE"})),
            ToolChoice::Only(name) => Some(json!({"mode": "ANY", "allowedFunctionNames": [name]})),
        };
        if let Some(config) = config {
            body.insert("toolConfig".into(), json!({"functionCallingConfig": config}));
        }
    }
    let mut generation = Map::new();
    match &request.format {
        ResponseFormat::Text => {}
        ResponseFormat::JsonObject => drop(generation.insert("responseMimeType".into(), json!("application/json"))),
        ResponseFormat::JsonSchema { name, schema } => {
            let mut schema = schema.clone();
            if let Some(schema) = schema.as_object_mut() {
                schema.entry("title").or_insert_with(|| json!(name));
            }
            generation.insert("responseMimeType".into(), json!("application/json"));
            generation.insert("responseJsonSchema".into(), schema);
        }
    }
    if let (true, Some(temperature)) = (optional.temperature, writing.temperature(request)) {
        generation.insert("temperature".into(), temperature);
    }
    if let (Some(_), Some(bound)) = (dialect.max_tokens, writing.bound) {
        generation.insert("maxOutputTokens".into(), json!(bound));
    }
    if let (true, Some(seed)) = (optional.seed, request.seed) {
        // A signed number of 32 bits there.
        generation.insert("seed".into(), json!(seed & 0x7fff_ffff));
    }
    let mut thinking = Map::new();
    if optional.summary {
        thinking.insert("includeThoughts".into(), json!(true));
    }
    if let Some(effort) = writing.effort.filter(|_| optional.effort) {
        if is_since_3(writing.source.model) {
            thinking.insert("thinkingLevel".into(), json!(level(effort)));
        } else {
            thinking.insert("thinkingBudget".into(), json!(budget(effort)));
        }
    }
    if !thinking.is_empty() {
        generation.insert("thinkingConfig".into(), Value::Object(thinking));
    }
    if !generation.is_empty() {
        body.insert("generationConfig".into(), Value::Object(generation));
    }
    body
}

/// Returns true for Gemini 3 and the generations after it.
pub(in crate::openai) fn is_since_3(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default();
    let generation = name.strip_prefix("gemini-").map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    generation.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= 3)
}

const fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::XHigh | Effort::Max => "high",
    }
}

/// Tokens of thinking, for models before Gemini 3.
const fn budget(effort: Effort) -> u32 {
    match effort {
        Effort::None => 0,
        Effort::Minimal => 512,
        Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High | Effort::XHigh | Effort::Max => 24_576,
    }
}

/// Returns the parts of a message.
pub(in crate::openai) fn parts(message: &Message, form: &MessageForm, writing: &Writing<'_>) -> Vec<Value> {
    match message {
        Message::System { content } => text(content).into_iter().collect(),
        Message::User { content, images } => {
            let (content, images) = with_images(content, images, form);
            text(&content).into_iter().chain(images.iter().map(image_part)).collect()
        }
        Message::Assistant { content, tool_calls, native } => {
            let native = native.as_deref().and_then(|native| writing.native(native, content, tool_calls));
            native.and_then(|items| native_parts(items, tool_calls, form)).unwrap_or_else(|| plain(content, tool_calls, form))
        }
        Message::Tool { call_id: id, name, content, is_error, images } => {
            let (content, images) = with_images(content, images, form);
            let field = if *is_error { "error" } else { "output" };
            let mut response = json!({"name": tool_name(name), "response": {field: content}});
            if let (true, Some(response)) = (form.ids_in_calls, response.as_object_mut()) {
                response.insert("id".into(), json!(call_id(id, form.ids)));
            }
            if let (false, Some(response)) = (images.is_empty(), response.as_object_mut()) {
                response.insert("parts".into(), images.iter().map(image_part).collect());
            }
            vec![json!({"functionResponse": response})]
        }
    }
}

fn image_part(image: &Image) -> Value {
    json!({"inlineData": {"mimeType": image.format.media_type(), "data": image.data}})
}

fn text(content: &str) -> Option<Value> {
    (!content.is_empty()).then(|| json!({"text": content}))
}

fn plain(content: &str, calls: &[ToolCall], form: &MessageForm) -> Vec<Value> {
    let calls = calls.iter().enumerate().map(|(at, call)| {
        let mut part = json!({"functionCall": {}});
        fill_call(&mut part, call, form);
        if let (true, 0, Some(part)) = (form.skip_signature, at, part.as_object_mut()) {
            part.insert("thoughtSignature".into(), json!(SKIP));
        }
        part
    });
    text(content).into_iter().chain(calls).collect()
}

/// Returns the parts as they came, each with its signature.
fn native_parts(items: &[Value], calls: &[ToolCall], form: &MessageForm) -> Option<Vec<Value>> {
    if items.iter().filter(|item| item.get("functionCall").is_some()).count() != calls.len() {
        return None;
    }
    let mut calls = calls.iter();
    let mut sent = Vec::with_capacity(items.len());
    for item in items {
        let mut item = item.clone();
        if item.get("functionCall").is_some() {
            fill_call(&mut item, calls.next()?, form);
        }
        sent.push(item);
    }
    Some(sent)
}

fn fill_call(part: &mut Value, call: &ToolCall, form: &MessageForm) {
    let Some(fields) = part.get_mut("functionCall").and_then(Value::as_object_mut) else { return };
    if form.ids_in_calls {
        fields.insert("id".into(), json!(call_id(&call.id, form.ids)));
    } else {
        fields.remove("id");
    }
    fields.insert("name".into(), json!(tool_name(&call.name)));
    fields.insert("args".into(), serde_json::from_str(&sendable_arguments(&call.arguments)).unwrap_or_else(|_| json!({})));
}

/// Returns a function as it is offered.
pub(in crate::openai) fn tool(name: &str, description: &str, parameters: Value) -> Value {
    json!({"name": name, "description": description, "parametersJsonSchema": parameters})
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERTEX: &str = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1";
    const PUBLISHER: &str = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google";

    #[test]
    fn later_generations_are_spoken_to_as_gemini_3() {
        for model in ["gemini-3-pro", "gemini-3.8-flash", "models/gemini-4-argon", "google/gemini-10-x"] {
            assert!(is_since_3(model), "{model}");
        }
        for model in ["gemini-2.5-pro", "gemini-flash-latest", "gemini-", "gemma-3-27b", ""] {
            assert!(!is_since_3(model), "{model}");
        }
    }

    #[test]
    fn the_path_names_model_and_method() {
        let cases = [
            ("https://generativelanguage.googleapis.com", "gemini-3-pro", "/v1beta/models/gemini-3-pro:streamGenerateContent"),
            ("https://generativelanguage.googleapis.com/v1beta", "models/gemini-3-pro", "/models/gemini-3-pro:streamGenerateContent"),
            ("http://127.0.0.1:1/v1", "gemini-3-pro", "/models/gemini-3-pro:streamGenerateContent"),
            ("https://host/vertex", "publishers/google/models/g", "/v1beta/publishers/google/models/g:streamGenerateContent"),
            (VERTEX, "gemini-3-pro", "/publishers/google/models/gemini-3-pro:streamGenerateContent"),
            (VERTEX, "models/gemini-3-pro", "/publishers/google/models/gemini-3-pro:streamGenerateContent"),
            (VERTEX, "publishers/google/models/gemini-3-pro", "/publishers/google/models/gemini-3-pro:streamGenerateContent"),
            (VERTEX, "endpoints/7", "/endpoints/7:streamGenerateContent"),
            (PUBLISHER, "gemini-3-pro", "/models/gemini-3-pro:streamGenerateContent"),
            (PUBLISHER, "publishers/google/models/gemini-3-pro", "/models/gemini-3-pro:streamGenerateContent"),
            ("https://aiplatform.googleapis.com", "g", "/v1/publishers/google/models/g:streamGenerateContent"),
        ];
        for (base, model, expected) in cases {
            assert_eq!(path(base, model, true), expected);
        }
        assert!(path("", "m", false).ends_with(":generateContent"));
    }
}
