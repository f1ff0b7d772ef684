//! Host of a URL, and patterns for hosts.
//!
//! The module does no IO, and uses the same parser as the requests, so that the checked host and the requested host
//! cannot differ.

use std::net::Ipv6Addr;

use url::{Host, Url};

/// Returns the host of a URL, in lower case and without a trailing dot; `None` if it is not a URL of the web. An
/// IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) is returned as the IPv4 address.
#[must_use]
pub fn host_of(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    host(&url)
}

/// Does the same for a parsed URL.
#[must_use]
pub fn host(url: &Url) -> Option<String> {
    Some(host_text(url.host()?))
}

fn host_text<S: AsRef<str>>(host: Host<S>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        // An IPv4-mapped address leads to the IPv4 address.
        Host::Ipv6(address) => address.to_canonical().to_string(),
    }
}

/// Returns true if a host matches a pattern: the host itself, `*.` and a suffix, or `*`. Both are normalized: `127.1`
/// is `127.0.0.1`, `[::1]` is `::1`.
#[must_use]
pub fn host_fits(pattern: &str, host: &str) -> bool {
    let pattern = pattern.trim().trim_end_matches('.');
    match pattern.strip_prefix("*.") {
        Some(end) => host.strip_suffix(&*of_pattern(end)).is_some_and(|before| before.ends_with('.')),
        None => pattern == "*" || of_pattern(pattern) == host,
    }
}

/// Returns a name in a pattern, as [`host`] gives it.
fn of_pattern(name: &str) -> String {
    let parsed = Host::parse(name).ok().or_else(|| name.parse::<Ipv6Addr>().ok().map(Host::Ipv6));
    parsed.map_or_else(|| name.to_lowercase(), host_text)
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
