//! Each setting of a class of models decides its behaviour, and no other property of the model does.

use aime_durable::EffectId;
use aime_llm::ModelLimits;
use aime_progress_management::CallOutcome;
use aime_tools::ModelClass;
use serde_json::json;

use super::support::{Play, call, class, input, read, terminate, tool_ended, write};
use crate::{ActorFact, ActorInput};

/// Copies a setting of the first class to the second one.
type Copy = fn(&ModelClass, &mut ModelClass);
/// Returns whether an actor behaves as the setting decides.
type Effect = fn(ActorInput) -> bool;

#[test]
fn each_setting_of_a_class_decides() {
    let table: [(&str, Copy, Effect, bool); 11] = [
        // Columns: setting, its copy, its effect on an actor, true if small models have the effect.
        ("step_notes", |from, to| to.step_notes = from.step_notes, adds_a_note, true),
        ("retry_reported_failures", |from, to| to.retry_reported_failures = from.retry_reported_failures, is_retried, true),
        ("exit_codes_are_failures", |from, to| to.exit_codes_are_failures = from.exit_codes_are_failures, hints_after_exit_codes, true),
        ("narrow_tools", |from, to| to.narrow_tools = from.narrow_tools, leaves_tools_out, true),
        ("failures_before_conclusion", |from, to| to.failures_before_conclusion = from.failures_before_conclusion, concludes_early, true),
        ("repeats", |from, to| to.failures_before_conclusion = from.failures_before_conclusion, concludes_after_repeats, true),
        ("refuse_early_failure", |from, to| to.refuse_early_failure = from.refuse_early_failure, refuses_early_failure, true),
        ("file_reminders", |from, to| to.file_reminders = from.file_reminders, reminds_of_a_file, true),
        ("last_result_characters", |from, to| to.last_result_characters = from.last_result_characters, keeps_the_last_result, true),
        ("last_error_characters", |from, to| to.last_error_characters = from.last_error_characters, adds_the_last_error, true),
        ("keep_beginnings", |from, to| to.keep_beginnings = from.keep_beginnings, keeps_beginnings, false),
    ];
    for (setting, copy, has_effect, of_small) in table {
        for is_small in [true, false] {
            let (own, other) = (class(is_small), class(!is_small));
            let mut overridden = own;
            copy(&other, &mut overridden);
            for (class, expected) in [(own, of_small == is_small), (overridden, of_small != is_small)] {
                // The limits of the model say the opposite: only the class counts.
                let limits = ModelLimits { small: !is_small, ..ModelLimits::default() };
                assert_eq!(has_effect(ActorInput { class, limits, ..input() }), expected, "{setting} with {class:?}");
            }
        }
    }
}

fn adds_a_note(input: ActorInput) -> bool {
    let mut play = Play::start(input);
    play.calls(vec![read("a", "1")]).tool("t/1/1/1", "x");
    play.step_note().is_some()
}

fn is_retried(input: ActorInput) -> bool {
    let mut play = Play::start(input);
    play.calls(vec![terminate("failure", "no")]);
    play.output.unwrap().cause.is_none()
}

fn hints_after_exit_codes(input: ActorInput) -> bool {
    let mut play = Play::start(input);
    for step in 1..=2 {
        play.calls(vec![call("c", "bash", &json!({"command": format!("make {step}")}))]);
        let mut ended = tool_ended(&EffectId::new(format!("t/1/{step}/1")), CallOutcome::Error, "exit code 1");
        if let ActorFact::ToolEnded { value, .. } = &mut ended {
            *value = json!({"exit_code": 1});
        }
        play.fact(ended);
    }
    play.nudges().contains(&"tool_hint")
}

fn leaves_tools_out(input: ActorInput) -> bool {
    let is_asked = input.class.failures_before_conclusion > 0;
    let mut play = Play::start(input);
    for step in 1..=6 {
        play.calls(vec![read("a", "1")]).tool(&format!("t/1/{step}/1"), "same");
    }
    assert_eq!(play.is_asked_to_conclude(), is_asked);
    play.requests.iter().any(|request| request.tools != play.requests[0].tools)
}

fn concludes_early(input: ActorInput) -> bool {
    let mut play = Play::start(input);
    for step in 1..=6 {
        play.calls(vec![read("r", &format!("{step}.txt"))]).tool_error(&format!("t/1/{step}/1"), "no such file");
    }
    play.is_asked_to_conclude()
}

fn concludes_after_repeats(input: ActorInput) -> bool {
    let mut play = Play::start(input);
    for step in 1..=6 {
        play.calls(vec![read("a", "1")]).tool(&format!("t/1/{step}/1"), "same");
    }
    play.is_asked_to_conclude()
}

fn refuses_early_failure(input: ActorInput) -> bool {
    let mut play = Play::start(input);
    play.calls(vec![read("a", "1")]).tool_error("t/1/1/1", "no such file").calls(vec![terminate("failure", "no such file")]);
    play.output.is_none()
}

fn reminds_of_a_file(input: ActorInput) -> bool {
    let mut play = Play::start(ActorInput { named_files: vec!["b.txt".to_owned()], ..input });
    play.calls(vec![write("w", "a.txt")]).tool("t/1/1/1", "written").calls(vec![terminate("success", "done")]);
    play.output.is_none()
}

fn keeps_the_last_result(input: ActorInput) -> bool {
    let mut play = Play::start(input);
    play.calls(vec![read("a", "1")]).tool("t/1/1/1", "7 lines").calls(vec![terminate("success", "done")]);
    play.output.unwrap().observed.is_some()
}

fn adds_the_last_error(input: ActorInput) -> bool {
    let mut play = Play::start(input);
    play.calls(vec![read("a", "1")]).tool("t/1/1/1", "x").calls(vec![write("w", "1")]).tool_error("t/1/2/1", "disk full");
    play.calls(vec![terminate("failure", "no")]);
    play.output.unwrap().error.unwrap().to_string().contains("disk full")
}

fn keeps_beginnings(input: ActorInput) -> bool {
    let limits = ModelLimits { context_tokens: 4_000, ..input.limits };
    let mut play = Play::start(ActorInput { limits, ..input });
    for step in 1..=9 {
        play.calls(vec![read("a", &step.to_string())]).tool(&format!("t/1/{step}/1"), &format!("{step} {}", "x".repeat(1_200)));
    }
    play.results().iter().any(|result| result.contains("make the call again to see it"))
}
