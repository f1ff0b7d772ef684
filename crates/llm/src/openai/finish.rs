//! Finish reasons in the words of all servers.

use crate::FinishReason;

/// Meaning of a server's finish reason for the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// An answer that ended like this.
    Finished(FinishReason),
    /// The server broke off; the same request may do better.
    BrokenOff,
}

pub(super) fn read(word: Option<&str>, has_calls: bool) -> Ending {
    let word = word.unwrap_or_default().trim();
    let plain: String = word.to_ascii_lowercase().chars().map(|c| if c == '-' || c == ' ' { '_' } else { c }).collect();
    let reason = match plain.as_str() {
        "length" | "max_tokens" | "max_output_tokens" | "model_length" | "model_context_window_exceeded" | "max_length" | "limit" => {
            FinishReason::Length
        }
        "content_filter" | "safety" | "recitation" | "sensitive" | "refusal" | "blocklist" | "prohibited_content" | "spii" => {
            FinishReason::ContentFilter
        }
        "error" | "insufficient_system_resource" | "network_error" | "abort" | "aborted" | "engine_overloaded" => return Ending::BrokenOff,
        "tool_calls" | "tool_call" | "function_call" | "tool_use" | "function" | "tools" if has_calls => FinishReason::ToolCalls,
        // It announced calls and made none: it is done.
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => FinishReason::Stop,
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "complete" | "completed" | "end" | "done" | "finish" | "finished"
            if has_calls =>
        {
            FinishReason::ToolCalls
        }
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "complete" | "completed" | "end" | "done" | "finish" | "finished" => {
            FinishReason::Stop
        }
        _ if has_calls => FinishReason::ToolCalls,
        _ => FinishReason::Other(word.to_owned()),
    };
    Ending::Finished(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_many_servers() {
        use FinishReason::{ContentFilter, Length, Other, Stop, ToolCalls};
        let cases = [
            (Some("stop"), false, Ending::Finished(Stop)),
            (Some("STOP"), false, Ending::Finished(Stop)),
            (Some("eos"), false, Ending::Finished(Stop)),
            (Some("end_turn"), false, Ending::Finished(Stop)),
            (Some("stop"), true, Ending::Finished(ToolCalls)),
            (Some("tool_calls"), true, Ending::Finished(ToolCalls)),
            (Some("tool-calls"), true, Ending::Finished(ToolCalls)),
            (Some("tool_calls"), false, Ending::Finished(Stop)),
            (Some("function_call"), true, Ending::Finished(ToolCalls)),
            (Some("length"), true, Ending::Finished(Length)),
            (Some("MAX_TOKENS"), false, Ending::Finished(Length)),
            (Some("SAFETY"), false, Ending::Finished(ContentFilter)),
            (Some("insufficient_system_resource"), false, Ending::BrokenOff),
            (Some("error"), false, Ending::BrokenOff),
            (Some("time_limit"), false, Ending::Finished(Other("time_limit".into()))),
            (Some("time_limit"), true, Ending::Finished(ToolCalls)),
            (Some(""), false, Ending::Finished(Other(String::new()))),
            (None, true, Ending::Finished(ToolCalls)),
            (None, false, Ending::Finished(Other(String::new()))),
        ];
        for (word, has_calls, expected) in cases {
            assert_eq!(read(word, has_calls), expected, "{word:?} with calls: {has_calls}");
        }
    }
}
