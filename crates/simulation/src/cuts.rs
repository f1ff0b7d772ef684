//! Runs that are cut at every moment at which they can be, and compared with the run that was never cut.

use std::collections::BTreeMap;

use aime_durable::Fate;

use crate::{Cut, Moment, Scenario, Stage, Story, play};

/// What can become of a write at which a run is cut.
const FATES: [Fate; 6] = [Fate::Kept, Fate::Lost, Fate::Torn, Fate::Twice, Fate::Full, Fate::Broken];

/// The run of a seed, never cut, in which nothing else goes wrong.
#[must_use]
pub fn uncut(stage: &Stage, seed: u64) -> Story {
    play(stage, Scenario::calm(seed), None)
}

/// Every way in which a run can be cut: at each write in each way, at each effect before and after it.
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
    /// Plays a run again, cuts it, and tells what is then not as it should be.
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

    /// What is the same however a run was cut, unless something is in doubt.
    fn outcome(&self) -> (&str, &str, BTreeMap<&str, String>, BTreeMap<&str, u32>) {
        let tasks = self.tasks.iter().map(|(id, status)| (id.as_str(), status.to_string()));
        // What may be repeated may have been.
        let effects = self.effects.iter().filter(|(key, _)| key.starts_with("mark")).map(|(key, tally)| (key.as_str(), tally.done));
        (&self.end, &self.answer, tasks.collect(), effects.collect())
    }
}
