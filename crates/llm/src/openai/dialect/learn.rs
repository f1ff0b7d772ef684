//! Lessons from refusals. The matched words are those of servers, as recorded or reported in public.

use serde_json::{Map, Value};

use super::effort::demands_thinking;
use super::messages::names_reasoning_of_turns;
use super::window::parse_limits;
use super::{Dialect, ToolForm};
use crate::openai::fault::Refusal;
use crate::{Effort, Protocol};

/// The request that was refused.
#[derive(Debug, Clone, Copy)]
pub(in crate::openai) struct RefusedRequest<'a> {
    /// Everything but the messages and the tools.
    pub(in crate::openai) settings: &'a Map<String, Value>,
    /// The names of the tools, in the order in which they were offered.
    pub(in crate::openai) tools: &'a [String],
    /// True if the form of the answer was left open.
    pub(in crate::openai) open_form: bool,
    /// True if the request held a turn of the model with calls and without text.
    pub(in crate::openai) wordless: bool,
    /// The effort that the request asked for.
    pub(in crate::openai) effort: Option<Effort>,
    /// The places of the images that were sent, if any.
    pub(in crate::openai) images: Option<SentImages>,
    /// True if turns of the model were sent in the provider's own form.
    pub(in crate::openai) native: bool,
    /// The tokens of messages and tools, estimated.
    pub(in crate::openai) estimated: u64,
    /// The bound on the answer.
    pub(in crate::openai) bound: Option<u32>,
}

/// Places of the images in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::openai) enum SentImages {
    /// In turns of the user alone.
    InUserTurns,
    /// In results of tools too.
    InResults,
}

/// Next step after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::openai) enum RefusalAction {
    /// Send the request again in the dialect as it is now.
    Again,
    /// Send it once without the provider's own form of turns.
    WithoutNative,
    /// Send it once without an effort: the server demands thinking that the history lacks.
    WithoutEffort,
    /// Nothing was learned.
    Nothing,
}

impl Dialect {
    /// Learns from the refusal of a request that was written in the dialect `used`. If a request made at the same time has taught something
    /// meanwhile, that is tried first.
    pub(in crate::openai) fn learn_from(&mut self, used: &Self, model: &str, refusal: &Refusal, sent: RefusedRequest<'_>) -> RefusalAction {
        if self != used || self.learn(model, refusal, sent) {
            return RefusalAction::Again;
        }
        if sent.effort.is_some_and(|effort| effort != Effort::None) && demands_thinking(refusal) {
            return RefusalAction::WithoutEffort;
        }
        if sent.native && refuses_native(refusal) { RefusalAction::WithoutNative } else { RefusalAction::Nothing }
    }

    fn learn(&mut self, model: &str, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        // Only the bound on the answer changes what a request costs.
        if refusal.status == 402 {
            return self.learn_window(refusal, sent);
        }
        self.learn_protocol(model, refusal)
            || self.learn_window(refusal, sent)
            || self.learn_binding(refusal, sent)
            || self.learn_parameter(refusal, sent)
            || self.learn_images(refusal, sent)
            || self.learn_messages(refusal, sent)
            || self.learn_answer_form(refusal, sent)
            || self.learn_tools(refusal, sent)
            || self.learn_streams(refusal, sent)
    }

    fn learn_parameter(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let was_sent = |field: &str| sent.settings.contains_key(field) && refusal.names(field);
        let within = |pointer: &str| sent.settings.contains_key("reasoning") && refusal.names(pointer);
        // A request that is too long by itself is not cured by another name of the bound either.
        if let Some(name) = self.max_tokens
            && was_sent(name.field())
            && parse_limits(&refusal.message).is_none()
        {
            // "max_tokens is too large" is not cured by another name.
            let too_large = refusal.message.contains("too large") || refusal.message.contains("at most");
            self.max_tokens = (!self.both_refused && !too_large).then(|| name.other());
            self.both_refused = true;
            return true;
        }
        let optional = &mut self.optional;
        // The longer names first: "stream_options" holds "stream".
        let fields = [
            (was_sent("temperature"), &mut optional.temperature),
            (was_sent("seed") || was_sent("random_seed"), &mut optional.seed),
            (was_sent("stream_options"), &mut optional.stream_options),
            (was_sent("parallel_tool_calls"), &mut optional.parallel_calls),
            (was_sent("tool_choice") || was_sent("toolConfig"), &mut optional.tool_choice),
            (was_sent("prompt_cache_key"), &mut optional.cache_key),
            (was_sent("reasoning_split"), &mut optional.reasoning_split),
            (refusal.names("cache_control"), &mut optional.cache_marks),
            (
                was_sent("include")
                    || (sent.settings.contains_key("include") && refusal.lower.contains("encrypted content is not supported")),
                &mut optional.include,
            ),
            (
                within("reasoning.summary")
                    || within("summary")
                    || (within("reasoning") && refusal.lower.contains("summar"))
                    || (sent.settings.contains_key("thinking") && refusal.names("display")),
                &mut optional.summary,
            ),
        ];
        for (refused, known) in fields {
            if refused && *known {
                *known = false;
                return true;
            }
        }
        if self.learn_effort(refusal, sent) || self.learn_thinking(refusal, sent) {
            return true;
        }
        let optional = &mut self.optional;
        // xAI calls the parameter `reasoningEffort` over both protocols.
        let effort = was_sent("reasoning_effort") || ["reasoning.effort", "reasoning_effort", "effort"].into_iter().any(within);
        if effort && std::mem::replace(&mut optional.effort, false) {
            return true;
        }
        if self.protocol == Protocol::Gemini && refusal.lower.contains("thinking") && (optional.summary || optional.effort) {
            optional.summary = false;
            optional.effort = false;
            return true;
        }
        // Summary and effort are the only parts of it.
        if was_sent("reasoning") && !names_reasoning_of_turns(refusal, sent) && (optional.summary || optional.effort) {
            optional.summary = false;
            optional.effort = false;
            return true;
        }
        let strict = ["/response_format/json_schema/strict", "/text/format/strict"];
        let sent_strict = strict.iter().any(|pointer| Value::Object(sent.settings.clone()).pointer(pointer) == Some(&Value::Bool(true)));
        if optional.strict && sent_strict && refusal.names("strict") {
            optional.strict = false;
            return true;
        }
        false
    }

    /// Learns to request the answer as the parameters of a tool, because a model behind Anthropic's protocol does not
    /// enforce every schema. The parameters of a tool may have any schema.
    fn learn_answer_form(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let asked = sent.settings.get("output_config").is_some_and(|config| config.get("format").is_some());
        let words = ["output_config", "schema", "structured output", "grammar"];
        let about_it = words.iter().any(|words| refusal.lower.contains(words));
        asked && about_it && !std::mem::replace(&mut self.schema_as_tool, true)
    }

    fn learn_tools(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        if sent.tools.is_empty() {
            return false;
        }
        let lower = refusal.lower.as_str();
        let unsupported = [
            "enable-auto-tool-choice",
            "does not support tools",
            "do not support tools",
            "not support tool",
            "tools are not supported",
            "tools is not supported",
            "not support function call",
            "function calling is not enabled",
            "function calling is not supported",
            "tool use is not supported",
            "no endpoints found that support tool use",
            "requires jinja",
            "tools param requires --jinja",
        ];
        if unsupported.iter().any(|words| lower.contains(words)) && !lower.contains("'none'") {
            return !std::mem::replace(&mut self.form.calls_as_text, true);
        }
        let schema = ["schema", "grammar", "function_declarations", "parameters", "keyword", "function name", "function.name"];
        let about_tools =
            refusal.param.starts_with("tools") || lower.contains("tool") || lower.contains("function") || lower.contains("grammar");
        if !about_tools || !schema.iter().any(|word| lower.contains(word) || refusal.param.contains(word)) {
            return false;
        }
        // If the request asked for a form of the answer, the refusal may be about that form; the caller handles it.
        match named_tool(refusal, sent.tools) {
            Some(name) => {
                let now = self.tools.by_name.get(name).copied();
                let next = match now {
                    None if !self.tools.all_simplified => ToolForm::Simplified,
                    None | Some(ToolForm::Simplified) => ToolForm::LeftOut,
                    Some(ToolForm::LeftOut) => return false,
                };
                if next == ToolForm::LeftOut {
                    tracing::warn!(
                        model = refusal.model,
                        tool = name,
                        reason = refusal.message,
                        "the server refuses this tool: it is left out"
                    );
                }
                self.tools.by_name.insert(name.to_owned(), next);
                true
            }
            None if sent.open_form => {
                if std::mem::replace(&mut self.tools.all_simplified, true) {
                    return !std::mem::replace(&mut self.form.calls_as_text, true);
                }
                true
            }
            None => false,
        }
    }

    fn learn_streams(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let streamed = sent.settings.get("stream").and_then(Value::as_bool).unwrap_or(false);
        let about_streams = refusal.names("stream") || has_word(&refusal.lower, "streaming");
        let learned = self.stream && streamed && about_streams;
        self.stream &= !learned;
        learned
    }
}

/// Returns the tool that a refusal is about: by name in quotes, or by its place: `tools[3].function.parameters`,
/// `tools.3.custom.input_schema`.
fn named_tool<'a>(refusal: &Refusal, offered: &'a [String]) -> Option<&'a str> {
    let texts = [refusal.param.as_str(), refusal.message.as_str()];
    let place = texts.iter().find_map(|text| {
        text.match_indices("tools").find_map(|(at, _)| {
            let rest = text.get(at + "tools".len()..)?;
            let mut numbers = rest.split(['[', ']', '.']).filter(|part| !part.is_empty());
            let first: usize = numbers.next()?.parse().ok()?;
            // Gemini has one tool with all functions in it.
            let inner = rest.split_once("function_declarations[").and_then(|(_, rest)| rest.split(']').next()?.parse().ok());
            Some(inner.unwrap_or(first))
        })
    });
    let by_place = place.and_then(|place| offered.get(place));
    let quoted = |name: &&String| ["'", "\"", "`"].iter().any(|quote| refusal.message.contains(&format!("{quote}{name}{quote}")));
    by_place.or_else(|| offered.iter().find(quoted)).map(String::as_str)
}

/// Returns true if a refusal is about opaque state of earlier turns, which the server no longer accepts.
fn refuses_native(refusal: &Refusal) -> bool {
    let words = [
        "signature",
        "encrypted_content",
        "encrypted content",
        "item with id",
        "thinking block",
        "reasoning_details",
        "reasoning_content",
        "required following item",
        "required 'reasoning' item",
    ];
    words.iter().any(|words| refusal.lower.contains(words))
}

/// Returns true if a name occurs in a text as a whole word: `max_tokens`, but not within `max_tokens_total`.
pub(in crate::openai) fn has_word(text: &str, word: &str) -> bool {
    let part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}
