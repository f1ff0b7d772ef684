//! Gemini's generateContent: the key, functions, and settings of the answer.

use serde_json::Value;

use super::{Refusal, Rule, RuleContext, gemini_contents, gemini_fields, gemini_schemas, gemini_signatures};
use crate::errors;
use crate::model::is_before_gemini_3;
use crate::view::gemini::{generation, member, thinking};
use crate::view::text;

pub(super) const RULES: &[Rule] = &[
    api_key,
    gemini_fields::unknown,
    gemini_fields::objects,
    gemini_schemas::empty_objects,
    gemini_contents::roles,
    gemini_contents::empty,
    gemini_contents::result_names,
    gemini_contents::turns,
    gemini_contents::pairs,
    gemini_contents::end,
    names,
    choice_without_functions,
    thinking_level,
    two_thinking_settings,
    functions_with_json,
    gemini_signatures::missing,
    gemini_signatures::unknown,
];

/// Returns a refusal in Google's format.
pub(super) fn refuse(message: impl AsRef<str>) -> Refusal {
    Refusal { status: 400, body: errors::google(400, message.as_ref()) }
}

/// Returns a refusal of a request that was parsed but is invalid. Google puts each fault on a line with a star.
pub(super) fn invalid(fault: &str) -> Refusal {
    refuse(format!("* GenerateContentRequest.{fault}\n"))
}

/// The key is in a header or in the query. Words and form: <https://github.com/PublicAffairs/openai-gemini/issues/92>.
fn api_key(asked: &RuleContext<'_>) -> Option<Refusal> {
    let in_header = asked.headers.get("x-goog-api-key").is_some_and(|key| !key.is_empty());
    let in_query = asked.request.query.split('&').any(|pair| pair.strip_prefix("key=").is_some_and(|key| !key.is_empty()));
    let message = "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of \
                   API consumer identity to call this API.";
    (!in_header && !in_query).then(|| Refusal { status: 403, body: errors::google(403, message) })
}

/// Words: <https://github.com/google-gemini/gemini-cli/issues/7869>; evidence that colons are accepted:
/// <https://github.com/kaitranntt/ccs/issues/25>.
fn names(asked: &RuleContext<'_>) -> Option<Refusal> {
    let valid = |name: &str| {
        let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        begins && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
    };
    let tools = asked.request.tools();
    let place = tools.iter().position(|tool| !text(tool, "name").is_some_and(valid))?;
    Some(invalid(&format!(
        "tools[0].function_declarations[{place}].name: Invalid function name. Must start with a letter or an underscore. Must be alphameric \
         (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64."
    )))
}

/// Words and form: <https://github.com/UKGovernmentBEIS/inspect_ai/issues/2462>.
fn choice_without_functions(asked: &RuleContext<'_>) -> Option<Refusal> {
    let config = member(member(asked.request.body, "toolConfig")?, "functionCallingConfig")?;
    (!config.is_null() && asked.request.tools().is_empty()).then(|| refuse("Function calling config is set without function_declarations."))
}

/// Only Gemini 3 has thinking levels; earlier models have budgets. Source: <https://ai.google.dev/gemini-api/docs/thinking>.
fn thinking_level(asked: &RuleContext<'_>) -> Option<Refusal> {
    let earlier = is_before_gemini_3(asked.request.model());
    thinking(asked.request.body, "thinkingLevel").filter(|_| earlier).map(|_| refuse("Thinking level is not supported for this model."))
}

/// Only one of `thinkingLevel` and `thinkingBudget` is allowed. Source: <https://ai.google.dev/gemini-api/docs/gemini-3>.
fn two_thinking_settings(asked: &RuleContext<'_>) -> Option<Refusal> {
    let both = ["thinkingLevel", "thinkingBudget"].into_iter().all(|name| thinking(asked.request.body, name).is_some());
    both.then(|| refuse("You can only set only one of thinking budget and thinking level."))
}

/// Models before Gemini 3 do not answer in JSON while they have functions.
///
/// Source: <https://ai.google.dev/gemini-api/docs/structured-output>, which requires Gemini 3 for the combination.
fn functions_with_json(asked: &RuleContext<'_>) -> Option<Refusal> {
    let earlier = is_before_gemini_3(asked.request.model());
    let json = generation(asked.request.body, "responseMimeType").and_then(Value::as_str) == Some("application/json");
    (earlier && json && !asked.request.tools().is_empty())
        .then(|| refuse("Function calling with a response mime type: 'application/json' is unsupported"))
}
