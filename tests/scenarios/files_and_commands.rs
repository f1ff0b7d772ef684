//! Files and commands as a capable model works with them.
#![cfg(target_os = "linux")]

use std::fs;

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use crate::harness::{World, bash, done, messages_text, wait_until};

const RUN: [&str; 8] = ["run", "see to it", "--mode", "direct", "--approve", "all", "--run-id", "trip"];

/// The result of the call that a request ends with.
fn last_result(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    messages.last().unwrap()["content"].as_str().unwrap_or_default().to_owned()
}

/// An actor that makes these calls in turn and ends; the results of the calls.
fn results(world: &mut World, replies: Vec<Reply>) -> Vec<String> {
    let count = replies.len();
    let script = replies.into_iter().chain([done("seen to")]).enumerate();
    world.serve(script.fold(Script::new(), |script, (turn, reply)| script.on(When::tools().and_turn(turn), [reply])));
    world.aime(RUN).must(0);
    let requests = world.server().requests();
    requests.iter().skip(1).take(count).map(last_result).collect()
}

#[test]
fn several_files_and_edits_take_one_call_each() {
    let mut world = World::alone();
    world.file("a.txt", "one\ntwo  \n");
    world.file("win.txt", "\u{feff}first\r\nsecond\r\n");
    let edits = json!([{"old_text": "one\ntwo\n", "new_text": "1\n2\n"}, {"old_text": "", "new_text": "3"}]);
    let calls = vec![
        Reply::call("read_file", json!({"paths": ["a.txt", "win.txt"]})),
        Reply::call("edit_file", json!({"path": "a.txt", "edits": edits})),
        Reply::call("write_file", json!({"path": "win.txt", "content": "third\n"})),
    ];
    let message = results(&mut world, calls);
    let read = "==> a.txt <==\n1\tone\n2\ttwo  \n==> win.txt <==\n1\tfirst\n2\tsecond\n\
                [the file begins with a byte order mark; its lines end in CRLF]\n";
    assert!(message[0].contains(read), "{}", message[0]);
    assert!(
        message[1].contains("Changed `a.txt`: 2 edits.\nedit 1: [matched although it differs in blanks at line ends]"),
        "{}",
        message[1]
    );
    assert!(message[2].contains("[kept of the file that was there: CRLF line ends, byte order mark]"), "{}", message[2]);
    assert_eq!((world.read("a.txt").as_str(), world.read("win.txt").as_str()), ("1\n2\n3\n", "\u{feff}third\r\n"));
}

#[test]
fn a_program_that_fails_gives_a_result_and_no_error() {
    let message = results(&mut World::alone(), vec![bash("echo two tests failed; exit 2"), bash("echo none failed")]);
    assert!(message[0].contains("two tests failed\n[exit code 2]") && !message[0].contains("Error:"), "{}", message[0]);
}

fn in_the_background() -> Reply {
    let command = "echo $$ > pid; echo listening; while sleep 0.05; do :; done";
    Reply::call("bash", json!({"command": command, "background": true}))
}

fn is_alive(world: &World) -> bool {
    // A process that has ended stays a zombie until somebody waits for it, which a busy machine delays.
    let state = fs::read_to_string(format!("/proc/{}/stat", world.read("pid").trim()));
    state.is_ok_and(|state| !state.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

#[test]
fn a_command_in_the_background_ends_with_the_run() {
    let mut world = World::alone();
    let message = results(
        &mut world,
        vec![in_the_background(), bash("test -d /proc/$(cat pid) && echo lives"), Reply::call("bash_output", json!({}))],
    );
    assert!(message[0].contains("listening\n[p"), "{}", message[0]);
    assert!(message[1].contains("lives"), "{}", message[1]);
    assert!(message[2].contains("In the background:\np"), "{}", message[2]);
    assert!(!is_alive(&world));
}

#[test]
fn after_a_crash_an_actor_is_told_that_its_commands_ended() {
    let script = Script::new()
        .once(When::tools().and_turn(1), [Reply::hang()])
        .on(When::tools().and_turn(0), [in_the_background()])
        .on(When::tools().and_turn(1), [bash("echo on")])
        .on(When::tools().and_turn(2), [done("seen to")]);
    let world = World::with(script);
    let running = world.start(RUN);
    world.wait_for_requests(2);
    running.kill();
    wait_until("the command ends", || !is_alive(&world));
    fs::remove_file(world.path("pid")).unwrap();
    world.aime(["resume", "trip"]).must(0);
    let last = messages_text(world.server().requests().last().unwrap());
    assert!(last.contains("the commands that ran in the background were ended with you: `p"), "{last}");
}

#[test]
fn an_edit_is_followed_by_what_it_broke() {
    let mut world = World::alone();
    world.file("old.txt", "bad since long\n");
    world.user_settings("[diagnostics]\n\"*.txt\" = \"grep -Hn bad *.txt\"\n");
    let write = |content: &str| Reply::call("write_file", json!({"path": "new.txt", "content": content}));
    let message = results(&mut world, vec![write("good\nbad\n"), write("good\n")]);
    assert!(message[0].contains("\nNew since this edit, by `grep -Hn bad *.txt`:\nnew.txt:2:bad"), "{}", message[0]);
    assert!(!message[0].contains("since long") && !message[1].contains("New since"), "{message:?}");
}
