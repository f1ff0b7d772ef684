//! Calls between special tokens: Kimi, DeepSeek, Mistral, Llama's `<|python_tag|>`, and the harmony format of gpt-oss.

use super::{
    Found, Place, json,
    names::{MAX_NAME_BYTES, clean_tool_name, is_tool_like},
    tool_call,
};

/// Reads `functions.write_file:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.
pub(super) fn read_kimi(place: &Place<'_>, offered: &[&str]) -> Found {
    named(place.after, "<|tool_call_argument_begin|>", &["<|tool_call_end|>", "<|tool_calls_section_end|>"], offered)
}

/// Reads `write_file<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, and the older `function<｜tool▁sep｜>write_file` with the arguments in a fence.
pub(super) fn read_deepseek(place: &Place<'_>, offered: &[&str]) -> Found {
    const SEPARATOR: &str = "<｜tool▁sep｜>";
    const ENDS: [&str; 2] = ["<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"];
    let Some(older) = place.after.strip_prefix("function").and_then(|after| after.trim_start().strip_prefix(SEPARATOR)) else {
        return named(place.after, SEPARATOR, &ENDS, offered);
    };
    let fenced = older.split_once('\n').and_then(|(name, rest)| Some((name, rest.trim_start().strip_prefix("```json")?)));
    let Some((name, body)) = fenced else { return Found::Unreadable };
    let read = clean_tool_name(name, offered).and_then(|name| Some((name, json::arguments(body, &["```", "<｜tool▁call▁end｜>"])?)));
    let Some((name, (arguments, length))) = read else { return Found::Unreadable };
    let after = body.get(length..).unwrap_or_default().trim_start();
    let after = after.strip_prefix("```").unwrap_or(after);
    Found::Calls { calls: vec![tool_call(name, arguments)], length: place.after.len() - after.len() }
}

/// Reads a name, a separator, and a JSON object of arguments.
fn named(text: &str, separator: &str, ends: &[&str], offered: &[&str]) -> Found {
    let Some((name, body)) = text.split_once(separator) else {
        let is_cut = text.trim().is_empty() || is_tool_like(text);
        return if is_cut { Found::Unreadable } else { Found::WORDS };
    };
    let Some(known) = clean_tool_name(name, offered) else {
        return if is_tool_like(name) { Found::Unreadable } else { Found::WORDS };
    };
    match json::arguments(body, ends) {
        Some((arguments, length)) => Found::Calls { calls: vec![tool_call(known, arguments)], length: text.len() - body.len() + length },
        None => Found::Unreadable,
    }
}

/// Reads `[TOOL_CALLS][{"name": …, "arguments": …}]` and `[TOOL_CALLS]write_file[ARGS]{…}`.
pub(super) fn read_mistral(place: &Place<'_>, offered: &[&str]) -> Found {
    let body = place.after.trim_start();
    if body.is_empty() {
        return Found::Unreadable;
    }
    if body.starts_with(['[', '{']) {
        return json_calls(place, offered);
    }
    let Some(at) = body.find(['[', '{', '\n']) else {
        return if is_tool_like(body) { Found::Unreadable } else { Found::WORDS };
    };
    let (name, rest) = body.split_at_checked(at).unwrap_or((body, ""));
    let rest = match rest.strip_prefix("[CALL_ID]") {
        Some(id) => id.find('[').and_then(|at| id.get(at..)).unwrap_or_default(),
        None => rest,
    };
    let is_call = rest.is_empty() || rest.starts_with(['[', '{']);
    let Some(known) = clean_tool_name(name, offered) else {
        return if is_call && is_tool_like(name) { Found::Unreadable } else { Found::WORDS };
    };
    let arguments = rest.strip_prefix("[ARGS]").unwrap_or(rest);
    match json::arguments(arguments, &["[TOOL_CALLS]"]) {
        Some((text, length)) => {
            let length = place.after.len() - arguments.len() + length;
            Found::Calls { calls: vec![tool_call(known, text)], length }
        }
        None if is_call => Found::Unreadable,
        None => Found::WORDS,
    }
}

/// Reads `<|python_tag|>{"name": …, "parameters": …}`. Code after this mark is a call of an interpreter, which no server here runs.
pub(super) fn read_python_tag(place: &Place<'_>, offered: &[&str]) -> Found {
    let body = place.after.trim_start();
    if body.starts_with(['[', '{']) {
        return json_calls(place, offered);
    }
    let name = body.split(['.', '(']).next().unwrap_or_default();
    let is_code = body.contains('(') && is_tool_like(name);
    if body.is_empty() || is_code { Found::Unreadable } else { Found::WORDS }
}

/// Calls as JSON directly after a mark.
fn json_calls(place: &Place<'_>, offered: &[&str]) -> Found {
    if let Some((calls, length)) = json::leading_calls(place.after, offered) {
        return Found::Calls { calls, length };
    }
    match json::calls_of(place.after, offered) {
        Some(calls) => Found::Calls { calls, length: place.after.len() },
        None => Found::Unreadable,
    }
}

/// Reads `<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>{…}<|call|>`, from the recipient on.
pub(super) fn read_harmony(place: &Place<'_>, offered: &[&str]) -> Found {
    let Some(recipient) = recipient_of(place) else { return Found::WORDS };
    let is_end = |(_, c): &(usize, char)| c.is_whitespace() || matches!(c, '<' | '{' | '"' | '`' | ')' | ',');
    let end = recipient.char_indices().take(MAX_NAME_BYTES).find(is_end).map_or(recipient.len(), |(at, _)| at);
    let (name, rest) = recipient.split_at_checked(end).unwrap_or((recipient, ""));
    let (body, message) = after_header(rest);
    let is_cut = ["<|message|>", "<|channel|>", "<|constrain|>", "json"].iter().any(|token| token.starts_with(body));
    let goes_on = message || is_cut || body.starts_with('{');
    let Some(known) = clean_tool_name(name, offered) else {
        return if goes_on && (name.is_empty() || is_tool_like(name)) { Found::Unreadable } else { Found::WORDS };
    };
    match json::arguments(body, &["<|call|>", "<|end|>", "<|start|>"]) {
        Some((arguments, length)) => {
            let length = place.after.len() - body.len() + length;
            Found::Calls { calls: vec![tool_call(known, arguments)], length }
        }
        None if goes_on || rest.contains("<|") => Found::Unreadable,
        None => Found::WORDS,
    }
}

/// Returns the text after `to=`. Returns nothing for a commentary without recipient, which is prose.
fn recipient_of<'t>(place: &Place<'t>) -> Option<&'t str> {
    if place.mark.ends_with('.') {
        return Some(place.after);
    }
    let after = place.after.trim_start();
    if "to=".starts_with(after) { Some("") } else { after.strip_prefix("to=") }
}

/// Returns the text after the header of a message, and true if the header ends with its own token. The server may
/// have dropped the special tokens.
fn after_header(text: &str) -> (&str, bool) {
    const MESSAGE: &str = "<|message|>";
    let is_word = |c: char| c.is_ascii_alphabetic();
    let mut rest = text.trim_start();
    loop {
        if let Some(body) = rest.strip_prefix(MESSAGE) {
            return (body.trim_start(), true);
        }
        let token = ["<|channel|>", "<|constrain|>"].iter().find_map(|token| rest.strip_prefix(token));
        let plain = || ["json", "code", "commentary"].iter().find_map(|word| rest.strip_prefix(word));
        match token.map(|after| after.trim_start_matches(is_word)).or_else(plain) {
            Some(after) => rest = after.trim_start(),
            None => return (rest, false),
        }
    }
}

/// Returns a text without the reasoning of the harmony format.
pub(super) fn without_analysis(text: &str) -> String {
    const ANALYSIS: &str = "<|channel|>analysis<|message|>";
    const END: &str = "<|end|>";
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, reasoning)) = rest.split_once(ANALYSIS) {
        kept.push_str(before.strip_suffix("<|start|>assistant").unwrap_or(before));
        rest = reasoning.split_once(END).map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}
