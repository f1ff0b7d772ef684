//! Server of rounds that aime and its peers use in turn, and the floor: a plain client that replays the same requests.

use std::{
    io::stdin,
    time::{Duration, Instant},
};

use aime_scripted_server::RoundsServer;
use anyhow::{Context, Result, bail, ensure};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1,
    header::{CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::{actors::BYTES_OF_TOKEN, run::milliseconds};

/// Serves until its input ends. The first line of the output is the address; each line of the input is a query on the requests since the
/// query before.
///
/// # Errors
/// A port that cannot be opened, an invalid query, a request that is refused.
pub(crate) async fn serve(pause: Duration) -> Result<()> {
    let server = RoundsServer::try_start(pause)?;
    println!("{}", json!({"url": server.url()}));
    for question in stdin().lines() {
        println!("{}", answer(&server, question?.trim()).await?);
    }
    Ok(())
}

async fn answer(server: &RoundsServer, question: &str) -> Result<Value> {
    let requests = server.take();
    match question {
        "floor" => floor(server, &requests).await,
        "tokens" => tokens(&requests),
        other => bail!("{other:?} is neither floor nor tokens"),
    }
}

/// Replays the requests in sequence over one connection, and reads every answer to its end.
async fn floor(server: &RoundsServer, requests: &[Bytes]) -> Result<Value> {
    let rounds = requests.len().checked_sub(1).context("nothing was asked")?;
    let (url, path) = (server.url(), format!("/rounds/{rounds}/v1/chat/completions"));
    let host = url.trim_start_matches("http://");
    let started = Instant::now();
    let stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    for body in requests {
        let request = Request::post(&path).header(HOST, host).header(CONTENT_TYPE, "application/json").body(Full::new(body.clone()))?;
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        ensure!(response.status().is_success(), "the server answered {}", response.status());
        response.into_body().collect().await?;
    }
    let took = started.elapsed();
    drop(sender);
    connection.await??;
    ensure!(server.take() == requests, "what was sent again is not what was sent");
    Ok(json!({"requests": requests.len(), "ms": milliseconds(took)}))
}

/// Returns the tokens that a model received: the texts and calls of all messages, and the definitions of the tools.
fn tokens(requests: &[Bytes]) -> Result<Value> {
    let mut bytes = 0;
    for request in requests {
        let request: Value = serde_json::from_slice(request)?;
        let of = |name: &str| request.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        bytes += of("messages").iter().map(message).sum::<usize>() + of("tools").iter().map(tool).sum::<usize>();
    }
    Ok(json!({"requests": requests.len(), "prompt_tokens": bytes / BYTES_OF_TOKEN}))
}

fn message(message: &Value) -> usize {
    let text = message.get("content").map_or(0, |content| match content.as_array() {
        Some(parts) => parts.iter().map(|part| text(part, "/text")).sum(),
        None => text(message, "/content"),
    });
    let calls = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    text + calls.iter().map(|call| self::text(call, "/function/name") + self::text(call, "/function/arguments")).sum::<usize>()
}

fn tool(tool: &Value) -> usize {
    let parameters = tool.pointer("/function/parameters").map_or(0, |parameters| parameters.to_string().len());
    text(tool, "/function/name") + text(tool, "/function/description") + parameters
}

/// Returns the bytes of a text in a value.
fn text(value: &Value, pointer: &str) -> usize {
    value.pointer(pointer).and_then(Value::as_str).map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors;

    #[tokio::test]
    async fn rounds_over_http_are_sent_again_as_they_were() {
        let server = RoundsServer::try_start(Duration::ZERO).unwrap();
        let measured = actors::rounds_over_http(&server.url(), 3).await.unwrap();
        assert!(measured["ms"].as_f64().unwrap() > 0.0, "{measured}");
        let floor = answer(&server, "floor").await.unwrap();
        assert_eq!(floor["requests"], 4, "three calls and the end: {floor}");
        assert!(answer(&server, "floor").await.is_err(), "all of them were taken");
    }

    #[tokio::test]
    async fn what_goes_to_a_server_has_as_many_tokens_as_what_a_model_in_the_process_is_told() {
        let server = RoundsServer::try_start(Duration::ZERO).unwrap();
        actors::rounds_over_http(&server.url(), 3).await.unwrap();
        let (served, own) = (answer(&server, "tokens").await.unwrap(), actors::rounds(3).await.unwrap());
        let of = |measured: &Value| measured["prompt_tokens"].as_f64().unwrap();
        assert_eq!(served["requests"], 4);
        assert!((of(&served) / of(&own) - 1.0).abs() < 0.02, "{served} {own}");
    }

    #[test]
    fn texts_calls_and_tools_are_counted() {
        let request = json!({
            "model": "not counted",
            "messages": [
                {"role": "system", "content": "12345678"},
                {"role": "user", "content": [{"type": "text", "text": "1234"}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "not counted", "function": {"name": "1234", "arguments": "1234"}}]},
                {"role": "tool", "tool_call_id": "not counted", "content": "1234"},
            ],
            "tools": [{"type": "function", "function": {"name": "1234", "description": "1234", "parameters": {"a": [1, 2]}}}],
        });
        let body = Bytes::from(request.to_string());
        assert_eq!(tokens(&[body.clone(), body]).unwrap(), json!({"requests": 2, "prompt_tokens": 2 * (6 * 4 + 8 + 11) / 4}));
    }
}
