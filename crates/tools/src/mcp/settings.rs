//! What is known of a server before it is asked.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, time::Duration};

use aime_sandbox::Confinement;
use globset::{Glob, GlobSet, GlobSetBuilder};
use secrecy::SecretString;

/// One server, as its user describes it.
#[derive(Debug, Clone)]
pub struct McpServerSettings {
    /// Its name: the middle of `mcp__SERVER__TOOL`.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// How long it may take to start and to tell its tools. 30 s unless set.
    pub start_limit: Duration,
    /// How long a call may go without an answer and without progress. 120 s unless set.
    pub call_limit: Duration,
    /// How long a call may take in all, whatever progress it tells of. 30 minutes unless set.
    pub total_limit: Duration,
    /// How long it is left alone after it has failed; twice as long after each further time, and given up after five in a row. Half a
    /// second unless set.
    pub first_wait: Duration,
    /// Which of its tools may be used, by the server's own names.
    pub tools: NamePatterns,
    /// Which of its tools are known to change nothing. The server's own hints do not count. `resources/read` and `prompts/get` stand for
    /// the reading of resources and prompts.
    pub read_only: NamePatterns,
    /// Whether the user vouches for what it says, and for what it does with what it is told. Without, whoever has read its words, or those that
    /// describe its tools, does not send anything anywhere without consent.
    pub trusted: bool,
    /// When its tools stand in a model's request.
    pub loading: McpLoading,
}

impl McpServerSettings {
    /// A server with the usual limits, all of whose tools may be used and none of which is known to change nothing.
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

/// How a server is reached.
#[derive(Debug, Clone)]
pub enum McpTransport {
    /// A program that speaks over its standard input and output.
    Stdio {
        /// The program.
        program: OsString,
        /// Its arguments.
        arguments: Vec<OsString>,
        /// Variables beside those of all child processes; this is how one server is given a secret.
        environment: BTreeMap<OsString, OsString>,
        /// What it may read, write, reach and take.
        confinement: Confinement,
    },
    /// A server that speaks streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// What is sent as `Authorization: Bearer`.
        bearer: Option<SecretString>,
        /// The file that keeps what came of a login, where the server may ask for one and there is no `bearer`.
        login: Option<PathBuf>,
        /// Headers that are sent with every request.
        headers: BTreeMap<String, SecretString>,
    },
}

/// When a server's tools stand in a model's request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum McpLoading {
    /// While there is room: see [`McpSettings::listed_tools`].
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never: they are searched with `mcp_find_tools` and called with `mcp_call_tool`.
    OnDemand,
}

/// All servers.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Each server.
    pub servers: Vec<McpServerSettings>,
    /// How many tools of all servers stand in a model's request. Those of the smallest servers come first; a server whose tools do not all
    /// fit has none there. 30 unless set.
    pub listed_tools: usize,
}

impl McpSettings {
    /// These servers with the usual room for tools.
    #[must_use]
    pub const fn new(servers: Vec<McpServerSettings>) -> Self {
        Self { servers, listed_tools: 30 }
    }
}

/// Patterns for names, with `*`, `?`, `[…]` and `{…,…}`. Without any it fits nothing.
#[derive(Debug, Clone, Default)]
pub struct NamePatterns(GlobSet);

/// A pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is no pattern for names ({reason}): write a name, or one with * and ?, such as \"list_*\"")]
pub struct NamePatternError {
    /// As written.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl NamePatterns {
    /// From patterns.
    ///
    /// # Errors
    /// [`NamePatternError`] for the first that is none.
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

    /// Fits every name.
    #[must_use]
    pub fn all() -> Self {
        Self::new(["*"]).unwrap_or_default()
    }

    /// Whether a name fits.
    #[must_use]
    pub fn fit(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}
