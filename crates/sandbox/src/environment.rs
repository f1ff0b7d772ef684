//! Environment variables of child processes.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

/// Variables that every child process gets, if the parent has them. A `*` at the end matches any ending.
pub const ALLOWED_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    // Mark of the command that this process belongs to: its own child processes belong to it, too.
    "AIME_PROCESS",
];

/// Variables that nearly every program needs on Windows.
const WINDOWS_VARIABLES: &[&str] = &[
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "COMMONPROGRAMFILES",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "OS",
];

/// Parts of variable names that indicate a secret.
const SECRET_PARTS: &[&str] =
    &["KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "PRIVATE", "AUTH", "COOKIE", "SESSION", "BEARER", "SIGNATURE"];
/// Whole words of variable names that indicate a secret.
const SECRET_WORDS: &[&str] = &["PASS", "PWD", "PAT", "DSN", "JWT", "PIN"];

/// Builds the environment of a child process from the parent's: the variables in [`ALLOWED_VARIABLES`] and in `allow` (names, or prefixes
/// that end in `*`) that do not look like a secret. The parent's environment is an argument, because libraries do not read it.
///
/// A variable that looks like a secret is left out even if `allow` names it, so that no setting passes a key to a command by mistake.
///
/// On Windows, where `Path` is `PATH`, names are converted to upper case, and the variables that its programs need are allowed, too.
pub fn clean_environment(parent: impl IntoIterator<Item = (OsString, OsString)>, allow: &[&str]) -> BTreeMap<OsString, OsString> {
    cleaned(parent, allow, cfg!(windows))
}

fn cleaned(parent: impl IntoIterator<Item = (OsString, OsString)>, allow: &[&str], windows: bool) -> BTreeMap<OsString, OsString> {
    let more: &[&str] = if windows { WINDOWS_VARIABLES } else { &[] };
    let fits = |pattern: &str, name: &str| if windows { matches(&pattern.to_ascii_uppercase(), name) } else { matches(pattern, name) };
    let allowed = |name: &str| ALLOWED_VARIABLES.iter().chain(allow).chain(more).any(|pattern| fits(pattern, name));
    let named = parent.into_iter().map(|(name, value)| (if windows { name.to_ascii_uppercase() } else { name }, value));
    named.filter(|(name, value)| name.to_str().is_some_and(allowed) && !looks_secret(name, value)).collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

/// Returns true if a variable looks like a secret, by its name, or because it is a URL with a password.
#[must_use]
pub fn looks_secret(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || name.split('_').any(|word| SECRET_WORDS.contains(&word))
        || holds_login(&value.to_string_lossy())
}

/// Matches `scheme://user:password@host`, also without the password.
fn holds_login(value: &str) -> bool {
    let Some((_, address)) = value.split_once("://") else {
        return false;
    };
    address.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(name: &str, value: &str, allow: &[&str]) -> bool {
        !clean_environment([(name.into(), value.into())], allow).is_empty()
    }

    // Requirement: 15.4
    #[test]
    fn passes_on_what_is_listed_and_nothing_else() {
        for name in ["PATH", "HOME", "LANG", "LC_ALL", "LC_TIME", "TZ", "TERM", "TMPDIR", "USER", "SHELL"] {
            assert!(clean(name, "x", &[]), "{name}");
        }
        for name in ["EDITOR", "LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "path", "LC", "AIME_MODEL", "OPENAI_BASE_URL", ""] {
            assert!(!clean(name, "x", &[]), "{name}");
        }
        assert!(clean("EDITOR", "vi", &["EDITOR"]));
        assert!(clean("CI_NODE", "1", &["CI_*"]));
        assert!(!clean("CI", "1", &["CI_*"]));
    }

    // Requirement: 19.9
    #[test]
    fn on_windows_names_have_no_case() {
        let of_windows = |name: &str| cleaned([(name.into(), "x".into())], &["My_*"], true).into_keys().next();
        for (given, kept) in [
            ("Path", Some("PATH")),
            ("SystemRoot", Some("SYSTEMROOT")),
            ("ProgramFiles(x86)", Some("PROGRAMFILES(X86)")),
            ("http_proxy", Some("HTTP_PROXY")),
            ("my_tool", Some("MY_TOOL")),
            ("OpenAI_Api_Key", None),
            ("Editor", None),
        ] {
            assert_eq!(of_windows(given), kept.map(OsString::from), "{given}");
        }
        assert!(!clean("SystemRoot", "x", &[]) || cfg!(windows), "elsewhere it is no variable of the system");
    }

    #[test]
    fn no_secret_passes_whatever_is_allowed() {
        for name in [
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "GITHUB_TOKEN",
            "GH_PAT",
            "DB_PASSWORD",
            "DB_PASS",
            "MYSQL_PWD",
            "PGPASSFILE_PASSPHRASE",
            "SSH_AUTH_SOCK",
            "lower_case_token",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SENTRY_DSN",
            "SESSION_ID",
        ] {
            assert!(!clean(name, "x", &["*"]), "{name}");
        }
        assert!(clean("COMPASS", "north", &["*"]), "a word that only holds another");
    }

    #[test]
    fn an_address_with_a_login_is_a_secret() {
        assert!(clean("https_proxy", "http://proxy:3128", &[]));
        assert!(clean("https_proxy", "http://proxy:3128/path@x", &[]));
        assert!(!clean("https_proxy", "http://me:pw@proxy:3128", &[]));
        assert!(!clean("DATABASE_URL", "postgres://me@db/x", &["*"]));
    }
}
