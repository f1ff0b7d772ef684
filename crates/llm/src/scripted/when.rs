//! Conditions that select the requests of a rule.

use crate::{ChatRequest, Message, ResponseFormat};

/// Conditions on a request; all that are given must hold, so the default fits every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When {
    /// Name of the requested schema.
    pub schema: Option<String>,
    /// True to match requests with tools, false to match those without.
    pub tools: Option<bool>,
    /// A tool of this name is offered.
    pub tool: Option<String>,
    /// Neither tools nor a format (`true`), or at least one of them (`false`).
    pub plain: Option<bool>,
    /// Each of these texts occurs in some message.
    pub contains: Vec<String>,
    /// The last message contains this text.
    pub last_contains: Option<String>,
    /// Number of assistant messages in the request: 0 for the first turn of a conversation.
    pub turn: Option<usize>,
}

impl When {
    /// Matches every request.
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

    /// Requests for plain text: no tools, no format.
    #[must_use]
    pub fn plain() -> Self {
        Self { plain: Some(true), ..Self::default() }
    }

    /// Requests with this text in any message.
    #[must_use]
    pub fn contains(text: impl Into<String>) -> Self {
        Self::default().and_contains(text)
    }

    /// And with this text in any message.
    #[must_use]
    pub fn and_contains(mut self, text: impl Into<String>) -> Self {
        self.contains.push(text.into());
        self
    }

    /// And with this text in the last message.
    #[must_use]
    pub fn and_last_contains(mut self, text: impl Into<String>) -> Self {
        self.last_contains = Some(text.into());
        self
    }

    /// And with this many assistant messages before.
    #[must_use]
    pub fn and_turn(mut self, turn: usize) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Returns true if a request satisfies all conditions.
    #[must_use]
    pub fn fits(&self, request: &ChatRequest) -> bool {
        let plain = request.tools.is_empty() && request.format == ResponseFormat::Text;
        let texts: Vec<String> = request.messages.iter().map(|message| text(message)).collect();
        self.schema.as_deref().is_none_or(|name| request.schema_name() == Some(name))
            && self.tools.is_none_or(|wanted| wanted != request.tools.is_empty())
            && self.tool.as_deref().is_none_or(|name| request.tools.iter().any(|tool| tool.name == name))
            && self.plain.is_none_or(|wanted| wanted == plain)
            && self.contains.iter().all(|needle| texts.iter().any(|text| text.contains(needle)))
            && self.last_contains.as_deref().is_none_or(|needle| texts.last().is_some_and(|text| text.contains(needle)))
            && self.turn.is_none_or(|turn| turn == turns(request))
    }
}

/// Returns the number of assistant messages in the request.
pub(super) fn turns(request: &ChatRequest) -> usize {
    request.messages.iter().filter(|message| matches!(message.as_ref(), Message::Assistant { .. })).count()
}

/// Returns the text of a message, its tool calls included.
fn text(message: &Message) -> String {
    match message {
        Message::System { content } | Message::User { content, .. } | Message::Tool { content, .. } => content.clone(),
        Message::Assistant { content, tool_calls, .. } => {
            let mut text = content.clone();
            for call in tool_calls {
                text.push_str(&format!("\n{}\n{}", call.name, call.arguments));
            }
            text
        }
    }
}

/// Returns a request in one line, for the error of a request that nothing answers.
pub(super) fn in_short(request: &ChatRequest) -> String {
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let last: String = request.messages.last().map(|message| text(message)).unwrap_or_default().chars().take(160).collect();
    format!(
        "schema {}, tools [{}], turn {}, last message: {last:?}",
        request.schema_name().unwrap_or("none"),
        tools.join(", "),
        turns(request)
    )
}
