//! The process dies in the middle of a task, and another goes on with what the journal holds.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::{SERVICES, Service, accepted, entries, opaque, refused, results, thought};
use crate::harness::{Ended, World, bash, done};

const RUN: [&str; 8] = ["run", "cut the tree", "--mode", "direct", "--approve", "all", "--output", "json"];

/// The first two turns: a command, and two looks at once.
fn begun() -> Script {
    let at_once = [("read_file", json!({"path": "log"})), ("list_dir", json!({"path": "."}))];
    Script::new()
        .on(When::tools().and_turn(0), [thought(0, bash("echo once >> log"))])
        .on(When::tools().and_turn(1), [thought(1, Reply::tool_calls(at_once)).with_text("I look at both.")])
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

#[test]
fn a_kill_in_a_model_call_loses_no_turn() {
    for service in SERVICES {
        let script = begun()
            .once(When::tools().and_turn(2), [Reply::hang()])
            .on(When::tools().and_turn(2), [thought(2, Reply::call("read_file", json!({"path": "log"})))])
            .on(When::tools().and_turn(3), [thought(3, done("cut"))]);
        let world = service.world(script, "", "");
        let running = world.start(RUN);
        world.wait_for_requests(3 + service.lessons().0);
        running.kill();
        let before = accepted(&world);
        assert_eq!(before.len(), 3);
        let ended = resumed(&world);
        assert_eq!(ended.json()["answer"], "cut", "{ended}");
        assert_eq!(world.read("log"), "once\n", "a finished call is not made again");
        // A new process learns anew.
        let refused = refused(&world);
        assert_eq!(refused.len(), 2 * service.lessons().0, "{}: {refused:#?}", service.name);
        let requests = accepted(&world);
        assert_eq!(requests.len(), 5, "{ended}");
        same_state(service, &requests[2], &requests[3]);
        assert_eq!(entries(&requests[2]), entries(&requests[3]), "{}: the request is the same one", service.name);
        same_state(service, &requests[3], &requests[4]);
    }
}

/// A command that says that it has begun and then waits for the file `go`, though not for ever.
const WAITS: &str = "echo $$ > began; echo cut >> log; for i in $(seq 300); do [ -e go ] && break; sleep 0.1; done; echo end >> log";

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
        assert_eq!(refused.len(), 2 * service.lessons().0, "{}: {refused:#?}", service.name);
        let requests = accepted(&world);
        assert_eq!(requests.len(), 4, "{ended}");
        same_state(service, &requests[2], &requests[3]);
        assert_eq!(opaque(&requests[3]).len(), opaque(&requests[2]).len() * 3 / 2, "{}: the third turn, too", service.name);
        let results = results(&requests[3]);
        assert_eq!(results.len(), 5, "{results:#?}");
        assert!(results[4].contains("In doubt"), "{results:#?}");
    }
}
