//! Another provider takes over in the middle of a task.

use aime_scripted_server::{Provider, Reply, Script, ScriptedCall, ScriptedServer, When};
use serde_json::{Value, json};

use super::{Service, pairs, reading::calls, thought};
use crate::harness::{World, bash, done};

/// The most refusals from which a client learns that has the turns of another provider: to leave out `stream_options` and `reasoning_content`.
const MAX_LESSONS: usize = 2;

/// Calls of the first service, whose ids are as long as those of some services: OpenAI takes 40 characters, Mistral nine. The scripted servers of
/// two services would give the same ids.
fn called(service: Service, turn: usize, calls: &[(&str, Value)]) -> Reply {
    let id = |place: usize| match service.provider {
        Provider::Mistral => format!("first{turn:02}{place:02}"),
        _ => format!("toolu_first_01234567890123456789012345678_{turn:02}{place:02}"),
    };
    let call = |(place, (name, arguments)): (usize, &(&str, Value))| ScriptedCall {
        name: (*name).to_owned(),
        arguments: arguments.clone(),
        id: Some(id(place)),
    };
    thought(turn, Reply { tool_calls: calls.iter().enumerate().map(call).collect(), ..Reply::default() })
}

fn first_turn(service: Service) -> Reply {
    let calls = [("bash", json!({"command": "echo first >> log"})), ("list_dir", json!({"path": "."}))];
    called(service, 0, &calls).with_text("I begin.")
}

fn unavailable() -> Reply {
    Reply::status(503, json!({"error": {"message": "overloaded"}}), [])
}

/// A world whose default model is served by one service, and the model that takes over by another.
fn world(first: Service, script: Script, other: Service, taking_over: &ScriptedServer) -> World {
    first.world(script, "fallback = [\"other\"]\nmax_retries = 0\n", &other.section("other", taking_over))
}

const RUN: [&str; 8] = ["run", "keep a log", "--mode", "direct", "--approve", "all", "--output", "json"];

/// The requests that a server refused because of their form.
fn refused(server: &ScriptedServer) -> usize {
    server.received().iter().filter(|received| received.rule.is_none()).count()
}

// Requirement: 11.8
#[test]
fn another_provider_takes_over() {
    for (first, other) in pairs() {
        let script = Script::new().on(When::tools().and_turn(0), [first_turn(first)]).on(When::any(), [unavailable()]);
        let taking_over = ScriptedServer::start_blocking(
            Script::new()
                .provider(other.provider)
                .on(When::tools().and_turn(1), [thought(1, bash("echo second >> log"))])
                .on(When::tools().and_turn(2), [thought(2, Reply::call("read_file", json!({"path": "log"})))])
                .on(When::tools().and_turn(3), [thought(3, done("kept"))]),
        );
        let world = world(first, script, other, &taking_over);
        let ended = world.aime(RUN);
        let name = format!("{} to {}\n{ended}", first.name, other.name);
        assert_eq!(ended.code, Some(0), "{name}");
        assert_eq!(ended.json()["answer"], "kept", "{name}");
        assert_eq!(world.read("log"), "first\nsecond\n", "{name}");
        let lessons = (refused(world.server()), refused(&taking_over));
        assert!(lessons.0 == first.lessons.0 && lessons.1 <= MAX_LESSONS, "{lessons:?} {name}");
        let last = taking_over.requests().pop().unwrap();
        assert_eq!(calls(&last), ["bash", "list_dir", "bash", "read_file"], "{name}");
        // What the first service thought is its own.
        assert!(!last.to_string().contains("Thought number 0"), "{name}\n{last:#}");
        assert_eq!(taking_over.unmatched(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_first_provider_goes_on_when_it_is_back() {
    for (first, other) in pairs() {
        let script = Script::new()
            .on(When::tools().and_turn(0), [first_turn(first)])
            .once(When::tools().and_turn(1), [unavailable()])
            .on(When::tools().and_turn(5), [called(first, 5, &[("bash", json!({"command": "echo last >> log"}))])])
            .on(When::tools().and_turn(6), [thought(6, done("kept"))]);
        let between = |turn: usize| thought(turn, bash(&format!("echo {turn} >> log")));
        // A model that failed is left out of the next three requests.
        let taking_over = ScriptedServer::start_blocking(
            (1..5).fold(Script::new().provider(other.provider), |script, turn| script.on(When::tools().and_turn(turn), [between(turn)])),
        );
        let world = world(first, script, other, &taking_over);
        let ended = world.aime(RUN);
        let name = format!("{} to {} and back\n{ended}", first.name, other.name);
        assert_eq!(ended.code, Some(0), "{name}");
        assert_eq!(world.read("log"), "first\n1\n2\n3\n4\nlast\n", "{name}");
        let lessons = (refused(world.server()), refused(&taking_over));
        assert!(lessons.0 <= MAX_LESSONS && lessons.1 <= MAX_LESSONS, "{lessons:?} {name}");
        let last = world.server().requests().pop().unwrap();
        assert_eq!(calls(&last).len(), 7, "{name}\n{last:#}");
        assert!(!last.to_string().contains("Thought number 1"), "{name}\n{last:#}");
        assert_eq!((world.server().unmatched(), taking_over.unmatched()), (Vec::new(), Vec::new()), "{name}");
    }
}
