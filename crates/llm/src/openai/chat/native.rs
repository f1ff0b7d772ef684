//! Content of a chat-completions turn that is neither text nor call and must go back with them.

use serde_json::{Map, Value, json};

use crate::openai::lenient::Joiner;

/// The opaque fields of a turn as they arrive.
#[derive(Debug, Default)]
pub(super) struct Opaque {
    /// `reasoning_content` or `reasoning`: the server's own name for it, and the text.
    reasoning: Option<(&'static str, String)>,
    halves: Joiner,
    /// OpenRouter's `reasoning_details`.
    details: Vec<Value>,
    /// Gemini's `extra_content` of the whole message.
    extra: Option<Value>,
    /// The content as parts, once one of them is a thought (Mistral).
    parts: Vec<Value>,
}

impl Opaque {
    /// Takes in a message, or a piece of one. `before` is the text that came before it.
    pub(super) fn absorb(&mut self, message: &Value, before: &str) {
        for name in ["reasoning_content", "reasoning"] {
            if let Some(text) = message.get(name).and_then(Value::as_str)
                && self.reasoning.as_ref().is_none_or(|(known, _)| *known == name)
            {
                let text = self.halves.join(text);
                self.reasoning.get_or_insert_with(|| (name, String::new())).1.push_str(&text);
            }
        }
        for detail in message.get("reasoning_details").and_then(Value::as_array).into_iter().flatten() {
            merge_detail(&mut self.details, detail);
        }
        if let Some(extra) = message.get("extra_content").filter(|extra| extra.is_object()) {
            self.extra = Some(extra.clone());
        }
        match message.get("content") {
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.absorb_part(part, before)),
            Some(Value::String(text)) if !self.parts.is_empty() => self.absorb_part(&json!({"type": "text", "text": text}), before),
            _ => {}
        }
    }

    fn absorb_part(&mut self, part: &Value, before: &str) {
        let kind = |part: &Value| part.get("type").and_then(Value::as_str).map(str::to_owned);
        let thinks = kind(part).as_deref() == Some("thinking");
        if self.parts.is_empty() {
            if !thinks {
                return;
            }
            if !before.is_empty() {
                self.parts.push(json!({"type": "text", "text": before}));
            }
        }
        match self.parts.last_mut() {
            Some(last) if kind(last) == kind(part) => merge_part(last, part),
            _ => self.parts.push(part.clone()),
        }
    }

    /// Returns the turn as the server wrote it; nothing where its text and calls are all there is to it. Each call
    /// brings the fields of its own.
    pub(super) fn into_items(self, content: &str, calls: Vec<Value>, calls_are_opaque: bool) -> Vec<Value> {
        let reasoning = self.reasoning.filter(|_| self.details.is_empty());
        if reasoning.is_none() && self.details.is_empty() && self.extra.is_none() && self.parts.is_empty() && !calls_are_opaque {
            return Vec::new();
        }
        let mut message = Map::new();
        message.insert("role".into(), json!("assistant"));
        let content = if self.parts.is_empty() { json!(content) } else { Value::Array(self.parts) };
        message.insert("content".into(), content);
        if let Some((name, text)) = reasoning {
            message.insert(name.into(), json!(text));
        }
        if !self.details.is_empty() {
            message.insert("reasoning_details".into(), Value::Array(self.details));
        }
        if let Some(extra) = self.extra {
            message.insert("extra_content".into(), extra);
        }
        if !calls.is_empty() {
            message.insert("tool_calls".into(), Value::Array(calls));
        }
        vec![Value::Object(message)]
    }
}

/// Adds a piece of `reasoning_details`: pieces of one text belong together, encrypted ones are whole.
fn merge_detail(details: &mut Vec<Value>, piece: &Value) {
    let key = |detail: &Value| ["type", "index", "format"].map(|name| detail.get(name).cloned());
    let encrypted = piece.get("type").and_then(Value::as_str).is_some_and(|kind| kind.contains("encrypted"));
    let known = details.iter_mut().rev().find(|known| !encrypted && key(known) == key(piece));
    match known {
        Some(known) => merge_texts(known, piece, &["text", "summary"]),
        None => details.push(piece.clone()),
    }
}

/// Appends the named texts of a piece, and takes its other fields where they are filled.
fn merge_texts(known: &mut Value, piece: &Value, texts: &[&str]) {
    let (Some(known), Some(piece)) = (known.as_object_mut(), piece.as_object()) else { return };
    for (name, value) in piece {
        match (known.get_mut(name), value) {
            (Some(Value::String(text)), Value::String(more)) if texts.contains(&name.as_str()) => {
                let known = if repeats(text, more) { text.len() } else { 0 };
                text.push_str(more.get(known..).unwrap_or_default());
            }
            (_, Value::Null) => {}
            _ => drop(known.insert(name.clone(), value.clone())),
        }
    }
}

/// Returns true if a piece repeats the text before it, as some servers of MiniMax send their reasoning: the whole text so far each time.
pub(super) fn repeats(text: &str, piece: &str) -> bool {
    /// Bytes of a text that no new piece begins with by chance.
    const MIN_REPEATED: usize = 24;
    text.len() >= MIN_REPEATED && piece.starts_with(text)
}

fn merge_part(known: &mut Value, piece: &Value) {
    // A thought has a list of texts of its own.
    if let Some(inner) = piece.get("thinking").and_then(Value::as_array)
        && let Some(thoughts) = known.get_mut("thinking").and_then(Value::as_array_mut)
    {
        for thought in inner {
            match thoughts.last_mut() {
                Some(last) if last.get("type") == thought.get("type") => merge_texts(last, thought, &["text"]),
                _ => thoughts.push(thought.clone()),
            }
        }
        let mut rest = piece.clone();
        if let Some(rest) = rest.as_object_mut() {
            rest.remove("thinking");
        }
        return merge_texts(known, &rest, &[]);
    }
    merge_texts(known, piece, &["text", "thinking"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(pieces: &[Value]) -> Value {
        let mut opaque = Opaque::default();
        for piece in pieces {
            opaque.absorb(piece, "");
        }
        opaque.into_items("hi", Vec::new(), false).pop().unwrap_or_default()
    }

    #[test]
    fn pieces_of_reasoning_are_put_together_and_encrypted_ones_stay() {
        let detail = |text: &str, signature: Value| json!({"type": "reasoning.text", "text": text, "signature": signature, "index": 0, "format": "f"});
        let secret = |data: &str| json!({"type": "reasoning.encrypted", "data": data, "index": 1, "format": "f"});
        let pieces = [
            json!({"reasoning": "a", "reasoning_details": [detail("a", Value::Null)]}),
            json!({"reasoning": "b", "reasoning_details": [detail("b", json!("s"))]}),
            json!({"content": "hi", "reasoning_details": [secret("x")]}),
            json!({"reasoning_details": [secret("y")]}),
        ];
        let message = merged(&pieces);
        assert_eq!(message["reasoning_details"], json!([detail("ab", json!("s")), secret("x"), secret("y")]));
        assert_eq!(message.get("reasoning"), None, "the details hold it");
    }

    #[test]
    fn pieces_that_repeat_the_text_so_far_are_not_appended() {
        let detail = |text: &str| json!({"reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}]});
        let long = "The user wants a poem about the sea.";
        let pieces = [detail(long), detail(&format!("{long} I begin.")), detail(&format!("{long} I begin. Waves."))];
        assert_eq!(merged(&pieces)["reasoning_details"][0]["text"], format!("{long} I begin. Waves."));
        // A short text may begin like the one before by chance.
        assert_eq!(merged(&[detail("1"), detail("10")])["reasoning_details"][0]["text"], "110");
    }

    #[test]
    fn reasoning_goes_back_under_the_name_under_which_it_came() {
        let pieces = [json!({"reasoning_content": "a", "reasoning": "a"}), json!({"reasoning_content": "b", "content": "hi"})];
        assert_eq!(merged(&pieces), json!({"role": "assistant", "content": "hi", "reasoning_content": "ab"}));
        assert_eq!(merged(&[json!({"reasoning": "a"})])["reasoning"], "a");
        assert_eq!(merged(&[json!({"content": "hi"})]), Value::Null);
    }

    #[test]
    fn thoughts_in_the_content_stay_parts() {
        let thought = |text: &str| json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]});
        let pieces = [thought("a"), thought("b"), json!({"content": "h"}), json!({"content": [{"type": "text", "text": "i"}]})];
        let expected = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]}, {"type": "text", "text": "hi"}]);
        assert_eq!(merged(&pieces)["content"], expected);
    }
}
