//! What one scripted goal costs: how often a model is asked for it, and the tokens of all that it is told.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::measured;
use super::peers::Peer;
use super::server::Server;

/// The goal: so many calls of a tool, each of which answers a page.
const CALLS: &str = "12";

/// What was asked for it.
#[derive(Deserialize)]
struct Asked {
    requests: u64,
    prompt_tokens: u64,
}

/// Lets each do it once, since nothing of it depends on the clock, and gives the table in Markdown. The scripted model of all counts what it is told.
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
