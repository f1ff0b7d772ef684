use aime_durable::EffectId;
use aime_progress_management::CallOutcome;
use serde_json::{Value, json};

use super::support::*;
use crate::ActorFact;

/// Makes a call of `bash` that ends with this outcome.
fn bash(play: &mut Play, command: &str, outcome: CallOutcome, text: &str, value: Value) {
    play.calls(vec![call(command, "bash", &json!({"command": command}))]);
    let id = EffectId::new(play.open_ids()[0]);
    match tool_ended(&id, outcome, text) {
        ActorFact::ToolEnded { id, outcome, text, references, images, seen, duration_ms, origins, .. } => {
            play.fact(ActorFact::ToolEnded { id, outcome, text, value, references, images, seen, duration_ms, origins });
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_output_of_a_program_that_fails_is_no_error() {
    let mut play = Play::start(input());
    for command in ["a", "b", "c"] {
        bash(&mut play, command, CallOutcome::Error, "exit code 2\nno", json!({"exit_code": 2}));
    }
    assert_eq!(play.results(), ["a: exit code 2\nno", "b: exit code 2\nno", "c: exit code 2\nno"]);
    assert!(!play.nudges().contains(&"tool_hint"), "{:?}", play.nudges());
    bash(&mut play, "d", CallOutcome::Error, "not found", Value::Null);
    assert_eq!(play.results().last().map(String::as_str), Some("d: Error: not found"));
    bash(&mut play, "e", CallOutcome::Error, "not found", Value::Null);
    assert!(play.nudges().contains(&"tool_hint"), "{:?}", play.nudges());
}

#[test]
fn an_actor_that_goes_on_is_told_of_commands_that_were_ended() {
    let mut play = Play::start(input());
    let runs = |id: &str, running: bool| json!({"id": id, "running": running});
    for (command, id, running) in [("a", "p1", true), ("b", "p2", true), ("c", "p1", false), ("d", "p3", true)] {
        bash(&mut play, command, CallOutcome::Ok, "begun", runs(id, running));
    }
    play.fact(ActorFact::Resumed {});
    bash(&mut play, "e", CallOutcome::Ok, "done", Value::Null);
    let note = play.step_note().unwrap_or_default();
    assert!(note.contains("the commands that ran in the background were ended with you: `p2`, `p3`."), "{note}");
    play.fact(ActorFact::Resumed {});
    bash(&mut play, "f", CallOutcome::Ok, "done", Value::Null);
    assert!(!play.step_note().unwrap_or_default().contains("ended with you"), "said once");
}
