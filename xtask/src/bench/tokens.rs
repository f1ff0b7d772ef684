//! What one scripted goal costs: how often a model is asked for it, and the tokens of all that it is told.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::Deserialize;

use super::measured;
use super::peers::Peer;

/// The goal: so many calls of a tool, each of which answers a page.
const CALLS: &str = "12";

/// What a program says of it. Not every peer's tells it.
#[derive(Deserialize)]
struct Asked {
    requests: Option<u64>,
    prompt_tokens: Option<u64>,
}

/// Lets each do it once, since nothing of it depends on the clock, and gives the table in Markdown.
pub(super) fn tokens(program: &Path, peers: &[Peer]) -> Result<String> {
    let planned = measured(Command::new(program).args(["first-call", CALLS, "--ms", "0"]))?;
    let actor = measured(Command::new(program).args(["rounds", CALLS]))?;
    let mut asked = vec![("aime, a plan of tool tasks", planned), ("aime, an actor, a call each round", actor)];
    for peer in peers {
        asked.push((peer.name, peer.measure(CALLS)?));
    }
    table(&asked)
}

fn table(asked: &[(&str, Asked)]) -> Result<String> {
    let mut text = format!("| one goal, {CALLS} calls of a tool | requests | tokens of all prompts |\n|---|---|---|");
    for (name, Asked { requests, prompt_tokens }) in asked {
        if let (Some(requests), Some(tokens)) = (requests, prompt_tokens) {
            write!(text, "\n| {name} | {requests} | {tokens} |")?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_tell_nothing_are_left_out() {
        let one = Asked { requests: Some(3), prompt_tokens: Some(2_000) };
        let other: Asked = serde_json::from_str(r#"{"rounds": 12, "ms": 1.0}"#).unwrap();
        let text = table(&[("one", one), ("other", other)]).unwrap();
        assert!(text.ends_with("---|\n| one | 3 | 2000 |"), "{text}");
    }
}
