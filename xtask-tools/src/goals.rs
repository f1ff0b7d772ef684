//! `cargo xtask goals`: measures how many small goals a real model reaches.
//!
//! The goals are the small tasks of the suite built into `aime eval`, each with a check that its tests prove. The docs quote the printed
//! table.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;

use crate::run::{ModelArguments, Prepared};
use crate::trial::{COST, Trial};
use xtask::fresh_folder;
use xtask::workspace::root;

/// Goals and their model.
#[derive(Args)]
pub(crate) struct GoalsArguments {
    /// Part of a goal's name; all of them by default
    name: Option<String>,
    /// Number of runs of each goal
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// The longest that one run may take
    #[arg(long, default_value = "6m")]
    timeout: String,
    #[command(flatten)]
    model: ModelArguments,
    /// Further arguments of `aime run`
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Tables of the suite that are needed here.
#[derive(Deserialize)]
struct Goals {
    task: Vec<Goal>,
}

#[derive(Deserialize)]
struct Goal {
    name: String,
    goal: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
    check: String,
    /// True if the prompts were made without looking at this task.
    #[serde(default)]
    held_out: bool,
}

impl Goal {
    fn prepare(&self, folder: &Path) -> Result<()> {
        for (name, text) in &self.files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
        }
        Ok(())
    }

    fn reached(&self, folder: &Path, answer: &str) -> Result<bool> {
        let mut check = Command::new("sh");
        check.args(["-c", &self.check]).current_dir(folder).env("ANSWER", answer).env("PYTHONDONTWRITEBYTECODE", "1");
        let status = check.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        Ok(status.context("could not start sh")?.success())
    }
}

/// File of the goals, below the root folder.
const GOALS: &str = "crates/evaluation/suites/core/small.toml";

fn goals() -> Result<Vec<Goal>> {
    let path: PathBuf = root().join(GOALS);
    let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
    let goals: Goals = toml::from_str(&text).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(goals.task)
}

/// Runs aime on each goal and prints a row for it.
pub(crate) fn try_goals(arguments: &GoalsArguments) -> Result<()> {
    let wanted = |goal: &Goal| arguments.name.as_ref().is_none_or(|name| goal.name.contains(name.as_str()));
    let goals: Vec<Goal> = goals()?.into_iter().filter(wanted).collect();
    if goals.is_empty() {
        bail!("no goal has such a name: see {GOALS}");
    }
    let prepared = Prepared::new(&arguments.model)?;
    let all = fresh_folder("aime-goals")?;
    eprintln!("each goal has a folder in {}", all.display());
    println!("| goal | reached | aime says | mode | {COST} |\n|---|---|---|---|---|---|---|---|");
    let (mut reached, mut honest, mut tried) = (0_u32, 0_u32, 0_u32);
    let (mut held_out_reached, mut held_out) = (0_u32, 0_u32);
    for round in 1..=arguments.repeat {
        for goal in &goals {
            let folder = all.join(format!("{}-{round}", goal.name));
            fs::create_dir(&folder)?;
            goal.prepare(&folder)?;
            let timeout = ["--timeout", &arguments.timeout].into_iter();
            let trial = Trial::run(&prepared, &folder, &goal.goal, timeout.chain(arguments.rest.iter().map(String::as_str)))?;
            let passed = goal.reached(&folder, trial.answer())?;
            let (seen, status) = (if passed { "yes" } else { "no" }, trial.status());
            println!("| {} | {seen} | {status} | {} | {} |", goal.name, trial.mode(), trial.cost());
            tried += 1;
            reached += u32::from(passed);
            held_out += u32::from(goal.held_out);
            held_out_reached += u32::from(goal.held_out && passed);
            honest += u32::from(passed == (status == "completed"));
        }
    }
    println!("\n{reached} of {tried} goals were reached; {honest} of {tried} runs said rightly whether theirs was");
    if held_out > 0 {
        println!("{held_out_reached} of the {held_out} that were held out while the prompts were made");
    }
    Ok(())
}
