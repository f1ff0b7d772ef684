//! Access to single hosts through a local proxy, opened for each command. The proxy is the only part of the network that the command
//! reaches.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, io,
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
};

use super::launcher::{self, Launcher};

/// Variables that name the proxy.
const PROXY: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// Variables that list hosts to reach without a proxy, which is impossible here.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Opens a proxy for each command that may reach single hosts. The proxy decides which connections it allows; a command gets the proxy's
/// port, and reaches no other.
#[derive(Clone)]
pub struct ProxyFactory {
    hosts: Arc<[String]>,
    open: Arc<dyn Fn(TcpListener) -> io::Result<RunningProxy> + Send + Sync>,
    launcher: Option<Launcher>,
}

/// Connection of one command to its proxy.
#[derive(Debug)]
pub(crate) struct ReservedProxy {
    gate: ProxyFactory,
    port: u16,
    place: SocketPlace,
}

/// Location of the proxy's socket.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux alone has such networks"))]
enum SocketPlace {
    /// On this machine, where the kernel checks the port but not the machine.
    Here(TcpListener),
    /// In the command's own network namespace, which this launcher creates.
    Within(Launcher),
}

/// A proxy that is open for one command. Dropping it closes the proxy.
pub struct RunningProxy {
    refused: Box<dyn Fn() -> Vec<String> + Send + Sync>,
}

/// Part of the network that the kernel allows a process to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Nothing,
    /// TCP to this port.
    Port(u16),
    Everything,
}

impl ProxyFactory {
    /// Creates a gate to these hosts, named for people. `open` is called in a tokio runtime when a command starts, with the socket on which
    /// its proxy must listen.
    #[must_use]
    pub fn new(
        hosts: impl IntoIterator<Item = impl Into<String>>,
        open: impl Fn(TcpListener) -> io::Result<RunningProxy> + Send + Sync + 'static,
    ) -> Self {
        Self { hosts: hosts.into_iter().map(Into::into).collect(), open: Arc::new(open), launcher: None }
    }

    /// Sets the launcher that gives each command a network of its own. Required on Linux, unless the user gives up
    /// [`Guarantee::NetworkNamespace`](super::Guarantee::NetworkNamespace) by name.
    #[must_use]
    pub fn launched_by(mut self, launcher: Launcher) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Succeeds if a command reaches only its proxy at the port, and no other machine. The error is the reason why not.
    pub(super) fn check_host_isolation(&self) -> Result<(), String> {
        match &self.launcher {
            Some(launcher) => launcher.probe(),
            None if cfg!(target_os = "linux") => Err("this program has no launcher for them".to_owned()),
            None => Ok(()),
        }
    }

    /// Opens a door for one command; `within` puts it into a network of the command's own.
    pub(super) fn reserve(&self, within: bool) -> io::Result<ReservedProxy> {
        let (port, place) = match &self.launcher {
            Some(launcher) if within && cfg!(target_os = "linux") => (launcher::PORT, SocketPlace::Within(launcher.clone())),
            _ => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                (listener.local_addr()?.port(), SocketPlace::Here(listener))
            }
        };
        Ok(ReservedProxy { gate: self.clone(), port, place })
    }

    /// Returns the hosts, for people.
    pub(super) fn hosts(&self) -> String {
        self.hosts.join(", ")
    }
}

impl fmt::Debug for ProxyFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProxyFactory").field(&self.hosts).finish()
    }
}

impl RunningProxy {
    /// Creates an open proxy. `refused` returns descriptions of the requests that the proxy has refused so far; dropping it must close the
    /// proxy.
    #[must_use]
    pub fn new(refused: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        Self { refused: Box::new(refused) }
    }

    pub(crate) fn refused(&self) -> Vec<String> {
        (self.refused)()
    }
}

impl ReservedProxy {
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the launcher that creates the command's own network, if it has one.
    #[cfg(target_os = "linux")]
    pub(crate) const fn launcher(&self) -> Option<&Launcher> {
        match &self.place {
            SocketPlace::Here(_) => None,
            SocketPlace::Within(launcher) => Some(launcher),
        }
    }

    /// Opens the proxy, on the given socket if the command has its own network.
    pub(crate) fn open(self, within: Option<TcpListener>) -> io::Result<RunningProxy> {
        let listener = match self.place {
            SocketPlace::Here(listener) => Some(listener),
            SocketPlace::Within(_) => within,
        };
        (self.gate.open)(listener.ok_or_else(|| io::Error::other("nothing listens in the command's own network"))?)
    }

    /// Sets the environment variables that name the proxy.
    pub(super) fn announce(&self, environment: &mut BTreeMap<OsString, OsString>) {
        let address = format!("http://127.0.0.1:{}", self.port);
        environment.extend(PROXY.map(|name| (name.into(), address.clone().into())));
        environment.extend(NO_PROXY.map(|name| (name.into(), OsString::new())));
        // Node reads the other variables only if this one is set.
        environment.insert("NODE_USE_ENV_PROXY".into(), "1".into());
    }
}

impl fmt::Debug for RunningProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningProxy").finish_non_exhaustive()
    }
}
