#![doc = include_str!("../README.md")]
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod actors;
mod copies;
mod disk;
mod graph;
mod planned;
mod run;
mod served;

use std::{ffi::OsString, fs, path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use serde_json::json;

use crate::{
    disk::Writes,
    graph::Graph,
    run::{Kind, milliseconds},
};

/// Measures one thing and prints it as JSON, a line each.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Measure,
}

#[derive(Subcommand)]
enum Measure {
    /// Write every graph of the table to a folder, a file each
    Graphs {
        /// The folder
        folder: PathBuf,
    },
    /// Run a graph
    Graph {
        /// Its file
        file: PathBuf,
        /// System that runs it
        #[arg(long, value_enum, default_value_t = System::Aime)]
        system: System,
        /// Number of repetitions
        #[arg(long, default_value_t = 5)]
        repeats: u32,
    },
    /// Run more and more tasks that do nothing
    Grow {
        /// Shape of the task graph
        #[arg(long, value_enum, default_value_t = Shape::Tasks)]
        shape: Shape,
        /// The numbers of tasks
        #[arg(required = true)]
        counts: Vec<usize>,
    },
    /// Let one actor work for so many rounds of a scripted model
    Rounds {
        /// The numbers of rounds
        #[arg(required = true)]
        counts: Vec<usize>,
        /// Ask the model of a server of rounds at this address, and not one in this process
        #[arg(long)]
        server: Option<String>,
    },
    /// Serve a scripted model of rounds, until the input ends; a line `floor` or `tokens` asks about the requests since the line before
    Serve {
        /// Latency of the model's answer, in milliseconds
        #[arg(long, default_value_t = 0)]
        ms: u64,
    },
    /// Let so many actors work at once, over a model that takes its time
    Actors {
        /// The numbers of actors
        #[arg(required = true)]
        counts: Vec<usize>,
        /// Latency of the model's answer, in milliseconds
        #[arg(long, default_value_t = 200)]
        ms: u64,
    },
    /// Carry out a scripted goal by a plan of tool tasks, and count what its model is asked
    Planned {
        /// The number of calls in the plan
        #[arg(default_value_t = 12)]
        tasks: usize,
    },
    /// Write to the journal what must be durable before it goes on, then as much to a bare file as often
    Disk {
        /// Writer of the data
        #[arg(value_enum)]
        writes: Writes,
        /// The number of tasks, or of appends
        #[arg(default_value_t = 200)]
        count: usize,
        /// Number of tasks or appends at once
        #[arg(long, default_value_t = 1, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
        at_once: usize,
    },
    /// Make private folders of a repository, and a clone of it
    Copies {
        /// The number of files
        #[arg(default_value_t = 10_000)]
        files: usize,
        /// The folders in which git is looked for, as in PATH
        #[arg(long)]
        search_path: OsString,
    },
    /// Let so many actors wait for their model, and see what they hold
    Waiting {
        /// The number of actors
        count: usize,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    /// No task waits for another, and 64 run at once
    Tasks,
    /// All run at once
    Width,
    /// One after the other
    Depth,
}

#[derive(Clone, Copy, ValueEnum)]
enum System {
    /// The orchestrator, with its journal
    Aime,
    /// Bare tokio
    Tokio,
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().command {
        Measure::Graphs { folder } => {
            fs::create_dir_all(&folder)?;
            for (number, graph) in graph::all().iter().enumerate() {
                let file = folder.join(format!("{number}.json"));
                fs::write(&file, serde_json::to_vec(graph)?).with_context(|| format!("{} cannot be written", file.display()))?;
            }
        }
        Measure::Graph { file, system, repeats } => {
            let text = fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
            let graph: Graph = serde_json::from_slice(&text).with_context(|| format!("{} is no graph", file.display()))?;
            let bound = graph.lower_bound_ms()?;
            for _ in 0..repeats {
                let ms = once(&graph, system).await?;
                println!("{}", json!({"graph": graph.name, "ms": ms, "lower_bound_ms": bound}));
            }
        }
        Measure::Grow { shape, counts } => {
            for count in counts {
                let graph = match shape {
                    Shape::Tasks => graph::independent(count),
                    Shape::Width => Graph { slots: count, ..graph::independent(count) },
                    Shape::Depth => graph::chain(count),
                };
                let carried = run::by_aime(&graph, Kind::ReadOnly).await?;
                let (ms, events) = (milliseconds(carried.took), carried.events);
                println!("{}", json!({"tasks": count, "ms": ms, "us_per_task": ms * 1_000.0 / count as f64, "events": events}));
            }
        }
        Measure::Rounds { counts, server } => {
            for count in counts {
                println!(
                    "{}",
                    match &server {
                        Some(server) => actors::rounds_over_http(server, count).await?,
                        None => actors::rounds(count).await?,
                    }
                );
            }
        }
        Measure::Serve { ms } => served::serve(Duration::from_millis(ms)).await?,
        Measure::Actors { counts, ms } => {
            for count in counts {
                println!("{}", actors::at_once(count, Duration::from_millis(ms)).await?);
            }
        }
        Measure::Planned { tasks } => println!("{}", planned::goal(tasks).await?),
        Measure::Disk { writes, count, at_once } => println!("{}", disk::beside_the_floor(writes, count, at_once).await?),
        Measure::Copies { files, search_path } => println!("{}", copies::beside_a_clone(files, search_path).await?),
        Measure::Waiting { count } => println!("{}", actors::waiting(count).await?),
    }
    Ok(())
}

async fn once(graph: &Graph, system: System) -> Result<f64> {
    match system {
        System::Aime => Ok(milliseconds(run::by_aime(graph, Kind::ReadOnly).await?.took)),
        System::Tokio => run::by_tokio(graph).await,
    }
}
