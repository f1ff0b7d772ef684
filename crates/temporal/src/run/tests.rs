//! Tests which facts resume a suspended run, and its first facts then.

use aime_orchestrator::{Bounds, FailureCode, RunFailure, RunOutput};
use aime_progress_management::{ConflictKind, EvidenceId, MergeConflict, PlanId, QuestionId, RunStatus};

use super::{lead::seek_timeout, suspended::resume_facts, *};
use crate::resumes_run;

fn resumed(bounds: Option<Bounds>) -> RunFact {
    RunFact::Resumed { bounds }
}

fn answer() -> RunFact {
    RunFact::PersonAnswered { question: None, text: "yes".to_owned() }
}

fn message(id: &str) -> RunFact {
    RunFact::PersonSaid { id: EvidenceId::new(id).unwrap(), task: None, text: id.to_owned() }
}

fn stop() -> RunFact {
    RunFact::StopRequested { reason: "paused".into() }
}

fn cancelled_task() -> RunFact {
    RunFact::CancelRequested { task: Some(TaskId::new("a").unwrap()), reason: "no".into(), message: None }
}

/// A run with a place but without a planner begins as soon as any other.
#[test]
fn a_lead_is_sought_for_a_minute_at_most() {
    let placed = |lost_after_s| Queues { place: Some("build-7".to_owned()), lost_after_s, ..Queues::default() };
    for (queues, seconds) in [(Queues::default(), 60), (placed(None), 60), (placed(Some(900)), 60), (placed(Some(5)), 5)] {
        assert_eq!(seek_timeout(&queues), Duration::from_secs(seconds), "{queues:?}");
    }
}

#[test]
fn who_answers_a_run_that_waits_moves_it_on_and_who_answers_one_that_was_paused_does_not() {
    for (fact, waiting, paused) in [
        (resumed(None), true, true),
        (cancel(), true, true),
        (answer(), true, false),
        (cancelled_task(), true, false),
        (message("a"), false, false),
        (stop(), false, false),
    ] {
        assert_eq!((resumes_run(&fact, true), resumes_run(&fact, false)), (waiting, paused), "{fact:?}");
    }
}

#[test]
fn an_answer_that_came_as_it_was_left_moves_it_on() {
    let mut state = ProgressState::new(PlanId::new("p").unwrap(), "g", Timestamp::from_millis(0));
    let id = QuestionId::new("q").unwrap();
    let asked = ProgressEvent::QuestionAsked { id: id.clone(), task: None, kind: "question".into(), question: "Which?".into() };
    state.apply(Timestamp::from_millis(1), &asked).unwrap();
    let error = RunFailure::new(FailureCode::WaitingForHuman, "Which?", None);
    let waiting = RunOutput { status: RunStatus::WaitingForHuman, error: Some(error) };
    let goes_on = |state: &ProgressState, has_answer| SuspendedState::of(&waiting, state, has_answer, Vec::new()).answered;
    assert!(!goes_on(&state, true), "somebody answered something before");
    state.apply(Timestamp::from_millis(2), &ProgressEvent::QuestionAnswered { id, answer: "this".to_owned() }).unwrap();
    assert!(goes_on(&state, true));
    assert!(!goes_on(&state, false), "what was taken back is no answer");
}

#[test]
fn it_goes_on_once_with_all_that_was_said_in_its_order() {
    let more = Bounds { max_tool_calls: 7, ..Bounds::default() };
    for (what, undelivered, inbox, then) in [
        ("an answer resumes it", vec![], vec![answer()], vec![resumed(None), answer()]),
        (
            "what it had not heard comes first",
            vec![message("a")],
            vec![message("b"), answer()],
            vec![resumed(None), message("a"), message("b"), answer()],
        ),
        ("an old stop is none", vec![], vec![stop(), resumed(None)], vec![resumed(None)]),
        ("a stop after that is one", vec![], vec![answer(), stop()], vec![resumed(None), answer(), stop()]),
        (
            "two go on with it",
            vec![],
            vec![resumed(Some(more.clone())), message("a"), resumed(None)],
            vec![resumed(Some(more.clone())), message("a")],
        ),
        ("it is given up", vec![message("a")], vec![resumed(None), cancel()], vec![cancel()]),
        ("what was answered as it was left", vec![], vec![], vec![resumed(None)]),
    ] {
        assert_eq!(resume_facts(inbox, undelivered, true), then, "{what}");
    }
}

fn found(resolved: bool) -> FoundConflict {
    let (task, path, kept) = (TaskId::new("a").unwrap(), "a.txt".to_owned(), Some(".aime/runs/r/private/a-1/own/a.txt".to_owned()));
    FoundConflict { conflict: MergeConflict { task, path, kind: ConflictKind::Text, kept, resolved }, hunks: "@@ line 1 @@\n".to_owned() }
}

// Requirement: 9.2
#[test]
fn a_call_whose_changes_are_left_out_failed_and_one_in_doubt_stays_so() {
    let conflict = || Loss::Conflict(vec![found(false)]);
    let lost = || Loss::Lost("no blobs".into());
    for (outcome, why, repeatable, expected) in [
        (Outcome::Success, conflict(), false, Outcome::Failure),
        (Outcome::Success, lost(), true, Outcome::Failure),
        (Outcome::Success, lost(), false, Outcome::InDoubt),
        (Outcome::Failure, lost(), false, Outcome::Failure),
        (Outcome::InDoubt, lost(), false, Outcome::InDoubt),
        (Outcome::InDoubt, conflict(), false, Outcome::InDoubt),
    ] {
        let (cause, reason, reported) = match &why {
            Loss::Conflict(found) => {
                (Some(FailureCause::Conflict), "a.txt (its version is kept in .aime/runs/r/".to_owned(), found.clone())
            }
            Loss::Lost(why) => (None, why.to_string(), Vec::new()),
        };
        let ended = attempt_ended(EffectId::new("a/1"), Conclusion::new(outcome, "said"), 0);
        let RunFact::TaskEnded { conclusion, conflicts, .. } = omit(ended, why.clone(), repeatable) else { panic!() };
        assert_eq!((conclusion.outcome, conclusion.cause, &conflicts), (expected, cause, &reported), "{outcome:?} {reason}");
        assert!(conclusion.error.is_some_and(|error| error.to_string().contains(&reason)) && conclusion.summary == "said");
    }
}

/// An actor learns of a conflict as it does in a folder, and the criteria of its task wait until none is open.
// Requirement: 9.2
#[test]
fn an_attempt_with_an_open_conflict_ends_with_it() {
    let (id, conclusion) = (EffectId::new("a/1"), Conclusion::new(Outcome::Success, "said"));
    assert_eq!(task::conflict_ended(&id, &conclusion, &[found(true)], 5), None);
    let ended = task::conflict_ended(&id, &conclusion, &[found(true), found(false)], 5);
    let Some(RunFact::TaskEnded { conclusion: same, checks, conflicts, duration_ms: 5, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!((same, conflicts), (conclusion, vec![found(true), found(false)]));
    let [check] = checks.as_slice() else { panic!("{checks:?}") };
    assert!(
        check.passed == Some(false)
            && check.reason.to_string().contains("`a.txt`: both versions are there, theirs after <<<<<<< working-folder"),
        "{check:?}"
    );
}

/// Actors that may write in one folder of all hosts work one at a time, unless the settings say otherwise.
// Requirement: 9.1
#[test]
fn actors_that_may_write_take_turns() {
    use aime_orchestrator::{Isolation, RunSettings, llm::ToolDefinition};
    use aime_tools::{
        ToolScope::{Anything, Files, Network, Nothing, People, Processes},
        ToolSpec,
    };
    let settings = |isolation, max_parallel| RunSettings { isolation, max_parallel, ..RunSettings::default() };
    let tool = |touches, read_only| {
        let definition = ToolDefinition { name: "t".to_owned(), description: "d".to_owned(), parameters: Default::default() };
        let mut tool = ToolSpec::new(definition);
        (tool.touches, tool.read_only) = (touches, read_only);
        tool
    };
    for touches in [Anything, Files, Processes, Network, Nothing, People] {
        let expected = matches!(touches, Anything | Files | Processes);
        assert_eq!(task::takes_turns(&settings(Isolation::Auto, 2), [&tool(touches, false)]), expected, "{touches:?}");
        assert!(!task::takes_turns(&settings(Isolation::Auto, 2), [&tool(touches, true)]), "{touches:?}");
    }
    for (isolation, max_parallel, expected) in [(Isolation::Worktree, 2, true), (Isolation::Shared, 2, false), (Isolation::Auto, 1, false)]
    {
        assert_eq!(task::takes_turns(&settings(isolation, max_parallel), [&tool(Files, false)]), expected, "{isolation:?} {max_parallel}");
    }
}

/// An actor runs again by the same check as in a folder, with its machine folded from the journal.
// Requirement: 5.3
#[test]
fn only_an_idle_actor_runs_again() {
    use aime_actor_factory::{ActorFact, ActorInput, ActorMachine, ActorStatus, ModelAnswer, ModelFault};
    use aime_orchestrator::{
        ActorContinuation,
        llm::{ChatResponse, FinishReason, Usage},
    };
    let input: ActorInput = serde_json::from_value(serde_json::json!({
        "spec": {
            "id": "a-1", "name": "a", "description": "", "profile": "sisyphus", "tools": [], "persona": "", "model": "default",
            "temperature": null, "plan": "p", "task": "a", "max_steps": 9, "created_at": 0, "approval": "all", "rules": {"folder": env!("CARGO_MANIFEST_DIR")},
        },
        "execution": 1, "system": "", "task": "", "limits": {"context_tokens": 32_768, "max_output_tokens": 4_096}, "attended": false,
        "plain_answer_ends": true, "must_write_files": false,
    }))
    .unwrap();
    let answered = |answer| ActorFact::ModelAnswered { id: EffectId::new("a/1/1"), answer, duration_ms: 0 };
    let done = || {
        let response = ChatResponse {
            content: "done".into(),
            reasoning: String::new(),
            tool_calls: Vec::new(),
            native: None,
            citations: Vec::new(),
            finish: FinishReason::Stop,
            usage: Usage::new(1, 1),
            usage_estimated: false,
            model: "m".into(),
            effort: None,
            cost_usd: 0.0,
        };
        answered(ModelAnswer::Response { response: Box::new(response) })
    };
    let failed = |kind| answered(ModelAnswer::Error { kind, text: "broken".into(), hint: None });
    let revoked = || ActorFact::Revoked { id: EffectId::new("a/1/1"), why: Reason::Stopped };
    let stopped = || vec![ActorFact::Stopped { why: Reason::Stopped }, revoked()];
    let again = |number| ActorFact::RunAgain { number, missing: "b".to_owned(), answer: false };
    for (what, facts, expected) in [
        ("never driven", None, Ok(None)),
        ("running", Some(vec![]), Err(ActorStatus::Thinking)),
        ("ended", Some(vec![done()]), Ok(Some(again(1)))),
        ("stopped", Some(stopped()), Ok(Some(again(1)))),
        ("runs again already", Some(vec![done(), again(1)]), Ok(None)),
        ("failed", Some(vec![failed(ModelFault::Other)]), Err(ActorStatus::Error)),
        ("without a model", Some(vec![failed(ModelFault::Unusable)]), Ok(Some(again(1)))),
    ] {
        let facts = facts.map(|facts| facts.into_iter().map(|what| Timestamped { at: 1, what }).collect());
        let journal = facts.map(|facts| JournalResume { facts, events: 0, not_begun: Default::default(), then: Vec::new() });
        let begin = MachineStart::<ActorMachine> { input: Timestamped { at: 0, what: input.clone() }, journal };
        let returned = ActorContinuation { number: 1, missing: "b".to_owned(), answer: false };
        let found = task::run_again(&begin, Some(&returned)).map_err(|refused| refused.from);
        assert_eq!((found, task::run_again(&begin, None)), (expected, Ok(None)), "{what}");
    }
}
