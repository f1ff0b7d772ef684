//! Form in which a server accepts requests: the rules of its provider, and those learned from its refusals.

mod effort;
mod learn;
mod messages;
mod switch;
#[cfg(test)]
mod tests;
mod window;

use std::collections::BTreeMap;

use super::gemini;
use super::provider::Provider;
use crate::protocol::reasons;
use crate::{Effort, Protocol, model_facts};

pub(super) use learn::{RefusalAction, RefusedRequest, SentImages, has_word};
pub(super) use window::KnownWindow;

/// Form of the requests to one model. Each refusal that is understood changes one setting, and no setting changes
/// back, so learning ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) protocol: Protocol,
    /// The server may be asked over the other protocol when it says so.
    pub(super) may_switch: bool,
    /// The dialect before a change from chat completions to Responses, until a request over Responses is accepted.
    pub(super) before_switch: Option<Box<Self>>,
    pub(super) form: MessageForm,
    pub(super) tools: ToolForms,
    pub(super) optional: Optional,
    /// The efforts that the model accepts, in rising order; all of them if nothing is known.
    efforts: Vec<Effort>,
    /// Form of the thinking settings for Claude.
    pub(super) thinking: ThinkingForm,
    /// The other way was refused too.
    thinking_switched: bool,
    /// Fate of thinking that Claude has bound to another conversation.
    pub(super) foreign_thinking: ForeignThinking,
    /// True to request the form of an answer as the parameters of a tool, because the server enforces no other schema.
    pub(super) schema_as_tool: bool,
    /// The name of the bound on the answer.
    pub(super) max_tokens: Option<MaxTokens>,
    /// The other name was refused too.
    both_refused: bool,
    /// The longest answer that the server allows, in tokens.
    pub(super) longest_answer: Option<u32>,
    /// The longest answer that the account has credit for, in tokens, until an answer is accepted.
    pub(super) affordable: Option<u32>,
    /// The window of the server, learned from a refusal.
    pub(super) window: Option<KnownWindow>,
    pub(super) stream: bool,
}

/// Parameters that a request may do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Optional {
    pub(super) temperature: bool,
    pub(super) seed: bool,
    pub(super) tool_choice: bool,
    pub(super) stream_options: bool,
    /// `strict` in the form of an answer.
    pub(super) strict: bool,
    pub(super) effort: bool,
    /// Summaries of the reasoning.
    pub(super) summary: bool,
    /// Encrypted reasoning in answers of Responses.
    pub(super) include: bool,
    pub(super) cache_key: bool,
    /// Marks in messages of chat completions, up to which OpenRouter caches requests to Claude.
    pub(super) cache_marks: bool,
    pub(super) parallel_calls: bool,
    /// MiniMax is asked for the reasoning beside the text instead of within it.
    pub(super) reasoning_split: bool,
}

/// Form of messages. A change makes messages written earlier stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageForm {
    pub(super) ids: IdForm,
    /// Roles must alternate: words of the user after tool results or after other words of the user are merged with
    /// them.
    pub(super) alternate: bool,
    pub(super) empty_content: EmptyContent,
    pub(super) reasoning: ReasoningForm,
    /// Calls without a signature of Gemini get its placeholder signature.
    pub(super) skip_signature: bool,
    /// Gemini's calls and results carry ids.
    pub(super) ids_in_calls: bool,
    /// Tools are described in words, and calls are text.
    pub(super) calls_as_text: bool,
    pub(super) images: ImagesForm,
    /// Only the last images of a conversation are sent.
    pub(super) few_images: bool,
}

/// Places where images are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ImagesForm {
    /// In turns of the user and in results of tools.
    Anywhere,
    /// In turns of the user.
    InUserTurns,
    /// Nowhere: a sentence names the images that were left out.
    InWords,
}

/// Ids of tool calls that a server accepts. Other ids are replaced by a hash, the same one for the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IdForm {
    /// Any.
    Any,
    /// At most 40 of `A-Z a-z 0-9 _ -`.
    Forty,
    /// Exactly nine of `A-Z a-z 0-9`.
    Nine,
}

/// The content of a turn that holds calls and no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EmptyContent {
    Null,
    Empty,
    Absent,
}

/// Treatment of the reasoning in turns of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningForm {
    /// The reasoning that the server sent goes back.
    Returned,
    /// The reasoning goes back, and calls without reasoning get an empty one.
    Demanded,
    /// No reasoning goes back.
    Refused,
}

/// Form in which Anthropic's models receive the amount of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingForm {
    /// As a word, from Claude 4.6 on.
    Adaptive,
    /// As a number of tokens.
    Budget,
}

/// Treatment by the server of thinking that is bound to another conversation, such as one that was not yet shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignThinking {
    /// It refuses the request.
    Refused,
    /// It leaves the thinking out, as it was asked to.
    LeftOut,
    /// It refuses the request, and does not know the setting to leave the thinking out.
    AlwaysRefused,
}

/// In which form tools are offered: most as they are, some simplified, some not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolForms {
    pub(super) all_simplified: bool,
    pub(super) by_name: BTreeMap<String, ToolForm>,
}

/// The form of one tool that a server refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolForm {
    /// Without the keywords that servers are known to refuse.
    Simplified,
    /// The tool is not offered.
    LeftOut,
}

/// The name of the bound on the answer's tokens in chat completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaxTokens {
    /// `max_tokens`: most servers understand it.
    Classic,
    /// `max_completion_tokens`: OpenAI's newer models insist on it.
    Completion,
}

impl MaxTokens {
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::Classic => "max_tokens",
            Self::Completion => "max_completion_tokens",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Classic => Self::Completion,
            Self::Completion => Self::Classic,
        }
    }
}

impl Dialect {
    /// Returns the initial dialect.
    pub(super) fn new(provider: Provider, protocol: Protocol, model: &str, streaming: bool) -> Self {
        let openai = provider == Provider::OpenAi;
        let mistral = provider == Provider::Mistral;
        let reasoning =
            if matches!(provider, Provider::DeepSeek | Provider::Thinking) { ReasoningForm::Demanded } else { ReasoningForm::Returned };
        let form = MessageForm {
            ids: if mistral {
                IdForm::Nine
            } else if openai {
                IdForm::Forty
            } else {
                IdForm::Any
            },
            alternate: mistral,
            empty_content: if mistral { EmptyContent::Empty } else { EmptyContent::Null },
            reasoning,
            skip_signature: (provider == Provider::Gemini || protocol == Protocol::Gemini) && gemini::is_since_3(model),
            ids_in_calls: true,
            calls_as_text: false,
            images: ImagesForm::Anywhere,
            few_images: false,
        };
        let facts = model_facts(None, model);
        let claude = claude_version(model);
        let before_adaptive = claude.is_some_and(|version| version < (4, 6));
        let thinking = if before_adaptive { ThinkingForm::Budget } else { ThinkingForm::Adaptive };
        let by_budget = match protocol {
            Protocol::Messages => before_adaptive,
            Protocol::Gemini => model.rsplit('/').next().is_some_and(|name| name.starts_with("gemini-2.5")),
            Protocol::Responses | Protocol::Chat => false,
        };
        let optional = Optional {
            temperature: facts.sampling,
            seed: true,
            // Models of other makers refuse a forced call only while they think, or only on the servers of their makers.
            tool_choice: facts.forced_tool_choice || protocol != Protocol::Messages || claude.is_none(),
            stream_options: !mistral,
            strict: true,
            effort: true,
            summary: true,
            include: true,
            cache_key: openai,
            cache_marks: provider == Provider::OpenRouter && model.to_ascii_lowercase().contains("claude"),
            parallel_calls: true,
            reasoning_split: false,
        };
        let mut dialect = Self {
            protocol: Protocol::Chat,
            may_switch: false,
            before_switch: None,
            form,
            tools: ToolForms::default(),
            optional,
            efforts: effort::accepted_efforts(&facts.efforts, by_budget),
            thinking,
            thinking_switched: false,
            foreign_thinking: ForeignThinking::Refused,
            schema_as_tool: false,
            max_tokens: Some(if openai { MaxTokens::Completion } else { MaxTokens::Classic }),
            both_refused: false,
            longest_answer: None,
            affordable: None,
            window: None,
            stream: streaming,
        };
        dialect.speak(protocol, model);
        dialect
    }

    /// Goes over to a protocol.
    pub(super) fn speak(&mut self, protocol: Protocol, model: &str) {
        self.protocol = protocol;
        let name = model.rsplit('/').next().unwrap_or_default();
        // Results are text in chat completions, except on servers on which a turn of the user cannot follow results, and before Gemini 3.
        let in_results = match protocol {
            Protocol::Responses | Protocol::Messages => true,
            Protocol::Chat => self.form.alternate,
            Protocol::Gemini => gemini::is_since_3(model),
        };
        if self.form.images != ImagesForm::InWords {
            self.form.images = if in_results { ImagesForm::Anywhere } else { ImagesForm::InUserTurns };
        }
        if protocol == Protocol::Responses {
            self.form.ids = self.form.ids.max(IdForm::Forty);
            self.optional.cache_key = true;
            // Models that do not reason refuse reasoning settings; those that reason refuse sampling settings, also under a name that the
            // catalog does not know.
            let reasons = reasons(model);
            self.optional.summary = reasons;
            // Any other name may be that of a model that reasons, and nothing is stored there: its reasoning is lost if it is not sent.
            self.optional.include = !never_reasons(model);
            self.optional.temperature &= !reasons;
        }
        if protocol == Protocol::Messages {
            self.form.ids = self.form.ids.max(IdForm::Forty);
            let claude = claude_version(model);
            // These omit the text of their thinking unless the request asks for it.
            self.optional.summary = claude.is_some_and(|version| version >= (4, 7));
            self.schema_as_tool = claude.is_none_or(|version| version < (4, 5));
        }
        if protocol == Protocol::Gemini {
            self.optional.summary = gemini::is_since_3(model) || name.starts_with("gemini-2.5");
        }
    }
}

/// Returns true if the name is that of a model that is known not to reason: `gpt-4.1`, `gpt-3.5-turbo`,
/// `grok-4-fast-non-reasoning`.
fn never_reasons(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    let mut versions = name.match_indices("gpt-").filter_map(|(at, found)| name.get(at + found.len()..)?.chars().next());
    name.contains("non-reasoning") || (!reasons(model) && versions.any(|first| matches!(first, '3' | '4')))
}

/// Returns the number of a Claude: `claude-opus-4-7`, `claude-3-5-sonnet-20241022`, `claude-5`.
fn claude_version(model: &str) -> Option<(u32, u32)> {
    let name = model.rsplit('/').next()?.to_ascii_lowercase();
    let (_, rest) = name.split_once("claude-")?;
    // Dates are longer.
    let mut numbers = rest.split(['-', '.', '@']).filter(|part| part.len() <= 2).filter_map(|part| part.parse().ok());
    let major = numbers.next()?;
    Some((major, numbers.next().unwrap_or(0)))
}
