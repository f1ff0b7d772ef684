//! The trials and tables that stand in the docs.

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

/// Puts the trials of the docs where `aime eval` goes on from.
pub(super) fn begin_from_docs(part: &Part, folder: &Path) -> Result<()> {
    let (from, to) = (of_docs(part), folder.join(TRIALS));
    if from.is_file() {
        fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
        fs::copy(&from, &to).with_context(|| format!("could not copy {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

/// Whether anything was tried.
pub(super) fn has_trials(folder: &Path) -> bool {
    folder.join(TRIALS).is_file()
}

/// Writes what was tried, and the tables of it, into the docs.
pub(super) fn write_docs(part: &Part, folder: &Path) -> Result<()> {
    let file = folder.join(TRIALS);
    let text = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    let outcomes = read(&text)?;
    if outcomes.is_empty() {
        return Ok(());
    }
    let lines = outcomes.iter().map(|outcome| {
        // Answers may tell of this machine, and no table needs them.
        let told = Outcome { answer: String::new(), error: None, ..outcome.clone() };
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
    let mut suite = Suite::core()?;
    suite.tasks.retain(|task| outcomes.iter().any(|outcome| outcome.task == task.name));
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
    let text = Summary::new(&suite, &variants, outcomes).to_markdown();
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
    fn the_tables_of_the_docs_are_those_of_their_trials() {
        let text = fs::read_to_string(page()).unwrap();
        for part in &PARTS {
            let outcomes = read(&fs::read_to_string(of_docs(part)).unwrap_or_default()).unwrap();
            let tables = if outcomes.is_empty() { "Not tried yet.".to_owned() } else { tables(&outcomes).unwrap() };
            assert_eq!(replaced(&text, part, &tables).unwrap(), text, "{}: cargo xtask evaluate --docs", part.name);
            assert!(outcomes.iter().all(|outcome| outcome.answer.is_empty()), "{} has answers", part.name);
        }
    }
}
