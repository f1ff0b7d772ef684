//! Collection of secrets that must not appear anywhere.

use std::ffi::OsStr;

use aime_redact::{is_ordinary, is_placeholder, is_secret_name, secrets_in};
use aime_sandbox::looks_secret;
use url::Url;

use super::telemetry;
use crate::{config::Config, environment::Environment, models::key_variables};

/// Returns the secrets in the environment: values that settings name as keys and tokens, and values that look like secrets.
pub(super) fn secrets(environment: &Environment, config: &Config) -> Vec<String> {
    let servers = || config.mcp.servers.values();
    let tokens = servers().flat_map(|server| [server.bearer_token_env.as_deref(), server.client_secret_env.as_deref()]).flatten();
    let of_search = config.web.search.as_ref().and_then(|search| search.api_key_env.as_deref());
    let of_models = config.models.values().filter_map(|model| model.api_key_env.as_deref());
    // The default key variables are sent too if no setting names another.
    let keys: Vec<&str> = of_models.chain(tokens).chain(of_search).collect();
    let is_key = |name: &str| keys.contains(&name) || key_variables().any(|key| key == name);
    let text = || environment.variables().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut found: Vec<String> = text()
        .filter_map(|(name, value)| match name {
            name if config.secrets.environment.contains(&name) => Some(value),
            // Users set a placeholder key for servers that check none.
            name if is_key(&name) => (!is_placeholder(&value)).then_some(value),
            name => secret_in(&name, &value),
        })
        .collect();
    // A variable for a server or an agent may hold a token, but also an address, a folder or a switch.
    let agents = || config.profiles.values().map(|profile| &profile.agent.env);
    let handed = |name: &String| servers().map(|server| &server.env_vars).chain(agents()).any(|handed| handed.contains(name));
    found.extend(
        text()
            .filter(|(name, _)| handed(name))
            .flat_map(|(_, value)| secrets_in(&format!("token={value}")))
            .filter(|value| !is_ordinary(value)),
    );
    found.extend(telemetry::secrets(environment));
    // Variables of servers and agents also hold addresses, folders and switches.
    let set = servers().map(|server| &server.env).chain(config.profiles.values().map(|profile| &profile.agent.set));
    found.extend(set.flatten().filter_map(|(name, value)| secret_in(name, value)));
    let of_search = config.web.search.as_ref().and_then(|search| search.url.as_deref());
    let of_models = config.models.values().filter_map(|model| model.base_url.as_deref());
    let addresses = servers().filter_map(|server| server.url.as_deref()).chain(of_search).chain(of_models);
    found.extend(addresses.flat_map(secrets_of_address));
    // Headers often hold tokens, but also name a program or a team and its address, which legitimately occur in other texts.
    let headers = servers().flat_map(|server| &server.headers).chain(config.models.values().flat_map(|model| &model.headers));
    let secret = headers.filter(|(name, value)| is_secret_name(name) || !is_public_value(value));
    found.extend(secret.map(|(_, value)| without_scheme(value).to_owned()));
    found
}

/// Returns the password of an address, and the values of its query that have the name or the form of a key.
fn secrets_of_address(address: &str) -> Vec<String> {
    let Ok(url) = Url::parse(address) else { return Vec::new() };
    let mut found: Vec<String> = url.password().filter(|password| !is_placeholder(password)).map(str::to_owned).into_iter().collect();
    let encoded = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let encoded = encoded.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let decoded = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned()));
    found.extend(encoded.chain(decoded).flat_map(|(name, value)| secrets_in(&format!("{name}={value}"))));
    found.sort();
    found.dedup();
    found
}

/// Returns the value of a header without a leading `Bearer` or `Basic`.
fn without_scheme(value: &str) -> &str {
    let (scheme, token) = value.split_once(' ').unwrap_or(("", value));
    if scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic") { token } else { value }
}

/// Returns true if a value is plain words, or an address without login and parameters.
fn is_public_value(value: &str) -> bool {
    let is_address = value.starts_with("https://") || value.starts_with("http://");
    is_ordinary(value) || (is_address && !looks_secret(OsStr::new(""), OsStr::new(value)) && !value.contains('?'))
}

/// Returns the secret in a variable that only looks like one. Paths, numbers, setting values and plain words are not secrets, since they
/// occur in ordinary texts.
fn secret_in(name: &str, value: &str) -> Option<String> {
    if !looks_secret(OsStr::new(name), OsStr::new(value)) {
        return None;
    }
    // Variables such as `XDG_SESSION_TYPE` contain these words too, so their values count as secret only if they look like nothing else.
    let weak = ["SESSION", "AUTH", "PRIVATE", "SIGNATURE", "COOKIE"];
    let bare = weak.iter().fold(name.to_uppercase(), |name, part| name.replace(part, ""));
    let name = if is_secret_name(&bare) { name } else { "VALUE" };
    secrets_in(&format!("{name}={value}")).pop().filter(|value| !is_ordinary(value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    // Requirement: 14.4
    #[test]
    fn a_variable_holds_a_secret_by_its_name_and_its_value() {
        for (name, value, secret) in [
            ("OPENAI_API_KEY", "ollama", None),
            ("OPENAI_API_KEY", "sk-no-key-required", None),
            ("POSTGRES_PASSWORD", "postgres", None),
            ("DEPLOY_TOKEN", "staging", None),
            ("DATABASE_URL", "postgres://postgres:postgres@localhost/db", None),
            ("XDG_SESSION_TYPE", "wayland", None),
            ("EDITOR", "hunter2!", None),
            ("OPENAI_API_KEY", "a-b1c2d3e4f5g6h7", Some("a-b1c2d3e4f5g6h7")),
            ("DB_PASSWORD", "hunter2!", Some("hunter2!")),
            ("DB_PASSWORD", "correct-horse-battery", Some("correct-horse-battery")),
            ("DATABASE_URL", "postgres://me:hunter22@localhost/db", Some("hunter22")),
        ] {
            assert_eq!(secret_in(name, value).as_deref(), secret, "{name}={value}");
        }
    }

    #[test]
    fn keys_of_all_providers_are_secrets_whatever_they_are() {
        for name in key_variables() {
            let found = |value: &str| secrets(&Environment::of([(name, value)]), &Config::default());
            assert_eq!(found("staging"), ["staging"], "{name}");
            assert!(found("ollama").is_empty(), "{name}: a server that looks at no key");
        }
    }

    #[test]
    fn variables_of_servers_hold_secrets_by_their_names() {
        let mut config = Config::default();
        let env = [("CLOCK_TOKEN", "hunter2!"), ("CLOCK_URL", "https://example.org/a1b2"), ("CLOCK_ZONE", "Paris-2")];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        config.mcp.servers.insert("clock".to_owned(), crate::config::McpServerConfig { env, ..Default::default() });
        assert_eq!(secrets(&Environment::default(), &config), ["hunter2!"]);
    }

    #[test]
    fn variables_of_agents_hold_secrets_by_their_names() {
        let set = [("HELPER_TOKEN", "hunter2!"), ("HELPER_HOME", "/srv/helper")];
        let set = set.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let agent = crate::config::AgentConfig { command: "helper".to_owned(), set, ..Default::default() };
        let mut config = Config::default();
        config.profiles.insert("helper".to_owned(), crate::config::ProfileConfig { description: String::new(), agent });
        assert_eq!(secrets(&Environment::default(), &config), ["hunter2!"]);
    }

    // Requirement: 14.4
    #[test]
    fn addresses_hold_secrets_in_logins_and_queries() {
        for (address, expected) in [
            ("https://example.org/mcp?apiKey=query-7&team=platform", &["query-7"][..]),
            ("https://example.org/mcp?exaApiKey=a%2Fb-7%3D&x=1", &["a%2Fb-7%3D", "a/b-7="]),
            ("https://example.org/mcp?profile=a1b2c3d4e5f6g7", &["a1b2c3d4e5f6g7"]),
            ("https://me:hunter22@example.org/mcp?token=sunshine", &["hunter22", "sunshine"]),
            ("https://example.org/openai?api-version=2024-10-21&keyword=planning&tools=web", &[]),
            ("https://me@example.org:8443/mcp", &[]),
            ("https://postgres:postgres@example.org/mcp", &[]),
            ("no address?key=query-7", &[]),
        ] {
            assert_eq!(secrets_of_address(address), expected, "{address}");
            let (mut of_a_server, mut of_a_model, mut of_the_search) = (Config::default(), Config::default(), Config::default());
            let server = crate::config::McpServerConfig { url: Some(address.to_owned()), ..Default::default() };
            of_a_server.mcp.servers.insert("tracker".to_owned(), server);
            let model = crate::config::ModelConfig { base_url: Some(address.to_owned()), ..Default::default() };
            of_a_model.models.insert("default".to_owned(), model);
            let (provider, url) = (crate::config::SearchProviderConfig::Searxng, Some(address.to_owned()));
            of_the_search.web.search = Some(crate::config::SearchConfig { provider, url, api_key_env: None, results: 8 });
            for config in [of_a_server, of_a_model, of_the_search] {
                assert_eq!(secrets(&Environment::default(), &config), expected, "{address}");
            }
        }
    }

    #[test]
    fn headers_hold_secrets_unless_they_are_words_or_addresses() {
        let headers = [
            ("authorization", "Bearer a-token-of-7"),
            ("api-key", "staging"),
            ("http-referer", "https://example.org/aime"),
            ("x-proxy", "https://me:hunter22@example.org"),
            ("x-team", "hunter2!"),
            ("x-title", "platform"),
        ];
        let headers: BTreeMap<_, _> = headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let (mut of_a_model, mut of_a_server) = (Config::default(), Config::default());
        let model = crate::config::ModelConfig { headers: headers.clone(), ..Default::default() };
        of_a_model.models.insert("default".to_owned(), model);
        let server = crate::config::McpServerConfig { headers, ..Default::default() };
        of_a_server.mcp.servers.insert("tracker".to_owned(), server);
        for config in [of_a_model, of_a_server] {
            let found = secrets(&Environment::default(), &config);
            assert_eq!(found, ["staging", "a-token-of-7", "https://me:hunter22@example.org", "hunter2!"]);
        }
    }

    #[test]
    fn a_variable_that_settings_name_holds_a_secret_whatever_it_is() {
        let mut config = Config::default();
        config.secrets.environment = vec!["MY_OWN".to_owned()];
        let found = |name: &str, value: &str, config: &Config| secrets(&Environment::of([(name, value)]), config);
        for value in ["staging", "ollama"] {
            assert_eq!(found("MY_OWN", value, &config), [value]);
        }
        let model = crate::config::ModelConfig { api_key_env: Some("MY_LOCAL".to_owned()), ..Default::default() };
        config.models.insert("default".to_owned(), model);
        assert!(found("MY_LOCAL", "ollama", &config).is_empty(), "a server that looks at no key");
        assert_eq!(found("MY_LOCAL", "staging", &config), ["staging"]);
    }
}
