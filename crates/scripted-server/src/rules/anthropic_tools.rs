//! Anthropic's Messages: tools.

use serde_json::Value;

use super::anthropic::refuse;
use super::anthropic_form::is_custom;
use super::anthropic_messages::is_name;
use super::{Refusal, RuleContext};
use crate::view::text;

/// Returns the tools of the client with their indices.
pub(super) fn custom<'a>(asked: &RuleContext<'a>) -> impl Iterator<Item = (usize, &'a Value)> {
    asked.request.tools().into_iter().enumerate().filter(|(_, tool)| is_custom(tool))
}

/// Words: <https://github.com/BerriAI/litellm/pull/26788> for the pattern, <https://github.com/microsoft/vscode/issues/278073> for
/// equal names.
pub(super) fn names(asked: &RuleContext<'_>) -> Option<Refusal> {
    let bad = custom(asked).find(|(_, tool)| !text(tool, "name").is_some_and(is_name));
    if let Some((place, _)) = bad {
        return Some(refuse(format!("tools.{place}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")));
    }
    let names = asked.request.tool_names();
    let twice = names.iter().enumerate().any(|(place, name)| names.iter().take(place).any(|before| before == name));
    twice.then(|| refuse("tools: Tool names must be unique."))
}

/// The schema of a tool is an object schema, without a choice of schemas at the top.
///
/// Words: <https://github.com/anthropics/claude-code/issues/40075>. Type of the schema:
/// <https://github.com/dearlordylord/huly-mcp/issues/66>, in the words of Pydantic.
pub(super) fn schemas(asked: &RuleContext<'_>) -> Option<Refusal> {
    custom(asked).find_map(|(place, tool)| {
        let at = format!("tools.{place}.custom.input_schema");
        let Some(schema) = tool.get("input_schema") else { return Some(refuse(format!("{at}: Field required"))) };
        match text(schema, "type") {
            None => return Some(refuse(format!("{at}.type: Field required"))),
            Some(kind) if kind != "object" => return Some(refuse(format!("{at}.type: Input should be 'object'"))),
            Some(_) => {}
        }
        let choice = ["oneOf", "allOf", "anyOf"].iter().any(|key| schema.get(key).is_some());
        choice.then(|| refuse(format!("{at}: input_schema does not support oneOf, allOf, or anyOf at the top level")))
    })
}
