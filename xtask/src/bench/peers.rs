//! Who is measured beside aime, each at a pinned version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::measured;
use crate::install::python_packages;
use crate::workspace::{build, root};

/// What the peers of Python need, each package by its hash.
const REQUIREMENTS: &str = include_str!("../../../crates/bench/peers/requirements.txt");
/// The same for one that the others cannot be installed beside.
const LLM_COMPILER_REQUIREMENTS: &str = include_str!("../../../crates/bench/peers/llm_compiler_requirements.txt");
const LANGGRAPH: [&str; 2] = ["langgraph_peer.py", include_str!("../../../crates/bench/peers/langgraph_peer.py")];
const AGENT_FRAMEWORK: [&str; 2] = ["agent_framework_peer.py", include_str!("../../../crates/bench/peers/agent_framework_peer.py")];
const LLM_COMPILER: [&str; 2] = ["llm_compiler_peer.py", include_str!("../../../crates/bench/peers/llm_compiler_peer.py")];
const LANGGRAPH_ROUNDS: [&str; 2] = ["langgraph_rounds.py", include_str!("../../../crates/bench/peers/langgraph_rounds.py")];
const PYDANTIC_AI: [&str; 2] = ["pydantic_ai_rounds.py", include_str!("../../../crates/bench/peers/pydantic_ai_rounds.py")];
/// The workspace of the Rust peer, in the root's folder.
const ADK_RUST: &str = "crates/bench/peers/adk-rust";
const ADK_RUST_LOCK: &str = include_str!("../../../crates/bench/peers/adk-rust/Cargo.lock");

/// A program that carries the work out.
pub(super) struct Peer {
    pub(super) name: &'static str,
    program: PathBuf,
    /// What stands before and after the work.
    before: Vec<String>,
    after: &'static [&'static str],
}

/// Who is given what.
pub(super) struct Peers {
    /// aime and the floor among them.
    pub(super) graphs: Vec<Peer>,
    pub(super) rounds: Vec<Peer>,
}

impl Peers {
    /// Fetches and builds them in `folder`; `program` is aime's own.
    pub(super) fn ready(program: &Path, folder: &Path) -> Result<Self> {
        let python = python_packages(folder, "python", REQUIREMENTS)?;
        let llm_compiler = python_packages(folder, "python-llm-compiler", LLM_COMPILER_REQUIREMENTS)?;
        let adk_rust = adk_rust(folder)?;
        let script = |name, python: &Path, [file, text]: [&str; 2], after| -> Result<Peer> {
            let script = folder.join(file);
            fs::write(&script, text).with_context(|| format!("could not write {}", script.display()))?;
            let before = ["-I", "-W", "ignore", &script.to_string_lossy()].map(str::to_owned).into();
            Ok(Peer { name, program: python.to_path_buf(), before, after })
        };
        let built =
            |name, program: &Path, what: &str, after| Peer { name, program: program.to_path_buf(), before: vec![what.to_owned()], after };
        let graphs = vec![
            built("aime", program, "graph", &["--repeats", "1"]),
            built("bare tokio", program, "graph", &["--repeats", "1", "--system", "tokio"]),
            script("LangGraph", &python, LANGGRAPH, &["1"])?,
            script("Agent Framework", &python, AGENT_FRAMEWORK, &["1"])?,
            script("LLMCompiler", &llm_compiler, LLM_COMPILER, &["1"])?,
            built("adk-rust", &adk_rust, "graph", &["1"]),
        ];
        let rounds = vec![
            script("LangGraph", &python, LANGGRAPH_ROUNDS, &[])?,
            script("Pydantic AI", &python, PYDANTIC_AI, &[])?,
            built("adk-rust", &adk_rust, "rounds", &[]),
        ];
        Ok(Self { graphs, rounds })
    }
}

impl Peer {
    /// What it measures of a piece of work.
    pub(super) fn measure<T: serde::de::DeserializeOwned>(&self, work: &str) -> Result<T> {
        measured(Command::new(&self.program).args(&self.before).arg(work).args(self.after)).context(self.name)
    }
}

/// Builds it by its own lock, in a folder of its own: its packages are none of the workspace's.
fn adk_rust(folder: &Path) -> Result<PathBuf> {
    let manifest = root().join(ADK_RUST).join("Cargo.toml");
    let (manifest, target) = (manifest.to_string_lossy(), folder.join("adk-rust"));
    build("aime-bench-adk-rust", &["--manifest-path", &manifest, "--target-dir", &target.to_string_lossy(), "--release", "--locked"])
}

/// The versions that are pinned, as a line.
pub(super) fn versions() -> String {
    let versions = [
        ("LangGraph", required(REQUIREMENTS, "langgraph")),
        ("Agent Framework", required(REQUIREMENTS, "agent-framework-core")),
        ("Pydantic AI", required(REQUIREMENTS, "pydantic-ai-slim")),
        ("LLMCompiler by LlamaIndex", required(LLM_COMPILER_REQUIREMENTS, "llama-index-agent-llm-compiler")),
        ("adk-rust", locked(ADK_RUST_LOCK, "adk-graph")),
    ];
    versions.map(|(name, version)| format!("{name} {}", version.unwrap_or("of no known version"))).join(", ")
}

/// The version of a package in pip's requirements.
fn required<'a>(requirements: &'a str, package: &str) -> Option<&'a str> {
    let pin = requirements.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="))?;
    pin.split([' ', ';', '\\']).next()
}

/// The version of a package in cargo's lock.
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
        assert_eq!(versions.split(", ").count(), 5, "{versions}");
        assert!(!versions.contains("of no known version"), "{versions}");
    }
}
