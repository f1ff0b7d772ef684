//! Files of keys and passwords: which they are by their name, and what in them is secret.

use crate::{
    dense::{is_address, is_dense},
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
/// Parts of names that settings have as well. A name without another part of [`PARTS`] names a secret only if it ends with one of these:
/// `_auth` and `SESSION`, but not `AUTH_TYPE`, `GIT_AUTHOR_NAME` and `PRIVATE_SUBNET`.
const WEAK: &[&str] = &["session", "authorization", "auth", "private", "signature", "cookies", "cookie"];
/// Ends of names of settings about a secret, such as `KEY_FILE`.
const ABOUT: &[&str] = &["dir", "driver", "file", "host", "name", "path", "port", "prefix", "ttl", "type"];
/// End of names that hold the name of a header, such as `API_KEY_HEADER`, or a whole header.
const HEADER: &str = "header";
/// Ends of names whose value is no address, even if it looks like one.
const KEYS: &[&str] = &["auth", "key"];
/// Words that begin a header with credentials.
const SCHEMES: &[&str] = &["bearer ", "token ", "basic ", "apikey "];
/// Quotation marks around a value.
const QUOTES: [char; 3] = ['"', '\'', '`'];
/// The fewest bytes of a value that is secret for its name, and of a line of a private key.
const MIN_NAMED: usize = 6;
const MIN_KEY_LINE: usize = 12;

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
/// settings have as well (`SESSION_DRIVER`) those for which [`is_ordinary`] is, addresses and paths. The function reads
/// lines of `NAME=value`, `name: value` and `name value`, settings within a value (`NAME=user=me;password=value`),
/// entries of `.netrc`, and JSON that is written in lines.
#[must_use]
pub fn secrets_in(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text.lines().flat_map(of_line).collect();
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
        } else if within && line.len() >= MIN_KEY_LINE {
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

/// Returns the secret in a line, or those in the settings within its value.
fn of_line(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches("export ").trim_start();
    if line.is_empty() || line.starts_with(['#', ';']) || line.starts_with("//") && !line.contains('=') {
        return Vec::new();
    }
    if let Some(password) = password_of_address(line) {
        return vec![password.to_owned()];
    }
    let setting = line.split_once('=').or_else(|| line.split_once(": ")).or_else(|| line.split_once(char::is_whitespace)).or_else(|| {
        // `host:port:base:user:password`
        line.rsplit_once(':')
    });
    let Some((name, value)) = setting else { return Vec::new() };
    let value = value.trim().trim_end_matches(',');
    let bare = value.trim_matches(QUOTES);
    let bare = if bare == value { bare.split(" #").next().unwrap_or_default().trim() } else { bare };
    if is_secret(name, bare) {
        return vec![bare.to_owned()];
    }
    let within = bare.split([';', '&', ' ']).filter_map(|part| part.split_once('=')).filter(|(name, _)| !name.contains(':'));
    let within = within.map(|(name, value)| (name, value.trim_matches(QUOTES))).filter(|(name, value)| is_secret(name, value));
    within.map(|(_, value)| value.to_owned()).collect()
}

/// Returns true if a value of this name is secret.
fn is_secret(name: &str, value: &str) -> bool {
    let (small_name, small) = (name.to_lowercase(), value.to_lowercase());
    let small_name = small_name.trim_matches(|c: char| !c.is_alphanumeric());
    let is_header = is_secret_name(small_name) && SCHEMES.iter().any(|scheme| small.starts_with(scheme));
    if !names_secret(name) && !is_header {
        return !is_place(value) && is_dense(value);
    }
    if small_name.ends_with(HEADER) && value.chars().all(|c| c.is_ascii_alphabetic() || c == '-') {
        return false;
    }
    let is_address = || is_address(value) && !KEYS.iter().any(|end| small_name.ends_with(end));
    let is_setting = || is_ordinary(value) || is_address() || is_path(value);
    value.len() >= MIN_NAMED && !is_plain(value) && (is_sure_name(name) || !is_setting())
}

/// Returns true if a value of this name is secret unless it is a plain one. A name with colons is an entry of `.pgpass`.
fn names_secret(name: &str) -> bool {
    let small = name.to_lowercase();
    let small = small.trim_matches(|c: char| !c.is_alphanumeric());
    if name.contains(':') {
        return true;
    }
    let strong = WEAK.iter().fold(small.to_owned(), |name, part| name.replace(part, ""));
    let ends_with = |ends: &[&str]| ends.iter().any(|end| small.ends_with(end));
    (is_secret_name(&strong) || is_secret_name(small) && (ends_with(WEAK) || ends_with(&[HEADER]))) && !ends_with(ABOUT)
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

/// Returns true if a value names a file of keys, such as `certs/a.key`, which holds the secret instead of being it.
fn is_path(value: &str) -> bool {
    value.contains('/') && ENDINGS.iter().any(|end| value.ends_with(end))
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

    /// Settings of a project occur in all of its texts, which would be hidden too.
    #[test]
    fn settings_are_no_secrets() {
        for line in [
            "ELASTIC_HOST=localhost:9200",
            "DB=postgres:5432",
            "REDIS=cache-01.internal.example.com:6379",
            "API_HOST=d3adb33f.execute-api.us-east-1.amazonaws.com",
            "LISTEN=[2001:db8:85a3:8d3:1319:8a2e:370:7348]:8080",
            "OPENAI_MODEL=gpt-4.1-mini",
            "MODEL=claude-3-5-sonnet-20241022",
            "MODEL=llama3.1:8b-instruct-q4_K_M",
            "BUCKET=my-bucket-2024",
            "IMAGE=postgres:16-alpine",
            "IMAGE=python:3.12-slim-bookworm",
            "RUNNER=ubuntu-22.04-x86_64",
            "CHARSET=utf8mb4_unicode_ci",
            "SINCE=2024-01-15T10:30:00Z",
            "BACKUP=Mon-15-Jan-2024",
            "GIT_AUTHOR_NAME=Jane Smith",
            "GIT_AUTHOR_EMAIL=jane.smith2024@example.com",
            "API_KEY_HEADER=X-API-Key",
            "AUTH_TYPE=oauth2",
            "OAUTH_SCOPES=read:user2 write",
            "SESSION_DRIVER=redis-cluster-2",
            "PRIVATE_SUBNET=10.0.1.0/24",
            "SUBNET_PRIVATE=10.0.1.0/24",
            "KEYCLOAK_SERVER=keycloak2.example.com:8443",
            "KEY_FILE=certs/a.key",
            "TLS_KEY=certs/server.key",
            "SMTP_USER=ops@example.com",
            "SMTP_USER=ops2024@mail.example.com",
            "OPTIONS=sslmode=require&connect_timeout=10",
        ] {
            assert!(secrets_in(line).is_empty(), "{line}: {:?}", secrets_in(line));
        }
    }

    // Requirement: 14.4
    #[test]
    fn secrets_among_settings_are_found() {
        for (line, secret) in [
            ("CANARY=c4n4ry-value-1", "c4n4ry-value-1"),
            ("HEROKU=550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
            ("LICENCE=A1B2-C3D4-E5F6", "A1B2-C3D4-E5F6"),
            ("STRIPE=h7$kL9!mP2#x", "h7$kL9!mP2#x"),
            ("MD5=9e107d9d372bb6826bd81d3542a419d6", "9e107d9d372bb6826bd81d3542a419d6"),
            ("TELEGRAM=123456789:AAF4kdJ3mNq8sT2vWxYz01", "123456789:AAF4kdJ3mNq8sT2vWxYz01"),
            ("DISCORD=MTk4NjIyNDgzNDcx.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4", "MTk4NjIyNDgzNDcx.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4"),
            ("MAIL=dGhpc2lzYXNlY3JldGtleTEyMzQ=", "dGhpc2lzYXNlY3JldGtleTEyMzQ="),
            ("API_KEY=my-bucket-2024", "my-bucket-2024"),
            ("API_KEY_HEADER=f3a9c27be14d80a6", "f3a9c27be14d80a6"),
            ("AUTH_DATA=f3a9c27be14d80a6", "f3a9c27be14d80a6"),
            ("DB_PASSWORD=postgres:5432", "postgres:5432"),
            ("SMTP_PASS=ops@example.com", "ops@example.com"),
            ("SECRET_KEY_BASE=swordfish7", "swordfish7"),
            ("BASIC_AUTH=admin:hunter22", "admin:hunter22"),
            ("BASIC_AUTH=admin:12345", "admin:12345"),
            ("API_KEY=tenant:54321", "tenant:54321"),
            ("SIGNING_KEY=correct.horse.battery", "correct.horse.battery"),
            ("AUTH_HEADER=Token hunter2-2", "Token hunter2-2"),
            ("AUTHORIZATION_HEADER=Bearer hunter2-2", "Bearer hunter2-2"),
            ("SESSION=hunter2-2", "hunter2-2"),
            ("Authorization: Bearer hunter2-2", "Bearer hunter2-2"),
            ("  \"auth\": \"YWRtaW46aHVudGVy\",", "YWRtaW46aHVudGVy"),
            ("DB=Server=db1;User=sa;Password=hunter22", "hunter22"),
            ("DB=Server=db1;User=sa;Pwd='hunter22';Encrypt=yes", "hunter22"),
            ("DB=\"host=db user=me password=hunter22\"", "hunter22"),
            ("QUEUE=Endpoint=sb://q/;SharedAccessKey=aB3dE6gH9jK2/x=", "aB3dE6gH9jK2/x="),
        ] {
            assert_eq!(secrets_in(line), [secret], "{line}");
        }
        assert_eq!(secrets_in("URL=\"key=hunter22&x=1&token=hunter33\""), ["hunter22", "hunter33"]);
        assert!(secrets_in(&"=".repeat(100_000)).is_empty());
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
