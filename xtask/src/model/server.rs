//! Serving a model on 127.0.0.1 for as long as the task lives.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{available_parallelism, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::catalog::Name;
use super::fetch::Ready;

/// How long a model may take to be loaded.
const LOADING: Duration = Duration::from_secs(300);

/// The tokens of context, over all slots. An actor, the planner and a judge each keep one of their own, so that none computes its prompt anew.
const CONTEXT: &str = "32768";
const SLOTS: &str = "4";

/// A running model server. It ends when this is dropped, and when this process ends in any way.
pub(crate) struct Server {
    keeper: Child,
    port: u16,
    log: PathBuf,
}

impl Server {
    /// Starts the server on a port and waits until the model answers.
    pub(crate) fn start(name: Name, ready: &Ready, port: u16) -> Result<Self> {
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err() {
            bail!("port {port} on 127.0.0.1 is in use: end what listens there, or name another port");
        }
        let programs = ready.program.parent().context("the server's program has no folder")?;
        let log = ready.model.with_extension(format!("{port}.log"));
        let written = File::create(&log).with_context(|| format!("could not write {}", log.display()))?;
        let threads = available_parallelism().map_or(2, usize::from).to_string();
        let mut keeper = Command::new("python3");
        keeper.args(["-I", "-c", include_str!("keep.py")]).arg(&ready.program);
        keeper.arg("--model").arg(&ready.model).args(["--alias", "local", "--host", "127.0.0.1", "--port", &port.to_string()]);
        keeper.args(["--ctx-size", CONTEXT, "--parallel", SLOTS, "--threads", &threads, "--n-gpu-layers", "0", "--jinja", "--no-webui"]);
        // What was computed for other beginnings is kept in memory, by default in 8 GB of it.
        keeper.args(["--cache-ram", "1024"]);
        // Small models that write long texts at a low temperature fall into repeating themselves.
        keeper.args(["--repeat-penalty", "1.1"]);
        if let Some(template) = &ready.template {
            keeper.arg("--chat-template-file").arg(template);
        }
        // Threads that spin while they wait make a shared machine several times slower.
        keeper.env("LD_LIBRARY_PATH", programs).env("OMP_WAIT_POLICY", "passive").env("GOMP_SPINCOUNT", "0");
        keeper.stdin(Stdio::piped()).stdout(written.try_clone()?).stderr(written);
        let keeper = keeper.spawn().context("could not start python3, which keeps the model server")?;
        let mut server = Self { keeper, port, log };
        eprintln!("loading the model ({}) on {}", name.alias(), server.base_url());
        server.wait_until_loaded()?;
        Ok(server)
    }

    /// A port of 127.0.0.1 that nobody listens on now.
    pub(crate) fn free_port() -> Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port on 127.0.0.1 can be opened")?;
        Ok(listener.local_addr()?.port())
    }

    /// The variables that point any OpenAI client at this server.
    pub(crate) fn variables(&self) -> [(&'static str, String); 3] {
        [("OPENAI_BASE_URL", self.base_url()), ("OPENAI_API_KEY", "local".into()), ("AIME_MODEL", "local".into())]
    }

    /// [`Self::variables`] as a line for a shell.
    pub(crate) fn exports(&self) -> String {
        let set = self.variables().map(|(name, value)| format!("{name}={value}"));
        format!("export {}", set.join(" "))
    }

    /// Waits until the server ends by itself or by Ctrl-C.
    pub(crate) fn wait(mut self) -> Result<()> {
        // Waiting through the child would close its input, which ends the server.
        loop {
            if let Some(status) = self.keeper.try_wait()? {
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
            if let Some(status) = self.keeper.try_wait()? {
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

    /// Whether `GET /health` is answered with 200: while the model is being loaded it is 503.
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
        drop(self.keeper.stdin.take());
        self.keeper.wait().ok();
    }
}
