//! Serves a model on 127.0.0.1 for as long as the task runs.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::catalog::Name;
use super::fetch::Ready;

/// Time limit for loading a model.
const LOADING: Duration = Duration::from_secs(300);

/// Tokens of context over all slots. An actor, the planner and a judge each keep their own slot, so that none recomputes its prompt.
const CONTEXT: u32 = 32_768;
const SLOTS: u32 = 4;

/// Running model server. It ends when this is dropped, and when this process ends in any way.
pub(crate) struct Server {
    process: Child,
    port: u16,
    log: PathBuf,
}

impl Server {
    /// Starts the server on a port and waits until the model answers.
    pub(crate) fn start(name: Name, ready: &Ready, port: u16) -> Result<Self> {
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err() {
            bail!("port {port} on 127.0.0.1 is in use: end what listens there, or name another port");
        }
        let log = ready.model.with_extension(format!("{port}.log"));
        let written = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
        let threads = available_parallelism().map_or(2, usize::from);
        let mut process = Command::new("python3");
        let template = name.template().unwrap_or_default();
        let settings =
            json!({"model": ready.model, "port": port, "context": CONTEXT, "slots": SLOTS, "threads": threads, "template": template});
        process.args(["-I", "-c", include_str!("serve.py")]).arg(&ready.server).arg(settings.to_string());
        // Spinning threads make a shared machine several times slower.
        process.env("OMP_WAIT_POLICY", "passive").env("GOMP_SPINCOUNT", "0");
        process.stdin(Stdio::piped()).stdout(written.try_clone()?).stderr(written);
        let process = process.spawn().context("could not start python3, which serves the model")?;
        let mut server = Self { process, port, log };
        eprintln!("loading the model ({}) on {}", name.alias(), server.base_url());
        server.wait_until_loaded()?;
        Ok(server)
    }

    /// Returns a free port of 127.0.0.1.
    pub(crate) fn free_port() -> Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port on 127.0.0.1 can be opened")?;
        Ok(listener.local_addr()?.port())
    }

    /// Returns the variables that point any OpenAI client at this server.
    pub(crate) fn variables(&self) -> [(&'static str, String); 3] {
        [("OPENAI_BASE_URL", self.base_url()), ("OPENAI_API_KEY", "local".into()), ("AIME_MODEL", "local".into())]
    }

    /// Returns [`Self::variables`] as a line for a shell.
    pub(crate) fn exports(&self) -> String {
        let set = self.variables().map(|(name, value)| format!("{name}={value}"));
        format!("export {}", set.join(" "))
    }

    /// Waits until the server ends, by itself or by Ctrl-C.
    pub(crate) fn wait(mut self) -> Result<()> {
        // `Child::wait` would close the input, which ends the server.
        loop {
            if let Some(status) = self.process.try_wait()? {
                bail!("the model server ended ({status}); its log is {}", self.log.display());
            }
            sleep(Duration::from_millis(200));
        }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    fn wait_until_loaded(&mut self) -> Result<()> {
        let end = Instant::now() + LOADING;
        loop {
            if let Some(status) = self.process.try_wait()? {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                let last = log.lines().rev().take(3).collect::<Vec<_>>();
                let last = last.into_iter().rev().collect::<Vec<_>>().join("\n  ");
                bail!("the model server did not start ({status}); its log {} ends with:\n  {last}", self.log.display());
            }
            if self.healthy() {
                return Ok(());
            }
            if Instant::now() > end {
                bail!("the model was not loaded after {} s; the server's log is {}", LOADING.as_secs(), self.log.display());
            }
            sleep(Duration::from_millis(200));
        }
    }

    /// Returns true if `GET /health` answers 200. While the model is loading it answers 503.
    fn healthy(&self) -> bool {
        let ask = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
            let mut head = [0; 12];
            stream.read_exact(&mut head)?;
            Ok(head.ends_with(b" 200"))
        };
        ask().unwrap_or(false)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().ok();
    }
}
