//! Policy of readable hosts. [`decide_permission`](crate::decide_permission) determines if a person must consent first.
//!
//! Pure: checks URLs as they are written. The resolver checks the addresses of their names.

use std::net::IpAddr;

use aime_hosts::{host, host_fits, is_public};
use url::{Host, Url};

/// Policy of readable hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebPolicy {
    /// Patterns for the hosts that need no consent: `docs.rs`, `*.python.org`, `*`.
    pub allowed: Vec<String>,
    /// Patterns for hosts that are never read.
    pub blocked: Vec<String>,
    /// Hosts of this machine or of private networks that may be read, with a port or for the default one: `wiki.intern`, `127.0.0.1:8080`.
    pub private: Vec<String>,
}

/// Networks to which a URL may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only the public network.
    Public,
    /// Any network.
    Private,
}

impl WebPolicy {
    /// Returns the networks to which a URL may lead, or the reason why it is denied.
    pub(super) fn check(&self, url: &Url) -> Result<Reach, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("only http and https are read, not {}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address with a name or a password in it is not read".to_owned());
        }
        let Some(name) = host(url) else { return Err("the address has no host".to_owned()) };
        if self.blocked.iter().any(|pattern| host_fits(pattern, &name)) {
            return Err(format!("the host {name} is blocked by web.blocked_hosts"));
        }
        if self.private.iter().any(|entry| grants(entry, &name, url)) {
            return Ok(Reach::Private);
        }
        let own = |address: IpAddr| !is_public(address);
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => own(address.into()),
            Some(Host::Ipv6(address)) => own(address.into()),
            _ => name == "localhost" || name.ends_with(".localhost"),
        };
        if literal { Err(private(&name)) } else { Ok(Reach::Public) }
    }

    /// Returns true if a page of one host may redirect to the other without a new question.
    pub(super) fn may_follow(&self, from: &Url, to: &Url) -> bool {
        let (Some(from), Some(to)) = (host(from), host(to)) else { return false };
        let bare = |name: &str| name.strip_prefix("www.").unwrap_or(name).to_owned();
        bare(&from) == bare(&to) || self.allowed.iter().any(|pattern| host_fits(pattern, &to))
    }
}

/// Returns true if an entry of the private hosts names this URL.
fn grants(entry: &str, name: &str, url: &Url) -> bool {
    // The same parser reads the entry, so that `[::1]:80` and `127.1` have the same meaning in both.
    let Some(granted) = Url::parse(&format!("{}://{}", url.scheme(), entry.trim())).ok() else { return false };
    host(&granted).as_deref() == Some(name) && granted.port_or_known_default() == url.port_or_known_default()
}

/// Returns the reason why a private host is not read.
pub(super) fn private(name: &str) -> String {
    format!("{name} is this machine or on a private network, which is not read unless web.private_hosts names it")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> WebPolicy {
        WebPolicy {
            allowed: vec!["docs.rs".to_owned()],
            blocked: vec!["*.evil.example".to_owned()],
            private: vec!["127.0.0.1:8080".to_owned(), "wiki.intern".to_owned(), "[::1]:9".to_owned()],
        }
    }

    #[test]
    fn what_is_private_is_refused_however_it_is_written() {
        let table = [
            ("https://docs.rs/serde", Ok(Reach::Public)),
            ("http://127.0.0.1:8080/x", Ok(Reach::Private)),
            ("http://2130706433:8080/x", Ok(Reach::Private)),
            ("https://wiki.intern/x", Ok(Reach::Private)),
            ("http://[::1]:9/", Ok(Reach::Private)),
            ("http://127.0.0.1:8081/x", Err("private network")),
            ("http://127.0.0.1/", Err("private network")),
            ("http://2130706433/", Err("private network")),
            ("http://0x7f.1/", Err("private network")),
            ("http://0177.0.0.1/", Err("private network")),
            ("http://127.1/", Err("private network")),
            ("http://[::ffff:127.0.0.1]/", Err("private network")),
            ("http://[::ffff:7f00:1]/", Err("private network")),
            ("http://[fe80::1]/", Err("private network")),
            ("http://169.254.169.254/latest/meta-data", Err("private network")),
            ("http://localhost/", Err("private network")),
            ("http://LOCALHOST./", Err("private network")),
            ("http://a.localhost/", Err("private network")),
            ("http://very.evil.example/", Err("blocked")),
            ("ftp://docs.rs/", Err("only http")),
            ("file:///etc/passwd", Err("only http")),
            ("http://user@docs.rs/", Err("a name or a password")),
        ];
        for (url, expected) in table {
            match (policy().check(&Url::parse(url).unwrap()), expected) {
                (Err(fault), Err(part)) => assert!(fault.contains(part), "{url}: {fault}"),
                (got, expected) => assert_eq!(got, expected.map_err(str::to_owned), "{url}"),
            }
        }
    }

    #[test]
    fn a_page_leads_on_within_its_host_and_to_allowed_ones() {
        let url = |text: &str| Url::parse(text).unwrap();
        for (from, to, may) in [
            ("http://a.example/", "https://a.example/x", true),
            ("http://a.example/", "https://www.a.example/x", true),
            ("http://a.example/", "https://docs.rs/x", true),
            ("http://a.example/", "https://b.example/x", false),
        ] {
            assert_eq!(policy().may_follow(&url(from), &url(to)), may, "{from} {to}");
        }
    }
}
