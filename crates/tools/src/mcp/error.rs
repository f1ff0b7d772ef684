//! Errors of MCP servers.

use std::time::Duration;

use aime_sandbox::ProcessError;

/// Reason why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The program could not be started.
    #[error("the MCP server `{server}` could not be started")]
    Start {
        /// Name of the server.
        server: String,
        /// Cause of the failure.
        source: ProcessError,
    },
    /// The server runs or responds, but violates the protocol.
    #[error("the MCP server `{server}` could not be reached: {reason}{}{}", last_words(.said), line(.hint))]
    Handshake {
        /// Name of the server.
        server: String,
        /// Description of the violation.
        reason: String,
        /// Output to standard error.
        said: String,
        /// Possible denials of the sandbox, and the settings that would allow more. Empty for a server outside of the sandbox.
        hint: String,
    },
    /// The server took too long to start or to list its tools.
    #[error("the MCP server `{server}` was not ready within {} s{}{}", limit.as_secs_f32(), last_words(.said), line(.hint))]
    Slow {
        /// Name of the server.
        server: String,
        /// Time limit.
        limit: Duration,
        /// Output to standard error.
        said: String,
        /// Possible denials of the sandbox, and the settings that would allow more. Empty for a server outside of the sandbox.
        hint: String,
    },
    /// The server requires a login.
    #[error("the MCP server `{server}` wants to know who asks: log in to it, or name its token by bearer_token_env")]
    Unauthorized {
        /// Name of the server.
        server: String,
    },
    /// The login lacks the scopes that the request needs.
    #[error("the MCP server `{server}` {}", refused(.scopes))]
    Forbidden {
        /// Name of the server.
        server: String,
        /// Required OAuth scopes, separated by spaces. Empty if the server names none.
        scopes: String,
    },
    /// The login failed.
    #[error("the login at the MCP server `{server}` failed: {reason}")]
    Login {
        /// Name of the server.
        server: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The server failed too often in a row and is not tried again in this run.
    #[error("the MCP server `{server}` failed {failures} times in a row and is not started again; the last time: {reason}")]
    GivenUp {
        /// Name of the server.
        server: String,
        /// Number of failures.
        failures: u32,
        /// Message of the last failure.
        reason: String,
    },
    /// The settings are invalid.
    #[error("the MCP server `{server}` cannot be reached as its settings say: {reason}")]
    Settings {
        /// Name of the server.
        server: String,
        /// Description of the fault.
        reason: String,
    },
    /// No server has this name.
    #[error("there is no MCP server `{server}`; there are: {known}")]
    NoSuchServer {
        /// The unknown name.
        server: String,
        /// Names of the configured servers.
        known: String,
    },
    /// The wait for the server was cancelled.
    #[error("cancelled before the MCP server `{server}` was ready")]
    Cancelled {
        /// Name of the server.
        server: String,
    },
}

/// Returns the last lines of standard error, which often contain the cause.
fn last_words(text: &str) -> String {
    const LINES: usize = 8;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    if last.is_empty() { String::new() } else { format!("; it said:\n{}", last.join("\n")) }
}

fn refused(scopes: &str) -> String {
    if scopes.is_empty() {
        return "refused the request: the login lacks rights that it does not name; log in again to ask for them".to_owned();
    }
    format!("refused the request: the login lacks the rights `{scopes}`; log in again to ask for them")
}

/// Returns a text on a line of its own; empty for an empty text.
fn line(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\n{text}") }
}
