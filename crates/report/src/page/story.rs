//! Evidence, questions, and the story of events.

use aime_progress_management::Significance;
use maud::{Markup, html};

use super::{Piece, name, rest, section, time_at, words};
use crate::{
    Moment, ReportView,
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
            (rest(view.evidence_left_out, "more finding", ""))
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
            (rest(view.questions_left_out, "more question", ""))
        },
    )
}

/// Id of the list of moments.
const LIST: &str = "moments";

pub(super) fn story(view: &ReportView) -> Markup {
    frame(view, &html! { @for one in &view.story { (moment(one)) } })
}

/// Returns the section, and each moment in it.
pub(super) fn pieces(view: &ReportView) -> Vec<Piece> {
    let moments = view.story.iter().map(|one| Piece::item(id(one), LIST, moment(one)));
    std::iter::once(Piece::fixed("story", frame(view, &html! {}))).chain(moments).collect()
}

fn id(moment: &Moment) -> String {
    format!("moment-{}", moment.seq)
}

fn frame(view: &ReportView, moments: &Markup) -> Markup {
    section(
        "story",
        "Story",
        html! {
            p.quiet { "All that happened but the calls of tasks, which are told with the tasks. The numbers are those of the journal." }
            ol.story id=(LIST) { (moments) }
            (rest(view.story_left_out, "moment", " in the middle"))
        },
    )
}

fn moment(moment: &Moment) -> Markup {
    html! {
        li value=(moment.seq) id=(id(moment)) data-item {
            time datetime=(rfc3339(moment.at)) { (clock(moment.at)) } " " strong { (moment.kind) } " " (words(&moment.text))
        }
    }
}
