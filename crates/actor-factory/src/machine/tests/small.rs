//! Rules for small models, with one table or case each.

use aime_progress_management::Outcome;
use serde_json::json;

use super::support::{Play, call, class, input, read, terminate, write};
use crate::ActorInput;

// Requirement: 4.34
#[test]
fn who_forgets_a_file_that_its_task_names_is_told_so() {
    let named = ["a.txt", "b.txt"].map(str::to_owned).to_vec();
    let begin = |small: bool| {
        let mut input = ActorInput { named_files: named.clone(), ..input() };
        input.class = class(small);
        Play::start(input)
    };
    let end = || vec![terminate("success", "a.txt and b.txt are written")];
    let is_reminded = |play: &Play| play.results().last().is_some_and(|result| result.contains("the task also names `b.txt`"));
    for (small, times) in [(false, 0), (true, 3)] {
        let mut play = begin(small);
        play.calls(vec![write("w", "src/A.txt")]).tool("t/1/1/1", "written");
        for _ in 0..times {
            play.calls(end());
            assert!(is_reminded(&play), "{:?}", play.results());
        }
        play.calls(end());
        assert_eq!(play.output.unwrap().outcome, Outcome::Success, "what a script names by itself is in no call");
    }
    // File content that mentions the file does not count either.
    let mut play = begin(true);
    let made_up = json!({"path": "a.txt", "content": "This is a copy of b.txt"});
    play.calls(vec![call("w", "write_file", &made_up)]).tool("t/1/1/1", "written");
    play.calls(end());
    assert!(is_reminded(&play));
    // A failed call does not count.
    let mut play = begin(true);
    play.calls(vec![write("w", "a.txt")]).tool("t/1/1/1", "written");
    play.calls(vec![read("r", "b.txt")]).tool_error("t/1/2/1", "there is no such file");
    play.calls(end());
    assert!(is_reminded(&play));
    // Each file gets a reminder, one per attempt to end.
    let mut play = begin(true);
    play.calls(vec![write("w", "a.txt")]).tool("t/1/1/1", "written");
    play.calls([vec![write("v", "b.txt")], end()].concat()).tool("t/1/2/1", "written");
    assert_eq!(play.output.unwrap().outcome, Outcome::Success);
    // An actor that gives up needs no reminder.
    let mut play = begin(true);
    play.calls(vec![read("r", "a.txt")]).tool("t/1/1/1", "text");
    play.calls(vec![terminate("failure", "it cannot be done")]);
    assert_eq!(play.output.unwrap().outcome, Outcome::Failure);
}

// Requirement: 4.34
#[test]
fn a_small_model_is_not_offered_the_tool_that_it_repeats() {
    let mut input = input();
    input.class = class(true);
    let mut play = Play::start(input);
    let offered = |play: &Play| play.requests.last().unwrap().tools.iter().any(|tool| tool.name == "read_file");
    for step in 1..=3 {
        assert!(offered(&play), "{step}");
        play.calls(vec![read("a", "1")]).tool(&format!("t/1/{step}/1"), "same");
    }
    assert!(!offered(&play));
    play.calls(vec![write("b", "b.txt")]).tool("t/1/4/1", "written");
    assert!(offered(&play), "for one request");
}

// Requirement: 4.34
#[test]
fn a_small_model_that_only_fails_is_asked_for_the_conclusion() {
    for small in [true, false] {
        let mut input = input();
        input.class = class(small);
        let mut play = Play::start(input);
        for step in 1..=6 {
            assert!(!play.is_asked_to_conclude(), "{small} {step}");
            play.calls(vec![read("r", &format!("{step}.txt"))]).tool_error(&format!("t/1/{step}/1"), "no such file");
        }
        assert_eq!(play.is_asked_to_conclude(), small, "others learn from failures");
    }
}

#[test]
fn what_a_small_model_saw_last_is_kept_for_those_after_it() {
    let long = "x".repeat(700);
    for (small, seen, expected) in
        [(true, "7 lines\n", Some("7 lines")), (true, long.as_str(), Some("x")), (true, " ", None), (false, "7", None)]
    {
        let mut input = input();
        input.class = class(small);
        let mut play = Play::start(input);
        play.calls(vec![read("r", "a.txt")]).tool("t/1/1/1", seen);
        play.calls(vec![read("r", "b.txt")]).tool_error("t/1/2/1", "there is no such file");
        play.calls(vec![terminate("success", "done")]);
        let observed = play.output.unwrap().observed;
        assert!(observed.as_deref().map(|o| o.chars().count()) <= Some(601), "the beginning");
        assert_eq!(observed.is_some(), expected.is_some(), "{small} {seen}");
        assert!(observed.is_none_or(|o| o.starts_with(expected.unwrap_or_default())));
    }
    let mut small = input();
    small.class = class(true);
    let mut play = Play::start(small);
    play.calls(vec![read("r", "a.txt")]).tool("t/1/1/1", "7 lines");
    play.calls(vec![write("w", "b.txt")]).tool("t/1/2/1", "wrote 7 bytes");
    play.calls(vec![call("m", "bash", &json!({"command": "mv a.txt c.txt"}))]).tool("t/1/3/1", aime_tools::SILENT);
    play.calls(vec![read("r", "empty.txt")]).tool("t/1/4/1", "");
    play.calls(vec![terminate("success", "done")]);
    assert_eq!(play.output.unwrap().observed.as_deref(), Some("7 lines"), "what is written shows nothing");
    let mut input = input();
    input.class = class(true);
    let mut play = Play::start(input);
    play.calls(vec![read("r", "a.txt")]).tool("t/1/1/1", "text");
    play.calls(vec![terminate("failure", "it cannot be done")]);
    assert_eq!(play.output.unwrap().observed, None, "nothing follows a failure");
}

#[test]
fn who_gives_up_is_said_to_have_met_its_last_error() {
    let busy = "blocked by the hook flaky:\n the machine is busy";
    let given_up = |small: bool, message: &str, after: Option<(&str, &str)>| {
        let mut input = input();
        input.class = class(small);
        let mut play = Play::start(input);
        play.calls(vec![write("w", "a.txt")]).tool_error("t/1/1/1", busy);
        if let Some((tool, result)) = after {
            let next = if tool == "write_file" { write("v", "a.txt") } else { read("v", "b.txt") };
            play.calls(vec![next]).tool("t/1/2/1", result);
        }
        while play.output.is_none() {
            play.calls(vec![terminate("failure", message)]);
        }
        play.output.unwrap().error.unwrap()
    };
    let met = " (the last call that failed: `write_file`: blocked by the hook flaky: the machine is busy)";
    assert_eq!(given_up(true, "It was not written.", None), format!("It was not written.{met}"));
    assert_eq!(given_up(true, "It was not written.", Some(("read_file", "text"))), format!("It was not written.{met}"));
    assert_eq!(given_up(true, "It is no text.", Some(("write_file", "written"))), "It is no text.", "it got over that");
    let error = "Error: blocked by the hook flaky: the machine is busy";
    assert_eq!(given_up(true, error, None), error, "once is enough");
    assert_eq!(given_up(false, "It was not written.", None), "It was not written.", "others say what they met");
}
