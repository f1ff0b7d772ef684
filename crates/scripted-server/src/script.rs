//! Script: rules that map requests to replies.

use serde::{Deserialize, Serialize};

use crate::{Provider, Reply, When};

/// A script. The first rule that matches a request and has a reply left answers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Rules; the first match wins.
    pub rules: Vec<Rule>,
    /// Model names for `GET /v1/models`.
    #[serde(default = "Script::default_models")]
    pub models: Vec<String>,
    /// Context window in the model list in tokens, as vLLM reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Imitated service.
    #[serde(default)]
    pub provider: Provider,
    /// If true, refuses requests that the provider refuses, and requests with unpaired tool calls and results.
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

/// Error of an invalid script.
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
    /// Returns an empty script: every request gets HTTP 404.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule that uses its replies in turn, and repeats the last one.
    #[must_use]
    pub fn on(mut self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.rules.push(Rule { when, replies: replies.into_iter().collect(), once: false });
        self
    }

    /// Adds a rule that uses each of its replies once, and no longer matches then.
    #[must_use]
    pub fn once(mut self, when: When, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.rules.push(Rule { when, replies: replies.into_iter().collect(), once: true });
        self
    }

    /// Sets the context window in the model list.
    #[must_use]
    pub fn window(mut self, tokens: u32) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets the imitated service: its formats, and its checks unless the script is [lenient](Self::lenient).
    #[must_use]
    pub fn provider(mut self, provider: Provider) -> Self {
        self.provider = provider;
        self
    }

    /// Disables every check, so that requests are answered which the imitated service would refuse.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.strict = false;
        self
    }

    /// Parses a script from JSON text.
    ///
    /// # Errors
    /// An invalid script, or a rule without a reply.
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

/// Replies to the requests that match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Conditions on a request.
    #[serde(default)]
    pub when: When,
    /// Replies, used in turn.
    pub replies: Vec<Reply>,
    /// If true, the rule ends with its last reply; otherwise the last reply is repeated.
    #[serde(default)]
    pub once: bool,
}
