//! Asks a server which models it serves, for servers whose models no catalog lists.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Value, json};

use super::address::Address;
use super::client::{headers, http_client};
use super::settings::OpenAiSettings;

/// Maximum wait for an answer. A local server that takes longer counts as one without the information.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
const OLLAMA_PORT: u16 = 11_434;
/// A smaller or larger number is no window.
const BELIEVED: std::ops::RangeInclusive<u64> = 512..=100_000_000;

/// Asks the server how many tokens a request and its answer may take together: vLLM, SGLang and LiteLLM report it in
/// their list of models, llama.cpp under `/props`, Ollama under `/api/ps` and `/api/show`, LM Studio under
/// `/api/v0/models`.
///
/// Returns `None` if the server does not report it, or does not answer within two seconds.
pub async fn served_window(settings: &OpenAiSettings) -> Option<u32> {
    tokio::time::timeout(ANSWER_TIMEOUT, window_of(settings)).await.ok().flatten()
}

async fn window_of(settings: &OpenAiSettings) -> Option<u32> {
    let address = Address::parse(&settings.base_url).ok()?;
    let key = settings.api_key.as_ref().map_or("", |key| secrecy::ExposeSecret::expose_secret(key).trim());
    let protocol = address.protocol_for(&settings.model, settings.provider);
    let server = Server {
        http: http_client(settings, &address.url).ok()?,
        headers: headers(settings, protocol, address.key_headers(protocol, key), key).ok()?,
        root: root(&address.base),
        is_ollama: is_ollama(&address.url),
        base: address.base,
    };
    server.window(&settings.model).await
}

struct Server {
    http: Client,
    headers: reqwest::header::HeaderMap,
    base: String,
    /// The address without the version of the compatible face.
    root: String,
    is_ollama: bool,
}

impl Server {
    async fn window(&self, model: &str) -> Option<u32> {
        let list = self.ask(self.http.get(format!("{}/models", self.base))).await;
        let listed = list.as_ref().and_then(|list| in_list(list, model));
        if listed.is_some() {
            return listed;
        }
        let props = self.ask(self.http.get(format!("{}/props", self.root))).await;
        if let Some(window) = props.as_ref().and_then(of_llama_cpp) {
            return Some(window);
        }
        if self.is_ollama {
            let running = self.ask(self.http.get(format!("{}/api/ps", self.root))).await;
            if let Some(window) = running.as_ref().and_then(|running| of_running(running, model)) {
                return Some(window);
            }
            let shown = self.ask(self.http.post(format!("{}/api/show", self.root)).json(&json!({"model": model}))).await;
            return shown.as_ref().and_then(of_ollama);
        }
        let studio = self.ask(self.http.get(format!("{}/api/v0/models", self.root))).await;
        studio.as_ref().and_then(|list| in_list(list, model))
    }

    async fn ask(&self, request: RequestBuilder) -> Option<Value> {
        let answer = request.headers(self.headers.clone()).send().await.ok()?;
        if !answer.status().is_success() {
            return None;
        }
        serde_json::from_slice(&answer.bytes().await.ok()?).ok()
    }
}

/// Returns whether an address is one of Ollama: by its port, or by a name in the host or the path. Other servers take its
/// questions for requests that they do not know, which count against limits and fill logs.
fn is_ollama(url: &Url) -> bool {
    let named = |text: &str| text.to_ascii_lowercase().contains("ollama");
    url.port() == Some(OLLAMA_PORT) || url.host_str().is_some_and(named) || named(url.path())
}

fn root(base: &str) -> String {
    base.strip_suffix("/v1").unwrap_or(base).to_owned()
}

fn believed(value: &Value) -> Option<u32> {
    value.as_u64().filter(|tokens| BELIEVED.contains(tokens)).and_then(|tokens| u32::try_from(tokens).ok())
}

/// Returns the window of the entry with the model's name, or of the only entry. A loaded window takes precedence over
/// the longest possible one.
fn in_list(list: &Value, model: &str) -> Option<u32> {
    let entries = list.get("data")?.as_array()?;
    let named = entries.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model));
    let entry = match (named, entries.as_slice()) {
        (Some(entry), _) | (None, [entry]) => entry,
        _ => return None,
    };
    let names = ["loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length"];
    names.iter().find_map(|name| entry.get(*name).and_then(believed))
}

fn of_llama_cpp(props: &Value) -> Option<u32> {
    [props.pointer("/default_generation_settings/n_ctx"), props.get("n_ctx")].into_iter().flatten().find_map(believed)
}

fn of_running(running: &Value, model: &str) -> Option<u32> {
    let entry = running.get("models")?.as_array()?.iter().find(|entry| {
        let name = entry.get("name").or_else(|| entry.get("model")).and_then(Value::as_str).unwrap_or_default();
        name == model || name.strip_suffix(":latest") == Some(model)
    })?;
    entry.get("context_length").and_then(believed)
}

/// Returns the window that the model's file sets, else the longest one that it was trained for.
fn of_ollama(shown: &Value) -> Option<u32> {
    let set = shown.get("parameters").and_then(Value::as_str).and_then(|parameters| {
        let line = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx"))?;
        line.trim().parse::<u64>().ok().and_then(|tokens| believed(&json!(tokens)))
    });
    set.or_else(|| {
        let facts = shown.get("model_info")?.as_object()?;
        facts.iter().find(|(name, _)| name.ends_with(".context_length")).and_then(|(_, value)| believed(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_found_in_the_words_of_each_server() {
        let vllm = json!({"object": "list", "data": [{"id": "other", "max_model_len": 1_024}, {"id": "m", "max_model_len": 32_768}]});
        assert_eq!(in_list(&vllm, "m"), Some(32_768));
        assert_eq!(in_list(&vllm, "unknown"), None);
        let studio = json!({"data": [{"id": "m", "max_context_length": 131_072, "loaded_context_length": 8_192}]});
        assert_eq!(in_list(&studio, "any name"), Some(8_192));
        assert_eq!(of_llama_cpp(&json!({"default_generation_settings": {"n_ctx": 4_096}})), Some(4_096));
        assert_eq!(of_running(&json!({"models": [{"name": "qwen3:latest", "context_length": 16_384}]}), "qwen3"), Some(16_384));
        assert_eq!(
            of_ollama(&json!({"parameters": "stop \"x\"\nnum_ctx    8192", "model_info": {"qwen3.context_length": 40_960}})),
            Some(8_192)
        );
        assert_eq!(of_ollama(&json!({"model_info": {"qwen3.context_length": 40_960}})), Some(40_960));
        assert_eq!(in_list(&json!({"data": [{"id": "m", "max_model_len": 0}]}), "m"), None);
    }

    #[test]
    fn ollama_is_known_by_its_port_or_name() {
        for (url, expected) in [
            ("http://127.0.0.1:11434/v1", true),
            ("http://gpu-box:11434", true),
            ("https://ollama.com/v1", true),
            ("http://my-Ollama.local:8000/v1", true),
            ("https://gateway.example/ollama/v1", true),
            ("http://127.0.0.1:8080/v1", false),
            ("https://api.openai.com/v1", false),
            ("http://127.0.0.1:1234/v1", false),
        ] {
            assert_eq!(is_ollama(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[tokio::test]
    async fn a_server_that_does_not_tell_is_no_fault() {
        let server = aime_scripted_server::ScriptedServer::start(aime_scripted_server::Script::new()).await;
        assert_eq!(window_of(&OpenAiSettings::new("m", server.url())).await, None);
        // It answers `/api/v0/models` as a list of models.
        assert_eq!(server.elsewhere(), ["GET /props"], "another server is not asked as Ollama");
        let gateway = format!("{}/ollama/v1", server.origin());
        assert_eq!(window_of(&OpenAiSettings::new("m", gateway)).await, None);
        assert_eq!(server.elsewhere()[1..], ["GET /ollama/props", "GET /ollama/api/ps", "POST /ollama/api/show"]);
        assert_eq!(window_of(&OpenAiSettings::new("m", "http://127.0.0.1:1/v1")).await, None);
    }
}
