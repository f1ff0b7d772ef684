//! Plan: picture, timeline, and all versions.

use maud::{Markup, html};

use super::{name, rest, section, time_at, words};
use crate::{ReportView, Version, chart::chart, picture::picture, time::count};

pub(super) fn plan(view: &ReportView) -> Markup {
    section(
        "plan",
        "Plan",
        html! {
            (picture(&view.graph, "The plan as it stands", "one of those that decided when the run ended"))
            @if !view.graph.nodes.is_empty() {
                p.legend {
                    "Each task stands below those it waits for. A round box is a group: it settles with its parts. A thick frame marks the tasks that decided when the run ended. "
                    "Dashed lines lead from parts to their group, dotted ones hold on a condition, those of two strokes are taken after a failure."
                }
            }
        },
    )
}

pub(super) fn timeline(view: &ReportView) -> Markup {
    let timeline = &view.timeline;
    section(
        "timeline",
        "Timeline",
        html! {
            (chart(timeline))
            (rest(timeline.left_out, "more row", ""))
            (rest(timeline.rows.iter().map(|row| row.left_out).sum(), "more period", " of these rows"))
            @if !timeline.rows.is_empty() {
                p.legend {
                    "◆ marks the critical path: the task that ended last, and of those that it waited for again the one that ended last. Only what is on it could have made the run shorter. "
                    @if !timeline.pauses.is_empty() { (count(timeline.pauses.len(), "time")) " in which nothing ran is drawn short, in grey." }
                }
            }
        },
    )
}

pub(super) fn versions(view: &ReportView) -> Markup {
    section(
        "versions",
        "Versions of the plan",
        html! {
            @if view.versions.is_empty() { p.quiet { "No plan was made." } }
            @for version in view.versions.iter().rev() { (one(version)) }
        },
    )
}

fn one(version: &Version) -> Markup {
    html! {
        article.version data-item {
            h3 { "Version " (version.number) span.quiet { " · " (time_at(version.at)) } }
            p { (words(&version.reasoning)) }
            @if !version.triggers.is_empty() {
                h4 { "Because" }
                ul { @for (kind, detail) in &version.triggers { li { (words(detail)) span.quiet { " (" (kind) ")" } } } }
            }
            @if !version.evidence.is_empty() {
                h4 { "On the evidence that" }
                ul { @for evidence in &version.evidence { li { (words(evidence)) } } }
            }
            @if !version.lowered.is_empty() { h4 { "Beside that" } ul { @for lowered in &version.lowered { li { (name(lowered)) } } } }
            @if !version.changes.is_empty() {
                h4 { "What changed" }
                ul.changes {
                    @for change in &version.changes {
                        @let (class, word) = match change.sign { '+' => ("came", "added"), '-' => ("went", "removed"), _ => ("differs", "changed") };
                        li class=(class) {
                            span.sign role="img" aria-label=(word) { (change.sign) } " " strong { (name(&change.what)) }
                            @if !change.detail.is_empty() { br; (words(&change.detail)) }
                        }
                    }
                }
                (rest(version.left_out, "more change", ""))
            }
            @if let Some(graph) = &version.graph {
                details {
                    summary { "The plan as it stood then" }
                    (picture(graph, &format!("Version {} of the plan", version.number), "new in this version"))
                }
            } @else {
                (rest(1, "picture", ""))
            }
        }
    }
}
