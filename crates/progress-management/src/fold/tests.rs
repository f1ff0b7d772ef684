use serde_json::json;

use super::*;
use crate::{
    Conclusion, Decision, Evidence, EvidenceKind, Outcome, PlanMode, ProgressReport, Significance, TodoItem, TodoStatus, TriggerKind,
    TriggerReason, testing::*,
};

fn status(task: &str, from: TaskStatus, to: TaskStatus, attempt: u32) -> ProgressEvent {
    ProgressEvent::TaskStatusChanged { task: id(task), from, to, attempt, for_good: false, reason: None }
}

fn evidence(name: &str) -> Evidence {
    Evidence {
        id: name.parse().unwrap(),
        at: at(1),
        task: None,
        kind: EvidenceKind::Discovery,
        significance: Significance::High,
        content: "found".into(),
        processed: false,
        origins: Vec::new(),
    }
}

fn trigger() -> TriggerReason {
    TriggerReason { kind: TriggerKind::Evidence, priority: 80, detail: "found".into(), tasks: vec![], evidence: vec![] }
}

/// Applies the event at the time 100 and returns the new state.
fn after(mut state: ProgressState, event: &ProgressEvent) -> Result<ProgressState, FoldError> {
    let before = state.clone();
    match state.apply(at(100), event) {
        Ok(()) => Ok(state),
        Err(error) => {
            assert_eq!(state, before, "a refused event changes nothing");
            Err(error)
        }
    }
}

#[test]
fn a_run_begins_with_its_start() {
    let started = ProgressEvent::RunStarted { plan_id: "p".parse().unwrap(), goal: "g".into(), images: Vec::new() };
    let state = ProgressState::start(at(7), &started).unwrap();
    assert_eq!((state.plan_id.as_str(), state.goal.as_str(), state.status, state.version), ("p", "g", RunStatus::Planning, 0));
    assert_eq!((state.started_at, state.last_progress_at), (at(7), at(7)));
    assert_eq!(after(state, &started), Err(FoldError::AlreadyStarted));
    assert_eq!(ProgressState::start(at(7), &ProgressEvent::RunResumed {}), Err(FoldError::NotStarted { found: "run_resumed" }));
    assert_eq!(fold(&[]), Err(FoldError::NotStarted { found: "nothing" }));
}

// Requirement: 3.21
#[test]
fn a_task_keeps_count_of_what_happens_to_it() {
    use TaskStatus::{Completed, Failed, Pending, Ready, Running};
    let mut state = state("a");
    let task = |state: &ProgressState| state.tasks[&id("a")].clone();
    state.apply(at(2), &status("a", Pending, Ready, 0)).unwrap();
    state.apply(at(3), &status("a", Ready, Running, 1)).unwrap();
    assert_eq!((task(&state).attempts, task(&state).started_at, task(&state).finished_at), (1, Some(at(3)), None));
    let call = ProgressEvent::ToolCallStarted {
        task: Some(id("a")),
        call: "c1".into(),
        tool: "bash".into(),
        parameters: parameters(json!({"n": 1, "command": "\nls -l\nrm x"})),
    };
    state.apply(at(4), &call).unwrap();
    assert_eq!((task(&state).activity.as_deref(), state.tool_calls), (Some("bash: ls -l"), 1));
    let failure = ProgressEvent::TaskStatusChanged {
        task: id("a"),
        from: Running,
        to: Failed,
        attempt: 1,
        for_good: false,
        reason: Some("why".into()),
    };
    state.apply(at(5), &failure).unwrap();
    let failed = task(&state);
    assert_eq!((failed.failures, failed.failed_for_good, failed.activity, failed.finished_at), (1, false, None, Some(at(5))));
    assert_eq!(failed.reason.as_ref().map(ToString::to_string).as_deref(), Some("why"));
    state.apply(at(6), &status("a", Failed, Pending, 1)).unwrap();
    assert_eq!((task(&state).failures, task(&state).reason), (1, None));
    state.apply(at(7), &status("a", Pending, Ready, 1)).unwrap();
    state.apply(at(8), &status("a", Ready, Running, 2)).unwrap();
    // An interruption still counts the attempt.
    state.apply(at(9), &status("a", Running, Pending, 2)).unwrap();
    state.apply(at(10), &status("a", Pending, Ready, 2)).unwrap();
    state.apply(at(11), &status("a", Ready, Running, 3)).unwrap();
    let conclusion = Conclusion { references: vec!["x.md".into()], ..conclusion(Outcome::Success, "did it", None) };
    state.apply(at(12), &ProgressEvent::TaskConcluded { task: id("a"), conclusion: conclusion.clone() }).unwrap();
    state.apply(at(13), &status("a", Running, Completed, 3)).unwrap();
    let done = task(&state);
    assert_eq!((done.attempts, done.failures, done.started_at, done.finished_at), (3, 1, Some(at(11)), Some(at(13))));
    assert_eq!(done.conclusion, Some(conclusion));
    assert_eq!(state.last_progress_at, at(13));
    assert_eq!(state.inconsistencies(), []);
}

// Requirement: 4.1
#[test]
fn a_task_keeps_the_spec_of_its_actor() {
    let spec = json!({
        "actor": "a-1",
        "name": "poet: a",
        "description": "Writes verse.",
        "profile": "poet",
        "model": "m",
        "tools": ["write_file"],
        "skills": ["rhyme"],
        "inline_skills": {"rhyme": "Rhyme every second line."},
        "effort": "high",
        "temperature": 0.2,
        "max_steps": 9,
        "created_at": 5,
        "reasons": ["the task names it"],
    });
    let old = json!({"actor": "a-1", "profile": "poet", "model": "m", "tools": [], "max_steps": 9, "reasons": ["the task names it"]});
    for spec in [spec, old] {
        let mut event = json!({"type": "actor_created", "task": "a"});
        event.as_object_mut().unwrap().extend(parameters(spec.clone()));
        let event: ProgressEvent = serde_json::from_value(event).unwrap();
        let state = after(state("a"), &event).unwrap();
        assert_eq!(serde_json::to_value(&state.tasks[&id("a")].actor).unwrap(), spec);
    }
}

// Requirement: 3.20
#[test]
fn illegal_changes_of_status_are_refused() {
    use TaskStatus::{Pending, Ready, Running};
    let state = state("a");
    let illegal = after(state.clone(), &status("a", Pending, Running, 1)).unwrap_err();
    assert_eq!(
        illegal.to_string(),
        "task \"a\": a task cannot go from pending to running: from pending it can become ready, blocked, skipped"
    );
    let mismatch = after(state.clone(), &status("a", Ready, Running, 1)).unwrap_err();
    assert_eq!(mismatch.to_string(), "task \"a\" is pending, but the event expects ready");
    let unknown = after(state, &status("zz", Pending, Ready, 0)).unwrap_err();
    assert_eq!(unknown.to_string(), "the plan has no task \"zz\"");
}

#[test]
fn calls_of_unknown_tasks_are_refused() {
    let started =
        ProgressEvent::ToolCallStarted { task: Some(id("a")), call: "c".into(), tool: "t".into(), parameters: parameters(json!({})) };
    let outcome = crate::CallOutcome::Ok;
    let (task, call, tool) = (Some(id("a")), "c".into(), "t".into());
    let finished = ProgressEvent::ToolCallFinished { task, call, tool, outcome, output: String::new(), origin: None, duration_ms: 1 };
    for event in [started, finished] {
        for given in [empty_state(), state("b")] {
            assert_eq!(after(given, &event).unwrap_err().to_string(), "the plan has no task \"a\"");
        }
    }
}

// Requirement: 1.3
#[test]
fn plans_come_in_order_of_their_versions() {
    let plan = plan_of(specs("a"), vec![]);
    let created = ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None };
    let decision = |version| ProgressEvent::PlanChanged {
        decision: Decision {
            version,
            at: at(1),
            triggers: vec![],
            patch: patch_of(vec![]),
            evidence: vec![],
            lowered: vec![],
            dropped: vec![],
        },
    };
    assert_eq!(after(empty_state(), &decision(1)).unwrap_err(), FoldError::VersionGap { current: 0, found: 1 });
    let state = after(empty_state(), &created).unwrap();
    assert_eq!(after(state.clone(), &created).unwrap_err(), FoldError::VersionGap { current: 1, found: 1 });
    assert_eq!(after(state.clone(), &decision(3)).unwrap_err().to_string(), "the plan has version 1; the next is 2, not 3");
    assert_eq!(after(state, &decision(2)).unwrap().version, 2);
    let bad = ProgressEvent::PlanCreated { plan: plan_of(specs("a: b"), vec![]), repairs: vec![], fallback: None };
    assert!(after(empty_state(), &bad).unwrap_err().to_string().contains("tasks[0].dependencies[0]: unknown task \"b\""));
}

// Requirement: 3.30, 6.11
#[test]
fn a_replan_is_remembered_with_its_evidence() {
    let state = after(state("a"), &ProgressEvent::EvidenceAdded { evidence: evidence("e1") }).unwrap();
    let decide = |evidence: &str, triggers| ProgressEvent::PlanChanged {
        decision: Decision {
            version: 2,
            at: at(1),
            triggers,
            patch: patch_of(vec![]),
            evidence: vec![evidence.parse().unwrap()],
            lowered: vec![],
            dropped: vec![],
        },
    };
    assert!(matches!(after(state.clone(), &decide("e2", vec![])), Err(FoldError::UnknownEvidence { .. })));
    let replanned = after(state.clone(), &decide("e1", vec![trigger()])).unwrap();
    assert!(replanned.evidence[0].processed);
    assert_eq!((replanned.last_replan_at, replanned.decisions.len()), (Some(at(100)), 1));
    let grown = after(state, &decide("e1", vec![])).unwrap();
    assert_eq!(grown.last_replan_at, None, "growing a plan is no replan");
}

#[test]
fn evidence_and_questions_are_unique_and_known() {
    let state = state("a");
    let added = ProgressEvent::EvidenceAdded { evidence: evidence("e1") };
    let state = after(state, &added).unwrap();
    assert!(matches!(after(state.clone(), &added), Err(FoldError::DuplicateEvidence { .. })));
    let processed = |name: &str| ProgressEvent::EvidenceProcessed { evidence: vec![name.parse().unwrap()], reason: "".into() };
    assert!(matches!(after(state.clone(), &processed("e2")), Err(FoldError::UnknownEvidence { .. })));
    let state = after(state, &processed("e1")).unwrap();
    assert!(state.evidence[0].processed);
    assert_ne!(state.last_progress_at, at(100), "looking at evidence is no progress");

    let asked =
        ProgressEvent::QuestionAsked { id: "q1".parse().unwrap(), task: Some(id("a")), kind: "question".into(), question: "which?".into() };
    let state = after(state, &asked).unwrap();
    assert!(matches!(after(state.clone(), &asked), Err(FoldError::DuplicateQuestion { .. })));
    let answer = |name: &str| ProgressEvent::QuestionAnswered { id: name.parse().unwrap(), answer: "this".into() };
    assert!(matches!(after(state.clone(), &answer("q2")), Err(FoldError::UnknownQuestion { .. })));
    let state = after(state, &answer("q1")).unwrap();
    assert_eq!((state.questions[0].answer.as_deref(), state.last_progress_at), (Some("this"), at(100)));
    assert!(matches!(after(state, &answer("q1")), Err(FoldError::AlreadyAnswered { .. })));
}

#[test]
fn what_moves_the_run_is_progress_and_the_rest_is_not() {
    let task = || id("a");
    let spent = ModelCost {
        requests: 1,
        input_tokens: 10,
        cached_input_tokens: 4,
        cache_write_tokens: 2,
        output_tokens: 3,
        reasoning_tokens: 1,
        cost_usd: 0.5,
    };
    let call = |task| ProgressEvent::ModelCalled {
        task,
        purpose: "act".into(),
        model: "m".into(),
        effort: None,
        spent,
        duration_ms: 1,
        text: String::new(),
        finish: None,
    };
    let finished = ProgressEvent::ToolCallFinished {
        task: Some(task()),
        call: "c".into(),
        tool: "t".into(),
        outcome: crate::CallOutcome::Ok,
        output: String::new(),
        origin: None,
        duration_ms: 1,
    };
    let report = ProgressReport { status: "50%".into(), message: "half".into() };
    let item = TodoItem { id: "1".into(), text: "t".into(), status: TodoStatus::Pending, active_form: None };
    let checked = ProgressEvent::CriterionChecked {
        task: Some(task()),
        criterion: "it is done".into(),
        owner: crate::Owner::default(),
        how: crate::CheckMethod::default(),
        passed: Some(false),
        reason: "".into(),
        changes: None,
        duration_ms: 1,
    };
    let moving = [
        call(None),
        call(Some(task())),
        finished,
        ProgressEvent::ProgressReported { task: Some(task()), report },
        checked,
        ProgressEvent::RunStatusChanged { from: RunStatus::Planning, to: RunStatus::Executing, reason: None },
        ProgressEvent::RunResumed {},
        ProgressEvent::RunContinued { goal: "more".into() },
    ];
    for event in moving {
        assert_eq!(after(state("a"), &event).unwrap().last_progress_at, at(100), "{}", event.name());
    }
    let still = [
        ProgressEvent::TodosChanged { task: task(), items: vec![item] },
        ProgressEvent::PlanningStarted { purpose: "plan".into() },
        ProgressEvent::PlanRefused { attempt: 1, faults: vec![] },
        ProgressEvent::TriggersFired { reasons: vec![] },
        ProgressEvent::ReplanSuppressed { reason: "".into(), triggers: vec![] },
        ProgressEvent::RunInterrupted { reason: "".into() },
        ProgressEvent::BoundReached { bound: "tokens".into(), detail: "".into() },
        ProgressEvent::ActorNudged { task: Some(task()), kind: "stuck".into(), text: String::new() },
        ProgressEvent::HistoryCompacted { task: Some(task()), tokens_before: 2, tokens_after: 1 },
        ProgressEvent::Answered { text: "yes".into() },
    ];
    for event in still {
        assert_eq!(after(state("a"), &event).unwrap().last_progress_at, at(1), "{}", event.name());
    }
    let state = after(after(state("a"), &call(None)).unwrap(), &call(Some(task()))).unwrap();
    assert_eq!(
        state.spent,
        ModelCost {
            requests: 2,
            input_tokens: 20,
            cached_input_tokens: 8,
            cache_write_tokens: 4,
            output_tokens: 6,
            reasoning_tokens: 2,
            cost_usd: 1.0
        }
    );
}

#[test]
fn what_is_said_of_the_run_is_kept() {
    let routed =
        ProgressEvent::Routed { mode: PlanMode::Simple, by: "rules".into(), score: Some(-1), category: "coding".into(), reasons: vec![] };
    let state = after(state("a"), &routed).unwrap();
    assert_eq!((state.mode, state.category.as_str()), (Some(PlanMode::Simple), "coding"));
    let wrong = ProgressEvent::RunStatusChanged { from: RunStatus::Executing, to: RunStatus::Failed, reason: None };
    let error = after(state.clone(), &wrong).unwrap_err();
    assert_eq!(error.to_string(), "the run is planning, but the event expects executing");
    assert_eq!(after(state, &ProgressEvent::Answered { text: "42".into() }).unwrap().answer.as_deref(), Some("42"));
}

// Requirement: 1.10
#[test]
fn each_turn_keeps_its_goal_and_its_answer() {
    let mut state = state("a");
    for (at_ms, event) in [
        (2, ProgressEvent::Answered { text: "clean".into() }),
        (3, ProgressEvent::RunContinued { goal: "dry them".into() }),
        (4, ProgressEvent::RunContinued { goal: "put them away".into() }),
    ] {
        state.apply(at(at_ms), &event).unwrap();
    }
    assert_eq!(state.answer, None, "the answer to an earlier goal is none to this one");
    state.apply(at(5), &ProgressEvent::Answered { text: "away".into() }).unwrap();
    let turns: Vec<_> = state.turns.iter().map(|turn| (turn.goal.as_str(), turn.started_at, turn.answer.as_deref())).collect();
    let first = (state.goal.as_str(), state.started_at, Some("clean"));
    assert_eq!(turns, [first, ("dry them", at(3), None), ("put them away", at(4), Some("away"))]);
    assert_eq!(state.answer.as_deref(), Some("away"));
}

#[test]
fn a_fold_says_which_event_does_not_follow() {
    let events = [
        TimedEvent { at: at(0), event: ProgressEvent::RunStarted { plan_id: "p".parse().unwrap(), goal: "g".into(), images: Vec::new() } },
        TimedEvent { at: at(1), event: ProgressEvent::RunResumed {} },
        TimedEvent { at: at(2), event: status("a", TaskStatus::Pending, TaskStatus::Ready, 0) },
    ];
    let error = fold(&events).unwrap_err();
    assert_eq!(error.to_string(), "event 2 (task_status_changed) does not follow from those before it");
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "the plan has no task \"a\"");
}

#[test]
fn events_name_themselves_as_they_are_written() {
    let events = [
        ProgressEvent::RunResumed {},
        ProgressEvent::Answered { text: String::new() },
        status("a", TaskStatus::Pending, TaskStatus::Ready, 0),
        ProgressEvent::LeadGaveUp {},
        ProgressEvent::EvidenceAdded { evidence: evidence("e") },
    ];
    for event in events {
        assert_eq!(serde_json::to_value(&event).unwrap()["type"], event.name());
    }
}
