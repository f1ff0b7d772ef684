//! Settings for classes of models: how much of a result a model sees, and how its actors work.

use aime_llm::ModelLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cut::MAX_SHOWN_CHARS;

/// Approximate number of characters in a token.
const CHARS_PER_TOKEN: usize = 4;
/// Divisor of the context window: a result above [`MAX_SHOWN_CHARS`] fills at most an eighth of it.
const LARGEST_PART: usize = 8;
/// Maximum characters of files that one call shows, for any context window.
const MOST_OF_FILES: usize = 100_000;

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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModelClass {
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
            output_characters: self.output_characters.unwrap_or(usual.output_characters),
            file_share: self.file_share.unwrap_or(usual.file_share),
            look_share: self.look_share.unwrap_or(usual.look_share),
            line_numbers: self.line_numbers.unwrap_or(usual.line_numbers),
            max_steps: self.max_steps.unwrap_or(usual.max_steps),
            step_notes: self.step_notes.unwrap_or(usual.step_notes),
            retry_reported_failures: self.retry_reported_failures.unwrap_or(usual.retry_reported_failures),
        }
    }
}

impl Default for ModelClasses {
    fn default() -> Self {
        Self {
            small: ModelClass {
                output_characters: MAX_SHOWN_CHARS,
                file_share: 0.0,
                look_share: 0.0,
                line_numbers: false,
                max_steps: 20,
                step_notes: true,
                retry_reported_failures: true,
            },
            capable: ModelClass {
                output_characters: 30_000,
                file_share: 0.1,
                look_share: 0.5,
                line_numbers: true,
                max_steps: 100,
                step_notes: false,
                retry_reported_failures: false,
            },
        }
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
        self.output_characters.min((window(model) / LARGEST_PART).max(MAX_SHOWN_CHARS))
    }

    /// Returns the maximum number of characters of files that one `read_file` call shows the model.
    #[must_use]
    pub fn file_limit(&self, model: ModelLimits) -> usize {
        let share = usize::try_from(part(self.file_share, model.context_tokens)).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
        share.min(MOST_OF_FILES).max(self.output_limit(model))
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
