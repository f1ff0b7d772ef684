//! The script: which request gets which replies.

use serde::{Deserialize, Serialize};

use crate::{Provider, Reply, When};

/// A script. The first rule that fits a request and has a reply left answers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The rules, the first that fits wins.
    pub rules: Vec<Rule>,
    /// The names that `GET /v1/models` lists.
    #[serde(default = "Script::default_models")]
    pub models: Vec<String>,
    /// The window that the list of models tells, as vLLM does, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// The service that is imitated.
    #[serde(default)]
    pub provider: Provider,
    /// Refuse what the provider refuses, and requests in which a tool call and its result are not paired.
    #[serde(default = "Script::default_strict")]
    pub strict: bool,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            models: Self::default_models(),
            window: None,
            provider: Provider::default(),
            strict: Self::default_strict(),
        }
    }
}

/// The error of a script that cannot be used.
#[derive(Debug)]
pub struct ScriptError {
    reason: String,
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the script cannot be used: {}", self.reason)
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// An empty script: every request gets HTTP 404.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule whose replies are used in turn, the last one again and again.
    #[must_use]
    pub fn on(mut self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.rules.push(Rule { when, replies: replies.into_iter().collect(), once: false });
        self
    }

    /// Adds a rule that no longer fits when each of its replies was used once.
    #[must_use]
    pub fn once(mut self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.rules.push(Rule { when, replies: replies.into_iter().collect(), once: true });
        self
    }

    /// Tells this window in the list of models.
    #[must_use]
    pub fn window(mut self, tokens: u32) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Imitates this service: its forms, and its checks unless the script is [lenient](Self::lenient).
    #[must_use]
    pub fn provider(mut self, provider: Provider) -> Self {
        self.provider = provider;
        self
    }

    /// Answers requests that the imitated service would refuse: every check is off.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// Reads a script from JSON text.
    ///
    /// # Errors
    /// The text is no script, or a rule has no reply.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_json::from_str(text).map_err(|e| ScriptError { reason: e.to_string() })?;
        match script.rules.iter().position(|rule| rule.replies.is_empty()) {
            Some(empty) => Err(ScriptError { reason: format!("rules[{empty}] has no reply") }),
            None => Ok(script),
        }
    }

    fn default_models() -> Vec<String> {
        vec!["scripted".to_owned()]
    }

    fn default_strict() -> bool {
        true
    }
}

/// Replies for the requests that fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The conditions on a request.
    #[serde(default)]
    pub when: When,
    /// The replies, used in turn.
    pub replies: Vec<Reply>,
    /// The rule ends with its last reply; otherwise the last reply is repeated.
    #[serde(default)]
    pub once: bool,
}
