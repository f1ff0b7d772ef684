//! Lessons from refusals. The matched words are those of servers, as recorded or reported in public.

use serde_json::{Map, Value};

use super::effort::demands_thinking;
use super::window::{self, KnownWindow};
use super::{Dialect, EmptyContent, IdForm, ImagesForm, ReasoningForm, ToolForm};
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

    /// `… Please use /v1/responses or set reasoning_effort to 'none'`, `This model is only supported in v1/responses`; and a gateway that has
    /// no such path answers 404 or 405.
    fn learn_protocol(&mut self, model: &str, refusal: &Refusal) -> bool {
        if !self.may_switch {
            return false;
        }
        let to = match self.protocol {
            Protocol::Chat if refusal.message.contains("v1/responses") => Protocol::Responses,
            Protocol::Responses if matches!(refusal.status, 404 | 405) && !refusal.lower.contains("item with id") => Protocol::Chat,
            _ => return false,
        };
        // Only once, so that a server with neither is not asked forever.
        self.may_switch = false;
        self.speak(to, model);
        true
    }

    /// Learns from a refusal whose bound on the answer, or request and bound together, are too large.
    fn learn_window(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let Some(bound) = sent.bound else { return false };
        if let Some(limits) = window::parse_limits(&refusal.message) {
            let known = KnownWindow::new(limits, sent.estimated);
            let lowers = known.room_beside(sent.estimated).is_some_and(|room| room < bound);
            if lowers {
                self.window = Some(known);
            }
            return lowers;
        }
        let about_bound = ["max_tokens", "max_completion_tokens", "max_output_tokens"].iter().any(|name| refusal.names(name));
        match window::longest_answer(&refusal.message).filter(|longest| about_bound && *longest < bound) {
            Some(longest) => {
                self.longest_answer = Some(longest);
                true
            }
            None => false,
        }
    }

    fn learn_parameter(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let was_sent = |field: &str| sent.settings.contains_key(field) && refusal.names(field);
        let within = |pointer: &str| sent.settings.contains_key("reasoning") && refusal.names(pointer);
        if let Some(name) = self.max_tokens
            && was_sent(name.field())
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
        let effort = was_sent("reasoning_effort") || within("reasoning.effort") || within("effort");
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

    /// `No endpoints found that support image input`, `Invalid content type. image_url is only supported by certain models`, `"input[2].output":
    /// expected a string`, `messages.content: invalid type: sequence, expected a string`.
    fn learn_images(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let Some(sent) = sent.images else { return false };
        let lower = refusal.lower.as_str();
        let about_images = ["image", "vision", "multimodal", "multi-modal", "modality", "inlinedata", "inline_data", "mmproj"];
        let about_form = ["expected a string", "expected string", "must be a string", "valid string", "be of type string"];
        let about_size = ["too large", "too many images", "exceed", "could not process image", "invalid image", "pixels"];
        let refused = about_images.iter().chain(&about_form).any(|words| lower.contains(words))
            && !about_size.iter().any(|words| lower.contains(words));
        let next = match (self.form.images, sent) {
            (ImagesForm::Anywhere, SentImages::InResults) if !self.form.alternate => ImagesForm::InUserTurns,
            _ => ImagesForm::InWords,
        };
        let learned = refused && next > self.form.images;
        if learned {
            self.form.images = next;
        }
        learned
    }

    fn learn_messages(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let lower = refusal.lower.as_str();
        let form = &mut self.form;
        let roles = ["roles must alternate", "unexpected role", "expected last role", "conversation roles", "order of roles"];
        if !form.alternate && (roles.iter().any(|words| lower.contains(words)) || refusal.codes.contains("3230")) {
            form.alternate = true;
            return true;
        }
        let about_id = lower.contains("tool call id was")
            || lower.contains("tool_use.id")
            || lower.contains("tool_use_id")
            || ((refusal.param.contains("call_id") || refusal.param.ends_with(".id") || lower.contains("tool_calls[0].id"))
                && (lower.contains("too long") || lower.contains("pattern") || lower.contains("length")));
        if about_id {
            let wanted = if lower.contains("length of 9") { IdForm::Nine } else { form.ids.max(IdForm::Forty) };
            if wanted > form.ids {
                form.ids = wanted;
                return true;
            }
        }
        if self.protocol == Protocol::Gemini && form.ids_in_calls && lower.contains("unknown name \"id\"") {
            form.ids_in_calls = false;
            return true;
        }
        if lower.contains("thought_signature") && lower.contains("missing") && !form.skip_signature {
            form.skip_signature = true;
            return true;
        }
        let reasoning =
            ["reasoning_content", "reasoning_details"].iter().any(|name| refusal.names(name)) || names_reasoning_of_turns(refusal, sent);
        if reasoning && form.reasoning != ReasoningForm::Refused {
            let refused = ["unsupported", "not supported", "not permitted", "not allowed"].iter().any(|word| lower.contains(word));
            let demanded = !refused && ["missing", "must be", "required", "need"].iter().any(|word| lower.contains(word));
            let wanted = match form.reasoning {
                ReasoningForm::Returned if demanded => ReasoningForm::Demanded,
                _ if !demanded => ReasoningForm::Refused,
                unchanged => unchanged,
            };
            if wanted != form.reasoning {
                form.reasoning = wanted;
                return true;
            }
        }
        let null = ["null", "none", "undefined", "nil", "required", "empty"].iter().any(|word| lower.contains(word));
        if sent.wordless && ((lower.contains("content") && null) || lower.contains("nonetype") || lower.contains("not callable: null")) {
            let next = match form.empty_content {
                EmptyContent::Null => Some(EmptyContent::Empty),
                EmptyContent::Empty => Some(EmptyContent::Absent),
                EmptyContent::Absent => None,
            };
            if let Some(next) = next {
                form.empty_content = next;
                return true;
            }
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

/// Returns true if a refusal is about the member `reasoning` of earlier turns, and not about the parameter of the request:
/// `('messages.2' : property 'reasoning' is unsupported)`, or `reasoning: Extra inputs are not permitted` to a request
/// without the parameter.
fn names_reasoning_of_turns(refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
    let numbered = |rest: &str| rest.strip_prefix(['.', '[']).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let path = refusal.lower.match_indices("messages").any(|(at, found)| refusal.lower.get(at + found.len()..).is_some_and(numbered));
    let about_turns = ["messages", "assistant"].iter().any(|word| has_word(&refusal.lower, word));
    let about_members = about_turns || refusal.lower.contains("extra inputs are not permitted");
    sent.native
        && refusal.names("reasoning")
        && (refusal.param.starts_with("messages") || path || (about_members && !sent.settings.contains_key("reasoning")))
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
