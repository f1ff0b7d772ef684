//! What nobody must see.

use std::ffi::OsStr;

use aime_redact::{is_secret_name, secrets_in};
use aime_sandbox::looks_secret;

use super::telemetry;
use crate::config::{Config, Environment};

/// What the environment holds that nobody must see: what settings name as keys and tokens, and what looks like one.
pub(super) fn secrets(environment: &Environment, config: &Config) -> Vec<String> {
    let servers = || config.mcp.servers.values();
    let tokens = servers().filter_map(|server| server.bearer_token_env.as_deref());
    let of_search = config.web.search.as_ref().and_then(|search| search.api_key_env.as_deref());
    let of_models = config.models.values().filter_map(|model| model.api_key_env.as_deref());
    let named: Vec<&str> = of_models.chain(tokens).chain(of_search).chain(config.secrets.environment.iter().map(String::as_str)).collect();
    let text = || environment.variables().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut found: Vec<String> = text().filter_map(|(name, value)| secret_in(&name, value, &named)).collect();
    // What servers are handed may be a token, and may be an address, a folder or a switch.
    let handed = |name: &String| servers().any(|server| server.env_vars.contains(name));
    found.extend(text().filter(|(name, _)| handed(name)).flat_map(|(_, value)| secrets_in(&format!("token={value}"))));
    found.extend(telemetry::secrets(environment));
    // Headers of servers often hold tokens, and stand in the user's own file.
    found.extend(servers().flat_map(|server| server.headers.values()).map(|value| {
        let (scheme, token) = value.split_once(' ').unwrap_or(("", value));
        if scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic") { token.to_owned() } else { value.clone() }
    }));
    found
}

/// The secret in a variable. Of those that only look like one, paths, numbers and words of settings are none: they stand in every other text.
pub(super) fn secret_in(name: &str, value: String, named: &[&str]) -> Option<String> {
    if named.contains(&name) {
        return Some(value);
    }
    if !looks_secret(OsStr::new(name), OsStr::new(&value)) {
        return None;
    }
    // `XDG_SESSION_TYPE` and the like: such a value is secret only where it looks like nothing else.
    let weak = ["SESSION", "AUTH", "PRIVATE", "SIGNATURE", "COOKIE"];
    let bare = weak.iter().fold(name.to_uppercase(), |name, part| name.replace(part, ""));
    let name = if is_secret_name(&bare) { name } else { "VALUE" };
    secrets_in(&format!("{name}={value}")).pop()
}
