//! Unpacks an archive and tries it: completions, manual pages, version, a run with a scripted model, and the run's report.
//!
//! A static binary runs in an otherwise empty root: there is no C library, shell, `/proc`, `/dev`, or certificate. QEMU emulates other
//! processors.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::contents::{COMPLETIONS, DOCUMENTS, MANUAL, SHELLS};
use super::{Archive, unpack};
use crate::size::size_fault;
use xtask::fresh_folder;
use xtask::workspace::{host, program_on_path};

const POEM: &str = "Salt wind on the sea\n";

/// Fails before the build if this machine cannot try an archive for `target`.
pub(super) fn ready(target: &str) -> Result<()> {
    Way::of(target, &host()?)?.emulator_here().map(drop)
}

/// Tries the archive `file`.
pub(super) fn try_out(file: &Path, archive: &Archive) -> Result<()> {
    let trial = Trial::new(file, archive)?;
    beside_the_binary(&trial.root.join(archive.folder()))?;
    let version = trial.aime(&["--version"])?;
    ensure!(version.trim_end() == format!("aime {}", archive.version), "it says {version:?}");

    let result = trial.aime(&["run", "Write a poem about the sea to poem.txt", "--mode", "direct", "--unattended", "--output", "json"])?;
    let result: Value = serde_json::from_str(&result).context("the run has no result")?;
    ensure!(result.get("status").is_some_and(|status| status == "completed"), "the run came to {result:#}");
    let poem = fs::read_to_string(trial.root.join("work").join("poem.txt")).context("the run wrote no poem")?;
    ensure!(poem == POEM, "the poem is {poem:?}");
    let page = trial.aime(&["runs", "report", "last", "-o", "-"])?;
    ensure!(page.starts_with("<!DOCTYPE html>") && page.contains("poem.txt"), "the report is {page:?}");

    let (bytes, packed) = (fs::metadata(trial.root.join(&trial.program))?.len(), fs::metadata(file)?.len());
    if let Some(fault) = size_fault(bytes) {
        bail!("{fault}");
    }
    println!("tried {}: its version, a run, the run's report; {bytes} bytes, packed {packed}", trial.way.description());
    Ok(fs::remove_dir_all(&trial.root)?)
}

/// Fails unless the unpacked folder has documents, completions of each shell, and manual pages.
pub(super) fn beside_the_binary(folder: &Path) -> Result<()> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| format!("the archive has no {name}"));
    for document in DOCUMENTS {
        ensure!(!read(document)?.is_empty(), "{document} is empty");
    }
    for (shell, name) in SHELLS {
        ensure!(
            read(&format!("{COMPLETIONS}/{name}"))?.contains("unattended"),
            "the completions of {shell} do not know the options of aime"
        );
    }
    for (page, title) in [("aime", ".TH aime 1"), ("aime-run", ".TH aime-run 1")] {
        ensure!(read(&format!("{MANUAL}/{page}.1"))?.contains(title), "the manual page {page} has another title");
    }
    Ok(())
}

/// Way to start a binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// True if the root contains only the unpacked folder.
    pub(super) alone: bool,
    /// Emulator for another processor.
    pub(super) emulator: Option<&'static str>,
}

impl Way {
    /// Returns how a binary for `target` starts on a machine with the target `host`.
    pub(super) fn of(target: &str, host: &str) -> Result<Self> {
        let processor = |target: &str| target.split('-').next().unwrap_or_default().to_owned();
        let is_linux = |target: &str| target.contains("-linux-");
        let emulator = match processor(target).as_str() {
            own if own == processor(host) => None,
            "aarch64" => Some("qemu-aarch64-static"),
            "x86_64" => Some("qemu-x86_64-static"),
            _ => bail!("nothing here stands in for the processor of {target}"),
        };
        let alone = target.ends_with("-linux-musl") && is_linux(host);
        ensure!(target == host || alone, "an archive for {target} cannot be tried on {host}");
        Ok(Self { alone, emulator })
    }

    /// Returns the path of the emulator, if one is needed.
    fn emulator_here(self) -> Result<Option<PathBuf>> {
        let Some(name) = self.emulator else { return Ok(None) };
        let found = program_on_path(name);
        found.map(Some).with_context(|| format!("{name} was not found: install it (Debian: apt-get install qemu-user-static)"))
    }

    fn description(self) -> &'static str {
        match (self.alone, self.emulator) {
            (true, Some(_)) => "emulated, alone in an empty root",
            (true, None) => "alone in an empty root",
            (false, _) => "in a folder of its own",
        }
    }
}

/// Environment of an archive.
struct Trial {
    root: PathBuf,
    /// Binary, in `root`.
    program: PathBuf,
    way: Way,
    server: ScriptedServer,
}

impl Trial {
    fn new(file: &Path, archive: &Archive) -> Result<Self> {
        let way = Way::of(&archive.target, &host()?)?;
        let root = fresh_folder("aime-archive")?;
        unpack(file, archive, &root)?;
        for name in ["work", "home"] {
            fs::create_dir(root.join(name))?;
        }
        if let Some(emulator) = way.emulator_here()? {
            fs::copy(emulator, root.join("emulator"))?;
        }
        let program = Path::new(&archive.folder()).join(archive.binary());
        let server = ScriptedServer::try_start(script(), 0).context("the scripted model does not start")?;
        Ok(Self { root, program, way, server })
    }

    fn command(&self) -> Command {
        if !self.way.alone {
            let mut command = Command::new(self.root.join(&self.program));
            command.current_dir(self.root.join("work")).env("HOME", self.root.join("home"));
            return command;
        }
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--root"]).arg(&self.root).arg("--wd=/work").env_clear().env("HOME", "/home");
        if self.way.emulator.is_some() {
            command.arg("/emulator");
        }
        command.arg(Path::new("/").join(&self.program));
        command
    }

    /// Runs it, and returns its output. It must succeed.
    fn aime(&self, arguments: &[&str]) -> Result<String> {
        let mut command = self.command();
        command.args(arguments).env("AIME_OFFLINE", "1").env("OPENAI_BASE_URL", self.server.url()).stdin(Stdio::null());
        let Output { status, stdout, stderr } = command.output().context("it cannot be started")?;
        let (stdout, stderr) = (String::from_utf8(stdout)?, String::from_utf8_lossy(&stderr));
        ensure!(status.success(), "{arguments:?} ended with {status}; look into {}\n{stdout}\n{stderr}", self.root.display());
        Ok(stdout)
    }
}

/// Returns the script of an actor that writes the poem.
fn script() -> Script {
    Script::new()
        .on(When::tools().and_turn(0), [Reply::call("write_file", json!({"path": "poem.txt", "content": POEM}))])
        .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": "poem.txt is written"}))])
}
