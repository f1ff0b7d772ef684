//! Forward proxy for HTTP that connects to granted hosts only: with tunnels (`CONNECT`) and plain requests (`GET
//! http://…`).
//!
//! The proxy resolves names itself, checks every address of a name, and connects to the addresses that it has
//! checked.

mod answer;
mod dial;
mod watched;

use std::{
    io,
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::sleep,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    answer::{Tunnel, answer},
    watched::IdleTrackedStream,
};
use crate::{Denied, HostGrants};

/// Refusals that are kept, each once.
const MAX_REFUSALS: usize = 20;
/// Wait after a failed accept, for example for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Limits of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyBounds {
    /// Connections at once; more wait.
    pub connections: usize,
    /// Maximum time of a connection without a byte in either direction.
    pub idle: Duration,
    /// Maximum time to resolve a name and connect.
    pub connect: Duration,
    /// Maximum time to receive the head of a request.
    pub head: Duration,
    /// Bytes of the head of a request or an answer; at least 8 KiB.
    pub head_bytes: usize,
}

impl Default for ProxyBounds {
    /// 128 connections, 5 minutes without a byte, 10 s to connect, 30 s and 64 KiB for a head.
    fn default() -> Self {
        Self {
            connections: 128,
            idle: Duration::from_secs(300),
            connect: Duration::from_secs(10),
            head: Duration::from_secs(30),
            head_bytes: 64 * 1024,
        }
    }
}

/// Grants and limits for proxies. Each opened proxy is independent.
#[derive(Debug, Clone)]
pub struct HostProxy {
    grants: Arc<HostGrants>,
    setting: Arc<str>,
    bounds: ProxyBounds,
}

/// A proxy that listens. Dropped, it ends with all its connections.
#[derive(Debug)]
pub struct OpenProxy {
    port: u16,
    shared: Arc<Shared>,
    _end: DropGuard,
}

/// State that the connections of one proxy share.
#[derive(Debug)]
struct Shared {
    grants: Arc<HostGrants>,
    setting: Arc<str>,
    bounds: ProxyBounds,
    refused: Mutex<Vec<String>>,
    end: CancellationToken,
}

impl HostProxy {
    /// Creates a proxy for these grants. `setting` is the name of their setting, such as `sandbox.network`; a refusal
    /// advises the user to add the host to it.
    #[must_use]
    pub fn new(grants: HostGrants, setting: &str) -> Self {
        Self { grants: Arc::new(grants), setting: setting.into(), bounds: ProxyBounds::default() }
    }

    /// Sets other limits.
    #[must_use]
    pub const fn with_bounds(mut self, bounds: ProxyBounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Opens one on a port of 127.0.0.1 that is free, as [`HostProxy::open_on`] does.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn open(&self) -> io::Result<OpenProxy> {
        self.open_on(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?)
    }

    /// Opens a proxy on this socket, which may belong to another network namespace; connections are made from the
    /// current one. Must be called within a tokio runtime, on which it runs.
    ///
    /// # Errors
    /// If there is no runtime, or the socket does not listen.
    pub fn open_on(&self, listener: std::net::TcpListener) -> io::Result<OpenProxy> {
        let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = TcpListener::from_std(listener)?;
        let end = CancellationToken::new();
        let shared = Arc::new(Shared {
            grants: Arc::clone(&self.grants),
            setting: Arc::clone(&self.setting),
            bounds: self.bounds,
            refused: Mutex::new(Vec::new()),
            end: end.clone(),
        });
        runtime.spawn(end.clone().run_until_cancelled_owned(listen(listener, Arc::clone(&shared))));
        Ok(OpenProxy { port, shared, _end: end.drop_guard() })
    }
}

impl OpenProxy {
    /// Returns the port that it listens on.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the refusals so far as text, each once, with the setting that would allow it.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    /// Records a refusal and returns its message.
    fn refuse(&self, denied: &Denied) -> String {
        let text = format!("{denied}; the user can allow it: add \"{}\" to {}.", denied.remedy(), self.setting);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MAX_REFUSALS && !refused.contains(&text) {
            refused.push(text.clone());
        }
        text
    }
}

async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(shared.bounds.connections));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(shared.end.clone().run_until_cancelled_owned(connection(stream, Arc::clone(&shared), place)));
            }
            Err(error) => {
                tracing::debug!(%error, "a connection to the proxy could not be taken");
                sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

/// Serves one connection until it ends or is idle for too long.
async fn connection(stream: TcpStream, shared: Arc<Shared>, _place: OwnedSemaphorePermit) {
    let bounds = shared.bounds;
    let (stream, quiet) = IdleTrackedStream::new(stream, bounds.idle);
    let tunnel: Tunnel = Arc::default();
    let work = async {
        let within = Arc::clone(&tunnel);
        let serve = service_fn(move |request| answer(request, Arc::clone(&shared), Arc::clone(&within)));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.head)
            .max_buf_size(bounds.head_bytes)
            .serve_connection(TokioIo::new(stream), serve);
        connection.with_upgrades().await?;
        let opened = tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((client, mut server)) = opened {
            let mut client = TokioIo::new(client.await?);
            // Either side may break off a tunnel, so an error here is normal.
            let _broken = copy_bidirectional(&mut client, &mut server).await;
        }
        Ok::<_, hyper::Error>(())
    };
    tokio::select! {
        ended = work => if let Err(error) = ended { tracing::debug!(%error, "a connection to the proxy has broken") },
        () = quiet => tracing::debug!("connection closed: idle for too long"),
    }
}
