//! Finds models that this machine can use: listening servers, and keys in the environment.

#[cfg(test)]
mod tests;

use std::time::Duration;

use futures::future;
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{EnvironmentProvider, SERVED};
use crate::Environment;

/// Model servers with their usual ports.
const SERVERS: [(&str, u16); 4] = [("llama.cpp", 8080), ("Ollama", 11434), ("vLLM", 8000), ("LM Studio", 1234)];
/// Time limit for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// Parts of the names of models that cannot chat.
const NO_CHAT: [&str; 3] = ["embed", "rerank", "whisper"];

/// Server that listens on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundServer {
    /// Software that usually listens on this port. Compatible software may listen there instead.
    pub software: &'static str,
    /// Port of this machine.
    pub port: u16,
    /// First of its models that can chat.
    pub model: String,
}

impl FoundServer {
    /// Returns the settings for this server.
    #[must_use]
    pub fn settings(&self) -> String {
        let model = toml::Value::from(self.model.as_str());
        format!("[models.default]\nmodel = {model}\nbase_url = \"http://127.0.0.1:{}/v1\"\n", self.port)
    }
}

/// Returns the model servers that listen on this machine, in order of preference.
pub async fn found_servers() -> Vec<FoundServer> {
    let asked = SERVERS.map(|(software, port)| async move { timeout(ANSWER_TIMEOUT, ask(software, port)).await.ok().flatten() });
    future::join_all(asked).await.into_iter().flatten().collect()
}

/// Lists the addresses that are tried, for people.
#[must_use]
pub fn searched_places() -> String {
    SERVERS.map(|(software, port)| format!("{software} {port}")).join(", ")
}

/// Returns settings for further providers whose keys are set, beside the one that the environment chooses: the variable, and the text of
/// the settings.
#[must_use]
pub fn other_keys(environment: &Environment) -> Vec<(&'static str, String)> {
    let chosen = EnvironmentProvider::in_environment(environment).map(|chosen| chosen.served.provider);
    let others = SERVED.iter().filter(|served| Some(served.provider) != chosen);
    others
        .filter_map(|served| {
            let name = served.catalog;
            Some((served.set_key(environment)?, format!("[models.{name}]\nprovider = \"{name}\"\n")))
        })
        .collect()
}

/// Asks the server at a port for its models. The raw socket suffices for one short request.
async fn ask(software: &'static str, port: u16) -> Option<FoundServer> {
    #[derive(Deserialize)]
    struct Models {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }

    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    // HTTP/1.0 has no chunked answers that would have to be reassembled.
    let question = format!("GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await.ok()?;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let Models { data } = head.split(' ').nth(1).filter(|status| *status == "200").and_then(|_| serde_json::from_str(body).ok())?;
    let talks = |id: &str| !id.is_empty() && !NO_CHAT.iter().any(|word| id.to_lowercase().contains(word));
    data.into_iter().map(|model| model.id).find(|id| talks(id)).map(|model| FoundServer { software, port, model })
}
