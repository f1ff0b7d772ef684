//! `cargo xtask instructions`: counts the instructions of inner loops with Valgrind's callgrind. The counts do not depend on other load on
//! the machine, so they can be compared over time and limited.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::bench::Server;
use xtask::workspace::build;

/// Measured part of the work.
struct Loop {
    name: &'static str,
    /// Arguments of `aime-bench` before the count.
    arguments: &'static [&'static str],
    /// True if the model is behind HTTP, in a process of its own that is not counted.
    served: bool,
    /// Counts of the repeated thing: the second is twice the first, the third twice the second.
    counts: [u32; 3],
}

const LOOPS: [Loop; 5] = [
    Loop { name: "a task that does nothing", arguments: &["grow", "--shape", "tasks"], served: false, counts: [1_000, 2_000, 4_000] },
    Loop { name: "a task of a chain", arguments: &["grow", "--shape", "depth"], served: false, counts: [500, 1_000, 2_000] },
    Loop { name: "a round of one actor", arguments: &["rounds"], served: false, counts: [100, 200, 400] },
    Loop { name: "a round with its model behind HTTP", arguments: &["rounds"], served: true, counts: [100, 200, 400] },
    Loop { name: "an actor among others at once", arguments: &["actors", "--ms", "0"], served: false, counts: [100, 200, 400] },
];

/// Largest ratio of the cost per item between the upper and the lower range. Work that is linear over a long run grows by a few per cent at
/// most, because maps become deeper.
const MAX_GROWTH: f64 = 1.3;

/// Features to build with.
#[derive(Args)]
pub(crate) struct InstructionsArguments {
    /// Count on an unoptimised build: its numbers say little, how they grow says the same
    #[arg(long)]
    unoptimised: bool,
}

/// Counts, prints a table, and fails for every loop whose cost per item grows with the length.
pub(crate) fn instructions(arguments: &InstructionsArguments) -> Result<()> {
    let program = build("aime-bench", if arguments.unoptimised { &[] } else { &["--release"] })?;
    let (mut table, mut faults) = ("| instructions of | at first | twice as many | growth |\n|---|---|---|---|".to_owned(), Vec::new());
    for counted_loop in &LOOPS {
        let Loop { name, counts, .. } = counted_loop;
        let totals = totals(&program, counted_loop, counts)?;
        let (&[first, second, third], &[few, more, most]) = (totals.as_slice(), counts) else { continue };
        // The differences cancel the cost of the process start.
        let (before, after) = (each(first, second, more - few), each(second, third, most - more));
        let growth = after / before.max(1.0);
        write!(table, "\n| {name}, {few} to {more} to {most} | {before:.0} | {after:.0} | × {growth:.2} |")?;
        if growth > MAX_GROWTH {
            faults.push(format!("{name} costs {growth:.2} times as much among twice as many; at most {MAX_GROWTH} is meant"));
        }
        eprintln!("counted: {name}");
    }
    println!("{table}");
    if faults.is_empty() {
        return Ok(());
    }
    bail!("over the bound:\n  {}", faults.join("\n  "))
}

/// Returns the first cost of each loop, in the order of the table.
pub(crate) fn costs(program: &Path) -> Result<[f64; LOOPS.len()]> {
    let mut costs = [0.0; LOOPS.len()];
    for (cost, counted_loop) in costs.iter_mut().zip(&LOOPS) {
        let [few, more, _] = counted_loop.counts;
        if let [first, second] = totals(program, counted_loop, &[few, more])?[..] {
            *cost = each(first, second, more - few);
        }
    }
    Ok(costs)
}

/// Returns the instructions of the whole process for each count.
fn totals(program: &Path, Loop { arguments, served, .. }: &Loop, counts: &[u32]) -> Result<Vec<u64>> {
    let server = if *served { Some(Server::start(program, 0)?) } else { None };
    let mut arguments = arguments.to_vec();
    if let Some(server) = &server {
        arguments.extend(["--server", &server.url]);
    }
    counts.iter().map(|count| counted(program, &arguments, *count)).collect()
}

/// Returns the cost per item.
fn each(before: u64, after: u64, count: u32) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^52 instructions")]
    let all = after.saturating_sub(before) as f64;
    all / f64::from(count)
}

/// Returns the instructions of the whole process.
fn counted(program: &Path, arguments: &[&str], count: u32) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(arguments).arg(count.to_string());
    let output = command.stdin(Stdio::null()).output().context("valgrind does not start: is it installed?")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{arguments:?} {count} failed under valgrind ({}): {stderr}", output.status);
    }
    read(&stderr).with_context(|| format!("valgrind did not tell what it counted: {stderr}"))
}

/// Parses `==12== Collected : 345`.
fn read(stderr: &str) -> Option<u64> {
    stderr.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_read() {
        assert_eq!(read("==12== Events    : Ir\n==12== Collected : 345\n==12== \n"), Some(345));
        assert_eq!(read("==12== Events    : Ir\n"), None);
        assert!((each(100, 300, 10) - 20.0).abs() < f64::EPSILON);
    }
}
