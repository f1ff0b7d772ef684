//! What is kept of a run: the tokens of its requests, and no secret.

use std::{fs, path::Path};

use aime_scripted_server::{Provider, Reply, Script, ScriptedUsage, When};
use serde_json::json;

use super::{SERVICES, accepted, reading::calls, thought};
use crate::harness::{actor, done, plan, write};

const CANARY: &str = "sk-canary-4f1d7a90c2be";

/// The files beneath a folder whose bytes hold this text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_key_that_a_model_repeats_is_not_kept() {
    for service in SERVICES {
        let leaks = |reply: Reply| reply.with_reasoning(format!("The key of this machine is {CANARY}, I must not say it."));
        let script = Script::new()
            .on(When::tools().and_turn(0), [leaks(write("a.txt", "a\n"))])
            .on(When::tools().and_turn(1), [leaks(write("b.txt", "b\n")).with_text(format!("I know {CANARY}."))])
            .on(When::tools().and_turn(2), [leaks(done("both are written"))]);
        // A turn that holds a secret goes back without its thoughts, which these servers refuse.
        let script = match service.provider {
            Provider::DeepSeek | Provider::OpenRouter | Provider::Mistral => script.lenient(),
            _ => script,
        };
        let mut world = service.world(script, "", "");
        world.set("OPENAI_API_KEY", CANARY);
        let ended = world.aime(["run", "write a.txt and b.txt", "--mode", "direct", "--output", "jsonl"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!(ended.code, Some(0), "{name}");
        assert!(!name.contains(CANARY), "{name}");
        assert_eq!(holding(&world.work(), CANARY), Vec::<String>::new(), "{name}");
        assert!(holding(&world.path(".aime"), "both are written").iter().any(|path| path.contains("aime.db")), "the run is kept: {name}");
        let requests = accepted(&world);
        for request in &requests {
            assert!(!request.to_string().contains(CANARY), "{name}\n{request:#}");
        }
        assert_eq!(calls(requests.last().unwrap()), ["write_file", "write_file"], "{name}");
    }
}

#[test]
fn the_tokens_of_all_requests_are_counted() {
    let usage = |reply: Reply| Reply { usage: Some(ScriptedUsage { input: 1_000, cached: 600, output: 50, reasoning: 30 }), ..reply };
    let planned = plan(&[actor("a", "PART-A", &[]), actor("b", "PART-B", &["a"])]);
    for service in SERVICES {
        let script = Script::new()
            .on(When::schema("aime_plan"), [usage(thought(0, Reply::json(planned.clone())))])
            .on(When::tools().and_contains("PART-B"), [usage(thought(1, done("b is done")))])
            .on(When::tools().and_turn(0), [usage(thought(2, write("a.txt", "a\n")))])
            .on(When::tools().and_turn(1), [usage(thought(3, done("a is done")))])
            .on(When::plain(), [usage(thought(4, Reply::text("Both are done.")))]);
        let prices = "prices = { input = 1.0, cached_input = 0.5, output = 10.0 }\n";
        let world = service.world(script, prices, "");
        let ended = world.aime(["run", "do a and b", "--mode", "complex", "--output", "json"]).must(0);
        let name = format!("{}\n{ended}", service.name);
        let spent = ended.json()["usage"].clone();
        assert_eq!((accepted(&world).len(), &spent["requests"]), (5, &json!(5)), "refused requests do not count: {name}");
        let tokens = [&spent["input_tokens"], &spent["cached_input_tokens"], &spent["output_tokens"]];
        assert_eq!(tokens, [&json!(5_000), &json!(3_000), &json!(250)], "{name}");
        let micro_dollars = spent["cost_usd"].as_f64().unwrap() * 1e6;
        assert!((micro_dollars - 5.0 * (400.0 + 300.0 + 500.0)).abs() < 1.0, "{name}");
    }
}
