//! Prints the settings in force as a valid settings file.

use aime_redact::{REDACTED, Redactor, secrets_in};
use serde_json::Value;

use super::{Config, ModelConfig, RunConfig};

/// Returns all settings as TOML. Unset ones appear as comments that explain the default.
///
/// The texts are free of the redactor's secrets. Besides, these values are masked, which may hold keys in any form: headers, variables for
/// MCP servers and agents, members of request bodies that look secret, and everything in addresses except host and path.
pub fn show(config: &Config, redactor: &Redactor) -> Result<String, toml::ser::Error> {
    let masked = masked(config, redactor);
    let mut lines = Vec::new();
    let mut hooks = config.hooks.all();
    for line in toml::to_string(&masked)?.lines() {
        // A header of an empty table, or of one with only subtables, carries no information.
        if line == "[models]" || line == "[hooks]" {
            // The blank line before it goes too.
            lines.pop_if(|before: &mut String| before.is_empty());
            continue;
        }
        lines.push(line.to_owned());
        if line == "[run]" {
            lines.extend(unset_bounds(&config.run).into_iter().map(|key| format!("# {key}: no bound")));
        }
        if line.starts_with("[[hooks.")
            && let Some((_, hook)) = hooks.next()
        {
            lines.push(format!("# from {}", hook.from));
        }
        let named = line.strip_prefix("[models.").and_then(|rest| rest.strip_suffix(']'));
        if let Some(model) = named.and_then(|name| config.models.get(name.trim_matches('"'))) {
            lines.extend(unset(model));
        }
    }
    if config.models.is_empty() {
        lines.insert(0, "# models: none; which one is used then depends on the environment\n".to_owned());
    }
    // Only known values: the forms of keys would also match ordinary settings.
    Ok(redactor.values(lines.join("\n").trim()).into_owned())
}

fn masked(config: &Config, redactor: &Redactor) -> Config {
    let mut masked = config.clone();
    let Config { models, mcp, profiles, web, .. } = &mut masked;
    let mut values: Vec<&mut String> = Vec::new();
    let mut addresses: Vec<&mut String> = Vec::new();
    let mut arguments: Vec<&mut String> = Vec::new();
    for model in models.values_mut() {
        values.extend(model.headers.values_mut());
        addresses.extend(&mut model.base_url);
        model.extra_body.iter_mut().for_each(|(name, value)| mask_member(name, value));
    }
    for server in mcp.servers.values_mut() {
        values.extend(server.headers.values_mut().chain(server.env.values_mut()));
        addresses.extend(&mut server.url);
        arguments.extend(&mut server.args);
    }
    for profile in profiles.values_mut() {
        values.extend(profile.agent.set.values_mut());
        arguments.extend(&mut profile.agent.args);
    }
    addresses.extend(web.search.as_mut().and_then(|search| search.url.as_mut()));
    values.into_iter().for_each(|value| REDACTED.clone_into(value));
    addresses.into_iter().for_each(mask);
    for argument in arguments {
        *argument = redactor.text(argument).into_owned();
    }
    masked
}

/// Masks the texts of a member of a request's body that look secret.
fn mask_member(name: &str, value: &mut Value) {
    match value {
        Value::String(text) if !secrets_in(&format!("{name}={text}")).is_empty() => REDACTED.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_member(name, item)),
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| mask_member(name, value)),
        _ => {}
    }
}

/// Masks the user, password and query of an address, which may hold keys.
fn mask(address: &mut String) {
    let (before, query) = address.split_once('?').map_or((address.as_str(), ""), |(before, query)| (before, query));
    let (scheme, rest) = before.split_once("://").unwrap_or(("", before));
    let host = rest.split_once('@').map(|(_, host)| format!("{scheme}://{REDACTED}@{host}"));
    let before = host.unwrap_or_else(|| before.to_owned());
    *address = if query.is_empty() { before } else { format!("{before}?{REDACTED}") };
}

fn unset_bounds(run: &RunConfig) -> Vec<&'static str> {
    let all = [
        ("max_tokens", run.max_tokens.is_none()),
        ("max_cost_usd", run.max_cost_usd.is_none()),
        ("max_seconds", run.max_seconds.is_none()),
    ];
    all.into_iter().filter_map(|(key, unset)| unset.then_some(key)).collect()
}

fn unset(model: &ModelConfig) -> Option<String> {
    let all = [
        ("base_url", model.base_url.is_none()),
        ("api_key_env", model.api_key_env.is_none()),
        ("effort", model.effort.is_none()),
        ("images", model.images.is_none()),
        ("context_tokens", model.context_tokens.is_none()),
        ("max_output_tokens", model.max_output_tokens.is_none()),
        ("small", model.small.is_none()),
        ("timeout_seconds", model.timeout_seconds.is_none()),
        ("max_retries", model.max_retries.is_none()),
        ("prices", model.prices.is_none()),
    ];
    let unset: Vec<&str> = all.into_iter().filter_map(|(key, unset)| unset.then_some(key)).collect();
    (!unset.is_empty()).then(|| format!("# not set: {}", unset.join(", ")))
}
