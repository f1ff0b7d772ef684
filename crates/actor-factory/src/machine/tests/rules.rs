//! Rules of a turn, with one table or case each.

use aime_llm::{ChatResponse, FinishReason, ToolChoice};
use aime_progress_management::{CallOutcome, FailureCause, Outcome, ProgressEvent};
use serde_json::json;

use super::support::{Play, answer, call, class, input, read, terminate, that_must_conclude, tool_ended, with_step_notes, write};
use crate::{ActorEffect, ActorInput, ActorSettings, ModelAnswer, ModelFault, machine::ActorStatus};

// Requirement: 4.18
#[test]
fn harmless_calls_run_at_once_and_results_keep_their_order() {
    let mut play = Play::start(input());
    play.calls(vec![read("a", "1"), read("b", "2"), read("c", "3")]);
    assert_eq!(play.open_ids(), ["t/1/1/1", "t/1/1/2", "t/1/1/3"]);
    play.tool("t/1/1/3", "three").tool("t/1/1/1", "one");
    assert_eq!(play.requests.len(), 1);
    play.tool("t/1/1/2", "two");
    assert_eq!(play.results(), ["a: one", "b: two", "c: three"]);
    assert_eq!(play.open_ids(), ["t/1/2"]);
}

// Requirement: 4.18
#[test]
fn calls_that_change_something_run_in_order() {
    let mut play = Play::start(input());
    play.calls(vec![read("a", "1"), write("b", "2"), read("c", "2")]);
    for (id, text) in [("t/1/1/1", "one"), ("t/1/1/2", "two"), ("t/1/1/3", "three")] {
        assert_eq!(play.open_ids(), [id]);
        play.tool(id, text);
    }
    assert_eq!(play.results(), ["a: one", "b: two", "c: three"]);
}

// Requirement: 4.18
#[test]
fn nothing_runs_on_files_that_a_failed_change_left() {
    for small in [false, true] {
        let mut input = input();
        input.class = class(small);
        let mut play = Play::start(input);
        let test = call("c", "bash", &json!({"command": "make test"}));
        play.calls(vec![write("a", "1"), read("b", "1"), test.clone(), write("d", "2"), call("e", "todo", &json!({"items": []}))]);
        play.tool_error("t/1/1/1", "no such folder").tool("t/1/1/2", "old");
        let results = play.results();
        let not_run = "Error: not run: the call before it failed";
        assert_eq!(results[..2], ["a: Error: no such folder", "b: old"], "reading goes on");
        assert_eq!(results[2..4], [format!("c: {not_run}"), format!("d: {not_run}")]);
        assert!(results[4].starts_with("e: No todos."), "{results:?}");
        // A command that fails says something about the work: what follows it runs.
        play.calls(vec![test, write("d", "2")]).tool_error("t/1/2/1", "exit code 1");
        assert_eq!(play.open_ids(), ["t/1/2/2"]);
    }
}

// Requirement: 4.18
#[test]
fn changes_of_other_files_go_on_after_a_failed_one() {
    let mut play = Play::start(input());
    let test = call("d", "bash", &json!({"command": "make test"}));
    play.calls(vec![write("a", "1"), write("b", "2"), write("c", "./1"), test, write("e", "3")]);
    play.tool_error("t/1/1/1", "no match");
    assert_eq!(play.open_ids(), ["t/1/1/2"]);
    play.tool("t/1/1/2", "written");
    let not_run = "Error: not run: the call before it failed";
    let rest = ["c", "d", "e"].map(|id| format!("{id}: {not_run}"));
    assert_eq!(play.results()[1..], [vec!["b: written".to_owned()], rest.to_vec()].concat(), "no change follows a skipped command");
}

#[test]
fn calls_of_one_answer_are_one_attempt_for_the_hint() {
    let mut play = Play::start(input());
    play.calls(vec![read("a", "1"), read("b", "2"), read("c", "3")]);
    play.tool_error("t/1/1/1", "no such file").tool_error("t/1/1/2", "no such file").tool_error("t/1/1/3", "no such file");
    assert!(play.nudges().is_empty(), "{:?}", play.nudges());
    play.calls(vec![read("a", "4")]).tool_error("t/1/2/1", "no such file");
    assert_eq!(play.nudges(), ["tool_hint"]);
    assert!(play.results()[3].contains("`read_file` failed 2 times in a row"), "{:?}", play.results());
}

// Requirement: 4.19, 4.20
#[test]
fn a_call_that_is_not_run_gets_a_result_that_says_why() {
    let cut = |mut response: ChatResponse| {
        response.finish = FinishReason::Length;
        response
    };
    let bad = |arguments: &str| {
        let mut call = read("a", "1");
        call.arguments = arguments.into();
        vec![call]
    };
    let cases: [(&str, ChatResponse, &str); 4] = [
        ("cut by the limit", cut(answer("", vec![read("a", "1")])), "a: Error: cut by the length limit; ask for less at once"),
        (
            "unknown",
            answer("", vec![call("a", "fly", &json!({}))]),
            "a: Unknown tool: fly. Available: read_file, grep, write_file, bash, todo, update_progress, report_evidence, ask_human, terminate",
        ),
        ("cut arguments", answer("", bad("{\"path\": \"a.t")), "a: Error: the arguments are cut off"),
        ("no object", answer("", bad("[1]")), "a: Error: "),
    ];
    for (name, response, expected) in cases {
        let mut play = Play::start(input());
        play.model(response);
        assert_eq!(play.open_ids(), ["t/1/2"], "{name}: nothing runs, the model is asked again");
        assert!(play.results()[0].starts_with(expected), "{name}: {:?}", play.results());
        let recorded = play.events.iter().filter(|e| matches!(e, ProgressEvent::ToolCallFinished { outcome: CallOutcome::Error, .. }));
        assert_eq!(recorded.count(), 1, "{name}");
    }
}

#[test]
fn arguments_in_the_history_are_json_whatever_the_model_wrote() {
    let mut play = Play::start(input());
    let mut call = read("a", "1");
    call.arguments = "{'path': 'x',}".into();
    let mut other = read("b", "1");
    other.arguments = "{\"path\": \"x".into();
    play.calls(vec![call, other]).tool("t/1/1/1", "one");
    assert!(play.log.contains("<a read_file {\"path\":\"x\"}> <b read_file {}>"), "{}", play.log);
}

#[test]
fn ids_of_calls_are_unique_in_the_conversation() {
    let mut play = Play::start(input());
    play.calls(vec![read("call_0", "1"), read("", "2")]).tool("t/1/1/1", "1").tool("t/1/1/2", "2");
    play.calls(vec![read("call_0", "1")]).tool("t/1/2/1", "1");
    assert_eq!(play.results(), ["call_0: 1", "call-1-2: 2", "call-2-1: 1"]);
}

// Requirement: 4.14
#[test]
fn terminate_ends_and_nothing_runs_after_it() {
    let mut play = Play::start(input());
    play.calls(vec![read("a", "1"), terminate("success", "done"), write("b", "2")]);
    assert_eq!(play.open_ids(), ["t/1/1/1"]);
    play.tool("t/1/1/1", "one");
    assert!(play.open.is_empty());
    assert_eq!(play.results(), ["a: one", "end: Received.", "b: Error: not run: the task was ended before it"]);
    assert_eq!(play.output.as_ref().unwrap().summary, "done");
    assert_eq!(play.machine.status(), ActorStatus::Finished);
}

#[test]
fn terminate_waits_for_calls_before_it_even_when_all_are_harmless() {
    let mut play = Play::start(input());
    play.calls(vec![read("a", "1"), terminate("success", "done"), read("b", "2")]);
    assert_eq!(play.open_ids(), ["t/1/1/1"]);
    play.tool("t/1/1/1", "one");
    assert!(play.output.is_some());
}

#[test]
fn success_is_not_claimed_in_the_breath_of_a_failure() {
    let mut play = Play::start(input());
    play.calls(vec![write("a", "1"), terminate("success", "done")]).tool_error("t/1/1/1", "disk full");
    assert_eq!(play.output, None);
    assert_eq!(play.results()[1], "end: Error: not ended: `write_file` failed in this turn. Read its result first");
}

// Requirement: 4.14
#[test]
fn what_terminate_says() {
    let cases = [
        (json!({"status": "success", "message": "m"}), Some((Outcome::Success, "m"))),
        (json!({"status": "Completed", "message": "m"}), Some((Outcome::Success, "m"))),
        (json!({"status": "failure", "message": "m"}), Some((Outcome::Failure, "m"))),
        (json!({"status": "success", "message": {"n": 3}}), Some((Outcome::Success, "{\"n\":3}"))),
        (json!({"status": "maybe", "message": "m"}), None),
        (json!({"status": "success"}), None),
        (json!({}), None),
    ];
    for (arguments, expected) in cases {
        let mut play = Play::start(input());
        play.calls(vec![call("a", "terminate", &arguments)]);
        let got = play.output.as_ref().map(|c| (c.outcome, c.summary.as_str()));
        assert_eq!(got, expected, "{arguments}");
    }
}

// Requirement: 1.6
#[test]
fn references_are_those_of_the_calls_and_of_the_actor() {
    let mut play = Play::start(input());
    play.calls(vec![write("a", "1")]);
    let mut ended = tool_ended(&aime_durable::EffectId::new("t/1/1/1"), CallOutcome::Ok, "ok");
    if let crate::ActorFact::ToolEnded { references, .. } = &mut ended {
        *references = vec!["a.txt".into()];
    }
    play.fact(ended);
    play.calls(vec![call("e", "terminate", &json!({"status": "success", "message": "m", "references": ["b.txt", "a.txt"]}))]);
    assert_eq!(play.output.unwrap().references, ["b.txt", "a.txt"]);
}

// Requirement: 4.35
#[test]
fn a_plain_answer_is_nudged_once_and_then_taken() {
    let mut play = Play::start(input());
    play.model(answer("It is 4.", vec![]));
    assert_eq!(play.nudges(), ["no_tool_call"]);
    play.model(answer("It is 4.", vec![]));
    let conclusion = play.output.clone().unwrap();
    assert_eq!((conclusion.outcome, conclusion.summary.as_str(), conclusion.text), (Outcome::Success, "It is 4.", None));
    assert_eq!(play.nudges(), ["no_tool_call"]);
}

#[test]
fn what_was_answered_before_the_end_is_part_of_the_result() {
    let mut play = Play::start(input());
    play.model(answer("It is 4.", vec![])).calls(vec![terminate("success", "Task done.")]);
    let conclusion = play.output.unwrap();
    assert_eq!((conclusion.summary.as_str(), conclusion.text.as_deref()), ("Task done.", Some("It is 4.\n\nTask done.")));
    let mut play = Play::start(input());
    play.model(answer("I begin.", vec![])).calls(vec![read("a", "1")]).tool("t/1/2/1", "x").calls(vec![terminate("success", "Done.")]);
    assert_eq!(play.output.unwrap().text, None, "words before other calls are not the result");
}

// Requirement: 4.35
#[test]
fn the_first_plain_answer_may_be_all() {
    let may = |must_write_files| ActorInput { plain_answer_ends: true, must_write_files, ..input() };
    let mut play = Play::start(may(false));
    play.model(answer("4", vec![]));
    assert_eq!(play.output.as_ref().unwrap().summary, "4");
    let mut play = Play::start(may(true));
    play.model(answer("Here is how you write it.", vec![]));
    assert_eq!(play.output, None, "a file was asked for and no call was made");
    play.calls(vec![write("a", "1")]).tool("t/1/2/1", "ok").model(answer("Written.", vec![]));
    assert_eq!(play.output.as_ref().unwrap().summary, "Written.");
}

#[test]
fn a_model_that_did_nothing_is_asked_back_once() {
    let names_work = || ActorInput { plain_answer_ends: true, names_work: true, ..input() };
    let mut play = Play::start(names_work());
    play.model(answer("ok", vec![]));
    assert_eq!((play.output.is_none(), play.nudges()), (true, vec!["nothing_done"]));
    play.model(answer("The flag exists already.", vec![]));
    let conclusion = play.output.unwrap();
    assert_eq!((conclusion.outcome, conclusion.summary.contains("exists already")), (Outcome::Success, true), "{conclusion:?}");
    let mut play = Play::start(names_work());
    play.calls(vec![read("a", "1")]).tool("t/1/1/1", "x").model(answer("It is right as it is.", vec![]));
    assert_eq!((play.output.is_some(), play.nudges()), (true, vec![]), "it has looked");
}

#[test]
fn answers_that_are_none_end_in_a_failure() {
    let with = |finish: FinishReason, content: &str| ChatResponse { finish, ..answer(content, vec![]) };
    let cases = [
        (vec![with(FinishReason::Stop, ""), with(FinishReason::Stop, " ")], "the model gave an empty answer twice"),
        (vec![with(FinishReason::Length, "a"), with(FinishReason::Length, "b")], "cut by the length limit"),
        (vec![with(FinishReason::ContentFilter, "")], "content filter"),
    ];
    for (answers, expected) in cases {
        let mut play = Play::start(input());
        for answer in answers {
            play.model(answer);
        }
        let conclusion = play.output.clone().unwrap();
        assert_eq!(conclusion.outcome, Outcome::Failure);
        assert!(conclusion.error.unwrap().to_string().contains(expected), "{expected}");
        assert_eq!(play.machine.status(), ActorStatus::Error);
    }
}

// Requirement: 4.34
#[test]
fn repetition_is_told_and_at_last_fails() {
    for small in [true, false] {
        let mut input = ActorInput { class: class(small), ..input() };
        input.spec.max_steps = 100;
        let mut play = Play::start(input);
        for step in 1..=20 {
            assert_eq!(play.output, None, "{step}");
            let prompt = play.step_note().unwrap_or_default();
            let (has_hint, must_conclude) = (prompt.contains("`read_file` has succeeded"), prompt.contains("You go in circles"));
            let expected = if small { ((4..=6).contains(&step), step > 6) } else { (step > 3, false) };
            assert_eq!((has_hint, must_conclude), expected, "{step}: {prompt}");
            assert_eq!(play.is_asked_to_conclude(), must_conclude, "{step}");
            play.calls(vec![read("a", "1")]).tool(&format!("t/1/{step}/1"), "same");
        }
        let conclusion = play.output.unwrap();
        assert_eq!(conclusion.outcome, Outcome::Failure);
        assert_eq!(conclusion.error.unwrap(), "stuck: `read_file` was called 20 times with the same arguments and the same result");
    }
}

// Requirement: 4.34
#[test]
fn whoever_repeats_a_finished_step_is_asked_for_the_conclusion() {
    for narrow_tools in [true, false] {
        repeats_a_finished_step(narrow_tools);
    }
}

fn repeats_a_finished_step(narrow_tools: bool) {
    let mut of_class = ActorInput { class: that_must_conclude(), ..input() };
    of_class.class.narrow_tools = narrow_tools;
    let mut play = Play::start(of_class);
    for step in 1..=6 {
        assert!(!play.is_asked_to_conclude(), "{step}");
        play.calls(vec![write("a", "a.txt")]).tool(&format!("t/1/{step}/1"), "written");
    }
    let request = play.requests.last().unwrap();
    if narrow_tools {
        let offered: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!((offered, &request.tool_choice), (vec!["terminate"], &ToolChoice::Required));
        insta::assert_debug_snapshot!("the_request_for_a_conclusion", request);
    } else {
        assert_eq!(request.tools, play.requests[0].tools, "caches of prompts hit");
        assert_eq!(request.tool_choice, ToolChoice::Only("terminate".into()));
    }
    // An unreadable conclusion gives the tools back, since the actor may have understood.
    play.calls(vec![call("b", "terminate", &json!({"status": "perhaps"}))]);
    assert!(!play.is_asked_to_conclude());
    play.calls(vec![call("c", "terminate", &json!({"status": "success", "message": "a.txt is written"}))]);
    assert_eq!(play.output.unwrap().outcome, Outcome::Success);
}

// Requirement: 4.34
#[test]
fn who_reports_that_it_is_done_is_told_what_ends_a_task_and_asked_for_it_when_it_says_so_again() {
    for (status, is_done) in [("Completed", true), (" done ", true), ("已完成", true), ("in_progress", false), ("half done", false)] {
        let mut play = Play::start(input());
        let report = || vec![call("r", "update_progress", &json!({"status": status, "message": "It is written."}))];
        play.calls(report());
        assert_eq!(play.results().last().unwrap().contains("call `terminate`"), is_done, "{status}");
        assert!(!play.is_asked_to_conclude(), "once is no circle: {status}");
        play.calls(report());
        assert_eq!(play.is_asked_to_conclude(), is_done, "{status}");
    }
}

#[test]
fn a_call_that_keeps_failing_is_not_called_done() {
    let mut play = Play::start(input());
    for step in 1..=3 {
        play.calls(vec![read("a", "1")]).tool_error(&format!("t/1/{step}/1"), "no such file");
    }
    let prompt = play.step_note().unwrap();
    assert!(prompt.contains("the same call `read_file` 3 times") && !prompt.contains("succeeded"), "{prompt}");
}

#[test]
fn who_gives_up_at_the_first_error_is_urged_once() {
    let mut play = Play::start(ActorInput { class: with_step_notes(), ..input() });
    play.calls(vec![read("a", "1")]).tool_error("t/1/1/1", "no such file");
    assert!(play.step_note().is_some_and(|prompt| prompt.contains("The last call failed")));
    play.calls(vec![terminate("failure", "no such file")]);
    assert!(play.results().last().is_some_and(|result| result.contains("one failed call is no reason to give up")));
    play.calls(vec![terminate("failure", "really not")]);
    let conclusion = play.output.clone().unwrap();
    assert_eq!((conclusion.outcome, conclusion.summary.as_str()), (Outcome::Failure, "really not"));
    // An actor that has made no call yet, or a successful one, may give up.
    for begun in [false, true] {
        let mut play = Play::start(ActorInput { class: with_step_notes(), ..input() });
        if begun {
            play.calls(vec![read("a", "1")]).tool("t/1/1/1", "one");
            play.calls(vec![read("b", "2")]).tool_error("t/1/2/1", "no such file");
        }
        play.calls(vec![terminate("failure", "it cannot be done")]);
        assert_eq!(play.output.unwrap().outcome, Outcome::Failure, "{begun}");
    }
}

#[test]
fn the_same_call_with_other_results_is_not_stuck() {
    let mut play = Play::start(input());
    for step in 1..=5 {
        play.calls(vec![read("a", "1")]).tool(&format!("t/1/{step}/1"), &format!("line {step}"));
    }
    assert_eq!(play.nudges(), Vec::<&str>::new());
}

// Requirement: 4.34
#[test]
fn a_check_that_is_made_again_after_each_change_is_no_repetition() {
    for (tool, nudged) in [("write_file", false), ("read_file", true), ("update_progress", true)] {
        let mut play = Play::start(ActorInput { class: that_must_conclude(), ..input() });
        for step in 1..=8 {
            let between = match tool {
                "write_file" => call("w", tool, &json!({"path": "a.rs", "content": step.to_string()})),
                "read_file" => read("w", &step.to_string()),
                _ => call("w", tool, &json!({"status": "busy", "message": step.to_string()})),
            };
            play.calls(vec![between, call("c", "bash", &json!({"command": "make test"}))]);
            while let Some((id, _)) = play.open.iter().find(|(_, effect)| matches!(effect, ActorEffect::Tool { .. })).cloned() {
                play.tool(id.as_str(), "1 failed");
            }
        }
        assert_eq!(play.nudges().contains(&"stuck"), nudged, "{tool}");
        assert_eq!(play.is_asked_to_conclude(), nudged, "{tool}: asked for nothing but its conclusion");
    }
}

// Requirement: 4.34
#[test]
fn a_change_that_fails_is_none() {
    let mut play = Play::start(ActorInput { class: that_must_conclude(), ..input() });
    for step in (1..=6).map(|round| round * 2) {
        play.calls(vec![write("w", &format!("{step}.txt"))]).tool_error(&format!("t/1/{}/1", step - 1), "the disk is full");
        play.calls(vec![read("r", "a.txt")]).tool(&format!("t/1/{step}/1"), "same");
    }
    assert!(play.is_asked_to_conclude());
}

// Requirement: 4.26, 4.27
#[test]
fn a_forgotten_todo_list_is_reminded_of_last_of_all() {
    let mut play = Play::start(input());
    let todo = |status: &str| call("todo", "todo", &json!({"items": [{"text": "one", "status": status}]}));
    play.calls(vec![todo("pending")]);
    for step in 2..=4 {
        play.calls(vec![read("a", &step.to_string()), read("b", "x")]);
        play.tool(&format!("t/1/{step}/1"), "a").tool(&format!("t/1/{step}/2"), &format!("b{step}"));
    }
    let results = play.results();
    assert_eq!(results.last().unwrap(), "call-4-2: b4\n\n<reminder>Update your todos.</reminder>");
    assert_eq!(results.iter().filter(|r| r.contains("<reminder>")).count(), 1);
    assert_eq!(play.nudges(), ["todo_reminder"]);
    play.calls(vec![todo("completed")]);
    for step in 6..=10 {
        play.calls(vec![read("a", &step.to_string())]).tool(&format!("t/1/{step}/1"), "a");
    }
    assert_eq!(play.nudges(), ["todo_reminder"], "a list with nothing open is left alone");
}

// Requirement: 4.28
#[test]
fn a_todo_list_and_its_reminder_are_one_actors_own() {
    let mut forgetful = Play::start(input());
    let mut other = Play::start(input());
    for play in [&mut forgetful, &mut other] {
        play.calls(vec![call("todo", "todo", &json!({"items": [{"text": "one"}]}))]);
    }
    for step in 2..=4 {
        let items = json!({"items": [{"text": "one"}, {"text": format!("step {step}")}]});
        other.calls(vec![call("todo", "todo", &items)]);
        forgetful.calls(vec![read("a", &step.to_string())]).tool(&format!("t/1/{step}/1"), "a");
    }
    assert_eq!((forgetful.nudges(), other.nudges()), (vec!["todo_reminder"], vec![]));
    assert!(other.results().last().unwrap().contains("step 4"));
    assert!(!forgetful.results().iter().any(|result| result.contains("step")));
}

// Requirement: 4.22
#[test]
fn a_tool_that_keeps_failing_gets_a_hint() {
    let mut play = Play::start(input());
    play.calls(vec![read("a", "1")]).tool_error("t/1/1/1", "no such file");
    assert_eq!(play.step_note(), None);
    play.calls(vec![read("b", "2")]).tool_error("t/1/2/1", "no such file");
    assert!(play.step_note().unwrap().contains("try `grep` instead"));
    assert_eq!(play.nudges(), ["tool_hint"]);
}

#[test]
fn when_an_actor_is_told_something_can_be_set() {
    let mut input = input();
    input.settings = ActorSettings {
        failures_before_hint: 1,
        rounds_before_todo_reminder: 1,
        warn_after_repeats: 2,
        abort_after_repeats: 4,
        ..ActorSettings::default()
    };
    let mut play = Play::start(input.clone());
    play.calls(vec![read("a", "1")]).tool_error("t/1/1/1", "no such file");
    assert_eq!(play.nudges(), ["tool_hint"]);
    let mut play = Play::start(input.clone());
    play.calls(vec![call("todo", "todo", &json!({"items": [{"text": "one"}]}))]);
    play.calls(vec![read("a", "1")]).tool("t/1/2/1", "a");
    assert_eq!(play.nudges(), ["todo_reminder"]);
    let mut play = Play::start(input);
    for step in 1..=4 {
        assert_eq!(play.output, None, "{step}");
        play.calls(vec![read("a", "1")]).tool(&format!("t/1/{step}/1"), "same");
    }
    assert_eq!(play.nudges(), ["stuck", "stuck"]);
    assert!(play.output.unwrap().error.unwrap().to_string().contains("called 4 times"));
}

// Requirement: 4.12, 10.5
#[test]
fn steps_run_out_and_that_is_no_success() {
    let mut few = input();
    few.spec.max_steps = 3;
    let mut play = Play::start(ActorInput { class: with_step_notes(), ..few });
    let expected = ["If the task is done", "Only 2 steps are left", "Only 1 steps are left"];
    for (step, expected) in (1..=3).zip(expected) {
        assert_eq!(play.step_note().is_some_and(|p| p.contains(expected)), step > 1, "{step}");
        play.calls(vec![read("a", &step.to_string())]).tool(&format!("t/1/{step}/1"), "x");
    }
    let conclusion = play.output.unwrap();
    assert_eq!(conclusion.outcome, Outcome::Failure);
    assert_eq!(conclusion.error.as_ref().map(ToString::to_string).as_deref(), Some("reached max_steps (3)"));
    assert_eq!(conclusion.cause, Some(FailureCause::Steps));
    assert_eq!(play.machine.status(), ActorStatus::Idle);
}

#[test]
fn a_model_that_cannot_answer_ends_the_actor() {
    let cases = [
        (ModelFault::Unusable, Some(FailureCause::Model), ActorStatus::Idle),
        (ModelFault::Refused, Some(FailureCause::Model), ActorStatus::Idle),
        (ModelFault::Bound, None, ActorStatus::Error),
        (ModelFault::Other, None, ActorStatus::Error),
        (ModelFault::ContextOverflow, None, ActorStatus::Error),
    ];
    for (kind, cause, status) in cases {
        let mut play = Play::start(input());
        play.model_says(ModelAnswer::Error { kind, text: "the server is down".into(), hint: None });
        let conclusion = play.output.unwrap();
        assert_eq!((conclusion.outcome, conclusion.cause), (Outcome::Failure, cause), "{kind:?}");
        assert_eq!(conclusion.error.as_ref().map(ToString::to_string).as_deref(), Some("the server is down"));
        assert_eq!(play.machine.status(), status);
    }
}

#[test]
fn a_host_that_fails_at_a_model_call_ends_the_actor() {
    let mut play = Play::start(input());
    play.tool_error("t/1/1", "a fault in aime: the effect panicked");
    assert_eq!(play.output.unwrap().error.as_ref().map(ToString::to_string).as_deref(), Some("a fault in aime: the effect panicked"));
}

#[test]
fn an_answer_to_nothing_changes_nothing() {
    let mut play = Play::start(input());
    play.calls(vec![read("a", "1")]);
    let before = serde_json::to_value(&play.machine).unwrap();
    play.tool("t/1/9/9", "x").person("t/1/1/1", "yes").fact(crate::ActorFact::Resumed {});
    assert_eq!(serde_json::to_value(&play.machine).unwrap(), before);
    assert_eq!(play.output, None);
}
