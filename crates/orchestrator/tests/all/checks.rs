//! Checks of the stored parts of a run, and repairs from its facts.

use aime_orchestrator::{OrchestratorError, RunCheck, RunPart, check_published, check_run, view};
use aime_progress_management::{RunStatus, TimedEvent, Timestamp};

use crate::bench::{Bench, four_lines, run_id};

/// `PATH` on which `git` is found.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

async fn check(bench: &Bench, repair: bool) -> RunCheck {
    check_run(&bench.journal, &bench.path(".aime"), &run_id(), repair, 7, PATH.into()).await.unwrap()
}

async fn after_a_run() -> Bench {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    assert_eq!(bench.run("Write four lines", Some(plan)).await.status, RunStatus::Completed);
    bench
}

// Requirement: 7.19
#[tokio::test]
async fn what_is_whole_is_found_so() {
    let bench = after_a_run().await;
    let checked = check(&bench, false).await;
    assert_eq!((checked.findings.as_slice(), checked.actors), ([].as_slice(), 1));
    assert!(checked.is_whole() && checked.events > 20, "{checked:?}");
}

// Requirement: 7.19
#[tokio::test]
async fn a_snapshot_and_the_list_are_made_anew_from_the_journal() {
    let bench = after_a_run().await;
    let (path, whole) = (bench.path(".aime/progress/trip.json"), bench.state());
    std::fs::remove_file(&path).unwrap();
    bench.journal.set_status("trip", 7, "planning").await.unwrap();
    let places = |checked: &RunCheck| checked.findings.iter().map(|finding| (finding.place, finding.repaired)).collect::<Vec<_>>();
    let found = check(&bench, false).await;
    assert_eq!(places(&found), [(RunPart::Snapshot, false), (RunPart::List, false)]);
    assert!(!found.is_whole() && !path.exists(), "a look changes nothing");
    let repaired = check(&bench, true).await;
    assert_eq!(places(&repaired), [(RunPart::Snapshot, true), (RunPart::List, true)]);
    assert!(repaired.is_whole());
    assert_eq!(check(&bench, false).await.findings, []);
    assert_eq!(aime_progress_management::read_snapshot(&path).unwrap(), whole);
    assert_eq!(bench.journal.runs().unwrap()[0].status, "completed");
}

// Requirement: 7.19
#[tokio::test]
async fn nobody_checks_a_run_that_is_not_there_or_under_way() {
    let bench = after_a_run().await;
    let (keep, nobody) = (bench.path(".aime"), "nobody".parse().unwrap());
    let error = check_run(&bench.journal, &keep, &nobody, true, 7, PATH.into()).await.unwrap_err();
    assert!(matches!(error, OrchestratorError::NoSuchRun { .. }), "{error}");
    assert!(!keep.join("runs/nobody").exists(), "it leaves no trace");
    let _held = aime_durable::RunLock::take(&keep.join("runs/trip/lock")).unwrap();
    let error = check_run(&bench.journal, &keep, &run_id(), true, 7, PATH.into()).await.unwrap_err();
    assert!(matches!(error, OrchestratorError::Lock(_)), "{error}");
}

// Requirement: 7.19
#[tokio::test]
async fn a_run_whose_process_died_right_after_its_end_is_told_of_everywhere_once_it_is_resumed() {
    let bench = after_a_run().await;
    std::fs::remove_file(bench.path(".aime/progress/trip.json")).unwrap();
    bench.journal.set_status("trip", 7, "planning").await.unwrap();
    assert_eq!(bench.resume().await.status, RunStatus::Completed);
    assert_eq!(check(&bench, false).await.findings, []);
}

#[tokio::test]
async fn what_an_engine_tells_of_a_run_is_held_against_its_journal() {
    let bench = after_a_run().await;
    let seen = view(&bench.journal, &run_id()).unwrap();
    let events: Vec<TimedEvent> =
        seen.events.iter().map(|published| TimedEvent { at: published.at, event: published.event.clone() }).collect();
    let places = |events: &[TimedEvent], state| {
        check_published(&run_id(), &seen, events, state).findings.into_iter().map(|finding| finding.place).collect()
    };
    let mut other = events.clone();
    other[3].at = Timestamp::from_millis(7);
    let mut elsewhere = seen.state.clone();
    elsewhere.answer = Some("another".to_owned());
    let more = [events.clone(), events[..1].to_vec()].concat();
    let cases: [(&[TimedEvent], _, &[RunPart]); 6] = [
        (&events, Some(&seen.state), &[]),
        // The run has continued since these events were read.
        (&events[..5], None, &[]),
        (&[], None, &[]),
        (&other, None, &[RunPart::Journal]),
        (&more, None, &[RunPart::Journal]),
        (&events, Some(&elsewhere), &[RunPart::State]),
    ];
    for (number, (events, state, expected)) in cases.into_iter().enumerate() {
        let found: Vec<RunPart> = places(events, state);
        assert_eq!(found, expected, "case {number}");
    }
}

// Requirement: 7.19
#[cfg(unix)]
#[tokio::test]
async fn private_folders_that_a_crash_has_left_are_taken_away() {
    let bench = after_a_run().await;
    let place = bench.path(".aime/runs/trip/private");
    let folders = aime_work_tree::PrivateFolders::open(bench.folder.path(), &place, PATH.into()).await.unwrap();
    let begin = async |name: &str| folders.begin(name, &aime_work_tree::Extras::default()).await.unwrap().path().to_owned();
    let (joined, stopped) = (begin("a-1").await, begin("b-1").await);
    std::fs::write(joined.join(".tmp-of-a-person"), "x").unwrap();
    std::fs::remove_file(joined.join(".tmp-of-a-person")).unwrap();
    std::fs::write(stopped.join("kept"), "work that was not joined").unwrap();
    std::fs::create_dir_all(place.join("c-1/new")).unwrap();
    drop(folders);
    let details = |checked: &RunCheck| checked.findings.iter().map(|finding| finding.detail.clone()).collect::<Vec<_>>();
    let found = check(&bench, false).await;
    assert_eq!(details(&found), ["3 private folders are left, and no task uses them"]);
    assert!(joined.exists(), "a look changes nothing");
    assert!(check(&bench, true).await.is_whole());
    assert!(!joined.exists() && !place.join("c-1").exists() && stopped.join("kept").exists());
    assert_eq!(check(&bench, false).await.findings, [], "work that was not joined is no leftover");
}
