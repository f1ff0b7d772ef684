//! Tests of tool calls that are required, or begun by the model itself.

use std::sync::Arc;

use aime_llm::{ChatRequest, FinishReason, ToolChoice, ToolDefinition, check_schema};
use serde_json::{Value, json};

use super::tiny::{END, TEMPLATE, Tiny, WORDS, ask, asking, chained, folder};

fn tool(name: &str, parameters: Value) -> ToolDefinition {
    ToolDefinition { name: name.to_owned(), description: "A tool.".to_owned(), parameters: parameters.into() }
}

fn tools() -> Arc<[ToolDefinition]> {
    Arc::from([
        tool(
            "read",
            json!({"type": "object", "properties": {"path": {"$ref": "#/$defs/path"}}, "required": ["path"], "additionalProperties": false,
            "$defs": {"path": {"type": "string", "maxLength": 4}}}),
        ),
        tool("stop", json!({"type": "object", "properties": {}, "additionalProperties": false})),
    ])
}

#[tokio::test]
async fn a_required_call_fits_its_tool_even_with_random_weights() {
    let folder = folder();
    for template in [TEMPLATE.to_owned(), "{% for message in messages %}{{ message.content }}{% endfor %}\n".to_owned()] {
        let model = Tiny { template: Some(template), ..Tiny::default() }.open(&folder);
        for seed in 0..6 {
            let request = ChatRequest {
                tools: tools(),
                tool_choice: ToolChoice::Required,
                temperature: Some(2.0),
                seed: Some(seed),
                max_output_tokens: Some(600),
                ..asking("Go.")
            };
            let answer = ask(&model, &request).await.unwrap();
            assert_eq!(answer.finish, FinishReason::ToolCalls, "{answer:?}");
            assert!(answer.content.is_empty() && !answer.tool_calls.is_empty(), "{answer:?}");
            for call in &answer.tool_calls {
                let tool = request.tools.iter().find(|tool| tool.name == call.name).unwrap();
                check_schema(&tool.parameters, &serde_json::from_str(&call.arguments).unwrap()).unwrap();
            }
        }
    }
}

/// The model writes some text, begins a call, and would name a tool that does not exist.
#[tokio::test]
async fn a_call_that_the_model_begins_is_held_to_the_tools_offered() {
    let folder = folder();
    let newline = u32::from(b'\n');
    let chains: [&[&'static str]; 3] = [
        &["Look.\n", "<tool_call>\n", "{\"na", "me\"", ": \"nope"],
        // The token that reveals the call already goes too far and is removed.
        &["Look.\n", "<tool_call>\n", "{ ", "\"name\": \"nope\"", ", \"arguments\""],
        &["Look.\n", "```json\n{", "\"name\"", ": ", "\"nope"],
    ];
    for words in chains {
        let mut chain = vec![(newline, WORDS)];
        chain.extend((0..words.len() as u32 - 1).map(|number| (WORDS + number, WORDS + number + 1)));
        let fenced = words[1].starts_with('`');
        let template = if fenced { TEMPLATE.replace("<tool_call>", "fences") } else { TEMPLATE.to_owned() };
        let model = aime_model(chained(words, &chain), template, &folder);
        let request = ChatRequest { tools: Arc::from([tools()[1].clone()]), max_output_tokens: Some(800), ..asking("Go.") };
        let answer = ask(&model, &request).await.unwrap();
        assert_eq!(answer.content, "Look.", "{answer:?}");
        assert!(
            !answer.tool_calls.is_empty() && answer.tool_calls.iter().all(|call| call.name == "stop" && call.arguments == "{}"),
            "{answer:?}"
        );
        assert_eq!(answer.tool_calls[0].id, "call_1_0");

        let without = ChatRequest { tool_choice: ToolChoice::None, ..request };
        let answer = ask(&model, &without).await.unwrap();
        assert!(answer.tool_calls.is_empty() && answer.content.contains("nope"), "{answer:?}");
    }
}

fn aime_model(tiny: Tiny, template: String, folder: &tempfile::TempDir) -> aime_local_model::LocalModel {
    Tiny { template: Some(template), ..tiny }.open(folder)
}

#[tokio::test]
async fn text_beside_tools_stays_text() {
    let folder = folder();
    let words = ["No ", "`call` ", "here < there."];
    let chain = [(u32::from(b'\n'), WORDS), (WORDS, WORDS + 1), (WORDS + 1, WORDS + 2), (WORDS + 2, END)];
    let model = chained(&words, &chain).open(&folder);
    let answer = ask(&model, &ChatRequest { tools: tools(), ..asking("Go.") }).await.unwrap();
    assert_eq!((answer.content.as_str(), answer.finish), ("No `call` here < there.", FinishReason::Stop));
}
