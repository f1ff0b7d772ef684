//! `cargo xtask evaluate`: aime and its peers on the same tasks, with the same model, tools of the same kind and the same bounds.
//!
//! The model is the one that the environment names (`OPENAI_BASE_URL`), and with none the small one, served for the length of the evaluation.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use crate::install::python_packages;
use crate::run::{ModelArguments, Prepared};
use crate::workspace::{root, shown};

/// What the peers need, each package by its hash.
const REQUIREMENTS: &str = include_str!("../../crates/evaluation/peers/requirements.txt");
const SCRIPTS: [(&str, &str); 3] = [
    ("peer.py", include_str!("../../crates/evaluation/peers/peer.py")),
    ("smolagents_peer.py", include_str!("../../crates/evaluation/peers/smolagents_peer.py")),
    ("langgraph_peer.py", include_str!("../../crates/evaluation/peers/langgraph_peer.py")),
];
/// The name of each, and its script with what it is given.
const PEERS: [(&str, &str); 3] = [
    ("smolagents", "smolagents_peer.py"),
    ("langgraph-plan-and-execute", "langgraph_peer.py plan-and-execute"),
    ("openmanus-planning-flow", "langgraph_peer.py planning-flow"),
];

/// Twelve tasks of all categories and levels, in the modes of one actor, of a plan, and of aime's own choice.
const DEFAULT: [&str; 9] = ["core", "--sample", "12", "--mode", "direct", "--mode", "complex", "--mode", "auto"];

/// Which tasks, in which ways.
#[derive(Args)]
pub(crate) struct EvaluateArguments {
    #[command(flatten)]
    model: ModelArguments,
    /// Leave the peers out
    #[arg(long)]
    alone: bool,
    /// What `aime eval` is given: the suite, modes, tasks, repeats; by default what the tables of the guide were made with
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Tries all, and answers the exit code of `aime eval`.
pub(crate) fn evaluate(arguments: EvaluateArguments) -> Result<ExitCode> {
    let EvaluateArguments { mut model, alone, rest } = arguments;
    let folder = root().join("target").join("evaluation");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    // Peers know nothing of a model in aime's process.
    model.server |= env::var_os("OPENAI_BASE_URL").is_none();
    let prepared = Prepared::new(&model)?;
    let mut command = prepared.aime();
    command.current_dir(&folder).arg("eval");
    if rest.is_empty() {
        command.args(DEFAULT);
    }
    command.args(rest);
    if !alone {
        let python = python_packages(&folder, "python", REQUIREMENTS)?;
        let programs = python.parent().context("Python was installed in no folder")?;
        let place = folder.join("python");
        for (name, text) in SCRIPTS {
            fs::write(place.join(name), text).with_context(|| format!("could not write {name}"))?;
        }
        // What an agent may read is what programs on its path need.
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(std::iter::once(programs.to_path_buf()).chain(env::split_paths(&path)))?;
        command.env("PATH", path).env("VIRTUAL_ENV", &place);
        for (name, script) in PEERS {
            command.arg("--agent").arg(OsString::from(format!("{name}=exec python -B \"$VIRTUAL_ENV\"/{script}")));
        }
    }
    eprintln!("$ {}", shown(&command));
    let status = command.status().context("could not start aime")?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(130)))
}
