//! The tasks, and the work on each.

use aime_progress::TaskKind;
use maud::{Markup, html};

use super::{block, lasted, name, outcome::criteria, prose, rest, section, spent, words};
use crate::{
    ReportView, TaskView, Text, Turn, TurnKind,
    picture::{class, sign},
    time::{clock, count, rfc3339, span},
};

pub(super) fn tasks(view: &ReportView) -> Markup {
    section(
        "tasks",
        "Tasks",
        html! {
            @if view.tasks.is_empty() { p.quiet { "There are none." } }
            @for (number, task) in view.tasks.iter().enumerate() { (one(number + 1, task)) }
        },
    )
}

fn one(number: usize, task: &TaskView) -> Markup {
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
            }
            @if !task.turns.is_empty() {
                h4 { "What was said and done" }
                ol.turns { @for one in &task.turns { (turn(one)) } }
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

fn turn(turn: &Turn) -> Markup {
    let at = html! { time datetime=(rfc3339(turn.at)) { (clock(turn.at)) } };
    match &turn.what {
        TurnKind::Actor { profile, model, tools } => html! {
            li.turn.told { (at) " " strong { "actor" } " " (name(profile)) " with " (name(model)) " and " (count(tools.len(), "tool"))
                span.quiet { ": " (name(&tools.join(", "))) } }
        },
        TurnKind::Said { model, purpose, text, spent: cost, duration_ms } => html! {
            li.turn.said {
                (at) " " strong { (name(model)) } span.quiet { " " (purpose) " · " (spent(cost)) " · " (span(*duration_ms)) }
                @if !text.is_empty() { (prose(text)) }
            }
        },
        TurnKind::Called { tool, parameters, outcome, output, origin, duration_ms } => {
            let good = outcome.as_deref() == Some("ok");
            html! {
                li.turn.called {
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
        TurnKind::Told { who, text } => html! { li.turn.told { (at) " " strong { (name(who)) } " " (words(text)) } },
    }
}

/// The first parameter in a line: mostly what the call is about.
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
