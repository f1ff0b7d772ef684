//! Tasks, with the work on each.

use aime_progress_management::TaskKind;
use maud::{Markup, html};

use super::{Piece, block, lasted, name, outcome::criteria, prose, rest, section, spent, words};
use crate::{
    ReportView, TaskView, Text, Turn, TurnKind,
    picture::{class, sign},
    time::{clock, count, rfc3339, span},
};

/// Id of the list of tasks.
const LIST: &str = "task-list";

pub(super) fn tasks(view: &ReportView) -> Markup {
    let all = html! { @for (number, task) in (1..).zip(&view.tasks) { (one(number, task, &html! { @for (id, turn) in turns(number, task) { (one_turn(&id, turn)) } })) } };
    frame(view, &all)
}

/// Returns the section, each task in it, and each of its turns.
pub(super) fn pieces(view: &ReportView) -> Vec<Piece> {
    let mut pieces = vec![Piece::fixed("tasks", frame(view, &html! {}))];
    for (number, task) in (1..).zip(&view.tasks) {
        pieces.push(Piece::item(format!("task-{number}"), LIST, one(number, task, &html! {})));
        let list = turn_list(number);
        pieces.extend(turns(number, task).map(|(id, turn)| {
            let html = one_turn(&id, turn);
            Piece::item(id, &list, html)
        }));
    }
    pieces
}

fn frame(view: &ReportView, all: &Markup) -> Markup {
    section(
        "tasks",
        "Tasks",
        html! {
            @if view.tasks.is_empty() { p.quiet { "There are none." } }
            div id=(LIST) { (all) }
        },
    )
}

fn turn_list(number: usize) -> String {
    format!("task-{number}-turns")
}

/// Returns the turns of a task with their ids, which stay the same when other turns are left out.
fn turns(number: usize, task: &TaskView) -> impl Iterator<Item = (String, &Turn)> {
    let (left_out, half) = (task.turns_left_out, task.turns.len() / 2);
    let place = move |at: usize| if left_out > 0 && at >= half { at + left_out } else { at };
    task.turns.iter().enumerate().map(move |(at, turn)| (format!("task-{number}-turn-{}", place(at) + 1), turn))
}

fn one(number: usize, task: &TaskView, turns: &Markup) -> Markup {
    let more = [lasted(task.worked_ms), if task.attempts > 1 { count(task.attempts as usize, "attempt") } else { String::new() }];
    html! {
        details.task id=(format!("task-{number}")) data-item {
            summary {
                span class=(format!("mark {}", class(task.status))) aria-hidden="true" { (sign(task.status)) }
                " " span.title dir="auto" { (task.title) }
                " " span.quiet { (task.status) @for more in more.iter().filter(|more| !more.is_empty()) { " · " (more) } }
            }
            dl.facts {
                div { dt { "Id" } dd { code { (name(&task.id)) } } }
                div { dt { "Kind" } dd { (kind(task.kind)) @if let Some((tool, _)) = &task.tool { " " code { (name(tool)) } } } }
                @if let Some(group) = &task.group { div { dt { "Group" } dd { (name(group)) } } }
                @if !task.waits_for.is_empty() {
                    div { dt { "Waits for" } dd { @for (at, other) in task.waits_for.iter().enumerate() { @if at > 0 { ", " } (name(other)) } } }
                }
                @if task.version > 1 { div { dt { "Came with" } dd { "version " (task.version) } } }
                @if task.spent.requests > 0 { div { dt { "Used" } dd { (spent(&task.spent)) } } }
            }
            @if !task.description.is_empty() && task.description.shown != task.title { h4 { "What is to be done" } (prose(&task.description)) }
            @if let Some((_, parameters)) = &task.tool { (values(parameters)) }
            @if !task.criteria.is_empty() { h4 { "What must hold" } (criteria(&task.criteria)) }
            @if !task.summary.is_empty() { h4 { "What it came to" } (prose(&task.summary)) }
            @if let Some(error) = &task.error { h4 { "What went wrong" } div.failure { (words(error)) } }
            @if !task.references.is_empty() {
                h4 { "What was made" }
                ul { @for reference in &task.references { li { code { (name(reference)) } } } }
                (rest(task.references_left_out, "more reference", ""))
            }
            @if !task.turns.is_empty() {
                h4 { "What was said and done" }
                ol.turns id=(turn_list(number)) { (turns) }
                (rest(task.turns_left_out, "turn", " in the middle"))
            }
        }
    }
}

const fn kind(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Actor => "actor",
        TaskKind::Tool => "tool",
        TaskKind::Group => "group",
    }
}

fn one_turn(id: &str, turn: &Turn) -> Markup {
    let at = html! { time datetime=(rfc3339(turn.at)) { (clock(turn.at)) } };
    match &turn.what {
        TurnKind::Actor { profile, model, tools, skills, effort, max_steps, reasons } => html! {
            li.turn.message id=(id) { (at) " " strong { "actor" } " " (name(profile)) " with " (name(model))
                @if let Some(effort) = effort { " (effort " (name(effort)) ")" }
                " and " (count(tools.len(), "tool"))
                span.quiet { ": " (name(&tools.join(", "))) }
                @if !skills.is_empty() { "; skills " span.quiet { (name(&skills.join(", "))) } }
                @if *max_steps > 0 { "; at most " (count(usize::try_from(*max_steps).unwrap_or(usize::MAX), "answer")) }
                @if !reasons.is_empty() { span.quiet { "; " (name(&reasons.join("; "))) } } }
        },
        TurnKind::Answered { model, purpose, text, spent: cost, duration_ms } => html! {
            li.turn.answered id=(id) {
                (at) " " strong { (name(model)) } span.quiet { " " (purpose) " · " (spent(cost)) " · " (span(*duration_ms)) }
                @if !text.is_empty() { (prose(text)) }
            }
        },
        TurnKind::Called { tool, parameters, outcome, output, origin, duration_ms } => {
            let good = outcome.as_deref() == Some("ok");
            html! {
                li.turn.called id=(id) {
                    details {
                        summary {
                            (at) " " span class=(if good { "mark done" } else { "mark failed" }) aria-hidden="true" { (if good { "✓" } else { "✗" }) }
                            " " code { (name(tool)) } " " span.quiet { (outcome.as_deref().unwrap_or("not ended")) " · " (span(*duration_ms)) }
                            " " span.gist { (name(&gist(parameters))) }
                        }
                        (values(parameters))
                        @if !output.is_empty() {
                            p.quiet { "Result" @if let Some(origin) = origin { " (from " (name(origin)) ")" } }
                            (block(output))
                        }
                    }
                }
            }
        }
        TurnKind::Message { who, text } => html! { li.turn.message id=(id) { (at) " " strong { (name(who)) } " " (words(text)) } },
    }
}

/// Formats the first parameter on one line, since it usually names the subject of the call.
fn gist(parameters: &[(String, Text)]) -> String {
    const COLUMNS: usize = 90;
    parameters.first().map(|(_, value)| crate::text::fit(&value.shown.replace('\n', " "), COLUMNS)).unwrap_or_default()
}

fn values(parameters: &[(String, Text)]) -> Markup {
    html! {
        @if !parameters.is_empty() {
            dl.values { @for (parameter, value) in parameters { dt { (name(parameter)) } dd { (block(value)) } } }
        }
    }
}
