use std::collections::BTreeSet;

use super::*;
use crate::{
    EmbeddedHost, Ended, LoadedMachine, LoadedSnapshot, Machine, Resume,
    contract::{Sum, World},
    drive, replay,
};

const INPUT: ToyInput = ToyInput { lanes: 3, steps: 4 };

/// A disk that never fails.
struct Whole;

impl Disk for Whole {
    fn fate(&self) -> Fate {
        Fate::Written
    }
}

/// Takes a snapshot and keeps it; false if none could be taken.
async fn snapshot(journal: &Journal, run: &str) -> bool {
    let Some(taken) = journal.take_snapshot::<Toy>(run, RUN_STREAM).unwrap() else { return false };
    journal.keep_snapshot(taken).await.unwrap();
    true
}

fn machine_of(journal: &Journal, run: &str) -> LoadedSnapshot<Toy> {
    journal.load_machine::<Toy>(run, RUN_STREAM).unwrap().unwrap()
}

fn form(state: &LoadedMachine<Toy>) -> String {
    String::from_utf8(state.snapshot().unwrap()).unwrap()
}

/// Drives a toy to its end on the journal.
async fn go(writer: StreamWriter, resume: Resume<Toy>) -> (Sum, Arc<World>) {
    let world = Arc::<World>::default();
    let mut host = EmbeddedHost::new(Arc::clone(&world), writer);
    let Ended { output, .. } = drive(&mut host, resume).await.unwrap_or_else(|error| panic!("{error}"));
    (output, world)
}

/// Writes a run up to one of its facts. Returns the rest of the facts.
async fn entered(journal: &Journal, run: &str, whole: &Loaded<Toy>, facts: std::ops::Range<usize>) {
    let before = replay::<Toy>(&whole.input, &whole.facts[..facts.start]).events.len();
    let events = replay::<Toy>(&whole.input, &whole.facts[..facts.end]).events;
    if facts.start == 0 {
        journal.create_run(new_run(run)).await.unwrap();
        let commit = Commit { input: Some(&whole.input), facts: &whole.facts[..facts.end], events: (&events).into() };
        return journal.stream(run, RUN_STREAM).append::<Toy>(commit).await.unwrap();
    }
    let snapshot = machine_of(journal, run);
    let commit = Commit { input: None, facts: &whole.facts[facts], events: (&events[before..]).into() };
    journal.stream(run, RUN_STREAM).after_snapshot(&snapshot).append::<Toy>(commit).await.unwrap();
}

// Requirement: 7.20
#[tokio::test]
async fn a_run_stands_on_a_snapshot_after_any_fact_as_it_stands_on_all_facts() {
    let journal = &Journal::simulated(Arc::new(Whole)).unwrap();
    journal.create_run(new_run("r")).await.unwrap();
    let (sum, _) = go(journal.stream("r", RUN_STREAM), Resume::Fresh(at(1_000, INPUT))).await;
    let whole = journal.load::<Toy>("r", RUN_STREAM).unwrap().unwrap();
    let last = whole.facts.len();
    assert!(!snapshot(journal, "r").await, "it has given its output");
    for taken in 1..last {
        for end in taken..=last {
            let run = format!("{taken}-{end}");
            entered(journal, &run, &whole, 0..taken).await;
            let all = machine_of(journal, &run);
            assert_eq!(all.state.replayed(), taken);
            assert!(snapshot(journal, &run).await);
            if end > taken {
                entered(journal, &run, &whole, taken..end).await;
            }
            let snapshot = machine_of(journal, &run);
            assert_eq!((snapshot.state.replayed(), snapshot.unused.len()), (end - taken, 0), "only what came after it is replayed");
            let mut expected = LoadedMachine::<Toy>::started(&whole.input);
            whole.facts[..end].iter().for_each(|fact| expected.learn(fact));
            assert_eq!(form(&snapshot.state), form(&expected), "{run}");
            assert_eq!((snapshot.state.events(), snapshot.state.output()), (expected.events(), expected.output()), "{run}");
            let writer = journal.stream(&run, RUN_STREAM).after_snapshot(&snapshot);
            let (output, world) = go(writer, snapshot.state.resume(vec![])).await;
            assert_eq!(output, sum, "{run}");
            let answered: BTreeSet<_> = whole.facts[..end].iter().filter_map(|fact| Toy::answers(&fact.fact)).collect();
            for started in world.started() {
                assert!(!answered.contains(&started.id), "{run}: {} was answered", started.id);
                assert!(started.reissued || end < last, "{run}: {started:?}");
            }
            let loaded = journal.load::<Toy>(&run, RUN_STREAM).unwrap().unwrap();
            let replayed = replay::<Toy>(&loaded.input, &loaded.facts);
            assert_eq!((loaded.damage.clone(), replayed.events.len(), replayed.output), (None, loaded.events, Some(sum)), "{run}");
        }
    }
}

// Requirement: 7.20
#[tokio::test]
async fn a_snapshot_that_cannot_be_used_is_said_and_all_facts_are_replayed() {
    let cases = [
        ("UPDATE snapshot SET body = substr(body, 1, 9)", "checksum"),
        ("UPDATE snapshot SET body = replace(body, '1', '2')", "checksum"),
        ("UPDATE snapshot SET form = 9", "checksum"),
        ("UPDATE snapshot SET seq = seq + 1", "checksum"),
        ("UPDATE entry SET facts = '' WHERE last_fact = 4", "fact 4 after it is damaged"),
        ("UPDATE entry SET events = '' WHERE last_fact = 4", "events after number 4"),
        ("DELETE FROM entry WHERE last_fact = 4", "the last fact is number 3, and should be 4"),
        ("DELETE FROM snapshot", ""),
    ];
    for (harm, why) in cases {
        let fixture = Fixture::written(&["a", "b", "c"]).await;
        assert!(snapshot(&fixture.journal, "r").await);
        note(&mut fixture.journal.stream("r", "").after_snapshot(&machine_of(&fixture.journal, "r")), &["d"]).await.unwrap();
        assert_eq!(machine_of(&fixture.journal, "r").state.replayed(), 1);
        fixture.raw().execute(harm, []).unwrap();
        let snapshot = machine_of(&fixture.journal, "r");
        let loaded = fixture.load().unwrap();
        assert_eq!((snapshot.state.replayed(), &snapshot.damage), (loaded.facts.len(), &loaded.damage), "{harm}");
        let notes = snapshot.unused.join("\n");
        assert!(notes.contains(why) && notes.is_empty() == why.is_empty(), "{harm}: {notes}");
        // The stream continues, and the append repairs the damage.
        note(&mut fixture.journal.stream("r", "").after_snapshot(&snapshot), &["e"]).await.unwrap();
        let repaired = fixture.load().unwrap();
        assert_eq!((repaired.damage.clone(), texts(&repaired).last()), (None, Some(&"e")), "{harm}");
        assert_eq!(machine_of(&fixture.journal, "r").state.events(), repaired.events, "{harm}");
    }
}

#[tokio::test]
async fn the_one_before_is_used_where_the_latest_is_damaged_and_older_ones_go() {
    let fixture = Fixture::written(&["a"]).await;
    for text in ["b", "c", "d"] {
        note(&mut fixture.journal.stream("r", "").after_snapshot(&machine_of(&fixture.journal, "r")), &[text]).await.unwrap();
        assert!(snapshot(&fixture.journal, "r").await);
        assert!(!snapshot(&fixture.journal, "r").await, "nothing has happened since");
    }
    let seqs: Vec<i64> = fixture.journal.snapshots("r", "").unwrap().iter().map(|kept| kept.seq).collect();
    assert_eq!(seqs, [4, 3]);
    fixture.raw().execute("UPDATE snapshot SET body = '' WHERE seq = 4", []).unwrap();
    let snapshot = machine_of(&fixture.journal, "r");
    assert_eq!((snapshot.state.replayed(), snapshot.unused.len()), (1, 1));
}

// Requirement: 7.20
#[tokio::test]
async fn what_stood_on_facts_that_are_cut_goes_with_them() {
    let fixture = Fixture::written(&["a", "b", "c"]).await;
    assert!(snapshot(&fixture.journal, "r").await);
    fixture.raw().execute("UPDATE entry SET facts = '' WHERE last_fact = 2", []).unwrap();
    assert_eq!(machine_of(&fixture.journal, "r").state.replayed(), 0, "what is before the snapshot is not looked at");
    let loaded = fixture.load().unwrap();
    fixture.journal.stream("r", "").after(&loaded).repair::<Toy>().await.unwrap();
    assert_eq!(fixture.journal.snapshots("r", "").unwrap(), []);
    assert_eq!(machine_of(&fixture.journal, "r").state.replayed(), 1);
}

// Requirement: 7.19
#[tokio::test]
async fn a_snapshot_that_the_facts_do_not_make_is_found_and_can_be_taken_away() {
    let fixture = Fixture::new().await;
    for (run, value) in [("r", 1), ("s", 2)] {
        if run == "s" {
            fixture.journal.create_run(new_run(run)).await.unwrap();
        }
        let (input, facts) = (at(1_000, INPUT), [at(2_000, ToyFact::Done { id: crate::EffectId::new("0/0/work"), value })]);
        let events = replay::<Toy>(&input, &facts).events;
        let commit = Commit::<Toy> { input: Some(&input), facts: &facts, events: (&events).into() };
        fixture.journal.stream(run, RUN_STREAM).append(commit).await.unwrap();
        assert!(snapshot(&fixture.journal, run).await);
        assert_eq!(fixture.journal.check_snapshots::<Toy>(run, RUN_STREAM).unwrap(), []);
    }
    fixture.raw().execute_batch("DELETE FROM snapshot WHERE run = 'r'; UPDATE snapshot SET run = 'r'").unwrap();
    let wrong = fixture.journal.check_snapshots::<Toy>("r", RUN_STREAM).unwrap();
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].1.contains("not what a replay of the facts makes"), "{}", wrong[0].1);
    fixture.journal.drop_snapshots("r", RUN_STREAM, vec![wrong[0].0.seq]).await.unwrap();
    assert_eq!(machine_of(&fixture.journal, "r").state.replayed(), 1);
    // A snapshot whose fact no longer exists is not kept.
    let taken = fixture.journal.take_snapshot::<Toy>("r", RUN_STREAM).unwrap().unwrap();
    fixture.raw().execute("DELETE FROM entry WHERE last_fact = 1 AND stream = (SELECT id FROM stream WHERE run = 'r')", []).unwrap();
    fixture.journal.keep_snapshot(taken).await.unwrap();
    assert_eq!(fixture.journal.snapshots("r", RUN_STREAM).unwrap(), []);
}

/// A toy whose form has changed since.
macro_rules! other_toy {
    ($name:ident, $version:literal, $form:expr) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct $name(Toy);

        impl Machine for $name {
            const VERSION: u32 = $version;
            const SNAPSHOT: Option<u32> = $form;
            type Input = ToyInput;
            type Fact = ToyFact;
            type Effect = ();
            type Event = ToyEvent;
            type Output = ();
            fn start(at: UnixMillis, input: &ToyInput, out: &mut crate::Outbox<Self>) -> Self {
                let mut inner = crate::Outbox::default();
                let toy = Toy::start(at, input, &mut inner);
                inner.take().1.into_iter().for_each(|event| out.emit(event));
                Self(toy)
            }
            fn apply(&mut self, at: UnixMillis, fact: &ToyFact, out: &mut crate::Outbox<Self>) -> Option<()> {
                let mut inner = crate::Outbox::default();
                let output = self.0.apply(at, fact, &mut inner);
                inner.take().1.into_iter().for_each(|event| out.emit(event));
                output.map(|_| ())
            }
            fn answers(fact: &ToyFact) -> Option<&crate::EffectId> {
                Toy::answers(fact)
            }
            fn revoked(id: &crate::EffectId, why: &crate::Reason) -> ToyFact {
                Toy::revoked(id, why)
            }
            fn kind((): &()) -> &'static str {
                "nothing"
            }
        }
    };
}
other_toy!(OtherForm, 1, Some(2));
other_toy!(NoForm, 1, None);

// Requirement: 7.20
#[tokio::test]
async fn a_snapshot_of_another_form_is_left_alone() {
    let fixture = Fixture::written(&["a", "b"]).await;
    assert!(snapshot(&fixture.journal, "r").await);
    let snapshot = fixture.journal.load_machine::<OtherForm>("r", RUN_STREAM).unwrap().unwrap();
    assert_eq!(snapshot.state.replayed(), 2);
    assert!(snapshot.unused[0].contains("another version of aime took it"), "{:?}", snapshot.unused);
    assert!(fixture.journal.take_snapshot::<NoForm>("r", RUN_STREAM).unwrap().is_none());
}

#[tokio::test]
async fn a_clock_that_was_set_back_hinders_no_snapshot() {
    let fixture = Fixture::written(&["a"]).await;
    let early = [at(-5_000, ToyFact::Note { text: "b".to_owned() })];
    let events = [at(-5_000, ToyEvent::Noted { text: "b".to_owned() })];
    let mut writer = fixture.journal.stream("r", RUN_STREAM).after_snapshot(&machine_of(&fixture.journal, "r"));
    writer.append::<Toy>(Commit { input: None, facts: &early, events: (&events).into() }).await.unwrap();
    assert!(snapshot(&fixture.journal, "r").await);
    assert_eq!((machine_of(&fixture.journal, "r").state.replayed(), fixture.journal.snapshots("r", "").unwrap()[0].at), (0, -5_000));
}
