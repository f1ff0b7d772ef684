//! Trials and tables in the docs.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use aime_evaluation::{Outcome, Replanning, Suite, Summary, Variant};
use aime_messages::Language;
use anyhow::{Context, Result};

use super::parts::{PARTS, Part};
use xtask::workspace::root;

/// File in which `aime eval` keeps trials.
const TRIALS: &str = "trials.jsonl";
/// Name of the table of all tasks in the docs.
const BY_TASK: &str = "by-task";
/// Modes in the order of a table.
const MODES: [&str; 5] = ["direct", "simple", "complex", "emergent", "auto"];

/// Returns the file of the trials from which the docs were made.
fn of_docs(part: &Part) -> PathBuf {
    root().join("docs/src/evaluation").join(format!("{}.jsonl", part.name))
}

/// Puts the trials of the docs where `aime eval` continues, before later trials that are not in the docs.
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

/// Merges the lines of trials with those of another file. If both have a trial that was made of the same inputs, the line of `these` is kept.
/// If the inputs differ, both lines stay, the older one first, since the last line of a trial counts.
fn joined(these: &str, others: &str) -> Result<String> {
    let made = |outcome: &Outcome| (outcome.key(), outcome.made_of.clone());
    let known: Vec<_> = read(these)?;
    // The last line may be incomplete, if a process was killed.
    let (whole, _) = others.rsplit_once('\n').unwrap_or_default();
    let theirs = read(whole)?;
    let place = |outcome: &Outcome| theirs.iter().rposition(|other| made(other) == made(outcome));
    // Lines before the one that is in the docs are older than it.
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

/// Returns true if there are any trials.
pub(super) fn has_trials(folder: &Path) -> bool {
    folder.join(TRIALS).is_file()
}

/// Writes the trials and their tables into the docs.
pub(super) fn write_docs(part: &Part, folder: &Path) -> Result<()> {
    let file = folder.join(TRIALS);
    let text = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    // A repeated trial comes after the earlier one.
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
        // Texts of models may reveal details of this machine, and no table needs them.
        let fallback = outcome.fallback.as_ref().map(|reason| reason.split(':').next().unwrap_or_default().to_owned());
        let shortened = Outcome { answer: String::new(), error: None, fallback, ..outcome.clone() };
        serde_json::to_string(&shortened).map(|line| line + "\n")
    });
    let kept = of_docs(part);
    fs::create_dir_all(kept.parent().context("the docs have no folder")?)?;
    fs::write(&kept, lines.collect::<Result<String, _>>()?).with_context(|| format!("could not write {}", kept.display()))?;
    let page = page();
    let text = fs::read_to_string(&page).with_context(|| format!("could not read {}", page.display()))?;
    fs::write(&page, with_tables(&text)?).with_context(|| format!("could not write {}", page.display()))
}

fn page() -> PathBuf {
    root().join("docs/src/evaluation.md")
}

/// Returns the page with the tables of the trials beside it.
fn with_tables(page: &str) -> Result<String> {
    let (mut text, mut all) = (page.to_owned(), Vec::new());
    for part in &PARTS {
        let outcomes = if of_docs(part).is_file() { read(&fs::read_to_string(of_docs(part))?)? } else { Vec::new() };
        let tables = if outcomes.is_empty() { "Not tried yet.".to_owned() } else { tables(&outcomes)? };
        text = replaced(&text, part.name, &tables).with_context(|| format!("the page has no place for {}", part.name))?;
        all.extend(outcomes);
    }
    replaced(&text, BY_TASK, &by_task(&Suite::core()?, &all)).context("the page has no place for its tasks")
}

fn read(text: &str) -> Result<Vec<Outcome>> {
    text.lines().map(|line| serde_json::from_str(line).context("a line of the trials is none")).collect()
}

/// Returns the tables of trials, without the heading.
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
    let text = Summary::new(&Suite::core()?, &variants, outcomes).to_markdown(Language::English);
    let (_heading, rest) = text.split_once('\n').context("the tables have no heading")?;
    Ok(format!("{}\n\n{}", rest.trim(), when(outcomes)))
}

/// Returns the time range of the trials, and the number of trials without a time.
fn when(outcomes: &[Outcome]) -> String {
    let minute = |time: &str| time.get(..16).map(|minute| minute.replace('T', " "));
    let begun: Vec<String> = outcomes.iter().filter_map(|outcome| minute(outcome.begun.as_deref()?)).collect();
    let without_time = outcomes.len() - begun.len();
    let range = begun.iter().min().zip(begun.iter().max()).map(|(first, last)| format!("Started {first} to {last} UTC"));
    match (range, without_time) {
        (Some(range), 0) => format!("{range}."),
        (Some(range), _) => format!("{range}; {without_time} of {} do not have a start time.", outcomes.len()),
        (None, _) => "The trials do not have a start time.".to_owned(),
    }
}

/// Returns the success rates of each built-in task with one actor and with plans, without injected faults. The mode that was really used
/// counts, so `auto` is in both; a fallback without a plan is in neither. Tasks that were tried in only one way are left out.
fn by_task(suite: &Suite, outcomes: &[Outcome]) -> String {
    let built_in = Variant { mode: None, settings: None, ..Variant::default() };
    let counts = |outcome: &&Outcome| {
        let variant =
            Variant { mode: None, settings: outcome.variant.settings.clone().filter(|name| name != "usual"), ..outcome.variant.clone() };
        variant == built_in && outcome.fallback.is_none()
    };
    let outcomes: Vec<&Outcome> = outcomes.iter().filter(counts).collect();
    let used = |outcome: &&&Outcome| outcome.mode.clone().or_else(|| outcome.variant.mode.clone().filter(|mode| mode != "auto"));
    let mut text = "| task | level | one actor | plans |\n|---|---|---|---|\n".to_owned();
    let mut sums = [(0, 0), (0, 0)];
    for task in &suite.tasks {
        let of = |direct: bool| {
            let those = outcomes
                .iter()
                .filter(|outcome| outcome.task == task.name && used(outcome).is_some_and(|mode| (mode == "direct") == direct));
            those.fold((0, 0), |(reached, tried), outcome| (reached + usize::from(outcome.reached), tried + 1))
        };
        let found = [of(true), of(false)];
        if found.iter().any(|(_, tried)| *tried == 0) {
            continue;
        }
        let held_out = if task.held_out { ", held out" } else { "" };
        let [one, plans] = found.map(|(reached, tried)| format!("{reached} of {tried}"));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}`{held_out} | {} | {one} | {plans} |", task.name, task.level);
        for (sum, (reached, tried)) in sums.iter_mut().zip(found) {
            *sum = (sum.0 + reached, sum.1 + tried);
        }
    }
    let [one, plans] = sums.map(|(reached, tried)| format!("{reached} of {tried}"));
    let _ = write!(text, "| all of these | | {one} | {plans} |");
    text
}

/// Replaces the tables with this name in the page. Returns none if the page lacks the name.
fn replaced(page: &str, name: &str, tables: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{tables}\n\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // The docs' line stays the newest, however often the merge is repeated.
        let docs = line("a", 3).replace("\"repeat\"", "\"made_of\":\"y\",\"repeat\"");
        let once = joined(&docs, &(other.clone() + &docs)).unwrap();
        assert_eq!(once, other.clone() + &docs);
        assert_eq!(joined(&docs, &once).unwrap(), once);
    }

    // Requirement: 17.8
    #[test]
    fn the_tables_of_the_docs_are_those_of_their_trials() {
        let text = fs::read_to_string(page()).unwrap();
        assert!(with_tables(&text).unwrap() == text, "cargo xtask evaluate --tables");
        for part in &PARTS {
            let outcomes = read(&fs::read_to_string(of_docs(part)).unwrap_or_default()).unwrap();
            assert!(outcomes.iter().all(|outcome| outcome.answer.is_empty()), "{} has answers", part.name);
        }
    }

    /// Plans and one actor are compared by the mode really used, and only for trials with built-in settings.
    #[test]
    fn tasks_are_told_by_what_was_used_on_them() {
        let mut suite = Suite::core().unwrap();
        suite.tasks.truncate(2);
        let (both, one) = (suite.tasks[0].name.clone(), suite.tasks[1].name.clone());
        let outcome = |task: &str, mode: &str, used: Option<&str>, reached: bool| Outcome {
            task: task.to_owned(),
            variant: Variant { mode: Some(mode.to_owned()), ..Variant::default() },
            mode: used.map(str::to_owned),
            reached,
            ..Outcome::default()
        };
        let settings = |name: &str, outcome: Outcome| Outcome {
            variant: Variant { settings: Some(name.to_owned()), ..outcome.variant.clone() },
            ..outcome
        };
        let begun = |time: &str, outcome: Outcome| Outcome { begun: Some(time.to_owned()), ..outcome };
        let outcomes = [
            begun("2026-11-24T09:05:59Z", outcome(&both, "direct", None, true)),
            begun("2026-11-23T10:00:00Z", outcome(&both, "auto", Some("direct"), false)),
            outcome(&both, "auto", Some("simple"), true),
            settings("usual", outcome(&both, "emergent", Some("emergent"), false)),
            // None of the following trials counts.
            outcome(&both, "auto", None, true),
            settings("other", outcome(&both, "simple", None, true)),
            Outcome { fallback: Some("no plan".to_owned()), ..outcome(&both, "complex", None, true) },
            outcome(&one, "direct", None, true),
        ];
        let level = suite.tasks[0].level;
        let expected = format!(
            "| task | level | one actor | plans |\n|---|---|---|---|\n| `{both}` | {level} | 1 of 2 | 1 of 2 |\n| all of these | | 1 of 2 | 1 of 2 |"
        );
        assert_eq!(by_task(&suite, &outcomes), expected);
        assert_eq!(when(&outcomes), "Started 2026-11-23 10:00 to 2026-11-24 09:05 UTC; 6 of 8 do not have a start time.");
        assert_eq!(
            (when(&outcomes[..2]), when(&outcomes[2..])),
            ("Started 2026-11-23 10:00 to 2026-11-24 09:05 UTC.".to_owned(), "The trials do not have a start time.".to_owned())
        );
    }
}
