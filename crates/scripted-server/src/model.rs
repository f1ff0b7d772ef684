//! Facts that checks read from the name of a model.

/// Returns the major and minor version of a GPT, wherever in the name it is: `openai/gpt-5.6-terra` is (5, 6).
pub(crate) fn gpt_version(model: &str) -> Option<(u32, u32)> {
    let (_, version) = model.split_once("gpt-")?;
    let mut numbers = version.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.split('.');
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

/// Returns whether the model is one of OpenAI's reasoning models: `o1` and the like, and GPTs from 5 on except their chat variants.
pub(crate) fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let numbered = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    numbered || (gpt_version(name).is_some_and(|(major, _)| major >= 5) && !name.contains("-chat"))
}

/// Returns whether the model is known to be one of OpenAI's that do not reason.
pub(crate) fn never_reasons(model: &str) -> bool {
    !reasons(model) && gpt_version(model).is_some()
}

/// Returns whether the model is a Gemini from 3 on.
pub(crate) fn is_gemini_3(model: &str) -> bool {
    model.split_once("gemini-").is_some_and(|(_, version)| {
        let major: String = version.chars().take_while(char::is_ascii_digit).collect();
        major.parse::<u32>().is_ok_and(|major| major >= 3)
    })
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
        assert!(is_gemini_3("models/gemini-3.1-pro-preview") && !is_gemini_3("gemini-2.5-pro"));
    }
}
