//! One view of a request for both protocols.

use serde_json::Value;

/// The protocol of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// `…/chat/completions`
    Chat,
    /// `…/responses`
    Responses,
}

impl Protocol {
    /// Returns the protocol that a path ends in.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else {
            None
        }
    }
}

/// A request, read the same way whatever its protocol is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) protocol: Protocol,
    /// The path; empty where it is not known.
    pub(crate) path: &'a str,
    pub(crate) body: &'a Value,
}

impl<'a> View<'a> {
    /// Tells the protocol from the body: only the Responses API has `input` and no `messages`.
    pub(crate) fn of_body(body: &'a Value) -> Self {
        let responses = body.get("input").is_some() && body.get("messages").is_none();
        Self { protocol: if responses { Protocol::Responses } else { Protocol::Chat }, path: "", body }
    }

    /// Returns the messages of a chat, or the items of `input`; a plain text as `input` is no list.
    pub(crate) fn entries(&self) -> &'a [Value] {
        let key = match self.protocol {
            Protocol::Chat => "messages",
            Protocol::Responses => "input",
        };
        list(self.body.get(key))
    }

    /// Returns the text of each message or item, calls included, in order. `instructions` come first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        if self.protocol == Protocol::Responses {
            texts.extend(["instructions", "input"].into_iter().filter_map(|key| text(self.body, key)).map(str::to_owned));
        }
        texts.extend(self.entries().iter().map(entry_text));
        texts
    }

    /// Returns the turns of the model: assistant messages, or groups of consecutive items that the model made.
    pub(crate) fn turns(&self) -> usize {
        let made = |entry: &&Value| match self.protocol {
            Protocol::Chat => role(entry) == "assistant",
            Protocol::Responses => made_by_model(entry),
        };
        match self.protocol {
            Protocol::Chat => self.entries().iter().filter(made).count(),
            Protocol::Responses => {
                let groups = self.entries().chunk_by(|one, next| made_by_model(one) == made_by_model(next));
                groups.filter(|group| group.first().as_ref().is_some_and(made)).count()
            }
        }
    }

    /// Returns the names of the offered tools.
    pub(crate) fn tool_names(&self) -> Vec<&'a str> {
        self.tools().iter().filter_map(|tool| text(self.function(tool), "name")).collect()
    }

    pub(crate) fn tools(&self) -> &'a [Value] {
        list(self.body.get("tools"))
    }

    /// Returns the object that holds a tool's `name` and `parameters`.
    pub(crate) fn function(&self, tool: &'a Value) -> &'a Value {
        match self.protocol {
            Protocol::Chat => tool.get("function").unwrap_or(tool),
            Protocol::Responses => tool,
        }
    }

    /// Returns the name of the schema that the answer must follow.
    pub(crate) fn schema_name(&self) -> Option<&'a str> {
        let pointer = match self.protocol {
            Protocol::Chat => "/response_format/json_schema/name",
            Protocol::Responses => "/text/format/name",
        };
        self.body.pointer(pointer).and_then(Value::as_str)
    }

    /// Returns whether the answer is free text, without a schema or JSON mode.
    pub(crate) fn wants_plain_text(&self) -> bool {
        let pointer = match self.protocol {
            Protocol::Chat => "/response_format/type",
            Protocol::Responses => "/text/format/type",
        };
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or("text") == "text"
    }

    pub(crate) fn wants_stream(&self) -> bool {
        self.body.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn model(&self) -> &'a str {
        text(self.body, "model").unwrap_or_default()
    }

    /// Returns the effort of reasoning that the request names.
    pub(crate) fn effort(&self) -> Option<&'a str> {
        let pointer = match self.protocol {
            Protocol::Chat => "/reasoning_effort",
            Protocol::Responses => "/reasoning/effort",
        };
        self.body.pointer(pointer).and_then(Value::as_str)
    }

    /// Describes the request in one line, for the error of a request that no rule fits.
    pub(crate) fn in_short(&self) -> String {
        let last = self.entries().last();
        let role = last.map_or("no message", |entry| text(entry, "role").or_else(|| text(entry, "type")).unwrap_or("no role"));
        let said: String = self.texts().last().map(String::as_str).unwrap_or_default().chars().take(160).collect();
        format!(
            "schema {}, tools [{}], turn {}, stream {}, last message ({role}): {said:?}",
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

/// Returns the type of an item of the Responses API; messages may leave it out.
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

/// Returns the text of a message or an item, its tool calls included.
fn entry_text(entry: &Value) -> String {
    let mut said = content_text(entry.get("content"));
    said.push_str(&content_text(entry.get("output")));
    let calls = list(entry.get("tool_calls")).iter().filter_map(|call| call.get("function"));
    for function in calls.chain((item_type(entry) == "function_call").then_some(entry)) {
        for part in ["name", "arguments"].into_iter().filter_map(|key| text(function, key)) {
            said.push('\n');
            said.push_str(part);
        }
    }
    said
}
