//! What this machine has that can be a model: servers that listen, and keys in the environment.

#[cfg(test)]
mod tests;

use std::time::Duration;

use aime_runs::Environment;
use futures::future;
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use aime_runs::models::{Chosen, SERVED};

/// Servers of models on this machine, where they usually listen.
const SERVERS: [(&str, u16); 4] = [("llama.cpp", 8080), ("Ollama", 11434), ("vLLM", 8000), ("LM Studio", 1234)];
/// How long one may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest answer, in bytes.
const LONGEST: u64 = 1 << 20;
/// What stands in names of models that cannot talk.
const NO_CHAT: [&str; 3] = ["embed", "rerank", "whisper"];

/// A server that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Running {
    /// What usually listens there; it may be another that speaks the same.
    pub(super) software: &'static str,
    pub(super) port: u16,
    /// The first of its models that can talk.
    pub(super) model: String,
}

impl Running {
    /// The settings that use it.
    pub(super) fn settings(&self) -> String {
        let model = toml::Value::from(self.model.as_str());
        format!("[models.default]\nmodel = {model}\nbase_url = \"http://127.0.0.1:{}/v1\"\n", self.port)
    }
}

/// The servers that listen, in the order in which they are preferred.
pub(super) async fn running() -> Vec<Running> {
    let asked = SERVERS.map(|(software, port)| async move { timeout(PATIENCE, ask(software, port)).await.ok().flatten() });
    future::join_all(asked).await.into_iter().flatten().collect()
}

/// Where servers are looked for, for people.
pub(super) fn looked_at() -> String {
    SERVERS.map(|(software, port)| format!("{software} {port}")).join(", ")
}

/// Settings for the keys of providers that are set beside those of the provider that the environment chooses: the variable, and what to write.
pub(super) fn keys(environment: &Environment) -> Vec<(&'static str, String)> {
    let chosen = Chosen::in_environment(environment).map(|chosen| chosen.served.provider);
    let others = SERVED.iter().filter(|served| Some(served.provider) != chosen);
    others
        .filter_map(|served| {
            let name = served.catalog;
            Some((served.set_key(environment)?, format!("[models.{name}]\nprovider = \"{name}\"\n")))
        })
        .collect()
}

/// Asks what listens at a port for its models. One short question needs no client.
async fn ask(software: &'static str, port: u16) -> Option<Running> {
    #[derive(Deserialize)]
    struct Models {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }

    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    // The older version of the protocol has no parts that would have to be put together.
    let question = format!("GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await.ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let Models { data } = head.split(' ').nth(1).filter(|status| *status == "200").and_then(|_| serde_json::from_str(body).ok())?;
    let talks = |id: &str| !id.is_empty() && !NO_CHAT.iter().any(|word| id.to_lowercase().contains(word));
    data.into_iter().map(|model| model.id).find(|id| talks(id)).map(|model| Running { software, port, model })
}
