use aime_progress_management::{Plan, ProgressEvent, TaskId, TaskSpec, TaskStatus};

use super::*;
use crate::{FrequencyDecision, decide_replan, evaluate};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn state(running: bool) -> ProgressState {
    let task = TaskSpec::actor(TaskId::new("a").unwrap(), "Do a");
    let plan: Plan = serde_json::from_value(serde_json::json!({ "tasks": [task] })).unwrap();
    let mut state = ProgressState::new("p".parse().unwrap(), "goal", at(0));
    state.apply(at(10), &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
    if running {
        state.tasks[0].status = TaskStatus::Running;
    }
    state
}

#[test]
fn the_deadline_is_the_next_time_at_which_something_may_change() {
    let cases = [
        // running, replans, the last one, now, the deadline
        (false, 0, None, 0, None),
        (true, 0, None, 20, Some(310)),
        (true, 0, None, 310, None),
        (false, 1, Some(100), 120, Some(160)),
        (true, 1, Some(100), 120, Some(160)),
        (true, 1, Some(100), 170, Some(310)),
        // Beyond the cap the end of the cooldown changes nothing.
        (true, 3, Some(100), 120, Some(310)),
        (false, 3, Some(100), 120, None),
    ];
    for (running, count, last, now, expected) in cases {
        let history = ReplanHistory { count, last_at: last.map(at) };
        let deadline = next_deadline(&state(running), history, at(now), &TriggerSettings::default(), &FrequencySettings::default());
        assert_eq!(deadline, expected.map(at), "{running} {count} {last:?} {now}");
    }
}

#[test]
fn at_the_deadline_the_verdict_does_change() {
    let (state, triggers, frequency) = (state(true), TriggerSettings::default(), FrequencySettings::default());
    let history = ReplanHistory { count: 1, last_at: Some(at(290)) };
    let cooldown_over = next_deadline(&state, history, at(320), &triggers, &frequency).unwrap();
    let reasons = evaluate(&state, at(320), None, &triggers);
    assert_eq!(reasons.len(), 1);
    assert!(
        matches!(decide_replan(&reasons, history, at(320), false, &frequency), FrequencyDecision::Wait { until, .. } if until == cooldown_over)
    );
    assert_eq!(decide_replan(&reasons, history, cooldown_over, false, &frequency), FrequencyDecision::Allow);

    let stalled = next_deadline(&state, ReplanHistory::default(), at(20), &triggers, &frequency).unwrap();
    assert!(evaluate(&state, Timestamp::from_millis(stalled.as_millis() - 1), None, &triggers).is_empty());
    assert_eq!(evaluate(&state, stalled, None, &triggers).len(), 1);
}
