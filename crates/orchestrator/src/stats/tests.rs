//! Effect of the events of a run on the statistics.

use serde_json::{Value, json};

use super::*;

/// Returns the counts of a run that began at 1,000, with these events and their times.
fn counted(events: &[(i64, Value)]) -> PlanningMetrics {
    let mut counted = RunCounters::new(Timestamp::from_millis(1_000));
    for (seq, (at, body)) in (1..).zip(events) {
        counted.record(&EventRecord { seq, at: *at, version: 1, body: body.to_string() }).unwrap();
    }
    let mut stats = RunStats::default();
    counted.add_to(&mut stats);
    stats.metrics
}

fn asked(purpose: &str) -> Value {
    json!({"type": "planning_started", "purpose": purpose})
}

fn made(fallback: Option<&str>) -> Value {
    json!({"type": "plan_created", "plan": {"tasks": [{"id": "a", "kind": "actor", "description": "x"}]}, "fallback": fallback})
}

fn turned(from: &str, to: &str) -> Value {
    json!({"type": "run_status_changed", "from": from, "to": to})
}

fn answered() -> Value {
    json!({"type": "answered", "text": "done"})
}

fn continued() -> Value {
    json!({"type": "run_continued", "goal": "more"})
}

// Requirement: 3.52
#[test]
fn each_run_counts_for_what_it_came_to() {
    let reused = json!({"type": "plan_reused", "run": "before"});
    let unknown = json!({"type": "of_a_later_version", "plan": 7});
    let completed = turned("executing", "completed");
    // asked, made, milliseconds, reused, executed, succeeded
    let cases = [
        (vec![], [0, 0, 0, 0, 0, 0]),
        (vec![(1_000, asked("plan")), (1_250, made(None)), (1_300, answered()), (1_300, completed.clone())], [1, 1, 250, 0, 1, 1]),
        (
            vec![(1_000, asked("plan")), (1_250, made(Some("simplified"))), (1_300, turned("executing", "failed")), (1_300, answered())],
            [1, 0, 250, 0, 1, 0],
        ),
        // No plan at all.
        (vec![(1_000, asked("plan")), (1_400, answered()), (1_400, turned("planning", "failed"))], [1, 0, 400, 0, 0, 0]),
        // In progress or left: not executed yet.
        (vec![(1_000, asked("plan")), (1_250, made(None)), (1_300, unknown)], [1, 1, 250, 0, 0, 0]),
        // No model could be reached; the run was resumed and planned then.
        (vec![(1_000, asked("plan")), (9_000, asked("plan")), (9_100, made(None))], [1, 1, 100, 0, 0, 0]),
        (
            vec![(1_000, asked("plan")), (1_001, reused), (1_001, made(None)), (1_300, answered()), (1_300, completed.clone())],
            [0, 0, 0, 1, 1, 1],
        ),
        // Handed over; patches are no plans.
        (vec![(1_000, made(None)), (1_100, asked("patch")), (1_300, answered()), (1_300, completed.clone())], [0, 0, 0, 0, 1, 1]),
        // A fork: the original run had planned.
        (vec![(100, asked("plan")), (200, made(None)), (1_300, answered()), (1_300, completed.clone())], [0, 0, 0, 0, 1, 1]),
        // A fork in progress of a run that had ended and gone on.
        (vec![(200, made(None)), (300, answered()), (300, completed.clone()), (1_100, asked("patch"))], [0, 0, 0, 0, 0, 0]),
        // A follow-up in progress, and one that has ended.
        (vec![(1_000, made(None)), (1_300, answered()), (1_300, completed.clone()), (1_400, continued())], [0, 0, 0, 0, 0, 0]),
        (vec![(1_000, made(None)), (1_300, answered()), (1_400, continued()), (1_500, answered()), (1_500, completed)], [0, 0, 0, 0, 1, 1]),
    ];
    for (events, [asked, made, planning_ms, reused, executed, succeeded]) in cases {
        assert_eq!(counted(&events), PlanningMetrics { asked, made, planning_ms, reused, executed, succeeded }, "{events:#?}");
    }
}
