//! Streams, in every form that a server was seen to send.

use aime_scripted_server::{Odd, Reply};
use serde_json::{Value, json};

use super::{ask, client, line, parts, serve};
use crate::{ChatModel, ChatRequest, Message, Prices, StreamPart, ToolCall};

fn delta(delta: Value) -> Value {
    json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "srv", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn end(reason: &str) -> Value {
    json!({"model": "srv", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn usage() -> Value {
    json!({"model": "srv", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + "data: [DONE]\n\n"
}

fn calls(chunks: &[Value]) -> String {
    let chunks = chunks.iter().map(|chunk| delta(json!({"tool_calls": [chunk]})));
    events(&chunks.chain([end("tool_calls"), usage()]).collect::<Vec<_>>())
}

const HI: &str = r#""hi" stop 3+0/2 by srv"#;
const TWO: &str = r#""" a=ls({"p":1}) b=cat({"q":2}) toolcalls 3+0/2 by srv"#;

fn table() -> Vec<(&'static str, String, &'static str)> {
    let (h, i) = (delta(json!({"content": "h"})), delta(json!({"content": "i"})));
    let usual = [delta(json!({"role": "assistant", "content": ""})), h.clone(), i.clone(), end("stop"), usage()];
    vec![
        ("as OpenAI says", events(&usual), HI),
        ("carriage returns", events(&usual).replace('\n', "\r\n"), HI),
        ("no space after data", events(&usual).replace("data: ", "data:"), HI),
        ("comments between", format!(": hello\n\n{}", events(&usual).replace("\n\n", "\n\n: ping\n\n")), HI),
        ("named events", events(&usual).replace("data: ", "event: message\ndata: "), HI),
        ("a ping event", format!("event: ping\ndata: {{\"type\": \"ping\"}}\n\n{}", events(&usual)), HI),
        ("empty data", format!("data:\n\n{}", events(&usual)), HI),
        ("no mark of the end", events(&usual).replace("data: [DONE]\n\n", ""), HI),
        ("a space after the mark", events(&usual).replace("[DONE]", "[DONE] "), HI),
        ("no finish reason, but the mark", events(&[h.clone(), i.clone(), usage()]), r#""hi" other "" 3+0/2 by srv"#),
        ("no usage", events(&[h.clone(), i.clone(), end("stop")]), r#""hi" stop estimated by srv"#),
        (
            "usage without choices",
            events(&[h.clone(), i.clone(), end("stop"), json!({"usage": {"prompt_tokens": 3, "completion_tokens": 2}})]),
            HI,
        ),
        (
            "usage null before the end",
            events(&[json!({"model": "srv", "choices": [{"delta": {"content": "hi"}}], "usage": null}), end("stop"), usage()]),
            HI,
        ),
        (
            "usage that grows",
            events(&[
                json!({"model": "srv", "choices": [{"delta": {"content": "hi"}}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
                end("stop"),
                usage(),
            ]),
            HI,
        ),
        (
            "usage in the choice",
            events(&[
                h.clone(),
                i.clone(),
                json!({"model": "srv", "choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}]}),
            ]),
            HI,
        ),
        (
            "usage of Groq",
            events(&[
                h.clone(),
                i.clone(),
                json!({"model": "srv", "choices": [{"delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}}),
            ]),
            HI,
        ),
        ("role empty", events(&[delta(json!({"role": "", "content": "hi"})), end("stop"), usage()]), HI),
        (
            "content null at the start",
            events(&[delta(json!({"role": "assistant", "content": null})), h.clone(), i.clone(), end("stop"), usage()]),
            HI,
        ),
        ("content parts", events(&[delta(json!({"content": [{"type": "text", "text": "hi"}]})), end("stop"), usage()]), HI),
        (
            "no delta at the end",
            events(&[h.clone(), i.clone(), json!({"model": "srv", "choices": [{"finish_reason": "stop"}]}), usage()]),
            HI,
        ),
        (
            "delta null at the end",
            events(&[h.clone(), i.clone(), json!({"model": "srv", "choices": [{"delta": null, "finish_reason": "stop"}]}), usage()]),
            HI,
        ),
        (
            "the message repeated at the end",
            events(&[
                h.clone(),
                i.clone(),
                json!({"model": "srv", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}),
                usage(),
            ]),
            HI,
        ),
        (
            "messages instead of deltas",
            events(&[json!({"model": "srv", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}), usage()]),
            HI,
        ),
        (
            "the end with the last text",
            events(&[h.clone(), json!({"model": "srv", "choices": [{"delta": {"content": "i"}, "finish_reason": "stop"}]}), usage()]),
            HI,
        ),
        ("text instead of deltas", events(&[json!({"model": "srv", "choices": [{"text": "hi", "finish_reason": "stop"}]}), usage()]), HI),
        ("an empty event", events(&[json!({}), json!({"choices": []}), h, i, end("stop"), usage()]), HI),
        (
            "reasoning",
            events(&[
                delta(json!({"reasoning_content": "h"})),
                delta(json!({"reasoning": "m"})),
                delta(json!({"content": "hi"})),
                end("stop"),
                usage(),
            ]),
            r#""hi" thinks "hm" stop 3+0/2 by srv"#,
        ),
        (
            "calls as OpenAI says",
            calls(&[
                json!({"index": 0, "id": "a", "type": "function", "function": {"name": "ls", "arguments": ""}}),
                json!({"index": 0, "function": {"arguments": "{\"p\""}}),
                json!({"index": 0, "function": {"arguments": ":1}"}}),
                json!({"index": 1, "id": "b", "type": "function", "function": {"name": "cat", "arguments": "{\"q\":2}"}}),
            ]),
            TWO,
        ),
        (
            "calls interleaved",
            calls(&[
                json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"p\""}}),
                json!({"index": 1, "id": "b", "function": {"name": "cat", "arguments": "{\"q\""}}),
                json!({"index": 0, "function": {"arguments": ":1}"}}),
                json!({"index": 1, "function": {"arguments": ":2}"}}),
            ]),
            TWO,
        ),
        (
            "calls without index",
            calls(&[
                json!({"id": "a", "function": {"name": "ls", "arguments": "{\"p\""}}),
                json!({"function": {"arguments": ":1}"}}),
                json!({"id": "b", "function": {"name": "cat", "arguments": "{\"q\":2}"}}),
            ]),
            TWO,
        ),
        (
            "all calls with index 0",
            calls(&[
                json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"p\":1}"}}),
                json!({"index": 0, "id": "b", "function": {"name": "cat", "arguments": "{\"q\":2}"}}),
            ]),
            TWO,
        ),
        (
            "id and name in every chunk",
            calls(&[
                json!({"index": 0, "id": "a", "type": "function", "function": {"name": "ls", "arguments": "{\"p\""}}),
                json!({"index": 0, "id": "a", "type": "function", "function": {"name": "ls", "arguments": ":1}"}}),
                json!({"index": 1, "id": "b", "type": "function", "function": {"name": "cat", "arguments": "{\"q\":2}"}}),
            ]),
            TWO,
        ),
        (
            "id and name empty in later chunks",
            calls(&[
                json!({"index": 0, "id": "a", "type": "function", "function": {"name": "ls", "arguments": "{\"p\""}}),
                json!({"index": 0, "id": "", "type": "", "function": {"name": "", "arguments": ":1}"}}),
                json!({"index": 1, "id": "b", "function": {"name": "cat", "arguments": "{\"q\":2}"}}),
            ]),
            TWO,
        ),
        (
            "id null and name null in later chunks",
            calls(&[
                json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"p\""}}),
                json!({"index": 0, "id": null, "function": {"name": null, "arguments": ":1}"}}),
                json!({"index": 1, "id": "b", "function": {"name": "cat", "arguments": "{\"q\":2}"}}),
            ]),
            TWO,
        ),
        (
            "neither index nor id, whole calls",
            calls(&[json!({"function": {"name": "ls", "arguments": "{}"}}), json!({"function": {"name": "ls", "arguments": "{\"q\":2}"}})]),
            r#""" call_0=ls({}) call_1=ls({"q":2}) toolcalls 3+0/2 by srv"#,
        ),
        (
            "arguments an object",
            calls(&[json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": {"p": 1}}})]),
            r#""" a=ls({"p":1}) toolcalls 3+0/2 by srv"#,
        ),
        (
            "the index a text",
            calls(&[
                json!({"index": "0", "id": "a", "function": {"name": "ls", "arguments": "{\"p\":1}"}}),
                json!({"index": "1", "id": "b", "function": {"name": "cat", "arguments": "{\"q\":2}"}}),
            ]),
            TWO,
        ),
        (
            "indices from 1",
            calls(&[
                json!({"index": 1, "id": "a", "function": {"name": "ls", "arguments": "{\"p\":1}"}}),
                json!({"index": 2, "id": "b", "function": {"name": "cat", "arguments": "{\"q\":2}"}}),
            ]),
            TWO,
        ),
        // What cannot be read, or is not whole, is said.
        (
            "an error on the way",
            events(&[delta(json!({"content": "h"})), json!({"error": {"message": "no GPU left", "code": 500}})]),
            "error: the server of m failed (500): no GPU left",
        ),
        (
            "an error at once",
            events(&[json!({"error": {"message": "slow down", "type": "rate_limit_error"}})]),
            "error: m refuses more requests for now: slow down",
        ),
        (
            "ended too early",
            events(&[delta(json!({"content": "h"}))]).replace("data: [DONE]\n\n", ""),
            "error: the answer of m was cut off",
        ),
        ("nothing but the mark", "data: [DONE]\n\n".to_owned(), "error: cannot read the answer of m: the answer holds no choices"),
        (
            "broken off by DeepSeek",
            events(&[delta(json!({"content": "h"})), end("insufficient_system_resource")]),
            "error: the answer of m was cut off",
        ),
    ]
}

#[tokio::test]
async fn every_form_is_read() {
    let table = table();
    // The second time split in the middle of everything.
    for piece in [usize::MAX, 7] {
        let server = serve(table.iter().map(|(_, body, _)| Reply::raw(body.as_str()).in_pieces_of(piece))).await;
        let model = client(&server, |settings| settings.retry.max_retries = 0);
        for (name, _, expected) in &table {
            assert_eq!(line(&model.complete(ask("hello")).await), *expected, "{name} in pieces of {piece}");
        }
    }
}

#[tokio::test]
async fn broken_json_is_named() {
    let server = serve([Reply::raw("data: {\"choices\": [\n\ndata: [DONE]\n\n")]).await;
    let said = line(&client(&server, |settings| settings.retry.max_retries = 0).complete(ask("hello")).await);
    assert!(said.contains("an event is no JSON"), "{said}");
}

#[tokio::test]
async fn parts_come_as_they_arrive() {
    let reply = Reply::call("bash", json!({"command": "ls"})).with_reasoning("think").with_text("I look around first.").usage(1_000_000, 0);
    let server = serve([reply]).await;
    let model = client(&server, |settings| settings.prices = Some(Prices { input: 2.5, cached_input: None, output: 10.0 }));
    let parts: Vec<StreamPart> = parts(&model, ask("hello")).await.into_iter().map(Result::unwrap).collect();
    let text: String = parts.iter().filter_map(|part| if let StreamPart::Text(text) = part { Some(text.as_str()) } else { None }).collect();
    assert_eq!(text, "I look around first.");
    assert!(parts.iter().filter(|part| matches!(part, StreamPart::Text(_))).count() > 1, "{parts:?}");
    assert!(parts.contains(&StreamPart::Reasoning("think".to_owned())));
    assert!(parts.contains(&StreamPart::ToolCallBegun { name: "bash".to_owned() }));
    let Some(StreamPart::Done(answer)) = parts.last() else { panic!("{parts:?}") };
    assert_eq!(answer.content, text);
    assert_eq!(answer.reasoning, "think");
    assert_eq!(answer.tool_calls[0].arguments, r#"{"command":"ls"}"#);
    assert!((answer.cost_usd - 2.5).abs() < 1e-9);
    assert_eq!(parts.iter().filter(|part| matches!(part, StreamPart::Done(_))).count(), 1);
}

#[tokio::test]
async fn the_odd_ways_of_the_scripted_server() {
    let odd = [
        Odd::ObjectArguments,
        Odd::NullContent,
        Odd::ContentParts,
        Odd::NoIds,
        Odd::ExtraFields,
        Odd::NoUsage,
        Odd::NoFinish,
        Odd::NoDone,
        Odd::NoIndex,
        Odd::IgnoreStream,
    ];
    let replies = odd.map(|odd| Reply::tool_calls([("ls", json!({"p": 1})), ("cat", json!({"q": 2}))]).odd(odd));
    for streaming in [true, false] {
        let server = serve(replies.clone()).await;
        let model = client(&server, |settings| settings.streaming = streaming);
        for odd in odd {
            let answer = model.complete(ask("hello")).await.unwrap();
            let calls: Vec<_> = answer.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect();
            assert_eq!(calls, [r#"ls({"p":1})"#, r#"cat({"q":2})"#], "{odd:?}");
            assert_ne!(answer.tool_calls[0].id, answer.tool_calls[1].id, "{odd:?}");
            assert_eq!(answer.usage_estimated, odd == Odd::NoUsage, "{odd:?}");
        }
    }
}

#[tokio::test]
async fn made_up_ids_are_new_in_the_conversation() {
    let server = serve([Reply::tool_calls([("ls", json!({})), ("ls", json!({}))]).no_ids()]).await;
    let call = |id: &str| ToolCall { id: id.to_owned(), name: "ls".to_owned(), arguments: "{}".to_owned() };
    let messages = [
        Message::User { content: "go".to_owned() },
        Message::Assistant { content: String::new(), tool_calls: vec![call("call_4")] },
        Message::Tool { call_id: "call_4".to_owned(), name: "ls".to_owned(), content: "a".to_owned() },
    ];
    let request = ChatRequest { messages: messages.map(std::sync::Arc::new).to_vec(), ..ChatRequest::default() };
    let answer = client(&server, |_| {}).complete(request).await.unwrap();
    let ids: Vec<_> = answer.tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_5", "call_6"]);
}

#[tokio::test]
async fn a_call_cut_by_the_bound_is_known_by_its_finish() {
    // The server says "tool_calls" although the bound cut the arguments.
    let cut = Reply::call("write_file", json!("{\"path\": \"a\", \"content\": \"hal")).finish("tool_calls").usage(10, 16);
    let server = serve([cut]).await;
    let request = ChatRequest { max_output_tokens: Some(16), ..ask("write") };
    let answer = client(&server, |_| {}).complete(request).await.unwrap();
    assert_eq!(answer.finish, crate::FinishReason::Length);
    assert_eq!(answer.tool_calls.len(), 1);
}
