//! Conditions on requests.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::view::View;

/// Conditions on a request. All of them must be met, so the default matches every request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// Name of the schema: `response_format.json_schema.name`, or `text.format.name` in the Responses API. Anthropic's Messages and Gemini
    /// have no name, so it is the `title` of the schema, or the tool that Anthropic must call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// True if the request must offer tools, false if it must offer none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Name of a tool that must be offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// True if the request must have neither tools nor a response format, false if it must have at least one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<bool>,
    /// Texts that must each occur in some message or item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// Text that must occur in the last message or item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_contains: Option<String>,
    /// Number of turns of the model in the request: 0 for the first request of a conversation. In all protocols but chat completions,
    /// consecutive entries of the model are one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// True if the request must ask for a stream, false for a whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Requested model; Gemini's protocol has it in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// JSON pointer such as `/stream_options` that must exist in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// End of the path, such as `/responses`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl When {
    /// Matches every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Matches requests for a structured answer with the schema of this name, such as `aime_plan`.
    #[must_use]
    pub fn schema(name: impl Into<String>) -> Self {
        Self { schema: Some(name.into()), ..Self::default() }
    }

    /// Matches requests that offer tools.
    #[must_use]
    pub fn tools() -> Self {
        Self { tools: Some(true), ..Self::default() }
    }

    /// Matches requests that offer the tool of this name.
    #[must_use]
    pub fn tool(name: impl Into<String>) -> Self {
        Self { tool: Some(name.into()), ..Self::default() }
    }

    /// Matches requests for plain text: no tools, no response format.
    #[must_use]
    pub fn plain() -> Self {
        Self { plain: Some(true), ..Self::default() }
    }

    /// Matches requests with this text in any message.
    #[must_use]
    pub fn contains(text: impl Into<String>) -> Self {
        Self::default().and_contains(text)
    }

    /// Matches requests at a path that ends with this text, such as `/responses`.
    #[must_use]
    pub fn path(end: impl Into<String>) -> Self {
        Self::default().and_path(end)
    }

    /// Matches requests that contain this JSON pointer, such as `/max_tokens`.
    #[must_use]
    pub fn field(pointer: impl Into<String>) -> Self {
        Self { field: Some(pointer.into()), ..Self::default() }
    }

    /// Adds a text that must occur in some message.
    #[must_use]
    pub fn and_contains(mut self, text: impl Into<String>) -> Self {
        self.contains.push(text.into());
        self
    }

    /// Adds a text that must occur in the last message.
    #[must_use]
    pub fn and_last_contains(mut self, text: impl Into<String>) -> Self {
        self.last_contains = Some(text.into());
        self
    }

    /// Adds the number of earlier turns of the model.
    #[must_use]
    pub fn and_turn(mut self, turn: usize) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Adds the model.
    #[must_use]
    pub fn and_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Adds the condition that the request asks for a stream, or for a whole answer.
    #[must_use]
    pub fn and_stream(mut self, stream: bool) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Adds the end of the path.
    #[must_use]
    pub fn and_path(mut self, end: impl Into<String>) -> Self {
        self.path = Some(end.into());
        self
    }

    /// Returns true if the body of a request matches. The body determines the protocol. Conditions on the path never match, nor do those on
    /// data that Gemini's protocol has in its path: the model and the stream.
    #[must_use]
    pub fn fits(&self, request: &Value) -> bool {
        self.holds(&View::of_body(request))
    }

    pub(crate) fn holds(&self, request: &View<'_>) -> bool {
        let offered: Vec<&str> = request.tool_names();
        let texts = request.texts();
        let offers = !request.tools().is_empty();
        self.schema.as_deref().is_none_or(|name| request.schema_name() == Some(name))
            && self.tools.is_none_or(|wanted| wanted == offers)
            && self.tool.as_deref().is_none_or(|name| offered.contains(&name))
            && self.plain.is_none_or(|wanted| wanted == (!offers && request.wants_plain_text()))
            && self.contains.iter().all(|needle| texts.iter().any(|text| text.contains(needle)))
            && self.last_contains.as_deref().is_none_or(|needle| texts.last().is_some_and(|text| text.contains(needle)))
            && self.turn.is_none_or(|turn| turn == request.turns())
            && self.stream.is_none_or(|wanted| wanted == request.wants_stream())
            && self.model.as_deref().is_none_or(|name| request.model() == name)
            && self.field.as_deref().is_none_or(|pointer| request.body.pointer(pointer).is_some())
            && self.path.as_deref().is_none_or(|end| request.path.ends_with(end))
    }
}
