//! Anthropic's Messages.

use serde_json::Value;

use super::{
    Refusal, Rule, RuleContext, anthropic_form, anthropic_messages, anthropic_schemas, anthropic_thinking, anthropic_tools, images,
};
use crate::errors;
use crate::model::Claude;
use crate::view::messages::{forced_tool, thinking_type, thinks};
use crate::view::{role, text};

pub(super) const RULES: &[Rule] = &[
    api_key,
    version,
    anthropic_form::required,
    anthropic_form::old_format,
    anthropic_form::unknown_members,
    anthropic_form::blocks,
    images::of_named_type,
    anthropic_messages::roles,
    anthropic_messages::first_role,
    anthropic_messages::cache_marks,
    anthropic_messages::empty,
    anthropic_messages::call_ids,
    anthropic_tools::names,
    anthropic_tools::schemas,
    anthropic_schemas::strict,
    max_tokens,
    known_values,
    thinking_mode,
    thinking_budget,
    effort,
    sampling,
    sampling_with_thinking,
    both_samplings,
    forced_call,
    forced_call_with_thinking,
    anthropic_messages::pairs,
    prefill,
    anthropic_thinking::signatures,
    anthropic_thinking::latest,
    anthropic_thinking::missing,
];

/// Returns a refusal in Anthropic's format.
pub(super) fn refuse(message: impl AsRef<str>) -> Refusal {
    Refusal { status: 400, body: errors::anthropic("invalid_request_error", message.as_ref()) }
}

/// Returns true if the request names a beta, with any date.
pub(super) fn has_beta(asked: &RuleContext<'_>, name: &str) -> bool {
    let named = asked.headers.get("anthropic-beta").map(String::as_str).unwrap_or_default();
    named.split(',').any(|beta| beta.trim().starts_with(name))
}

fn claude<'a>(asked: &RuleContext<'a>) -> Option<Claude<'a>> {
    Claude::named(asked.request.model())
}

/// The header `x-api-key` is required. Words and form: <https://github.com/n8n-io/n8n/issues/37930>.
fn api_key(asked: &RuleContext<'_>) -> Option<Refusal> {
    let missing = asked.headers.get("x-api-key").is_none_or(String::is_empty);
    missing.then(|| Refusal { status: 401, body: errors::anthropic("authentication_error", "x-api-key header is required") })
}

/// The header `anthropic-version` is required. Words and form: <https://github.com/envoyproxy/ai-gateway/pull/1909>.
fn version(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.headers.get("anthropic-version").is_none_or(String::is_empty).then(|| refuse("anthropic-version: header is required"))
}

/// Words: <https://github.com/anomalyco/opencode/issues/2055>.
fn max_tokens(asked: &RuleContext<'_>) -> Option<Refusal> {
    let (model, asked_for) = (asked.request.model(), asked.request.body.get("max_tokens")?.as_u64()?);
    let most = claude(asked)?.most_tokens();
    (asked_for > most)
        .then(|| refuse(format!("max_tokens: {asked_for} > {most}, which is the maximum allowed number of output tokens for {model}")))
}

/// Kinds of thinking and efforts have names of a fixed list (<https://platform.claude.com/docs/en/build-with-claude/effort>), in
/// the words of Pydantic.
fn known_values(asked: &RuleContext<'_>) -> Option<Refusal> {
    if let Some(kind) = thinking_type(asked.request.body).filter(|kind| !matches!(*kind, "adaptive" | "disabled" | "enabled")) {
        let expected = "'adaptive', 'disabled', 'enabled'";
        return Some(refuse(format!(
            "thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
        )));
    }
    let unknown = asked.request.effort().filter(|effort| !matches!(*effort, "low" | "medium" | "high" | "xhigh" | "max"));
    unknown.map(|_| refuse("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"))
}

/// Claude 4.7 and later support only adaptive thinking, and models before 4.6 do not support it. The newest cannot go without thinking.
///
/// Words: <https://platform.claude.com/docs/en/api/errors>.
fn thinking_mode(asked: &RuleContext<'_>) -> Option<Refusal> {
    let claude = claude(asked)?;
    match thinking_type(asked.request.body)? {
        kind @ "enabled" if claude.only_adapts() => Some(only_adaptive(kind)),
        kind @ "disabled" if claude.always_thinks() => Some(only_adaptive(kind)),
        "adaptive" if !claude.adapts() => Some(refuse("adaptive thinking is not supported on this model")),
        _ => None,
    }
}

fn only_adaptive(kind: &str) -> Refusal {
    refuse(format!(
        "\"thinking.type.{kind}\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control \
         thinking behavior."
    ))
}

/// A budget is at least 1,024 tokens, and less than all tokens of the answer.
///
/// Words: <https://github.com/themaximalist/llm.js/issues/30> and
/// <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>.
fn thinking_budget(asked: &RuleContext<'_>) -> Option<Refusal> {
    let body = asked.request.body;
    if thinking_type(body) != Some("enabled") {
        return None;
    }
    let Some(budget) = body.pointer("/thinking/budget_tokens").and_then(Value::as_u64) else {
        return Some(refuse("thinking.enabled.budget_tokens: Field required"));
    };
    if budget < 1_024 {
        return Some(refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"));
    }
    let all = body.get("max_tokens").and_then(Value::as_u64)?;
    (budget >= all).then(|| {
        refuse(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at \
             https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        )
    })
}

/// Models before 4.6 accept no effort, except for Opus 4.5.
///
/// Supported models: <https://platform.claude.com/docs/en/build-with-claude/effort>.
fn effort(asked: &RuleContext<'_>) -> Option<Refusal> {
    asked.request.effort()?;
    let claude = claude(asked)?;
    let takes = claude.adapts() || (claude.family == "opus" && claude.version == (4, 5));
    (!takes).then(|| refuse("This model does not support the effort parameter."))
}

/// Claude 4.7 and later accept no sampling parameters. Stricter than the real server, which reportedly accepts the default of 1
/// (<https://platform.claude.com/docs/en/api/messages/create#create.temperature>).
///
/// Words: <https://github.com/vierisid/jarvis/pull/217>.
fn sampling(asked: &RuleContext<'_>) -> Option<Refusal> {
    let given = ["temperature", "top_p", "top_k"].into_iter().find(|key| asked.request.body.get(key).is_some())?;
    claude(asked)?.only_adapts().then(|| refuse(format!("`{given}` is deprecated for this model.")))
}

/// Words: <https://github.com/MayDay-wpf/snow-app/issues/42>.
fn sampling_with_thinking(asked: &RuleContext<'_>) -> Option<Refusal> {
    let temperature = asked.request.body.get("temperature")?;
    (thinks(asked.request.body) && temperature.as_f64() != Some(1.0)).then(|| {
        refuse(
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. Please consult our documentation at \
             https://platform.claude.com/docs/en/build-with-claude/extended-thinking",
        )
    })
}

/// From Claude 4.1 on. Words: <https://github.com/SalesforceAIResearch/MCP-Universe/issues/49>.
fn both_samplings(asked: &RuleContext<'_>) -> Option<Refusal> {
    let both = ["temperature", "top_p"].iter().all(|key| asked.request.body.get(key).is_some());
    (both && claude(asked)?.version >= (4, 1))
        .then(|| refuse("`temperature` and `top_p` cannot both be specified for this model. Please use only one."))
}

/// The newest models do not support forced calls. Words: <https://github.com/can1357/oh-my-pi/issues/12939>; models:
/// <https://platform.claude.com/docs/en/models/fable-5-1/migration-guide>.
fn forced_call(asked: &RuleContext<'_>) -> Option<Refusal> {
    let refused = claude(asked)?.refuses_forced_calls() && is_forced(asked.request.body);
    refused.then(|| refuse("tool_choice: type \"tool\" and \"any\" are not supported for this model."))
}

/// Words: <https://github.com/can1357/oh-my-pi/issues/341>.
fn forced_call_with_thinking(asked: &RuleContext<'_>) -> Option<Refusal> {
    let body = asked.request.body;
    (thinks(body) && is_forced(body)).then(|| refuse("Thinking may not be enabled when tool_choice forces tool use."))
}

fn is_forced(body: &Value) -> bool {
    forced_tool(body).is_some() || body.pointer("/tool_choice/type").is_some_and(|kind| kind == "any")
}

/// Claude 4.6 and later do not continue a prefilled answer. Words: <https://github.com/smallmain/vscode-unify-chat-provider/issues/249>;
/// models: <https://platform.claude.com/docs/en/api/errors>.
fn prefill(asked: &RuleContext<'_>) -> Option<Refusal> {
    let last = asked.request.entries().last()?;
    (role(last) == "assistant" && claude(asked)?.adapts())
        .then(|| refuse("This model does not support assistant message prefill. The conversation must end with a user message."))
}

/// Returns true if a block or a tool is of this type.
pub(super) fn is(value: &Value, kind: &str) -> bool {
    text(value, "type") == Some(kind)
}
