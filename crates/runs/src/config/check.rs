//! Checks of values that have the right type.

use std::{fmt::Display, path::Component};

use aime_llm::{SettingsError, check_base_url};
use aime_memory::KnowledgeSettings;
use aime_messages::{Describe, Message, message};
use aime_progress_management::Check;
use aime_tools::Diagnostics;

use super::{Config, ModelConfig, Provider};

/// Longest timeout of the built-in tools, in seconds.
const MAX_CALL: u64 = 600;

/// Largest number of memories, and of document passages, in one prompt.
const MAX_RECALLED: usize = 20;

/// Headers that the HTTP client sets itself. Another value would break a request or redirect it to another host.
const OF_THE_CONNECTION: [&str; 8] =
    ["connection", "content-encoding", "content-length", "content-type", "host", "te", "transfer-encoding", "upgrade"];

/// Members of a body that each protocol writes itself, apart from its settings. A body would have them twice.
const OF_THE_REQUEST: [&str; 7] = ["contents", "input", "messages", "model", "system", "systemInstruction", "tools"];

/// A setting with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueFault {
    /// Key of the setting, with its sections.
    pub key: String,
    /// Description of the fault, with the key.
    pub message: Message,
    /// Key of the setting that the first one contradicts.
    pub other: Option<OtherKey>,
}

/// Key of a setting that another one contradicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OtherKey {
    /// Both settings are used, so their order does not matter.
    Conflicts(String),
    /// aime ignores the other setting, so a later source may change this one without a fault.
    Decides(String),
}

impl ValueFault {
    /// Creates the fault of a setting. The message names the key.
    pub(super) fn new(key: impl Into<String>, message: Message) -> Self {
        Self { key: key.into(), message, other: None }
    }

    /// Names the setting that this one contradicts.
    pub(super) fn against(self, other: OtherKey) -> Self {
        Self { other: Some(other), ..self }
    }

    /// Creates the fault of a value in place of which another is wanted.
    pub(super) fn value(key: impl Into<String>, value: impl Display, wanted: Message) -> Self {
        let key = key.into();
        let message = message!("value-invalid", key, value, wanted);
        Self { key, message, other: None }
    }

    /// Creates a fault from its description without the key.
    pub(super) fn of(key: impl Into<String>, fault: impl Into<Message>) -> Self {
        let (key, fault) = (key.into(), fault.into());
        let message = message!("at-place", place = key, what = fault);
        Self { key, message, other: None }
    }
}

impl Describe for ValueFault {
    fn describe(&self) -> Message {
        self.message.clone()
    }
}

/// Returns the message that asks for a number in a range.
pub(super) fn range(from: impl Display, to: impl Display) -> Message {
    message!("wanted-range", from = from.to_string(), to = to.to_string())
}

/// Returns the message that asks for a number of at least `least`.
pub(super) fn least(least: impl Display) -> Message {
    message!("wanted-least", number = least.to_string())
}

/// Returns the faults of combinations, which only the merged settings show: one source may complete what another one begins.
pub(super) fn combination_faults(config: &Config) -> Vec<ValueFault> {
    let mut found = Vec::new();
    let classifier = &config.planning.classifier;
    if classifier.max_simple_score >= classifier.min_complex_score {
        let wanted = message!("wanted-less", key = "min_complex_score");
        let fault = ValueFault::value("planning.classifier.max_simple_score", classifier.max_simple_score, wanted);
        found.push(fault.against(OtherKey::Conflicts("planning.classifier.min_complex_score".to_owned())));
    }
    found.extend(config.mcp.combination_faults());
    found.extend(config.profiles.iter().filter_map(|(name, profile)| profile.combination_fault(name)));
    found.extend(config.web.combination_faults());
    for (name, model) in &config.models {
        if model.path.is_some() && model.provider != Provider::Local {
            let key = format!("models.{name}.path");
            let fault = ValueFault::new(key.clone(), message!("value-local-path", key));
            found.push(fault.against(OtherKey::Decides(format!("models.{name}.provider"))));
        }
    }
    found
}

/// Returns the fault of every invalid value of one source.
pub(super) fn faults(config: &Config) -> Vec<ValueFault> {
    let mut found = Vec::new();
    let mut want = |holds: bool, key: &str, value: &dyn Display, wanted: Message| {
        if !holds {
            found.push(ValueFault::value(key, value, wanted));
        }
    };
    let (run, tools, planning) = (&config.run, &config.tools, &config.planning);
    want((1..=1000).contains(&run.max_parallel), "run.max_parallel", &run.max_parallel, range("1", "1000"));
    let steps = run.max_steps.unwrap_or(1);
    want(steps > 0, "run.max_steps", &steps, least(1));
    want(run.max_actors > 0, "run.max_actors", &run.max_actors, least(1));
    for (key, paths) in [("run.worktree.copy", &run.worktree.copy), ("run.worktree.link", &run.worktree.link)] {
        for path in paths {
            let is_plain = |part| matches!(part, Component::Normal(name) if name != ".git" && name != ".aime");
            let holds = path.components().next().is_some() && path.components().all(is_plain);
            want(holds, key, &path.display(), message!("wanted-paths"));
        }
    }
    for (key, bound) in [("run.max_tokens", run.max_tokens), ("run.max_seconds", run.max_seconds)] {
        want(bound != Some(0), key, &0, message!("wanted-least-or-unbound", number = 1));
    }
    if let Some(cost) = run.max_cost_usd {
        want(cost.is_finite() && cost > 0.0, "run.max_cost_usd", &cost, message!("wanted-above"));
    }
    want(planning.max_attempts > 0, "planning.max_attempts", &planning.max_attempts, least(1));
    want((1..=600).contains(&planning.check_seconds), "planning.check_seconds", &planning.check_seconds, range("1", "600"));
    let limits = &planning.limits;
    for (key, limit) in [
        ("max_tasks", limits.max_tasks),
        ("max_sub_goals", limits.max_sub_goals),
        ("max_actions", limits.max_actions),
        ("first_todos", limits.first_todos),
    ] {
        want(limit > 0, &format!("planning.limits.{key}"), &limit, least(1));
    }
    let growth = &planning.growth;
    for (key, number) in [("max_todos", growth.max_todos), ("update_every", growth.update_every), ("max_failures", growth.max_failures)] {
        want(number > 0, &format!("planning.growth.{key}"), &number, least(1));
    }
    for (key, temperature) in [("temperature", planning.temperature), ("first_todos_temperature", planning.first_todos_temperature)] {
        want((0.0..=2.0).contains(&temperature), &format!("planning.{key}"), &temperature, range("0", "2"));
    }
    let classifier = &planning.classifier;
    want(classifier.cjk_weight > 0, "planning.classifier.cjk_weight", &classifier.cjk_weight, least(1));
    want((0.0..=1.0).contains(&growth.merge_at), "planning.growth.merge_at", &growth.merge_at, range("0", "1"));
    let threshold = config.triggers.token_budget_threshold;
    want((0.0..=1.0).contains(&threshold), "triggers.token_budget_threshold", &threshold, range("0", "1"));
    for (key, seconds) in
        [("tools.bash_timeout_seconds", tools.bash_timeout_seconds), ("tools.python_timeout_seconds", tools.python_timeout_seconds)]
    {
        want((1..=MAX_CALL).contains(&seconds), key, &seconds, range(1, MAX_CALL));
    }
    for (name, class) in [("small", config.classes.small), ("capable", config.classes.capable)] {
        let (characters, share) = (class.output_characters, class.file_share);
        want((500..=100_000).contains(&characters), &format!("classes.{name}.output_characters"), &characters, range("500", "100000"));
        want((0.0..=0.25).contains(&share), &format!("classes.{name}.file_share"), &share, range("0", "0.25"));
        want((0.0..=1.0).contains(&class.look_share), &format!("classes.{name}.look_share"), &class.look_share, range("0", "1"));
        want(class.max_steps > 0, &format!("classes.{name}.max_steps"), &class.max_steps, least(1));
    }
    let actors = &config.actors;
    want((0.0..=2.0).contains(&actors.temperature), "actors.temperature", &actors.temperature, range("0", "2"));
    want(actors.compact_at > 0.0 && actors.compact_at <= 1.0, "actors.compact_at", &actors.compact_at, message!("wanted-share"));
    for (key, number) in [
        ("failures_before_hint", actors.failures_before_hint),
        ("rounds_before_todo_reminder", actors.rounds_before_todo_reminder),
        ("warn_after_repeats", actors.warn_after_repeats),
        ("conclude_after_repeats", actors.conclude_after_repeats),
        ("abort_after_repeats", actors.abort_after_repeats),
    ] {
        want(number > 0, &format!("actors.{key}"), &number, least(1));
    }
    let memory = &config.memory;
    let folder = memory.knowledge.as_deref();
    want(folder.is_none_or(|folder| !folder.as_os_str().is_empty()), "memory.knowledge", &"empty", message!("wanted-folder"));
    for (key, number) in [("recall", memory.recall), ("chunks", memory.chunks)] {
        want(number <= MAX_RECALLED, &format!("memory.{key}"), &number, range(0, MAX_RECALLED));
    }
    let smallest = KnowledgeSettings::MIN_CHUNK_TOKENS;
    want(memory.chunk_tokens >= smallest, "memory.chunk_tokens", &memory.chunk_tokens, least(smallest));
    let undo = &config.undo;
    for (key, number) in [("file_mb", undo.file_mb), ("folder_mb", undo.folder_mb), ("store_mb", undo.store_mb)] {
        want(number > 0, &format!("undo.{key}"), &number, message!("wanted-least-or-off", number = 1));
    }
    want(memory.max_entries > 0, "memory.max_entries", &memory.max_entries, least(1));
    if config.local.threads == Some(0) {
        found.push(ValueFault::value("local.threads", 0, message!("wanted-least-or-none", number = 1)));
    }
    found.extend(config.permissions.faults().map(|(_, fault)| fault));
    found.extend(config.hooks.faults());
    for (name, check) in &config.checks {
        if matches!(check.criterion().check, Check::Command(command) if command.command.trim().is_empty()) {
            found.push(ValueFault::of(format!("checks.{name}"), message!("command-empty")));
        }
    }
    for (pattern, command) in &config.diagnostics {
        let fault = Diagnostics::new([(pattern.as_str(), command.as_str())]).err().map(Message::text);
        let empty = command.trim().is_empty().then(|| message!("command-empty"));
        found.extend(fault.or(empty).map(|fault| ValueFault::of(format!("diagnostics.\"{pattern}\""), fault)));
    }
    found.extend(config.sandbox.faults());
    found.extend(config.mcp.faults());
    found.extend(config.profiles.iter().flat_map(|(name, profile)| profile.faults(name)));
    found.extend(config.web.faults());
    for (name, model) in &config.models {
        found.extend(of_model(&format!("models.{name}"), model));
    }
    found
}

fn of_model(section: &str, model: &ModelConfig) -> Vec<ValueFault> {
    let mut found = Vec::new();
    let key = |key: &str| format!("{section}.{key}");
    let least_or_none = || message!("wanted-least-or-none", number = 1);
    for (name, value) in [("context_tokens", model.context_tokens), ("max_output_tokens", model.max_output_tokens)] {
        if value == Some(0) {
            found.push(ValueFault::value(key(name), 0, least_or_none()));
        }
    }
    let address = model.base_url.as_deref().filter(|_| model.provider != Provider::Local);
    if let Some(Err(SettingsError::BaseUrl { url, reason, .. })) = address.map(check_base_url) {
        let key = key("base_url");
        found.push(ValueFault::new(key.clone(), message!("no-address", key, address = format!("{url:?}"), reason)));
    }
    if model.timeout_seconds == Some(0) {
        found.push(ValueFault::value(key("timeout_seconds"), 0, least_or_none()));
    }
    if let Some(prices) = &model.prices {
        let all = [
            ("input", Some(prices.input)),
            ("cached_input", prices.cached_input),
            ("cache_write", prices.cache_write),
            ("output", Some(prices.output)),
            ("search", prices.search),
        ];
        for (name, price) in all {
            if let Some(price) = price.filter(|price| !(price.is_finite() && *price >= 0.0)) {
                found.push(ValueFault::value(key(&format!("prices.{name}")), price, message!("wanted-price")));
            }
        }
    }
    found.extend(model.headers.iter().filter_map(|(name, value)| header_fault(&key("headers"), name, value)));
    for name in model.extra_body.keys().filter(|name| OF_THE_REQUEST.contains(&name.as_str())) {
        let key = key(&format!("extra_body.{name}"));
        found.push(ValueFault::new(key.clone(), message!("body-member", setting = key)));
    }
    found
}

/// Returns the fault of a header, if it has one. The message omits the value, which may be a secret.
fn header_fault(section: &str, name: &str, value: &str) -> Option<ValueFault> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        let message = message!("header-name", setting = section, name = format!("{name:?}"));
        return Some(ValueFault::new(section, message));
    }
    let key = format!("{section}.{name}");
    if OF_THE_CONNECTION.contains(&name.to_ascii_lowercase().as_str()) {
        return Some(ValueFault::new(key.clone(), message!("header-connection", setting = key)));
    }
    let can_be_sent = |letter: char| letter == '\t' || (letter >= ' ' && letter != '\u{7f}');
    (value.trim().is_empty() || !value.chars().all(can_be_sent))
        .then(|| ValueFault::new(key.clone(), message!("header-value", setting = key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_cannot_be_sent_are_refused_without_their_values() {
        let fault = |name: &str, value: &str| {
            let headers = [(name.to_owned(), value.to_owned())].into_iter().collect();
            of_model("models.m", &ModelConfig { headers, ..ModelConfig::default() }).pop()
        };
        for (name, value) in [("x-team", "a"), ("Authorization", "Bearer s3cr3t-word"), ("x_a.b", "a\tb c"), ("x", "é")] {
            assert_eq!(fault(name, value), None, "{name}: {value:?}");
        }
        for (name, value, word) in [
            ("x team", "s3cr3t-word", "has the invalid name \"x team\""),
            ("", "s3cr3t-word", "has the invalid name \"\""),
            ("x-ä", "s3cr3t-word", "has the invalid name"),
            ("Host", "s3cr3t-word", "the connection sets"),
            ("content-length", "s3cr3t-word", "the connection sets"),
            ("x-team", "s3cr3t-word\nx: y", "cannot be sent"),
            ("x-team", "  ", "cannot be sent"),
        ] {
            let fault = fault(name, value).unwrap();
            let text = fault.message.to_string();
            assert!(fault.key.starts_with("models.m.headers") && text.contains(word) && !text.contains("s3cr3t"), "{text}");
        }
    }
}
