//! Why a server cannot be used.

use std::time::Duration;

use aime_sandbox::ProcessError;

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The program could not be started.
    #[error("the MCP server `{server}` could not be started")]
    Start {
        /// The server.
        server: String,
        /// Why.
        source: ProcessError,
    },
    /// It runs, or answers, and does not speak as it should.
    #[error("the MCP server `{server}` could not be reached: {reason}{}{}", last_words(.said), line(.mend))]
    Handshake {
        /// The server.
        server: String,
        /// What went wrong.
        reason: String,
        /// What it wrote to standard error.
        said: String,
        /// What confinement may have denied to it, and how it is given more. Empty where it is not confined.
        mend: String,
    },
    /// It took too long to start or to tell its tools.
    #[error("the MCP server `{server}` was not ready within {} s{}{}", limit.as_secs_f32(), last_words(.said), line(.mend))]
    Slow {
        /// The server.
        server: String,
        /// How long it was given.
        limit: Duration,
        /// What it wrote to standard error.
        said: String,
        /// What confinement may have denied to it, and how it is given more. Empty where it is not confined.
        mend: String,
    },
    /// It wants to know who asks.
    #[error(
        "the MCP server `{server}` wants to know who asks: log in with `aime mcp login {server}`, or name its token by bearer_token_env"
    )]
    Unauthorized {
        /// The server.
        server: String,
    },
    /// It knows who asks, and the login does not have the rights that the request needs.
    #[error("the MCP server `{server}` {}", refused(.server, .scopes))]
    Forbidden {
        /// The server.
        server: String,
        /// The rights (OAuth scopes) that it asks for, with spaces between them. Empty where it names none.
        scopes: String,
    },
    /// Nobody was logged in.
    #[error("the login at the MCP server `{server}` failed: {reason}")]
    Login {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// It failed too often in a row and is not tried again in this run.
    #[error("the MCP server `{server}` failed {failures} times in a row and is not started again; the last time: {reason}")]
    GivenUp {
        /// The server.
        server: String,
        /// How often it failed.
        failures: u32,
        /// The last failure.
        reason: String,
    },
    /// The settings cannot be used.
    #[error("the MCP server `{server}` cannot be reached as its settings say: {reason}")]
    Settings {
        /// The server.
        server: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no server of this name.
    #[error("there is no MCP server `{server}`; there are: {known}")]
    NoSuchServer {
        /// As asked for.
        server: String,
        /// Those that are.
        known: String,
    },
    /// The wait for it was given up.
    #[error("cancelled before the MCP server `{server}` was ready")]
    Cancelled {
        /// The server.
        server: String,
    },
}

/// The last lines of standard error, which often say what is wrong.
fn last_words(text: &str) -> String {
    const LINES: usize = 8;
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
    if last.is_empty() { String::new() } else { format!("; it said:\n{}", last.join("\n")) }
}

fn refused(server: &str, scopes: &str) -> String {
    if scopes.is_empty() {
        return format!(
            "refused the request: the login lacks rights that it does not name; log in again with `aime mcp login {server}` to ask for them"
        );
    }
    format!("refused the request: the login lacks the rights `{scopes}`; log in again with `aime mcp login {server}` to ask for them")
}

/// A text on a line of its own; nothing where there is none.
fn line(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\n{text}") }
}
