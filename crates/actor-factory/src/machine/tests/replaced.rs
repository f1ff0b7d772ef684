//! Tests of notes that a user has replaced and of risks that the plan has foreseen.

use std::collections::BTreeMap;

use aime_progress_management::Significance;
use serde_json::json;

use super::support::*;
use crate::ActorInput;

// Requirement: 3.43
#[test]
fn a_users_notes_take_the_place_of_those_that_are_built_in() {
    let note = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut few = input();
    few.spec.max_steps = 5;
    few.notes = BTreeMap::from([
        note("no_tool_call", "Call something."),
        note("each_step", "Onwards."),
        note("after_error", "Mind the error."),
        note("stuck", "{name} again, {count} times."),
        note("steps_left", "{left} to go."),
    ]);
    few.class = with_step_notes();
    let mut play = Play::start(few);
    play.model(answer("I think.", vec![]));
    assert!(play.log.contains("[user] Call something."), "{}", play.log);
    play.calls(vec![read("a", "1")]).tool("t/1/2/1", "x");
    assert_eq!(play.step_note().as_deref(), Some("Onwards."));
    for (step, expected) in [(3, "2 to go."), (4, "read_file again, 3 times.\n1 to go.")] {
        play.calls(vec![read("a", "2")]).tool_error(&format!("t/1/{step}/1"), "gone");
        assert!(step == 4 || play.step_note().is_some_and(|note| note.ends_with(expected)), "{:?}", play.step_note());
    }
}

// Requirement: 6.12
#[test]
fn a_risk_that_comes_true_is_evidence_that_names_it() {
    let risks = vec!["pandas is missing".to_owned(), "the disk is full".to_owned()];
    let cases = [
        (
            json!({"content": "no pip either", "risk": 1}),
            "a risk of the plan came true (pandas is missing): no pip either",
            Significance::High,
        ),
        (json!({"content": "x", "risk": "2."}), "a risk of the plan came true (the disk is full): x", Significance::High),
        (
            json!({"content": "x", "risk": "Disk is FULL", "significance": "medium"}),
            "a risk of the plan came true (the disk is full): x",
            Significance::Medium,
        ),
        (json!({"content": "the disk is full", "risk": 2}), "a risk of the plan came true: the disk is full", Significance::High),
        (json!({"content": "x", "risk": "rain"}), "a risk came true (rain): x", Significance::High),
        (json!({"content": "x", "risk": 7, "significance": "low"}), "x", Significance::Low),
        (json!({"content": "x"}), "x", Significance::Medium),
    ];
    for (parameters, content, significance) in cases {
        let mut play = Play::start(ActorInput { risks: risks.clone(), ..input() });
        play.calls(vec![call("e", "report_evidence", &parameters)]);
        let found = play.events.iter().find_map(|event| match event {
            aime_progress_management::ProgressEvent::EvidenceAdded { evidence } => Some((evidence.content.as_str(), evidence.significance)),
            _ => None,
        });
        assert_eq!(found, Some((content, significance)), "{parameters}");
    }
}
