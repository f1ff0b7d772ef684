//! The client scenarios of the MCP conformance suite, with aime as the client. The suite is a server that checks what it is asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::install::{NODE, answer, node_packages};
use xtask::fresh_folder;

const PACKAGE: &str = include_str!("conformance/package.json");
const PACKAGE_LOCK: &str = include_str!("conformance/package-lock.json");
const CLIENT: &str = include_str!("conformance/client.mjs");
/// Time limit of one scenario, in milliseconds.
const LIMIT: &str = "120000";
/// Scenario that measures time. On a busy machine it may need another attempt.
const TIMED: &str = "sse-retry";
const ATTEMPTS: usize = 3;

/// Scenarios that aime does not pass, with the reasons; the guide on MCP servers lists them, too. One that passes does not belong here.
const REFUSED: [(&str, &str); 5] = [
    ("auth/basic-cimd", "aime registers itself and publishes no document that describes it as a client; a warning counts as a failure"),
    ("auth/2025-03-26-oauth-metadata-backcompat", "the metadata names another issuer than its address, which RFC 8414 has clients refuse"),
    ("auth/client-credentials-jwt", "an extension for programs without a person: aime logs in for a person"),
    ("auth/client-credentials-basic", "an extension for programs without a person: aime logs in for a person"),
    ("auth/cross-app-access-complete-flow", "an extension for the login of a company: aime knows only the login of the server"),
];

/// Runs all client scenarios of the suite.
pub(crate) fn drive(program: &Path, installed: &Path) -> Result<()> {
    node_packages(installed, "conformance", [PACKAGE, PACKAGE_LOCK])?;
    let place = installed.join("conformance");
    fs::write(place.join("client.mjs"), CLIENT)?;
    let suite = Suite { node: node(&place)?, place, program: program.to_owned(), worlds: fresh_folder("aime-mcp-conformance")? };
    let (mut passed, mut wrong) = (0, Vec::new());
    let names = suite.names()?;
    ensure!(names.iter().any(|name| name == TIMED), "the suite lists other scenarios: {names:?}");
    for name in &names {
        let reason = REFUSED.iter().find(|(refused, _)| refused == name).map(|(_, reason)| *reason);
        let attempts = if name == TIMED { ATTEMPTS } else { 1 };
        let mut passes = false;
        for _ in 0..attempts {
            passes = passes || suite.passes(name)?;
        }
        match (passes, reason) {
            (true, None) => passed += 1,
            (false, Some(reason)) => println!("conformance  {name} fails, as expected: {reason}"),
            (true, Some(_)) => wrong.push(format!("{name} passes, and is listed as failing")),
            (false, None) => wrong.push(format!("{name} fails")),
        }
    }
    ensure!(wrong.is_empty(), "{}; look into {}", wrong.join("; "), suite.worlds.display());
    println!("conformance  {passed} of {} client scenarios pass; look into {}", names.len(), suite.worlds.display());
    Ok(())
}

/// Returns the Node.js for the suite, which needs version 22: the installed one where there is one for this machine.
fn node(place: &Path) -> Result<PathBuf> {
    let modules = fs::read_dir(place.join("node_modules"))?.flatten().map(|entry| entry.path());
    let own = modules.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("node-linux-")));
    match own.map(|path| path.join("bin/node")).find(|node| node.exists()) {
        Some(node) => Ok(node),
        None => Ok(answer(Command::new("node").args(["-p", "process.execPath"]), NODE)?.into()),
    }
}

struct Suite {
    node: PathBuf,
    place: PathBuf,
    program: PathBuf,
    worlds: PathBuf,
}

impl Suite {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(self.place.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
        command.current_dir(&self.worlds).stdin(Stdio::null());
        command
    }

    /// Returns the names of the scenarios.
    fn names(&self) -> Result<Vec<String>> {
        let output = self.command().args(["list", "--client"]).output().context("could not start node")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next().map(str::to_owned)).collect())
    }

    /// Runs one scenario, and keeps its output.
    fn passes(&self, name: &str) -> Result<bool> {
        let client = [&self.node, &self.place.join("client.mjs"), &self.program, &self.worlds].map(|path| path.display().to_string());
        let log = fs::File::create(self.worlds.join(format!("{}.log", name.replace('/', "-"))))?;
        let mut command = self.command();
        command.args(["client", "--command", &client.join(" "), "--scenario", name, "--timeout", LIMIT, "--output-dir", "results"]);
        let status = command.stdout(log.try_clone()?).stderr(log).status().context("could not start node")?;
        Ok(status.success())
    }
}
