//! Answers that break off, and tasks at the same time.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::{SERVICES, Service, accepted, refused, thought};
use crate::harness::{actor, bash, done, plan};

#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    type Fault = fn(Reply) -> Reply;
    let faults: [(&str, Fault); 5] = [
        ("cut at the beginning", |reply| reply.cut_after(200)),
        ("cut in the middle", |reply| reply.cut_after(1_500)),
        ("ended too early", |reply| reply.end_after(1_200)),
        ("failed", |_| Reply::failed("server_error", "The server had an error while processing your request.")),
        ("busy", |_| Reply::status(429, json!({"error": {"message": "slow down"}}), [("retry-after", "0")])),
    ];
    for service in SERVICES.into_iter().filter(Service::is_here) {
        for (fault, broken) in faults {
            let whole = || thought(1, bash("echo once >> log")).with_text("A line in the log says that I was here.");
            let script = Script::new()
                .on(When::tools().and_turn(0), [thought(0, bash("echo begun >> log"))])
                .once(When::tools().and_turn(1), [broken(whole())])
                .on(When::tools().and_turn(1), [whole()])
                .on(When::tools().and_turn(2), [thought(2, done("logged"))]);
            let world = service.world(script, "", "");
            let ended = world.aime(["run", "keep a log", "--mode", "direct", "--approve", "all", "--output", "json"]);
            let name = format!("{}: {fault}\n{ended}", service.name);
            assert_eq!((ended.code, &ended.json()["answer"]), (Some(0), &json!("logged")), "{name}");
            assert_eq!(world.read("log"), "begun\nonce\n", "{name}");
            let refused = refused(&world);
            assert_eq!(refused.len(), service.lessons.0, "{name}\n{refused:#?}");
            assert_eq!(accepted(&world).len(), 4, "{name}");
        }
    }
}

#[test]
fn tasks_at_the_same_time_learn_together() {
    for service in SERVICES {
        let tasks: Vec<Value> = ["one", "two", "three"].map(|id| actor(id, &format!("PART-{id}"), &[])).to_vec();
        let of = |id: &str, script: Script| {
            let asked = || When::tools().and_contains(format!("PART-{id}"));
            script
                .on(asked().and_turn(0), [thought(0, bash(&format!("echo {id} >> {id}.txt"))).after_waiting(3)])
                .on(asked().and_turn(1), [thought(1, Reply::call("read_file", json!({"path": format!("{id}.txt")}))).after_waiting(3)])
                .on(asked().and_turn(2), [thought(2, done(&format!("{id} is done")))])
        };
        // Each task's own words come first in its requests, but the list of the plan names no description.
        let script = ["one", "two", "three"].into_iter().fold(Script::new(), |script, id| of(id, script));
        let world = service.world(script.on(When::plain(), [thought(3, Reply::text("All three."))]), "", "");
        world.plan("plan.json", &plan(&tasks));
        let ended = world.aime(["run", "--plan", "plan.json", "--approve", "all", "--output", "json"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!((ended.code, &ended.json()["answer"]), (Some(0), &json!("All three.")), "{name}");
        assert!(["one", "two", "three"].iter().all(|id| world.read(&format!("{id}.txt")) == format!("{id}\n")), "{name}");
        // Each of the first three requests may be refused before one of them has taught the form.
        let refused = refused(&world);
        assert!(refused.len() <= 3 * service.lessons.0, "{name}\n{refused:#?}");
        assert_eq!(accepted(&world).len(), 10, "{name}");
    }
}
