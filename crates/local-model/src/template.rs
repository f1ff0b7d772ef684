//! Chat template of a model file: renders messages and tools as a prompt.

mod json;

use aime_llm::{ChatRequest, Image, Message, ToolChoice, ToolDefinition};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind, Value, context};
use serde_json::json;

use crate::LocalModelError;
use crate::gguf::Header;

/// Form of a model's tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStyle {
    /// Between `<tool_call>` and `</tool_call>`.
    Tagged,
    /// In a fenced block.
    Fenced,
}

impl CallStyle {
    pub(crate) fn around(self) -> (&'static str, &'static str) {
        match self {
            Self::Tagged => ("<tool_call>\n", "\n</tool_call>"),
            Self::Fenced => ("```json\n", "\n```"),
        }
    }
}

/// Chat template.
#[derive(Debug)]
pub(crate) struct Template {
    environment: Environment<'static>,
    style: CallStyle,
    /// True if it renders tools by itself.
    knows_tools: bool,
}

const NAME: &str = "chat";

impl Template {
    /// Reads the template of a file.
    pub(crate) fn read(header: &Header) -> Result<Self, LocalModelError> {
        let text = header
            .text("tokenizer.chat_template")
            .ok_or_else(|| header.unsupported("it has no chat template", "use a file of an instruct or chat model"))?;
        let name = header.text("general.name").unwrap_or("").to_lowercase();
        let file = header.file().file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        Self::new(text, name.contains("coder") || file.contains("coder"))
            .map_err(|error| header.unsupported(format!("its chat template cannot be read: {error}"), "use another file of this model"))
    }

    /// Parses a template. The template of Qwen2.5-Coder models shows calls between tags, but the models write them in fences. So the
    /// template is changed to show fences.
    pub(crate) fn new(text: &str, coder: bool) -> Result<Self, Error> {
        let text = if coder { with_fences(text) } else { text.to_owned() };
        let style = if text.contains("<tool_call>") { CallStyle::Tagged } else { CallStyle::Fenced };
        let knows_tools = text.contains("tools");
        let mut environment = Environment::new();
        environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", |value: Value, _options: Kwargs| json::in_python_style(&value));
        environment.add_function("raise_exception", |message: String| -> Result<String, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        // A date in the prompt would invalidate the cached prefixes every day.
        environment.add_function("strftime_now", |_: String| String::new());
        environment.add_template_owned(NAME, text)?;
        Ok(Self { environment, style, knows_tools })
    }

    pub(crate) fn style(&self) -> CallStyle {
        self.style
    }

    /// Renders the prompt of a request. `clean` is applied to every text that is not the template's own.
    pub(crate) fn render(
        &self,
        request: &ChatRequest,
        begin_and_end: (&str, &str),
        clean: impl Fn(&str) -> String,
    ) -> Result<String, Error> {
        let tools: &[ToolDefinition] = if request.tool_choice == ToolChoice::None { &[] } else { &request.tools };
        let messages = self.messages(request, tools, clean);
        let tools: Vec<_> = if self.knows_tools { tools.iter().map(described).collect() } else { Vec::new() };
        self.fill(&messages, &tools, begin_and_end).or_else(|first| {
            // Some templates refuse a system message, or two consecutive messages of one role.
            self.fill(&joined(&messages), &tools, begin_and_end).map_err(|_| first)
        })
    }

    fn fill(&self, messages: &[serde_json::Value], tools: &[serde_json::Value], (begin, end): (&str, &str)) -> Result<String, Error> {
        self.environment.get_template(NAME)?.render(context! {
            messages => Value::from(Serde(messages)),
            tools => if tools.is_empty() { Value::from(()) } else { Value::from(Serde(tools)) },
            add_generation_prompt => true,
            enable_thinking => false,
            bos_token => begin,
            eos_token => end,
        })
    }

    fn messages(&self, request: &ChatRequest, tools: &[ToolDefinition], clean: impl Fn(&str) -> String) -> Vec<serde_json::Value> {
        let mut messages: Vec<serde_json::Value> = request
            .messages
            .iter()
            .map(|message| match &**message {
                Message::System { content } => json!({"role": "system", "content": clean(content)}),
                Message::User { content, images } => json!({"role": "user", "content": in_words(clean(content), images)}),
                Message::Assistant { content, tool_calls, .. } if self.knows_tools && !tool_calls.is_empty() => {
                    let calls: Vec<_> = tool_calls
                        .iter()
                        .map(|call| {
                            let text = clean(&call.arguments);
                            let arguments = serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text));
                            json!({"type": "function", "id": call.id, "function": {"name": call.name, "arguments": arguments}})
                        })
                        .collect();
                    json!({"role": "assistant", "content": clean(content), "tool_calls": calls})
                }
                Message::Assistant { content, tool_calls, .. } => {
                    let (before, after) = self.style.around();
                    let calls = tool_calls
                        .iter()
                        .map(|call| format!("\n{before}{{\"name\": \"{}\", \"arguments\": {}}}{after}", call.name, clean(&call.arguments)));
                    json!({"role": "assistant", "content": clean(content) + &calls.collect::<String>()})
                }
                Message::Tool { name, content, call_id, images, .. } if self.knows_tools => {
                    json!({"role": "tool", "name": name, "tool_call_id": call_id, "content": in_words(clean(content), images)})
                }
                Message::Tool { name, content, images, .. } => {
                    let content = format!("Result of {name}:\n{}", in_words(clean(content), images));
                    json!({"role": "user", "content": content})
                }
            })
            .collect();
        if !self.knows_tools && !tools.is_empty() {
            let (before, after) = self.style.around();
            let list: String = tools.iter().map(|tool| format!("{}\n", described(tool))).collect();
            let text = format!(
                "You may call these tools:\n{list}To call one, write\n{before}{{\"name\": <tool's name>, \"arguments\": <object>}}{after}"
            );
            messages.insert(0, json!({"role": "system", "content": text}));
            return joined_systems(messages);
        }
        messages
    }
}

fn described(tool: &ToolDefinition) -> serde_json::Value {
    json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}})
}

/// Shows calls in fences instead of tags, for `<|im_start|>` templates of Qwen2.5.
fn with_fences(template: &str) -> String {
    template
        .replace(r"within <tool_call></tool_call> XML tags:\n<tool_call>\n", r"within a ```json code block:\n```json\n")
        .replace(r"<args-json-object>}}\n</tool_call>", r"<args-json-object>}\n```")
        .replace(r"<args-json-object>}\n</tool_call>", r"<args-json-object>}\n```")
        .replace(r#"{{\"name\": <function-name>"#, r#"{\"name\": <function-name>"#)
        .replace(r#"'\n<tool_call>\n{"name": "'"#, r#"'\n```json\n{"name": "'"#)
        .replace(r"'}\n</tool_call>'", r"'}\n```'")
}

fn text_of<'a>(message: &'a serde_json::Value, key: &str) -> &'a str {
    message.get(key).and_then(serde_json::Value::as_str).unwrap_or("")
}

/// Joins the first two system messages.
fn joined_systems(mut messages: Vec<serde_json::Value>) -> Vec<serde_json::Value> {
    if let [first, second, ..] = messages.as_slice()
        && text_of(first, "role") == "system"
        && text_of(second, "role") == "system"
    {
        let both = json!({"role": "system", "content": format!("{}\n\n{}", text_of(second, "content"), text_of(first, "content"))});
        messages.splice(0..2, [both]);
    }
    messages
}

/// Makes user and assistant messages alternate: consecutive messages of one role are joined, and a system message becomes part of the
/// user's.
fn joined(messages: &[serde_json::Value]) -> Vec<serde_json::Value> {
    let mut turns: Vec<(bool, String)> = Vec::new();
    for message in messages {
        let assistant = text_of(message, "role") == "assistant";
        match turns.last_mut() {
            Some((last, text)) if *last == assistant => {
                text.push_str("\n\n");
                text.push_str(text_of(message, "content"));
            }
            _ => turns.push((assistant, text_of(message, "content").to_owned())),
        }
    }
    turns
        .into_iter()
        .map(|(assistant, content)| json!({"role": if assistant { "assistant" } else { "user" }, "content": content}))
        .collect()
}

/// Adds a line for each image, since the model cannot see them.
fn in_words(content: String, images: &[Image]) -> String {
    images.iter().fold(content, |content, image| format!("{content}\n{}", image.omission_note()))
}

#[cfg(test)]
mod tests;
