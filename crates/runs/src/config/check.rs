//! Checks of values that have the right type.

use std::path::Component;

use aime_llm::check_base_url;
use aime_memory::KnowledgeSettings;
use aime_progress_management::Check;
use aime_tools::Diagnostics;

use super::{Config, ModelConfig, Provider};

/// Longest timeout of the built-in tools, in seconds.
const LONGEST_CALL: u64 = 600;

/// Largest number of memories, and of document passages, in one prompt.
const MOST_RECALLED: usize = 20;

/// Headers that the HTTP client sets itself. Another value would break a request or redirect it to another host.
const OF_THE_CONNECTION: [&str; 8] =
    ["connection", "content-encoding", "content-length", "content-type", "host", "te", "transfer-encoding", "upgrade"];

/// Returns a message for every invalid value, with the valid ones.
pub(super) fn faults(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    let mut want = |holds: bool, key: &str, value: &dyn std::fmt::Display, wanted: &str| {
        if !holds {
            found.push(format!("{key} is {value}: write {wanted}"));
        }
    };
    let (run, tools, planning) = (&config.run, &config.tools, &config.planning);
    want((1..=1000).contains(&run.max_parallel), "run.max_parallel", &run.max_parallel, "1 to 1000");
    let steps = run.max_steps.unwrap_or(1);
    want(steps > 0, "run.max_steps", &steps, "at least 1");
    want(run.max_actors > 0, "run.max_actors", &run.max_actors, "at least 1");
    for (key, paths) in [("run.worktree.copy", &run.worktree.copy), ("run.worktree.link", &run.worktree.link)] {
        for path in paths {
            let is_plain = |part| matches!(part, Component::Normal(name) if name != ".git" && name != ".aime");
            let holds = path.components().next().is_some() && path.components().all(is_plain);
            want(holds, key, &path.display(), "paths in the working folder, outside of .git and .aime");
        }
    }
    for (key, bound) in [("run.max_tokens", run.max_tokens), ("run.max_seconds", run.max_seconds)] {
        want(bound != Some(0), key, &0, "at least 1, or leave it out for no bound");
    }
    if let Some(cost) = run.max_cost_usd {
        want(cost.is_finite() && cost > 0.0, "run.max_cost_usd", &cost, "a number above 0, or leave it out for no bound");
    }
    want(planning.max_attempts > 0, "planning.max_attempts", &planning.max_attempts, "at least 1");
    let limits = &planning.limits;
    for (key, limit) in [
        ("max_tasks", limits.max_tasks),
        ("max_sub_goals", limits.max_sub_goals),
        ("max_actions", limits.max_actions),
        ("first_todos", limits.first_todos),
    ] {
        want(limit > 0, &format!("planning.limits.{key}"), &limit, "at least 1");
    }
    let growth = &planning.growth;
    for (key, number) in [("max_todos", growth.max_todos), ("update_every", growth.update_every), ("max_failures", growth.max_failures)] {
        want(number > 0, &format!("planning.growth.{key}"), &number, "at least 1");
    }
    for (key, temperature) in [("temperature", planning.temperature), ("first_todos_temperature", planning.first_todos_temperature)] {
        want((0.0..=2.0).contains(&temperature), &format!("planning.{key}"), &temperature, "0 to 2");
    }
    let classifier = &planning.classifier;
    want(
        classifier.max_simple_score < classifier.min_complex_score,
        "planning.classifier.max_simple_score",
        &classifier.max_simple_score,
        "less than `min_complex_score`",
    );
    want(classifier.cjk_weight > 0, "planning.classifier.cjk_weight", &classifier.cjk_weight, "at least 1");
    want((0.0..=1.0).contains(&growth.merge_at), "planning.growth.merge_at", &growth.merge_at, "0 to 1");
    let threshold = config.triggers.token_budget_threshold;
    want((0.0..=1.0).contains(&threshold), "triggers.token_budget_threshold", &threshold, "0 to 1");
    for (key, seconds) in
        [("tools.bash_timeout_seconds", tools.bash_timeout_seconds), ("tools.python_timeout_seconds", tools.python_timeout_seconds)]
    {
        want((1..=LONGEST_CALL).contains(&seconds), key, &seconds, &format!("1 to {LONGEST_CALL}"));
    }
    for (name, class) in [("small", config.classes.small), ("capable", config.classes.capable)] {
        let (characters, share) = (class.output_characters, class.file_share);
        want((500..=100_000).contains(&characters), &format!("classes.{name}.output_characters"), &characters, "500 to 100000");
        want((0.0..=0.25).contains(&share), &format!("classes.{name}.file_share"), &share, "0 to 0.25");
        want(class.max_steps > 0, &format!("classes.{name}.max_steps"), &class.max_steps, "at least 1");
    }
    let actors = &config.actors;
    want((0.0..=2.0).contains(&actors.temperature), "actors.temperature", &actors.temperature, "0 to 2");
    want(
        actors.compact_at > 0.0 && actors.compact_at <= 1.0,
        "actors.compact_at",
        &actors.compact_at,
        "a part of the window, above 0 and up to 1",
    );
    for (key, number) in [
        ("failures_before_hint", actors.failures_before_hint),
        ("rounds_before_todo_reminder", actors.rounds_before_todo_reminder),
        ("warn_after_repeats", actors.warn_after_repeats),
        ("conclude_after_repeats", actors.conclude_after_repeats),
        ("abort_after_repeats", actors.abort_after_repeats),
    ] {
        want(number > 0, &format!("actors.{key}"), &number, "at least 1");
    }
    let memory = &config.memory;
    let folder = memory.knowledge.as_deref();
    want(folder.is_none_or(|folder| !folder.as_os_str().is_empty()), "memory.knowledge", &"empty", "a folder, or leave it out");
    for (key, number) in [("recall", memory.recall), ("chunks", memory.chunks)] {
        want(number <= MOST_RECALLED, &format!("memory.{key}"), &number, &format!("0 to {MOST_RECALLED}"));
    }
    let least = KnowledgeSettings::LEAST_CHUNK_TOKENS;
    want(memory.chunk_tokens >= least, "memory.chunk_tokens", &memory.chunk_tokens, &format!("at least {least}"));
    let undo = &config.undo;
    for (key, number) in [("file_mb", undo.file_mb), ("folder_mb", undo.folder_mb), ("store_mb", undo.store_mb)] {
        want(number > 0, &format!("undo.{key}"), &number, "at least 1, or undo.enabled = false");
    }
    want(memory.max_entries > 0, "memory.max_entries", &memory.max_entries, "at least 1");
    if config.local.threads == Some(0) {
        found.push("local.threads is 0: write at least 1, or leave it out".to_owned());
    }
    found.extend(config.permissions.faults().map(|(_, fault)| fault));
    found.extend(config.hooks.faults());
    for (name, check) in &config.checks {
        if matches!(check.criterion().check, Check::Command(command) if command.command.trim().is_empty()) {
            found.push(format!("checks.{name}: the command is empty"));
        }
    }
    for (pattern, command) in &config.diagnostics {
        let fault = Diagnostics::new([(pattern.as_str(), command.as_str())]).err().map(|error| error.to_string());
        let empty = command.trim().is_empty().then(|| "the command is empty".to_owned());
        found.extend(fault.or(empty).map(|fault| format!("diagnostics.\"{pattern}\": {fault}")));
    }
    found.extend(config.sandbox.faults());
    found.extend(config.mcp.faults());
    found.extend(config.profiles.iter().flat_map(|(name, profile)| profile.faults(name)));
    found.extend(config.web.faults());
    for (name, model) in &config.models {
        found.extend(of_model(model).into_iter().map(|fault| format!("models.{name}.{fault}")));
    }
    found
}

fn of_model(model: &ModelConfig) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in [("context_tokens", model.context_tokens), ("max_output_tokens", model.max_output_tokens)] {
        if value == Some(0) {
            found.push(format!("{key} is 0: write at least 1, or leave it out"));
        }
    }
    let address = model.base_url.as_deref().filter(|_| model.provider != Provider::Local);
    found.extend(address.and_then(|address| check_base_url(address).err()).map(|error| error.to_string()));
    if model.path.is_some() && model.provider != Provider::Local {
        found.push("path is of a local model: write provider = \"local\" beside it".to_owned());
    }
    if model.timeout_seconds == Some(0) {
        found.push("timeout_seconds is 0: write at least 1, or leave it out".to_owned());
    }
    if let Some(prices) = &model.prices {
        let all = [
            ("input", Some(prices.input)),
            ("cached_input", prices.cached_input),
            ("cache_write", prices.cache_write),
            ("output", Some(prices.output)),
            ("search", prices.search),
        ];
        for (key, price) in all {
            if let Some(price) = price.filter(|price| !(price.is_finite() && *price >= 0.0)) {
                found.push(format!("prices.{key} is {price}: write 0 or more, in US dollars"));
            }
        }
    }
    found.extend(model.headers.iter().filter_map(|(name, value)| header_fault(name, value)));
    found
}

/// Returns the fault of a header, if it has one. The message omits the value, which may be a secret.
fn header_fault(name: &str, value: &str) -> Option<String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return Some(format!("headers has the name {name:?}: write letters, digits and hyphens, such as x-team"));
    }
    if OF_THE_CONNECTION.contains(&name.to_ascii_lowercase().as_str()) {
        return Some(format!("headers.{name} is written by the connection itself: leave it out"));
    }
    let can_be_sent = |letter: char| letter == '\t' || (letter >= ' ' && letter != '\u{7f}');
    (value.trim().is_empty() || !value.chars().all(can_be_sent))
        .then(|| format!("headers.{name} cannot be sent: write a text of one line that is not empty"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_cannot_be_sent_are_refused_without_their_values() {
        let fault = |name: &str, value: &str| {
            let headers = [(name.to_owned(), value.to_owned())].into_iter().collect();
            of_model(&ModelConfig { headers, ..ModelConfig::default() }).pop()
        };
        for (name, value) in [("x-team", "a"), ("Authorization", "Bearer s3cr3t-word"), ("x_a.b", "a\tb c"), ("x", "é")] {
            assert_eq!(fault(name, value), None, "{name}: {value:?}");
        }
        for (name, value, word) in [
            ("x team", "s3cr3t-word", "has the name \"x team\""),
            ("", "s3cr3t-word", "has the name \"\""),
            ("x-ä", "s3cr3t-word", "has the name"),
            ("Host", "s3cr3t-word", "written by the connection itself"),
            ("content-length", "s3cr3t-word", "written by the connection itself"),
            ("x-team", "s3cr3t-word\nx: y", "cannot be sent"),
            ("x-team", "  ", "cannot be sent"),
        ] {
            let fault = fault(name, value).unwrap();
            assert!(fault.starts_with("headers") && fault.contains(word) && !fault.contains("s3cr3t"), "{fault}");
        }
    }
}
