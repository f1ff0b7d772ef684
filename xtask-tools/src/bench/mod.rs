//! `cargo xtask bench`: runs the same graphs on aime, on its peers and on bare tokio, side by side.

mod copies;
mod disk;
mod local;
mod peers;
mod plots;
mod rounds;
mod server;
mod table;
mod think;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use peers::{Peer, Peers};
use plots::{Curve, draw};
use rounds::{ActorArguments, actors, in_process};
pub(crate) use server::Server;
use table::{Row, Table};
use xtask::workspace::{build, root};

/// Extent of the measurement.
#[derive(Args)]
pub(crate) struct BenchArguments {
    /// Number of runs of each graph on each system
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Numbers of no-op tasks, to measure how the cost of one grows with them
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000])]
    grow: Vec<u32>,
    #[command(flatten)]
    actors: ActorArguments,
    /// Also measure the curves and draw them into the book
    #[arg(long)]
    plots: bool,
    /// Measure only these parts
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Part::value_variants())]
    part: Vec<Part>,
    /// Measure unoptimised builds, to test the benchmarks themselves; the numbers mean nothing
    #[arg(long)]
    unoptimised: bool,
    /// Only compare the local model with llama.cpp's server on the same file and the same requests
    #[arg(long)]
    local: bool,
}

/// A part of what is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Graphs of tasks on all systems, and how the cost of a task grows
    Graphs,
    /// Rounds of one agent of all systems over one scripted model, and what they tell it
    Rounds,
    /// Actors at once, and actors that wait
    Actors,
    /// The journal beside a bare file
    Disk,
    /// Private folders beside a clone
    Copies,
}

/// Output of a program for one round.
#[derive(Deserialize)]
struct Measured {
    graph: String,
    ms: f64,
    #[serde(default)]
    lower_bound_ms: f64,
}

/// Output line of `grow`.
#[derive(Deserialize)]
struct Grown {
    tasks: u32,
    ms: f64,
    us_per_task: f64,
    events: u32,
}

/// Measures and prints.
pub(crate) fn bench(arguments: &BenchArguments) -> Result<()> {
    ensure!(arguments.rounds > 0, "--rounds must be 1 or more");
    if arguments.local {
        return local::measure(arguments.rounds);
    }
    let options: &[&str] = if arguments.unoptimised { &[] } else { &["--release"] };
    let program = build("aime-bench", options)?;
    let folder = program.parent().and_then(Path::parent).context("aime-bench was built in no folder")?.join("bench");
    fs::create_dir_all(&folder)?;
    let (peers, wanted, mut curves) = (Peers::new(&program, &folder, options), |part| arguments.part.contains(&part), Vec::new());
    println!("{}", peers::versions());
    if wanted(Part::Graphs) {
        graphs(&peers.of_graphs()?, &program, &folder.join("graphs"), arguments.rounds)?;
        if !arguments.grow.is_empty() {
            println!("\n| tasks that do nothing | µs a task |\n|---|---|");
            for Grown { tasks, us_per_task, .. } in grown(&program, "tasks", &arguments.grow)? {
                println!("| {tasks} | {us_per_task:.0} |");
            }
        }
        if arguments.plots {
            curves.extend(curves_of_tasks(&program)?);
        }
    }
    if wanted(Part::Rounds) {
        let (systems, ActorArguments { think, patience, model_ms, .. }) = (peers.of_rounds()?, &arguments.actors);
        let mut server = Server::start(&program, *model_ms)?;
        let rounds = think::think(&mut server, &systems, think, *patience, arguments.rounds)?;
        println!("\n{rounds}\n\n{}", in_process(&program, &arguments.actors, arguments.rounds)?);
        curves.push(rounds.curve());
        println!("\n{}", tokens::tokens(&program, &mut server, &systems)?);
    }
    if wanted(Part::Actors) {
        let (text, curve) = actors(&program, &arguments.actors, arguments.rounds)?;
        println!("\n{text}");
        curves.push(curve);
    }
    if wanted(Part::Disk) {
        println!("\n{}", disk::disk(&program, &folder, arguments.rounds)?);
    }
    if wanted(Part::Copies) {
        println!("\n{}", copies::copies(&program, &folder, arguments.rounds)?);
    }
    if arguments.plots {
        let folder = root().join("docs").join("src").join("plots");
        draw(&curves, &folder)?;
        eprintln!("drawn: {}", folder.display());
    }
    Ok(())
}

/// Runs every graph on every system, and prints the table.
fn graphs(systems: &[Peer], program: &Path, folder: &Path, rounds: u32) -> Result<()> {
    answer(Command::new(program).arg("graphs").arg(folder))?;
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    let mut table = Table::new(systems.iter().map(|system| system.name).collect());
    for file in &files {
        let mut row = Row::new(systems.len());
        // Each round visits every system in turn, so that other load on the machine affects all of them alike.
        for _ in 0..rounds {
            for (at, system) in systems.iter().enumerate() {
                let Measured { graph, ms, lower_bound_ms } = system.measure(&[&file.to_string_lossy()])?;
                row.add(at, ms, &graph, lower_bound_ms);
            }
        }
        eprintln!("measured: {}", row.graph);
        table.rows.push(row);
    }
    println!("\n{table}");
    Ok(())
}

/// Measures runs of one shape with more and more no-op tasks.
fn grown(program: &Path, shape: &str, counts: &[u32]) -> Result<Vec<Grown>> {
    let printed = answer(Command::new(program).args(["grow", "--shape", shape]).args(counts.iter().map(ToString::to_string)))?;
    printed.lines().map(|line| serde_json::from_str(line).with_context(|| format!("not understood: {line}"))).collect()
}

/// Measures the cost of a run against its tasks, its width, its depth and its events.
fn curves_of_tasks(program: &Path) -> Result<Vec<Curve>> {
    let mut tasks = Curve::new("tasks", "tasks, 64 at once", "ms");
    let mut events = Curve::new("events", "events in the journal", "ms");
    for Grown { tasks: count, ms, events: count_of_events, .. } in grown(program, "tasks", &[100, 300, 1_000, 3_000, 10_000])? {
        tasks.points.push((f64::from(count), ms));
        events.points.push((f64::from(count_of_events), ms));
    }
    let mut width = Curve::new("width", "tasks, all at once", "ms");
    width.points.extend(grown(program, "width", &[100, 300, 1_000, 3_000])?.iter().map(|one| (f64::from(one.tasks), one.ms)));
    let mut depth = Curve::new("depth", "tasks, one after the other", "ms");
    depth.points.extend(grown(program, "depth", &[30, 100, 300, 1_000])?.iter().map(|one| (f64::from(one.tasks), one.ms)));
    Ok(vec![tasks, width, depth, events])
}

/// Parses the last output line of a program.
fn measured<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let printed = answer(command)?;
    let line = printed.lines().next_back().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("not understood: {line}"))
}

/// Returns the whole output of a program, which must succeed.
fn answer(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().with_context(|| format!("{name} does not start"))?;
    ensure!(output.status.success(), "{name} failed ({})", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
