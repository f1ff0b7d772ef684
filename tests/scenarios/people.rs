//! Questions to people: asked, left open, answered from another process, and never asked twice.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use crate::harness::{World, bash, done, gives_up, messages_text, plan, task, tool};

const ASK: [&str; 8] = ["run", "paint the wall", "--mode", "direct", "--output", "json", "--run-id", "paint"];

/// An actor that appends to a log, asks for a colour, and paints with it.
fn painter() -> World {
    World::with(
        Script::new()
            .on(When::tools().and_turn(0), [bash("echo began >> log")])
            .on(When::tools().and_turn(1), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
            .on(When::tools().and_last_contains("blue").and_turn(2), [done("painted blue")])
            .on(When::tools().and_contains("blue").and_turn(2), [done("painted blue")]),
    )
}

// Requirement: 4.30, 12.9
#[test]
fn an_actor_asks_and_goes_on_with_the_answer() {
    let world = painter();
    let ended = world.aime(ASK.iter().chain(&["--approve", "all"])).must(5);
    let result = ended.json();
    assert_eq!(result["status"], "waiting_for_human", "{ended}");
    assert!(result["error"]["message"].as_str().unwrap().contains("Which colour?"), "{ended}");
    assert_eq!(world.server().requests().len(), 2);
    world.aime(["answer", "paint", "blue"]).must(0);
    let ended = world.aime(["resume", "paint", "--output", "json"]).must(0);
    assert_eq!(ended.json()["answer"], "painted blue", "{ended}");
    let requests = world.server().requests();
    assert_eq!(requests.len(), 3, "what was said is not said again\n{ended}");
    let last = requests[2]["messages"].as_array().unwrap();
    let mut results = last.iter().filter(|message| message["role"] == "tool").map(|message| message["content"].as_str().unwrap());
    assert!(results.next_back().unwrap().contains("blue"), "{:#}", requests[2]);
    assert_eq!(world.read("log"), "began\n", "the command ran once");
}

#[test]
fn without_an_answer_it_still_waits() {
    let world = painter();
    world.aime(ASK.iter().chain(&["--approve", "all"])).must(5);
    for _ in 0..2 {
        let ended = world.aime(["resume", "paint", "--output", "json"]).must(5);
        assert!(ended.json()["error"]["message"].as_str().unwrap().contains("Which colour?"), "{ended}");
    }
    assert_eq!(world.server().requests().len(), 2);
    assert_eq!(world.read("log"), "began\n");
    world.aime(["answer", "paint", "blue"]).must(0);
    world.aime(["resume", "paint"]).must(0);
    let ended = world.aime(["runs", "events", "paint", "--output", "jsonl"]).must(0);
    assert_eq!(ended.events("question_asked").len(), 1, "one question\n{ended}");
    assert_eq!(ended.events("question_answered").len(), 1);
}

fn blocked() -> Reply {
    let needs = json!({"status": "blocked", "message": "The service refuses every request.", "needs": "a key in key.txt"});
    Reply::call("terminate", needs)
}

// Requirement: 7.2, 20.1
#[test]
fn a_blocked_run_waits_and_goes_on_in_the_same_conversation() {
    let script = || Script::new().on(When::tools(), [Reply::call("list_dir", json!({"path": "."})), blocked(), done("uploaded")]);
    for (words, note) in [
        (None, "lets you go on"),
        (Some(("answer", "it is in the safe")), "answers: it is in the safe"),
        (Some(("tell", "it is in the safe")), "it is in the safe"),
    ] {
        for mode in ["direct", "auto"] {
            let world = World::led(script());
            let lines = [
                "question: The service refuses every request.",
                "needs: a key in key.txt",
                "hint: provide what is missing, then `aime resume up`; to add an explanation first, use `aime answer up TEXT`",
            ];
            let ended =
                world.aime(["run", "upload the report", "--mode", mode, "--run-id", "up", "--unattended"]).must(5).stderr_contains(&lines);
            assert!(!ended.stderr.contains("error"), "nothing has failed\n{ended}");
            if let Some((command, text)) = words {
                world.aime([command, "up", text]).must(0);
            }
            let result = world.aime(["resume", "up", "--output", "json"]).must(0).json();
            assert_eq!((result["status"].as_str(), result["answer"].as_str()), (Some("completed"), Some("uploaded")), "{mode} {words:?}");
            let requests = world.server().requests();
            assert_eq!(requests.len(), 3, "what was looked at is not looked at again");
            super::lead::grows_only_at_its_end(&requests);
            let last = requests[2]["messages"].as_array().unwrap().last().unwrap().to_string();
            let expected = if mode == "auto" && words.is_none() { "nothing was said" } else { note };
            assert!(last.contains(expected.trim_start_matches(if mode == "auto" { "answers: " } else { "" })), "{mode}: {last}");
        }
    }
}

#[test]
fn unattended_nobody_is_asked() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
        .on(When::tools(), [done("painted in a colour of my own")]);
    let world = World::with(script);
    let ended = world.aime(ASK.iter().chain(&["--unattended"])).must(0);
    assert_eq!(ended.json()["status"], "completed", "{ended}");
    let offered = world.server().requests()[0]["tools"].to_string();
    assert!(!offered.contains("ask_human"), "what cannot be done is not offered");
}

/// An actor that wants to run a command, and says whether it could.
fn commander() -> World {
    World::with(
        Script::new()
            .on(When::tools().and_turn(0), [bash("echo ran >> log; echo it went w''ell")])
            .on(When::tools().and_contains("it went well").and_turn(1), [done("the command ran")])
            .on(When::tools().and_turn(1), [gives_up("I was not allowed to")]),
    )
}

#[test]
fn commands_wait_for_consent() {
    for (answer, code, log) in [("yes", 0, "ran\n"), ("no", 1, "")] {
        let world = commander();
        let ended = world.aime(ASK).must(5);
        let message = ended.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("echo ran >> log"), "the question shows the command: {message}");
        assert!(!world.exists("log"), "not before a person said so");
        world.aime(["answer", "paint", answer]).must(0);
        let ended = world.aime(["resume", "paint", "--output", "json"]);
        assert_eq!(world.read("log"), log, "{answer}\n{ended}");
        ended.must(code);
        assert_eq!(world.server().requests().len(), 2);
    }
}

#[test]
fn unattended_a_command_that_needs_consent_is_refused() {
    let world = commander();
    let ended = world.aime(ASK.iter().chain(&["--unattended"])).must(1);
    assert!(!world.exists("log"), "{ended}");
    assert!(messages_text(&world.server().requests()[1]).contains("not allowed"), "the actor is told");
}

#[test]
fn a_tool_task_waits_for_consent_too() {
    // Without a model nothing but the answer helps, also where nobody is there.
    for (answer, code, unattended) in [("yes", 0, false), ("no", 1, false), ("yes", 0, true)] {
        let world = World::alone();
        world.plan("plan.json", &plan(&[tool("note", "write_file", json!({"path": "note.txt", "content": "hello"}), &[])]));
        let run = ["run", "--plan", "plan.json", "--approve", "ask", "--run-id", "note", "--output", "json"];
        let ended = world.aime(run.iter().chain(unattended.then_some(&"--unattended"))).must(5);
        assert!(ended.json()["error"]["message"].as_str().unwrap().contains("note.txt"), "{ended}");
        assert!(!world.exists("note.txt"));
        world.aime(["answer", "note", answer]).must(0);
        let ended = world.aime(["resume", "note", "--output", "json"]).must(code);
        assert_eq!(world.exists("note.txt"), answer == "yes", "{ended}");
        let status = if answer == "yes" { "completed" } else { "failed" };
        assert_eq!(task(&ended.json(), "note")["status"], status, "{ended}");
    }
}

// Requirement: 4.30
#[test]
fn a_question_holds_up_only_its_own_task() {
    let tasks = plan(&[
        crate::harness::actor("ask", "ASKS-FIRST", &[]),
        crate::harness::actor("work", "WORKS-ON", &[]),
        crate::harness::actor("more", "WORKS-MORE", &["work"]),
    ]);
    let script = Script::new()
        .on(When::tools().and_contains("ASKS-FIRST").and_turn(0), [Reply::call("ask_human", json!({"question": "Where?"}))])
        .on(When::tools().and_contains("ASKS-FIRST"), [done("there")])
        .on(When::tools().and_contains("WORKS-ON"), [done("worked").after_request("ASKS-FIRST")])
        .on(When::tools().and_contains("WORKS-MORE"), [done("worked more")])
        .on(When::plain(), [Reply::text("All of it.")]);
    let world = World::with(script);
    world.plan("plan.json", &tasks);
    let result = world.aime(["run", "--plan", "plan.json", "--run-id", "r", "--output", "json"]).must(5).json();
    assert_eq!(task(&result, "work")["status"], "completed");
    assert_eq!(task(&result, "more")["status"], "completed");
    world.aime(["answer", "r", "here"]).must(0);
    let result = world.aime(["resume", "r", "--output", "json"]).must(0).json();
    assert_eq!(task(&result, "ask")["status"], "completed");
    assert_eq!(world.actor_requests("WORKS-MORE").len(), 1, "done work is not done again");
}

#[test]
fn answers_go_to_the_questions_in_their_order() {
    let script = Script::new()
        .on(When::tools().and_contains("ASKS-FIRST").and_turn(0), [Reply::call("ask_human", json!({"question": "Where?"}))])
        .on(When::tools().and_contains("ASKS-THEN").and_turn(0), [Reply::call("ask_human", json!({"question": "When?"}))])
        .on(When::tools().and_contains("ASKS-FIRST").and_contains("the garden"), [done("in the garden")])
        .on(When::tools().and_contains("ASKS-THEN").and_contains("at noon"), [done("at noon")])
        .on(When::tools(), [gives_up("the wrong answer")])
        .on(When::plain(), [Reply::text("In the garden at noon.")]);
    let world = World::with(script);
    let tasks = plan(&[crate::harness::actor("first", "ASKS-FIRST", &[]), crate::harness::actor("then", "ASKS-THEN", &[])]);
    world.plan("plan.json", &tasks);
    let asked = world.aime(["run", "--plan", "plan.json", "--run-id", "r", "--output", "jsonl"]).must(5);
    let questions: Vec<String> =
        asked.events("question_asked").iter().map(|event| event["question"].as_str().unwrap().to_owned()).collect();
    assert_eq!(questions.len(), 2);
    for question in &questions {
        let answer = if question == "Where?" { "in the garden" } else { "at noon" };
        world.aime(["answer", "r", answer]).must(0).stderr_contains(&[question]);
    }
    world.aime(["answer", "r", "and why"]).must(2);
    let result = world.aime(["resume", "r", "--output", "json"]).must(0).json();
    assert_eq!(task(&result, "first")["summary"], "in the garden");
    assert_eq!(task(&result, "then")["summary"], "at noon");
}

#[test]
fn an_answer_needs_a_question() {
    let world = World::with(Script::new().on(When::tools(), [done("done")]));
    world.aime(["answer", "nobody", "yes"]).must(2).stderr_contains(&["nobody"]);
    world.aime(["run", "do it", "--mode", "direct", "--run-id", "quiet"]).must(0);
    world.aime(["answer", "quiet", "yes"]).must(2).stderr_contains(&["quiet"]);
}

#[test]
fn at_a_terminal_a_person_is_asked_and_answers_at_once() {
    for (answer, code, log) in [("yes\n", 0, "ran\n"), ("no\n", 1, "")] {
        let world = commander();
        let mut running = world.terminal("exec AIME run 'paint the wall' --mode direct --plain", (100, 24));
        running.shows(&["[N]o >"]);
        running.types(answer);
        let text = running.ends().must(code).text;
        assert!(text.contains("echo ran >> log"), "the question is seen\n{text}");
        assert_eq!(world.read("log"), log);
        assert!(code == 1 || text.contains("the command ran"), "and the answer\n{text}");
    }
}
