//! Grants that list the hosts that may be reached.
//!
//! The module does no IO: it checks a target as it is written, and later the addresses to which the caller has
//! resolved its name.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use aime_messages::{Describe, Message, message};
use url::Host;

use crate::{host_fits, is_public};

/// Ports of a grant without ports: those of the web.
const USUAL_PORTS: [u16; 2] = [80, 443];
/// The longest entry, in bytes: more than any name of a host with a port.
const MAX_ENTRY_BYTES: usize = 300;

/// The hosts that may be reached: `crates.io`, `*.example.org`, `example.org:8080`, `127.0.0.1:9000`, `[::1]:9000`, `*`.
///
/// A grant without a port is one of ports 80 and 443. `*.example.org` is every host below `example.org`, not that itself. Addresses of this machine and
/// of private networks are reached only where the address itself is granted, also by names that lead there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostGrants {
    grants: Vec<Grant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Names(String),
    Address(IpAddr),
}

/// Host and port to reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    host: Host,
    port: u16,
}

/// Reason why a target may not be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No grant names it.
    #[error("{target} is not among the hosts that may be reached")]
    NotGranted {
        /// Target of the request.
        target: Target,
    },
    /// It resolves to an address of this machine or of a private network, and no grant names that address itself.
    #[error("{target} leads to {address}, which is this machine or on a private network")]
    Private {
        /// Target of the request.
        target: Target,
        /// Address to which the name resolves.
        address: IpAddr,
    },
}

/// Error for a text that is not a valid grant or pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct UnreadableGrant {
    text: String,
    reason: Message,
    hint: Message,
}

impl Describe for UnreadableGrant {
    fn describe(&self) -> Message {
        message!("no-host", entry = format!("{:?}", self.text), reason = self.reason, hint = self.hint)
    }
}

/// Checks a pattern for hosts at any port: `docs.rs`, `*.python.org`, `127.0.0.1`, `::1`, `*`. No other syntax
/// matches a host ([`host_fits`]).
///
/// # Errors
/// [`UnreadableGrant`], also if the pattern has a port.
pub fn check_pattern(text: &str) -> Result<(), UnreadableGrant> {
    // An address without brackets cannot have a port.
    if text.trim().parse::<Ipv6Addr>().is_ok() {
        return Ok(());
    }
    match Grant::read(text) {
        Ok(Grant { port: None, .. }) => Ok(()),
        Ok(_) => Err(UnreadableGrant { hint: message!("no-host-pattern"), ..unreadable(text, message!("host-any-port")) }),
        Err(fault) => Err(UnreadableGrant { hint: message!("no-host-pattern"), ..fault }),
    }
}

/// Checks one host, with a port or without: `wiki.intern`, `127.0.0.1:8080`.
///
/// # Errors
/// [`UnreadableGrant`], also for a pattern that many hosts fit.
pub fn check_single(text: &str) -> Result<(), UnreadableGrant> {
    match Grant::read(text) {
        Ok(Grant { pattern: Pattern::Names(name), .. }) if name.starts_with('*') => {
            Err(UnreadableGrant { hint: message!("no-host-single"), ..unreadable(text, message!("host-single")) })
        }
        Ok(_) => Ok(()),
        Err(fault) => Err(UnreadableGrant { hint: message!("no-host-single"), ..fault }),
    }
}

fn unreadable(text: &str, reason: Message) -> UnreadableGrant {
    UnreadableGrant { text: text.chars().take(MAX_ENTRY_BYTES).collect(), reason, hint: message!("no-host-grant") }
}

impl HostGrants {
    /// Reads a list of grants.
    ///
    /// # Errors
    /// [`UnreadableGrant`] for the first that cannot be read: an address with `https://` or a path, a `*` elsewhere than before all of the rest.
    pub fn read<T: AsRef<str>>(entries: impl IntoIterator<Item = T>) -> Result<Self, UnreadableGrant> {
        let grants = entries.into_iter().map(|entry| Grant::read(entry.as_ref()));
        Ok(Self { grants: grants.collect::<Result<_, _>>()? })
    }

    /// Checks a target as it is written. The caller then checks the resolved addresses with [`Self::check_address`].
    ///
    /// # Errors
    /// [`Denied`].
    pub fn check(&self, target: &Target) -> Result<(), Denied> {
        let granted = match target.address() {
            Some(address) => self.grants.iter().any(|grant| grant.names_address(address, target.port) || grant.is_for_all(target.port)),
            None => self.grants.iter().any(|grant| grant.names_host(&target.name(), target.port)),
        };
        if !granted {
            return Err(Denied::NotGranted { target: target.clone() });
        }
        target.address().map_or(Ok(()), |address| self.check_address(target, address))
    }

    /// Checks the address of a granted target.
    ///
    /// # Errors
    /// [`Denied::Private`] if the address is not public and no grant names it.
    pub fn check_address(&self, target: &Target, address: IpAddr) -> Result<(), Denied> {
        let address = address.to_canonical();
        if is_public(address) || self.grants.iter().any(|grant| grant.names_address(address, target.port)) {
            return Ok(());
        }
        Err(Denied::Private { target: target.clone(), address })
    }
}

impl Denied {
    /// Returns the grant that would allow it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NotGranted { target } if USUAL_PORTS.contains(&target.port) => target.host.to_string(),
            Self::NotGranted { target } => target.to_string(),
            Self::Private { target, address } => {
                let host = match address {
                    IpAddr::V4(address) => Host::Ipv4(*address),
                    IpAddr::V6(address) => Host::Ipv6(*address),
                };
                Target { host, port: target.port }.to_string()
            }
        }
    }
}

impl Grant {
    fn read(text: &str) -> Result<Self, UnreadableGrant> {
        let fault = |reason| unreadable(text, reason);
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.len() > MAX_ENTRY_BYTES {
            return Err(fault(message!("host-empty")));
        }
        if trimmed.contains(['/', '@', '?', '#', '\\']) {
            return Err(fault(message!("host-more")));
        }
        let (name, port) = split_port(trimmed).ok_or_else(|| fault(message!("host-port")))?;
        let (stars, rest) = match name.strip_prefix("*.") {
            Some(rest) => ("*.", rest),
            None => ("", name),
        };
        if name == "*" {
            return Ok(Self { pattern: Pattern::Names("*".to_owned()), port });
        }
        if rest.contains('*') {
            return Err(fault(message!("host-star")));
        }
        let host = Host::parse(rest).map_err(|_| fault(message!("host-unread")))?;
        let pattern = match host {
            Host::Domain(name) => Pattern::Names(format!("{stars}{}", name.trim_end_matches('.'))),
            _ if !stars.is_empty() => return Err(fault(message!("host-below"))),
            Host::Ipv4(address) => Pattern::Address(address.into()),
            Host::Ipv6(address) => Pattern::Address(IpAddr::from(address).to_canonical()),
        };
        Ok(Self { pattern, port })
    }

    fn fits_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| USUAL_PORTS.contains(&port), |granted| granted == port)
    }

    fn names_host(&self, name: &str, port: u16) -> bool {
        matches!(&self.pattern, Pattern::Names(pattern) if host_fits(pattern, name)) && self.fits_port(port)
    }

    fn names_address(&self, address: IpAddr, port: u16) -> bool {
        matches!(self.pattern, Pattern::Address(granted) if granted == address) && self.fits_port(port)
    }

    fn is_for_all(&self, port: u16) -> bool {
        matches!(&self.pattern, Pattern::Names(pattern) if pattern == "*") && self.fits_port(port)
    }
}

impl Target {
    /// Reads `host:port`. The default port is `usual`; returns `None` if there is neither. Names and addresses are
    /// read as in URLs (`0x7f.1` is 127.0.0.1), so that the checked target is the one that is reached. User info
    /// before the host is not allowed.
    #[must_use]
    pub fn read(authority: &str, usual: Option<u16>) -> Option<Self> {
        let (name, port) = split_port(authority)?;
        let host = match Host::parse(name).ok()? {
            Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_lowercase()),
            Host::Ipv4(address) => Host::Ipv4(address),
            Host::Ipv6(address) => address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4),
        };
        if matches!(&host, Host::Domain(name) if name.is_empty()) {
            return None;
        }
        Some(Self { host, port: port.or(usual)? })
    }

    /// Returns the host as a resolver takes it.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.host {
            Host::Domain(name) => name.clone(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        }
    }

    /// Returns the port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Splits a name from its port, if there is one. Returns `None` if the text after the colon is not a port.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((_, behind)) if behind.ends_with(']') => Some((text, None)),
        Some((name, port)) => {
            let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            let port = digits.then(|| port.parse::<u16>().ok()).flatten().filter(|port| *port != 0)?;
            Some((name, Some(port)))
        }
        None => Some((text, None)),
    }
}

#[cfg(test)]
mod tests;
