//! Tests which facts resume a suspended run, and its first facts then.

use aime_orchestrator::{Bounds, FailureCode, RunFailure};
use aime_progress_management::{EvidenceId, PlanId, QuestionId};

use super::*;

fn resumed(bounds: Option<Bounds>) -> RunFact {
    RunFact::Resumed { bounds }
}

fn answer() -> RunFact {
    RunFact::PersonAnswered { question: None, text: "yes".to_owned() }
}

fn said(id: &str) -> RunFact {
    RunFact::PersonSaid { id: EvidenceId::new(id).unwrap(), task: None, text: id.to_owned() }
}

fn stop() -> RunFact {
    RunFact::StopRequested { reason: "paused".to_owned() }
}

fn cancelled_task() -> RunFact {
    RunFact::CancelRequested { task: Some(TaskId::new("a").unwrap()), reason: "no".to_owned(), message: None }
}

#[test]
fn who_answers_a_run_that_waits_moves_it_on_and_who_answers_one_that_was_paused_does_not() {
    for (fact, waiting, paused) in [
        (resumed(None), true, true),
        (cancel(), true, true),
        (answer(), true, false),
        (cancelled_task(), true, false),
        (said("a"), false, false),
        (stop(), false, false),
    ] {
        assert_eq!((moves_on(&fact, true), moves_on(&fact, false)), (waiting, paused), "{fact:?}");
    }
}

#[test]
fn an_answer_that_came_as_it_was_left_moves_it_on() {
    let mut state = ProgressState::new(PlanId::new("p").unwrap(), "g", Timestamp::from_millis(0));
    let id = QuestionId::new("q").unwrap();
    let asked = ProgressEvent::QuestionAsked { id: id.clone(), task: None, kind: "question".into(), question: "Which?".to_owned() };
    state.apply(Timestamp::from_millis(1), &asked).unwrap();
    let error = RunFailure { code: FailureCode::WaitingForHuman, message: "Which?".to_owned(), hint: None };
    let waiting = RunOutput { status: RunStatus::WaitingForHuman, error: Some(error) };
    let goes_on = |state: &ProgressState, heard| Last::of(&waiting, state, heard, Vec::new()).answered;
    assert!(!goes_on(&state, true), "somebody answered something before");
    state.apply(Timestamp::from_millis(2), &ProgressEvent::QuestionAnswered { id, answer: "this".to_owned() }).unwrap();
    assert!(goes_on(&state, true));
    assert!(!goes_on(&state, false), "what was taken back is no answer");
}

#[test]
fn it_goes_on_once_with_all_that_was_said_in_its_order() {
    let more = Bounds { max_tool_calls: 7, ..Bounds::default() };
    for (what, unheard, inbox, then) in [
        ("an answer resumes it", vec![], vec![answer()], vec![resumed(None), answer()]),
        (
            "what it had not heard comes first",
            vec![said("a")],
            vec![said("b"), answer()],
            vec![resumed(None), said("a"), said("b"), answer()],
        ),
        ("an old stop is none", vec![], vec![stop(), resumed(None)], vec![resumed(None)]),
        ("a stop after that is one", vec![], vec![answer(), stop()], vec![resumed(None), answer(), stop()]),
        (
            "two go on with it",
            vec![],
            vec![resumed(Some(more.clone())), said("a"), resumed(None)],
            vec![resumed(Some(more.clone())), said("a")],
        ),
        ("it is given up", vec![said("a")], vec![resumed(None), cancel()], vec![cancel()]),
        ("what was answered as it was left", vec![], vec![], vec![resumed(None)]),
    ] {
        assert_eq!(going_on(inbox, unheard, true), then, "{what}");
    }
}

#[test]
fn a_call_whose_changes_are_left_out_failed_and_one_in_doubt_stays_so() {
    let conflict = || LeftOut::Conflict("a.txt".to_owned());
    let lost = || LeftOut::Lost("no blobs".to_owned());
    for (outcome, why, repeatable, stays, expected) in [
        (Outcome::Success, conflict(), false, true, Outcome::Failure),
        (Outcome::Success, lost(), true, true, Outcome::Failure),
        (Outcome::Success, lost(), false, true, Outcome::InDoubt),
        (Outcome::Failure, lost(), false, true, Outcome::Failure),
        (Outcome::InDoubt, lost(), false, true, Outcome::InDoubt),
        (Outcome::InDoubt, conflict(), false, true, Outcome::InDoubt),
        // A history from before that version.
        (Outcome::InDoubt, lost(), false, false, Outcome::Failure),
        (Outcome::Success, lost(), false, false, Outcome::Failure),
    ] {
        let told = why_of(&why);
        let ended = attempt_ended(EffectId::new("a/1"), Conclusion::new(outcome, "said"), 0);
        let RunFact::TaskEnded { conclusion, .. } = left_out(ended, (why, None), repeatable, || stays) else { panic!() };
        assert_eq!(conclusion.outcome, expected, "{outcome:?} {told}");
        assert!(conclusion.error.is_some_and(|error| error.contains(&told)) && conclusion.summary == "said");
    }
}

fn why_of(why: &LeftOut) -> String {
    match why {
        LeftOut::Conflict(why) | LeftOut::Lost(why) => why.clone(),
    }
}
