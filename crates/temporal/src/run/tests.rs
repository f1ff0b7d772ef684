//! What moves a run on that was left, and what it learns first then.

use aime_orchestrator::Bounds;
use aime_progress::EvidenceId;

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
    RunFact::CancelRequested { task: Some(TaskId::new("a").unwrap()), reason: "no".to_owned() }
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
