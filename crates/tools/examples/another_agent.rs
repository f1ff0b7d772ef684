//! The tools in an agent outside of aime, with its own loop and its own model. Calls are checked, bounded and confined. Run it with `cargo
//! run -p aime-tools --example another_agent`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{collections::BTreeMap, error::Error, sync::Arc};

use aime_sandbox::ConfinedFolder;
use aime_tools::{Approval, ToolContext, ToolError, ToolOutput, ToolRegistry, ToolRouter, ToolSession, TypedTool, builtin, tools_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// A tool of your own: its parameters are a type, whose doc comments are what the model reads.
#[derive(Deserialize, JsonSchema)]
struct Roll {
    /// Sides of the die
    #[schemars(range(min = 2))]
    sides: u32,
}

async fn roll(Roll { sides }: Roll, _: ToolContext) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::text(format!("4 of {sides}")))
}

/// Stands in for your model. Returns one call after the other, including typical mistakes.
fn model() -> impl Iterator<Item = (&'static str, Value)> {
    [
        ("roll", json!({"sides": "6"})),                                        // text for a number: repaired
        ("roll", json!({"side": 6})),                                           // a wrong name: told, with the right one
        ("throw", json!({})),                                                   // no such tool: told, with those that exist
        ("write_file", json!({"path": "games/roll.txt", "content": "four\n"})), // folders are made
        ("edit_file", json!({"path": "games/roll.txt", "old_text": "five", "new_text": "six"})), // it is not there
        ("edit_file", json!({"path": "games/roll.txt", "old_text": "five\n", "new_text": "six"})), // again: a hint follows
        ("read_file", json!({"path": "../secret"})),                            // nothing leads out of the folder
        ("bash", json!({"command": "rm -rf /"})),                               // a person would be asked
        ("grep", json!({"pattern": "f.ur"})),
    ]
    .into_iter()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Tools of your agent: a bundle, a command line, and one of your own.
    let all = builtin();
    let bundles = tools_of(["files", "shell"])?;
    let mut tools: ToolRegistry = bundles.iter().filter_map(|name| all.get(name).cloned()).collect();
    tools.register(Arc::new(TypedTool::new("roll", "Roll a die.", roll).read_only()));
    println!("tools: {}", tools.names().collect::<Vec<_>>().join(", "));

    // The tools work in one folder, with an empty environment for child processes. This context has no person, so calls that need consent
    // are denied; a context with a person asks.
    let place = tempfile::tempdir()?;
    let context = ToolContext::new(ConfinedFolder::open(place.path())?, BTreeMap::new());
    let mut session = ToolSession::new(tools, context, Approval::Edits);
    let mut router = ToolRouter::default();
    let mut transcript = Vec::new();
    for (name, parameters) in model() {
        let output = session.call(name, &parameters.to_string()).await.map(|output| output.text);
        router.record(name, output.is_ok());
        let text = output.unwrap_or_else(|error| format!("Error: {error}"));
        println!("\n{name}\n  {}", text.trim_end().replace('\n', "\n  "));
        transcript.push(text);
        // Hint about a tool that keeps failing, for the model's next turn.
        if let Some(hint) = router.take_hint(session.tools().all_specs().map(AsRef::as_ref)) {
            println!("  hint: {hint}");
            transcript.push(hint);
        }
    }
    assert_eq!(transcript.first().map(String::as_str), Some("4 of 6"));
    assert!(transcript.iter().any(|text| text.contains("did you mean `sides`?")));
    assert!(transcript.iter().any(|text| text.contains("edit_file") && text.contains("write_file")), "a hint names another way");
    assert!(transcript.last().is_some_and(|text| text.contains("roll.txt")));
    Ok(())
}

#[test]
fn an_agent_uses_the_tools() {
    main().unwrap();
}
