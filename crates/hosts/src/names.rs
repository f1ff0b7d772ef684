//! The host of an address, and patterns for hosts.
//!
//! Pure, and by the same parser that requests are made with: what is allowed and what is asked cannot differ.

use url::{Host, Url};

/// The host of an address, in lower case and without a dot at its end; none where it is no address of the web.
#[must_use]
pub fn host_of(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    host(&url)
}

/// The same of a parsed one.
#[must_use]
pub fn host(url: &Url) -> Option<String> {
    Some(match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    })
}

/// Whether a host fits a pattern: itself, `*.` and what it ends with, or `*`.
#[must_use]
pub fn host_fits(pattern: &str, host: &str) -> bool {
    let pattern = pattern.trim().trim_end_matches('.').to_lowercase();
    match pattern.strip_prefix("*.") {
        Some(end) => host.strip_suffix(end).is_some_and(|before| before.ends_with('.')),
        None => pattern == "*" || pattern == host,
    }
}
