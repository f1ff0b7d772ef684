#![doc = include_str!("../README.md")]

mod credentials;
mod deltas;
mod dense;
mod documents;
mod encoded;
mod forms;
mod lines;
mod netrc;
mod ordinary;
mod redactor;
mod scan;

pub use credentials::{is_credential_file, is_kept_copy, is_secret_name, private_keys_in, secrets_in};
pub use deltas::StreamRedactor;
pub use lines::redact;
pub use ordinary::{is_ordinary, is_placeholder};
pub use redactor::Redactor;

/// Replacement for a secret.
pub const REDACTED: &str = "[redacted-secret]";

/// Replacement for a secret where only a word is valid, such as the name of a task.
pub const REDACTED_WORD: &str = "redacted-secret";
