//! `aime runs`.

use aime_messages::Describe as _;
use aime_orchestrator::{CriterionOutcome, RunOutput, RunResult, RunView};
use aime_progress_management::{ChangedMember, Edge, FileChange, PlanDiff, RunId, Task, TaskId};
use aime_runs::{RunListing, RunService, outcome, state_of_version};
use serde_json::{Value, json};

use super::outcome::hint_of;
use crate::{
    args::{Global, Output, RunsCommand, ShowFormat},
    failure::Failure,
    hints::with_commands,
    i18n::{msg, plain_message, print, print_question, row, word_name},
    output::{self, BOLD, DIM, GREEN, RED, YELLOW, count, plain},
    screen::{
        column, conflict_line, describe_change, describe_file_change, describe_tasks, first_line, line_of, moment, rfc3339, span,
        why_changed,
    },
};

/// Largest number of lines in the list of file changes.
const MAX_CHANGE_LINES: usize = 200;

/// Width of the output for people, in columns.
const WIDTH: usize = 160;

pub(super) async fn runs(command: Option<RunsCommand>, form: Output, global: &Global, runs: &RunService<'_>) -> Result<u8, Failure> {
    match command.unwrap_or(RunsCommand::List) {
        RunsCommand::List => list(form, runs).await?,
        RunsCommand::Show { run, at, format } => show(runs.read_with_driver(&run).await?, at, (form, format))?,
        RunsCommand::Diff { run, from, to } => {
            let (run, seen) = runs.read(&run).await?;
            diff(&run, &seen, (from, to), form)?;
        }
        RunsCommand::Fork { run, at, run_id } => {
            let run = runs.find(&run).await?;
            let new = runs.fork(&run, at, run_id.as_deref()).await?;
            print_fork((&run, at), &new, form)?;
        }
        RunsCommand::Watch { run } => {
            return match runs {
                RunService::Folder(runs) => super::watch::watch(&run, form, global, runs).await,
                #[cfg(feature = "temporal")]
                RunService::Engine(runs) => super::engine::watch(&run, form, runs).await,
            };
        }
        RunsCommand::Events { run } => {
            let (run, seen) = runs.read(&run).await?;
            events(&run, &seen, form)?;
        }
        RunsCommand::Report { run, output_file } => {
            let (run, page) = runs.report(&run).await?;
            super::report::report(&run, &page, output_file.as_deref(), form, runs.setup())?;
        }
        RunsCommand::Check { run, repair } => return super::check_run::check(&run, repair, form, runs).await,
        RunsCommand::Stats { run } => super::stats::print_stats(&runs.stats(run.as_deref()).await?, form)?,
        RunsCommand::Undo { args, task } => return super::undo::undo(&args, task.as_deref(), form, runs).await,
        RunsCommand::Redo { args } => return super::undo::redo(&args, form, runs).await,
        RunsCommand::Delete { run } => {
            let run = runs.find(&run).await?;
            runs.delete(&run).await?;
            output::note(&msg!("run-deleted", run));
        }
    }
    Ok(0)
}

async fn list(form: Output, runs: &RunService<'_>) -> Result<(), Failure> {
    let all = runs.list().await?;
    match form {
        Output::Text if all.is_empty() => output::note(&match runs {
            RunService::Folder(_) => msg!("no-runs"),
            #[cfg(feature = "temporal")]
            RunService::Engine(_) => msg!("engine-none"),
        }),
        Output::Text => {
            let width = all.iter().map(|run| run.run.len()).max().unwrap_or(0);
            all.iter().for_each(|run| output::result(&in_list(run, width)));
        }
        Output::Json => output::json(&all.iter().map(RunListing::document).collect::<Vec<_>>(), true)?,
        Output::Jsonl => all.iter().try_for_each(|run| output::json(&run.document(), false))?,
    }
    Ok(())
}

/// Formats the line of a run in the list.
fn in_list(RunListing { run, status, goal, created, .. }: &RunListing, width: usize) -> String {
    let (status, created) = (column(&word_name("status", status), 18), created.map(moment).unwrap_or_default());
    format!("{BOLD}{run:<width$}{BOLD:#}  {status} {created}  {}", first_line(goal.as_deref().unwrap_or_default(), 80))
}

/// Prints a run, or a version of its plan; `driven` if some process works on it.
fn show((run, mut seen, driven): (RunId, RunView, bool), at: Option<u32>, (form, format): (Output, ShowFormat)) -> Result<(), Failure> {
    if let Some(version) = at {
        seen.state = state_of_version(&run, &seen, version)?;
        seen.output = Some(RunOutput { status: seen.state.status, error: None });
    }
    let output = outcome(&run, &seen, driven);
    let result = RunResult::new(run, &seen.state, &output);
    if form != Output::Text {
        return output::json(&with_commands(&result), form == Output::Json);
    }
    if format == ShowFormat::Markdown {
        output::result(plain(&seen.state.to_markdown()).trim_end());
        return Ok(());
    }
    let state = &seen.state;
    let mut lines = vec![
        head("head-run", &format!("{} {}", result.run_id, word_name("status", &result.status.to_string()))),
        head("head-goal", &plain(&state.goal)),
    ];
    let images = seen.images().iter().map(|image| image.name.as_str()).collect::<Vec<_>>().join(", ");
    if !images.is_empty() {
        lines.push(head("head-images", &plain(&images)));
    }
    // The first goal is above; the answer to the last one is below.
    for (number, turn) in state.turns.iter().enumerate() {
        if number > 0 {
            lines.push(head("head-follow-up", &plain(&turn.goal)));
        }
        let answer = turn.answer.as_deref().filter(|_| number + 1 < state.turns.len());
        lines.extend(answer.map(|answer| format!("  {DIM}{}{DIM:#}", first_line(answer, WIDTH))));
    }
    if let Some(mode) = state.mode {
        lines.push(head("head-mode", &word_name("mode", &mode.to_string())));
    }
    if let Some(plan) = &result.plan {
        let effort = plan.effort_seconds.map(|seconds| msg!("plan-effort", span = span(seconds.saturating_mul(1_000))));
        let confidence = plan.confidence.map(|share| msg!("plan-confidence", share = f64::from(share).to_string()));
        let facts: Vec<String> = [Some(format!("v{}", plan.version)), effort, confidence].into_iter().flatten().collect();
        lines.push(head("head-plan", &facts.join(", ")));
        lines.push(describe_tasks(state, WIDTH));
    }
    lines.extend(state.tasks.values().filter_map(actor_of));
    for decision in &state.decisions {
        let why = why_changed(&decision.triggers);
        let text = msg!("run-decided", version = decision.version, why, reasoning = decision.patch.reasoning);
        lines.push(head("head-decided", &text));
        lines.extend(decision.patch.changes.iter().map(|change| format!("  {}", describe_change(change))));
        lines.extend(
            decision.lowered.iter().map(|lowered| format!("  {DIM}{}{DIM:#}", msg!("line-lowered", what = print(&lowered.describe())))),
        );
    }
    lines.extend(result.criteria.iter().map(criterion_line));
    lines.extend(result.conflicts.iter().map(conflict_line));
    lines.extend(file_changes(&seen));
    for question in state.questions.iter().filter(|question| question.answer.is_none()) {
        lines.push(head("head-asks", &plain(&print_question(&question.question))));
    }
    let requests = count(usize::try_from(state.spent.requests).unwrap_or(usize::MAX), "request");
    let tokens = state.spent.input_tokens + state.spent.output_tokens;
    let took = msg!("run-took", span = span(result.duration_ms), tokens, requests);
    lines.push(format!("{DIM}{took}{DIM:#}"));
    lines.extend(output::by_who(&state.spent_by).map(|text| format!("{DIM}{text}{DIM:#}")));
    if let Some(error) = &result.error {
        // The answer below may tell the whole error.
        let is_shown = state.answer.as_ref().is_some_and(|answer| answer.contains(&error.message.to_string()));
        let message = if is_shown { String::new() } else { format!(" {}", plain(&print_question(&error.message))) };
        lines.push(format!("{BOLD}{}{BOLD:#}{message}", word_name("code", error.code.word())));
        lines.extend(hint_of(error).map(|hint| format!("{DIM}{}{DIM:#}{}", column(&msg!("hint-label"), 8), print(&hint))));
    }
    if let Some(answer) = &state.answer {
        lines.push(format!("{BOLD}{}{BOLD:#}\n{}", msg!("head-answer"), plain(answer)));
    }
    output::result(&lines.join("\n"));
    Ok(())
}

/// Describes a criterion in one line: owner, kind of check, evidence.
fn criterion_line(known: &CriterionOutcome) -> String {
    let id = match known.holds {
        Some(true) => "head-holds",
        Some(false) => "head-fails",
        None => "head-unknown",
    };
    let shown = if known.evidence.is_empty() { String::new() } else { format!(": {}", first_line(&print(&known.evidence), WIDTH)) };
    let before = if known.held_before == Some(true) { format!(", {}", msg!("held-before")) } else { String::new() };
    head(
        id,
        &format!(
            "{} ({}, {}{before}){shown}",
            plain(&known.text),
            word_name("owner", known.owner.word()),
            word_name("checked", known.how.word())
        ),
    )
}

/// Describes the actor that was last made for a task in one line.
fn actor_of(task: &Task) -> Option<String> {
    let actor = task.actor.as_ref()?;
    let model = actor.effort.as_ref().map_or_else(|| actor.model.clone(), |effort| format!("{} ({effort})", actor.model));
    let mut text = msg!(
        "run-actor",
        task = task.spec.id,
        profile = actor.profile,
        model,
        tools = count(actor.tools.len(), "tool"),
        steps = actor.max_steps
    );
    if !actor.skills.is_empty() {
        text = format!("{text}; {}", msg!("run-actor-skills", skills = row(&actor.skills)));
    }
    for reason in &actor.reasons {
        text = format!("{text}; {reason}");
    }
    Some(head("head-actor", &plain(&text)))
}

/// Formats a line with its leading word.
fn head(id: &str, text: &str) -> String {
    format!("{}{text}", column(&format!("{BOLD}{}{BOLD:#}", plain_message(id)), 8))
}

/// Lists the changes that file tools made, each with its lines, within a limit.
fn file_changes(seen: &RunView) -> Vec<String> {
    let changes: Vec<&FileChange> = seen.events.iter().filter_map(|event| event.event.file_change()).collect();
    let (mut lines, mut shown) = (Vec::new(), 0);
    for change in &changes {
        let text = describe_file_change(change);
        if lines.len() + text.lines().count() > MAX_CHANGE_LINES {
            break;
        }
        lines.extend(text.lines().map(str::to_owned));
        shown += 1;
    }
    if shown < changes.len() {
        lines.push(format!("{DIM}{}{DIM:#}", msg!("run-more-changes", changes = count(changes.len() - shown, "change"))));
    }
    lines
}

fn diff(run: &RunId, seen: &RunView, (from, to): (u32, u32), form: Output) -> Result<(), Failure> {
    let diff = PlanDiff::between(&state_of_version(run, seen, from)?, &state_of_version(run, seen, to)?);
    if form != Output::Text {
        return output::json(&json!({"run_id": run, "from": from, "to": to, "diff": diff}), form == Output::Json);
    }
    if diff.is_empty() {
        output::result(&msg!("diff-nothing", from, to));
        return Ok(());
    }
    let task = |id: &TaskId| seen.state.tasks.get(id).map_or_else(String::new, |task| plain(task.spec.title()).into_owned());
    let mut lines = Vec::new();
    for decision in seen.state.decisions.iter().filter(|decision| (from.min(to) + 1..=from.max(to)).contains(&decision.version)) {
        lines.push(format!("{BOLD}v{}{BOLD:#} {}", decision.version, plain(&decision.patch.reasoning)));
    }
    lines.extend(diff.added.iter().map(|id| format!("{GREEN}+ {id}{GREEN:#} {}", task(id))));
    for removed in &diff.removed {
        let why = removed.reason.as_ref().map(|why| format!(" {DIM}({}){DIM:#}", plain(&print(why)))).unwrap_or_default();
        lines.push(format!("{RED}- {}{RED:#} {}{why}", removed.id, task(&removed.id)));
    }
    for changed in &diff.changed {
        lines.push(format!("{YELLOW}~ {}{YELLOW:#}", changed.id));
        lines.extend(changed.members.iter().map(|member| format!("    {}", describe_member(member))));
    }
    let edge = |sign: &str, edge: &Edge| {
        let condition = edge.condition.as_deref().map(|condition| format!(" if {}", plain(condition))).unwrap_or_default();
        format!("{sign} {} → {}{condition}", edge.from, edge.to)
    };
    lines.extend(diff.edges_added.iter().map(|added| edge("+", added)));
    lines.extend(diff.edges_removed.iter().map(|removed| edge("-", removed)));
    lines.extend(diff.strategic.iter().map(|member| format!("strategic {}", describe_member(member))));
    output::result(&lines.join("\n"));
    Ok(())
}

fn describe_member(member: &ChangedMember) -> String {
    let shown = |value: &Value| match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => first_line(text, WIDTH / 2),
        other => first_line(&other.to_string(), WIDTH / 2),
    };
    format!("{}: {} → {}", member.member, shown(&member.before), shown(&member.after))
}

/// Prints the name of a new run that continues from a version of another one.
fn print_fork((run, at): (&RunId, u32), new: &RunId, form: Output) -> Result<(), Failure> {
    match form {
        Output::Text => output::result(new.as_str()),
        _ => output::json(&json!({"run_id": new, "forked_from": run, "version": at}), form == Output::Json)?,
    }
    output::note(&msg!("forked", run, number = at, new));
    Ok(())
}

fn events(run: &RunId, seen: &RunView, form: Output) -> Result<(), Failure> {
    match form {
        Output::Text => {
            for event in &seen.events {
                let what = line_of(event).unwrap_or_else(|| event.event.name().to_owned());
                output::result(&format!("{DIM}{:>5} {}{DIM:#} {what}", event.seq, rfc3339(event.at.as_millis())));
            }
        }
        Output::Json => {
            let documents: Vec<_> = seen.events.iter().map(|event| event.document(run, &rfc3339(event.at.as_millis()))).collect();
            output::json(&documents, true)?;
        }
        Output::Jsonl => {
            for event in &seen.events {
                output::json(&event.document(run, &rfc3339(event.at.as_millis())), false)?;
            }
        }
    }
    Ok(())
}
