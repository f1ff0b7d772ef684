//! Facts about models, derived from their names.

/// Returns the major and minor version of a GPT, wherever in the name it is: `openai/gpt-5.6-terra` is (5, 6).
pub(crate) fn gpt_version(model: &str) -> Option<(u32, u32)> {
    let (_, version) = model.split_once("gpt-")?;
    let mut numbers = version.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.split('.');
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

/// Returns true if the model is one of OpenAI's reasoning models: `o1` and the like, and GPTs from 5 on except their chat variants.
pub(crate) fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let numbered = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    numbered || (gpt_version(name).is_some_and(|(major, _)| major >= 5) && !name.contains("-chat"))
}

/// Returns true if the model is known to be one of OpenAI's that do not reason.
pub(crate) fn never_reasons(model: &str) -> bool {
    !reasons(model) && gpt_version(model).is_some()
}

/// Returns true for Gemini 3 and later.
pub(crate) fn is_gemini_3(model: &str) -> bool {
    gemini_version(model).is_some_and(|major| major >= 3)
}

/// Returns true for Gemini models before 3. A name without a version, such as `gemini-flash-latest`, returns false.
pub(crate) fn is_before_gemini_3(model: &str) -> bool {
    gemini_version(model).is_some_and(|major| major < 3)
}

fn gemini_version(model: &str) -> Option<u32> {
    let (_, version) = model.split_once("gemini-")?;
    version.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// A Claude model, parsed from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claude<'a> {
    /// `opus`, `sonnet`, `haiku`, `fable` or `mythos`.
    pub(crate) family: &'a str,
    pub(crate) version: (u32, u32),
}

impl<'a> Claude<'a> {
    /// Parses a name: `claude-opus-4-7`, `anthropic/claude-opus-4.7` and `claude-3-7-sonnet-latest` have a version.
    pub(crate) fn named(model: &'a str) -> Option<Self> {
        let (_, name) = model.split_once("claude-")?;
        let words = || name.split(['-', '.']);
        let family = words().find(|word| matches!(*word, "opus" | "sonnet" | "haiku" | "fable" | "mythos"))?;
        // Longer numbers are dates.
        let mut numbers = words().filter(|word| word.len() <= 2).filter_map(|word| word.parse().ok());
        Some(Self { family, version: (numbers.next()?, numbers.next().unwrap_or(0)) })
    }

    /// Returns true if the model accepts no sampling parameters and no thinking budget, and omits the text of its thinking unless asked
    /// (<https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-7>).
    pub(crate) fn only_adapts(self) -> bool {
        self.version >= (4, 7)
    }

    /// Returns true if the model can decide itself how much to think
    /// (<https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>).
    pub(crate) fn adapts(self) -> bool {
        self.version >= (4, 6)
    }

    /// Returns true if thinking cannot be switched off
    /// (<https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html>).
    pub(crate) fn always_thinks(self) -> bool {
        match self.family {
            "fable" | "mythos" => true,
            "opus" | "sonnet" => self.version >= (5, 5),
            _ => false,
        }
    }

    /// Returns true if the model binds its thinking to the prompt (<https://platform.claude.com/docs/en/models/fable-5-1/migration-guide>).
    pub(crate) fn binds(self) -> bool {
        match self.family {
            "fable" | "mythos" => self.version >= (5, 1),
            _ => self.version >= (5, 5),
        }
    }

    /// Returns true if the model refuses forced calls, as all that bind their thinking but Haiku do: the list of what changes with Haiku
    /// 5.5 has no forced calls (<https://platform.claude.com/docs/en/models/haiku-5-5/migration-guide>).
    pub(crate) fn refuses_forced_calls(self) -> bool {
        self.binds() && self.family != "haiku"
    }

    /// Returns the maximum number of tokens in an answer (<https://platform.claude.com/docs/en/about-claude/models/overview>).
    pub(crate) fn most_tokens(self) -> u64 {
        match (self.family, self.version) {
            (_, (..=2, _)) | ("haiku" | "opus", (3, 0)) => 4_096,
            (_, (3, ..=5)) => 8_192,
            ("opus", (4, ..=1)) => 32_000,
            ("opus", (4, 6..)) | (_, (4, 7..) | (5.., _)) => 128_000,
            _ => 64_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_versions() {
        let cases = [
            ("gpt-5.6-terra", Some((5, 6)), true),
            ("openai/gpt-5-mini", Some((5, 0)), true),
            ("gpt-5.4-2026-03-05", Some((5, 4)), true),
            ("gpt-6", Some((6, 0)), true),
            ("gpt-5-chat-latest", Some((5, 0)), false),
            ("gpt-4.1", Some((4, 1)), false),
            ("gpt-4o", Some((4, 0)), false),
            ("o4-mini", None, true),
            ("olmo-2", None, false),
            ("scripted", None, false),
        ];
        for (name, version, thinks) in cases {
            assert_eq!((gpt_version(name), reasons(name)), (version, thinks), "{name}");
        }
        assert!(is_gemini_3("models/gemini-3.1-pro-preview") && !is_gemini_3("gemini-2.5-pro") && is_before_gemini_3("gemini-2.5-pro"));
        assert!(!is_gemini_3("gemini-flash-latest") && !is_before_gemini_3("gemini-flash-latest"));
    }

    #[test]
    fn names_tell_claudes() {
        let cases = [
            ("claude-opus-4-7", "opus", (4, 7), 128_000),
            ("anthropic/claude-sonnet-4.5", "sonnet", (4, 5), 64_000),
            ("claude-opus-4-1-20250805", "opus", (4, 1), 32_000),
            ("claude-sonnet-4-20250514", "sonnet", (4, 0), 64_000),
            ("claude-3-7-sonnet-latest", "sonnet", (3, 7), 64_000),
            ("claude-3-haiku-20240307", "haiku", (3, 0), 4_096),
            ("us.anthropic.claude-fable-5-1", "fable", (5, 1), 128_000),
            ("claude-opus-5", "opus", (5, 0), 128_000),
        ];
        for (name, family, version, most) in cases {
            let claude = Claude::named(name).unwrap();
            assert_eq!((claude.family, claude.version, claude.most_tokens()), (family, version, most), "{name}");
        }
        assert_eq!((Claude::named("scripted"), Claude::named("gpt-5")), (None, None));
    }
}
