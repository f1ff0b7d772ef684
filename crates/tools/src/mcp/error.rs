//! Errors of MCP servers.

use std::time::Duration;

use aime_messages::{Describe, Message, message};
use aime_sandbox::ProcessError;

/// Reason why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The program could not be started.
    #[error("{}", self.describe())]
    Start {
        /// Name of the server.
        server: String,
        /// Cause of the failure.
        source: ProcessError,
    },
    /// The server runs or responds, but violates the protocol.
    #[error("{}", self.describe())]
    Handshake {
        /// Name of the server.
        server: String,
        /// Description of the violation.
        reason: String,
        /// Output to standard error.
        stderr: String,
        /// Possible denials of the sandbox, and the settings that would allow more. Empty for a server outside of the sandbox.
        hint: Message,
    },
    /// The server took too long to start or to list its tools.
    #[error("{}", self.describe())]
    Slow {
        /// Name of the server.
        server: String,
        /// Time limit.
        limit: Duration,
        /// Output to standard error.
        stderr: String,
        /// Possible denials of the sandbox, and the settings that would allow more. Empty for a server outside of the sandbox.
        hint: Message,
    },
    /// The server requires a login.
    #[error("{}", self.describe())]
    Unauthorized {
        /// Name of the server.
        server: String,
    },
    /// The login lacks the scopes that the request needs.
    #[error("{}", self.describe())]
    Forbidden {
        /// Name of the server.
        server: String,
        /// Required OAuth scopes, separated by spaces. Empty if the server names none.
        scopes: String,
    },
    /// The login failed.
    #[error("{}", self.describe())]
    Login {
        /// Name of the server.
        server: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The server failed too often in a row and is not tried again in this run.
    #[error("{}", self.describe())]
    GivenUp {
        /// Name of the server.
        server: String,
        /// Number of failures.
        failures: u32,
        /// Message of the last failure.
        reason: String,
    },
    /// The settings are invalid.
    #[error("{}", self.describe())]
    Settings {
        /// Name of the server.
        server: String,
        /// Description of the fault.
        reason: String,
    },
    /// No server has this name.
    #[error("{}", self.describe())]
    NoSuchServer {
        /// The unknown name.
        server: String,
        /// Names of the configured servers.
        known: String,
    },
    /// The wait for the server was cancelled.
    #[error("{}", self.describe())]
    Cancelled {
        /// Name of the server.
        server: String,
    },
}

impl Describe for McpError {
    fn describe(&self) -> Message {
        match self {
            Self::Start { server, .. } => message!("mcp-start", server),
            Self::Handshake { server, reason, stderr, hint } => {
                with_output(message!("mcp-unreachable", server, why = reason), stderr, hint)
            }
            Self::Slow { server, limit, stderr, hint } => {
                with_output(message!("mcp-slow", server, seconds = limit.as_secs_f32().to_string()), stderr, hint)
            }
            Self::Unauthorized { server } => message!("mcp-who", server),
            Self::Forbidden { server, scopes } if scopes.is_empty() => message!("mcp-rights-unnamed", server),
            Self::Forbidden { server, scopes } => message!("mcp-rights", server, names = scopes),
            Self::Login { server, reason } => message!("mcp-login-failed", server, why = reason),
            Self::GivenUp { server, failures, reason } => message!("mcp-given-up", server, number = failures, reason),
            Self::Settings { server, reason } => message!("mcp-settings", server, why = reason),
            Self::NoSuchServer { server, known } if known.is_empty() => message!("mcp-no-servers", server),
            Self::NoSuchServer { server, known } => message!("mcp-no-server", server, names = known),
            Self::Cancelled { server } => message!("mcp-cancelled", server),
        }
    }
}

/// Adds the last lines of standard error, which often contain the cause, and a hint on a line of its own.
fn with_output(fault: Message, stderr: &str, hint: &Message) -> Message {
    const LINES: usize = 8;
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    let mut parts = vec![if last.is_empty() { fault } else { message!("mcp-output", fault, output = last.join("\n")) }];
    parts.extend((!hint.is_empty()).then(|| hint.clone()));
    Message::list("\n", &parts)
}
