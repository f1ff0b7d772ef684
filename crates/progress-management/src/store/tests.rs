use super::*;
use crate::{TaskStatus, testing::*};

fn run(name: &str) -> RunId {
    name.parse().unwrap()
}

fn started() -> ProgressEvent {
    ProgressEvent::RunStarted { plan_id: "p".parse().unwrap(), goal: "g".into(), images: Vec::new() }
}

// Requirement: 7.4
#[test]
fn a_snapshot_does_not_change_while_the_run_goes_on() {
    let store = LiveStore::new();
    let before = store.apply(&run("r"), at(0), &started()).unwrap();
    let event = ProgressEvent::PlanCreated { plan: plan_of(specs("a"), vec![]), repairs: vec![], fallback: None };
    let after = store.apply(&run("r"), at(1), &event).unwrap();
    assert_eq!((before.version, after.version), (0, 1));
    assert_eq!(store.get(&run("r")), Some(after));
}

#[test]
fn what_does_not_follow_is_refused_and_changes_nothing() {
    let store = LiveStore::new();
    let answered = ProgressEvent::Answered { text: "x".into() };
    assert_eq!(store.apply(&run("r"), at(0), &answered), Err(StoreError::UnknownRun { run: run("r") }));
    assert_eq!(store.get(&run("r")), None);
    let before = store.apply(&run("r"), at(0), &started()).unwrap();
    assert!(matches!(store.apply(&run("r"), at(1), &started()), Err(StoreError::Fold { .. })));
    assert_eq!(store.get(&run("r")), Some(before));
}

#[test]
fn runs_are_listed_inserted_and_removed() {
    let store = LiveStore::new();
    store.insert(run("b"), state("x"));
    store.insert(run("a"), empty_state());
    assert_eq!(store.runs(), [run("a"), run("b")]);
    assert_eq!(store.remove(&run("b")).unwrap().status("x"), TaskStatus::Pending);
    assert_eq!(store.runs(), [run("a")]);
}

// Requirement: 7.4
#[test]
fn many_threads_write_one_run_without_losing_an_event() {
    let store = LiveStore::new();
    store.apply(&run("r"), at(0), &started()).unwrap();
    store.insert(run("r"), state("a"));
    let event = ProgressEvent::ToolCallStarted { task: Some(id("a")), call: "c".into(), tool: "t".into(), parameters: Default::default() };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    store.apply(&run("r"), at(1), &event).unwrap();
                    let seen = store.get(&run("r")).unwrap();
                    assert!(seen.tool_calls >= 1);
                }
            });
        }
    });
    assert_eq!(store.get(&run("r")).unwrap().tool_calls, 800);
}

#[test]
fn events_taken_in_together_leave_what_each_of_them_would() {
    let (one, all) = (LiveStore::new(), LiveStore::new());
    let created = ProgressEvent::PlanCreated { plan: plan_of(specs("a"), vec![]), repairs: vec![], fallback: None };
    let answered = ProgressEvent::Answered { text: "x".into() };
    let none: [(Timestamp, &ProgressEvent); 0] = [];
    assert_eq!(all.apply_all(&run("r"), none), Ok(()));
    assert_eq!(all.apply_all(&run("r"), [(at(0), &answered)]), Err(StoreError::UnknownRun { run: run("r") }));
    let first = [(at(0), started()), (at(1), created)];
    let then = [(at(2), started()), (at(3), answered)];
    all.apply_all(&run("r"), first.iter().map(|(at, event)| (*at, event))).unwrap();
    assert!(matches!(all.apply_all(&run("r"), then.iter().map(|(at, event)| (*at, event))), Err(StoreError::Fold { .. })));
    for (at, event) in first.iter().chain(&then) {
        drop(one.apply(&run("r"), *at, event));
    }
    assert_eq!(all.get(&run("r")), one.get(&run("r")), "what does not follow is left out, and nothing else");
}
