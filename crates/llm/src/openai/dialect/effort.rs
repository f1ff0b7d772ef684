//! Efforts that a model accepts, and the lessons from refusals of them.

use serde_json::{Map, Value};

use super::learn::{RefusedRequest, has_word};
use super::{Dialect, ForeignThinking, ThinkingForm};
use crate::openai::fault::Refusal;
use crate::{Effort, Protocol};

/// All efforts, in rising order.
pub(super) const ALL_EFFORTS: [Effort; 7] =
    [Effort::None, Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max];

/// Returns the efforts that a model accepts, in rising order: those that the catalog lists, or all if it lists none. A budget of thinking
/// may be any number of tokens, so for models that take one the list only tells whether they can go without thinking.
pub(super) fn accepted_efforts(listed: &[Effort], by_budget: bool) -> Vec<Effort> {
    let is_accepted = |effort: &Effort| listed.is_empty() || listed.contains(effort) || (by_budget && *effort != Effort::None);
    ALL_EFFORTS.into_iter().filter(is_accepted).collect()
}

impl Dialect {
    /// Returns the effort that a request asks for in place of the wanted one: the nearest that the model accepts, and the higher of two
    /// that are equally near. Thinking is switched off only on demand.
    pub(in crate::openai) fn nearest_effort(&self, wanted: Effort) -> Option<Effort> {
        let accepted = self.efforts.iter().rev().copied().filter(|effort| *effort != Effort::None || wanted == Effort::None);
        accepted.min_by_key(|effort| (*effort as u8).abs_diff(wanted as u8))
    }

    /// Learns from the refusal of one effort: `Unsupported value: 'minimal' is not supported … Supported values are: 'low' and 'high'.`,
    /// `Thinking level MINIMAL is not supported`, `"thinking.type.disabled" is not supported for this model`. If the refusal names efforts
    /// that are supported, the others are excluded, too.
    pub(super) fn learn_effort(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let (Some(effort), Some(written)) = (sent.effort, written_effort(sent.settings)) else { return false };
        let lower = refusal.lower.as_str();
        let refused = match written.as_str() {
            "disabled" => (lower.contains("disabled") || lower.contains("adaptive")).then(Vec::new),
            "none" if ["mandatory", "cannot be disabled"].iter().any(|words| lower.contains(words)) => Some(Vec::new()),
            _ if self.protocol == Protocol::Gemini => (lower.contains("thinking") && has_word(lower, &written)).then(Vec::new),
            _ => {
                let quoted = |word: &str| ["'", "\"", "`"].iter().any(|quote| lower.contains(&format!("{quote}{word}{quote}")));
                let others = self.efforts.iter().copied().filter(|other| other.as_str() != written);
                let named: Vec<Effort> = others.filter(|other| quoted(other.as_str())).collect();
                let about = |word: &str| lower.contains(word) || refusal.param.contains(word);
                let by_code = about("effort") && ["unsupported_value", "invalid_value"].iter().any(|code| refusal.codes.contains(code));
                let by_words = (about("effort") || about("reasoning")) && (quoted(&written) || !named.is_empty());
                (by_code || by_words).then_some(named)
            }
        };
        let Some(named) = refused else { return false };
        let before = self.efforts.len();
        self.efforts.retain(|other| *other != effort && (named.is_empty() || named.contains(other)));
        self.efforts.len() < before
    }

    /// Learns from `The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding…\``, and from a refusal
    /// of that setting.
    pub(super) fn learn_binding(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let is_about = ["block_binding", "thinking-binding-controls"].iter().any(|name| refusal.lower.contains(name));
        let thinks = sent.effort.is_some_and(|effort| effort != Effort::None);
        let next = match self.foreign_thinking {
            ForeignThinking::Refused => ForeignThinking::LeftOut,
            ForeignThinking::LeftOut => ForeignThinking::AlwaysRefused,
            ForeignThinking::AlwaysRefused => return false,
        };
        let learns = self.protocol == Protocol::Messages && is_about && thinks;
        if learns {
            self.foreign_thinking = next;
        }
        learns
    }

    /// Learns from the refusal of a form of thinking: the other form is tried, and after a second refusal no effort is sent.
    pub(super) fn learn_thinking(&mut self, refusal: &Refusal, sent: RefusedRequest<'_>) -> bool {
        let thinks = sent.effort.is_some_and(|effort| effort != Effort::None);
        let written = sent.settings.contains_key("thinking") || sent.settings.contains_key("output_config");
        let (words, other) = match self.thinking {
            ThinkingForm::Adaptive => (["adaptive", "effort"], ThinkingForm::Budget),
            ThinkingForm::Budget => (["adaptive", "thinking.type.enabled"], ThinkingForm::Adaptive),
        };
        if self.protocol != Protocol::Messages || !thinks || !written || !words.iter().any(|word| refusal.lower.contains(word)) {
            return false;
        }
        if std::mem::replace(&mut self.thinking_switched, true) {
            return std::mem::replace(&mut self.optional.effort, false);
        }
        self.thinking = other;
        true
    }
}

/// Returns true if a refusal demands thinking in a turn of the history: "Expected `thinking` or `redacted_thinking`", "`thinking` or
/// `redacted_thinking` blocks in the latest assistant message cannot be modified".
pub(super) fn demands_thinking(refusal: &Refusal) -> bool {
    let lower = refusal.lower.as_str();
    lower.contains("expected `thinking`") || (lower.contains("`thinking`") && lower.contains("cannot be modified"))
}

/// Returns the word or the number by which a request asks for its effort.
fn written_effort(settings: &Map<String, Value>) -> Option<String> {
    let member = |outer: &str, inner: &str| settings.get(outer).and_then(|outer| outer.get(inner));
    let thinking = member("generationConfig", "thinkingConfig");
    let written = settings
        .get("reasoning_effort")
        .or_else(|| member("reasoning", "effort"))
        .or_else(|| member("output_config", "effort"))
        .or_else(|| thinking?.get("thinkingLevel"))
        .or_else(|| thinking?.get("thinkingBudget"))
        .or_else(|| member("thinking", "type").filter(|kind| kind.as_str() == Some("disabled")))?;
    Some(written.as_str().map_or_else(|| written.to_string(), str::to_lowercase))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Provider;

    /// Returns the dialect after the refusal of a request with this effort; `None` if nothing was learned.
    fn learned(dialect: &Dialect, effort: Effort, settings: &Value, message: &str) -> Option<Dialect> {
        let mut dialect = dialect.clone();
        let param = if settings.get("reasoning").is_some() { "reasoning.effort".to_owned() } else { String::new() };
        let refusal = Refusal { status: 400, message: message.to_owned(), lower: message.to_lowercase(), param, ..Refusal::default() };
        let sent = RefusedRequest {
            settings: settings.as_object().unwrap(),
            tools: &[],
            open_form: true,
            wordless: false,
            effort: Some(effort),
            images: None,
            native: false,
            estimated: 1,
            bound: None,
        };
        (dialect.learn_binding(&refusal, sent) || dialect.learn_effort(&refusal, sent) || dialect.learn_thinking(&refusal, sent))
            .then_some(dialect)
    }

    fn claude(model: &str) -> Dialect {
        Dialect::new(Provider::Anthropic, Protocol::Messages, model, true)
    }

    #[test]
    fn the_nearest_accepted_effort_is_sent() {
        use Effort::{High, Low, Max, Medium, Minimal, None as Off, XHigh};
        let cases = [
            ("gpt-5.6-terra", Minimal, Some(Low)),
            ("gpt-5.6-terra", Off, Some(Off)),
            ("gpt-5-mini", Off, Some(Minimal)),
            ("gpt-5-mini", Max, Some(High)),
            ("claude-sonnet-5-5", Off, Some(Low)),
            ("claude-opus-5-5", Off, Some(Low)),
            ("claude-opus-5", Off, Some(Off)),
            ("claude-opus-4-7", XHigh, Some(XHigh)),
            ("claude-opus-4-6", XHigh, Some(Max)),
            ("deepseek-v4-pro", Medium, Some(High)),
            ("mistral-medium-latest", Minimal, Some(High)),
            ("gemini-3-pro", Medium, Some(High)),
            ("nobody-knows-it", Minimal, Some(Minimal)),
            ("nobody-knows-it", Off, Some(Off)),
        ];
        for (model, wanted, sent) in cases {
            let dialect = Dialect::new(Provider::Other, Protocol::Chat, model, true);
            assert_eq!(dialect.nearest_effort(wanted), sent, "{wanted:?} of {model}");
        }
        let silent = Dialect { efforts: vec![Off], ..claude("m") };
        assert_eq!((silent.nearest_effort(Low), silent.nearest_effort(Off)), (None, Some(Off)));
    }

    #[test]
    fn a_budget_may_be_any_effort_but_none() {
        use Effort::{High, Low, Max, Medium, Minimal, None as Off, XHigh};
        let cases = [
            (Protocol::Messages, "claude-sonnet-4-5", Max, Some(Max)),
            (Protocol::Messages, "claude-sonnet-4-5", Minimal, Some(Minimal)),
            (Protocol::Messages, "claude-3-7-sonnet-20250219", XHigh, Some(XHigh)),
            (Protocol::Messages, "claude-haiku-4-5", Off, Some(Off)),
            (Protocol::Messages, "claude-opus-4-6", XHigh, Some(Max)),
            (Protocol::Chat, "anthropic/claude-sonnet-4.5", Max, Some(High)),
            (Protocol::Gemini, "gemini-2.5-flash", Off, Some(Off)),
            (Protocol::Gemini, "models/gemini-2.5-pro", Off, Some(Minimal)),
            (Protocol::Gemini, "gemini-2.5-pro", Medium, Some(Medium)),
            (Protocol::Gemini, "gemini-3-pro", Minimal, Some(Low)),
        ];
        for (protocol, model, wanted, sent) in cases {
            let dialect = Dialect::new(Provider::Other, protocol, model, true);
            assert_eq!(dialect.nearest_effort(wanted), sent, "{wanted:?} of {model}");
        }
    }

    #[test]
    fn a_refused_value_is_excluded_and_no_other() {
        use Effort::{High, Low, Max, Medium, Minimal, None as Off, XHigh};
        let (chat, responses) = ((Provider::Other, Protocol::Chat), (Provider::OpenAi, Protocol::Responses));
        let (messages, gemini) = ((Provider::Other, Protocol::Messages), (Provider::Gemini, Protocol::Gemini));
        let openai = "Unsupported value: 'minimal' is not supported with the 'm' model. Supported values are: 'none', 'low', and 'high'.";
        let cases: [(_, Effort, Value, &str, &[Effort]); 9] = [
            (
                chat,
                Off,
                json!({"reasoning": {"effort": "none"}}),
                "Reasoning is mandatory for this endpoint and cannot be disabled.",
                &[Minimal, Low, Medium, High, XHigh, Max],
            ),
            (responses, Minimal, json!({"reasoning": {"effort": "minimal", "summary": "auto"}}), openai, &[Off, Low, High]),
            (chat, Medium, json!({"reasoning_effort": "medium"}), "reasoning_effort must be one of `none`, `default`", &[Off]),
            (
                chat,
                XHigh,
                json!({"reasoning": {"effort": "xhigh"}}),
                "invalid reasoning value: 'xhigh'",
                &[Off, Minimal, Low, Medium, High, Max],
            ),
            (
                messages,
                Max,
                json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
                "This model does not support effort level 'max'. Supported levels: high, low, medium.",
                &[Off, Minimal, Low, Medium, High, XHigh],
            ),
            (
                messages,
                Off,
                json!({"thinking": {"type": "disabled"}}),
                "\"thinking.type.disabled\" is not supported for this model.",
                &[Minimal, Low, Medium, High, XHigh, Max],
            ),
            (
                gemini,
                Minimal,
                json!({"generationConfig": {"thinkingConfig": {"thinkingLevel": "minimal"}}}),
                "Thinking level MINIMAL is not supported for this model.",
                &[Off, Low, Medium, High, XHigh, Max],
            ),
            (
                gemini,
                Off,
                json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
                "Budget 0 is invalid. This model only works in thinking mode.",
                &[Minimal, Low, Medium, High, XHigh, Max],
            ),
            (chat, High, json!({"reasoning_effort": "high"}), "Unsupported parameter: 'reasoning_effort'", &ALL_EFFORTS),
        ];
        for ((provider, protocol), effort, settings, message, left) in cases {
            let dialect = Dialect::new(provider, protocol, "m", true);
            let expected = Dialect { efforts: left.to_vec(), ..dialect.clone() };
            assert_eq!(learned(&dialect, effort, &settings, message), (left != ALL_EFFORTS).then_some(expected), "{message}");
        }
    }

    #[test]
    fn a_refusal_of_disabled_thinking_keeps_the_form() {
        let words = "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \
                     \"output_config.effort\" to control thinking behavior.";
        let dialect = claude("m");
        let after = learned(&dialect, Effort::None, &json!({"thinking": {"type": "disabled"}}), words).unwrap();
        assert_eq!((after.thinking, after.nearest_effort(Effort::None)), (ThinkingForm::Adaptive, Some(Effort::Minimal)));
        assert_eq!(after.nearest_effort(Effort::High), Some(Effort::High));
    }

    #[test]
    fn two_refused_forms_of_thinking_end_the_effort() {
        let adaptive = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}});
        let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}});
        let after = learned(&claude("m"), Effort::High, &adaptive, "This model does not support the effort parameter.").unwrap();
        assert_eq!((after.thinking, after.optional.effort), (ThinkingForm::Budget, true));
        let words = "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\".";
        let after = learned(&after, Effort::High, &budget, words).unwrap();
        assert!(!after.optional.effort);
        assert_eq!(learned(&after, Effort::High, &budget, words), None);
    }
    #[test]
    fn thinking_of_another_conversation_is_left_out_on_demand() {
        let settings = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}});
        let bound = "messages.5.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove \
                     the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";
        let after = learned(&claude("m"), Effort::High, &settings, bound).unwrap();
        assert_eq!((after.foreign_thinking, after.thinking), (ForeignThinking::LeftOut, ThinkingForm::Adaptive));
        let after = learned(&after, Effort::High, &settings, "thinking.adaptive.block_binding: Extra inputs are not permitted").unwrap();
        assert_eq!(after.foreign_thinking, ForeignThinking::AlwaysRefused);
        assert_eq!(learned(&after, Effort::High, &settings, bound), None);
    }
}
