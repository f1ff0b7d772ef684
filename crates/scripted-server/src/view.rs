//! View of a request that is the same for all protocols.

pub(crate) mod gemini;
pub(crate) mod messages;

use serde_json::Value;

/// The protocol of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// `…/chat/completions`
    Chat,
    /// `…/responses`
    Responses,
    /// `…/messages`, of Anthropic
    Messages,
    /// `…:generateContent` and `…:streamGenerateContent`, of Gemini
    Gemini,
}

impl Protocol {
    /// Returns the protocol for the end of a path.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with(":generateContent") || path.ends_with(gemini::STREAM) {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// Detects the protocol by the members that only it has.
    fn of_body(body: &Value) -> Self {
        if body.get("contents").is_some() {
            Self::Gemini
        } else if body.get("messages").is_none() && body.get("input").is_some() {
            Self::Responses
        } else if messages::fits(body) {
            Self::Messages
        } else {
            Self::Chat
        }
    }
}

/// A request with accessors that are independent of its protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) protocol: Protocol,
    /// Path; empty if unknown.
    pub(crate) path: &'a str,
    /// Query after `?`.
    pub(crate) query: &'a str,
    pub(crate) body: &'a Value,
}

impl<'a> View<'a> {
    /// Creates a view of a body with an unknown path.
    pub(crate) fn of_body(body: &'a Value) -> Self {
        Self { protocol: Protocol::of_body(body), path: "", query: "", body }
    }

    /// Returns the messages of a chat, the items of `input`, or `contents`; empty if `input` is a plain text.
    pub(crate) fn entries(&self) -> &'a [Value] {
        list(self.body.get(match self.protocol {
            Protocol::Chat | Protocol::Messages => "messages",
            Protocol::Responses => "input",
            Protocol::Gemini => "contents",
        }))
    }

    /// Returns the text of each message or item, including calls and results, in order. The system text comes first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let entries = self.entries().iter();
        match self.protocol {
            Protocol::Chat => entries.map(entry_text).collect(),
            Protocol::Responses => {
                let plain = ["instructions", "input"].into_iter().filter_map(|key| text(self.body, key)).map(str::to_owned);
                plain.chain(entries.map(entry_text)).collect()
            }
            Protocol::Messages => {
                let system = self.body.get("system").map(|system| content_text(Some(system)));
                system.into_iter().chain(entries.map(messages::entry_text)).collect()
            }
            Protocol::Gemini => {
                let system = gemini::member(self.body, "systemInstruction").map(gemini::entry_text);
                system.into_iter().chain(entries.map(gemini::entry_text)).collect()
            }
        }
    }

    /// Returns the turns of the model: assistant messages of a chat, or groups of consecutive entries of the model.
    pub(crate) fn turns(&self) -> usize {
        let made = |entry: &Value| match self.protocol {
            Protocol::Chat | Protocol::Messages => role(entry) == "assistant",
            Protocol::Responses => made_by_model(entry),
            Protocol::Gemini => role(entry) == "model",
        };
        if self.protocol == Protocol::Chat {
            return self.entries().iter().filter(|entry| made(entry)).count();
        }
        let groups = self.entries().chunk_by(|one, next| made(one) == made(next));
        groups.filter(|group| group.first().is_some_and(made)).count()
    }

    /// Returns the names of the offered tools.
    pub(crate) fn tool_names(&self) -> Vec<&'a str> {
        self.tools().into_iter().filter_map(|tool| text(self.function(tool), "name")).collect()
    }

    /// Returns the offered tools. In Gemini's protocol these are the function declarations of all tools.
    pub(crate) fn tools(&self) -> Vec<&'a Value> {
        let tools = list(self.body.get("tools"));
        match self.protocol {
            Protocol::Gemini => tools.iter().flat_map(|tool| list(gemini::member(tool, "functionDeclarations"))).collect(),
            _ => tools.iter().collect(),
        }
    }

    /// Returns the object with a tool's `name` and its schema.
    pub(crate) fn function(&self, tool: &'a Value) -> &'a Value {
        match self.protocol {
            Protocol::Chat => tool.get("function").unwrap_or(tool),
            Protocol::Responses | Protocol::Messages | Protocol::Gemini => tool,
        }
    }

    /// Returns the name of the schema that the answer must follow.
    ///
    /// Anthropic and Gemini have no member for the name, so the `title` of the schema is used. For Anthropic, a tool that must be called
    /// counts as a schema, too: this was the way to get structured answers before `output_config.format`.
    pub(crate) fn schema_name(&self) -> Option<&'a str> {
        match self.protocol {
            Protocol::Chat => self.body.pointer("/response_format/json_schema/name").and_then(Value::as_str),
            Protocol::Responses => self.body.pointer("/text/format/name").and_then(Value::as_str),
            Protocol::Messages => {
                let title = messages::format(self.body).and_then(|format| text(format.get("schema")?, "title"));
                title.or_else(|| messages::forced_tool(self.body))
            }
            Protocol::Gemini => gemini::response_schema(self.body).and_then(|schema| text(schema, "title")),
        }
    }

    /// Returns true if the answer is free text, without a schema or JSON mode.
    pub(crate) fn wants_plain_text(&self) -> bool {
        let plain = |pointer: &str| self.body.pointer(pointer).and_then(Value::as_str).unwrap_or("text") == "text";
        match self.protocol {
            Protocol::Chat => plain("/response_format/type"),
            Protocol::Responses => plain("/text/format/type"),
            Protocol::Messages => messages::format(self.body).is_none(),
            Protocol::Gemini => gemini::generation(self.body, "responseMimeType").is_none_or(|kind| kind == "text/plain"),
        }
    }

    pub(crate) fn wants_stream(&self) -> bool {
        match self.protocol {
            Protocol::Gemini => self.path.ends_with(gemini::STREAM),
            _ => self.body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        }
    }

    /// Returns the model, which Gemini's protocol names in the path.
    pub(crate) fn model(&self) -> &'a str {
        match self.protocol {
            Protocol::Gemini => gemini::model(self.path).unwrap_or_default(),
            _ => text(self.body, "model").unwrap_or_default(),
        }
    }

    /// Returns the reasoning effort of the request.
    pub(crate) fn effort(&self) -> Option<&'a str> {
        let pointer = match self.protocol {
            Protocol::Chat => "/reasoning_effort",
            Protocol::Responses => "/reasoning/effort",
            Protocol::Messages => "/output_config/effort",
            Protocol::Gemini => "/generationConfig/thinkingConfig/thinkingLevel",
        };
        self.body.pointer(pointer).and_then(Value::as_str)
    }

    /// Describes the request in one line, for the error of a request without a matching rule.
    pub(crate) fn in_short(&self) -> String {
        let last = self.entries().last();
        let role = last.map_or("no message", |entry| text(entry, "role").or_else(|| text(entry, "type")).unwrap_or("no role"));
        let last_text: String = self.texts().last().map(String::as_str).unwrap_or_default().chars().take(160).collect();
        format!(
            "schema {}, tools [{}], turn {}, stream {}, last message ({role}): {last_text:?}",
            self.schema_name().unwrap_or("none"),
            self.tool_names().join(", "),
            self.turns(),
            self.wants_stream(),
        )
    }
}

/// Returns a member that is a text.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns a list, or an empty one for anything else.
pub(crate) fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn role(entry: &Value) -> &str {
    text(entry, "role").unwrap_or_default()
}

/// Returns the type of an item of the Responses API, which messages may omit.
pub(crate) fn item_type(item: &Value) -> &str {
    text(item, "type").unwrap_or("message")
}

fn made_by_model(item: &Value) -> bool {
    match item_type(item) {
        "reasoning" | "function_call" => true,
        "message" => role(item) == "assistant",
        _ => false,
    }
}

/// Returns the text of a content, which is a text or a list of parts with texts.
pub(crate) fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| text(part, "text")).collect(),
        _ => String::new(),
    }
}

/// Returns the text of a chat message or of an item, including its tool calls.
fn entry_text(entry: &Value) -> String {
    let mut lines = content_text(entry.get("content"));
    lines.push_str(&content_text(entry.get("output")));
    let calls = list(entry.get("tool_calls")).iter().filter_map(|call| call.get("function"));
    for function in calls.chain((item_type(entry) == "function_call").then_some(entry)) {
        for part in ["name", "arguments"].into_iter().filter_map(|key| text(function, key)) {
            push_line(&mut lines, part);
        }
    }
    lines
}

/// Appends a line to the text of an entry.
fn push_line(lines: &mut String, line: &str) {
    lines.push('\n');
    lines.push_str(line);
}
