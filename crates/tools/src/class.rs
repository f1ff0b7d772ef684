//! Settings for classes of models: whether a model leads, how much of a result it sees, and how its actors work.

use aime_llm::ModelLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cut::MAX_SHOWN_CHARS;

/// Approximate number of characters in a token.
const CHARS_PER_TOKEN: usize = 4;
/// Divisor of the context window: a result above [`MAX_SHOWN_CHARS`] fills at most an eighth of it.
const MAX_PART: usize = 8;
/// Maximum characters of files that one call shows, for any context window.
const MAX_OF_FILES: usize = 100_000;

/// Settings for each class of models.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "GivenClasses")]
#[schemars(with = "GivenClasses")]
pub struct ModelClasses {
    /// Models of some four billion parameters or fewer.
    pub small: ModelClass,
    /// All others.
    pub capable: ModelClass,
}

/// Settings for one class of models.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelClass {
    /// If true, the model plans in one conversation, in which it looks at the folder and remembers. If false, each plan and each change of it is
    /// one answer with a schema.
    pub leads: bool,
    /// If true, an auditor with tools judges criteria in words. If false, one question does.
    pub audits: bool,
    /// Number of characters of a result that the model sees. The whole result is kept in a file.
    pub output_characters: usize,
    /// Share of the context window that one `read_file` call may fill, if that is more.
    pub file_share: f64,
    /// Share of the context window that the results of a lead's looking may fill in one wake, while others do the work.
    pub look_share: f64,
    /// If true, `read_file` numbers the lines.
    pub line_numbers: bool,
    /// Maximum number of model responses per actor, unless the run or the profile sets another limit.
    pub max_steps: u32,
    /// If true, a note on how to continue follows each round of results.
    pub step_notes: bool,
    /// If true, a task whose actor reports failure is retried.
    pub retry_reported_failures: bool,
    /// If true, actors get the few tools and the short prompt of the small-model variant of their profile, and tool definitions with fewer
    /// parameters; single requests for plans have the short prompt without edges.
    pub simple_tools: bool,
    /// If true, a command that ends with an exit code other than 0 counts as a failed call of its tool: after some in a row a hint names other
    /// tools.
    pub exit_codes_are_failures: bool,
    /// If true, the request after repeated identical calls does not offer their tool, and a request for the conclusion offers only the tool that
    /// ends the actor. If false, the list of tools never changes, so that caches of prompts hit, and a tool choice demands the conclusion.
    pub narrow_tools: bool,
    /// Number of failed calls in a row after which the actor is asked for its conclusion only; 0 for never.
    pub failures_before_conclusion: u32,
    /// If true, an actor that reports failure after a failed call, before any call succeeded, is asked once to try another way.
    pub refuse_early_failure: bool,
    /// Maximum number of times that an actor that ends is reminded of files that its task names and no call has named.
    pub file_reminders: u32,
    /// If true, a plain answer before any call to a task that names work, such as "fix", is asked back once.
    pub ask_for_work: bool,
    /// Number of characters of the last informative result that the conclusion keeps for later tasks; 0 for none.
    pub last_result_characters: usize,
    /// Number of characters of the last failed call that are added to a reported failure; 0 for none.
    pub last_error_characters: usize,
    /// If true, compaction keeps the beginning of each result that it removes, and says how to have the whole again.
    pub keep_beginnings: bool,
}

/// Settings as a user gives them; each is optional.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct GivenClasses {
    /// Models of some four billion parameters or fewer.
    small: GivenClass,
    /// All others.
    capable: GivenClass,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct GivenClass {
    /// True if the model plans in one conversation, in which it looks and remembers; otherwise each plan is one answer with a schema.
    leads: Option<bool>,
    /// True if an auditor with tools judges criteria in words; otherwise one question does.
    audits: Option<bool>,
    /// Characters of a result that the model sees; the whole result is kept.
    output_characters: Option<usize>,
    /// Share of the context window that one call of `read_file` may fill, if that is more.
    file_share: Option<f64>,
    /// Share of the context window that the results of a lead's looking may fill in one wake, while others do the work.
    look_share: Option<f64>,
    /// True if `read_file` numbers the lines.
    line_numbers: Option<bool>,
    /// Maximum number of model answers for an actor, unless the run or its profile has another bound.
    max_steps: Option<u32>,
    /// True if a note on how to go on follows each round of results.
    step_notes: Option<bool>,
    /// True if a task is retried when its actor reports failure.
    retry_reported_failures: Option<bool>,
    /// True if actors get few tools, with short prompts and fewer parameters, and single requests for plans a short prompt.
    simple_tools: Option<bool>,
    /// True if a command with an exit code other than 0 counts as a failed call, after which a hint names other tools.
    exit_codes_are_failures: Option<bool>,
    /// True if the request after repeated calls does not offer their tool, and a request for the conclusion offers no other.
    narrow_tools: Option<bool>,
    /// Failed calls in a row after which the actor may only conclude; 0 for never.
    failures_before_conclusion: Option<u32>,
    /// True if an actor that reports failure before any call succeeded is asked once to try another way.
    refuse_early_failure: Option<bool>,
    /// Reminders of files that the task names and no call has named.
    file_reminders: Option<u32>,
    /// True if a plain answer to a task that names work is asked back once.
    ask_for_work: Option<bool>,
    /// Characters of the last result that the conclusion keeps for later tasks; 0 for none.
    last_result_characters: Option<usize>,
    /// Characters of the last failed call that are added to a reported failure; 0 for none.
    last_error_characters: Option<usize>,
    /// True if compaction keeps the beginning of each result that it removes.
    keep_beginnings: Option<bool>,
}

impl From<GivenClasses> for ModelClasses {
    fn from(given: GivenClasses) -> Self {
        let Self { small, capable } = Self::default();
        Self { small: given.small.or(small), capable: given.capable.or(capable) }
    }
}

impl GivenClass {
    fn or(self, usual: ModelClass) -> ModelClass {
        ModelClass {
            leads: self.leads.unwrap_or(usual.leads),
            audits: self.audits.unwrap_or(usual.audits),
            output_characters: self.output_characters.unwrap_or(usual.output_characters),
            file_share: self.file_share.unwrap_or(usual.file_share),
            look_share: self.look_share.unwrap_or(usual.look_share),
            line_numbers: self.line_numbers.unwrap_or(usual.line_numbers),
            max_steps: self.max_steps.unwrap_or(usual.max_steps),
            step_notes: self.step_notes.unwrap_or(usual.step_notes),
            retry_reported_failures: self.retry_reported_failures.unwrap_or(usual.retry_reported_failures),
            simple_tools: self.simple_tools.unwrap_or(usual.simple_tools),
            exit_codes_are_failures: self.exit_codes_are_failures.unwrap_or(usual.exit_codes_are_failures),
            narrow_tools: self.narrow_tools.unwrap_or(usual.narrow_tools),
            failures_before_conclusion: self.failures_before_conclusion.unwrap_or(usual.failures_before_conclusion),
            refuse_early_failure: self.refuse_early_failure.unwrap_or(usual.refuse_early_failure),
            file_reminders: self.file_reminders.unwrap_or(usual.file_reminders),
            ask_for_work: self.ask_for_work.unwrap_or(usual.ask_for_work),
            last_result_characters: self.last_result_characters.unwrap_or(usual.last_result_characters),
            last_error_characters: self.last_error_characters.unwrap_or(usual.last_error_characters),
            keep_beginnings: self.keep_beginnings.unwrap_or(usual.keep_beginnings),
        }
    }
}

impl ModelClass {
    /// Default settings of small models.
    const SMALL: Self = Self {
        leads: false,
        audits: false,
        output_characters: MAX_SHOWN_CHARS,
        file_share: 0.0,
        look_share: 0.0,
        line_numbers: false,
        max_steps: 20,
        step_notes: true,
        retry_reported_failures: true,
        simple_tools: true,
        exit_codes_are_failures: true,
        narrow_tools: true,
        failures_before_conclusion: 6,
        refuse_early_failure: true,
        file_reminders: 3,
        ask_for_work: false,
        last_result_characters: 600,
        last_error_characters: 200,
        keep_beginnings: false,
    };
    /// Default settings of all others.
    const CAPABLE: Self = Self {
        leads: true,
        audits: true,
        output_characters: 30_000,
        file_share: 0.1,
        look_share: 0.5,
        line_numbers: true,
        max_steps: 100,
        step_notes: false,
        retry_reported_failures: false,
        simple_tools: false,
        exit_codes_are_failures: false,
        narrow_tools: false,
        failures_before_conclusion: 0,
        refuse_early_failure: false,
        file_reminders: 0,
        ask_for_work: true,
        last_result_characters: 0,
        last_error_characters: 0,
        keep_beginnings: true,
    };
}

impl Default for ModelClass {
    /// Returns the settings of capable models.
    fn default() -> Self {
        Self::CAPABLE
    }
}

impl Default for ModelClasses {
    fn default() -> Self {
        Self { small: ModelClass::SMALL, capable: ModelClass::CAPABLE }
    }
}

impl ModelClasses {
    /// Returns the settings for a model.
    #[must_use]
    pub const fn of(&self, model: ModelLimits) -> ModelClass {
        if model.small { self.small } else { self.capable }
    }
}

impl ModelClass {
    /// Returns the maximum number of characters of a result that a model with these limits sees.
    #[must_use]
    pub fn output_limit(&self, model: ModelLimits) -> usize {
        self.output_characters.min((window(model) / MAX_PART).max(MAX_SHOWN_CHARS))
    }

    /// Returns the maximum number of characters of files that one `read_file` call shows the model.
    #[must_use]
    pub fn file_limit(&self, model: ModelLimits) -> usize {
        let share = usize::try_from(part(self.file_share, model.context_tokens)).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
        share.min(MAX_OF_FILES).max(self.output_limit(model))
    }

    /// Returns the maximum number of tokens of results for which a lead may look in one wake, while others do the work.
    #[must_use]
    pub fn look_limit(&self, model: ModelLimits) -> u64 {
        part(self.look_share, model.context_tokens)
    }
}

/// Returns a share, from 0 to 1, of a number of tokens.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a number that fits")]
fn part(share: f64, tokens: u32) -> u64 {
    (f64::from(tokens) * share.clamp(0.0, 1.0)) as u64
}

/// Returns the size of the context window in characters.
fn window(model: ModelLimits) -> usize {
    usize::try_from(model.context_tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_may_be_left_out() {
        let given: ModelClasses = serde_json::from_str(r#"{"capable": {"file_share": 0.2}}"#).unwrap();
        let mut expected = ModelClasses::default();
        expected.capable.file_share = 0.2;
        assert_eq!(given, expected);
        assert_eq!(serde_json::from_value::<ModelClasses>(serde_json::to_value(given).unwrap()).unwrap(), given);
    }

    #[test]
    fn limits_follow_the_window_and_the_class() {
        let table = [
            // Columns: tokens, small, characters of a result, characters of files, tokens of looking.
            (8_192, true, 10_000, 10_000, 0),
            (131_072, true, 10_000, 10_000, 0),
            (8_192, false, 10_000, 10_000, 4_096),
            (32_768, false, 16_384, 16_384, 16_384),
            (128_000, false, 30_000, 51_200, 64_000),
            (1_000_000, false, 30_000, 100_000, 500_000),
        ];
        for (context_tokens, small, output, files, look) in table {
            let model = ModelLimits { context_tokens, small, ..ModelLimits::default() };
            let class = ModelClasses::default().of(model);
            let limits = (class.output_limit(model), class.file_limit(model), class.look_limit(model));
            assert_eq!(limits, (output, files, look), "{context_tokens} {small}");
        }
    }
}
