//! Telling prose around a value from parts of it.

const QUOTES: [char; 7] = ['"', '\'', '`', '“', '”', '’', '＂'];
const CLOSERS: [char; 4] = ['}', ']', '｝', '］'];
const OPENERS: [char; 4] = ['{', '[', '｛', '［'];
const COLONS: [char; 2] = [':', '：'];
const COMMAS: [char; 3] = [',', '，', '、'];

/// Returns true if the text before a value looks like members of an object that lacks its beginning.
pub(super) fn are_members_before(head: &str) -> bool {
    has_quoted_key(head) || has_plain_member(head) || count(head, &OPENERS) > count(head, &CLOSERS)
}

/// Returns true if the text behind a value looks like members or items of it. Closing brackets and commas alone do not.
pub(super) fn are_parts_behind(tail: &str) -> bool {
    let rest = tail.trim_start_matches(|c: char| c.is_whitespace() || CLOSERS.contains(&c));
    let next = rest.trim_start_matches(|c: char| c.is_whitespace() || CLOSERS.contains(&c) || COMMAS.contains(&c));
    let goes_on = rest.len() != next.len() && next.starts_with(|c: char| c.is_alphanumeric() || "\"'“＂-_$\\{[｛［".contains(c));
    goes_on || has_quoted_key(next) || count(next, &CLOSERS) > count(next, &OPENERS)
}

/// `"key":`
fn has_quoted_key(text: &str) -> bool {
    text.match_indices(COLONS).any(|(at, _)| text.get(..at).is_some_and(|before| before.trim_end().ends_with(QUOTES)))
}

/// `key: "text"` or `key: 1`
fn has_plain_member(text: &str) -> bool {
    text.match_indices(COLONS).any(|(at, colon)| {
        let value = text.get(at + colon.len()..).unwrap_or_default();
        let next = value.trim_start();
        next.starts_with(QUOTES) && !next.starts_with("```")
            || (next.len() != value.len() && next.starts_with(|c: char| c.is_ascii_digit()))
    })
}

fn count(text: &str, signs: &[char]) -> usize {
    text.matches(signs).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_told_from_prose() {
        for head in ["\"path\": \"a\", ", "path: \"a\", options: ", "path\": ", "n: 1, o: ", "{path, "] {
            assert!(are_members_before(head), "{head}");
        }
        for head in ["", "Here are the arguments: ", "```json\n", "Arguments:\n```json\n", "At 12:30 I call: "] {
            assert!(!are_members_before(head), "{head}");
        }
        for tail in [", \"b\": 2}", "}, b: 2", "; \"b\": 2", ", \"b", "\"b\": 2", " b: 2}", "，“乙”：2", "]}, {\"b\": 2}", ",\\\"b"]
        {
            assert!(are_parts_behind(tail), "{tail}");
        }
        for tail in
            ["", "}}", "]}\n", ",", ",\n```", "\n```\nDone.", ";", "</tool_call>", "<|im_end|>", " Note: this is all.", ". See [1]."]
        {
            assert!(!are_parts_behind(tail), "{tail}");
        }
    }
}
