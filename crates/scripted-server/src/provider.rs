//! Model services that the server can imitate.

use serde::{Deserialize, Serialize};

use crate::view::Protocol;

/// A model service whose formats and checks the server imitates.
///
/// The provider decides which protocols are served, the form of reasoning in chat completions, which ids calls get, and which requests are
/// refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Provider {
    /// An unnamed compatible server: it only checks that each tool call is paired with its result.
    #[default]
    Generic,
    /// OpenAI: chat completions and the Responses API.
    #[serde(rename = "openai")]
    OpenAi,
    /// DeepSeek: reasoning in `reasoning_content`.
    #[serde(rename = "deepseek")]
    DeepSeek,
    /// OpenRouter in front of Claude: reasoning in `reasoning` and `reasoning_details`.
    #[serde(rename = "openrouter")]
    OpenRouter,
    /// Gemini: its own protocol, and its compatible endpoint with thought signatures in `extra_content`.
    Gemini,
    /// Anthropic's Messages: signed thinking blocks.
    Anthropic,
    /// Mistral: thinking parts in the content.
    Mistral,
}

impl Provider {
    /// Returns true if the service supports a protocol.
    ///
    /// DeepSeek and OpenRouter have Anthropic's Messages, too, and Anthropic has chat completions.
    pub(crate) fn speaks(self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Chat => true,
            Protocol::Responses => matches!(self, Self::Generic | Self::OpenAi | Self::OpenRouter),
            Protocol::Messages => matches!(self, Self::Generic | Self::Anthropic | Self::DeepSeek | Self::OpenRouter),
            Protocol::Gemini => matches!(self, Self::Generic | Self::Gemini),
        }
    }

    /// Returns the id of a call without an id in the script. All providers but the generic one give each call of a server a unique id.
    pub(crate) fn call_id(self, turn: usize, reply: usize, index: usize) -> String {
        match self {
            Self::Generic => format!("call_{turn}_{index}"),
            Self::Mistral => format!("c{:06}{:02}", reply % 1_000_000, index % 100),
            Self::Gemini => format!("function-call-{reply}{index:02}"),
            Self::OpenRouter | Self::Anthropic => format!("toolu_{reply}_{index}"),
            Self::OpenAi | Self::DeepSeek => format!("call_{reply}_{index}"),
        }
    }
}
