//! What was learnt and asked, and what happened.

use aime_progress::Significance;
use maud::{Markup, html};

use super::{name, rest, section, time_at, words};
use crate::{
    ReportView,
    time::{clock, rfc3339},
};

pub(super) fn learnt(view: &ReportView) -> Markup {
    section(
        "learnt",
        "Evidence and questions",
        html! {
            @if view.evidence.is_empty() && view.questions.is_empty() { p.quiet { "Nothing was reported, and nobody was asked." } }
            @if !view.evidence.is_empty() {
                ul.learnt {
                    @for evidence in &view.evidence {
                        @let (class, word) = match evidence.significance {
                            Significance::Low => ("low", "low"),
                            Significance::Medium => ("medium", "medium"),
                            Significance::High => ("high", "high"),
                            Significance::Critical => ("critical", "critical"),
                        };
                        li data-item {
                            span class=(format!("pill {class}")) { (word) } " " (words(&evidence.content))
                            p.quiet {
                                (time_at(evidence.at)) " · " (evidence.kind)
                                @if let Some(task) = &evidence.task { " · " (name(task)) }
                                " · " (if evidence.used { "used by a decision, or looked at" } else { "not used" })
                                @if !evidence.origins.is_empty() { " · made from " (name(&evidence.origins)) }
                            }
                        }
                    }
                }
            }
            @if !view.questions.is_empty() {
                h3 { "Questions to people" }
                ul.learnt {
                    @for question in &view.questions {
                        li data-item {
                            p { (words(&question.question)) }
                            @match &question.answer {
                                Some(answer) => p.answer { "→ " (words(answer)) },
                                None => p.warning { "not answered" },
                            }
                            p.quiet { (time_at(question.at)) " · " (name(&question.kind)) @if let Some(task) = &question.task { " · " (name(task)) } }
                        }
                    }
                }
            }
        },
    )
}

pub(super) fn story(view: &ReportView) -> Markup {
    section(
        "story",
        "Story",
        html! {
            p.quiet { "All that happened but the calls of tasks, which are told with the tasks. The numbers are those of " code { "aime runs events" } "." }
            ol.story {
                @for moment in &view.story {
                    li value=(moment.seq) data-item {
                        time datetime=(rfc3339(moment.at)) { (clock(moment.at)) } " " strong { (moment.kind) } " " (words(&moment.text))
                    }
                }
            }
            (rest(view.story_left_out, "moment", " in the middle"))
        },
    )
}
