//! Download of one file from one URL, with continuation after interruptions.

use std::time::Duration;

use aime_messages::{Describe, innermost};
use reqwest::{
    Client, ClientBuilder, Response, StatusCode, Url,
    header::{CONTENT_RANGE, RANGE},
};

use super::{
    FetchEvent, FetchObserver, FetchSettings, SourceError,
    error::SourceAbort,
    part::{BLOCK, PartFile},
};

/// Number of consecutive attempts without progress that are allowed after the first bytes.
const TRIES: u32 = 4;

/// Downloads the missing part of the file.
pub(super) async fn fetch(
    url: &str,
    total: u64,
    part: &mut PartFile,
    settings: &FetchSettings,
    observer: &dyn FetchObserver,
) -> Result<(), SourceAbort> {
    let url = Url::parse(url).map_err(|error| answer(format!("{url} is not a valid address: {error}")))?;
    let client = http_client(&url, settings)?;
    let mut wait = settings.retry_wait;
    let mut in_vain = 0;
    let mut came = false;
    while part.len() < total {
        let before = part.len();
        let error = match attempt(&client, &url, total, part, observer).await {
            Ok(()) => continue,
            Err(SourceAbort::Source(error)) if error.may_pass() => error,
            Err(error) => return Err(error),
        };
        if part.len() > before {
            (came, in_vain, wait) = (true, 0, settings.retry_wait);
        } else {
            in_vain += 1;
        }
        // A server that sends nothing at first is given up immediately, since there is another source. A broken connection is retried.
        let broke_off = came || matches!(error, SourceError::Cut { .. });
        if !broke_off || in_vain >= TRIES {
            return Err(error.into());
        }
        observer.on_event(&FetchEvent::Again { reason: &error.describe() });
        tokio::time::sleep(wait).await;
        wait *= 2;
    }
    Ok(())
}

/// Makes one request and appends the received bytes.
async fn attempt(client: &Client, url: &Url, total: u64, part: &mut PartFile, observer: &dyn FetchObserver) -> Result<(), SourceAbort> {
    let from = part.len();
    let mut request = client.get(url.clone());
    if from > 0 {
        request = request.header(RANGE, format!("bytes={from}-"));
    }
    let mut response = request.send().await.map_err(|error| SourceError::Unreachable { reason: reason(&error) })?;
    // A server without support for ranges sends the whole file, so its beginning is skipped.
    let mut skip = if begins_at(&response, from, total)? == from { 0 } else { from };
    let mut taken = Vec::with_capacity(BLOCK);
    let end = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let left_out = usize::try_from(skip).unwrap_or(usize::MAX).min(chunk.len());
                skip -= left_out as u64;
                taken.extend_from_slice(chunk.get(left_out..).unwrap_or_default());
                if part.len() + taken.len() as u64 > total {
                    return Err(answer("the server sends more bytes than the file has".to_owned()).into());
                }
                if taken.len() >= BLOCK {
                    write_chunk(part, &mut taken, total, observer).await?;
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(reason(&error)),
        }
    };
    write_chunk(part, &mut taken, total, observer).await?;
    if part.len() == total {
        return Ok(());
    }
    let reason = end.unwrap_or_else(|| "the server ended the connection".to_owned());
    Err(SourceError::Cut { done: part.len(), total, reason }.into())
}

/// Returns the offset in the file at which an answer begins. Refuses an answer that is not the file.
fn begins_at(response: &Response, asked: u64, total: u64) -> Result<u64, SourceError> {
    let other_size = |bytes: u64| answer(format!("the file there has {bytes} bytes instead of {total}"));
    match response.status() {
        StatusCode::OK => match response.content_length() {
            Some(length) if length != total => Err(other_size(length)),
            _ => Ok(0),
        },
        StatusCode::PARTIAL_CONTENT => {
            let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok()).unwrap_or_default();
            let (first, size) = read_range(range).ok_or_else(|| answer(format!("the server sends the unreadable range {range:?}")))?;
            match size {
                Some(size) if size != total => Err(other_size(size)),
                _ if first != asked => Err(answer(format!("the server sends bytes from {first} on instead of from {asked} on"))),
                _ => Ok(first),
            }
        }
        status => Err(SourceError::Status { status: status.to_string() }),
    }
}

/// Parses `bytes 5-9/10` into 5 and 10; the size may be `*`.
fn read_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, size) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let first = range.split_once('-')?.0.trim().parse().ok()?;
    Some((first, if size == "*" { None } else { Some(size.parse().ok()?) }))
}

async fn write_chunk(part: &mut PartFile, taken: &mut Vec<u8>, total: u64, observer: &dyn FetchObserver) -> Result<(), SourceAbort> {
    if !taken.is_empty() {
        part.append(std::mem::replace(taken, Vec::with_capacity(BLOCK))).await?;
        observer.on_event(&FetchEvent::Progress { done: part.len(), total });
    }
    Ok(())
}

/// Checks that a hub is reachable and has the file, within twice the connect timeout.
pub(super) async fn reach(url: &str, settings: &FetchSettings) -> Result<(), SourceError> {
    let url = Url::parse(url).map_err(|error| answer(format!("{url} is not a valid address: {error}")))?;
    let asked = http_client(&url, settings)?.head(url).timeout(settings.connect_timeout * 2).send().await;
    let response = asked.map_err(|error| SourceError::Unreachable { reason: reason(&error) })?;
    if response.status().is_success() { Ok(()) } else { Err(SourceError::Status { status: response.status().to_string() }) }
}

fn http_client(url: &Url, settings: &FetchSettings) -> Result<Client, SourceError> {
    // This fails only if a provider is already installed, which is fine.
    rustls::crypto::ring::default_provider().install_default().ok();
    let secure = url.scheme() == "https";
    let loopback = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let builder = || {
        let builder = Client::builder()
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.idle_timeout.max(Duration::from_millis(1)))
            .https_only(secure)
            .user_agent(concat!("aime/", env!("CARGO_PKG_VERSION")));
        if loopback { builder.no_proxy() } else { builder }
    };
    let client = if secure { builder().build().or_else(|_| with_own_roots(builder())) } else { builder().tls_certs_only([]).build() };
    client.map_err(|error| SourceError::Unreachable { reason: reason(&error) })
}

/// Adds built-in certificate authorities, for systems that have none.
fn with_own_roots(builder: ClientBuilder) -> reqwest::Result<Client> {
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().filter_map(|root| reqwest::Certificate::from_der(root).ok());
    builder.tls_certs_only(roots).build()
}

const fn answer(reason: String) -> SourceError {
    SourceError::Answer { reason }
}

/// Returns the reason for a failure.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "nothing came within the time".to_owned();
    }
    innermost(error)
}
