//! Measures actors whose model is in aime's own process: rounds of one actor, many concurrent actors, and many waiting ones.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;
use serde::Deserialize;

use super::measured;
use super::plots::Curve;
use super::table::median;

/// Extent of the measurement of actors.
#[derive(Args)]
pub(crate) struct ActorArguments {
    /// Numbers of rounds of one actor over a scripted model
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1_000])]
    pub(super) think: Vec<u32>,
    /// Time limit of a peer's rounds, in seconds: it gets no more rounds where the square of their number predicts more
    #[arg(long, default_value_t = 60)]
    pub(super) patience: u32,
    /// Time that the scripted model takes for each answer, in milliseconds
    #[arg(long, default_value_t = 0)]
    pub(super) model_ms: u64,
    /// Numbers of actors that work at once over a model that takes 200 ms
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100])]
    actors: Vec<u32>,
    /// Numbers of actors that wait for their model at once
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000])]
    waiting: Vec<u32>,
}

#[derive(Deserialize)]
struct Rounds {
    us_per_round: f64,
    shared_prefix: f64,
    first_request_tokens: u64,
}

#[derive(Deserialize)]
struct AtOnce {
    ms: f64,
    ratio: f64,
}

#[derive(Deserialize)]
struct Waiting {
    ms: f64,
    kb_per_actor: f64,
    resident_mb: f64,
}

/// Measures rounds of one actor with an in-process model. Returns the table in Markdown.
pub(super) fn in_process(program: &Path, arguments: &ActorArguments, repeats: u32) -> Result<String> {
    let mut text = "| rounds of one actor, its model in aime's own process | µs a round |\n|---|---|".to_owned();
    let mut requests = String::new();
    for &count in &arguments.think {
        let mut all: Vec<Rounds> = Vec::new();
        for _ in 0..repeats {
            all.push(measured(Command::new(program).arg("rounds").arg(count.to_string()))?);
        }
        if let Some(Rounds { shared_prefix, first_request_tokens, .. }) = all.first() {
            requests = format!(
                "Of {count} requests {:.1} % of the bytes are the beginning of the request before; the first has about {first_request_tokens} tokens, tools and all.",
                shared_prefix * 100.0,
            );
        }
        write!(text, "\n| {count} | {:.0} |", median(&all.iter().map(|one| one.us_per_round).collect::<Vec<_>>()))?;
        eprintln!("measured: {count} rounds in the process");
    }
    Ok(format!("{text}\n\n{requests}"))
}

/// Measures concurrent and waiting actors `repeats` times each. Returns the tables in Markdown with the curve.
pub(super) fn actors(program: &Path, arguments: &ActorArguments, repeats: u32) -> Result<(String, Curve)> {
    let mut text =
        "| actors at once, a call and an end each, and one answer; a model of 200 ms | ms | × of the least possible |\n|---|---|---|"
            .to_owned();
    let mut at_once = Curve::new("actors", "actors at once over a model of 200 ms", "ms");
    for &count in &arguments.actors {
        let mut all = Vec::new();
        for _ in 0..repeats {
            all.push(measured::<AtOnce>(Command::new(program).arg("actors").arg(count.to_string()))?);
        }
        let ms = median(&all.iter().map(|one| one.ms).collect::<Vec<_>>());
        let ratio = median(&all.iter().map(|one| one.ratio).collect::<Vec<_>>());
        write!(text, "\n| {count} | {ms:.0} | {ratio:.2} |")?;
        at_once.points.push((f64::from(count), ms));
    }
    text.push_str("\n\n| actors that wait | KB each | MB in all | ms from start to end |\n|---|---|---|---|");
    for &count in &arguments.waiting {
        let mut all: Vec<Waiting> = Vec::new();
        for _ in 0..repeats {
            all.push(measured(Command::new(program).arg("waiting").arg(count.to_string()))?);
        }
        let of = |what: fn(&Waiting) -> f64| median(&all.iter().map(what).collect::<Vec<_>>());
        let (ms, kb_per_actor, resident_mb) = (of(|one| one.ms), of(|one| one.kb_per_actor), of(|one| one.resident_mb));
        write!(text, "\n| {count} | {kb_per_actor:.1} | {resident_mb:.0} | {ms:.0} |")?;
        eprintln!("measured: {count} that wait");
    }
    Ok((text, at_once))
}
