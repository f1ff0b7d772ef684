//! Cost of one scripted goal: number of model requests, and tokens of everything that they contain.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::measured;
use super::peers::Peer;
use super::server::Server;

/// Number of tool calls of the goal, each of which returns a page.
const CALLS: &str = "12";

/// Requests for the goal.
#[derive(Deserialize)]
struct Asked {
    requests: u64,
    prompt_tokens: u64,
}

/// Runs the goal once on each system, since nothing depends on the clock. Returns the table in Markdown. The scripted model counts the
/// tokens.
pub(super) fn tokens(program: &Path, server: &mut Server, systems: &[Peer]) -> Result<String> {
    let planned = measured(Command::new(program).args(["planned", CALLS]))?;
    let mut asked = vec![("aime, a plan of tool tasks", planned)];
    for system in systems {
        system.measure::<IgnoredAny>(&[&server.url, CALLS])?;
        asked.push((if system.name == "aime" { "aime, an actor, a call each round" } else { system.name }, server.ask("tokens")?));
    }
    table(&asked)
}

fn table(asked: &[(&str, Asked)]) -> Result<String> {
    let mut text = format!("| one goal, {CALLS} calls of a tool | requests | tokens of all prompts |\n|---|---|---|");
    for (name, Asked { requests, prompt_tokens }) in asked {
        write!(text, "\n| {name} | {requests} | {prompt_tokens} |")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_a_row() {
        let read = |line| serde_json::from_str(line).unwrap();
        let asked = [("one", read(r#"{"requests": 3, "prompt_tokens": 2000}"#)), ("other", read(r#"{"requests": 1, "prompt_tokens": 9}"#))];
        assert!(table(&asked).unwrap().ends_with("---|\n| one | 3 | 2000 |\n| other | 1 | 9 |"));
    }
}
