//! `aime runs undo` and `aime runs redo`, for runs in this folder and on an engine.

use std::path::Path;

use aime_durable::{RunLock, run_folder};
use aime_messages::{Describe, Message, message};
use aime_progress_management::RunId;
use aime_runs::{ChangeTurns, RunService, Setup, UndoReport};
use aime_undo::{Change, Conflict, Recorder, Scope, UndoError, UndoPlan, UnrecordedEntry, UnrecordedReason};
use anstyle::Style;

use crate::{
    args::{Output, UndoArgs},
    failure::{Failure, code},
    i18n::{msg, print, word_name},
    output::{self, BOLD, DIM, GREEN, RED, YELLOW, count, plain},
    person::agrees,
    screen::{column, first_line, head},
};

/// Largest number of paths in the list for a person.
const LISTED: usize = 200;

/// Longest goal in a heading, in characters.
const WIDTH: usize = 100;

/// Reverts the file changes of a run or of one of its tasks.
pub(super) async fn undo(args: &UndoArgs, task: Option<&str>, form: Output, runs: &RunService<'_>) -> Result<u8, Failure> {
    let (run, seen, scope) = runs.to_undo(&args.run, task).await?;
    let what = task.map_or_else(|| msg!("undo-run", run), |task| msg!("undo-task", task, run));
    carry_out((&run, &ChangeTurns::of(&seen)), &what, args, form, runs.setup(), move |_| Ok(Some(scope))).await
}

/// Reverts the last undo of a run.
pub(super) async fn redo(args: &UndoArgs, form: Output, runs: &RunService<'_>) -> Result<u8, Failure> {
    let run = runs.to_redo(&args.run).await?;
    let what = msg!("undo-last", run);
    let last = |recorder: &Recorder| Ok(recorder.last_undo()?.map(|number| Scope::Undo { number }));
    carry_out((&run, &ChangeTurns::default()), &what, args, form, runs.setup(), last).await
}

async fn carry_out(
    (run, turns): (&RunId, &ChangeTurns),
    what: &str,
    args: &UndoArgs,
    form: Output,
    setup: &Setup,
    scope: impl FnOnce(&Recorder) -> Result<Option<Scope>, UndoError>,
) -> Result<u8, Failure> {
    let kept = run_folder(&setup.data_folder(), run.as_str());
    let lock = RunLock::take(&kept.join("lock"));
    let _lock = lock.map_err(|error| Failure::caused(code::USAGE, &error).hint(message!("stop-first")))?;
    let recorder = setup.recorder(run)?;
    let failed = |error: UndoError| Failure::usage(error.describe());
    let Some(scope) = scope(&recorder).map_err(failed)? else {
        return Err(Failure::usage(message!("undo-none", run)));
    };
    let plan = recorder.plan(&scope, args.force).map_err(failed)?;
    let lost = recorder.lost().map_err(failed)?;
    let left_out = recorder.unrecorded().map_err(failed)?;
    let done = if plan.changes.is_empty() {
        None
    } else {
        // A person who is asked needs the list, whatever the form of standard output.
        if form == Output::Text || (!args.yes && output::can_type()) {
            output::alert(&listing(&plan, what, turns));
        }
        if !args.yes && !consent(&plan).await? {
            output::note(&msg!("undo-nothing-changed"));
            return Ok(code::NOT_REACHED);
        }
        Some(recorder.undo(&plan).map_err(failed)?)
    };
    recorder.finish();
    let report = UndoReport { run, turns, plan: &plan, result: done.as_ref(), lost_reason: lost.as_ref(), left_out: &left_out };
    match form {
        Output::Text => output::result(&text(&report, what)),
        Output::Json | Output::Jsonl => output::json(&report.document(), form == Output::Json)?,
    }
    if form == Output::Text && plan.conflicts.iter().any(|conflict| conflict.kind.can_be_forced()) {
        output::note(&msg!("undo-force"));
    }
    Ok(if report.is_whole() { 0 } else { code::NOT_REACHED })
}

/// Asks the person at the terminal for consent.
async fn consent(plan: &UndoPlan) -> Result<bool, Failure> {
    if !output::can_type() {
        return Err(
            Failure::usage(message!("undo-nobody", paths = message!("count-path", number = plan.changes.len()))).hint(message!("say-yes"))
        );
    }
    Ok(agrees(&msg!("put-back")).await)
}

/// Lists the planned changes, by the turns of a continued run.
fn listing(plan: &UndoPlan, what: &str, turns: &ChangeTurns) -> String {
    let mut lines = vec![format!("{}{}", head(BOLD, "head-undo"), msg!("undo-listing", what, paths = count(plan.changes.len(), "path")))];
    let mut changes: Vec<(Option<usize>, &Change)> = plan.changes.iter().map(|change| (turns.of_path(&change.path), change)).collect();
    changes.sort_by_key(|(turn, _)| *turn);
    changes.truncate(LISTED);
    for listed in changes.chunk_by(|(one, _), (next, _)| one == next) {
        lines.extend(listed.first().and_then(|(turn, _)| *turn).map(|turn| heading(turns, turn)));
        lines.extend(listed.iter().map(|(_, change)| change_line(change)));
    }
    lines.extend(more(plan.changes.len()));
    lines.join("\n")
}

fn more(number: usize) -> Option<String> {
    (number > LISTED).then(|| format!("  {DIM}{}{DIM:#}", msg!("undo-more", number = number - LISTED)))
}

/// Returns the heading of the changes of a turn.
fn heading(turns: &ChangeTurns, turn: usize) -> String {
    let goal = turns.goal(turn).unwrap_or_default();
    format!("{DIM}{}{DIM:#}", msg!("undo-turn", number = turn + 1, goal = plain(&first_line(goal, WIDTH))))
}

fn display_path(path: &Path) -> String {
    plain(&path.to_string_lossy()).into_owned()
}

fn change_line(change: &Change) -> String {
    let (effect, path) = (change.effect(), display_path(&change.path));
    let color = match effect {
        "delete" => RED,
        "recreate" => GREEN,
        _ => YELLOW,
    };
    format!("  {}{path}", word(color, &word_name("undo-effect", effect)))
}

/// Formats the leading word of a line, padded.
fn word(color: Style, word: &str) -> String {
    column(&format!("{color}{word}{color:#}"), 9)
}

/// Formats a path with a remark.
fn of_path(path: &Path, why: &Message) -> String {
    msg!("undo-path", path = display_path(path), why = plain(&print(why)))
}

fn text(report: &UndoReport<'_>, what: &str) -> String {
    let mut lines = Vec::new();
    match report.result {
        Some(done) => {
            lines.push(format!("{GREEN}{}{GREEN:#} {}", msg!("undo-put-back"), count(done.changes.len(), "path")));
            for failed in &done.failed {
                lines.push(format!("  {}{}", word(RED, &word_name("did", "failed")), of_path(&failed.path, &failed.error.describe())));
            }
        }
        None if report.plan.is_empty() && report.lost_reason.is_none() => lines.push(msg!("undo-nothing-for", what)),
        None => lines.push(msg!("undo-nothing-changed")),
    }
    for Conflict { path, kind: why } in report.plan.conflicts.iter().take(LISTED) {
        lines.push(format!("  {}{}", word(YELLOW, &msg!("undo-left")), of_path(path, &why.describe())));
    }
    lines.extend(more(report.plan.conflicts.len()));
    if let Some(lost) = report.lost_reason {
        lines.push(msg!("undo-path", path = format!("{YELLOW}{}{YELLOW:#}", msg!("undo-lost")), why = plain(&print(lost))));
    }
    lines.extend(not_covered(report.left_out).map(|covered| format!("{DIM}{covered}{DIM:#}")));
    lines.join("\n")
}

/// Names in one line the parts of the folder that an undo does not cover.
fn not_covered((first, number): &(Vec<UnrecordedEntry>, usize)) -> Option<String> {
    /// Number of parts that are named.
    const NAMED: usize = 5;
    let mut named: Vec<String> = first
        .iter()
        .take(NAMED)
        .map(|UnrecordedEntry { path, why }| format!("{} ({})", display_path(path), print(&why.describe())))
        .collect();
    let rest = number.saturating_sub(named.len());
    if named.is_empty() {
        return None;
    }
    if rest > 0 {
        named.push(msg!("undo-more-paths", number = rest));
    }
    let covered = msg!("undo-not-covered", what = named.join(", "));
    let small = first.iter().any(|left| matches!(left.why, UnrecordedReason::TooLarge | UnrecordedReason::NoRoom));
    Some(if small { msg!("undo-bounds", covered) } else { covered })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_a_reason_steers_no_terminal() {
        let (run, turns, left_out) = ("r".parse().unwrap(), ChangeTurns::default(), (Vec::new(), 0));
        let plan = UndoPlan { scope: Scope::Run {}, changes: Vec::new(), conflicts: Vec::new() };
        let lost = UndoError::Damaged { path: "a\u{1b}[2Jb".into() }.describe();
        let report = UndoReport { run: &run, turns: &turns, plan: &plan, result: None, lost_reason: Some(&lost), left_out: &left_out };
        let shown = text(&report, "run r");
        assert!(shown.contains("is damaged") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    }
}
