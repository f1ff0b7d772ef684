//! The process dies in the middle of a task, and another goes on with what the journal holds.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::{
    SERVICES, Service, accepted, pairs,
    reading::{entries, opaque, results},
    refused, thought,
};
use crate::harness::{Ended, World, bash, done, wait_until};

const RUN: [&str; 8] = ["run", "cut the tree", "--mode", "direct", "--approve", "all", "--output", "json"];

/// The first two turns: a command, and two looks at once.
fn begun() -> Script {
    let at_once = [("read_file", json!({"path": "log"})), ("list_dir", json!({"path": "."}))];
    Script::new()
        .on(When::tools().and_turn(0), [thought(0, bash("echo once >> log"))])
        .on(When::tools().and_turn(1), [thought(1, Reply::tool_calls(at_once)).with_text("I look at both.")])
}

/// Waits until the results of the first two turns are durable. The request after them need not wait for that.
fn wait_for_results(world: &World) {
    wait_until("both turns are in the journal", || {
        world.aime(["runs", "events", "last", "--output", "jsonl"]).stdout.matches("\"tool_call_finished\"").count() == 3
    });
}

fn resumed(world: &World) -> Ended {
    world.aime(["resume", "last", "--output", "json"]).must(0)
}

/// The opaque state before a kill comes first in a request after it.
#[track_caller]
fn same_state(service: Service, before: &Value, after: &Value) {
    let (before, after) = (opaque(before), opaque(after));
    assert!(before.len() >= 2, "{}: {before:#?}", service.name);
    assert_eq!(before[..], after[..before.len().min(after.len())], "{}", service.name);
}

// Requirement: 11.2
#[test]
fn a_kill_in_a_model_call_loses_no_turn() {
    for service in SERVICES {
        let script = begun()
            .once(When::tools().and_turn(2), [Reply::hang()])
            .on(When::tools().and_turn(2), [thought(2, Reply::call("read_file", json!({"path": "log"})))])
            .on(When::tools().and_turn(3), [thought(3, done("cut"))]);
        let world = service.world(script, "", "");
        let running = world.start(RUN);
        world.wait_for_requests(3 + service.lessons.0);
        wait_for_results(&world);
        running.kill();
        let before = accepted(&world);
        assert_eq!(before.len(), 3);
        let ended = resumed(&world);
        assert_eq!(ended.json()["answer"], "cut", "{ended}");
        assert_eq!(world.read("log"), "once\n", "a finished call is not made again");
        // A new process learns anew.
        let refused = refused(&world);
        assert_eq!(refused.len(), 2 * service.lessons.0, "{}: {refused:#?}", service.name);
        let requests = accepted(&world);
        assert_eq!(requests.len(), 5, "{ended}");
        same_state(service, &requests[2], &requests[3]);
        assert_eq!(entries(&requests[2]), entries(&requests[3]), "{}: the request is the same one", service.name);
        same_state(service, &requests[3], &requests[4]);
    }
}

/// A command that writes to `log`, then writes `began`, and then waits at most 30 seconds for the file `go`.
const WAITS: &str = "echo cut >> log; echo $$ > began; for i in $(seq 300); do [ -e go ] && break; sleep 0.1; done; echo end >> log";

#[test]
fn a_kill_in_a_command_loses_no_turn() {
    for service in SERVICES {
        let at_once = [("read_file", json!({"path": "log"})), ("bash", json!({"command": WAITS}))];
        let script = begun()
            .on(When::tools().and_turn(2), [thought(2, Reply::tool_calls(at_once))])
            .on(When::tools().and_turn(3), [thought(3, done("I looked: it had begun"))]);
        let world = service.world(script, "", "");
        let running = world.start(RUN);
        world.wait_for_file("began");
        running.kill();
        world.file("go", "");
        let ended = resumed(&world);
        assert_eq!(ended.json()["answer"], "I looked: it had begun", "{ended}");
        let log = world.read("log");
        assert_eq!((log.matches("once").count(), log.matches("cut").count()), (1, 1), "neither is repeated: {log}");
        let refused = refused(&world);
        assert_eq!(refused.len(), 2 * service.lessons.0, "{}: {refused:#?}", service.name);
        let requests = accepted(&world);
        assert_eq!(requests.len(), 4, "{ended}");
        same_state(service, &requests[2], &requests[3]);
        assert_eq!(opaque(&requests[3]).len(), opaque(&requests[2]).len() * 3 / 2, "{}: the third turn, too", service.name);
        let results = results(&requests[3]);
        assert_eq!(results.len(), 5, "{results:#?}");
        assert!(results[4].contains("In doubt"), "{results:#?}");
    }
}

/// A model that ends the task that the script [`begun`] began. Its calls have ids that no other server gives.
fn ends() -> Script {
    let named = |id: &str, mut reply: Reply| {
        reply.tool_calls[0].id = Some(id.to_owned());
        reply
    };
    Script::new()
        .on(When::tools().and_turn(2), [named("later0001", thought(2, bash("echo last >> log")))])
        .on(When::tools().and_turn(3), [named("later0002", thought(3, done("cut")))])
}

/// A run that was killed in its third request.
fn killed(service: Service) -> World {
    let world = service.world(begun().on(When::tools(), [Reply::hang()]), "", "");
    let running = world.start(RUN);
    world.wait_for_requests(3 + service.lessons.0);
    wait_for_results(&world);
    running.kill();
    world
}

#[test]
fn a_service_that_no_longer_knows_its_turns_gets_them_in_words() {
    for service in SERVICES.into_iter().filter(|service| !service.is_here()) {
        let mut world = killed(service);
        // The address is the same one, but nothing is known there: as after a change of the keys that encrypt and sign.
        service.take_over(&mut world, ends());
        let ended = world.aime(["resume", "last", "--output", "json"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!((ended.code, &ended.json()["answer"]), (Some(0), &json!("cut")), "{name}");
        assert_eq!(world.read("log"), "once\nlast\n", "{name}");
        let refused = refused(&world);
        assert!(refused.len() <= 1, "{name}\n{refused:#?}");
        assert_eq!(accepted(&world).len(), 2, "{name}");
    }
}

#[test]
fn a_run_goes_on_with_another_service() {
    for (service, other) in pairs() {
        let mut world = killed(service);
        other.take_over(&mut world, ends());
        let ended = world.aime(["resume", "last", "--output", "json"]);
        let name = format!("{} to {}\n{ended}", service.name, other.name);
        assert_eq!((ended.code, &ended.json()["answer"]), (Some(0), &json!("cut")), "{name}");
        assert_eq!(world.read("log"), "once\nlast\n", "{name}");
        let last = accepted(&world).pop().unwrap();
        assert!(!last.to_string().contains("Thought number 1"), "{name}\n{last:#}");
        assert!(refused(&world).len() <= 2, "{name}\n{:#?}", refused(&world));
    }
}
