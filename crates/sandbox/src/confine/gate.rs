//! The way to single hosts: a proxy on this machine, opened for each command, which is all of the network that the command reaches.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, io,
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
};

use super::launcher::{self, Launcher};

/// The variables that tell programs their proxy.
const PROXY: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// Those that tell them where to go without, which leads nowhere here.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Opens a proxy for each command that is to reach single hosts. What it lets through is its own business: a command is given its port, and reaches
/// no other.
#[derive(Clone)]
pub struct Gate {
    hosts: Arc<[String]>,
    open: Arc<dyn Fn(TcpListener) -> io::Result<Passage> + Send + Sync>,
    launcher: Option<Launcher>,
}

/// The way of one command to its proxy.
#[derive(Debug)]
pub(crate) struct Door {
    gate: Gate,
    port: u16,
    place: DoorPlace,
}

/// Where the proxy listens.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux alone has such networks"))]
enum DoorPlace {
    /// On this machine, where its port says nothing of the machine.
    Here(TcpListener),
    /// In the command's own network, which this makes.
    Within(Launcher),
}

/// A proxy that is open for one command. It ends when this is dropped.
pub struct Passage {
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
    /// A gate to these hosts, as people are told them. `open` is called within a tokio runtime when a command starts, with the socket that its proxy
    /// is to listen on.
    #[must_use]
    pub fn new(
        hosts: impl IntoIterator<Item = impl Into<String>>,
        open: impl Fn(TcpListener) -> io::Result<Passage> + Send + Sync + 'static,
    ) -> Self {
        Self { hosts: hosts.into_iter().map(Into::into).collect(), open: Arc::new(open), launcher: None }
    }

    /// The same, where this gives each command a network of its own. On Linux it must, or the user goes without
    /// [`Guarantee::NetworkNamespace`](super::Guarantee::NetworkNamespace) by name.
    #[must_use]
    pub fn launched_by(mut self, launcher: Launcher) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Whether a command reaches its proxy at the port, and no other machine. The text tells why not.
    pub(super) fn tells_machines_apart(&self) -> Result<(), String> {
        match &self.launcher {
            Some(launcher) => launcher.works(),
            None if cfg!(target_os = "linux") => Err("this program has no launcher for them".to_owned()),
            None => Ok(()),
        }
    }

    /// A door for one command; `within` says that it stands in a network of the command's own.
    pub(super) fn door(&self, within: bool) -> io::Result<Door> {
        let (port, place) = match &self.launcher {
            Some(launcher) if within && cfg!(target_os = "linux") => (launcher::PORT, DoorPlace::Within(launcher.clone())),
            _ => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                (listener.local_addr()?.port(), DoorPlace::Here(listener))
            }
        };
        Ok(Door { gate: self.clone(), port, place })
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
    /// A proxy that is open. `refused` tells what it has refused so far, in words; the proxy must end when it is dropped.
    #[must_use]
    pub fn new(refused: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        Self { refused: Box::new(refused) }
    }

    pub(crate) fn refused(&self) -> Vec<String> {
        (self.refused)()
    }
}

impl Door {
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// What makes the network that it stands in, if that is the command's own.
    #[cfg(target_os = "linux")]
    pub(crate) const fn launcher(&self) -> Option<&Launcher> {
        match &self.place {
            DoorPlace::Here(_) => None,
            DoorPlace::Within(launcher) => Some(launcher),
        }
    }

    /// Opens the proxy: on the socket that was made in the command's own network, where it has one.
    pub(crate) fn open(self, within: Option<TcpListener>) -> io::Result<Passage> {
        let listener = match self.place {
            DoorPlace::Here(listener) => Some(listener),
            DoorPlace::Within(_) => within,
        };
        (self.gate.open)(listener.ok_or_else(|| io::Error::other("nothing listens in the command's own network"))?)
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
        f.debug_struct("Passage").finish_non_exhaustive()
    }
}
