//! HTML page: one file that loads nothing from a network.

mod comparison;
mod cost;
mod files;
mod markdown;
mod outcome;
mod pieces;
mod plan;
mod story;
mod tasks;

pub use self::pieces::Piece;

use aime_progress_management::RunStatus;
use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::{
    ReportView, Text,
    text::fit,
    time::{count, moment, number, rfc3339, span},
};

/// Stylesheet of a report, for programs that embed parts of a report in their own page.
pub const STYLE: &str = include_str!("page/report.css");
/// Script of a report, for its search.
pub const SCRIPT: &str = include_str!("page/report.js");

/// Width of the page title, in columns.
const TITLE: usize = 60;

impl ReportView {
    /// Renders the report as one HTML page. It includes its style and script, loads nothing, and permits no other script: everything that
    /// models, tools and people wrote appears as text.
    #[must_use]
    pub fn html(&self) -> String {
        self.page().into_string()
    }

    /// Renders the content between the head and the foot of the page, for another page: the facts, the contents and all sections.
    #[must_use]
    pub fn fragment(&self) -> String {
        self.middle().into_string()
    }

    fn middle(&self) -> Markup {
        html! {
            (outcome::header(self))
            div.columns {
                (self.contents())
                main {
                    (outcome::outcome(self))
                    (plan::plan(self))
                    (plan::timeline(self))
                    (tasks::tasks(self))
                    (plan::versions(self))
                    (files::files(&self.files))
                    (story::learnt(self))
                    (cost::cost(&self.spending))
                    (story::story(self))
                }
            }
        }
    }

    fn page(&self) -> Markup {
        let title = format!("{} – aime run {}", fit(self.goal.shown.lines().next().unwrap_or_default(), TITLE), self.run);
        let policy = format!(
            "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
            hash(STYLE),
            hash(SCRIPT)
        );
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    meta name="generator" content="aime";
                    link rel="icon" href="data:,";
                    title { (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#outcome" { "Skip to the outcome" }
                    (self.middle())
                    footer {
                        "Made by aime on " (time_at(self.made_at)) " UTC from the journal of run " code { (self.run) } ". All times are UTC. "
                        "Secrets are taken out; what is left out for its size is counted where it would stand."
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }

    fn contents(&self) -> Markup {
        html! {
            nav aria-label="Contents" {
                // The script shows it, since it does not work without.
                div #search role="search" hidden {
                    label for="words" { "Search the report" }
                    input #words type="search" autocomplete="off" spellcheck="false" placeholder="Search (press /)";
                    p #found aria-live="polite" {}
                }
                (self.sections())
            }
        }
    }

    fn sections(&self) -> Markup {
        let learnt = self.evidence.len() + self.evidence_left_out + self.questions.len() + self.questions_left_out;
        let sections = [
            ("outcome", "Outcome", None),
            ("plan", "Plan", Some(self.graph.nodes.len())),
            ("timeline", "Timeline", None),
            ("tasks", "Tasks", Some(self.tasks.len())),
            ("versions", "Versions", Some(self.versions.len())),
            ("files", "Files", Some(self.files.changed.len() + self.files.left_out)),
            ("learnt", "Evidence and questions", Some(learnt)),
            ("cost", "Cost", None),
            ("story", "Story", Some(self.story.len() + self.story_left_out)),
        ];
        html! {
            ul #contents {
                @for (id, name, number) in sections {
                    li { a href=(format!("#{id}")) { (name) @if let Some(number) = number { span.number { (number) } } } }
                }
            }
        }
    }
}

/// Returns the hash by which the content security policy allows a style or script.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Renders a section with its heading.
fn section(id: &str, heading: &str, content: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby=(format!("{id}-heading")) {
            h2 id=(format!("{id}-heading")) { (heading) }
            (content)
        }
    }
}

/// Renders a text that keeps its line breaks.
fn block(text: &Text) -> Markup {
    html! { pre dir="auto" { (text.shown) (omission_note(text)) } }
}

/// Renders prose that keeps its line breaks.
fn prose(text: &Text) -> Markup {
    html! { div.text dir="auto" { (text.shown) (omission_note(text)) } }
}

/// Renders an inline text.
fn words(text: &Text) -> Markup {
    html! { span.words dir="auto" { (text.shown) (omission_note(text)) } }
}

/// Renders a short external text within a sentence.
fn name(text: &str) -> Markup {
    html! { bdi { (text) } }
}

fn omission_note(text: &Text) -> Markup {
    html! { @if text.left_out > 0 { span.cut { "… " (count(text.left_out, "more character")) " left out" } } }
}

/// Renders the number of things that are left out, and where to find them.
fn rest(number: usize, thing: &str, place: &str) -> Markup {
    html! { @if number > 0 { p.cut { "… " (count(number, thing)) " left out" (place) } } }
}

fn time_at(at: aime_progress_management::Timestamp) -> Markup {
    html! { time datetime=(rfc3339(at)) { (moment(at)) } }
}

const fn tone(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "done",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "skipped",
        RunStatus::WaitingForHuman | RunStatus::Interrupted => "blocked",
        RunStatus::Planning | RunStatus::Executing | RunStatus::Replanning => "running",
    }
}

/// Formats tokens and cost briefly.
fn spent(spent: &aime_progress_management::ModelCost) -> String {
    let tokens = number(spent.input_tokens + spent.output_tokens);
    let cost = if spent.cost_usd > 0.0 { format!(", ${:.4}", spent.cost_usd) } else { String::new() };
    format!("{tokens} tokens in {}{cost}", count(usize::try_from(spent.requests).unwrap_or(usize::MAX), "request"))
}

/// Formats a duration; empty if it is zero.
fn lasted(millis: u64) -> String {
    if millis == 0 { String::new() } else { span(millis) }
}
