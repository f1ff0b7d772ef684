//! Context window that a server reports when a request does not fit, and the longest answer that it allows.

use super::Dialect;
use super::learn::RefusedRequest;
use crate::openai::fault::Refusal;

/// A window that a server named, and how its count of a request compared with the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::openai) struct KnownWindow {
    /// Tokens of request and answer together.
    pub(super) tokens: u64,
    /// Number of tokens that the server counts for 1,000 estimated ones.
    pub(super) per_mille: u64,
}

/// Room between the counted request and the end of the window: templates add a few tokens.
const MARGIN: u64 = 64;
/// A shorter answer is not worth asking for.
const MIN_ANSWER_TOKENS: u64 = 256;

impl KnownWindow {
    pub(super) fn new(reported: ReportedLimits, estimated: u64) -> Self {
        Self { tokens: reported.window, per_mille: (reported.input.saturating_mul(1_000) / estimated.max(1)).clamp(200, 5_000) }
    }

    /// Returns the longest answer that fits beside a request of so many estimated tokens; `None` where too little is
    /// left for any.
    pub(in crate::openai) fn room_beside(self, estimated: u64) -> Option<u32> {
        let input = estimated.saturating_mul(self.per_mille) / 1_000;
        let room = self.tokens.checked_sub(input.saturating_add(MARGIN))?;
        (room >= MIN_ANSWER_TOKENS).then(|| u32::try_from(room).unwrap_or(u32::MAX))
    }
}

impl Dialect {
    /// Learns from a refusal whose bound on the answer, or request and bound together, are too large.
    pub(super) fn learn_window(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let Some(bound) = sent.bound else { return false };
        let limits = parse_limits(&refusal.message).or_else(|| parse_sum(&refusal.message, sent.estimated, u64::from(bound)));
        if let Some(limits) = limits {
            let known = KnownWindow::new(limits, sent.estimated);
            let lowers = known.room_beside(sent.estimated).is_some_and(|room| room < bound);
            if lowers {
                self.window = Some(known);
            }
            return lowers;
        }
        let about_bound = ["max_tokens", "max_completion_tokens", "max_output_tokens"].iter().any(|name| refusal.names(name));
        match longest_answer(&refusal.message).filter(|longest| about_bound && *longest < bound) {
            Some(longest) => {
                let known = if refusal.status == 402 { &mut self.affordable } else { &mut self.longest_answer };
                *known = Some(longest);
                true
            }
            None => false,
        }
    }
}

/// Numbers in a refusal: the window, and the tokens of the request itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReportedLimits {
    pub(super) window: u64,
    pub(super) input: u64,
}

/// Reads the numbers of a refusal in the words of vLLM, SGLang, OpenAI, OpenRouter and Anthropic.
pub(super) fn parse_limits(message: &str) -> Option<ReportedLimits> {
    let lower = message.to_lowercase();
    // `190000 + 20000 > 200000`, as Anthropic writes it.
    if let Some((sum, window)) = lower.split_once(" > ")
        && let Some((input, _)) = sum.rsplit_once(" + ")
        && lower.contains("exceed context limit")
    {
        return Some(ReportedLimits { window: first_number(window)?, input: last_number(input)? });
    }
    let window = ["context length is only ", "context length is ", "context length of ", "context window of ", "context size of "]
        .iter()
        .find_map(|words| first_number(lower.split_once(words)?.1))?;
    let before = ["in the messages", "of text input", "input tokens", "tokens from the input messages", "in the prompt", "prompt tokens"];
    let input = before.iter().find_map(|words| last_number(lower.split_once(words)?.0))?;
    Some(ReportedLimits { window, input })
}

/// Reads the numbers of a refusal in the words of Kimi: `exceeded model token limit: 262144 (requested: 269030)`. It does not say whether the
/// bound on the answer is a part of the sum, so the estimate of the request decides.
fn parse_sum(message: &str, estimated: u64, bound: u64) -> Option<ReportedLimits> {
    let (_, limit) = message.split_once("exceeded model token limit: ")?;
    let sum = first_number(limit.split_once("requested: ")?.1)?;
    let without_answer = sum.saturating_sub(bound);
    let holds_answer = estimated.abs_diff(without_answer) < estimated.abs_diff(sum);
    Some(ReportedLimits { window: first_number(limit)?, input: if holds_answer { without_answer } else { sum } })
}

/// Returns the number at the beginning of a text.
fn first_number(text: &str) -> Option<u64> {
    let digits: String = text
        .trim_start_matches(|c: char| c.is_whitespace() || c == '`')
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ',')
        .filter(|c| *c != ',')
        .collect();
    digits.parse().ok()
}

/// Returns the number at the end of a text, or before its last word.
fn last_number(text: &str) -> Option<u64> {
    let number = |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit()).replace(',', "").parse().ok();
    text.split_whitespace().rev().take(2).find_map(number)
}

/// Returns the longest answer that a server names: `supports at most 16384 completion tokens`, `must be less than or
/// equal to 8192`.
pub(super) fn longest_answer(message: &str) -> Option<u32> {
    let lower = message.to_lowercase();
    let words = [
        "can only afford ",
        "at most ",
        "less than or equal to ",
        "valid range of max_tokens is [1, ",
        "range of max_tokens should be [1, ",
        "range: [1, ",
        "maximum allowed number of output tokens of ",
        "maximum value is ",
        "> ",
    ];
    words
        .iter()
        .find_map(|words| first_number(lower.split_once(words)?.1))
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read_in_every_wording() {
        let cases = [
            (
                "This model's maximum context length is 4096 tokens. However, you requested 4608 tokens (512 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
                Some((4096, 512)),
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 512 input tokens (4096 > 4096 - 512).",
                Some((4096, 512)),
            ),
            (
                "You passed 512 input tokens and requested 4096 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 0 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=512)",
                Some((4096, 512)),
            ),
            (
                "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 33000 tokens: 30000 tokens from the input messages and 3000 tokens for the completion.",
                Some((32768, 30000)),
            ),
            (
                "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, 10000 in the output).",
                Some((131_072, 130_000)),
            ),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
                Some((200_000, 190_000)),
            ),
            ("the request exceeds the available context size. try increasing the context size or enable context shift", None),
        ];
        for (message, expected) in cases {
            assert_eq!(parse_limits(message).map(|limits| (limits.window, limits.input)), expected, "{message}");
        }
    }

    #[test]
    fn the_estimate_decides_what_a_sum_holds() {
        let kimi = "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)";
        let cases = [
            (kimi, 235_000, Some((262_144, 236_262))),
            (kimi, 268_000, Some((262_144, 269_030))),
            ("exceeded model token limit: 262144", 1, None),
        ];
        for (message, estimated, expected) in cases {
            let limits = parse_sum(message, estimated, 32_768).map(|limits| (limits.window, limits.input));
            assert_eq!(limits, expected, "{message} {estimated}");
        }
    }

    #[test]
    fn longest_answers_are_read() {
        let cases = [
            (
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
                Some(16_384),
            ),
            ("`max_tokens` must be less than or equal to `8192`", Some(8_192)),
            ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", Some(8_192)),
            ("max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens", Some(8_192)),
            ("Range of max_tokens should be [1, 32768]", Some(32_768)),
            (
                "This request requires more credits, or fewer max_tokens. You requested up to 128000 tokens, but can only afford 30104. To increase, visit https://openrouter.ai/settings/credits",
                Some(30_104),
            ),
            ("max_tokens is not supported", None),
        ];
        for (message, expected) in cases {
            assert_eq!(longest_answer(message), expected, "{message}");
        }
    }

    #[test]
    fn an_answer_gets_what_is_left_of_the_window() {
        let window = KnownWindow::new(ReportedLimits { window: 4_096, input: 512 }, 256);
        assert_eq!(window.room_beside(256), Some(4_096 - 512 - 64));
        assert_eq!(window.room_beside(2_000), None);
    }
}
