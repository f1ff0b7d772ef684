//! `aime-simulation`: plays simulated runs and reports faults.
#![expect(clippy::print_stdout, reason = "it talks to a person at a terminal")]

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use aime_simulation::{Counts, Long, Scenario, Stage, Story, cuts_of, memory, open_files, play, uncut};
use clap::Parser;

/// Simulates whole runs in virtual time and prints the number of runs and the faults found.
#[derive(Parser)]
struct Arguments {
    /// Replay this random run and print its events
    #[arg(long)]
    seed: Option<u64>,
    /// With `--seed`: cut a run without faults at this moment in every way
    #[arg(long)]
    at: Option<u64>,
    /// Number of random runs
    #[arg(long, default_value_t = 0)]
    runs: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Number of moments at which runs without faults are cut
    #[arg(long, default_value_t = 0)]
    cuts: u64,
    /// Only random runs for this many minutes; prints the memory that they left behind
    #[arg(long)]
    minutes: Option<u64>,
    /// Only one run with this many tasks and `--events`, on a journal on disk
    #[arg(long, value_name = "TASKS")]
    long: Option<usize>,
    /// With `--long`: minimum number of events
    #[arg(long, default_value_t = 1_000_000)]
    events: usize,
    /// Number of threads
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Number of runs before the reference measurement of memory.
const WARM: u64 = 200;
/// Maximum growth of memory since then, in bytes.
const GROWTH: u64 = 64 << 20;
/// Maximum number of additional open files since the first runs.
const MORE_FILES: usize = 8;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let faults = match (arguments.seed, arguments.minutes, arguments.long) {
        (Some(seed), ..) => one(seed, arguments.at),
        (None, Some(minutes), _) => soak(arguments, Duration::from_secs(minutes * 60)),
        (None, None, Some(tasks)) => long(Long { tasks, events: arguments.events }),
        (None, None, None) => many(&arguments),
    };
    for fault in faults.iter().take(20) {
        println!("{fault}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fault_lines(story: &Story) -> Vec<String> {
    story.faults.iter().map(|fault| format!("seed {}: {fault}\n  {}", story.seed, story.command())).collect()
}

fn one(seed: u64, at: Option<u64>) -> Vec<String> {
    let stage = match Stage::new() {
        Ok(stage) => stage,
        Err(error) => return vec![error.to_string()],
    };
    let Some(at) = at else {
        let story = play(&stage, Scenario::wild(seed), None);
        for event in &story.record {
            println!("{event}");
        }
        println!("{} after {} lives, {} deaths, {} moments", story.end, story.lives, story.deaths, story.moments.len());
        return fault_lines(&story);
    };
    let whole = uncut(&stage, seed);
    let cuts = cuts_of(&whole).into_iter().filter(|(_, cut)| cut.at == at);
    cuts.flat_map(|(moment, cut)| {
        let story = whole.cut(&stage, cut);
        println!("{moment:?} {:?}: {} after {} lives", cut.fate, story.end, story.lives);
        fault_lines(&story)
    })
    .collect()
}

fn long(long: Long) -> Vec<String> {
    match long.play() {
        Ok(story) => {
            print!("{story}");
            story.faults
        }
        Err(error) => vec![error.to_string()],
    }
}

/// Plays runs until the time is over, and checks that they return their resources.
fn soak(arguments: Arguments, time: Duration) -> Vec<String> {
    let begun = Instant::now();
    let mut arguments = Arguments { runs: WARM, cuts: 0, ..arguments };
    let mut faults = many(&arguments);
    let (warm, files) = (memory("VmRSS:"), open_files());
    while faults.is_empty() && begun.elapsed() < time {
        arguments.from += WARM;
        faults = many(&arguments);
    }
    if let (Some(warm), Some(now)) = (warm, memory("VmRSS:")) {
        println!("memory: {} MiB after {WARM} runs, {} MiB after {}", warm >> 20, now >> 20, arguments.from + WARM);
        if now > warm + GROWTH {
            faults.push(format!("the memory has grown from {warm} to {now} bytes"));
        }
    }
    if let (Some(before), Some(now)) = (files, open_files()) {
        println!("open files: {before} after {WARM} runs, {now} after {}", arguments.from + WARM);
        if now > before + MORE_FILES {
            faults.push(format!("{now} files are open, where there were {before}"));
        }
    }
    faults
}

fn many(arguments: &Arguments) -> Vec<String> {
    let (next, cut) = (AtomicU64::new(0), AtomicU64::new(0));
    let (mut counts, mut faults) = (Counts::default(), Vec::new());
    thread::scope(|scope| {
        let threads: Vec<_> = (0..arguments.threads).map(|_| scope.spawn(|| work(arguments, &next, &cut))).collect();
        for thread in threads {
            match thread.join() {
                Ok((counted, found)) => {
                    counts.merge(counted);
                    faults.extend(found);
                }
                Err(_) => faults.push("a thread has panicked".to_owned()),
            }
        }
    });
    print!("{counts}");
    faults
}

fn work(arguments: &Arguments, next: &AtomicU64, cut: &AtomicU64) -> (Counts, Vec<String>) {
    let (mut counts, mut faults) = (Counts::default(), Vec::new());
    let stage = match Stage::new() {
        Ok(stage) => stage,
        Err(error) => return (counts, vec![error.to_string()]),
    };
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let seed = arguments.from + number;
        if number < arguments.runs {
            let story = play(&stage, Scenario::wild(seed), None);
            counts.add(&story);
            faults.extend(fault_lines(&story));
        } else if cut.load(Ordering::Relaxed) < arguments.cuts {
            let whole = uncut(&stage, seed);
            faults.extend(fault_lines(&whole));
            for (moment, at) in cuts_of(&whole) {
                let story = whole.cut(&stage, at);
                cut.fetch_add(1, Ordering::Relaxed);
                counts.cut(moment, at.fate);
                counts.add(&story);
                faults.extend(
                    story
                        .faults
                        .iter()
                        .map(|fault| format!("seed {seed}, {moment:?} {:?}: {fault}\n  {} --at {}", at.fate, story.command(), at.at)),
                );
            }
        } else {
            return (counts, faults);
        }
    }
}
