use proptest::prelude::*;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn reason(kind: TriggerKind, priority: u8) -> TriggerReason {
    TriggerReason { kind, priority, detail: "b is blocked".into(), tasks: vec![], evidence: vec![] }
}

fn check(history: (u32, Option<i64>), now: i64, idle: bool, settings: &FrequencySettings, expected: &FrequencyDecision) {
    let history = ReplanHistory { count: history.0, last_at: history.1.map(at) };
    assert_eq!(decide_replan(&[reason(TriggerKind::Blocked, 70)], history, at(now), idle, settings), *expected, "{history:?} at {now}");
}

fn wait(until: i64, reason: &str) -> FrequencyDecision {
    FrequencyDecision::Wait { until: at(until), reason: reason.into() }
}

#[test]
fn the_defaults_are_those_of_the_specification() {
    let expected = serde_json::json!({
        "max_replans_per_plan": 3, "cooldown_seconds": 60, "escalation_threshold": 3, "cooldown_when_idle": false
    });
    assert_eq!(serde_json::to_value(FrequencySettings::default()).unwrap(), expected);
}

// Requirement: 6.7
#[test]
fn replans_keep_their_distance_while_work_goes_on() {
    let settings = FrequencySettings::default();
    check((0, None), 0, false, &settings, &FrequencyDecision::Allow);
    check((1, Some(0)), 10, false, &settings, &wait(60, "the last replan was 10 s ago; the next is allowed in 50 s"));
    check((1, Some(0)), 59, false, &settings, &wait(60, "the last replan was 59 s ago; the next is allowed in 1 s"));
    check((1, Some(0)), 60, false, &settings, &FrequencyDecision::Allow);
    check((2, Some(100)), 90, false, &settings, &wait(160, "the last replan was 0 s ago; the next is allowed in 70 s"));
    let none = FrequencySettings { cooldown_seconds: 0, ..FrequencySettings::default() };
    check((1, Some(0)), 0, false, &none, &FrequencyDecision::Allow);
}

// Requirement: 6.7
#[test]
fn an_idle_run_does_not_wait_unless_it_is_set() {
    let settings = FrequencySettings::default();
    check((1, Some(0)), 10, true, &settings, &FrequencyDecision::Allow);
    let strict = FrequencySettings { cooldown_when_idle: true, ..settings };
    check((1, Some(0)), 10, true, &strict, &wait(60, "the last replan was 10 s ago; the next is allowed in 50 s"));
}

// Requirement: 6.8
#[test]
fn beyond_the_cap_a_person_decides() {
    let settings = FrequencySettings::default();
    let escalate = |reason: &str| FrequencyDecision::Escalate { reason: reason.into() };
    check((3, Some(0)), 500, false, &settings, &escalate("the plan was changed 3 times, 3 allowed, and there is still: b is blocked"));
    check((3, Some(0)), 500, true, &settings, &escalate("the plan was changed 3 times, 3 allowed, and there is still: b is blocked"));
    let earlier = FrequencySettings { escalation_threshold: 1, ..FrequencySettings::default() };
    check((1, Some(0)), 500, false, &earlier, &escalate("the plan was changed once, 1 allowed, and there is still: b is blocked"));
    let later = FrequencySettings { escalation_threshold: 9, ..FrequencySettings::default() };
    check((3, Some(0)), 500, false, &later, &escalate("the plan was changed 3 times, 3 allowed, and there is still: b is blocked"));
}

// Requirement: 6.10
#[test]
fn critical_evidence_waits_for_the_end_of_the_cooldown_and_is_not_lost() {
    let settings = FrequencySettings::default();
    let history = ReplanHistory { count: 1, last_at: Some(at(0)) };
    let reasons = [reason(TriggerKind::Evidence, 100)];
    assert!(matches!(decide_replan(&reasons, history, at(5), false, &settings), FrequencyDecision::Wait { until, .. } if until == at(60)));
    assert_eq!(decide_replan(&reasons, history, at(60), false, &settings), FrequencyDecision::Allow);
}

#[test]
fn what_a_person_asks_for_is_allowed() {
    let reasons = [reason(TriggerKind::Blocked, 70), reason(TriggerKind::Person, 100)];
    let history = ReplanHistory { count: 9, last_at: Some(at(0)) };
    assert_eq!(decide_replan(&reasons, history, at(0), false, &FrequencySettings::default()), FrequencyDecision::Allow);
}

proptest! {
    // Requirement: 6.7
    #[test]
    fn the_cap_and_the_cooldown_hold_over_any_course(
        steps in prop::collection::vec((0..100_i64, any::<bool>()), 0..60),
        max_replans_per_plan in 0..5_u32,
        escalation_threshold in 0..5_u32,
        cooldown_seconds in 0..90_u64,
        cooldown_when_idle in any::<bool>(),
    ) {
        let settings = FrequencySettings { max_replans_per_plan, cooldown_seconds, escalation_threshold, cooldown_when_idle };
        let mut history = ReplanHistory::default();
        let mut now = 0;
        for (pause, idle) in steps {
            now += pause;
            match decide_replan(&[reason(TriggerKind::Stalled, 50)], history, at(now), idle, &settings) {
                FrequencyDecision::Allow => {
                    let is_cooled_down = history.last_at.is_none_or(|last| at(now).millis_since(last) >= cooldown_seconds * 1_000);
                    prop_assert!(is_cooled_down || (idle && !cooldown_when_idle));
                    history = ReplanHistory { count: history.count + 1, last_at: Some(at(now)) };
                }
                FrequencyDecision::Wait { until, .. } => {
                    prop_assert!(until > at(now));
                    let then = decide_replan(&[reason(TriggerKind::Stalled, 50)], history, until, idle, &settings);
                    prop_assert_eq!(then, FrequencyDecision::Allow, "what waited is allowed at the end of its wait");
                }
                FrequencyDecision::Escalate { .. } => prop_assert!(history.count >= max_replans_per_plan.min(escalation_threshold)),
            }
            prop_assert!(history.count <= max_replans_per_plan.min(escalation_threshold));
        }
    }
}
