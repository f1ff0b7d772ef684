//! Conditions on the requests that a rule answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::view::View;

/// Conditions on a request; all that are given must hold, so the default fits every request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The name of the schema: `response_format.json_schema.name`, or `text.format.name` in the Responses API. Anthropic's
    /// Messages and Gemini have no name, so there it is the `title` of the schema, or the tool that Anthropic must call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The request offers tools, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// A tool of this name is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Neither tools nor a response format (`true`), or at least one of them (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<bool>,
    /// Each of these texts is in some message or item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// This text is in the last message or item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_contains: Option<String>,
    /// The request has this many turns of the model: 0 for the first request of a conversation. In all
    /// protocols but chat completions, consecutive entries that the model made are one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
    /// The request asks for a stream, or for a whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// The model asked for; Gemini's protocol has it in the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A JSON pointer such as `/stream_options` that the request has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The end of the path, such as `/responses`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl When {
    /// Every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests for a structured answer with the schema of this name, such as `aime_plan`.
    #[must_use]
    pub fn schema(name: impl Into<String>) -> Self {
        Self { schema: Some(name.into()), ..Self::default() }
    }

    /// Requests that offer tools.
    #[must_use]
    pub fn tools() -> Self {
        Self { tools: Some(true), ..Self::default() }
    }

    /// Requests that offer the tool of this name.
    #[must_use]
    pub fn tool(name: impl Into<String>) -> Self {
        Self { tool: Some(name.into()), ..Self::default() }
    }

    /// Requests for plain text: no tools, no response format.
    #[must_use]
    pub fn plain() -> Self {
        Self { plain: Some(true), ..Self::default() }
    }

    /// Requests with this text in any message.
    #[must_use]
    pub fn contains(text: impl Into<String>) -> Self {
        Self::default().and_contains(text)
    }

    /// Requests at a path that ends with this text, such as `/responses`.
    #[must_use]
    pub fn path(end: impl Into<String>) -> Self {
        Self::default().and_path(end)
    }

    /// Requests that have this JSON pointer, such as `/max_tokens`.
    #[must_use]
    pub fn field(pointer: impl Into<String>) -> Self {
        Self { field: Some(pointer.into()), ..Self::default() }
    }

    /// Adds a text that must be in some message.
    #[must_use]
    pub fn and_contains(mut self, text: impl Into<String>) -> Self {
        self.contains.push(text.into());
        self
    }

    /// Adds a text that must be in the last message.
    #[must_use]
    pub fn and_last_contains(mut self, text: impl Into<String>) -> Self {
        self.last_contains = Some(text.into());
        self
    }

    /// Adds the number of turns of the model before.
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

    /// Adds that a stream must, or must not, be asked for.
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

    /// Returns whether the body of a request fits. The body decides the protocol; conditions on the path
    /// never hold, nor do those on what Gemini's protocol has in its path, the model and the stream.
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
