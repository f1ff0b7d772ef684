//! Installing the servers by their ordinary clients, `npm` and `pip`, each package by its hash.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace::run;

const PACKAGE: &str = include_str!("package.json");
const PACKAGE_LOCK: &str = include_str!("package-lock.json");
const REQUIREMENTS: &str = include_str!("requirements.txt");

/// What to say where a client is missing.
const NODE: &str = "install Node.js 20 or later with npm (Debian: apt-get install nodejs npm; macOS: brew install node)";
const PYTHON: &str = "install Python 3.11 or later with venv (Debian: apt-get install python3 python3-venv; macOS: brew install python)";

/// The servers, and what starts them.
pub(crate) struct Installed {
    folder: PathBuf,
    /// Node.js itself, wherever a version manager keeps it.
    pub(crate) node: PathBuf,
    /// The folder of Node.js and that of Python, which a confined server must read.
    runtimes: [PathBuf; 2],
}

impl Installed {
    /// Installs what is not there yet, in `mcp-servers` of the target folder that `program` was built in.
    pub(crate) fn ready(program: &Path) -> Result<Self> {
        let target = program.parent().and_then(Path::parent).context("aime was built in no folder")?;
        let folder = target.join("mcp-servers");
        fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
        let node = PathBuf::from(answer(Command::new("node").args(["-p", "process.execPath"]), NODE)?);
        answer(Command::new("npm").arg("--version"), NODE)?;
        answer(Command::new("git").arg("--version"), "install git")?;
        let python = answer(Command::new("python3").args(["-I", "-c", "import sys, venv; print(sys.base_prefix)"]), PYTHON)?;
        let above = node.parent().and_then(Path::parent).unwrap_or(&node).to_path_buf();
        let installed = Self { folder, node, runtimes: [above, PathBuf::from(python)] };
        installed.once("node", &[PACKAGE, PACKAGE_LOCK], |place| {
            fs::write(place.join("package.json"), PACKAGE)?;
            fs::write(place.join("package-lock.json"), PACKAGE_LOCK)?;
            run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(place))
        })?;
        installed.once("python", &[REQUIREMENTS], |place| {
            fs::write(place.join("requirements.txt"), REQUIREMENTS)?;
            run(Command::new("python3").args(["-I", "-m", "venv", "."]).current_dir(place))?;
            let pip = ["-I", "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", "requirements.txt"];
            run(Command::new(place.join("bin").join("python")).args(pip).current_dir(place))
        })?;
        Ok(installed)
    }

    /// Installs into a new folder, unless it was done before with the same pins.
    fn once(&self, name: &str, pins: &[&str], install: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let (place, done) = (self.folder.join(name), self.folder.join(format!("{name}.installed")));
        let pins = pins.concat();
        if fs::read_to_string(&done).is_ok_and(|before| before == pins) {
            return Ok(());
        }
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::create_dir(&place)?;
        install(&place)?;
        Ok(fs::write(done, pins)?)
    }

    /// Where they are installed.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a confined server must read beside what commands read.
    pub(crate) fn reads(&self) -> Vec<String> {
        std::iter::once(&self.folder).chain(&self.runtimes).map(|path| path.display().to_string()).collect()
    }

    /// The main file of a server of npm.
    pub(crate) fn script(&self, server: &str) -> String {
        let place = self.folder.join("node/node_modules/@modelcontextprotocol").join(server).join("dist/index.js");
        place.display().to_string()
    }

    /// The program of a server of PyPI.
    pub(crate) fn program(&self, server: &str) -> String {
        self.folder.join("python/bin").join(server).display().to_string()
    }
}

/// The first line that a program prints.
fn answer(command: &mut Command, mend: &str) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{name} does not start: {mend}"))?;
    ensure!(output.status.success(), "{name} does not work ({}): {mend}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}
