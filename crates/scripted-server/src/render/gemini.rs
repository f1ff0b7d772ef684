//! Gemini's generateContent: one document, or the chunks of a stream.
//!
//! Source: <https://ai.google.dev/api/generate-content>; thought signatures:
//! <https://ai.google.dev/gemini-api/docs/thought-signatures>.

use serde_json::{Map, Value, json};

use super::{Answer, Call, pieces_of};
use crate::errors;
use crate::memory::{SentState, turn_key};
use crate::model::is_gemini_3;
use crate::reply::ServerQuirk;
use crate::view::gemini::thinking;

/// Renders an answer as a document, as events, or as a list of chunks.
pub(super) fn pieces(answer: &Answer<'_>, stream: bool, events: bool) -> (Vec<Vec<u8>>, SentState) {
    let calls = answer.calls();
    let pieces = match (stream, events) {
        (true, true) => answer.gemini_chunks(&calls).iter().map(|chunk| format!("data: {chunk}\r\n\r\n").into_bytes()).collect(),
        (true, false) => vec![json!(answer.gemini_chunks(&calls)).to_string().into_bytes()],
        (false, _) => vec![answer.gemini_document(&calls).to_string().into_bytes()],
    };
    let state = answer.turn_signature().map_or(Value::Null, Value::String);
    let first = calls.first().and_then(|call| call.id.as_deref());
    (pieces, SentState::turn(turn_key(first, &answer.text()).or_else(|| unnamed(&calls)), state))
}

/// Returns a unique key for a turn whose calls have no ids. No request contains it, so only the turn's signature is known.
fn unnamed(calls: &[Call]) -> Option<String> {
    calls.first().map(|call| format!("unnamed {} {}", call.name, call.arguments))
}

impl Answer<'_> {
    /// Returns the signature of the turn. Gemini 3 signs every turn, earlier models sign those with thoughts and calls.
    fn turn_signature(&self) -> Option<String> {
        let earlier = self.reply.reasoning.is_some() && !self.reply.tool_calls.is_empty();
        let signs = is_gemini_3(self.request.model()) || earlier;
        (signs && !self.is_empty()).then(|| self.opaque("CiQB", "thought", 60) + "==")
    }

    /// Returns true if the answer has no parts: the prompt was blocked, or the call could not be read.
    fn is_empty(&self) -> bool {
        self.reply.refusal.is_some() || self.is_malformed()
    }

    /// Returns true if the arguments of a call are not JSON. Gemini's format cannot represent such a call, so the real server reports an
    /// error.
    fn is_malformed(&self) -> bool {
        self.reply.finish.as_deref() == Some("MALFORMED_FUNCTION_CALL") || self.broken_arguments().is_some()
    }

    fn broken_arguments(&self) -> Option<&str> {
        let mut texts = self.reply.tool_calls.iter().filter_map(|call| call.arguments.as_str());
        texts.find(|text| !serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()))
    }

    fn thought_parts(&self) -> Vec<Value> {
        let asked = thinking(self.request.body, "includeThoughts") == Some(&Value::Bool(true));
        let thoughts = self.reply.reasoning.as_deref().filter(|_| asked).map(pieces_of).unwrap_or_default();
        thoughts.into_iter().map(|piece| json!({"text": piece, "thought": true})).collect()
    }

    fn call_parts(&self, calls: &[Call]) -> Vec<Value> {
        let part = |(index, call): (usize, &Call)| {
            let args = call.arguments.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            let mut members = Map::new();
            // Earlier models give no ids, unless the script does.
            let scripted = self.reply.tool_calls.get(index).is_some_and(|call| call.id.is_some());
            if let Some(id) = call.id.as_ref().filter(|_| scripted || is_gemini_3(self.request.model())) {
                members.insert("id".into(), json!(id));
            }
            members.insert("name".into(), json!(call.name));
            members.insert("args".into(), args.unwrap_or_else(|| call.arguments.clone()));
            self.decorate(&mut members);
            let mut part = json!({"functionCall": members});
            if index == 0 {
                self.sign(&mut part);
            }
            part
        };
        calls.iter().enumerate().map(part).collect()
    }

    fn sign(&self, part: &mut Value) {
        if let (Some(signature), Some(members)) = (self.turn_signature(), part.as_object_mut()) {
            members.insert("thoughtSignature".into(), json!(signature));
        }
    }

    /// Returns the finish reason under Gemini's name; the names of chat completions are converted.
    fn gemini_finish(&self) -> Option<String> {
        if self.has_quirk(ServerQuirk::NoFinish) {
            return None;
        }
        let malformed = self.is_malformed().then_some("MALFORMED_FUNCTION_CALL");
        let reason = malformed.or(self.reply.finish.as_deref()).unwrap_or("STOP");
        Some(match reason {
            "stop" | "tool_calls" => "STOP".to_owned(),
            "length" => "MAX_TOKENS".to_owned(),
            "content_filter" => "SAFETY".to_owned(),
            other => other.to_owned(),
        })
    }

    fn gemini_usage(&self) -> Option<Value> {
        let usage = self.usage()?;
        let count = |tokens: u64| if self.has_quirk(ServerQuirk::TextCounts) { json!(tokens.to_string()) } else { json!(tokens) };
        let mut members = Map::new();
        members.insert("promptTokenCount".into(), count(usage.input));
        if usage.cached > 0 {
            members.insert("cachedContentTokenCount".into(), count(usage.cached));
        }
        members.insert("candidatesTokenCount".into(), count(usage.output.saturating_sub(usage.reasoning)));
        if usage.reasoning > 0 {
            members.insert("thoughtsTokenCount".into(), count(usage.reasoning));
        }
        members.insert("totalTokenCount".into(), count(usage.input.saturating_add(usage.output)));
        members.insert("promptTokensDetails".into(), json!([{"modality": "TEXT", "tokenCount": count(usage.input)}]));
        Some(Value::Object(members))
    }

    /// Returns a document or a chunk with these parts. If `ends`, it contains the finish reason.
    fn gemini_response(&self, parts: Vec<Value>, ends: bool) -> Value {
        let mut response = Map::new();
        if self.reply.refusal.is_some() {
            response.insert("promptFeedback".into(), json!({"blockReason": "PROHIBITED_CONTENT"}));
        } else {
            let mut candidate = Map::new();
            let content = if parts.is_empty() { json!({}) } else { json!({"parts": parts, "role": "model"}) };
            candidate.insert("content".into(), content);
            if let Some(finish) = self.gemini_finish().filter(|_| ends) {
                candidate.insert("finishReason".into(), json!(finish));
            }
            if ends && self.is_malformed() {
                let call = self.broken_arguments().unwrap_or_default();
                candidate.insert("finishMessage".into(), json!(format!("Malformed function call: {call}")));
            }
            candidate.insert("index".into(), json!(0));
            self.decorate(&mut candidate);
            response.insert("candidates".into(), json!([candidate]));
        }
        if let Some(usage) = self.gemini_usage() {
            response.insert("usageMetadata".into(), usage);
        }
        if !self.has_quirk(ServerQuirk::NoIds) {
            response.insert("modelVersion".into(), json!(self.request.model()));
            response.insert("responseId".into(), json!(format!("resp{}", self.number)));
        }
        self.decorate(&mut response);
        Value::Object(response)
    }

    /// Returns the error that is sent after HTTP 200. The code is a number, or else the name of a status.
    fn gemini_failure(&self) -> Option<Value> {
        let failed = self.reply.failed.as_ref()?;
        let mut error = errors::google(failed.code.parse().unwrap_or(500), &failed.message);
        if let (true, Some(status)) = (failed.code.parse::<u16>().is_err(), error.pointer_mut("/error/status")) {
            *status = json!(failed.code);
        }
        Some(error)
    }

    fn gemini_document(&self, calls: &[Call]) -> Value {
        if let Some(failure) = self.gemini_failure() {
            return failure;
        }
        let mut parts = Vec::new();
        if !self.is_empty() {
            let thoughts: String = self.thought_parts().iter().filter_map(|part| part.get("text")?.as_str().map(str::to_owned)).collect();
            parts.extend((!thoughts.is_empty()).then(|| json!({"text": thoughts, "thought": true})));
            let text = self.text();
            parts.extend((!text.is_empty()).then(|| json!({"text": text})));
            parts.extend(self.call_parts(calls));
            if let (Some(last), true) = (parts.last_mut(), calls.is_empty()) {
                self.sign(last);
            }
        }
        self.gemini_response(parts, true)
    }

    /// Returns the chunks of a stream. The signature of a text comes in an empty part of its own at the end.
    fn gemini_chunks(&self, calls: &[Call]) -> Vec<Value> {
        let open = |part: Value| self.gemini_response(vec![part], false);
        let mut chunks: Vec<Value> = Vec::new();
        let mut signed = Vec::new();
        if !self.is_empty() {
            chunks.extend(self.thought_parts().into_iter().map(open));
            chunks.extend(pieces_of(&self.text()).into_iter().map(|piece| open(json!({"text": piece}))));
            chunks.extend(self.call_parts(calls).into_iter().map(open));
            if calls.is_empty() && self.turn_signature().is_some() {
                let mut part = json!({"text": ""});
                self.sign(&mut part);
                signed.push(part);
            }
        }
        if let Some(failure) = self.gemini_failure() {
            chunks.push(failure);
            return chunks;
        }
        let late = if self.has_quirk(ServerQuirk::LateParts) { std::mem::take(&mut signed) } else { Vec::new() };
        if signed.is_empty() && !self.is_empty() {
            signed.push(json!({"text": ""}));
        }
        chunks.push(self.gemini_response(signed, true));
        chunks.extend(late.into_iter().map(|part| self.gemini_response(vec![part], true)));
        chunks
    }
}
