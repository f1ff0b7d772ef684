use futures::FutureExt as _;

use super::*;
use crate::Sink;

#[tokio::test]
async fn what_was_appended_is_loaded() {
    let fixture = Fixture::new().await;
    assert!(fixture.load().is_none());
    let mut writer = fixture.journal.stream("r", RUN_STREAM);
    begin(&mut writer).await.unwrap();
    note(&mut writer, &["a", "b"]).await.unwrap();
    note(&mut writer, &[]).await.unwrap();
    note(&mut writer, &["ç 星 \u{0} \"quoted\""]).await.unwrap();
    let loaded = fixture.load().unwrap();
    assert_eq!(texts(&loaded), ["a", "b", "ç 星 \u{0} \"quoted\""]);
    assert_eq!((loaded.input.at, loaded.input.fact.lanes, loaded.events, loaded.last_at()), (1_001, 1, 4, 2_000));
    assert_eq!(loaded.damage, None);
    assert_eq!(events(&fixture.journal, "r"), numbered(&["began", "a", "b", "ç 星 \u{0} \"quoted\""]));
    assert_eq!(fixture.journal.run("r").unwrap().unwrap().updated_at, 2_000);
}

#[tokio::test]
async fn a_journal_is_there_when_it_is_opened_again() {
    let fixture = Fixture::written(&["a"]).await;
    let Fixture { folder, journal } = fixture;
    drop(journal);
    let journal = Journal::open(folder.path().join("aime.db")).unwrap();
    let loaded = journal.load::<Toy>("r", RUN_STREAM).unwrap().unwrap();
    let mut writer = journal.stream("r", RUN_STREAM).after(&loaded);
    note(&mut writer, &["b"]).await.unwrap();
    assert_eq!(texts(&journal.load::<Toy>("r", RUN_STREAM).unwrap().unwrap()), ["a", "b"]);
    assert_eq!(events(&journal, "r"), numbered(&["began", "a", "b"]));
}

#[tokio::test]
async fn only_the_runs_own_stream_publishes() {
    let fixture = Fixture::written(&["a"]).await;
    let mut actor = fixture.journal.stream("r", "task/1");
    begin(&mut actor).await.unwrap();
    note(&mut actor, &["thought"]).await.unwrap();
    assert_eq!(events(&fixture.journal, "r"), numbered(&["began", "a"]));
    let loaded = fixture.journal.load::<Toy>("r", "task/1").unwrap().unwrap();
    assert_eq!((texts(&loaded), loaded.events), (vec!["thought"], 2), "they are counted all the same, to find a divergence");
}

#[tokio::test]
async fn who_falls_behind_is_fenced_off() {
    let fixture = Fixture::written(&["a"]).await;
    let other = fixture.other();
    let loaded = fixture.load().unwrap();
    let (mut one, mut two) = (fixture.journal.stream("r", "").after(&loaded), other.stream("r", "").after(&loaded));
    note(&mut one, &["b", "c"]).await.unwrap();
    for _ in 0..2 {
        let fault = note(&mut two, &["x"]).await.unwrap_err();
        assert!(matches!(&fault, JournalError::Fenced { run, .. } if &**run == "r"), "{fault}");
    }
    note(&mut one, &["d"]).await.unwrap();
    assert_eq!(texts(&fixture.load().unwrap()), ["a", "b", "c", "d"]);
    assert_eq!(events(&other, "r"), numbered(&["began", "a", "b", "c", "d"]));
    let mut afresh = other.stream("r", RUN_STREAM);
    assert!(matches!(begin(&mut afresh).await, Err(JournalError::Fenced { .. })), "a run cannot begin twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_streams_at_once_are_all_durable_and_each_in_order() {
    let fixture = Fixture::new().await;
    let producers = (0..40).map(|producer| {
        let mut writer = fixture.journal.stream("r", &format!("task/{producer}"));
        tokio::spawn(async move {
            begin(&mut writer).await.unwrap();
            for number in 0..25 {
                note(&mut writer, &[&format!("{producer}-{number}")]).await.unwrap();
            }
        })
    });
    for producer in futures::future::join_all(producers).await {
        producer.unwrap();
    }
    let other = fixture.other();
    for producer in 0..40 {
        let loaded = other.load::<Toy>("r", &format!("task/{producer}")).unwrap().unwrap();
        assert_eq!(texts(&loaded), (0..25).map(|number| format!("{producer}-{number}")).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn of_many_streams_that_begin_at_once_most_wait_for_their_place() {
    let fixture = Fixture::new().await;
    let blocked = fixture.raw();
    blocked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut writers: Vec<_> = (0..BEGINNINGS + 6).map(|number| fixture.journal.stream("r", &format!("task/{number}"))).collect();
    for writer in &mut writers {
        assert!(begin(writer).now_or_never().is_none());
    }
    blocked.execute_batch("COMMIT").unwrap();
    fixture.journal.flush().await.unwrap();
    assert_eq!(fixture.journal.streams("r").unwrap().len(), BEGINNINGS, "what still waited for its place when it was dropped is not begun");
    let rest: Vec<_> = writers.iter_mut().skip(BEGINNINGS).map(begin).collect();
    assert!(futures::future::join_all(rest).await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn one_fenced_append_leaves_the_others_of_its_group() {
    let fixture = Fixture::written(&["a"]).await;
    let mut writers: Vec<_> = (0..20).map(|number| fixture.journal.stream("r", &format!("task/{number}"))).collect();
    let mut stale = fixture.journal.stream("r", RUN_STREAM);
    let (outcomes, fenced) = futures::join!(futures::future::join_all(writers.iter_mut().map(begin)), begin(&mut stale));
    assert!(outcomes.iter().all(Result::is_ok));
    assert!(matches!(fenced, Err(JournalError::Fenced { .. })));
}

/// Any page of the events: of what was appended alone, together, and without events.
#[tokio::test]
async fn events_are_found_by_number() {
    let fixture = Fixture::written(&["a"]).await;
    let mut writer = fixture.journal.stream("r", RUN_STREAM).after(&fixture.load().unwrap());
    let silent = [at(2_000, ToyFact::Note { text: "silent".to_owned() })];
    for together in [&["b", "c", "d"][..], &["e"], &["f", "g"]] {
        note(&mut writer, together).await.unwrap();
        writer.append::<Toy>(Commit { input: None, facts: &silent, events: (&[]).into() }).await.unwrap();
    }
    let all = numbered(&["began", "a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(events(&fixture.journal, "r"), all);
    for (from, limit) in (0..=10).flat_map(|from| (0..=9).map(move |limit| (from, limit))) {
        let page = fixture.journal.events("r", from, limit).unwrap();
        let expected = all.iter().filter(|(seq, _)| *seq >= from).take(limit);
        assert_eq!(
            page.iter().map(|event| event.seq).collect::<Vec<_>>(),
            expected.map(|(seq, _)| *seq).collect::<Vec<_>>(),
            "{from} {limit}"
        );
        assert!(page.iter().all(|event| event.body.contains(&all[event.seq as usize - 1].1)), "{from} {limit}");
    }
}

/// An append of facts of several times, with events of each, and one of one time.
#[tokio::test]
async fn each_fact_and_event_keeps_its_time() {
    let fixture = Fixture::written(&[]).await;
    let mut writer = fixture.journal.stream("r", RUN_STREAM).after(&fixture.load().unwrap());
    let times = [2_000, 2_000, 2_001, 2_003, 2_003];
    let facts: Vec<_> = times.iter().map(|time| at(*time, ToyFact::Note { text: time.to_string() })).collect();
    let events: Vec<_> = [2_000, 2_003, 2_003].iter().map(|time| at(*time, ToyEvent::Noted { text: time.to_string() })).collect();
    writer.append::<Toy>(Commit { input: None, facts: &facts, events: events.into() }).await.unwrap();
    let loaded = fixture.load().unwrap();
    assert_eq!((loaded.facts.iter().map(|fact| fact.at).collect::<Vec<_>>(), loaded.events, loaded.damage), (times.to_vec(), 4, None));
    let kept = fixture.journal.events("r", 1, 9).unwrap();
    assert_eq!(kept.iter().map(|event| event.at).collect::<Vec<_>>(), [1_001, 2_000, 2_003, 2_003]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_reads_while_this_one_writes() {
    let fixture = Fixture::new().await;
    let reader = fixture.other();
    let reading = tokio::task::spawn_blocking(move || {
        let (mut seen, mut looks) = (0, 0_u64);
        while seen < 201 {
            let new = reader.events("r", seen + 1, 50).unwrap();
            for event in new {
                seen += 1;
                assert_eq!(event.seq, seen, "no gap");
            }
            let loaded = reader.load::<Toy>("r", RUN_STREAM).unwrap();
            assert!(loaded.is_none_or(|loaded| loaded.damage.is_none()), "what is half written is never seen");
            looks += 1;
        }
        looks
    });
    let mut writer = fixture.journal.stream("r", RUN_STREAM);
    begin(&mut writer).await.unwrap();
    for number in 0..100 {
        note(&mut writer, &[&number.to_string(), "and"]).await.unwrap();
    }
    assert!(reading.await.unwrap() > 0);
    assert_eq!(fixture.journal.events("r", 199, 2).unwrap().iter().map(|event| event.seq).collect::<Vec<_>>(), [199, 200]);
}

#[tokio::test]
async fn commits_wake_who_watches() {
    let fixture = Fixture::new().await;
    let mut commits = fixture.journal.commits();
    commits.mark_unchanged();
    let mut writer = fixture.journal.stream("r", RUN_STREAM);
    let (changed, begun) = futures::join!(commits.changed(), begin(&mut writer));
    changed.unwrap();
    begun.unwrap();
    assert_eq!(events(&fixture.journal, "r").len(), 1);
}

#[tokio::test]
async fn a_run_is_entered_once_listed_and_deleted() {
    let fixture = Fixture::written(&["a"]).await;
    let journal = &fixture.journal;
    let fault = journal.create_run(new_run("r")).await.unwrap_err();
    assert!(matches!(fault, JournalError::RunExists { .. }), "{fault}");
    let long = "星".repeat(1_000);
    journal.create_run(NewRun { id: "later", at: 5_000, title: &long, ..new_run("later") }).await.unwrap();
    journal.set_status("later", 6_000, "completed").await.unwrap();
    let runs = journal.runs().unwrap();
    assert_eq!(runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["later", "r"]);
    let expected = RunRecord {
        id: "later".into(),
        created_at: 5_000,
        updated_at: 6_000,
        machine_version: 1,
        title: "星".repeat(200),
        status: "completed".into(),
    };
    assert_eq!(runs[0], expected);
    let mut writer = journal.stream("r", RUN_STREAM).after(&fixture.load().unwrap());
    journal.inbox_put("r", 1, "{}").await.unwrap();
    journal.delete_run("r").await.unwrap();
    assert!(journal.run("r").unwrap().is_none() && fixture.load().is_none() && journal.events("r", 1, 9).unwrap().is_empty());
    for fault in [note(&mut writer, &["b"]).await, journal.delete_run("r").await, journal.set_status("r", 1, "x").await] {
        assert!(matches!(&fault, Err(JournalError::NoRun { run }) if &**run == "r"), "{fault:?}");
    }
    assert!(matches!(journal.inbox_put("r", 1, "{}").await, Err(JournalError::NoRun { .. })));
}

#[tokio::test]
async fn who_writes_to_a_deleted_run_never_meets_the_next_one() {
    let fixture = Fixture::written(&["a"]).await;
    let mut stale = fixture.journal.stream("r", RUN_STREAM).after(&fixture.load().unwrap());
    note(&mut stale, &["b"]).await.unwrap();
    fixture.journal.delete_run("r").await.unwrap();
    fixture.journal.create_run(new_run("s")).await.unwrap();
    let mut next = fixture.journal.stream("s", RUN_STREAM);
    begin(&mut next).await.unwrap();
    note(&mut next, &["c", "d"]).await.unwrap();
    assert!(matches!(note(&mut stale, &["x"]).await, Err(JournalError::NoRun { .. })));
    assert_eq!(texts(&fixture.journal.load::<Toy>("s", RUN_STREAM).unwrap().unwrap()), ["c", "d"]);
}

#[tokio::test]
async fn a_message_waits_until_it_is_taken() {
    let fixture = Fixture::new().await;
    let (journal, other) = (&fixture.journal, fixture.other());
    let first = other.inbox_put("r", 7, r#"{"answer":"yes"}"#).await.unwrap();
    let second = other.inbox_put("r", 8, r#"{"answer":"no"}"#).await.unwrap();
    let waiting = journal.inbox("r").unwrap();
    assert_eq!(waiting[0], Message { id: first, at: 7, body: r#"{"answer":"yes"}"#.to_owned() });
    assert_eq!(waiting.len(), 2);
    assert!(journal.inbox_take(first).await.unwrap());
    assert!(!journal.inbox_take(first).await.unwrap(), "only one takes it");
    assert!(!journal.inbox_take(99).await.unwrap());
    assert_eq!(other.inbox("r").unwrap().iter().map(|message| message.id).collect::<Vec<_>>(), [second]);
}

#[test]
fn one_holds_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs/r/lock");
    let lock = RunLock::take(&path).unwrap();
    let fault = RunLock::take(&path).unwrap_err();
    assert!(matches!(fault, LockError::Locked { pid: Some(pid), .. } if pid == std::process::id()), "{fault}");
    assert!(fault.to_string().contains(&format!("process {}", std::process::id())));
    drop(lock);
    drop(RunLock::take(&path).unwrap());
    std::fs::write(&path, "no number, and longer than it was").unwrap();
    let _lock = RunLock::take(&path).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap().trim(), std::process::id().to_string());
    assert!(matches!(RunLock::take(folder.path()), Err(LockError::Io { .. })));
}

/// Queues a commit of one note without waiting for it.
async fn queue(writer: &mut StreamWriter, text: &str) -> Result<(), JournalError> {
    let fact = at(2_000, ToyFact::Note { text: text.to_owned() });
    let event = at(2_000, ToyEvent::Noted { text: text.to_owned() });
    Sink::<Toy>::append(writer, Commit { input: None, facts: &[fact], events: (&[event]).into() }).await
}

#[tokio::test]
async fn what_was_queued_is_there_after_a_flush_in_order() {
    let fixture = Fixture::written(&["a"]).await;
    let mut writer = fixture.journal.stream("r", RUN_STREAM).after(&fixture.load().unwrap());
    let many: Vec<String> = (0..600).map(|number| number.to_string()).collect();
    for text in &many {
        queue(&mut writer, text).await.unwrap();
    }
    writer.flush().await.unwrap();
    let loaded = fixture.load().unwrap();
    assert_eq!(texts(&loaded)[1..], many);
    assert_eq!(events(&fixture.journal, "r").len(), 602);
    note(&mut writer, &["z"]).await.unwrap();
    assert_eq!(texts(&fixture.load().unwrap()).len(), 602);
}

#[tokio::test]
async fn a_failure_among_what_was_queued_leaves_no_gap_and_can_be_tried_again() {
    let fixture = Fixture::written(&["a"]).await;
    let mut writer = fixture.journal.stream("r", RUN_STREAM).after(&fixture.load().unwrap());
    fixture
        .raw()
        .execute_batch("CREATE TRIGGER no BEFORE INSERT ON entry WHEN new.last_fact = 3 BEGIN SELECT RAISE(ABORT, 'no room'); END")
        .unwrap();
    for text in ["b", "c", "d", "e"] {
        queue(&mut writer, text).await.unwrap();
    }
    let fault = writer.flush().await.unwrap_err();
    assert!(!matches!(fault, JournalError::Fenced { .. }), "the first fault is told: {fault}");
    assert_eq!(texts(&fixture.load().unwrap()), ["a", "b"]);
    fixture.raw().execute_batch("DROP TRIGGER no").unwrap();
    for text in ["c", "d"] {
        queue(&mut writer, text).await.unwrap();
    }
    writer.flush().await.unwrap();
    assert_eq!(texts(&fixture.load().unwrap()), ["a", "b", "c", "d"]);
    assert_eq!(events(&fixture.journal, "r"), numbered(&["began", "a", "b", "c", "d"]));
}

// Requirement: 12.18
#[test]
fn who_looks_whether_a_run_is_held_keeps_nobody_from_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs/r/lock");
    assert!(!RunLock::is_held(&path) && !path.exists(), "looking makes nothing");
    let lock = RunLock::take(&path).unwrap();
    assert!(RunLock::is_held(&path));
    drop(lock);
    assert!(!RunLock::is_held(&path));
    let looking = std::thread::spawn({
        let path = path.clone();
        move || (0..2_000).filter(|_| RunLock::is_held(&path)).count()
    });
    let taken = (0..500).filter(|_| RunLock::take(&path).is_ok()).count();
    looking.join().unwrap();
    assert_eq!(taken, 500);
}
