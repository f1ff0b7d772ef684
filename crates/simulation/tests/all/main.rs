//! Plays some hundred runs and cuts of each kind. `cargo xtask reliability` plays many more.
#![cfg(test)]

use std::sync::atomic::{AtomicU64, Ordering};

use aime_simulation::{Long, Scenario, Stage, Story, cuts_of, play, uncut};

/// Plays on two threads. The first fault fails the test, with the command that plays the run again.
fn on_two_threads(count: u64, one: impl Fn(&Stage, u64) -> Vec<Story> + Sync) -> Vec<Story> {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let work = || {
            let (stage, mut stories) = (Stage::new().unwrap(), Vec::new());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return stories;
                }
                for mut story in one(&stage, number) {
                    assert!(story.faults.is_empty(), "{}: {:#?}", story.command(), story.faults);
                    story.record.clear();
                    stories.push(story);
                }
            }
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

// Requirement: 7.13, 7.20
#[test]
fn whatever_goes_wrong_every_run_is_sound_and_ends() {
    let stories = on_two_threads(WILD, |stage, seed| vec![play(stage, Scenario::wild(seed), None)]);
    let ends: std::collections::BTreeSet<&str> = stories.iter().map(|story| story.end.as_str()).collect();
    assert!(ends.len() >= 4, "too few kinds of ends to show anything: {ends:?}");
    let (deaths, in_doubt) = stories.iter().fold((0, 0), |(deaths, doubt), story| (deaths + story.deaths, doubt + story.in_doubt));
    assert!(deaths > WILD / 4 && in_doubt > 0, "{deaths} deaths, {in_doubt} calls in doubt");
    let snapshots: u32 = stories.iter().map(|story| story.snapshots).sum();
    assert!(snapshots > 10, "{snapshots} lives went on from a snapshot");
}

/// Number of runs with faults.
const WILD: u64 = 150;

/// Regression: an actor died after making a call that the run had not recorded; then its task was cancelled before the actor was resumed.
#[test]
fn a_call_of_which_the_run_has_not_heard_is_told_when_its_task_is_given_up() {
    let story = play(&Stage::new().unwrap(), Scenario::wild(2_001_476), None);
    assert!(story.faults.is_empty() && story.end == "cancelled", "{}: {:#?}", story.end, story.faults);
}

/// Regression: a call that "always" for another one had allowed was cancelled, because its own question was still open.
#[test]
fn a_call_is_not_cut_off_for_a_question_that_a_wider_consent_has_answered() {
    let story = play(&Stage::new().unwrap(), Scenario::wild(5_002_170), None);
    assert!(story.faults.is_empty(), "{}: {:#?}", story.end, story.faults);
}

/// Regression: an attempt that was cancelled before it began counted as an actor of the run, but not for actors that delegate.
#[test]
fn an_attempt_that_never_began_uses_no_actor_up() {
    let story = play(&Stage::new().unwrap(), Scenario::wild(53_005_628), None);
    assert!(story.faults.is_empty() && story.end == "model_unavailable", "{}: {:#?}", story.end, story.faults);
}

#[test]
fn a_seed_gives_the_same_run_again() {
    let (one, other) = (Stage::new().unwrap(), Stage::new().unwrap());
    for seed in 0..8 {
        let first = play(&one, Scenario::wild(seed), None);
        let again = play(&other, Scenario::wild(seed), None);
        assert!(first.record.len() > 2, "{}", first.end);
        assert_eq!((first.record, first.moments), (again.record, again.moments), "seed {seed}");
    }
}

// Requirement: 7.13
#[test]
fn a_run_cut_at_any_write_or_effect_ends_as_one_that_was_not() {
    let stories = on_two_threads(6, |stage, seed| {
        let whole = uncut(stage, seed);
        assert_eq!((whole.lives, whole.deaths, whole.end.as_str()), (1, 0, "completed"));
        // Each run begins with another offset, so that together they meet every kind of moment in every way.
        cuts_of(&whole).into_iter().skip(seed as usize).step_by(13).map(|(_, cut)| whole.cut(stage, cut)).collect()
    });
    assert!(stories.len() > 60, "{} cuts", stories.len());
    let in_doubt = stories.iter().filter(|story| story.in_doubt > 0).count();
    assert!(in_doubt > 0 && in_doubt < stories.len() / 2, "{in_doubt} of {}", stories.len());
}

#[test]
fn a_run_whose_first_writes_fail_is_begun_again() {
    // Regression: each of these seeds had a run that could neither be started nor resumed.
    let stage = Stage::new().unwrap();
    for seed in [26, 79, 147] {
        let story = play(&stage, Scenario::wild(seed), None);
        assert!(story.faults.is_empty(), "{}: {:#?}", story.command(), story.faults);
    }
}

// Requirement: 7.14
#[test]
fn a_call_whose_end_could_not_be_written_is_not_made_again() {
    // Regression: with each of these seeds the disk refused the result of an actor's call, and another attempt repeated the call without a
    // report.
    let stage = Stage::new().unwrap();
    for seed in [54, 98, 107] {
        let story = play(&stage, Scenario::wild(seed), None);
        assert!(story.faults.is_empty(), "{}: {:#?}", story.command(), story.faults);
    }
}

// Requirement: 10.6
#[test]
fn an_actor_that_was_begun_and_not_heard_of_counts() {
    // Regression: a disk failed between the journal of a delegated actor and the run's, and a resume had one actor more than allowed.
    let stage = Stage::new().unwrap();
    let story = play(&stage, Scenario::wild(3_283), None);
    assert!(story.faults.is_empty(), "{}: {:#?}", story.command(), story.faults);
}

/// `cargo xtask reliability --long` plays a run of 10,000 tasks and 1,000,000 events.
// Requirement: 7.20
#[test]
fn a_long_run_is_cut_off_in_the_middle_and_loses_nothing() {
    let story = Long { tasks: 40, events: 3_000 }.play().unwrap();
    assert_eq!(story.faults, Vec::<String>::new());
    assert_eq!(story.completed, 40);
    assert!(story.events >= 3_000 && story.replayed >= 1_000, "{story}");
}

#[test]
fn snapshots_are_taken_of_runs_whose_clock_was_set_back() {
    let stage = Stage::new().unwrap();
    for seed in [4_898, 5_337] {
        let story = play(&stage, Scenario::wild(seed), None);
        assert!(story.faults.is_empty(), "{}: {:#?}", story.command(), story.faults);
    }
}
