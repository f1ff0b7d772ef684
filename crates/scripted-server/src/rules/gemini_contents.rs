//! Gemini's generateContent: the order of contents, their roles and their parts.

use serde_json::Value;

use super::gemini_native::{invalid, refuse};
use super::{Refusal, RuleContext};
use crate::view::gemini::{call, member, parts, result, signature};
use crate::view::{list, text};

/// Returns the role of a content; the user's by default.
pub(super) fn role(content: &Value) -> &str {
    text(content, "role").unwrap_or("user")
}

pub(super) fn calls(content: &Value) -> usize {
    parts(content).iter().filter(|part| call(part).is_some()).count()
}

pub(super) fn results(content: &Value) -> usize {
    parts(content).iter().filter(|part| result(part).is_some()).count()
}

/// Words and form: <https://github.com/langgenius/dify-official-plugins/issues/566>.
pub(super) fn roles(asked: &RuleContext<'_>) -> Option<Refusal> {
    let unknown = asked.request.entries().iter().any(|content| !matches!(role(content), "user" | "model"));
    unknown.then(|| refuse("Please use a valid role: user, model."))
}

/// Contents, parts and the data of a part are not empty. An empty text counts as nothing, unless it has a signature, as at the end of a
/// stream (<https://github.com/vercel/ai/pull/12402>).
///
/// Required data of a part: <https://ai.google.dev/api/caching#Part>.
pub(super) fn empty(asked: &RuleContext<'_>) -> Option<Refusal> {
    const DATA: &[&str] = &[
        "inlineData",
        "functionCall",
        "functionResponse",
        "fileData",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    ];
    let contents = asked.request.entries();
    if contents.is_empty() {
        return Some(invalid("contents: contents is not specified"));
    }
    contents.iter().enumerate().find_map(|(place, content)| {
        if parts(content).is_empty() {
            return Some(invalid(&format!("contents[{place}].parts: contents.parts must not be empty.")));
        }
        let has_content = |part: &Value| match text(part, "text") {
            Some(text) => !text.is_empty() || signature(part).is_some(),
            None => DATA.iter().any(|name| member(part, name).is_some()),
        };
        let index = parts(content).iter().position(|part| !has_content(part))?;
        let fault = format!("contents[{place}].parts[{index}].data: required oneof field 'data' must have one initialized field");
        Some(invalid(&fault))
    })
}

/// A result names its function. Source: <https://ai.google.dev/api/caching#FunctionResponse>.
pub(super) fn result_names(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.entries().iter().enumerate().find_map(|(place, content)| {
        let nameless = |part: &Value| result(part).is_some_and(|result| text(result, "name").is_none_or(str::is_empty));
        let index = parts(content).iter().position(nameless)?;
        Some(invalid(&format!("contents[{place}].parts[{index}].function_response.name: Name cannot be empty.")))
    })
}

/// Calls must come directly after the user or after results, and results directly after calls. Stricter than the real server, which is not
/// known to refuse a text of the model at the beginning.
///
/// Words: <https://github.com/google-gemini/gemini-cli/issues/11814> for calls, <https://github.com/langchain-ai/langchain/issues/27799>
/// for results.
pub(super) fn turns(asked: &RuleContext<'_>) -> Option<Refusal> {
    let contents = asked.request.entries();
    if contents.first().is_some_and(|first| role(first) == "model" && calls(first) == 0) {
        return Some(refuse("Please ensure that multiturn requests alternate between user and model."));
    }
    contents.iter().enumerate().find_map(|(place, content)| {
        let before = place.checked_sub(1).and_then(|before| contents.get(before));
        if calls(content) > 0 && before.is_none_or(|before| role(before) == "model") {
            return Some(refuse(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
            ));
        }
        (results(content) > 0 && before.is_none_or(|before| calls(before) == 0))
            .then(|| refuse("Please ensure that function response turn comes immediately after a function call turn."))
    })
}

pub(super) fn pairs(asked: &RuleContext<'_>) -> Option<Refusal> {
    unpaired(asked.request.body)
}

/// A turn of calls must be followed by the same number of results in one content.
///
/// Words and form: <https://github.com/google-gemini/gemini-cli/issues/5443>.
pub(super) fn unpaired(body: &Value) -> Option<Refusal> {
    let contents = list(body.get("contents"));
    let orphaned = contents.first().is_some_and(|first| results(first) > 0);
    let unequal = |(place, content): (usize, &Value)| {
        let next = contents.get(place + 1);
        calls(content) != next.map_or(0, results)
    };
    (orphaned || contents.iter().enumerate().any(unequal)).then(|| {
        refuse(
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call \
             turn.",
        )
    })
}

/// The last content is the user's. Words: <https://github.com/songquanpeng/one-api/issues/836>; evidence that this rule still applies:
/// <https://github.com/crewAIInc/crewAI/pull/6973>.
pub(super) fn end(asked: &RuleContext<'_>) -> Option<Refusal> {
    let last = asked.request.entries().last()?;
    (role(last) == "model").then(|| refuse("Please ensure that multiturn requests ends with a user role or a function response."))
}
