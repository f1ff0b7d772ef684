//! Hints for users about failures of models.

use crate::ModelError;

impl ModelError {
    /// Returns one line with advice on how to fix the failure, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self.root() {
            Self::Unreachable { url, reason } => {
                let reason = reason.to_lowercase();
                // Message of rustls if the first answer is not TLS.
                if reason.contains("invalidcontenttype") {
                    format!("what answers at {url} does not speak TLS: write http:// in place of https://")
                } else if reason.contains("certificate") || reason.contains("tls") {
                    format!("check that {url} really speaks TLS and that its certificate authority is known to this machine")
                } else if reason.contains("dns") || reason.contains("lookup") || reason.contains("resolve") {
                    format!("check the host name in {url} and the network")
                } else {
                    format!("check that the model server runs and that base_url is right ({url})")
                }
            }
            Self::Timeout { .. } => "raise the model's idle timeout if it is slow, or use a faster model".to_owned(),
            Self::RateLimited { .. } => "wait a while, lower the number of parallel tasks, or name a fallback model".to_owned(),
            Self::Unauthorized { status: 402 | 429, .. } => "check the balance and the limits of the account".to_owned(),
            Self::Unauthorized { status: 403, .. } => {
                "check that the account of the key may use the model, or name another model with --model or AIME_MODEL".to_owned()
            }
            Self::Unauthorized { url, .. } => {
                format!("set the key for {url} in the environment variable that the model's api_key_env names")
            }
            Self::NoSuchModel { url, .. } => {
                format!("name one of the models that {}/models lists, with --model or AIME_MODEL", url.trim_end_matches('/'))
            }
            Self::ContextOverflow { .. } => {
                "use a model with a larger context window, or set its context_tokens to what the server holds".to_owned()
            }
            Self::Server { .. } => "try again later, or name a fallback model".to_owned(),
            Self::Refused { .. }
            | Self::Cut { .. }
            | Self::Unreadable { .. }
            | Self::Unloadable { .. }
            | Self::Blocked { .. }
            | Self::OutOfBudget { .. }
            | Self::NotRecorded { .. }
            | Self::GaveUp { .. }
            | Self::AllFailed { .. } => return None,
        })
    }
}
