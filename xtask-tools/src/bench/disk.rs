//! Compares the journal with the lower bound of the disk: a bare file that is written and synced as often.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::Deserialize;

use super::measured;
use super::table::median;

/// Cases: a run of tasks that change something, and the journal alone, each sequentially and with 64 at once.
const CASES: [&[&str]; 4] =
    [&["run", "200"], &["run", "640", "--at-once", "64"], &["journal", "1000"], &["journal", "6400", "--at-once", "64"]];

/// One measurement of a case.
#[derive(Deserialize)]
struct Measured {
    case: String,
    ms: f64,
    commits: f64,
    kb: f64,
    bare_ms: f64,
}

/// Measures every case `repeats` times in turn, in `folder`, which selects the disk. Returns the table in Markdown.
pub(super) fn disk(program: &Path, folder: &Path, repeats: u32) -> Result<String> {
    let mut rounds: [Vec<Measured>; CASES.len()] = Default::default();
    for _ in 0..repeats {
        for (case, rounds) in CASES.iter().zip(&mut rounds) {
            rounds.push(measured(Command::new(program).arg("disk").args(*case).env("TMPDIR", folder))?);
        }
    }
    table(&rounds)
}

/// Formats the medians, with their ratios to the time of the bare file.
fn table(cases: &[Vec<Measured>]) -> Result<String> {
    let mut text =
        "| what is durable before it goes on | ms | commits | KB | a bare file, as often and as much, ms | × |\n|---|---|---|---|---|---|"
            .to_owned();
    for rounds in cases {
        let of = |what: fn(&Measured) -> f64| median(&rounds.iter().map(what).collect::<Vec<_>>());
        let (ms, bare) = (of(|one| one.ms), of(|one| one.bare_ms));
        let case = rounds.first().map_or("", |one| one.case.as_str());
        let ratio = if bare > 0.0 { format!("{:.2}", ms / bare) } else { "–".to_owned() };
        write!(text, "\n| {case} | {ms:.0} | {:.0} | {:.0} | {bare:.0} | {ratio} |", of(|one| one.commits), of(|one| one.kb))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_shows_its_medians_and_how_many_times_the_bare_file_it_took() {
        let read = |ms: f64| -> Measured {
            let line = format!(r#"{{"case": "200 tasks", "ms": {ms}, "commits": 203, "kb": 4096.4, "bare_ms": {}}}"#, ms / 1.6);
            serde_json::from_str(&line).unwrap()
        };
        let nothing = || Measured { case: "nothing".to_owned(), ms: 1.0, commits: 0.0, kb: 0.0, bare_ms: 0.0 };
        let text = table(&[[480.0, 160.0, 320.0].map(read).into(), vec![nothing()]]).unwrap();
        assert!(text.ends_with("\n| 200 tasks | 320 | 203 | 4096 | 200 | 1.60 |\n| nothing | 1 | 0 | 0 | 0 | – |"), "{text}");
    }
}
