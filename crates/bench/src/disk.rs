//! Cost of the disk: runs of tasks with effects, each of which must be recorded before it begins, and the journal alone, compared with a
//! plain file that is written and synchronised as often.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use aime_durable::{Commit, EffectId, Journal, Machine, NewRun, Outbox, RUN_STREAM, Reason, Recorded, UnixMillis};
use anyhow::{Context, Result};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    graph::{self, Graph},
    run::{Kind, by_aime, milliseconds},
};

/// Bytes of one append to the journal alone.
const FACT: usize = 1_024;

/// Writer of the measured data.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Writes {
    /// A run of tasks that do nothing but might change something
    Run,
    /// The journal alone, appends of 1 KiB
    Journal,
}

/// Amount of written data, and the time for it.
struct Written {
    took: Duration,
    commits: u64,
    bytes: u64,
}

/// Runs this many tasks or appends, `at_once` concurrently. Then writes the same bytes to a plain file in as many pieces, each synchronised
/// by itself, in the same folder.
///
/// # Errors
/// A run that fails, a file that cannot be written, a system without `/proc`.
pub(crate) async fn beside_the_floor(writes: Writes, count: usize, at_once: usize) -> Result<serde_json::Value> {
    let written = match writes {
        Writes::Run => run(count, at_once).await?,
        Writes::Journal => journal(count, at_once).await?,
    };
    let folder = tempfile::tempdir()?;
    let (commits, bytes) = (written.commits, written.bytes);
    let file = folder.path().join("bare");
    let bare = tokio::task::spawn_blocking(move || bare(&file, commits, bytes)).await??;
    let name = match writes {
        Writes::Run => "tasks that change something",
        Writes::Journal => "appends to the journal alone",
    };
    let how = if at_once == 1 { "one after the other".to_owned() } else { format!("{at_once} at once") };
    Ok(json!({
        "case": format!("{count} {name}, {how}"), "ms": milliseconds(written.took), "commits": commits, "kb": bytes as f64 / 1_024.0,
        "bare_ms": milliseconds(bare),
    }))
}

/// Runs tasks that do nothing.
async fn run(tasks: usize, at_once: usize) -> Result<Written> {
    let graph = if at_once == 1 { graph::chain(tasks) } else { Graph { slots: at_once, ..graph::independent(tasks) } };
    let before = written_bytes()?;
    let carried = by_aime(&graph, Kind::ChangesSomething).await?;
    Ok(Written { took: carried.took, commits: carried.commits, bytes: written_bytes()?.saturating_sub(before) })
}

/// Appends with this many writers, each of which waits until its entry is durable.
async fn journal(appends: usize, writers: usize) -> Result<Written> {
    let folder = tempfile::tempdir()?;
    let journal = Journal::open(folder.path().join("bench.db"))?;
    journal.create_run(NewRun { id: "bench", at: 0, machine_version: Words::VERSION, title: "bench", status: "running" }).await?;
    let (commits, before, started) = (journal.commits(), written_bytes()?, Instant::now());
    let first = *commits.borrow();
    let each = |writer: usize| {
        let name = if writer == 0 { RUN_STREAM.to_owned() } else { format!("writer-{writer}") };
        let mut stream = journal.stream("bench", &name);
        let share = appends / writers + usize::from(writer < appends % writers);
        async move {
            for _ in 0..share {
                let fact = Recorded { at: 0, fact: "x".repeat(FACT) };
                stream.append::<Words>(Commit { input: None, facts: &[fact], events: (&[]).into() }).await?;
            }
            anyhow::Ok(())
        }
    };
    try_join_all((0..writers).map(each)).await?;
    let took = started.elapsed();
    let commits = *commits.borrow() - first;
    Ok(Written { took, commits, bytes: written_bytes()?.saturating_sub(before) })
}

/// Appends the bytes in equal pieces to a file, each followed by `fdatasync`.
fn bare(path: &Path, pieces: u64, bytes: u64) -> Result<Duration> {
    let mut file = File::create_new(path)?;
    let piece = vec![b'x'; usize::try_from(bytes.div_ceil(pieces.max(1)))?];
    let started = Instant::now();
    for _ in 0..pieces {
        file.write_all(&piece)?;
        file.sync_data()?;
    }
    Ok(started.elapsed())
}

/// Returns the bytes that this process has passed to the system for writing. Does not include memory-mapped writes, such as those to the
/// index of SQLite's log.
fn written_bytes() -> Result<u64> {
    let io = fs::read_to_string("/proc/self/io").context("no /proc here")?;
    let line = io.lines().find_map(|line| line.strip_prefix("wchar:")).context("no wchar in /proc/self/io")?;
    Ok(line.trim().parse()?)
}

/// An empty state machine that consumes words: the benchmark only needs its facts.
#[derive(Serialize, Deserialize)]
struct Words;

impl Machine for Words {
    const VERSION: u32 = 1;
    type Input = String;
    type Fact = String;
    type Effect = ();
    type Event = ();
    type Output = ();

    fn start(_: UnixMillis, _: &String, _: &mut Outbox<Self>) -> Self {
        Self
    }

    fn apply(&mut self, _: UnixMillis, _: &String, _: &mut Outbox<Self>) -> Option<()> {
        None
    }

    fn answers(_: &String) -> Option<&EffectId> {
        None
    }

    fn revoked(id: &EffectId, _: &Reason) -> String {
        id.to_string()
    }

    fn kind((): &()) -> &'static str {
        "nothing"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bare_file_takes_all_bytes_in_as_many_pieces() {
        let folder = tempfile::tempdir().unwrap();
        for (name, pieces, bytes, length) in [("even", 4, 4_096, 4_096), ("odd", 3, 100, 102), ("none", 0, 0, 0)] {
            let path = folder.path().join(name);
            bare(&path, pieces, bytes).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().len(), length, "{name}");
        }
    }

    #[tokio::test]
    async fn appends_one_after_the_other_are_a_commit_each_and_those_at_once_share_some() {
        let alone = journal(20, 1).await.unwrap();
        assert_eq!(alone.commits, 20);
        assert!(alone.bytes >= 20 * FACT as u64, "{}", alone.bytes);
        assert!(journal(256, 64).await.unwrap().commits < 256);
    }

    #[tokio::test]
    async fn each_task_of_a_chain_that_may_change_something_is_durable_before_it_begins() {
        assert!(run(10, 1).await.unwrap().commits >= 10);
    }
}
