//! Answers of an agent in the form of a model's.

use agent_client_protocol::{
    Error,
    v1::schema::{self, PromptResponse, StopReason, UsageUpdate},
};
use aime_llm::{ChatRequest, ChatResponse, Image, Message, ToolCall, Usage};
use serde_json::{Value, json};

/// Status of the progress report that holds the id of the session. It is how a later process finds the session again. Other reports have the
/// name of the profile, which contains no space, as their status.
const SESSION: &str = "session id";
/// Beginning of the line in the last message in which an agent says that it could not do the task.
const ENDS: [(&str, &str); 2] = [("FAILURE:", "failure"), ("BLOCKED:", "blocked")];
/// Longest message at the end, in characters.
const MAX_CHARS: usize = 16_000;

/// Returns an answer with these calls.
pub(crate) fn calls(name: &str, calls: Vec<ToolCall>) -> ChatResponse {
    ChatResponse::calls(name, calls)
}

/// Returns the cost of a session in dollars; 0 if it is reported in another unit, or not at all.
pub(crate) fn cost_usd(usage: &UsageUpdate) -> f64 {
    usage.cost.as_ref().filter(|cost| cost.currency.eq_ignore_ascii_case("USD")).map_or(0.0, |cost| cost.amount)
}

/// Returns the tokens of a turn.
pub(crate) fn tokens_of(usage: &schema::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_input_tokens: usage.cached_read_tokens.unwrap_or_default(),
        cache_write_tokens: usage.cached_write_tokens.unwrap_or_default(),
        reasoning_tokens: usage.thought_tokens.unwrap_or_default(),
    }
}

/// Returns the parameters of the progress report on a new session.
pub(crate) fn session_report(id: &str) -> Value {
    json!({"status": SESSION, "message": id})
}

/// Returns the id of the last session in the conversation, and the number of sessions.
pub(crate) fn session_of(request: &ChatRequest) -> (Option<String>, u32) {
    let mut found = (None, 0);
    for message in &request.messages {
        let Message::Assistant { tool_calls, .. } = message.as_ref() else { continue };
        for call in tool_calls.iter().filter(|call| call.name == "update_progress") {
            let report: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
            let member = |name: &str| report.get(name).and_then(Value::as_str);
            if member("status") == Some(SESSION) {
                found = (member("message").map(str::to_owned), found.1 + 1);
            }
        }
    }
    found
}

/// Returns the parameters of `terminate` for the end of a turn.
pub(crate) fn conclusion(name: &str, ended: &Result<PromptResponse, Error>, text: &str) -> Value {
    let text: String = text.trim().chars().take(MAX_CHARS).collect();
    let failed = |why: &str| {
        let message = if text.is_empty() { format!("{name} {why}") } else { format!("{name} {why}. Its last words: {text}") };
        json!({"status": "failure", "message": message})
    };
    match ended {
        Err(error) => failed(&format!("failed: {error}")),
        Ok(ended) => match ended.stop_reason {
            StopReason::EndTurn => {
                let end = ENDS.iter().find_map(|(mark, status)| Some((*status, after_mark(&text, mark)?.trim())));
                match end {
                    Some(("blocked", why)) => json!({"status": "blocked", "message": why, "needs": why}),
                    Some((status, why)) => json!({"status": status, "message": why}),
                    None if text.is_empty() => json!({"status": "success", "message": format!("{name} has ended its turn without a word")}),
                    None => json!({"status": "success", "message": text}),
                }
            }
            StopReason::MaxTokens => failed("reached its limit of tokens"),
            StopReason::MaxTurnRequests => failed("reached its limit of requests"),
            StopReason::Refusal => failed("refuses the task"),
            StopReason::Cancelled => failed("was cancelled"),
            _ => failed("stopped for an unknown reason"),
        },
    }
}

/// Returns the text after a mark at the beginning of a line. A mark elsewhere is only mentioned.
fn after_mark<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.strip_prefix(mark).or_else(|| Some(text.split_once(&format!("\n{mark}"))?.1))
}

/// Returns the first prompt: the instructions and the task, as an actor gets them.
pub(crate) fn first_prompt<M: AsRef<Message>>(messages: &[M]) -> String {
    let first = messages.iter().map(AsRef::as_ref).take_while(|message| !matches!(message, Message::Assistant { .. }));
    let texts = first.filter_map(|message| match message {
        Message::System { content } | Message::User { content, .. } => Some(content.trim()),
        _ => None,
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Returns the images of the first prompt.
pub(crate) fn first_images<M: AsRef<Message>>(messages: &[M]) -> Vec<Image> {
    let first = messages.iter().map(AsRef::as_ref).take_while(|message| !matches!(message, Message::Assistant { .. }));
    first.filter_map(|message| if let Message::User { images, .. } = message { Some(images.clone()) } else { None }).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_end_of_a_turn_ends_the_actor() {
        let check = |stop: StopReason, text: &str, expect: Value| {
            assert_eq!(conclusion("x", &Ok(PromptResponse::new(stop)), text), expect);
        };
        check(StopReason::EndTurn, " done \n", json!({"status": "success", "message": "done"}));
        check(StopReason::EndTurn, "", json!({"status": "success", "message": "x has ended its turn without a word"}));
        check(StopReason::EndTurn, "I looked.\nFAILURE: no compiler", json!({"status": "failure", "message": "no compiler"}));
        check(StopReason::EndTurn, "BLOCKED: a key", json!({"status": "blocked", "message": "a key", "needs": "a key"}));
        let mention = "Done. It now prints `FAILURE: no disk` if the disk is missing.";
        check(StopReason::EndTurn, mention, json!({"status": "success", "message": mention}));
        check(StopReason::Refusal, "no", json!({"status": "failure", "message": "x refuses the task. Its last words: no"}));
        check(StopReason::MaxTokens, "", json!({"status": "failure", "message": "x reached its limit of tokens"}));
    }

    #[test]
    fn a_session_is_found_in_the_conversation() {
        let report = |id: &str| Message::Assistant {
            content: String::new(),
            tool_calls: vec![ToolCall { id: id.to_owned(), name: "update_progress".to_owned(), arguments: session_report(id).to_string() }],
            native: None,
        };
        let of = |messages: Vec<Message>| {
            let messages = messages.into_iter().map(Arc::new).collect();
            session_of(&ChatRequest { messages, ..ChatRequest::default() })
        };
        assert_eq!(of(vec![Message::user("do")]), (None, 0));
        assert_eq!(of(vec![Message::user("do"), report("one"), report("two")]), (Some("two".to_owned()), 2));
        let progress = json!({"status": "session", "message": "of a profile with this name"}).to_string();
        let call = ToolCall { id: "p".to_owned(), name: "update_progress".to_owned(), arguments: progress };
        let progress = Message::Assistant { content: String::new(), tool_calls: vec![call], native: None };
        assert_eq!(of(vec![Message::user("do"), report("one"), progress]), (Some("one".to_owned()), 1));
        assert_eq!(
            first_prompt(&[Message::System { content: "be brief".to_owned() }, Message::user("do"), report("one")].map(Arc::new)),
            "be brief\n\ndo"
        );
    }
}
