//! `cargo xtask reliability`: repeats tests of failures many times, and prints statistics.

mod kills;
mod leftovers;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;

use kills::Kills;
use xtask::workspace::{build_aime, cargo, root, run};

/// Number of kills in one block of a soak.
const KILLS_AT_ONCE: u64 = 10;

/// Number of tasks in the long run.
const LONG_TASKS: u64 = 10_000;
/// Smallest number of its events.
const LONG_EVENTS: u64 = 1_000_000;

/// Extent of the tests.
#[derive(Args)]
pub(crate) struct ReliabilityArguments {
    /// Replay one simulated run and print its events
    #[arg(long)]
    seed: Option<u64>,
    /// With `--seed`: cut the run without faults at this moment in every way
    #[arg(long, requires = "seed")]
    at: Option<u64>,
    /// Number of random runs
    #[arg(long, default_value_t = 20_000)]
    runs: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of moments at which simulated runs are cut
    #[arg(long, default_value_t = 10_000)]
    cuts: u64,
    /// Number of real processes to kill
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// Number of steps at which the creation of private folders, the work in them and their merge are cut off
    #[arg(long, default_value_t = 1_000)]
    folder_cuts: u64,
    /// Program to kill, instead of an aime built for it
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Only one run of 10,000 tasks and 1,000,000 events that is cut off in the middle; prints its cost
    #[arg(long)]
    long: bool,
    /// Only random faults for this many minutes; prints which resources are left behind
    #[arg(long, value_name = "MINUTES")]
    soak: Option<u64>,
}

/// Runs all reliability tests.
pub(crate) fn reliability(arguments: &ReliabilityArguments) -> Result<()> {
    if let Some(seed) = arguments.seed {
        let mut words = vec!["--seed".to_owned(), seed.to_string()];
        words.extend(arguments.at.into_iter().flat_map(|at| ["--at".to_owned(), at.to_string()]));
        return simulate(&words);
    }
    if arguments.long {
        return simulate(&["--long".to_owned(), LONG_TASKS.to_string(), "--events".to_owned(), LONG_EVENTS.to_string()]);
    }
    if let Some(minutes) = arguments.soak {
        return soak(&program(arguments)?, Duration::from_secs(minutes * 60), arguments.from);
    }
    let count = |name: &str, count: u64| [format!("--{name}"), count.to_string()];
    let begun = Instant::now();
    if arguments.runs > 0 {
        simulate(&[count("runs", arguments.runs), count("from", arguments.from)].concat())?;
        let minutes = begun.elapsed().as_secs_f64() / 60.0;
        println!("runs by chance: {} in {minutes:.1} minutes, the build included", arguments.runs);
    }
    if arguments.cuts > 0 {
        simulate(&[count("cuts", arguments.cuts), count("from", arguments.from)].concat())?;
    }
    if arguments.kills > 0 {
        let mut kills = Kills::default();
        kills.try_many(&program(arguments)?, arguments.kills, arguments.from)?;
        println!("{kills}");
    }
    if arguments.folder_cuts > 0 {
        let test = ["test", "--quiet", "--package", "aime-work-tree", "--", "a_cut_at_any_step"];
        run(cargo(test).env("AIME_CUTS", arguments.folder_cuts.to_string()))?;
        println!("cuts of private folders: {}", arguments.folder_cuts);
    }
    println!("cases of the corpus: {}", cases_of_corpora(&root().join("crates")));
    Ok(())
}

/// Returns the aime program whose processes are killed.
fn program(arguments: &ReliabilityArguments) -> Result<PathBuf> {
    match &arguments.program {
        Some(program) => Ok(program.canonicalize()?),
        None => build_aime(&["--no-default-features"]),
    }
}

fn simulate(words: &[String]) -> Result<()> {
    run(cargo(["run", "--quiet", "--profile", "reliability", "--package", "aime-simulation", "--"]).args(words))
}

/// Alternates simulated runs and real kills until the time is over.
fn soak(program: &Path, time: Duration, from: u64) -> Result<()> {
    let begun = Instant::now();
    let (mut kills, mut seed) = (Kills::default(), from);
    while begun.elapsed() < time {
        let minutes = ((time - begun.elapsed().min(time)).as_secs() / 60).clamp(1, 5);
        simulate(&["--minutes".to_owned(), minutes.to_string(), "--from".to_owned(), seed.to_string()])?;
        seed += 1_000_000;
        kills.try_many(program, KILLS_AT_ONCE, seed)?;
    }
    println!("{kills}");
    let left = leftovers::processes(program, kills::FOLDER);
    println!("minutes: {}, processes left behind: {}", begun.elapsed().as_secs() / 60, left.len());
    if left.is_empty() { Ok(()) } else { bail!("processes are left behind: {left:?}") }
}

/// Counts the cases in the files of folders named `corpus`.
fn cases_of_corpora(folder: &Path) -> usize {
    let within = folder.components().any(|part| part.as_os_str() == "corpus");
    let cases = |file: &Path| fs::read_to_string(file).map_or(0, |text| text.lines().filter(|line| line.starts_with("[[case")).count());
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => cases_of_corpora(&entry.path()),
            Ok(_) if within => cases(&entry.path()),
            _ => 0,
        })
        .sum()
}
