//! What a request says, whatever its protocol is.

use serde_json::{Value, json};

/// The messages of a chat or of Anthropic's Messages, the items of a request to Responses, or Gemini's contents. Marks for the cache, which move
/// on with each request, are left out.
pub(super) fn entries(request: &Value) -> Vec<Value> {
    let entries = ["messages", "input", "contents"].into_iter().find_map(|name| request.get(name)?.as_array());
    entries.unwrap_or_else(|| panic!("a request without messages: {request:#}")).iter().map(without_marks).collect()
}

/// The entries as a cache compares them: a text is the same as one part with it.
pub(super) fn cached_entries(request: &Value) -> Vec<Value> {
    let in_parts = |mut entry: Value| {
        if let Some(Value::String(text)) = entry.get("content") {
            entry["content"] = json!([{"type": "text", "text": text}]);
        }
        entry
    };
    entries(request).into_iter().map(in_parts).collect()
}

fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| *name != "cache_control")
            .map(|(name, member)| (name.clone(), without_marks(member)))
            .collect(),
        Value::Array(list) => list.iter().map(without_marks).collect(),
        other => other.clone(),
    }
}

/// The name of the schema that an answer must follow.
pub(super) fn schema(request: &Value) -> Option<&str> {
    let pointers = [
        "/response_format/json_schema/name",
        "/text/format/name",
        "/output_config/format/schema/title",
        "/generationConfig/responseJsonSchema/title",
        "/generationConfig/responseSchema/title",
    ];
    pointers.into_iter().find_map(|pointer| request.pointer(pointer)?.as_str())
}

/// Whether a request offers tools.
pub(super) fn acts(request: &Value) -> bool {
    request.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
}

/// The opaque state in a request that only its provider can read, in order.
pub(super) fn opaque(request: &Value) -> Vec<Value> {
    const MEMBERS: [&str; 7] =
        ["encrypted_content", "reasoning_content", "reasoning_details", "thought_signature", "thoughtSignature", "signature", "thinking"];
    entries(request).iter().flat_map(|entry| members(entry, &MEMBERS)).collect()
}

/// The results of calls in a request.
pub(super) fn results(request: &Value) -> Vec<String> {
    let of = |entry: &Value| -> Vec<Value> {
        match (entry["role"].as_str(), entry["type"].as_str()) {
            (Some("tool"), _) => vec![entry["content"].clone()],
            (_, Some("function_call_output")) => vec![entry["output"].clone()],
            _ => {
                let blocks = blocks(entry).filter(|block| block["type"] == "tool_result").map(|block| block["content"].clone());
                blocks.chain(members(entry, &["functionResponse"])).collect()
            }
        }
    };
    entries(request).iter().flat_map(of).map(|result| result.to_string()).collect()
}

/// The names of the called tools in a request, in order.
pub(super) fn calls(request: &Value) -> Vec<String> {
    let of = |entry: &Value| -> Vec<Value> {
        let chat = entry["tool_calls"].as_array().into_iter().flatten().map(|call| call["function"]["name"].clone());
        let item = (entry["type"] == "function_call").then(|| entry["name"].clone());
        let blocks = blocks(entry).filter(|block| block["type"] == "tool_use").map(|block| block["name"].clone());
        chat.chain(item).chain(blocks).chain(members(entry, &["functionCall"]).into_iter().map(|call| call["name"].clone())).collect()
    };
    entries(request).iter().flat_map(of).map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
}

/// The blocks of a message of Anthropic's.
fn blocks(entry: &Value) -> impl Iterator<Item = &Value> {
    entry["content"].as_array().into_iter().flatten()
}

/// The members of these names, wherever they are.
fn members(value: &Value, names: &[&str]) -> Vec<Value> {
    match value {
        Value::Object(object) => {
            let of = |(name, member): (&String, &Value)| match names.contains(&name.as_str()) {
                true => vec![member.clone()],
                false => members(member, names),
            };
            object.iter().flat_map(of).collect()
        }
        Value::Array(list) => list.iter().flat_map(|one| members(one, names)).collect(),
        _ => Vec::new(),
    }
}
