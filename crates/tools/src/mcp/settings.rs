//! Settings of MCP servers.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use aime_sandbox::Confinement;
use globset::{Glob, GlobSet, GlobSetBuilder};
use secrecy::SecretString;

/// Settings of one server.
#[derive(Debug, Clone)]
pub struct McpServerSettings {
    /// Name of the server, the middle part of `mcp__SERVER__TOOL`.
    pub name: String,
    /// Transport to the server.
    pub transport: McpTransport,
    /// Time limit to start and to list the tools. Default: 30 s.
    pub start_limit: Duration,
    /// Time limit of a call without a response or progress. Default: 120 s.
    pub call_limit: Duration,
    /// Total time limit of a call, with or without progress. Default: 30 minutes.
    pub total_limit: Duration,
    /// Delay after the first failure. It doubles with each further failure; after five consecutive ones the server is given up. Default:
    /// 0.5 s.
    pub first_wait: Duration,
    /// Tools that may be used, by the server's own names.
    pub tools: NamePatterns,
    /// Tools that change nothing. The server's own hints do not count. `resources/read` and `prompts/get` mean the reading of resources and
    /// prompts.
    pub read_only: NamePatterns,
    /// True if the user trusts the server's texts, and its handling of data sent to it. After reading texts or tool descriptions of an
    /// untrusted server, an actor needs consent for every call that could send data out.
    pub trusted: bool,
    /// Policy for including the server's tools in a model's request.
    pub loading: McpLoading,
}

impl McpServerSettings {
    /// Creates settings with the default limits. All tools may be used, and none is declared read-only.
    #[must_use]
    pub fn new(name: impl Into<String>, transport: McpTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            start_limit: Duration::from_secs(30),
            call_limit: Duration::from_secs(120),
            total_limit: Duration::from_secs(30 * 60),
            first_wait: Duration::from_millis(500),
            tools: NamePatterns::all(),
            read_only: NamePatterns::default(),
            trusted: false,
            loading: McpLoading::default(),
        }
    }
}

/// Transport to a server.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A program that communicates over its standard input and output.
    Stdio {
        /// Path or name of the program.
        program: OsString,
        /// Arguments of the program.
        arguments: Vec<OsString>,
        /// Environment variables in addition to those of all child processes; use them to pass a secret to one server.
        environment: BTreeMap<OsString, OsString>,
        /// Sandbox of the program.
        confinement: Confinement,
    },
    /// A server with streamable HTTP.
    Http {
        /// URL of the server.
        url: String,
        /// Token for the header `Authorization: Bearer`.
        bearer: Option<SecretString>,
        /// Login, if the server may require one and `bearer` is not set.
        login: Option<McpLogin>,
        /// Headers of every request.
        headers: BTreeMap<String, SecretString>,
    },
}

/// Login at a server by OAuth.
#[derive(Debug, Clone)]
pub struct McpLogin {
    /// File that stores the tokens.
    pub file: PathBuf,
    /// Client that the authorisation server knows. Without one aime registers itself.
    pub client: Option<McpClient>,
}

/// Client that was registered at an authorisation server beforehand.
#[derive(Debug, Clone)]
pub struct McpClient {
    /// Its id.
    pub id: String,
    /// Its secret, if it has one.
    pub secret: Option<SecretString>,
}

/// Policy for including a server's tools in a model's request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum McpLoading {
    /// As long as there is room: see [`McpSettings::listed_tools`].
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never: the model searches with `mcp_find_tools` and calls with `mcp_call_tool`.
    OnDemand,
}

/// Settings of all servers.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Settings of each server.
    pub servers: Vec<McpServerSettings>,
    /// Maximum number of MCP tools in a model's request. The smallest servers come first; a server whose tools do not all fit contributes
    /// none. Default: 30.
    pub listed_tools: usize,
}

impl McpSettings {
    /// Creates settings with the default maximum of listed tools.
    #[must_use]
    pub const fn new(servers: Vec<McpServerSettings>) -> Self {
        Self { servers, listed_tools: 30 }
    }
}

/// Patterns for names, with `*`, `?`, `[…]` and `{…,…}`. An empty list matches nothing.
#[derive(Debug, Clone, Default)]
pub struct NamePatterns(GlobSet);

/// Error for an invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a valid name pattern ({reason}): write a name, or one with * and ?, such as \"list_*\"")]
pub struct NamePatternError {
    /// The pattern as written.
    pub pattern: String,
    /// Description of the fault.
    pub reason: String,
}

impl NamePatterns {
    /// Compiles patterns.
    ///
    /// # Errors
    /// [`NamePatternError`] for the first invalid one.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self, NamePatternError> {
        let fault =
            |pattern: &str, error: &globset::Error| NamePatternError { pattern: pattern.to_owned(), reason: error.kind().to_string() };
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            set.add(Glob::new(pattern).map_err(|error| fault(pattern, &error))?);
        }
        set.build().map(Self).map_err(|error| fault("", &error))
    }

    /// Returns a pattern that matches every name.
    #[must_use]
    pub fn all() -> Self {
        Self::new(["*"]).unwrap_or_default()
    }

    /// Returns true if a name matches one of the patterns.
    #[must_use]
    pub fn fit(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}
