//! Shared parts of the scenarios on an engine: folders, processes with their output, and waiting.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::services::Server;
use xtask::fresh_folder;
use xtask::workspace::{cargo, root};

/// Time limit of a scenario.
const DEADLINE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(50);
/// Home folder and working folders.
const FOLDERS: [&str; 55] = [
    "home",
    "here",
    "there",
    "cut",
    "client",
    "drives",
    "host-1",
    "host-2",
    "engine",
    "lost",
    "off",
    "long-here",
    "long",
    "busy-here",
    "busy",
    "busy-engine",
    "new-here",
    "new",
    "judged-here",
    "judged",
    "bucket",
    "bucket-drives",
    "bucket-host",
    "bucket-engine",
    "parted-here",
    "parted",
    "load",
    "ends-here",
    "ends",
    "ends-engine",
    "secret",
    "secret-engine",
    "backup",
    "backup-engine",
    "early",
    "early-engine",
    "conflict-here",
    "conflict-client",
    "conflict-drives",
    "conflict-1",
    "conflict-2",
    "conflict-engine",
    "undo-here",
    "undo",
    "undo-engine",
    "undo-engine-2",
    "undo-client",
    "undo-host",
    "undo-second",
    "fork-here",
    "fork",
    "fork-engine",
    "lead-here",
    "lead",
    "lead-engine",
];

/// Environment: a home, working folders, and the store of large data.
pub(super) struct World {
    pub(super) program: PathBuf,
    pub(super) root: PathBuf,
    /// Version of aime under which histories are recorded; without one none are.
    record: Option<String>,
    /// Additional environment variables of started processes.
    variables: Vec<(String, String)>,
}

/// Process of the scenario, with its output in a file. It is killed when it is dropped.
pub(super) struct Process {
    child: Child,
    stdout: PathBuf,
}

impl World {
    pub(super) fn new(program: PathBuf, record: Option<String>) -> Result<Self> {
        let root = fresh_folder("aime-temporal")?;
        for folder in FOLDERS {
            fs::create_dir(root.join(folder))?;
        }
        Ok(Self { program, root, record, variables: Vec::new() })
    }

    /// Returns the environment with another program, for example of another version.
    pub(super) fn of_version(&self, program: PathBuf) -> Self {
        Self { program, root: self.root.clone(), record: None, variables: self.variables.clone() }
    }

    /// Returns the environment with additional variables.
    pub(super) fn with(&self, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { variables, ..self.of_version(self.program.clone()) }
    }

    /// Starts aime in a folder of this environment.
    pub(super) fn start(&self, folder: &str, name: &str, model: &str, arguments: &[&str]) -> Result<Process> {
        self.start_by(&[], folder, name, model, arguments)
    }

    /// Starts aime through another program, which gets the command line.
    pub(super) fn start_by(&self, by: &[&str], folder: &str, name: &str, model: &str, arguments: &[&str]) -> Result<Process> {
        let (stdout, stderr) = (self.root.join(format!("{name}.out")), self.root.join(format!("{name}.err")));
        let home = self.root.join("home");
        let mut words = by.iter().map(OsStr::new).chain([self.program.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", &home).env("XDG_CONFIG_HOME", &home).env("XDG_STATE_HOME", &home).env("AIME_OFFLINE", "1");
        // Without a lead, so that the planner's requests can be told from those of actors.
        command.env("AIME__PLANNING__ROUTE", "rules");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("OPENAI_BASE_URL", model).current_dir(self.root.join(folder)).args(arguments);
        command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(stderr)?);
        Ok(Process { child: command.spawn().with_context(|| format!("{name} does not start"))?, stdout })
    }

    pub(super) fn worker(&self, folder: &str, name: &str, model: &str, address: &str, serves: &str) -> Result<Process> {
        self.start(folder, name, model, &["worker", "--engine", address, "--serve", serves])
    }

    /// Records the history of a workflow for the replay tests, with its data in the blobs, and without the names of this machine.
    pub(super) fn record(&self, engine: &Server, name: &str, workflow: &str, blobs: &str) -> Result<()> {
        self.record_by(engine, name, &[workflow], blobs)
    }

    /// Records the first history of a workflow that has continued in others.
    pub(super) fn record_first(&self, engine: &Server, name: &str, workflow: &str, blobs: &str) -> Result<()> {
        self.record_by(engine, name, &[workflow, "first"], blobs)
    }

    fn record_by(&self, engine: &Server, name: &str, history: &[&str], blobs: &str) -> Result<()> {
        let Some(version) = &self.record else { return Ok(()) };
        let all = root().join("crates/temporal/tests/histories");
        let folder = all.join(version);
        fs::create_dir_all(&folder)?;
        let example = ["run", "--quiet", "--package", "aime-temporal", "--example", "history", "--", &engine.address()];
        let output = cargo(example).args(history).stderr(Stdio::inherit()).output().context("could not start cargo")?;
        let workflow = history.join(" ");
        ensure!(output.status.success(), "there is no history of {workflow}");
        // The folder is missing if no data is large.
        for start in fs::read_dir(self.root.join(blobs)).into_iter().flatten() {
            for blob in fs::read_dir(start?.path())? {
                let blob = blob?.path();
                let within: PathBuf = blob.components().skip(blob.components().count() - 2).collect();
                let named: String = within.iter().filter_map(|part| part.to_str()).collect();
                if output.stdout.windows(named.len()).any(|part| part == named.as_bytes()) {
                    let kept = all.join("blobs").join(within);
                    fs::create_dir_all(kept.parent().unwrap_or(&all))?;
                    fs::copy(&blob, kept)?;
                }
            }
        }
        let kept = folder.join(format!("{name}.pb"));
        ensure!(
            !kept.exists(),
            "{} is there already, and runs of that version may be under way: record under another name",
            kept.display()
        );
        Ok(fs::write(kept, output.stdout)?)
    }

    /// Returns the output of `aime runs` for an ended run: its result in every form, and the events of each task in order.
    pub(super) fn shown(&self, folder: &str, run: &str, on: &[&str]) -> Result<(Value, Vec<String>)> {
        let ask = |name: &str, words: &[&str]| {
            let words = [&["runs", name, run][..], words, on].concat();
            self.start(folder, &format!("{folder}-{name}"), "http://127.0.0.1:1", &words)?.printed(0)
        };
        let listed =
            self.start(folder, &format!("{folder}-list"), "http://127.0.0.1:1", &[&["runs", "--output", "jsonl"][..], on].concat())?;
        ensure!(listed.printed(0)?.matches(&format!("\"{run}\"")).count() == 1, "{run} is not listed once");
        let shown: Value = serde_json::from_str(&ask("show", &["--output", "json"])?)?;
        let watched: Value = serde_json::from_str(&ask("watch", &["--output", "json"])?)?;
        ensure!(shown == watched, "what is shown is not what is seen by who watches: {shown:#} and {watched:#}");
        ensure!(ask("report", &["-o", "-"])?.contains("<html"), "there is no report");
        let events = ask("events", &["--output", "jsonl"])?;
        let events = events.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        let text = |event: &Value, name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok((compared(shown), events.iter().map(|event| format!("{} {}", text(event, "type"), text(event, "task"))).collect()))
    }

    pub(super) fn appears(&self, path: &str) -> Result<()> {
        let path = self.root.join(path);
        until(&format!("{} is there", path.display()), || Ok(path.exists()))
    }
}

impl Process {
    /// Sends it the signal that ends services.
    pub(super) fn terminate(&self) -> Result<()> {
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().context("kill does not start")?;
        ensure!(status.success(), "a process could not be told to end");
        Ok(())
    }

    /// Waits for its end, which must have this exit code. Returns its JSON output.
    pub(super) fn ended(self, code: i32) -> Result<Value> {
        let printed = self.printed(code)?;
        serde_json::from_str(&printed).with_context(|| format!("no JSON: {printed:?}"))
    }

    /// Waits for its end and returns its output as text.
    pub(super) fn printed(mut self, code: i32) -> Result<String> {
        let mut status = None;
        until("a command ends", || {
            status = self.child.try_wait()?;
            Ok(status.is_some())
        })?;
        let found = status.and_then(|status| status.code());
        let printed = fs::read_to_string(&self.stdout)?;
        ensure!(found == Some(code), "exit code {found:?}, not {code}; {} says why", self.stdout.with_extension("err").display());
        Ok(printed)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Like a crash, this leaves no time to clean up.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Removes the times from a result and from counts, which differ between runs.
pub(super) fn compared(mut result: Value) -> Value {
    match &mut result {
        Value::Object(members) => {
            members.retain(|name, _| name != "ms" && !name.ends_with("_ms") && !name.ends_with("_at"));
            members.values_mut().for_each(|value| *value = compared(value.take()));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = compared(value.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    result
}

/// Returns true if any file below a path contains these words.
pub(super) fn holds(place: &Path, words: &str) -> Result<bool> {
    if place.is_dir() {
        for entry in fs::read_dir(place)? {
            if holds(&entry?.path(), words)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    Ok(fs::read(place)?.windows(words.len()).any(|part| part == words.as_bytes()))
}

pub(super) fn until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !holds()? {
        if begun.elapsed() > DEADLINE {
            bail!("it did not come about that {what}");
        }
        sleep(LOOK);
    }
    Ok(())
}
