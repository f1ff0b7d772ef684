//! Taking out of a text what looks like a secret, before it is kept.

/// What stands in the place of a secret.
const GONE: &str = "***";
/// Shorter values are too common to be taken out wherever they stand.
const SHORTEST: usize = 6;
/// How keys of well-known services begin, and how long they are at least.
const KEYS: &[(&str, usize)] = &[
    ("sk-", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("hf_", 20),
    ("npm_", 20),
    ("eyJ", 40),
];
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

/// A text without secrets: without the values in `secrets`, the keys of well-known services, private keys in PEM, passwords in addresses, and what is
/// set as `password = …` and the like. `***` stands in their place.
///
/// It goes by form, so it can miss what looks like any other word: what must not be kept should not be handed over.
#[must_use]
pub fn redact(text: &str, secrets: &[&str]) -> String {
    let mut secrets: Vec<&str> = secrets.iter().map(|secret| secret.trim()).filter(|secret| secret.len() >= SHORTEST).collect();
    // One may stand within another.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let text = secrets.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret, GONE));
    let text = without_private_keys(&text);
    let lines: Vec<String> = text.split('\n').map(without_values).collect();
    lines.join("\n")
}

/// Without what stands between the marks of a private key.
fn without_private_keys(text: &str) -> String {
    let (mut rest, mut kept) = (text, String::with_capacity(text.len()));
    while let Some(begin) = rest.find("-----BEGIN ") {
        let (before, key) = rest.split_at(begin);
        let head = key.lines().next().unwrap_or_default();
        kept.push_str(before);
        if !head.contains("PRIVATE KEY") {
            let (mark, after) = key.split_at("-----BEGIN ".len());
            kept.push_str(mark);
            rest = after;
            continue;
        }
        kept.push_str(GONE);
        // A key without an end goes to the end of the text.
        let end = key.find("-----END ").and_then(|end| Some(end + key.get(end..)?.find("KEY-----")? + "KEY-----".len()));
        rest = end.and_then(|end| key.get(end..)).unwrap_or_default();
    }
    kept.push_str(rest);
    kept
}

/// A line without keys, passwords in addresses, and values that are set.
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
        let (clean, expects) = if named && word.chars().count() >= SHORTEST { (GONE.to_owned(), false) } else { word_without(word) };
        kept.push_str(&clean);
        named = expects || bearer;
    }
    kept
}

/// A word without its secret, and whether it is a name whose value comes next.
fn word_without(word: &str) -> (String, bool) {
    if let Some((name, value)) = word.split_once(['=', ':', '：']).filter(|(name, _)| is_name(name)) {
        let sign = word.get(name.len()..word.len() - value.len()).unwrap_or_default();
        let bare = value.trim_matches(['"', '\'', ',', ';', '`']);
        return match bare.chars().count() {
            0 => (word.to_owned(), true),
            1..SHORTEST => (word.to_owned(), false),
            _ => (format!("{name}{sign}{GONE}"), false),
        };
    }
    if let Some((scheme, after)) = word.split_once("://")
        && let Some((user, host)) = after.split_once('@')
        && let Some((name, _)) = user.split_once(':')
        && !user.contains('/')
    {
        return (format!("{scheme}://{name}:{GONE}@{host}"), false);
    }
    (without_keys(word), is_name(word))
}

fn is_name(word: &str) -> bool {
    let plain = word.to_lowercase();
    // The end of the word names what it is: `token_count` is a number.
    let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
    NAMES.iter().any(|name| plain.ends_with(name))
}

/// A word without the keys of well-known services in it.
fn without_keys(word: &str) -> String {
    let parts = word.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
    let clean = parts.map(|part| {
        let key = part.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')));
        match KEYS.iter().any(|(begin, least)| key.starts_with(begin) && key.len() >= *least) {
            true => format!("{GONE}{}", part.get(key.len()..).unwrap_or_default()),
            false => part.to_owned(),
        }
    });
    clean.collect()
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
        for (text, clean) in [
            ("the key is sk-abcdefghijklmnop1234.", "the key is ***"),
            ("use (ghp_0123456789abcdef0123) here", "use (***) here"),
            ("export API_TOKEN=abcdef123", "export API_TOKEN=***"),
            ("password: hunter2!", "password: ***"),
            ("The password is hunter2!", "The password is ***"),
            ("登录密码：hunter2!!", "登录密码：***"),
            ("\"client_secret\": \"abcdef123\",", "\"client_secret\": ***"),
            ("Authorization: Bearer abcdefghij", "Authorization: Bearer ***"),
            ("git clone https://me:hunter22@host/x.git", "git clone https://me:***@host/x.git"),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\nxyz\n-----END RSA PRIVATE KEY-----\nb", "a\n***\nb"),
            ("-----BEGIN PRIVATE KEY-----\nMII", "***"),
            ("kept by name: TheLongSecret1", "kept by name: ***"),
            ("token_count = 123456 and tokens = 1234567", "token_count = 123456 and tokens = 1234567"),
            ("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"),
            ("sk-learn, task-runner and https://host/a@b", "sk-learn, task-runner and https://host/a@b"),
            ("The server only  takes keys of type ed25519.\n\tPort 8443", "The server only  takes keys of type ed25519.\n\tPort 8443"),
        ] {
            assert_eq!(redact(text, &["TheLongSecret1", "short", ""]), clean, "{text:?}");
        }
    }

    #[test]
    fn a_secret_within_another_does_not_hide_it() {
        assert_eq!(redact("abcdef-123456 abcdef", &["abcdef", "abcdef-123456"]), "*** ***");
    }

    proptest! {
        /// No text is an error, a known secret is never left, and what is clean stays as it is.
        #[test]
        fn known_secrets_never_stay(before in "(.|\n){0,60}", secret in "[a-zA-Z0-9]{6,20}", after in "(.|\n){0,60}") {
            let clean = redact(&format!("{before}{secret}{after}"), &[&secret]);
            prop_assert!(!clean.contains(&secret));
            let again = redact("Plain words, 数字 42.\n\nAnd more.", &[&secret]);
            prop_assert!(secret.len() < 6 || again == "Plain words, 数字 42.\n\nAnd more.");
        }
    }
}
