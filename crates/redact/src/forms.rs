//! Finds keys of well-known services, private keys, logins and entries of `.netrc` by their form.
//!
//! The table holds only forms that cannot be confused with other words, because file texts pass it before a model
//! reads them.

use std::{borrow::Cow, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::{REDACTED, encoded::decoded, netrc};

/// Alphabet of a key after its prefix.
#[derive(Debug, Clone, Copy)]
enum Letters {
    /// `A-Z a-z 0-9`.
    Plain,
    /// The same and `_ -`.
    Wide,
    /// The same and `.`.
    Dotted,
    /// `A-Z 2-7`.
    Upper,
    /// The alphabets of base64, and `=`.
    Base64,
}

/// Prefix, alphabet and minimum total length of each form of key.
const KEYS: &[(&str, Letters, usize)] = &[
    ("sk-", Letters::Wide, 20),
    ("sk_live_", Letters::Plain, 24),
    ("sk_test_", Letters::Plain, 24),
    ("rk_live_", Letters::Plain, 24),
    ("whsec_", Letters::Plain, 32),
    ("ghp_", Letters::Plain, 20),
    ("gho_", Letters::Plain, 20),
    ("ghu_", Letters::Plain, 20),
    ("ghs_", Letters::Plain, 20),
    ("ghr_", Letters::Plain, 20),
    ("github_pat_", Letters::Wide, 40),
    ("glpat-", Letters::Wide, 20),
    ("xoxb-", Letters::Wide, 20),
    ("xoxp-", Letters::Wide, 20),
    ("xoxa-", Letters::Wide, 20),
    ("xapp-", Letters::Wide, 20),
    ("AKIA", Letters::Upper, 20),
    ("ASIA", Letters::Upper, 20),
    ("AIza", Letters::Wide, 35),
    ("ya29.", Letters::Wide, 40),
    ("hf_", Letters::Plain, 30),
    ("npm_", Letters::Plain, 36),
    ("pypi-", Letters::Wide, 60),
    ("dop_v1_", Letters::Plain, 40),
    ("SG.", Letters::Dotted, 50),
    ("shpat_", Letters::Plain, 32),
    ("tskey-", Letters::Wide, 24),
    ("AGE-SECRET-KEY-1", Letters::Plain, 50),
    ("eyJ", Letters::Dotted, 60),
    ("lin_api_", Letters::Plain, 40),
    ("sntrys_", Letters::Base64, 60),
    ("sntryu_", Letters::Plain, 60),
    ("ntn_", Letters::Plain, 44),
    ("gsk_", Letters::Plain, 50),
    ("sbp_", Letters::Plain, 44),
    ("figd_", Letters::Wide, 40),
    ("ATATT3x", Letters::Base64, 60),
    ("dckr_pat_", Letters::Wide, 34),
    ("xai-", Letters::Plain, 60),
];
/// The beginning of a private key, and what its first line holds.
const PEM: &str = "-----BEGIN ";
const PRIVATE: &str = "PRIVATE KEY";
/// Separator before the login of an address.
const ADDRESS: &str = "://";
/// Words before a token of a request.
const BEARER: [&str; 2] = ["Bearer ", "bearer "];
/// The fewest characters of one.
const MIN_BEARER: usize = 20;
/// Words before a login of a request in base64.
const BASIC: [&str; 2] = ["Basic ", "basic "];

/// Word before an entry of `.netrc`.
const MACHINE: &str = "machine";
/// The longest entry that is looked for, in bytes.
const MAX_ENTRY: usize = 1024;

/// Prefixes of all forms, in the order of [`KEYS`] and then the rest. Every command needs them for its first line, and the default kind
/// takes four times as long to build.
static BEGINNINGS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let keys = KEYS.iter().map(|(begins, ..)| *begins);
    let beginnings = keys.chain([PEM, ADDRESS]).chain(BEARER).chain(BASIC).chain([MACHINE]);
    AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(beginnings).ok()
});

/// The fewest bytes of a text that can hold one of these: `://n:p@`.
const MIN_BYTES: usize = 7;

/// Returns a text without the parts that have the form of a secret.
pub(crate) fn without_forms(text: &str) -> Cow<'_, str> {
    if text.len() < MIN_BYTES {
        return Cow::Borrowed(text);
    }
    let mut clean = String::new();
    let mut kept = 0;
    for found in BEGINNINGS.iter().flat_map(|beginnings| beginnings.find_iter(text)) {
        let (form, start) = (found.pattern().as_usize(), found.start());
        if start < kept {
            continue;
        }
        if let Some((from, to)) = secret(text, form, start) {
            clean.push_str(text.get(kept..from).unwrap_or_default());
            clean.push_str(REDACTED);
            kept = to;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(clean)
}

/// Returns the range of the secret with this prefix, if it is one.
fn secret(text: &str, form: usize, start: usize) -> Option<(usize, usize)> {
    if let Some((begins, letters, least)) = KEYS.get(form) {
        return key(text, start, begins, *letters, *least);
    }
    let rest = text.get(start..)?;
    if rest.starts_with(PEM) {
        return private_key(rest).map(|length| (start, start + length));
    }
    if rest.starts_with(ADDRESS) {
        return login(rest).map(|(from, to)| (start + from, start + to));
    }
    if rest.starts_with(MACHINE) {
        return entry(text, start);
    }
    if BASIC.iter().any(|word| rest.starts_with(word)) {
        return basic_login(rest, BASIC[0].len()).map(|(from, to)| (start + from, start + to));
    }
    let from = start + BEARER[0].len();
    let token: usize =
        text.get(from..)?.chars().take_while(|c| c.is_ascii_alphanumeric() || "-._~+/=".contains(*c)).map(char::len_utf8).sum();
    let body = text.get(from..from + token)?;
    (token >= MIN_BEARER && body.contains(|c: char| c.is_ascii_digit())).then_some((from, from + token))
}

fn key(text: &str, start: usize, begins: &str, letters: Letters, least: usize) -> Option<(usize, usize)> {
    let within = |c: char| match letters {
        Letters::Plain => c.is_ascii_alphanumeric(),
        Letters::Wide => c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
        Letters::Dotted => c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'),
        Letters::Upper => c.is_ascii_uppercase() || ('2'..='7').contains(&c) || c.is_ascii_digit(),
        Letters::Base64 => c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '='),
    };
    let before = text.get(..start)?.chars().next_back();
    if before.is_some_and(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let body = text.get(start + begins.len()..)?;
    let length = body.find(|c| !within(c)).unwrap_or(body.len());
    let body = body.get(..length)?.trim_end_matches(['.', '-', '_']);
    let dense = body.contains(|c: char| c.is_ascii_digit()) && body.contains(|c: char| c.is_ascii_alphabetic());
    // A JSON Web Token has three parts.
    let whole = begins != "eyJ" || body.split('.').filter(|part| part.len() > 3).count() == 3;
    (begins.len() + body.len() >= least && dense && whole).then_some((start, start + begins.len() + body.len()))
}

/// Returns the range of a login in base64 that begins at this byte. The words behind "Basic" in other texts hold no `name:password`.
fn basic_login(text: &str, from: usize) -> Option<(usize, usize)> {
    let rest = text.get(from..)?;
    let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))).unwrap_or(rest.len());
    let login = String::from_utf8(decoded(rest.get(..length)?)?).ok()?;
    let is_login = login.split_once(':').is_some_and(|(name, password)| !name.is_empty() && !password.is_empty());
    (is_login && !login.contains(char::is_control)).then_some((from, from + length))
}

/// Returns the range of the password in the `.netrc` entry that begins here and has a login.
fn entry(text: &str, start: usize) -> Option<(usize, usize)> {
    let alone = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ':'));
    let rest = text.get(start..)?;
    if !alone(text.get(..start)?.chars().next_back()) || !rest.get(MACHINE.len()..)?.starts_with(char::is_whitespace) {
        return None;
    }
    let end = (0..=rest.len().min(MAX_ENTRY)).rev().find(|end| rest.is_char_boundary(*end))?;
    let first = netrc::passwords(rest.get(..end)?).into_iter().next()?;
    first.has_login.then_some((start + first.from, start + first.to))
}

/// Returns the length of a private key in bytes, from its first mark to its last, or to the end of the text if that
/// is missing.
fn private_key(text: &str) -> Option<usize> {
    // In JSON its lines are parted by `\n` in letters.
    let head = text.split(['\n', '\\']).next()?;
    if !head.contains(PRIVATE) {
        return None;
    }
    let end = text.find("-----END ").and_then(|end| Some(end + text.get(end..)?.find("KEY-----")? + "KEY-----".len()));
    Some(end.unwrap_or(text.len()))
}

/// Returns the range of the password in `://user:password@host`.
fn login(text: &str) -> Option<(usize, usize)> {
    let authority = text.get(ADDRESS.len()..)?;
    let end = authority
        .find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '<' | '>' | ')'))
        .unwrap_or(authority.len());
    let user = authority.get(..end)?.rsplit_once('@')?.0;
    let (name, password) = user.split_once(':')?;
    // A placeholder in a text about addresses is not a password.
    let placeholder =
        password.is_empty() || password.contains(['{', '$', '*', '[']) || matches!(password, "password" | "pass" | "pw" | "secret");
    let from = ADDRESS.len() + name.len() + 1;
    (!placeholder).then_some((from, from + password.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_form() {
        for (text, clean) in [
            ("the key is sk-abcdefghijklmnop1234.", "the key is [redacted-secret]."),
            ("(ghp_0123456789abcdef0123)", "([redacted-secret])"),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted-secret]"),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nMII\nxyz\n-----END RSA PRIVATE KEY-----\nb", "a\n[redacted-secret]\nb"),
            ("{\"k\": \"-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY-----\\n\"}", "{\"k\": \"[redacted-secret]\\n\"}"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "[redacted-secret]"),
            ("git clone https://me:hunter22@host/x.git now", "git clone https://me:[redacted-secret]@host/x.git now"),
            ("Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer [redacted-secret]"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U", "[redacted-secret]"),
            (".netrc:1: machine h login u password hunter22 machine", ".netrc:1: machine h login u password [redacted-secret] machine"),
            ("machine h\n  login u\n  password hunter22\n", "machine h\n  login u\n  password [redacted-secret]\n"),
            ("Authorization: Basic YWRtaW46aHVudGVyMjI=\n", "Authorization: Basic [redacted-secret]\n"),
            ("-H 'authorization: basic bWU6cHc'", "-H 'authorization: basic [redacted-secret]'"),
            ("sk-proj-abc123def456ghi789jkl and xoxb-1234567890-abcdefghij", "[redacted-secret] and [redacted-secret]"),
        ] {
            assert_eq!(without_forms(text), clean, "{text:?}");
        }
    }

    #[test]
    fn keys_of_each_service_are_found() {
        for (begins, letters, least) in KEYS.iter().filter(|(begins, ..)| *begins != "eyJ") {
            let body = match letters {
                Letters::Upper => "ABCD2345".repeat(12),
                _ => "aB3dE6gH".repeat(12),
            };
            let key = |length: usize| format!("{begins}{}", body.get(..length - begins.len()).unwrap());
            assert_eq!(without_forms(&format!("`{}`", key(*least))), "`[redacted-secret]`", "{begins}");
            let short = key(least - 1);
            assert_eq!(without_forms(&short), short);
        }
        let sentry = format!("sntrys_{}+{}/x=_{}", "eyJpYXQ2".repeat(6), "aB3d", "E6gH".repeat(8));
        assert_eq!(without_forms(&format!("\"{sentry}\"")), "\"[redacted-secret]\"");
    }

    // Requirement: 14.4
    #[test]
    fn what_only_looks_alike_stays() {
        for text in [
            "sk-learn, task-runner and disk-utilities-for-everyone-1",
            "class=\"sk-spinner sk-spinner-wave-of-the-page\"",
            "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
            "https://host/a@b and https://me@host/ and http://user:${PASS}@host and http://user:password@host",
            "let token = lexer.next_token(); password: String,",
            "Bearer of good news, and bearer tokens in general",
            "Basic information, basic authentication and Basic YWRtaW4= without a colon",
            "xai-toolkit, ntn_server_name, gsk_button, sbp_, lin_api_key and figd_config",
            "AKIArelative and hf_model and npm_config_cache",
            "eyJhbGciOiJIUzI1NiJ9 is a beginning",
            "a machine with a login prompt and password fields, and machine learning",
            "machine h login u password ${PASSWORD}",
            "数字 sk-数字",
        ] {
            assert_eq!(without_forms(text), text);
        }
    }
}
