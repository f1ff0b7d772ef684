//! One actor works on the goal, over several turns.

use aime_scripted_server::{Provider, Reply, Script, When};
use serde_json::json;

use super::{
    SERVICES, accepted,
    reading::{acts, cached_entries, calls, opaque, results},
    refused, thought,
};
use crate::harness::{done, write};

const ANSWER: &str = "notes.txt says what is to be done.";

/// A model that writes a file, reads it together with two other things, looks for a file that is not there, and ends.
fn script() -> Script {
    let at_once =
        [("read_file", json!({"path": "notes.txt"})), ("read_file", json!({"path": "todo.txt"})), ("list_dir", json!({"path": "."}))];
    Script::new()
        .on(When::tools().and_turn(0), [thought(0, write("notes.txt", "water the plants\n"))])
        .on(When::tools().and_turn(1), [thought(1, Reply::tool_calls(at_once)).with_text("I look at all of it.")])
        .on(When::tools().and_turn(2), [thought(2, Reply::call("read_file", json!({"path": "missing.txt"})))])
        .on(When::tools().and_turn(3), [thought(3, done(ANSWER))])
}

// Requirement: 11.1
#[test]
fn a_goal_is_reached_over_several_turns() {
    for service in SERVICES {
        let world = service.world(script(), "", "");
        world.file("todo.txt", "the roses\n");
        let ended = world.aime(["run", "Write down what is to be done", "--mode", "direct", "--output", "json"]).must(0);
        assert_eq!(ended.json()["answer"], ANSWER, "{ended}");
        assert_eq!(world.read("notes.txt"), "water the plants\n");
        let refused = refused(&world);
        assert_eq!(refused.len(), service.lessons.0, "{}: {refused:#?}", service.name);
        let requests = accepted(&world);
        assert_eq!(requests.len(), 4, "{ended}");
        assert!(requests.iter().all(acts));
        let last = &requests[3];
        assert_eq!(calls(last), ["write_file", "read_file", "read_file", "list_dir", "read_file"]);
        let results = results(last);
        assert!(results[1].contains("water the plants") && results[2].contains("the roses"), "{results:#?}");
        assert!(results[4].contains("missing.txt"), "{results:#?}");
        // What the model thought goes back with each turn, unless the service signs nothing.
        assert!(opaque(last).len() >= 3, "{}: {last:#}", service.name);
        // Requests grow at their end alone: the service can use its cache.
        for pair in requests.windows(2) {
            let (before, after) = (cached_entries(&pair[0]), cached_entries(&pair[1]));
            assert_eq!(before[..], after[..before.len()], "{}", service.name);
        }
        if service.provider == Provider::OpenAi && !service.is_here() {
            assert!(world.server().received().iter().all(|received| received.path == "/v1/responses"));
        }
    }
}

#[test]
fn a_model_need_not_think_in_each_turn() {
    for service in SERVICES {
        let script = Script::new()
            .on(When::tools().and_turn(0), [write("notes.txt", "water the plants\n")])
            .on(When::tools().and_turn(1), [thought(1, Reply::call("read_file", json!({"path": "notes.txt"})))])
            .on(When::tools().and_turn(2), [Reply::call("list_dir", json!({"path": "."})).with_text("One more look.")])
            .on(When::tools().and_turn(3), [thought(3, Reply::call("read_file", json!({"path": "notes.txt"}))).with_text("And another.")])
            .on(When::tools().and_turn(4), [done(ANSWER)]);
        let world = service.world(script, "", "");
        let ended = world.aime(["run", "Write down what is to be done", "--mode", "direct", "--output", "json"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!((ended.code, &ended.json()["answer"]), (Some(0), &json!(ANSWER)), "{name}");
        let refused = refused(&world);
        assert_eq!(refused.len(), service.lessons.0, "{name}\n{refused:#?}");
        assert_eq!(accepted(&world).len(), 5, "{name}");
    }
}
