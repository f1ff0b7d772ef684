//! Server thread with a runtime of its own, which works in any kind of test and ends with its handle.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::sync::oneshot;

/// A server thread. Dropping it ends it and all its connections.
pub(crate) struct ServerThread {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Serves on this port of 127.0.0.1; 0 selects a free one.
    ///
    /// # Errors
    /// The port cannot be opened, or the thread cannot be started.
    pub(crate) fn start(app: Router, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("scripted-server".to_owned()).spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    _ = serve(listener, app) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, app: Router) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|socket| {
        // Sends small pieces without delay. A socket that refuses the option is only slower.
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, app).await
}
