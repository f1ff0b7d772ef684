//! Removes everything that looks like a secret from a text for people, including values set as `password = …`.

use crate::{REDACTED as GONE, Redactor};

/// Minimum length of a value that is removed. Shorter values occur too often by chance.
const MIN_VALUE_BYTES: usize = 6;
/// Parts of names whose value is a secret.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "private_key",
    "access_key",
    "密码",
    "口令",
    "密钥",
    "令牌",
];

/// Returns a text without the secrets that [`Redactor::text`] finds and without values set as `password = …` and the
/// like.
///
/// The function goes by form. It can miss a secret that looks like any other word, and it removes more than secrets:
/// do not use it on source text.
#[must_use]
pub fn redact(text: &str, redactor: &Redactor) -> String {
    let text = redactor.text(text);
    let lines: Vec<String> = text.split('\n').map(without_values).collect();
    lines.join("\n")
}

/// Returns a line without values that are set.
fn without_values(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    // A name was read, and its value comes next.
    let mut named = false;
    while !rest.is_empty() {
        let blank = rest.find(|c: char| !is_space(c)).unwrap_or(rest.len());
        let (space, after) = rest.split_at(blank);
        let (word, after) = after.split_at(after.find(is_space).unwrap_or(after.len()));
        kept.push_str(space);
        rest = after;
        if word.is_empty() {
            continue;
        }
        if named && matches!(word, "=" | ":" | "：" | "is" | "是") {
            kept.push_str(word);
            continue;
        }
        let bearer = word.trim_end_matches(':').eq_ignore_ascii_case("bearer");
        let (clean, expects) = if named && word.chars().count() >= MIN_VALUE_BYTES { (GONE.to_owned(), false) } else { word_without(word) };
        kept.push_str(&clean);
        named = expects || bearer;
    }
    kept
}

/// Returns a word without its secret, and true if it is a name whose value comes next.
fn word_without(word: &str) -> (String, bool) {
    // The mark is a word too, and no name of what follows.
    if word.contains(GONE) {
        return (word.to_owned(), false);
    }
    if let Some((name, value)) = word.split_once(['=', ':', '：']).filter(|(name, _)| is_name(name)) {
        let sign = word.get(name.len()..word.len() - value.len()).unwrap_or_default();
        let bare = value.trim_matches(['"', '\'', ',', ';', '`']);
        return match bare.chars().count() {
            0 => (word.to_owned(), true),
            1..MIN_VALUE_BYTES => (word.to_owned(), false),
            _ => (format!("{name}{sign}{GONE}"), false),
        };
    }
    (word.to_owned(), is_name(word))
}

fn is_name(word: &str) -> bool {
    let plain = word.to_lowercase();
    // The end of the word names what it is: `token_count` is a number.
    let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
    NAMES.iter().any(|name| plain.ends_with(name))
}

const fn is_space(c: char) -> bool {
    c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_taken_out_and_the_rest_stays() {
        let redactor = Redactor::new(["TheLongSecret1", "short", ""]);
        for (text, clean) in [
            ("export API_TOKEN=abcdef123", "export API_TOKEN=***"),
            ("password: hunter2!", "password: ***"),
            ("The password is hunter2!", "The password is ***"),
            ("登录密码：hunter2!!", "登录密码：***"),
            ("\"client_secret\": \"abcdef123\",", "\"client_secret\": ***"),
            ("Authorization: Bearer abcdefghij", "Authorization: Bearer ***"),
            ("the key is ghp_0123456789abcdef0123 here", "the key is *** here"),
            ("kept by name: TheLongSecret1 and more", "kept by name: *** and more"),
            ("token_count = 123456 and tokens = 1234567", "token_count = 123456 and tokens = 1234567"),
            ("The server only  takes keys of type ed25519.\n\tPort 8443", "The server only  takes keys of type ed25519.\n\tPort 8443"),
        ] {
            let clean = clean.replace("***", GONE);
            assert_eq!(redact(text, &redactor), clean, "{text:?}");
            assert_eq!(redact(&clean, &redactor), clean, "once is enough: {text:?}");
        }
    }

    proptest! {
        /// No text is an error, and what is clean stays as it is.
        #[test]
        fn once_is_enough(text in "(.|\n|token|=|: ){0,60}") {
            let redactor = Redactor::default();
            let clean = redact(&text, &redactor);
            prop_assert_eq!(redact(&clean, &redactor), clean);
        }
    }
}
