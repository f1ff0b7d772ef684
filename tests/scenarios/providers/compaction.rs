//! The conversation of a task no longer fits the window of the model, and is shortened in the middle of the task.

use aime_scripted_server::{Reply, Script, When};
use serde_json::{Value, json};

use super::{
    SERVICES, accepted,
    reading::{calls, results},
    refused, thought,
};
use crate::harness::done;

/// How often the model looks at a long file.
const LOOKS: usize = 12;

fn script() -> Script {
    let turn = |number: usize| {
        let path = format!("{number}.txt");
        let calls = [("read_file", json!({"path": path})), ("read_file", json!({"path": path, "offset": 2}))];
        // The server says nothing of tokens, so they are estimated.
        thought(number, Reply::tool_calls(calls)).with_text("I go on to the next file. ".repeat(240)).without_usage()
    };
    // Turns are dropped, so their number does not tell how far the task is.
    Script::new().once(When::tools(), (0..LOOKS).map(turn)).on(When::tools(), [thought(LOOKS, done("all is read")).without_usage()])
}

#[test]
fn a_shortened_conversation_is_taken() {
    for service in SERVICES {
        let window = "context_tokens = 24000\nmax_output_tokens = 2000\n";
        let world = service.world(script(), window, "[actors]\nkept_messages = 3\n");
        for number in 0..LOOKS {
            world.file(&format!("{number}.txt"), &format!("line of file {number}, which is long\n").repeat(220));
        }
        let ended = world.aime(["run", "read all files", "--mode", "direct", "--output", "jsonl"]);
        let name = format!("{}\n{ended}", service.name);
        assert_eq!(ended.code, Some(0), "{name}");
        assert!(ended.events("history_compacted").len() > 1, "{name}");
        let refused = refused(&world);
        // The newest models bind their thinking to all that came before: it is refused once when that was shortened.
        let bound = usize::from(service.name == "Claude, bound");
        assert_eq!(refused.len(), service.lessons.0 + bound, "{name}\n{refused:#?}");
        let requests = accepted(&world);
        assert_eq!(requests.len(), LOOKS + 1, "{name}");
        let shorter = |what: fn(&Value) -> usize| requests.windows(2).any(|pair| what(&pair[1]) < what(&pair[0]));
        assert!(shorter(|request| calls(request).len()), "turns are dropped: {name}");
        assert!(shorter(|request| results(request).iter().map(String::len).sum()), "results are removed: {name}");
    }
}
