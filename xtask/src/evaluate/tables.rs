//! The trials and tables that stand in the docs.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use aime_evaluation::{Outcome, Replanning, Suite, Summary, Variant};
use anyhow::{Context, Result};

use super::parts::Part;
use crate::workspace::root;

/// What `aime eval` keeps of trials.
const TRIALS: &str = "trials.jsonl";
/// In the order in which a table tells of them.
const MODES: [&str; 5] = ["direct", "simple", "complex", "emergent", "auto"];

/// The trials of a part that the docs were made from.
fn of_docs(part: &Part) -> PathBuf {
    root().join("docs/src/evaluation").join(format!("{}.jsonl", part.name))
}

/// Puts the trials of the docs where `aime eval` goes on from, before those that were made since and did not come into the docs.
pub(super) fn begin_from_docs(part: &Part, folder: &Path) -> Result<()> {
    let (from, to) = (of_docs(part), folder.join(TRIALS));
    if from.is_file() {
        fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
        let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()));
        let since = if to.is_file() { read(&to)? } else { String::new() };
        fs::write(&to, joined(&read(&from)?, &since)?).with_context(|| format!("could not write {}", to.display()))?;
    }
    Ok(())
}

/// The lines of trials, and among them those of others: of one made of the same, its own line counts; of one made of something else the older stands
/// before it, since the newest of a trial is what counts.
fn joined(these: &str, others: &str) -> Result<String> {
    let made = |outcome: &Outcome| (outcome.key(), outcome.made_of.clone());
    let known: Vec<_> = read(these)?;
    // What a killed process left half written is no line.
    let (whole, _) = others.rsplit_once('\n').unwrap_or_default();
    let theirs = read(whole)?;
    let place = |outcome: &Outcome| theirs.iter().rposition(|other| made(other) == made(outcome));
    // What was made before the line that came into the docs is older than it.
    let is_older =
        |at: usize, outcome: &Outcome| known.iter().any(|line| line.key() == outcome.key() && place(line).is_some_and(|since| at < since));
    let (mut older, mut newer) = (String::new(), String::new());
    for (at, (line, outcome)) in whole.lines().zip(&theirs).enumerate() {
        if !known.iter().any(|line| made(line) == made(outcome)) {
            let lines = if is_older(at, outcome) { &mut older } else { &mut newer };
            lines.extend([line, "\n"]);
        }
    }
    Ok([older.as_str(), these, newer.as_str()].concat())
}

/// Whether anything was tried.
pub(super) fn has_trials(folder: &Path) -> bool {
    folder.join(TRIALS).is_file()
}

/// Writes what was tried, and the tables of it, into the docs.
pub(super) fn write_docs(part: &Part, folder: &Path) -> Result<()> {
    let file = folder.join(TRIALS);
    let text = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    // One that was made again stands after the one before it.
    let mut newest = HashMap::new();
    for (place, outcome) in read(&text)?.into_iter().enumerate() {
        newest.insert(outcome.key(), (place, outcome));
    }
    let mut outcomes: Vec<_> = newest.into_values().collect();
    outcomes.sort_by_key(|(place, _)| *place);
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    if outcomes.is_empty() {
        return Ok(());
    }
    let lines = outcomes.iter().map(|outcome| {
        // What models said may tell of this machine, and no table needs it.
        let fallback = outcome.fallback.as_ref().map(|told| told.split(':').next().unwrap_or_default().to_owned());
        let told = Outcome { answer: String::new(), error: None, fallback, ..outcome.clone() };
        serde_json::to_string(&told).map(|line| line + "\n")
    });
    let kept = of_docs(part);
    fs::create_dir_all(kept.parent().context("the docs have no folder")?)?;
    fs::write(&kept, lines.collect::<Result<String, _>>()?).with_context(|| format!("could not write {}", kept.display()))?;
    let page = page();
    let text = fs::read_to_string(&page).with_context(|| format!("could not read {}", page.display()))?;
    let text = replaced(&text, part, &tables(&outcomes)?).with_context(|| format!("{} has no place for {}", page.display(), part.name))?;
    fs::write(&page, text).with_context(|| format!("could not write {}", page.display()))
}

fn page() -> PathBuf {
    root().join("docs/src/evaluation.md")
}

fn read(text: &str) -> Result<Vec<Outcome>> {
    text.lines().map(|line| serde_json::from_str(line).context("a line of the trials is none")).collect()
}

/// The tables of trials, without the heading.
fn tables(outcomes: &[Outcome]) -> Result<String> {
    let mut variants: Vec<Variant> = Vec::new();
    for outcome in outcomes {
        if !variants.contains(&outcome.variant) {
            variants.push(outcome.variant.clone());
        }
    }
    variants.sort_by_cached_key(|variant| {
        let mode = variant.mode.as_deref().and_then(|mode| MODES.iter().position(|known| *known == mode));
        let replanning = variant.replanning.and_then(|replanning| Replanning::ALL.iter().position(|known| *known == replanning));
        (variant.agent.clone(), mode, variant.fault.map(|fault| fault.name()), replanning)
    });
    let text = Summary::new(&Suite::core()?, &variants, outcomes).to_markdown();
    let (_heading, rest) = text.split_once('\n').context("the tables have no heading")?;
    Ok(rest.trim().to_owned())
}

/// The page with these tables in the place of a part. Nothing where it has none.
fn replaced(page: &str, part: &Part, tables: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {} -->\n", part.name), format!("<!-- end of {} -->", part.name));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{tables}\n\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::parts::PARTS;

    #[test]
    fn trials_that_did_not_come_into_the_docs_are_kept() {
        let line = |task: &str, seconds: u32| {
            format!(
                r#"{{"schema":"aime.trial/v1","task":"{task}","variant":{{}},"repeat":1,"reached":true,"claimed":true,"seconds":{seconds}}}"#
            ) + "\n"
        };
        let kept = line("a", 2) + &line("b", 3) + "{\"schema\"";
        assert_eq!(joined(&line("a", 1), &kept).unwrap(), line("a", 1) + &line("b", 3));
        assert_eq!(joined(&line("a", 1), "").unwrap(), line("a", 1));
        let other = line("a", 2).replace("\"repeat\"", "\"made_of\":\"x\",\"repeat\"");
        assert_eq!(joined(&line("a", 1), &other).unwrap(), line("a", 1) + &other, "one that was made of something else is no other's");
        // What came into the docs last stays the newest, however often this is done.
        let docs = line("a", 3).replace("\"repeat\"", "\"made_of\":\"y\",\"repeat\"");
        let once = joined(&docs, &(other.clone() + &docs)).unwrap();
        assert_eq!(once, other.clone() + &docs);
        assert_eq!(joined(&docs, &once).unwrap(), once);
    }

    #[test]
    fn the_tables_of_the_docs_are_those_of_their_trials() {
        let text = fs::read_to_string(page()).unwrap();
        for part in &PARTS {
            let outcomes = read(&fs::read_to_string(of_docs(part)).unwrap_or_default()).unwrap();
            let tables = if outcomes.is_empty() { "Not tried yet.".to_owned() } else { tables(&outcomes).unwrap() };
            assert!(replaced(&text, part, &tables).unwrap() == text, "{0}: cargo xtask evaluate --docs {0}", part.name);
            assert!(outcomes.iter().all(|outcome| outcome.answer.is_empty()), "{} has answers", part.name);
        }
    }
}
