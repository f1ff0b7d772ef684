//! What was tried, in numbers.

use std::{collections::BTreeMap, fmt};

use crate::{Moment, Story};

/// What was tried, in numbers.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Runs that were played.
    pub runs: u64,
    /// Moments that they went through.
    pub steps: u64,
    /// Events that they told.
    pub events: u64,
    /// Processes that carried them on.
    pub lives: u64,
    /// How many of these died.
    pub deaths: u64,
    /// Calls that were told to be in doubt.
    pub in_doubt: u64,
    /// Processes that went on from a snapshot.
    pub snapshots: u64,
    /// How the runs ended.
    pub ends: BTreeMap<String, u64>,
    /// Cuts, by where and how.
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

    /// Adds what another thread has counted.
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
