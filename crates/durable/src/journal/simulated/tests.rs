use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;

use super::*;
use crate::{
    Commit, NewRun, RUN_STREAM, Recorded, StreamWriter,
    contract::{Toy, ToyEvent, ToyFact, ToyInput},
};

/// One write has this fate, all others are written.
struct One(AtomicUsize, Fate);

impl Disk for One {
    fn fate(&self) -> Fate {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 0 { self.1 } else { Fate::Written }
    }
}

fn begin(writer: &mut StreamWriter) -> Option<Result<(), JournalError>> {
    let input = Recorded { at: 1, fact: ToyInput { lanes: 1, steps: 1 } };
    let event = Recorded { at: 1, fact: ToyEvent::Began { lane: 0, step: 0 } };
    writer.append::<Toy>(Commit { input: Some(&input), facts: &[], events: (&[event]).into() }).now_or_never()
}

fn note(writer: &mut StreamWriter) -> Option<Result<(), JournalError>> {
    let fact = Recorded { at: 2, fact: ToyFact::Note { text: "x".to_owned() } };
    let event = Recorded { at: 2, fact: ToyEvent::Noted { text: "x".to_owned() } };
    writer.append::<Toy>(Commit { input: None, facts: &[fact], events: (&[event]).into() }).now_or_never()
}

#[test]
fn a_write_has_the_fate_that_was_chosen_for_it() {
    // The answer to the writer, and the number of facts that are kept.
    let cases = [
        (Fate::Written, "written", 1),
        (Fate::Unreported, "silence", 1),
        (Fate::Lost, "silence", 0),
        (Fate::Torn, "silence", 0),
        (Fate::Twice, "written", 1),
        (Fate::Full, "no room", 0),
        (Fate::Broken, "cannot be used", 0),
    ];
    for (fate, expected, kept) in cases {
        let journal = Journal::simulated(Arc::new(One(AtomicUsize::new(2), fate))).unwrap();
        let run = NewRun { id: "r", at: 0, machine_version: 1, title: "t", status: "running" };
        journal.create_run(run).now_or_never().unwrap().unwrap();
        let mut writer = journal.stream("r", RUN_STREAM);
        begin(&mut writer).unwrap().unwrap();
        let answer = match note(&mut writer) {
            None => "silence".to_owned(),
            Some(Ok(())) => "written".to_owned(),
            Some(Err(error)) => error.to_string(),
        };
        assert!(answer.contains(expected), "{fate:?}: {answer}");
        let loaded = journal.load::<Toy>("r", RUN_STREAM).unwrap().unwrap();
        assert_eq!((loaded.facts.len(), loaded.damage.as_deref()), (kept, None), "{fate:?}");
        assert_eq!(journal.events("r", 1, 9).unwrap().len(), 1 + kept, "{fate:?}: facts and events go together");
        // Another process continues from the stored state.
        note(&mut journal.stream("r", RUN_STREAM).after(&loaded)).unwrap().unwrap();
        assert_eq!(journal.load::<Toy>("r", RUN_STREAM).unwrap().unwrap().facts.len(), kept + 1, "{fate:?}");
    }
}
