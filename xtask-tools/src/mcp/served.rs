//! Servers on 127.0.0.1 during the scenario: an MCP server over streamable HTTP, and a page.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::install::Installed;
use crate::model::Server;

/// Name of the server in the settings.
pub(crate) const NAME: &str = "distant";
/// Time limit for its start.
const PATIENCE: Duration = Duration::from_secs(60);

/// `server-everything` over streamable HTTP. Killed when dropped.
pub(crate) struct Served {
    child: Child,
    port: u16,
}

impl Served {
    /// Starts it on this port, or on a free one.
    pub(crate) fn everything(installed: &Installed, port: Option<u16>) -> Result<Self> {
        let port = port.map_or_else(Server::free_port, Ok)?;
        let mut command = Command::new(&installed.node);
        command.arg(installed.script("server-everything")).arg("streamableHttp").env("PORT", port.to_string());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("could not start node")?;
        let mut served = Self { child, port };
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            ensure!(begun.elapsed() < PATIENCE && served.child.try_wait()?.is_none(), "server-everything does not listen on port {port}");
            sleep(Duration::from_millis(50));
        }
        Ok(served)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn settings(&self) -> String {
        format!("[mcp.servers.{NAME}]\ntrusted = true\nurl = \"http://127.0.0.1:{}/mcp\"\n", self.port)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Page that is served as long as this process runs.
pub(crate) struct Page {
    address: SocketAddr,
}

impl Page {
    pub(crate) fn serve(text: &'static str) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port on 127.0.0.1 can be opened")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
                // Errors of a client that leaves early are ignored.
                let mut asked = [0; 4096];
                let _ = stream
                    .read(&mut asked)
                    .and_then(|_| stream.write_all(head.as_bytes()))
                    .and_then(|()| stream.write_all(text.as_bytes()));
            }
        });
        Ok(Self { address })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/sea.txt", self.address)
    }
}
