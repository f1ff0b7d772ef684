//! Page of one run.

use aime_progress_management::{Question, TaskKind};
use aime_report::Piece;
use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::StatusCode,
    response::Response,
};
use maud::{Markup, PreEscaped, html};

use super::{address, choice, failed, fields, form, home, render_page, see};
use crate::{
    OpenQuestion, Problem, Refusal, RunDetails,
    access::Access,
    api::MessageBody,
    server::{Shared, reading},
};

/// Serves the page of a run in its present state; the script adds later changes.
pub(crate) async fn run(State(shared): State<Shared>, Path(run): Path<String>, RawQuery(query): RawQuery) -> Response {
    let access = &shared.access;
    let looked = match reading(&shared, move |runs| runs.details(&run)).await {
        Ok(looked) => looked,
        Err(refusal) => return failed(&refusal, access, &home(access)),
    };
    let is_done = query.as_deref().is_some_and(|query| url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "done"));
    let content = html! {
        @if is_done { p.note role="status" { "Done." } }
        (asks(&looked, access))
        div #now data-live=(format!("{}/live", address(access, &looked.run))) data-state=(looked.state_id()) data-over[looked.is_settled()] { (PreEscaped(looked.view.fragment())) }
        script src=(format!("{}/static/report.js", access.base())) defer {}
    };
    render_page(StatusCode::OK, access, &looked.run, &content)
}

/// Returns everything that may change in the page of a run, in pieces. The questions to a person come first.
pub(crate) fn pieces(looked: &RunDetails, access: &Access) -> Vec<Piece> {
    let asks = Piece { id: "asks".to_owned(), list: None, html: asks(looked, access).into_string() };
    std::iter::once(asks).chain(looked.view.pieces()).collect()
}

/// Renders the open questions, and the forms for messages.
fn asks(looked: &RunDetails, access: &Access) -> Markup {
    let form = |act: &str, inside: &Markup| form(access, &format!("{}/{act}", address(access, &looked.run)), inside);
    html! {
        div #asks.panel {
            @for asked in &looked.questions { (question(asked, looked.driven, &form)) }
            @if looked.takes_follow_up && !looked.driven {
                section.question aria-label="It has ended" {
                    (form("continue", &html! {
                        label { "Then " input type="text" name="text" required maxlength="20000" autocomplete="off" dir="auto"; }
                        button { "Continue" }
                    }))
                    p.quiet { "The run goes on with this goal, and remembers what was done." }
                }
            }
            @if !looked.is_over {
                // Shown even with an open question, since the run may have been left just when the answer came.
                @if !looked.driven {
                    section.question aria-label="It was left" { p { "Nobody carries it out." } (form("resume", &html! { button { "Resume" } })) }
                }
                (steering(looked, &form))
            }
        }
    }
}

fn question(asked: &OpenQuestion, driven: bool, form: &impl Fn(&str, &Markup) -> Markup) -> Markup {
    // The form names its question, so that it cannot answer another one.
    let of = html! { input type="hidden" name="question" value=(asked.id); @if !driven { input type="hidden" name="resume" value="yes"; } };
    let words: &[&str] = if asked.always { &["yes", "always", "no"] } else { &["yes", "no"] };
    let needs_words = !Question::takes_empty_answer(&asked.kind);
    html! {
        section.question aria-label="It asks" {
            p dir="auto" { strong { "It asks" @if let Some(task) = &asked.task { " (" bdi { (task) } ")" } ": " } span.words { (asked.question) } }
            @if asked.kind == "approval" {
                @for word in words { (form("answer", &html! { (of) input type="hidden" name="text" value=(word); button { (word) } })) }
            } @else {
                (form("answer", &html! {
                    (of)
                    label { "Answer " input type="text" name="text" required[needs_words] maxlength="20000" autocomplete="off" dir="auto"; }
                    button { "Answer" }
                }))
            }
            @if !needs_words { p.quiet { "With an empty answer it goes on." } }
            @if !driven { p.quiet { "Nobody carries it out: it goes on with the answer." } }
        }
    }
}

/// Renders the forms for unasked messages.
fn steering(looked: &RunDetails, form: &impl Fn(&str, &Markup) -> Markup) -> Markup {
    let open = |kinds: &[TaskKind]| -> Vec<(&str, &str)> {
        let tasks = looked.view.tasks.iter().filter(|task| !task.status.is_settled() && kinds.contains(&task.kind));
        tasks.map(|task| (task.id.as_str(), task.title.as_str())).collect()
    };
    let hearers: Vec<(&str, &str)> = std::iter::once(("", "the run")).chain(open(&[TaskKind::Actor])).collect();
    let tasks = open(&[TaskKind::Actor, TaskKind::Tool]);
    html! {
        details #steer {
            summary { (if looked.driven { "It runs: say something, pause, cancel" } else { "Say something, cancel" }) }
            (form("tell", &html! {
                label { "Say " input type="text" name="text" required maxlength="20000" autocomplete="off" dir="auto"; }
                @if hearers.len() > 1 { (choice("to", "task", &hearers)) }
                button { "Say" }
            }))
            @if looked.driven { (form("pause", &html! { button { "Pause" } })) }
            @if !tasks.is_empty() {
                (form("cancel", &html! { input type="hidden" name="of" value="task"; (choice("Take out", "task", &tasks)) button.danger { "Cancel this task" } }))
            }
            (form("cancel", &html! { button.danger { "Cancel the run for good" } }))
        }
    }
}

/// Handles a message or command to a run.
pub(crate) async fn act(State(shared): State<Shared>, Path((run, act)): Path<(String, String)>, body: Bytes) -> Response {
    let access = &shared.access;
    let done = match parse_form(&body).and_then(|message| message.act(&act)) {
        Ok(act) => shared.runs.act(&run, act).await,
        Err(refusal) => Err(refusal),
    };
    match done {
        Ok(_) => see(&format!("{}?done", address(access, &run))),
        Err(refusal) => failed(&refusal, access, &address(access, &run)),
    }
}

/// Parses a form. A form for a task must name one, and never falls back to the whole run.
fn parse_form(body: &[u8]) -> Result<MessageBody, Refusal> {
    let field = |name: &str| fields(body, name).next();
    if field("of").is_some() && field("task").is_none() {
        return Err(Refusal { problem: Problem::Refused, message: "no task is chosen".to_owned(), hint: None });
    }
    let (question, resume) = (field("question"), field("resume").is_some());
    Ok(MessageBody { text: field("text").unwrap_or_default(), task: field("task"), question, resume })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_some_answers_may_be_empty() {
        for (kind, needs_words) in [("question", true), ("criterion", true), ("blocked", false), ("escalation", false)] {
            let asked = OpenQuestion { id: "q".into(), kind: kind.into(), task: None, question: "What now?".into(), always: false };
            let page = question(&asked, true, &|_: &str, inside: &Markup| inside.clone()).into_string();
            assert_eq!(page.contains(" required"), needs_words, "{kind}: {page}");
            assert_eq!(page.contains("With an empty answer it goes on."), !needs_words, "{kind}: {page}");
        }
    }
}
