use std::sync::Arc;

use aime_llm::{ChatRequest, Message, ToolCall, ToolDefinition};
use serde_json::json;

use super::{CallStyle, Template};

fn request() -> ChatRequest {
    let say = |message| Arc::new(message);
    ChatRequest {
        messages: vec![
            say(Message::System { content: "Be short.".to_owned() }),
            say(Message::user("Read a.")),
            say(Message::Assistant {
                content: String::new(),
                tool_calls: vec![ToolCall { id: "1".to_owned(), name: "read".to_owned(), arguments: "{\"path\": \"a\"}".to_owned() }],
                native: None,
            }),
            say(Message::tool("1", "read", "<b>")),
        ],
        tools: Arc::from([ToolDefinition {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}).into(),
        }]),
        ..ChatRequest::default()
    }
}

/// Relevant part of Qwen2.5's template.
const QWEN: &str = r#"{%- if tools %}
    {{- '<|im_start|>system\n' + messages[0]['content'] }}
    {{- "\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call><|im_end|>\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\n<tool_call>\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {{- '<|im_start|>user\n<tool_response>\n' + message.content + '\n</tool_response><|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}"#;

const SIGNATURE: &str = r#"{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}"#;

fn prompt(template: &Template) -> String {
    template.render(&request(), ("<s>", "</s>"), str::to_owned).unwrap()
}

#[test]
fn a_template_with_tags_is_kept_and_shown_as_python_would() {
    let template = Template::new(QWEN, false).unwrap();
    assert_eq!(template.style(), CallStyle::Tagged);
    let expected = format!(
        "<|im_start|>system\nBe short.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{SIGNATURE}\n</tools>\n\n\
         For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n\
         {{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n</tool_call><|im_end|>\n<|im_start|>user\nRead a.<|im_end|>\n\
         <|im_start|>assistant\n<tool_call>\n{{\"name\": \"read\", \"arguments\": {{\"path\": \"a\"}}}}\n</tool_call><|im_end|>\n\
         <|im_start|>user\n<tool_response>\n<b>\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    );
    assert_eq!(prompt(&template), expected);
}

#[test]
fn a_coders_template_shows_fences_wherever_it_showed_tags() {
    let template = Template::new(QWEN, true).unwrap();
    assert_eq!(template.style(), CallStyle::Fenced);
    let prompt = prompt(&template);
    assert!(!prompt.contains("tool_call"), "{prompt}");
    assert!(
        prompt.contains(
            "within a ```json code block:\n```json\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n```<|im_end|>"
        ),
        "{prompt}"
    );
    assert!(prompt.contains("assistant\n```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```<|im_end|>"), "{prompt}");
}

#[test]
fn a_template_without_tools_is_told_of_them_in_the_system_message() {
    let plain = "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}";
    let prompt = prompt(&Template::new(plain, false).unwrap());
    assert_eq!(prompt.matches("[system]").count(), 1, "{prompt}");
    assert!(prompt.starts_with("[system] Be short.\n\nYou may call these tools:\n{\"type\":\"function\","), "{prompt}");
    assert!(
        prompt
            .contains("[assistant] \n```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```\n[user] Result of read:\n<b>\n"),
        "{prompt}"
    );
}
