//! Peers that are measured beside aime, each at a pinned version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::measured;
use crate::install::python_packages;
use xtask::workspace::{build, root};

/// Requirements of the Python peers, each package pinned by its hash.
const REQUIREMENTS: &str = include_str!("../../../crates/bench/peers/requirements.txt");
/// Requirements of a peer that conflicts with the others.
const LLM_COMPILER_REQUIREMENTS: &str = include_str!("../../../crates/bench/peers/llm_compiler_requirements.txt");
const LANGGRAPH: [&str; 2] = ["langgraph_peer.py", include_str!("../../../crates/bench/peers/langgraph_peer.py")];
const AGENT_FRAMEWORK: [&str; 2] = ["agent_framework_peer.py", include_str!("../../../crates/bench/peers/agent_framework_peer.py")];
const LLM_COMPILER: [&str; 2] = ["llm_compiler_peer.py", include_str!("../../../crates/bench/peers/llm_compiler_peer.py")];
const LANGGRAPH_ROUNDS: [&str; 2] = ["langgraph_rounds.py", include_str!("../../../crates/bench/peers/langgraph_rounds.py")];
const AGENT_FRAMEWORK_ROUNDS: [&str; 2] =
    ["agent_framework_rounds.py", include_str!("../../../crates/bench/peers/agent_framework_rounds.py")];
/// Module that the scripts of rounds import.
const ROUNDS: [&str; 2] = ["rounds.py", include_str!("../../../crates/bench/peers/rounds.py")];
const PYDANTIC_AI: [&str; 2] = ["pydantic_ai_rounds.py", include_str!("../../../crates/bench/peers/pydantic_ai_rounds.py")];
/// Workspace of the Rust peer, relative to the root.
const ADK_RUST: &str = "crates/bench/peers/adk-rust";
const ADK_RUST_LOCK: &str = include_str!("../../../crates/bench/peers/adk-rust/Cargo.lock");

/// Program that carries out the work.
pub(super) struct Peer {
    pub(super) name: &'static str,
    program: PathBuf,
    /// Arguments before the work; below, those after it.
    before: Vec<String>,
    after: &'static [&'static str],
}

/// Folder for the downloads and builds, with aime's own program.
pub(super) struct Peers<'a> {
    program: &'a Path,
    folder: &'a Path,
    /// Additional options of cargo.
    options: &'a [&'a str],
}

impl<'a> Peers<'a> {
    pub(super) const fn new(program: &'a Path, folder: &'a Path, options: &'a [&'a str]) -> Self {
        Self { program, folder, options }
    }

    /// Downloads and builds the systems that run graphs: aime first, then the lower bound, then the peers.
    pub(super) fn of_graphs(&self) -> Result<Vec<Peer>> {
        let python = python_packages(self.folder, "python", REQUIREMENTS)?;
        let llm_compiler = python_packages(self.folder, "python-llm-compiler", LLM_COMPILER_REQUIREMENTS)?;
        Ok(vec![
            built("aime", self.program, &["graph"], &["--repeats", "1"]),
            built("bare tokio", self.program, &["graph"], &["--repeats", "1", "--system", "tokio"]),
            self.script("LangGraph", &python, LANGGRAPH, &["1"])?,
            self.script("Agent Framework", &python, AGENT_FRAMEWORK, &["1"])?,
            self.script("LLMCompiler", &llm_compiler, LLM_COMPILER, &["1"])?,
            built("adk-rust", &self.adk_rust()?, &["graph"], &["1"]),
        ])
    }

    /// Prepares the systems that run rounds of one agent: aime first. They get the address of a scripted model and the number of rounds.
    pub(super) fn of_rounds(&self) -> Result<Vec<Peer>> {
        let python = python_packages(self.folder, "python", REQUIREMENTS)?;
        Ok(vec![
            built("aime", self.program, &["rounds", "--server"], &[]),
            self.script("LangGraph", &python, LANGGRAPH_ROUNDS, &[])?,
            self.script("Pydantic AI", &python, PYDANTIC_AI, &[])?,
            self.script("Agent Framework", &python, AGENT_FRAMEWORK_ROUNDS, &[])?,
            built("adk-rust", &self.adk_rust()?, &["rounds"], &[]),
        ])
    }

    fn script(&self, name: &'static str, python: &Path, [file, text]: [&str; 2], after: &'static [&'static str]) -> Result<Peer> {
        for [file, text] in [ROUNDS, [file, text]] {
            let script = self.folder.join(file);
            fs::write(&script, text).with_context(|| format!("could not write {}", script.display()))?;
        }
        // Python runs isolated, apart from the modules beside the script.
        let before = ["-E", "-s", "-W", "ignore", &self.folder.join(file).to_string_lossy()].map(str::to_owned).into();
        Ok(Peer { name, program: python.to_path_buf(), before, after })
    }

    /// Builds the peer with its own lock in its own folder, since its packages do not belong to the workspace.
    fn adk_rust(&self) -> Result<PathBuf> {
        let manifest = root().join(ADK_RUST).join("Cargo.toml");
        let (manifest, target) = (manifest.to_string_lossy(), self.folder.join("adk-rust"));
        let target = target.to_string_lossy();
        build("aime-bench-adk-rust", &[&["--manifest-path", &manifest, "--target-dir", &target, "--locked"], self.options].concat())
    }
}

fn built(name: &'static str, program: &Path, before: &[&str], after: &'static [&'static str]) -> Peer {
    Peer { name, program: program.to_path_buf(), before: before.iter().map(ToString::to_string).collect(), after }
}

impl Peer {
    /// Runs the program for a piece of work and returns its measurements.
    pub(super) fn measure<T: serde::de::DeserializeOwned>(&self, work: &[&str]) -> Result<T> {
        measured(Command::new(&self.program).args(&self.before).args(work).args(self.after)).context(self.name)
    }
}

/// Returns the pinned versions on one line.
pub(super) fn versions() -> String {
    let versions = [
        ("LangGraph", required(REQUIREMENTS, "langgraph")),
        ("Agent Framework", required(REQUIREMENTS, "agent-framework-core")),
        ("Pydantic AI", required(REQUIREMENTS, "pydantic-ai-slim")),
        ("OpenAI's client of Python", required(REQUIREMENTS, "openai")),
        ("LLMCompiler by LlamaIndex", required(LLM_COMPILER_REQUIREMENTS, "llama-index-agent-llm-compiler")),
        ("adk-rust", locked(ADK_RUST_LOCK, "adk-graph")),
    ];
    versions.map(|(name, version)| format!("{name} {}", version.unwrap_or("of no known version"))).join(", ")
}

/// Returns the version of a package in pip's requirements.
fn required<'a>(requirements: &'a str, package: &str) -> Option<&'a str> {
    let pin = requirements.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="))?;
    pin.split([' ', ';', '\\']).next()
}

/// Returns the version of a package in cargo's lock.
fn locked<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let version = lock.lines().skip_while(|line| *line != name).nth(1)?;
    version.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_are_those_of_the_pins() {
        let requirements = "langgraph-sdk==0.3 \\\n    --hash=sha256:1\nlanggraph==1.2.22 \\\n    --hash=sha256:2\n";
        assert_eq!(required(requirements, "langgraph"), Some("1.2.22"));
        assert_eq!(required(requirements, "pydantic-ai"), None);
        let lock =
            "[[package]]\nname = \"adk-graph-more\"\nversion = \"9.0.0\"\n\n[[package]]\nname = \"adk-graph\"\nversion = \"2.3.0\"\n";
        assert_eq!(locked(lock, "adk-graph"), Some("2.3.0"));
        assert_eq!(locked(lock, "adk"), None);
    }

    #[test]
    fn every_peer_is_pinned() {
        let versions = versions();
        assert_eq!(versions.split(", ").count(), 6, "{versions}");
        assert!(!versions.contains("of no known version"), "{versions}");
    }
}
