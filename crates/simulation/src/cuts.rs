//! Cuts a run at every possible moment, and compares the result with the uncut run.

use std::collections::BTreeMap;

use aime_durable::Fate;

use crate::{Cut, Moment, Scenario, Stage, Story, play};

/// Possible fates of the write at which a run is cut.
const FATES: [Fate; 6] = [Fate::Unreported, Fate::Lost, Fate::Torn, Fate::Twice, Fate::Full, Fate::Broken];

/// Plays the run of a seed without cuts and other faults.
#[must_use]
pub fn uncut(stage: &Stage, seed: u64) -> Story {
    play(stage, Scenario::calm(seed), None)
}

/// Returns every possible cut of a run: at each write with each fate, and before and after each effect.
#[must_use]
pub fn cuts_of(whole: &Story) -> Vec<(Moment, Cut)> {
    let moments = whole.moments.iter().copied().zip(0..);
    let cuts = moments.flat_map(|(moment, at)| {
        let fates = if moment == Moment::Write { &FATES[..] } else { &[Fate::Lost][..] };
        fates.iter().map(move |&fate| (moment, Cut { at, fate }))
    });
    cuts.collect()
}

impl Story {
    /// Plays the run again with a cut, and reports the differences as faults.
    #[must_use]
    pub fn cut(&self, stage: &Stage, cut: Cut) -> Self {
        let mut story = play(stage, Scenario::calm(self.seed), Some(cut));
        let lost =
            self.tasks.iter().filter(|(id, _)| !story.tasks.iter().any(|(found, _)| found == id)).map(|(id, _)| format!("{id} is lost"));
        let mut faults: Vec<String> = lost.collect();
        if story.in_doubt == 0 && story.outcome() != self.outcome() {
            faults.push(format!("it ends as {:?}, where the run that was not cut ends as {:?}", story.outcome(), self.outcome()));
        }
        story.faults.extend(faults);
        story
    }

    /// Returns the part of the outcome that is independent of cuts, unless a call is in doubt.
    fn outcome(&self) -> (&str, &str, BTreeMap<&str, String>, BTreeMap<&str, u32>) {
        let tasks = self.tasks.iter().map(|(id, status)| (id.as_str(), status.to_string()));
        // Calls of other tools may have been repeated.
        let effects = self.effects.iter().filter(|(key, _)| key.starts_with("mark")).map(|(key, tally)| (key.as_str(), tally.done));
        (&self.end, &self.answer, tasks.collect(), effects.collect())
    }
}
