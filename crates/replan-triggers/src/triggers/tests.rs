use aime_progress_management::{
    Decision, Evidence, EvidenceKind, PATCH_SCHEMA, Plan, PlanPatch, ProgressEvent, Question, TaskId, TaskSpec, TaskStatus,
};
use serde_json::json;

use super::*;

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

/// Returns a state with tasks `a`, `b` and `c`, which has the group `g` around it; no trigger applies.
fn state() -> ProgressState {
    let plan: Plan = serde_json::from_value(json!({"tasks": [
        TaskSpec::actor(id("a"), "Do a"),
        TaskSpec::actor(id("b"), "Do b"),
        {"id": "g", "kind": "group"},
        {"id": "c", "kind": "actor", "description": "Do c", "parent": "g"},
    ]}))
    .unwrap();
    let mut state = ProgressState::new("p".parse().unwrap(), "goal", at(0));
    state.apply(at(0), &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
    state
}

fn task<'a>(state: &'a mut ProgressState, name: &str) -> &'a mut Task {
    state.tasks.get_mut(&id(name)).unwrap()
}

fn fail(state: &mut ProgressState, name: &str, failures: u32, for_good: bool) {
    let task = task(state, name);
    (task.status, task.failures, task.failed_for_good) = (TaskStatus::Failed, failures, for_good);
    task.reason = Some("it broke".into());
}

fn learn(state: &mut ProgressState, name: &str, significance: Significance) {
    state.evidence.push(Evidence {
        id: name.parse().unwrap(),
        at: at(0),
        task: Some(id("a")),
        kind: EvidenceKind::Discovery,
        significance,
        content: format!("{name} was found"),
        processed: false,
        origins: Vec::new(),
    });
}

fn ask(state: &mut ProgressState) {
    state.questions.push(Question {
        id: "q".parse().unwrap(),
        at: at(0),
        task: None,
        kind: "question".into(),
        question: "which?".into(),
        answer: None,
    });
}

/// `kind@priority: detail` for each reason at the time `now`, in seconds.
fn check(prepare: impl FnOnce(&mut ProgressState), now: i64, budget: Option<(u64, u64)>, settings: &TriggerSettings, expected: &[&str]) {
    let mut state = state();
    prepare(&mut state);
    let budget = budget.map(|(limit, used)| TokenBudget { limit, used });
    let reasons = evaluate(&state, at(now), budget, settings);
    assert_eq!(reasons, evaluate(&state, at(now), budget, settings), "the same input gives the same reasons");
    let shown: Vec<String> = reasons.iter().map(|reason| format!("{:?}@{}: {}", reason.kind, reason.priority, reason.detail)).collect();
    assert_eq!(shown, expected);
}

// Requirement: 6.6
#[test]
fn the_defaults_are_those_of_the_specification() {
    let expected = json!({
        "max_retries": 2, "evidence_significance": "high", "blocked": true, "stall_timeout": 300, "token_budget_threshold": 0.2, "only": []
    });
    assert_eq!(serde_json::to_value(TriggerSettings::default()).unwrap(), expected);
    assert!(serde_json::from_value::<TriggerSettings>(json!({"max_retrys": 3})).is_err(), "a misspelt setting is refused");
}

// Requirement: 6.1
#[test]
fn a_task_that_failed_for_good_fires() {
    let settings = TriggerSettings::default();
    check(|_| {}, 0, None, &settings, &[]);
    check(|state| fail(state, "a", 2, false), 0, None, &settings, &[]);
    check(|state| fail(state, "a", 3, true), 0, None, &settings, &["TaskFailed@90: task a failed 3 times: it broke"]);
    check(|state| fail(state, "a", 1, true), 0, None, &settings, &["TaskFailed@90: task a failed once: it broke"]);
    let again = |state: &mut ProgressState| {
        fail(state, "a", 1, true);
        state.tasks.get_mut("a").unwrap().attempts = 2;
    };
    check(again, 0, None, &settings, &["TaskFailed@90: task a failed again: it broke"]);
    let both = |state: &mut ProgressState| {
        fail(state, "b", 3, true);
        fail(state, "a", 3, true);
    };
    check(both, 0, None, &settings, &["TaskFailed@90: task a failed 3 times: it broke", "TaskFailed@90: task b failed 3 times: it broke"]);
    check(|state| fail(state, "g", 1, true), 0, None, &settings, &[]);
}

// Requirement: 6.1
#[test]
fn retries_are_counted() {
    for (failures, max_retries, retried) in [(1, 2, true), (2, 2, true), (3, 2, false), (1, 0, false)] {
        let mut state = state();
        fail(&mut state, "a", failures, false);
        let settings = TriggerSettings { max_retries, ..TriggerSettings::default() };
        assert_eq!(evaluate(&state, at(0), None, &settings).is_empty(), retried, "{failures} failures, {max_retries} retries");
    }
}

// Requirement: 6.2
#[test]
fn unprocessed_evidence_that_matters_fires() {
    let settings = TriggerSettings::default();
    let medium = TriggerSettings { evidence_significance: Significance::Medium, ..TriggerSettings::default() };
    check(|state| learn(state, "e1", Significance::Medium), 0, None, &settings, &[]);
    check(|state| learn(state, "e1", Significance::Medium), 0, None, &medium, &["Evidence@55: new evidence: e1 was found"]);
    check(|state| learn(state, "e1", Significance::High), 0, None, &settings, &["Evidence@80: new evidence: e1 was found"]);
    let three = |state: &mut ProgressState| {
        learn(state, "e1", Significance::High);
        learn(state, "e2", Significance::Critical);
        learn(state, "e3", Significance::Low);
    };
    check(three, 0, None, &settings, &["Evidence@100: new evidence: e1 was found; e2 was found"]);
    let processed = |state: &mut ProgressState| {
        learn(state, "e1", Significance::Critical);
        state.evidence[0].processed = true;
    };
    check(processed, 0, None, &settings, &[]);
}

// Requirement: 3.23, 6.3
#[test]
fn a_task_that_is_blocked_by_its_dependencies_fires() {
    let block = |held: bool| {
        move |state: &mut ProgressState| {
            let task = task(state, "b");
            (task.status, task.held, task.reason) = (TaskStatus::Blocked, held, Some("a is failed".into()));
        }
    };
    let settings = TriggerSettings::default();
    check(block(false), 0, None, &settings, &["Blocked@70: task b is blocked: a is failed"]);
    check(block(true), 0, None, &settings, &[]);
    check(block(false), 0, None, &TriggerSettings { blocked: false, ..TriggerSettings::default() }, &[]);
}

// Requirement: 6.4
#[test]
fn a_standstill_fires_while_something_runs_and_nobody_is_asked() {
    let run = |state: &mut ProgressState| task(state, "a").status = TaskStatus::Running;
    let settings = TriggerSettings::default();
    check(run, 299, None, &settings, &[]);
    check(run, 300, None, &settings, &["Stalled@50: no progress for 300 s"]);
    check(|_| {}, 1_000, None, &settings, &[]);
    check(|state| task(state, "g").status = TaskStatus::Running, 1_000, None, &settings, &[]);
    check(run, 1_000, None, &TriggerSettings { stall_timeout: 0, ..TriggerSettings::default() }, &[]);
    let asked = |state: &mut ProgressState| {
        run(state);
        ask(state);
    };
    check(asked, 1_000, None, &settings, &[]);
    let answered = |state: &mut ProgressState| {
        asked(state);
        state.questions[0].answer = Some("this".into());
    };
    check(answered, 1_000, None, &settings, &["Stalled@50: no progress for 1000 s"]);
    // The clock went backwards.
    check(run, -1_000, None, &settings, &[]);
}

// Requirement: 6.5
#[test]
fn a_token_budget_that_runs_out_fires_once() {
    let settings = TriggerSettings::default();
    check(|_| {}, 0, Some((1_000, 800)), &settings, &[]);
    check(|_| {}, 0, Some((1_000, 801)), &settings, &["TokenBudget@60: 199 of 1000 tokens are left"]);
    check(|_| {}, 0, Some((1_000, 5_000)), &settings, &["TokenBudget@60: 0 of 1000 tokens are left"]);
    check(|_| {}, 0, Some((0, 0)), &settings, &[]);
    check(|_| {}, 0, Some((1_000, 900)), &TriggerSettings { token_budget_threshold: 0.0, ..TriggerSettings::default() }, &[]);
    let settled = |state: &mut ProgressState| state.tasks.values_mut().for_each(|task| task.status = TaskStatus::Completed);
    check(settled, 0, Some((1_000, 900)), &settings, &[]);
    let decided = |state: &mut ProgressState| {
        let budget = TriggerReason { kind: TriggerKind::TokenBudget, priority: 60, detail: "".into(), tasks: vec![], evidence: vec![] };
        let patch = PlanPatch { schema: PATCH_SCHEMA.into(), reasoning: String::new(), changes: vec![] };
        state.decisions.push(Decision {
            version: 2,
            at: at(0),
            triggers: vec![budget],
            patch,
            evidence: vec![],
            lowered: vec![],
            dropped: vec![],
        });
    };
    check(decided, 0, Some((1_000, 900)), &settings, &[]);
}

// Requirement: 6.6
#[test]
fn all_reasons_are_given_by_their_priority() {
    let everything = |state: &mut ProgressState| {
        task(state, "b").status = TaskStatus::Blocked;
        task(state, "c").status = TaskStatus::Running;
        fail(state, "a", 3, true);
        learn(state, "e1", Significance::Critical);
    };
    let expected = [
        "Evidence@100: new evidence: e1 was found",
        "TaskFailed@90: task a failed 3 times: it broke",
        "Blocked@70: task b is blocked: no reason given",
        "TokenBudget@60: 1 of 10 tokens are left",
        "Stalled@50: no progress for 500 s",
    ];
    check(everything, 500, Some((10, 9)), &TriggerSettings::default(), &expected);
}

// Requirement: 17.6
#[test]
fn triggers_that_are_not_named_do_not_count() {
    let all = |state: &mut ProgressState| {
        fail(state, "a", 3, true);
        learn(state, "e1", Significance::High);
        task(state, "b").status = TaskStatus::Running;
    };
    let only = |kinds: &[TriggerKind]| TriggerSettings { only: kinds.to_vec(), ..TriggerSettings::default() };
    let (failed, evidence, stalled) =
        ("TaskFailed@90: task a failed 3 times: it broke", "Evidence@80: new evidence: e1 was found", "Stalled@50: no progress for 300 s");
    check(all, 300, None, &only(&[]), &[failed, evidence, stalled]);
    check(all, 300, None, &only(&[TriggerKind::Evidence]), &[evidence]);
    check(all, 300, None, &only(&[TriggerKind::Stalled, TriggerKind::TaskFailed]), &[failed, stalled]);
    check(all, 300, None, &only(&[TriggerKind::Blocked]), &[]);
}
