//! Files of keys and passwords: which they are by their name, and what in them is secret.

use crate::{
    netrc,
    ordinary::{is_ordinary, is_placeholder},
};

/// Names of files that hold keys or passwords.
const FILES: &[&str] = &[
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    ".vault-token",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "secrets.env",
    "secret.json",
    "secret.yaml",
    "secret.yml",
    "service-account.json",
    "kubeconfig",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];
/// Endings of such names.
const ENDINGS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".env", ".tfvars"];
/// Ends of files that only show how such a file is written.
const EXAMPLES: &[&str] = &[".example", ".sample", ".template", ".dist", ".defaults"];
/// Folders all of whose files hold keys.
const FOLDERS: &[&str] = &[".ssh", ".aws", ".gnupg", ".docker", ".kube"];
/// Folder in which copies of any file are kept under other names, for an undo.
const COPIES: [&str; 2] = [".aime", "undo"];

/// Parts of names whose value is a secret.
const PARTS: &[&str] = &[
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "credential",
    "private",
    "auth",
    "cookie",
    "session",
    "bearer",
    "signature",
    "dsn",
    "jwt",
];
/// Whole words of such names.
const WORDS: &[&str] = &["pass", "pwd", "pat", "pin", "salt"];
/// Parts of names whose value is a secret even if it is a plain word. Other names, such as `SESSION_DRIVER` and `key_name`, also occur for
/// settings.
const SURE: &[&str] = &["pass", "pwd", "secret", "token", "credential"];
/// The fewest bytes of a value that is secret for its name, and of one that is so for its looks.
const MIN_NAMED: usize = 6;
const MIN_DENSE: usize = 12;

/// Returns true if a path looks like that of a file of keys or passwords. Only the name counts: nothing is read.
#[must_use]
pub fn is_credential_file(path: &str) -> bool {
    let path = path.trim().trim_matches(['"', '\'', '`']).replace('\\', "/").to_lowercase();
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let Some(name) = parts.pop() else { return false };
    if EXAMPLES.iter().any(|end| name.ends_with(end)) {
        return false;
    }
    let public = name.ends_with(".pub") || name == "known_hosts";
    FILES.contains(&name)
        || name.starts_with(".env.")
        || (ENDINGS.iter().any(|end| name.ends_with(end)) && !name.starts_with('*'))
        || (parts.iter().any(|part| FOLDERS.contains(part)) && !public)
        || is_kept_copy(&path)
}

/// Returns true if a variable or a key of this name holds a secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    PARTS.iter().any(|part| name.contains(part)) || name.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Returns the secret values in a file of keys and passwords: those with the name of a secret, those that look like
/// nothing else, and private keys. Values for which [`is_placeholder`] is true are left out, and for names that
/// settings have as well (`SESSION_DRIVER`) those for which [`is_ordinary`] is. The function reads lines
/// of `NAME=value`, `name: value` and `name value`, entries of `.netrc`, and JSON that is written in lines.
#[must_use]
pub fn secrets_in(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text.lines().filter_map(of_line).collect();
    found.extend(netrc::passwords(text).into_iter().filter_map(|password| text.get(password.from..password.to)).map(str::to_owned));
    found.extend(private_keys_in(text));
    found.sort();
    found.dedup();
    found
}

/// Returns the lines of the PEM private keys in a text, without the marks. No such line is recognizable on its own.
#[must_use]
pub fn private_keys_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut within = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("-----") {
            within = line.contains("BEGIN") && line.contains("PRIVATE KEY");
        } else if within && line.len() >= MIN_DENSE {
            found.push(line.to_owned());
        }
    }
    found
}

/// Returns true if a path is in the folder where aime keeps copies of any file under other names, including files of
/// keys and passwords.
#[must_use]
pub fn is_kept_copy(path: &str) -> bool {
    let path = path.replace('\\', "/").to_lowercase();
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    parts.windows(COPIES.len()).any(|part| part == COPIES)
}

fn of_line(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches("export ").trim_start();
    if line.is_empty() || line.starts_with(['#', ';']) || line.starts_with("//") && !line.contains('=') {
        return None;
    }
    if let Some(password) = password_of_address(line) {
        return Some(password.to_owned());
    }
    let (name, value) =
        line.split_once('=').or_else(|| line.split_once(": ")).or_else(|| line.split_once(char::is_whitespace)).or_else(|| {
            // `host:port:base:user:password`
            line.rsplit_once(':')
        })?;
    let value = value.trim().trim_end_matches(',');
    let bare = value.trim_matches(['"', '\'', '`']);
    let bare = if bare == value { bare.split(" #").next().unwrap_or_default().trim() } else { bare };
    let secret = if is_secret_name(name) || name.contains(':') {
        bare.len() >= MIN_NAMED && !is_plain(bare) && (is_sure_name(name) || !is_ordinary(bare))
    } else {
        is_dense(bare)
    };
    secret.then(|| bare.to_owned())
}

/// Returns true if a value of this name is secret even if it is a plain word. A name with colons is an entry of `.pgpass`.
fn is_sure_name(name: &str) -> bool {
    let small = name.to_lowercase();
    name.contains(':') || SURE.iter().any(|part| small.contains(part))
}

fn password_of_address(line: &str) -> Option<&str> {
    let (_, address) = line.split_once("://")?;
    let authority = address.split(['/', '?', '#', '"', '\'']).next()?;
    let (_, password) = authority.rsplit_once('@')?.0.split_once(':')?;
    (password.len() >= MIN_NAMED && !is_placeholder(password)).then_some(password)
}

/// Returns true if a value is one that many settings have.
fn is_plain(value: &str) -> bool {
    is_placeholder(value) || value.chars().all(|c| c.is_ascii_digit()) || is_place(value)
}

fn is_place(value: &str) -> bool {
    value.starts_with(['/', '~', '.']) || value.contains("://") || value.contains("${")
}

/// Returns true if a value is one word that mixes letters and digits and is no address, path, date or version.
fn is_dense(value: &str) -> bool {
    let count = |fits: fn(&char) -> bool| value.chars().filter(fits).count();
    value.len() >= MIN_DENSE
        && !value.contains(char::is_whitespace)
        && !is_place(value)
        && count(char::is_ascii_digit) >= 2
        && count(char::is_ascii_alphabetic) >= 4
        && !value.contains(['/', '\\', '(', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_keys_are_known_by_their_name() {
        for path in [
            ".env",
            "./.env",
            "a/b/.env.local",
            "prod.env",
            "deploy/ID_RSA",
            ".ssh/config",
            "server.pem",
            "tls/site.key",
            ".netrc",
            "C:\\app\\.env",
            "\".env\"",
            "/home/me/.aws/config",
            ".aime/undo/objects/3f/9a",
        ] {
            assert!(is_credential_file(path), "{path}");
        }
        for path in [
            "",
            "/",
            ".env.example",
            "env",
            "keyboard.rs",
            "id_rsa.pub",
            ".ssh/known_hosts",
            "README.md",
            "a.env.md",
            "*.pem",
            "environment",
            ".aime/runs/r/task/bash-1.txt",
        ] {
            assert!(!is_credential_file(path), "{path}");
        }
    }

    #[test]
    fn what_is_secret_in_them_is_found() {
        let text = "# comment with PASSWORD=none\nexport API_KEY=\"abc def\"\nDEBUG=true\nPORT=8080\nTOKEN=changeme\nNODE_ENV=production\n\
            DATABASE_URL=postgres://me:hunter22@db/x\nCANARY=c4n4ry-value-1 # why\nKEY_FILE=/etc/key\npassword hunter33\n\
            db:5432:base:me:hunter44\n  \"client_secret\": \"hunter55\",\n//registry.example/:_authToken=hunter66\nVERSION=1.2.3\n\
            POSTGRES_PASSWORD=postgres\nOPENAI_API_KEY=not-needed\nBASE=postgres://postgres:postgres@db/x\nDB_PASSWORD=swordfish\n\
            machine h login u password hunter77\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n";
        let mut expected = [
            "abc def",
            "hunter22",
            "c4n4ry-value-1",
            "hunter33",
            "hunter44",
            "hunter55",
            "hunter66",
            "hunter77",
            "swordfish",
            "MIIEvQIBADANBg",
        ];
        expected.sort_unstable();
        assert_eq!(secrets_in(text), expected);
    }

    #[test]
    fn plain_words_are_secret_for_sure_names_only() {
        for line in [
            "SESSION_DRIVER=database",
            "KEYCLOAK_REALM=master",
            "auth-type=legacy",
            "key_name = \"production\"",
            "COOKIE_DOMAIN: localhost",
            "  \"signature\": \"production\",",
        ] {
            assert!(secrets_in(line).is_empty(), "{line}");
        }
        for line in ["DB_PASSWORD=sunshine", "pwd: sunshine", "client_secret = \"sunshine\"", "db:5432:base:me:sunshine"] {
            assert_eq!(secrets_in(line), ["sunshine"], "{line}");
        }
        assert_eq!(secrets_in("SESSION_KEY=swordfish7"), ["swordfish7"]);
    }

    #[test]
    fn names_tell_of_secrets() {
        for name in ["API_KEY", "dbPassword", "GH_PAT", "client-secret", "DSN"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PORT", "COMPASS", "PATH", "HOME", "pattern"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
