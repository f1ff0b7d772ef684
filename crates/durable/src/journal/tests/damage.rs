use super::*;
use crate::replay;

/// Each way to damage record 2 or what follows from it, and what the report says.
// Requirement: 7.12
#[tokio::test]
async fn a_stream_is_cut_before_what_is_damaged_and_goes_on() {
    let cases = [
        ("UPDATE entry SET facts = substr(facts, 1, 9) WHERE last_fact = 2", "record 2 is not as it was written", 1),
        ("UPDATE entry SET facts = replace(facts, 'b', 'x') WHERE last_fact = 2", "checksum", 1),
        ("UPDATE entry SET facts = CAST(x'ff22' AS TEXT) WHERE last_fact = 2", "record 2 is not", 1),
        ("UPDATE entry SET facts = facts || char(10) || facts WHERE last_fact = 2", "record 2 is not", 1),
        ("UPDATE entry SET at = at + 1 WHERE last_fact = 2", "record 2 is not", 1),
        ("UPDATE entry SET version = 9 WHERE last_fact = 2", "record 2 is not", 1),
        ("UPDATE entry SET last_event = 9 WHERE last_fact = 2", "record 2 is missing", 1),
        ("DELETE FROM entry WHERE last_fact = 2", "record 2 is missing", 1),
        ("DELETE FROM entry WHERE last_fact = 4", "record 4 is missing", 3),
        ("UPDATE stream SET last_fact = 6", "record 5 is missing", 4),
        ("UPDATE stream SET last_fact = 9223372036854775807", "record 5 is missing", 4),
        ("UPDATE entry SET last_event = 9223372036854775807 WHERE last_fact = 4", "record 4 is not as it was written", 3),
        ("UPDATE stream SET last_fact = 3", "there should be 4 records; there are 5", 4),
        (
            "UPDATE entry SET events = '' WHERE last_fact = 0",
            "events after number 0: with record 0 there should be 1, and 0 can be read",
            4,
        ),
        ("UPDATE entry SET events = '{' WHERE last_fact = 2", "events after number 2: with record 2", 4),
        ("UPDATE entry SET events = events || char(10) || events WHERE last_fact = 4", "there should be 1, and 2 can be read", 4),
    ];
    for (harm, report, good) in cases {
        let fixture = Fixture::written(&["a", "b", "c", "d"]).await;
        fixture.raw().execute(harm, []).unwrap();
        assert!(fixture.journal.events("r", 1, usize::MAX).unwrap().len() >= 4, "{harm}: it is read");
        let loaded = fixture.load().unwrap();
        let damage = loaded.damage.clone().unwrap_or_default();
        assert!(damage.contains(report) && damage.contains(&format!("{good} facts before it are good")), "{harm}: {damage}");
        assert_eq!(texts(&loaded), ["a", "b", "c", "d"][..good], "{harm}");
        assert_eq!(replay::<Toy>(&loaded.input, &loaded.facts).events.len(), loaded.events, "{harm}: it does not diverge");
        let mut writer = fixture.journal.stream("r", RUN_STREAM).after(&loaded);
        note(&mut writer, &["new"]).await.unwrap();
        note(&mut writer, &["newer"]).await.unwrap();
        let repaired = fixture.load().unwrap();
        assert_eq!(repaired.damage, None, "{harm}");
        let expected: Vec<_> = ["a", "b", "c", "d"][..good].iter().copied().chain(["new", "newer"]).collect();
        assert_eq!(texts(&repaired), expected, "{harm}");
        let expected: Vec<_> = std::iter::once("began").chain(expected).collect();
        assert_eq!(events(&fixture.journal, "r"), numbered(&expected), "{harm}");
    }
}

#[tokio::test]
async fn what_was_appended_together_is_cut_together() {
    let fixture = Fixture::written(&["a"]).await;
    note(&mut fixture.journal.stream("r", "").after(&fixture.load().unwrap()), &["b", "c", "d"]).await.unwrap();
    fixture.raw().execute("UPDATE entry SET facts = replace(facts, 'c', 'x') WHERE last_fact = 4", []).unwrap();
    let loaded = fixture.load().unwrap();
    assert_eq!((texts(&loaded), loaded.events), (vec!["a"], 2));
    assert!(loaded.damage.unwrap().starts_with("record 2 is not as it was written"));
}

// Requirement: 7.19
#[tokio::test]
async fn what_is_damaged_can_be_repaired_without_going_on() {
    let fixture = Fixture::written(&["a", "b", "c"]).await;
    fixture.raw().execute("UPDATE entry SET facts = '' WHERE last_fact = 2", []).unwrap();
    for _ in 0..2 {
        // The second time there is nothing to repair.
        let loaded = fixture.load().unwrap();
        fixture.journal.stream("r", RUN_STREAM).after(&loaded).repair::<Toy>().await.unwrap();
    }
    let repaired = fixture.load().unwrap();
    assert_eq!((texts(&repaired), repaired.damage.clone()), (vec!["a"], None));
    assert_eq!(events(&fixture.journal, "r"), numbered(&["began", "a"]));
}

#[tokio::test]
async fn an_actors_stream_is_cut_without_touching_the_events_of_the_run() {
    let fixture = Fixture::written(&["a"]).await;
    let mut actor = fixture.journal.stream("r", "task/1");
    begin(&mut actor).await.unwrap();
    for text in ["b", "c"] {
        note(&mut actor, &[text]).await.unwrap();
    }
    fixture
        .raw()
        .execute("UPDATE entry SET facts = '' WHERE last_fact = 2 AND stream = (SELECT id FROM stream WHERE name = 'task/1')", [])
        .unwrap();
    let loaded = fixture.journal.load::<Toy>("r", "task/1").unwrap().unwrap();
    assert_eq!((texts(&loaded), loaded.events), (vec!["b"], 2));
    note(&mut fixture.journal.stream("r", "task/1").after(&loaded), &["d"]).await.unwrap();
    let loaded = fixture.journal.load::<Toy>("r", "task/1").unwrap().unwrap();
    assert_eq!((texts(&loaded), loaded.events, loaded.damage.clone()), (vec!["b", "d"], 3, None));
    assert_eq!(events(&fixture.journal, "r"), numbered(&["began", "a"]));
}

#[tokio::test]
async fn a_cut_never_takes_what_another_process_wrote_since() {
    let fixture = Fixture::written(&["a", "b"]).await;
    fixture.raw().execute("UPDATE entry SET facts = '' WHERE last_fact = 2", []).unwrap();
    let loaded = fixture.load().unwrap();
    let (mut one, mut two) = (fixture.journal.stream("r", "").after(&loaded), fixture.other().stream("r", "").after(&loaded));
    note(&mut one, &["c", "d"]).await.unwrap();
    assert!(matches!(note(&mut two, &["x"]).await, Err(JournalError::Fenced { .. })));
    assert_eq!(texts(&fixture.load().unwrap()), ["a", "c", "d"]);
}

#[tokio::test]
async fn without_a_beginning_nothing_can_be_resumed() {
    for harm in ["UPDATE entry SET facts = '' WHERE last_fact = 0", "DELETE FROM entry WHERE last_fact = 0"] {
        let fixture = Fixture::written(&["a"]).await;
        fixture.raw().execute(harm, []).unwrap();
        let fault = fault(fixture.journal.load::<Toy>("r", RUN_STREAM));
        assert!(matches!(fault, JournalError::Beginning { .. }), "{fault}");
        assert!(fault.to_string().contains("start a new run"), "{fault}");
    }
}

/// A toy of the next version, and one that has forgotten a fact.
macro_rules! changed_toy {
    ($name:ident, $version:literal, $fact:ty) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        struct $name;

        impl crate::Machine for $name {
            const VERSION: u32 = $version;
            type Input = ToyInput;
            type Fact = $fact;
            type Effect = ();
            type Event = ();
            type Output = ();
            fn start(_: UnixMillis, _: &ToyInput, _: &mut crate::Outbox<Self>) -> Self {
                Self
            }
            fn apply(&mut self, _: UnixMillis, _: &$fact, _: &mut crate::Outbox<Self>) -> Option<()> {
                None
            }
            fn kind((): &()) -> &'static str {
                "nothing"
            }
            fn answers(_: &$fact) -> Option<&crate::EffectId> {
                None
            }
            fn revoked(_: &crate::EffectId, _: &crate::Reason) -> $fact {
                unreachable!()
            }
        }
    };
}
changed_toy!(NextToy, 2, ToyFact);
changed_toy!(ForgetfulToy, 1, u32);

// Requirement: 7.11
#[tokio::test]
async fn what_another_version_wrote_is_refused_and_not_cut() {
    let fixture = Fixture::written(&["a"]).await;
    let fault_of_next = fault(fixture.journal.load::<NextToy>("r", RUN_STREAM));
    assert!(matches!(fault_of_next, JournalError::OtherVersion { found: 1, known: 2, .. }), "{fault_of_next}");
    let fault_of_forgetful = fault(fixture.journal.load::<ForgetfulToy>("r", RUN_STREAM));
    assert!(matches!(fault_of_forgetful, JournalError::Unreadable { seq: 1, .. }), "{fault_of_forgetful}");
}

/// Truncates the file and flips bytes all over it: an error, or a prefix of what was written, and never a panic.
#[tokio::test]
async fn whatever_happens_to_the_file_what_is_loaded_was_written() {
    let long = "abcdefgh".repeat(40);
    let written: Vec<String> = (0..40).map(|number| format!("{number} {long}")).collect();
    let fixture = Fixture::written(&written.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let Fixture { folder, journal } = fixture;
    let source = journal.path().to_owned();
    drop(journal);
    let good = std::fs::read(&source).unwrap();
    let harmed = folder.path().join("harmed.db");
    let (mut refused, mut cut, mut whole) = (0, 0, 0);
    let flips = (0..good.len()).step_by(97).map(|at| {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    let truncated = (0..good.len()).step_by(1_361).map(|length| good[..length].to_vec());
    for bytes in flips.chain(truncated) {
        for rest in ["harmed.db-wal", "harmed.db-shm"] {
            drop(std::fs::remove_file(folder.path().join(rest)));
        }
        std::fs::write(&harmed, bytes).unwrap();
        let loaded = Journal::open(&harmed).and_then(|journal| {
            let runs = journal.runs().map(|runs| runs.len());
            let events = journal.events("r", 1, usize::MAX).map(|events| events.len());
            let loaded = journal.load::<Toy>("r", RUN_STREAM);
            drop((runs, events));
            loaded
        });
        match loaded {
            Err(_) | Ok(None) => refused += 1,
            Ok(Some(loaded)) => {
                let texts = texts(&loaded);
                assert_eq!(texts, written[..texts.len()]);
                assert!(texts.len() == 40 || loaded.damage.is_some(), "a loss is reported");
                if loaded.damage.is_some() { cut += 1 } else { whole += 1 }
            }
        }
    }
    assert!(refused > 0 && cut > 0 && whole > 0, "{refused} refused, {cut} cut, {whole} whole");
}

/// After a loss of power the write-ahead log may end anywhere.
// Requirement: 7.10
#[tokio::test]
async fn a_torn_log_gives_the_last_whole_commit() {
    let texts_written: Vec<String> = (0..30).map(|number| number.to_string()).collect();
    let fixture = Fixture::written(&texts_written.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let file = std::fs::read(fixture.journal.path()).unwrap();
    let log = std::fs::read(fixture.folder.path().join("aime.db-wal")).unwrap();
    let torn = tempfile::tempdir().unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for length in (0..=log.len()).step_by(log.len() / 60) {
        let path = torn.path().join(format!("{length}.db"));
        std::fs::write(&path, &file).unwrap();
        std::fs::write(torn.path().join(format!("{length}.db-wal")), &log[..length]).unwrap();
        let journal = Journal::open(&path).unwrap();
        let Some(loaded) = journal.load::<Toy>("r", RUN_STREAM).unwrap() else {
            continue;
        };
        assert_eq!(loaded.damage, None);
        assert_eq!(texts(&loaded), texts_written[..loaded.facts.len()]);
        assert_eq!(events(&journal, "r").len(), loaded.events);
        lengths.insert(loaded.facts.len());
    }
    assert!(lengths.len() > 10, "{lengths:?}");
}
