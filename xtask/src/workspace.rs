//! Location of the workspace, and cargo commands in it.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::progress::{Progress, field};

/// Returns the folder of the workspace's manifest.
///
/// The run-time variable comes first, so that a checkout that was moved after the build still finds itself.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| OsString::from(env!("CARGO_MANIFEST_DIR")));
    let package = PathBuf::from(package);
    package.parent().map_or(package.clone(), Path::to_path_buf)
}

/// Returns a cargo command in the workspace's folder.
pub fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    // cargo sets variables for this task's own package. They would make build scripts run again, and everything that depends on them.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command
}

/// Prints a command, runs it with the terminal's own streams, and fails if it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("could not start: {line}"))?;
    if !status.success() {
        bail!("failed ({status}): {line}");
    }
    Ok(())
}

/// Builds the `aime` binary with additional cargo options, and returns its path.
pub fn build_aime(options: &[&str]) -> Result<PathBuf> {
    build("aime", options)
}

/// Builds the binary of any package with the same name.
pub fn build(package: &str, options: &[&str]) -> Result<PathBuf> {
    build_by(cargo(["build"]), package, options)
}

/// Builds by a command that works like `cargo build`, and prints its progress.
///
/// # Errors
///
/// The package does not build.
pub fn build_by(mut command: Command, package: &str, options: &[&str]) -> Result<PathBuf> {
    eprintln!("building {package} (the first time takes some minutes)");
    let mut progress = Progress::new(&dependencies(package, options), Instant::now());
    let mut child = command
        .args(["--package", package, "--bin", package, "--message-format", "json-render-diagnostics"])
        .args(options)
        .stdout(Stdio::piped())
        .spawn()
        .context("could not start cargo")?;
    let mut program = None;
    for message in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        let message = message.context("could not read what cargo says")?;
        program = field(&message, "executable").map(PathBuf::from).or(program);
        if let Some(line) = progress.take(&message, Instant::now()) {
            // On a terminal this removes cargo's bar, which cargo draws again.
            let start = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
            eprintln!("{start}{line}");
        }
    }
    if !child.wait().context("cargo was lost")?.success() {
        bail!("{package} does not build: see the messages above");
    }
    program.with_context(|| format!("cargo built {package} but did not say where"))
}

/// Returns the packages that a build needs, one a line as `cargo tree` prints them; nothing if they cannot be listed.
///
/// cargo downloads them for that, and shows the bytes.
fn dependencies(package: &str, options: &[&str]) -> String {
    // `cargo tree` knows neither profiles nor target folders.
    let mut given = options.iter().copied();
    let mut options = Vec::new();
    while let Some(option) = given.next() {
        match option {
            "--release" => {}
            "--target-dir" => drop(given.next()),
            known => options.push(known),
        }
    }
    let mut tree = cargo(["tree", "--package", package, "--edges", "normal,build", "--prefix", "none", "--no-dedupe"]);
    let output = tree.args(options).stderr(Stdio::inherit()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

/// Returns the folder that cargo builds in.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the target of this machine, as rustc reports it.
pub fn host() -> Result<String> {
    let output = rustc(&["-vV"])?;
    output.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned).context("rustc does not tell its host")
}

/// Returns true if this machine has Rust's standard library for a target.
pub fn has_std(target: &str) -> Result<bool> {
    let folder = rustc(&["--print", "target-libdir", "--target", target])?;
    Ok(!folder.trim().is_empty() && Path::new(folder.trim()).is_dir())
}

/// Returns the output of the workspace's rustc; none if it fails.
fn rustc(arguments: &[&str]) -> Result<String> {
    let output = Command::new("rustc").current_dir(root()).args(arguments).output().context("could not start rustc")?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the path of a program on the `PATH`.
pub fn program_on_path(name: &str) -> Option<PathBuf> {
    let places = std::env::var_os("PATH")?;
    std::env::split_paths(&places).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Formats the command as a person would type it, without the folder of the program.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
