//! Head of the page, and the outcome of the run.

use aime_progress_management::CheckMethod;
use maud::{Markup, html};

use super::{markdown::markdown, name, prose, rest, section, spent, time_at, tone, words};
use crate::{
    Criterion, ReportView,
    text::fit,
    time::{count, span},
};

/// Width of the heading, in columns.
const HEADING: usize = 220;

pub(super) fn header(view: &ReportView) -> Markup {
    let first = view.goal.shown.lines().next().unwrap_or_default();
    let heading = fit(first, HEADING);
    let done = view.tasks.iter().filter(|task| task.status == aime_progress_management::TaskStatus::Completed).count();
    let models: Vec<&str> = view.spending.by_model.iter().map(|(model, _)| model.as_str()).collect();
    html! {
        header #head {
            p.brand { "aime " span { "run report" } }
            h1 dir="auto" { (heading) }
            @if heading != view.goal.shown.trim_end() {
                details { summary { "The whole goal" } (prose(&view.goal)) }
            }
            p.status { span class=(format!("pill {}", tone(view.status))) { (status(view)) } }
            dl.facts {
                div { dt { "Run" } dd { code { (view.run) } } }
                div { dt { "Began" } dd { (time_at(view.started_at)) " UTC" } }
                div { dt { "Took" } dd { (took(view)) } }
                @if let Some(mode) = view.mode { div { dt { "Mode" } dd { (mode) } } }
                div { dt { "Tasks" } dd { (done) " of " (view.tasks.len()) " completed" } }
                div { dt { "Plan" } dd { (count(view.versions.len(), "version")) } }
                @if !models.is_empty() { div { dt { "Model" } dd { (name(&fit(&models.join(", "), 80))) } } }
                div { dt { "Used" } dd { (spent(&view.spending.total)) } }
            }
        }
    }
}

/// Formats the duration, and the part of it in which something ran.
fn took(view: &ReportView) -> String {
    let paused: u64 = view.timeline.pauses.iter().map(|(from, to)| to.millis_since(*from)).sum();
    let all = span(view.duration_ms);
    if paused == 0 { all } else { format!("{all}, {} of it at work", span(view.duration_ms.saturating_sub(paused))) }
}

/// Formats the status of the run for people.
fn status(view: &ReportView) -> String {
    match &view.failure {
        Some(failure) if failure.code == "interrupted" => "interrupted".to_owned(),
        _ => view.status.to_string().replace('_', " "),
    }
}

pub(super) fn outcome(view: &ReportView) -> Markup {
    section(
        "outcome",
        "Outcome",
        html! {
            @for note in &view.notes { p.warning dir="auto" data-item { (note) } }
            @if let Some(failure) = &view.failure {
                div.failure data-item {
                    p { strong { (failure.code.replace('_', " ")) ": " } span dir="auto" { (failure.message) } }
                    @if let Some(hint) = &failure.hint { p.quiet { "Hint: " span dir="auto" { (hint) } } }
                }
            }
            (earlier(view))
            @match &view.answer {
                Some(answer) => {
                    div data-item {
                        div.prose dir="auto" { (markdown(&answer.shown)) }
                        @if answer.left_out > 0 { p.cut { "… " (count(answer.left_out, "more character")) " left out" } }
                    }
                }
                None => { @if view.failure.is_none() { p.quiet { "There is no answer yet." } } }
            }
            (strategy(view))
        },
    )
}

/// Renders the goals of all turns, and the answers of all but the last one.
fn earlier(view: &ReportView) -> Markup {
    let last = view.turns.len().saturating_sub(1);
    html! {
        @for (number, turn) in view.turns.iter().enumerate() {
            div data-item {
                h3 { (if number == 0 { "The goal" } else { "Then" }) " (" (time_at(turn.at)) " UTC)" }
                (prose(&turn.goal))
                @if let Some(answer) = turn.answer.as_ref().filter(|_| number < last) {
                    details { summary { "The answer then" } (prose(answer)) }
                }
            }
        }
        (rest(view.turns_left_out, "turn", " in the middle"))
    }
}

fn strategy(view: &ReportView) -> Markup {
    let strategy = &view.strategy;
    html! {
        @if !strategy.criteria.is_empty() { div data-item { h3 { "What had to hold" } (criteria(&strategy.criteria)) } }
        @if !strategy.approach.is_empty() { div data-item { h3 { "The approach" } p { (words(&strategy.approach)) } } }
        @if !strategy.phases.is_empty() {
            div data-item {
                h3 { "Phases" }
                ol { @for (phase, objective) in &strategy.phases { li { strong dir="auto" { (phase) } " " (words(objective)) } } }
            }
        }
        @if !strategy.risks.is_empty() {
            div data-item {
                h3 { "Risks" }
                ul { @for (risk, then) in &strategy.risks { li { (words(risk)) @if !then.is_empty() { br; span.quiet { "then: " } (words(then)) } } } }
            }
        }
    }
}

fn method_text(method: CheckMethod) -> &'static str {
    match method {
        CheckMethod::Executed => "checked by aime",
        CheckMethod::Audited => "judged by a model",
        CheckMethod::Unchecked => "not checked",
    }
}

/// Renders criteria, each with its owner, kind of check and verdict.
pub(super) fn criteria(criteria: &[Criterion]) -> Markup {
    html! {
        ul.criteria {
            @for criterion in criteria {
                @let (class, sign, word) = match criterion.passed {
                    Some(true) => ("done", "✓", "holds"),
                    Some(false) => ("failed", "✗", "does not hold"),
                    None => ("waits", "?", "no result"),
                };
                li {
                    span class=(format!("mark {class}")) title=(word) aria-label=(word) role="img" { (sign) }
                    " " (words(&criterion.text)) " " span.quiet { "(" (criterion.owner.word()) ", " (method_text(criterion.how)) ")" }
                    @if criterion.held_before == Some(true) { span.quiet { " – held already before the work, so it proves nothing about the work" } }
                    @if !criterion.reason.is_empty() { span.quiet { " – " (words(&criterion.reason)) } }
                }
            }
        }
    }
}
