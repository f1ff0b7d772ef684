//! Challenge of a server that rejects a request because a login (401) or scopes (403) are missing. It may reject any request.

use std::error::Error;

use rmcp::{
    ServiceError,
    service::ClientInitializeError,
    transport::{
        auth::{AuthError, WWWAuthenticateParams},
        streamable_http_client::{AuthRequiredError, InsufficientScopeError},
    },
};
use url::Url;

use super::{McpError, McpServerSettings, McpTransport, listed::one_line, login::StoredLogin};

/// Maximum length in bytes of a challenge that is stored for the next login.
const MAX_BYTES: usize = 4 * 1024;
/// Maximum characters of the scopes that are shown.
const MAX_SHOWN: usize = 200;

/// A rejection because a login or scopes are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Value of `WWW-Authenticate`; empty if missing.
    header: String,
    /// True if the login is valid but lacks scopes.
    lacks_rights: bool,
}

impl Challenge {
    /// Returns the challenge among the causes of an error, if there is one.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let asks = |header: &str| Self { header: header.to_owned(), lacks_rights: false };
        if let Some(refused) = error.downcast_ref::<AuthRequiredError>() {
            return Some(asks(&refused.www_authenticate_header));
        }
        if let Some(refused) = error.downcast_ref::<InsufficientScopeError>() {
            return Some(Self { header: refused.www_authenticate_header.clone(), lacks_rights: true });
        }
        if matches!(error.downcast_ref(), Some(AuthError::AuthorizationRequired)) {
            return Some(asks(""));
        }
        error.source().and_then(Self::of)
    }

    /// Returns the challenge in the error of a request.
    pub(super) fn of_request(error: &ServiceError) -> Option<Self> {
        if let ServiceError::TransportSend(error) = error { Self::of(error) } else { None }
    }

    /// Returns the challenge in the error of an initialization.
    pub(super) fn of_greeting(error: &ClientInitializeError) -> Option<Self> {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::of(error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => Self::of_greeting(fallback),
            _ => None,
        }
    }

    /// Converts the challenge to an error of the server, and stores it for the next login.
    pub(super) fn into_error(self, settings: &McpServerSettings) -> McpError {
        self.keep(settings);
        let server = settings.name.clone();
        if self.lacks_rights { McpError::Forbidden { server, scopes: self.scopes(settings) } } else { McpError::Unauthorized { server } }
    }

    fn keep(&self, settings: &McpServerSettings) {
        let McpTransport::Http { url, bearer: None, login: Some(login), .. } = &settings.transport else { return };
        if self.header.is_empty() || self.header.len() > MAX_BYTES {
            return;
        }
        // The login can then discover the scopes itself.
        if let Err(error) = StoredLogin::new(&login.file, url).keep_demand(&self.header) {
            tracing::debug!(%error, "cannot store the login challenge of an MCP server");
        }
    }

    /// Returns the scopes that the server requires; empty if it names none.
    fn scopes(&self, settings: &McpServerSettings) -> String {
        let McpTransport::Http { url, .. } = &settings.transport else { return String::new() };
        let scopes = Url::parse(url).ok().and_then(|url| WWWAuthenticateParams::parse(&self.header, &url).scope);
        let scopes = scopes.unwrap_or_default();
        let shown = scopes.split_whitespace().map(one_line).collect::<Vec<_>>().join(" ");
        shown.chars().take(MAX_SHOWN).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_refusal_names_what_it_asks_for() {
        let transport = McpTransport::Http { url: "http://h/mcp".to_owned(), bearer: None, login: None, headers: BTreeMap::new() };
        let settings = McpServerSettings::new("odd", transport);
        let refusal_of = |error: &(dyn Error + 'static)| Challenge::of(error).map(|refused| refused.into_error(&settings).to_string());
        let asks = AuthRequiredError::new("Bearer".to_owned());
        assert!(refusal_of(&asks).unwrap().contains("`odd` requires a login: log in to it"));
        for (header, expected) in [
            ("Bearer error=\"insufficient_scope\", scope=\"a:read  b:write\"", "lacks the scopes `a:read b:write`"),
            ("Bearer error=\"insufficient_scope\"", "lacks scopes that the server does not name"),
        ] {
            let refusal = refusal_of(&InsufficientScopeError::new(header.to_owned(), None)).unwrap();
            assert!(refusal.contains("refused the request") && refusal.contains(expected), "{refusal}");
        }
        let long = format!("Bearer scope=\"{}\"", "x".repeat(900));
        assert!(refusal_of(&InsufficientScopeError::new(long, None)).unwrap().chars().count() < 400);
        assert_eq!(refusal_of(&std::io::Error::other("gone")), None);
    }
}
