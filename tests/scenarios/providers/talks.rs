//! Words of people and of the runtime in the middle of a task.

use aime_scripted_server::{Reply, Script, When};
use serde_json::json;

use super::{
    SERVICES, accepted,
    reading::{opaque, results},
    refused, thought,
};
use crate::harness::{bash, done, wait_until, write};

#[test]
fn words_of_a_person_come_with_the_next_request() {
    for service in SERVICES {
        let script = Script::new()
            .on(When::tools().and_turn(0), [thought(0, bash("touch began; until test -e go; do sleep 0.1; done"))])
            .on(When::tools().and_last_contains("slowly").and_turn(1), [thought(1, bash("echo slowly > walk.txt"))])
            .on(When::tools().and_contains("slowly").and_turn(2), [thought(2, done("walked slowly"))]);
        let world = service.world(script, "", "");
        let running = world.start(["run", "walk there", "--mode", "direct", "--approve", "all", "--run-id", "trip", "--output", "jsonl"]);
        world.wait_for_file("began");
        world.aime(["tell", "trip", "walk", "slowly"]).must(0);
        wait_until("the words are in the journal", || {
            world.aime(["runs", "events", "trip", "--output", "jsonl"]).events("evidence_added").len() == 1
        });
        world.file("go", "");
        let ended = running.wait();
        let name = format!("{}\n{ended}", service.name);
        assert_eq!((ended.code, &ended.last()["answer"]), (Some(0), &json!("walked slowly")), "{name}");
        let refused = refused(&world);
        assert_eq!(refused.len(), service.lessons.0, "{name}\n{refused:#?}");
    }
}

#[test]
fn a_question_is_answered_after_the_process_has_ended() {
    for service in SERVICES {
        let script = Script::new()
            .on(When::tools().and_turn(0), [thought(0, write("plan.txt", "to the left or to the right\n"))])
            .on(When::tools().and_turn(1), [thought(1, Reply::call("ask_human", json!({"question": "Where to?"})))])
            .on(When::tools().and_turn(2), [thought(2, done("went left"))]);
        let world = service.world(script, "", "");
        world.aime(["run", "walk there", "--mode", "direct", "--run-id", "trip", "--output", "json"]).must(5);
        world.aime(["answer", "trip", "to the left"]).must(0);
        let ended = world.aime(["resume", "trip", "--output", "json"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!((ended.code, &ended.json()["answer"]), (Some(0), &json!("went left")), "{name}");
        let requests = accepted(&world);
        assert_eq!(requests.len(), 3, "{name}");
        assert!(results(&requests[2])[1].contains("to the left"), "{name}");
        // The second turn with its thoughts comes from the journal, as the first one does.
        assert_eq!(opaque(&requests[2])[..opaque(&requests[1]).len()], opaque(&requests[1])[..], "{name}");
        assert_eq!(opaque(&requests[2]).len(), 2 * opaque(&requests[1]).len(), "{name}");
        let refused = refused(&world);
        assert_eq!(refused.len(), 2 * service.lessons.0, "{name}\n{refused:#?}");
    }
}

#[test]
fn words_without_a_call_are_answered_by_the_runtime() {
    for service in SERVICES {
        let script = Script::new()
            .on(When::tools().and_turn(0), [thought(0, Reply::text("I am going to write out.txt."))])
            .on(When::tools().and_turn(1), [thought(1, write("out.txt", "half of it").finish("length"))])
            .on(When::tools().and_turn(2), [thought(2, write("out.txt", "out\n"))])
            .on(When::tools().and_turn(3), [thought(3, done("out.txt is written"))]);
        let world = service.world(script, "", "");
        let ended = world.aime(["run", "write out.txt", "--mode", "direct", "--output", "json"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!((ended.code, &ended.json()["answer"]), (Some(0), &json!("out.txt is written")), "{name}");
        assert_eq!(world.read("out.txt"), "out\n", "{name}");
        let refused = refused(&world);
        assert_eq!(refused.len(), service.lessons.0, "{name}\n{refused:#?}");
    }
}

#[test]
fn a_refusal_of_the_model_is_no_success() {
    for service in SERVICES {
        let script = Script::new()
            .on(When::tools().and_turn(0), [thought(0, write("notes.txt", "a weapon\n"))])
            .on(When::tools(), [Reply::default().with_refusal("I cannot help with that.")])
            .on(When::any(), [Reply::text("It was refused.")]);
        let world = service.world(script, "", "[triggers]\nmax_retries = 0\n");
        let ended = world.aime(["run", "make a weapon", "--mode", "direct", "--unattended", "--output", "json"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!(ended.code, Some(1), "{name}");
        assert!(ended.json()["tasks"][0]["error"].as_str().unwrap().contains("withheld"), "{name}");
    }
}
