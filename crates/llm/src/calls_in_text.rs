//! Tool calls that a model wrote into its text, because its server did not recognise them.

mod json;
mod names;
mod tagged;
mod tokens;

#[cfg(test)]
mod tests;

pub(crate) use self::names::clean_tool_name;

use self::{
    names::is_tool_like,
    tagged::{DSML, DSML_ASCII, FUNCTION, INVOKE, Tags},
};
use crate::ToolCall;

/// Tool calls and remaining text of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallsInText {
    /// The text without the calls.
    pub text: String,
    /// The calls, in order; their ids are empty.
    pub calls: Vec<ToolCall>,
    /// True if the text clearly contains an attempted call that could not be read: it is cut off, is broken, or names
    /// no offered tool.
    pub attempted: bool,
}

/// Maximum number of possible ends that the reader tries for one block.
const MAX_ENDS: usize = 32;
/// Maximum number of marks that the reader examines in one text.
const MAX_MARKS: usize = 500;

/// Syntax of a call after its mark.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// JSON between fences of three backticks or more.
    Fence,
    /// JSON, or GLM's pairs, up to the closing mark. The flag is true for marks that are used for nothing but calls.
    Block(&'static str, bool),
    /// Other marks follow.
    Wrapper,
    Tagged(&'static Tags),
    Kimi,
    DeepSeek,
    Mistral,
    PythonTag,
    Harmony,
}

const MARKS: [(&str, Form); 26] = [
    ("```", Form::Fence),
    ("<tool_call>", Form::Block("</tool_call>", true)),
    ("<function_call>", Form::Block("</function_call>", true)),
    ("<tools>", Form::Block("</tools>", false)),
    ("<tool_calls>", Form::Block("</tool_calls>", true)),
    ("<TOOLCALL>", Form::Block("</TOOLCALL>", true)),
    ("<longcat_tool_call>", Form::Block("</longcat_tool_call>", true)),
    ("<|tool_call|>", Form::Block("<|/tool_call|>", true)),
    ("<function=", Form::Tagged(&FUNCTION)),
    ("<function name=", Form::Tagged(&FUNCTION)),
    ("<invoke name=", Form::Tagged(&INVOKE)),
    ("<｜DSML｜invoke name=", Form::Tagged(&DSML)),
    ("<|DSML|invoke name=", Form::Tagged(&DSML_ASCII)),
    ("<function_calls>", Form::Wrapper),
    ("<minimax:tool_call>", Form::Wrapper),
    ("<seed:tool_call>", Form::Wrapper),
    ("<｜DSML｜function_calls>", Form::Wrapper),
    ("<｜DSML｜tool_calls>", Form::Wrapper),
    ("<|tool_calls_section_begin|>", Form::Wrapper),
    ("<｜tool▁calls▁begin｜>", Form::Wrapper),
    ("<|tool_call_begin|>", Form::Kimi),
    ("<｜tool▁call▁begin｜>", Form::DeepSeek),
    ("[TOOL_CALLS]", Form::Mistral),
    ("<|python_tag|>", Form::PythonTag),
    ("<|channel|>commentary", Form::Harmony),
    ("to=functions.", Form::Harmony),
];

/// Texts that may precede a call and belong to it.
const OPENERS: [&str; 16] = [
    "<tool_call>",
    "<tool_calls>",
    "<function_calls>",
    "<minimax:tool_call>",
    "<seed:tool_call>",
    "<｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
    "<|DSML|function_calls>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_section_begin|>",
    "<｜tool▁calls▁begin｜>",
    "<|channel|>commentary",
    "<|channel|>analysis",
    "<|start|>assistant",
    "assistantcommentary",
    "<|start|>",
];

/// Texts that may follow a call and belong to it.
const CLOSERS: [&str; 26] = [
    "</tool_call>",
    "</tool_calls>",
    "</function_calls>",
    "</minimax:tool_call>",
    "</seed:tool_call>",
    "</｜DSML｜function_calls>",
    "</｜DSML｜tool_calls>",
    "</|DSML|function_calls>",
    "</function>",
    "</invoke>",
    "</TOOLCALL>",
    "<|/tool_call|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_section_end|>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<｜end▁of▁sentence｜>",
    "<|call|>",
    "<|end|>",
    "<|return|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "[/TOOL_CALLS]",
    "</s>",
];

/// A mark in a text.
struct Place<'t> {
    mark: &'static str,
    /// The text after it.
    after: &'t str,
    /// True if the mark is at a place where a model begins a call: at the start of a line, or as a special token.
    leads: bool,
}

/// The line of a mark up to it.
#[derive(Default)]
struct Line {
    start: usize,
    /// Offset in bytes up to which the text has been examined.
    at: usize,
    /// True inside inline code, where prose quotes marks.
    in_code: bool,
}

impl Line {
    fn advance(&mut self, text: &str, at: usize) {
        for (offset, c) in text.get(self.at..at).unwrap_or_default().char_indices() {
            match c {
                '\n' => (self.start, self.in_code) = (self.at + offset + 1, false),
                '`' => self.in_code = !self.in_code,
                _ => {}
            }
        }
        self.at = at;
    }

    /// Returns true if nothing precedes the mark except texts that belong to a call.
    fn is_blank(&self, text: &str, at: usize) -> bool {
        without_openers(text.get(self.start..at).unwrap_or_default()).trim().is_empty()
    }
}

/// Reading of the text at a mark.
enum Found {
    /// Calls, and their length after the mark in bytes.
    Calls { calls: Vec<ToolCall>, length: usize },
    /// A call that cannot be read.
    Unreadable,
    /// No call; the reader skips this number of bytes after the mark.
    Words { length: usize },
}

impl Found {
    const WORDS: Self = Self::Words { length: 0 };
}

/// Finds calls of the `offered` tools in a text.
///
/// Reads JSON objects with `name` and `arguments` in a fenced block, in `<tool_call>` tags or as the whole text, and the raw syntax of
/// Qwen3-Coder, GLM, Kimi, Llama, Mistral, gpt-oss, DeepSeek, Claude and MiniMax. Other text stays. So does a call that is cut off or names
/// no offered tool: such a text is `attempted`, and no call after it is read. Values in tags are strings, which
/// [`read_arguments`](crate::read_arguments) converts by the tool's schema.
///
/// ```
/// let found = aime_llm::calls_in_text("I look.\n```json\n{\"name\": \"glob\", \"arguments\": {\"pattern\": \"*\"}}\n```", &["glob"]);
/// assert_eq!(found.text, "I look.");
/// assert_eq!(found.calls[0].name, "glob");
/// assert_eq!(found.calls[0].arguments, r#"{"pattern":"*"}"#);
/// assert!(aime_llm::calls_in_text("<function=glob><parameter=pattern>*.r", &["glob"]).attempted);
/// ```
#[must_use]
pub fn calls_in_text(text: &str, offered: &[&str]) -> CallsInText {
    if let Some(calls) = json::calls_of(text, offered) {
        return CallsInText { calls, ..CallsInText::default() };
    }
    let mut found = scan(text, offered);
    if found.calls.is_empty() {
        found.attempted |= json::is_broken_call(text, offered) || is_fenced_call(text, offered);
        text.clone_into(&mut found.text);
    } else {
        found.text = found.text.trim().to_owned();
    }
    found
}

fn scan(text: &str, offered: &[&str]) -> CallsInText {
    let mut found = CallsInText::default();
    let (mut kept_from, mut from) = (0, 0);
    let mut line = Line::default();
    let mut harmony = false;
    for _ in 0..MAX_MARKS {
        let Some((at, mark, form)) = next_mark(text, from) else { break };
        line.advance(text, at);
        let before = text.get(kept_from..at).unwrap_or_default();
        let leads = mark.starts_with('[') || mark.starts_with("<|") || mark.starts_with("<｜") || line.is_blank(text, at);
        let place = Place { mark, after: text.get(at + mark.len()..).unwrap_or_default(), leads };
        match read(&place, form, line.in_code, offered) {
            Found::Calls { calls, length } => {
                harmony |= matches!(form, Form::Harmony);
                found.text.push_str(without_openers(before));
                found.calls.extend(calls);
                let after = place.after.get(length..).unwrap_or_default();
                from = text.len() - without_closers(after).len();
                kept_from = from;
                line = Line { start: from, at: from, in_code: false };
            }
            Found::Unreadable => {
                found.attempted = true;
                break;
            }
            Found::Words { length } => from = at + mark.len() + length,
        }
    }
    found.text.push_str(text.get(kept_from..).unwrap_or_default());
    if harmony {
        found.text = tokens::without_analysis(&found.text);
    }
    found
}

/// Returns the next mark at or after `from`.
fn next_mark(text: &str, from: usize) -> Option<(usize, &'static str, Form)> {
    let mut at = from;
    loop {
        at += text.get(at..)?.find(['<', '[', '`', 't'])?;
        let rest = text.get(at..)?;
        if let Some((mark, form)) = MARKS.iter().find(|(mark, _)| rest.starts_with(mark)) {
            return Some((at, mark, *form));
        }
        at += 1;
    }
}

fn read(place: &Place<'_>, form: Form, in_code: bool, offered: &[&str]) -> Found {
    match form {
        Form::Fence => read_fence(place, offered),
        _ if in_code => Found::WORDS,
        Form::Block(close, calls_only) => read_block(place, close, calls_only, offered),
        Form::Wrapper if is_cut(place.after) && place.leads => Found::Unreadable,
        Form::Wrapper => Found::WORDS,
        Form::Tagged(tags) => tagged::read(place, tags, offered),
        Form::Kimi => tokens::read_kimi(place, offered),
        Form::DeepSeek => tokens::read_deepseek(place, offered),
        Form::Mistral => tokens::read_mistral(place, offered),
        Form::PythonTag => tokens::read_python_tag(place, offered),
        Form::Harmony => tokens::read_harmony(place, offered),
    }
}

/// Reads a code fence. A fence without JSON calls shows an example and is skipped whole.
fn read_fence(place: &Place<'_>, offered: &[&str]) -> Found {
    let inner = place.after.trim_start_matches('`');
    let longer = place.after.len() - inner.len();
    let close = "`".repeat(place.mark.len() + longer);
    // A file that a call writes may hold the mark itself: the block ends at the first mark that leaves a whole call.
    for (end, _) in inner.match_indices(&close).take(MAX_ENDS) {
        if let Some(calls) = inner.get(..end).and_then(|inside| json::calls_of(inside, offered)) {
            return Found::Calls { calls, length: longer + end + close.len() };
        }
    }
    let end = inner.find(&close);
    let inside = end.and_then(|end| inner.get(..end)).unwrap_or(inner);
    if json::is_broken_call(inside, offered) {
        return Found::Unreadable;
    }
    Found::Words { length: end.map_or(place.after.len(), |end| longer + end + close.len()) }
}

fn read_block(place: &Place<'_>, close: &str, calls_only: bool, offered: &[&str]) -> Found {
    let (inner, body) = (place.after, place.after.trim_start());
    let leads = place.leads && calls_only;
    let unless_words = |attempted: bool| if attempted { Found::Unreadable } else { Found::WORDS };
    if body.starts_with('<') || body.is_empty() {
        return unless_words(leads && (is_cut(body) || body == close));
    }
    let end = inner.find(close);
    let ends = end.into_iter().flat_map(|_| inner.match_indices(close)).map(|(end, _)| end);
    for end in ends.take(MAX_ENDS) {
        if let Some(calls) = inner.get(..end).and_then(|inside| json::calls_of(inside, offered)) {
            return Found::Calls { calls, length: end + close.len() };
        }
    }
    if let Some((calls, length)) = json::leading_calls(inner, offered) {
        return Found::Calls { calls, length };
    }
    if let Some(calls) = json::calls_of(inner, offered).filter(|_| end.is_none()) {
        return Found::Calls { calls, length: inner.len() };
    }
    if let Some(found) = tagged::read_glm(place, close, offered) {
        return found;
    }
    unless_words(if body.starts_with(['{', '[']) {
        let inside = end.and_then(|end| inner.get(..end));
        json::names_offered(body, offered) || (leads && (json::name_of(body).is_some() || inside.is_none_or(json::is_json)))
    } else {
        is_attempted_name(body, leads, offered)
    })
}

/// Returns true if a tool name, or the beginning of one, follows the mark of a block as in a call.
fn is_attempted_name(body: &str, leads: bool, offered: &[&str]) -> bool {
    let end = body.find(|c: char| c.is_whitespace() || matches!(c, '<' | '(' | '{' | '['));
    let (name, after) = body.split_at_checked(end.unwrap_or(body.len())).unwrap_or((body, ""));
    let next = after.trim_start_matches([' ', '\t', '\r']);
    let is_call = next.trim_start().starts_with("<arg_key>") || next.starts_with(['(', '{']);
    if clean_tool_name(name, offered).is_some() {
        return is_call || next.is_empty() || next.starts_with(['\n', '<']);
    }
    leads && is_tool_like(name) && (is_call || after.is_empty())
}

/// Returns true if the text ends right after a mark, or inside a tag that follows it.
fn is_cut(after: &str) -> bool {
    let after = after.trim();
    after.is_empty() || (after.starts_with('<') && !after.contains('>'))
}

/// Returns true if the whole text is one code fence around a call in raw syntax. Such a call is not run, because a
/// fence may show an example.
fn is_fenced_call(text: &str, offered: &[&str]) -> bool {
    let inside = text.trim().strip_prefix("```").and_then(|fenced| fenced.split_once('\n')).map(|(_, inside)| inside);
    let inside = inside.map(|inside| inside.strip_suffix("```").unwrap_or(inside)).filter(|inside| !inside.contains("```"));
    inside.is_some_and(|inside| {
        let found = scan(inside, offered);
        found.attempted || (!found.calls.is_empty() && found.text.trim().is_empty())
    })
}

fn without_openers(before: &str) -> &str {
    let mut kept = before;
    while let Some(shorter) = OPENERS.iter().find_map(|opener| kept.trim_end().strip_suffix(opener)) {
        kept = shorter;
    }
    kept
}

fn without_closers(after: &str) -> &str {
    let mut kept = after;
    while let Some(shorter) = CLOSERS.iter().find_map(|closer| kept.trim_start().strip_prefix(closer)) {
        kept = shorter;
    }
    kept
}

fn tool_call(name: &str, arguments: String) -> ToolCall {
    ToolCall { id: String::new(), name: name.to_owned(), arguments }
}
