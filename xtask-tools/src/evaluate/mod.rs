//! `cargo xtask evaluate`: runs aime and its peers on the same tasks, with the same model, the same kind of tools and the same limits.
//!
//! The environment names the model (`OPENAI_BASE_URL`). Without one, the small model is served during the evaluation. The work is divided
//! into [parts](parts::PARTS), each of which can be stopped and continued.

mod parts;
mod settings;
mod tables;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use aime_evaluation::Replanning;
use anyhow::{Context, Result, ensure};
use clap::Args;

use self::parts::{PARTS, Part};
use crate::install::python_packages;
use crate::run::{ModelArguments, Prepared};
use xtask::workspace::{root, shown};

/// Requirements of the peers, each package pinned by its hash.
const REQUIREMENTS: &str = include_str!("../../../crates/evaluation/peers/requirements.txt");
const SCRIPTS: [(&str, &str); 3] = [
    ("peer.py", include_str!("../../../crates/evaluation/peers/peer.py")),
    ("smolagents_peer.py", include_str!("../../../crates/evaluation/peers/smolagents_peer.py")),
    ("langgraph_peer.py", include_str!("../../../crates/evaluation/peers/langgraph_peer.py")),
];
/// Name and script of each peer, with its arguments.
const PEERS: [(&str, &str); 3] = [
    ("smolagents", "smolagents_peer.py"),
    ("langgraph-plan-and-execute", "langgraph_peer.py plan-and-execute"),
    ("openmanus-planning-flow", "langgraph_peer.py planning-flow"),
];

/// Levels of the tasks that the small model may reach. With one actor and no plan it reached none of the fifteen tuned tasks above them,
/// and with a plan none of four, at minutes each. Tasks that no mode reaches cannot compare modes.
pub(crate) const SMALL_REACHES: [&str; 4] = ["--level", "1", "--level", "2"];

/// Parts of the evaluation, and the ways to play them.
#[derive(Args)]
pub(crate) struct EvaluateArguments {
    #[command(flatten)]
    model: ModelArguments,
    /// Parts to run; all by default
    #[arg(value_parser = parts::named, conflicts_with = "rest")]
    part: Vec<&'static Part>,
    /// Leave out the peers
    #[arg(long)]
    alone: bool,
    /// Continue from the trials in the docs, and write trials and tables into the docs
    #[arg(long, conflicts_with = "rest")]
    docs: bool,
    /// Start the parts anew and ignore existing trials, also those in the docs
    #[arg(long, conflicts_with_all = ["rest", "tables"])]
    fresh: bool,
    /// Run nothing; write the existing trials and their tables into the docs
    #[arg(long, conflicts_with_all = ["rest", "docs"])]
    tables: bool,
    /// Arguments for `aime eval`, instead of the parts
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Runs all parts. Returns the exit code of `aime eval` for the first part that did not complete.
pub(crate) fn evaluate(arguments: EvaluateArguments) -> Result<ExitCode> {
    let EvaluateArguments { mut model, part, alone, docs, fresh, tables, rest } = arguments;
    let folder = root().join("target").join("evaluation");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    // Peers cannot use a model in aime's process.
    model.server |= env::var_os("OPENAI_BASE_URL").is_none();
    let parts = if part.is_empty() { PARTS.iter().collect() } else { part };
    if tables {
        for part in parts {
            let kept = folder.join(part.name);
            if tables::has_trials(&kept) {
                tables::write_docs(part, &kept)?;
            } else {
                eprintln!("{}: there are no trials in {}", part.name, kept.display());
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let with_peers = !alone && (!rest.is_empty() || parts.iter().any(|part| part.peers));
    let peers = if with_peers { Some(install_peers(&folder)?) } else { None };
    ensure!(
        !docs || env::var_os("OPENAI_BASE_URL").is_none(),
        "the docs tell of the small local model: unset OPENAI_BASE_URL, or leave --docs out, and the tables stand in target/evaluation/other-server"
    );
    let prepared = Prepared::new(&model)?;
    let begin = || -> Result<Command> {
        let mut command = prepared.aime();
        command.current_dir(&folder).arg("eval");
        Ok(command)
    };
    if !rest.is_empty() {
        let mut command = begin()?;
        command.args(rest);
        if let Some(peers) = &peers {
            beside(&mut command, peers)?;
        }
        return ran(&mut command).map(exit);
    }
    let tried = folder.join("settings-tried");
    settings::write(&tried)?;
    for part in parts {
        let kept = if prepared.serves() { folder.join(part.name) } else { folder.join("other-server").join(part.name) };
        if docs && !fresh {
            tables::begin_from_docs(part, &kept)?;
        }
        let mut command = begin()?;
        let arguments = part.arguments.split_whitespace().map(|argument| argument.replace(settings::FOLDER, &tried.display().to_string()));
        command.args(arguments).arg("-o").arg(&kept);
        if fresh {
            command.arg("--fresh");
        }
        if part.each_trigger {
            command.args(Replanning::ALL.iter().flat_map(|replanning| ["--replanning", replanning.name()]));
        }
        if part.within_reach && prepared.serves() {
            command.args(SMALL_REACHES);
        }
        if let Some(peers) = peers.as_ref().filter(|_| part.peers) {
            beside(&mut command, peers)?;
        }
        let code = ran(&mut command)?;
        if docs {
            tables::write_docs(part, &kept)?;
        }
        if code != 0 {
            return Ok(exit(code));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Python with the packages of the peers.
struct Peers {
    /// Virtual environment, with their scripts.
    place: PathBuf,
    /// Folder of its programs.
    programs: PathBuf,
}

/// Installs the packages of the peers.
fn install_peers(folder: &Path) -> Result<Peers> {
    let python = python_packages(folder, "python", REQUIREMENTS)?;
    let programs = python.parent().context("Python was installed in no folder")?.to_path_buf();
    let place = folder.join("python");
    for (name, text) in SCRIPTS {
        fs::write(place.join(name), text).with_context(|| format!("could not write {name}"))?;
    }
    Ok(Peers { place, programs })
}

/// Adds the peers to the arguments of `aime eval`.
fn beside(command: &mut Command, peers: &Peers) -> Result<()> {
    // An agent may read what the programs on its path need, so the peers' programs are put there.
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(peers.programs.clone()).chain(env::split_paths(&path)))?;
    command.env("PATH", path).env("VIRTUAL_ENV", &peers.place);
    // A changed script counts as another agent, whose trials are made anew.
    let mut texts = DefaultHasher::new();
    (SCRIPTS, REQUIREMENTS).hash(&mut texts);
    let scripts = texts.finish();
    for (name, script) in PEERS {
        command.arg("--agent").arg(OsString::from(format!("{name}=: {scripts:x}; exec python -B \"$VIRTUAL_ENV\"/{script}")));
    }
    Ok(())
}

fn ran(command: &mut Command) -> Result<i32> {
    eprintln!("$ {}", shown(command));
    Ok(command.status().context("could not start aime")?.code().unwrap_or(130))
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(130))
}
