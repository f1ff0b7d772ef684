//! The host of an address, and patterns for hosts.
//!
//! Pure, and by the same parser that requests are made with: what is allowed and what is asked cannot differ.

use std::net::Ipv6Addr;

use url::{Host, Url};

/// The host of an address, in lower case and without a dot at its end; none where it is no address of the web. An IPv6 address that stands for one of
/// IPv4 (RFC 4291, 2.5.5.2) is written as that one.
#[must_use]
pub fn host_of(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    host(&url)
}

/// The same of a parsed one.
#[must_use]
pub fn host(url: &Url) -> Option<String> {
    Some(written(url.host()?))
}

fn written<S: AsRef<str>>(host: Host<S>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        // One that stands for an IPv4 address leads to it.
        Host::Ipv6(address) => address.to_canonical().to_string(),
    }
}

/// Whether a host fits a pattern: itself, `*.` and what it ends with, or `*`. Both are read alike: `127.1` is `127.0.0.1`, `[::1]` is `::1`.
#[must_use]
pub fn host_fits(pattern: &str, host: &str) -> bool {
    let pattern = pattern.trim().trim_end_matches('.');
    match pattern.strip_prefix("*.") {
        Some(end) => host.strip_suffix(&*of_pattern(end)).is_some_and(|before| before.ends_with('.')),
        None => pattern == "*" || of_pattern(pattern) == host,
    }
}

/// A name in a pattern, as [`host`] gives it.
fn of_pattern(name: &str) -> String {
    let parsed = Host::parse(name).ok().or_else(|| name.parse::<Ipv6Addr>().ok().map(Host::Ipv6));
    parsed.map_or_else(|| name.to_lowercase(), written)
}

#[cfg(test)]
mod tests {
    use super::{host_fits, host_of};

    #[test]
    fn a_host_is_written_in_one_way() {
        for (url, host) in [
            ("https://Docs.RS./serde", Some("docs.rs")),
            ("http://127.1:8080/", Some("127.0.0.1")),
            ("http://[::ffff:127.0.0.1]/", Some("127.0.0.1")),
            ("http://[::ffff:7f00:1]:8080/", Some("127.0.0.1")),
            ("http://[::1]/", Some("::1")),
            ("ftp://docs.rs/", None),
            ("docs.rs", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn a_host_fits_its_pattern_however_that_is_written() {
        for (pattern, host, fits) in [
            ("docs.rs", "docs.rs", true),
            (" Docs.RS. ", "docs.rs", true),
            ("docs.rs", "evil-docs.rs", false),
            ("*.python.org", "docs.python.org", true),
            ("*.python.org", "python.org", false),
            ("*.Bücher.example", "a.xn--bcher-kva.example", true),
            ("*", "docs.rs", true),
            ("127.1", "127.0.0.1", true),
            ("[::1]", "::1", true),
            ("::1", "::1", true),
            ("0:0::1", "::1", true),
            ("[::ffff:127.0.0.1]", "127.0.0.1", true),
            ("", "docs.rs", false),
            ("https://docs.rs", "docs.rs", false),
        ] {
            assert_eq!(host_fits(pattern, host), fits, "{pattern} {host}");
        }
    }
}
