//! Compares the private folders of tasks that run at once with `git clone --shared`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde::Deserialize;

use super::measured;
use super::table::median;

/// Rows: the name of a time in the output, and what it is.
const ROWS: [(&str, &str); 5] = [
    ("clone", "`git clone --shared`"),
    ("first", "the first private folder of a run"),
    ("next", "another one"),
    ("merge", "merging one changed file"),
    ("unchanged", "merging nothing"),
];

#[derive(Deserialize)]
struct Measured {
    files: usize,
    ms: BTreeMap<String, f64>,
}

/// Measures `repeats` times in `folder`, which selects the disk. Returns the table in Markdown.
pub(super) fn copies(program: &Path, folder: &Path, repeats: u32) -> Result<String> {
    let measure = |_| {
        measured(
            Command::new(program)
                .arg("copies")
                .arg("--search-path")
                .arg(std::env::var_os("PATH").unwrap_or_default())
                .env("TMPDIR", folder),
        )
    };
    table(&(0..repeats).map(measure).collect::<Result<Vec<_>>>()?)
}

/// Formats the medians, with their ratios to the time of the clone.
fn table(rounds: &[Measured]) -> Result<String> {
    let files = rounds.first().map_or(0, |round| round.files);
    let of = |name: &str| median(&rounds.iter().filter_map(|round| round.ms.get(name).copied()).collect::<Vec<_>>());
    let clone = of("clone");
    let mut text = format!("| {files} files of 2 KB | ms | × |\n|---|---|---|");
    for (name, row) in ROWS {
        let ms = of(name);
        write!(text, "\n| {row} | {ms:.0} | {:.2} |", ms / clone)?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_has_its_ratio_to_a_clone() {
        let round = |ms: f64| Measured {
            files: 9,
            ms: ROWS.iter().zip(1..).map(|((name, _), at)| ((*name).to_owned(), ms * f64::from(at))).collect(),
        };
        let text = table(&[round(100.0), round(300.0), round(200.0)]).unwrap();
        assert!(text.starts_with("| 9 files of 2 KB | ms | × |"), "{text}");
        assert!(text.contains("\n| `git clone --shared` | 200 | 1.00 |\n| the first private folder of a run | 400 | 2.00 |"), "{text}");
    }
}
