//! The way to single hosts: a proxy on this machine, opened for each command, which is all of the network that the command reaches.

use std::{collections::BTreeMap, ffi::OsString, fmt, io, sync::Arc};

/// The variables that tell programs their proxy.
const PROXY: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// Those that tell them where to go without, which leads nowhere here.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Opens a proxy for each command that is to reach single hosts. What it lets through is its own business: a command is given its port, and reaches
/// no other.
#[derive(Clone)]
pub struct Gate {
    hosts: Arc<[String]>,
    open: Arc<dyn Fn() -> io::Result<Passage> + Send + Sync>,
}

/// A proxy that is open for one command, on a port of 127.0.0.1. It ends when this is dropped.
pub struct Passage {
    port: u16,
    refused: Box<dyn Fn() -> Vec<String> + Send + Sync>,
}

/// What of the network a process is let to by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Nothing,
    /// TCP to this port.
    Port(u16),
    Everything,
}

impl Gate {
    /// A gate to these hosts, as people are told them. `open` is called within a tokio runtime when a command starts.
    #[must_use]
    pub fn new(hosts: impl IntoIterator<Item = impl Into<String>>, open: impl Fn() -> io::Result<Passage> + Send + Sync + 'static) -> Self {
        Self { hosts: hosts.into_iter().map(Into::into).collect(), open: Arc::new(open) }
    }

    pub(super) fn open(&self) -> io::Result<Passage> {
        (self.open)()
    }

    /// The hosts, for people.
    pub(super) fn hosts(&self) -> String {
        self.hosts.join(", ")
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gate").field(&self.hosts).finish()
    }
}

impl Passage {
    /// A proxy on this port. `refused` tells what it has refused so far, in words; the proxy must end when it is dropped.
    #[must_use]
    pub fn new(port: u16, refused: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        Self { port, refused: Box::new(refused) }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn refused(&self) -> Vec<String> {
        (self.refused)()
    }

    /// Tells a command its proxy.
    pub(super) fn announce(&self, environment: &mut BTreeMap<OsString, OsString>) {
        let address = format!("http://127.0.0.1:{}", self.port);
        environment.extend(PROXY.map(|name| (name.into(), address.clone().into())));
        environment.extend(NO_PROXY.map(|name| (name.into(), OsString::new())));
        // Node takes notice of the others only where it is told to.
        environment.insert("NODE_USE_ENV_PROXY".into(), "1".into());
    }
}

impl fmt::Debug for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Passage").field(&self.port).finish()
    }
}
