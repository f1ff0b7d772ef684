//! HTTP client that no page can direct to a private network.

use std::{net::SocketAddr, time::Duration};

use aime_hosts::is_public;
use aime_messages::innermost;
use reqwest::{
    Client, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{ACCEPT, CONTENT_TYPE, LOCATION},
    redirect::Policy,
};
use url::Url;

use super::{
    WebPolicy,
    policy::{Reach, private},
};
use crate::tls::{NoTls, secured};

/// Maximum number of redirects.
const MAX_HOPS: usize = 5;
const CONNECT: Duration = Duration::from_secs(10);

/// Value of the `Accept` header, preferred types first.
const WANTED: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5";

/// Reads URLs under a policy. Uses no proxy, because a proxy would resolve names itself.
#[derive(Debug)]
pub(super) struct WebClient {
    policy: WebPolicy,
    open: Client,
    private: Client,
    most_bytes: usize,
}

/// Response of a URL.
#[derive(Debug)]
pub(super) struct Answer {
    /// Final URL after redirects.
    pub(super) url: Url,
    pub(super) kind: String,
    pub(super) body: Vec<u8>,
    /// True if the response was longer than the limit.
    pub(super) cut: bool,
}

/// Reason why a URL gave no content.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The policy denies it.
    Denied(String),
    /// The request failed.
    Failed(String),
    /// The URL redirects to another host, which needs a request of its own.
    Elsewhere(Url),
}

impl WebClient {
    pub(super) fn new(policy: WebPolicy, most_bytes: usize) -> Result<Self, NoTls> {
        let plain = |builder: reqwest::ClientBuilder| builder.connect_timeout(CONNECT).redirect(Policy::none()).no_proxy();
        let open = secured(|builder| plain(builder).dns_resolver(OpenOnly))?;
        Ok(Self { policy, open, private: secured(plain)?, most_bytes })
    }

    /// Reads a URL. Checks each redirect like the first URL.
    pub(super) async fn read(&self, url: Url) -> Result<Answer, Refusal> {
        let mut here = url;
        for _ in 0..=MAX_HOPS {
            let client = match self.policy.check(&here).map_err(Refusal::Denied)? {
                Reach::Public => &self.open,
                Reach::Private => &self.private,
            };
            let response = client.get(here.clone()).header(ACCEPT, WANTED).send().await.map_err(|error| refused(&here, &error))?;
            if !response.status().is_redirection() {
                return self.take(here, response).await;
            }
            let next = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).and_then(|text| here.join(text).ok());
            let Some(next) = next else { return Err(Refusal::Failed(format!("{here} leads on, and does not say where"))) };
            // Report a forbidden target as such, before the question of another host.
            self.policy.check(&next).map_err(|reason| Refusal::Denied(format!("{here} leads to {next}: {reason}")))?;
            if !self.policy.may_follow(&here, &next) {
                return Err(Refusal::Elsewhere(next));
            }
            here = next;
        }
        Err(Refusal::Failed(format!("more than {MAX_HOPS} redirects, the last to {here}")))
    }

    async fn take(&self, url: Url, mut response: Response) -> Result<Answer, Refusal> {
        let status = response.status();
        if !status.is_success() {
            return Err(Refusal::Failed(format!("{url} answered {status}")));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_lowercase();
        let (mut body, mut cut) = (Vec::new(), false);
        while let Some(chunk) =
            response.chunk().await.map_err(|error| Refusal::Failed(format!("{url} broke off: {}", innermost(&error))))?
        {
            let room = self.most_bytes - body.len();
            body.extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
            if chunk.len() > room {
                cut = true;
                break;
            }
        }
        Ok(Answer { url, kind, body, cut })
    }
}

fn refused(url: &Url, error: &reqwest::Error) -> Refusal {
    let reason = innermost(error);
    if reason.starts_with(NOT_OPEN) {
        return Refusal::Denied(private(url.host_str().unwrap_or_default()));
    }
    Refusal::Failed(format!("{url} could not be read: {reason}"))
}

/// Beginning of the resolver's error.
const NOT_OPEN: &str = "leads to a private network";

/// DNS resolver that returns only addresses of the public network. Rejects a name if any of its addresses is not public. The connection
/// uses the same addresses that were checked.
struct OpenOnly;

impl Resolve for OpenOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| !is_public(address.ip())) {
                return Err(format!("{NOT_OPEN}: {}", name.as_str()).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 8.5
    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_not_resolved() {
        let Err(error) = OpenOnly.resolve("localhost".parse().unwrap()).await else { panic!("resolved") };
        assert_eq!(error.to_string(), "leads to a private network: localhost");
    }
}
