//! Installs packages of other languages by their ordinary clients, once for each set of pins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use xtask::workspace::run;

/// Hint for a missing Python.
pub(crate) const PYTHON: &str =
    "install Python 3.11 or later with venv (Debian: apt-get install python3 python3-venv; macOS: brew install python)";

/// Hint for a missing Node.js.
pub(crate) const NODE: &str = "install Node.js 20 or later with npm (Debian: apt-get install nodejs npm; macOS: brew install node)";

/// Installs into a new folder `name` in `folder`, unless the same pins are installed already.
pub(crate) fn once(folder: &Path, name: &str, pins: &[&str], install: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let (place, done) = (folder.join(name), folder.join(format!("{name}.installed")));
    let pins = pins.concat();
    if fs::read_to_string(&done).is_ok_and(|before| before == pins) {
        return Ok(());
    }
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place).with_context(|| format!("could not make {}", place.display()))?;
    install(&place)?;
    Ok(fs::write(done, pins)?)
}

/// Installs Python packages, each pinned by its hash, into a virtual environment. Returns its interpreter.
pub(crate) fn python_packages(folder: &Path, name: &str, requirements: &str) -> Result<PathBuf> {
    once(folder, name, &[requirements], |place| {
        fs::write(place.join("requirements.txt"), requirements)?;
        run(Command::new("python3").args(["-I", "-m", "venv", "."]).current_dir(place))?;
        let pip = ["-I", "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", "requirements.txt"];
        run(Command::new(place.join("bin").join("python")).args(pip).current_dir(place))
    })?;
    Ok(folder.join(name).join("bin").join("python"))
}

/// Installs npm packages by their lock into `name` in `folder`.
pub(crate) fn node_packages(folder: &Path, name: &str, [package, lock]: [&str; 2]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    answer(Command::new("npm").arg("--version"), NODE)?;
    once(folder, name, &[package, lock], |place| {
        fs::write(place.join("package.json"), package)?;
        fs::write(place.join("package-lock.json"), lock)?;
        run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(place))
    })
}

/// Installs npm packages by their lock into `name` in the target folder of `program`, with a script beside them. Returns the script.
pub(crate) fn node_script(program: &Path, name: &str, packages: [&str; 2], (file, script): (&str, &str)) -> Result<PathBuf> {
    let target = program.parent().and_then(Path::parent).context("aime was built in no folder")?;
    let folder = target.join(name);
    answer(Command::new("node").arg("--version"), NODE)?;
    node_packages(&folder, "node", packages)?;
    let script_file = folder.join("node").join(file);
    fs::write(&script_file, script)?;
    Ok(script_file)
}

/// Returns the first output line of a program.
pub(crate) fn answer(command: &mut Command, hint: &str) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{name} does not start: {hint}"))?;
    ensure!(output.status.success(), "{name} does not work ({}): {hint}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}
