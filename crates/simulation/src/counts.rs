//! Statistics of the simulated runs.

use std::{collections::BTreeMap, fmt};

use crate::{Moment, Story};

/// Statistics of the simulated runs.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Number of runs.
    pub runs: u64,
    /// Number of moments.
    pub steps: u64,
    /// Number of events.
    pub events: u64,
    /// Number of processes.
    pub lives: u64,
    /// Number of processes that died.
    pub deaths: u64,
    /// Number of calls that were reported to be in doubt.
    pub in_doubt: u64,
    /// Number of processes that resumed from a snapshot.
    pub snapshots: u64,
    /// Number of runs by their end.
    pub ends: BTreeMap<String, u64>,
    /// Number of cuts by moment and fate.
    pub cuts: BTreeMap<String, u64>,
}

impl Counts {
    /// Counts a run.
    pub fn add(&mut self, story: &Story) {
        self.runs += 1;
        self.steps += story.moments.len() as u64;
        self.events += story.events as u64;
        self.lives += u64::from(story.lives);
        self.deaths += story.deaths;
        self.in_doubt += story.in_doubt as u64;
        self.snapshots += u64::from(story.snapshots);
        *self.ends.entry(story.end.clone()).or_default() += 1;
    }

    /// Counts a cut.
    pub fn cut(&mut self, moment: Moment, fate: aime_durable::Fate) {
        let what = if moment == Moment::Write { format!("{moment:?}/{fate:?}") } else { format!("{moment:?}") };
        *self.cuts.entry(what).or_default() += 1;
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: Self) {
        self.runs += other.runs;
        self.steps += other.steps;
        self.events += other.events;
        self.lives += other.lives;
        self.deaths += other.deaths;
        self.in_doubt += other.in_doubt;
        self.snapshots += other.snapshots;
        for (mine, theirs) in [(&mut self.ends, other.ends), (&mut self.cuts, other.cuts)] {
            for (name, count) in theirs {
                *mine.entry(name).or_default() += count;
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "runs: {}, moments: {}, events: {}", self.runs, self.steps, self.events)?;
        writeln!(
            f,
            "processes: {}, of which {} died and {} went on from a snapshot; calls in doubt: {}",
            self.lives, self.deaths, self.snapshots, self.in_doubt
        )?;
        let listed =
            |counts: &BTreeMap<String, u64>| counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ");
        writeln!(f, "ends: {}", listed(&self.ends))?;
        let cuts = self.cuts.values().sum::<u64>();
        if cuts > 0 { writeln!(f, "cuts: {cuts} ({})", listed(&self.cuts)) } else { Ok(()) }
    }
}
