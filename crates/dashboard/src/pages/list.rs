//! List of all runs: search, compare, and start.

use axum::{
    body::Bytes,
    extract::{RawQuery, State},
    http::StatusCode,
    response::Response,
};
use maud::{Markup, html};
use serde_json::Value;

use super::{address, choice, draft_address, failed, fields, form, home, render_page, see};
use crate::{
    Approve, Found, Mode, NewRun, Problem, Refusal, RunEntry, RunList, UnreadableFolder,
    access::Access,
    api::words_of,
    server::{Shared, reading},
};

/// Serves the list of all runs, with the results of a search.
pub(crate) async fn list(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let access = &shared.access;
    let asked = fields(query.unwrap_or_default().as_bytes(), "q").next().unwrap_or_default();
    let words = words_of(&asked);
    let read = reading(&shared, move |runs| {
        let found = if words.is_empty() { None } else { Some(runs.search(&words)?) };
        Ok((runs.folders(), runs.list()?, runs.drafts(), found))
    });
    let (folders, RunList { runs, unreadable }, drafts, found) = match read.await {
        Ok(read) => read,
        Err(refusal) => return failed(&refusal, access, &home(access)),
    };
    let several = folders.len() > 1;
    let content = html! {
        main.alone {
            h1 { "Runs" }
            @for folder in &unreadable { (missing(folder)) }
            (begin(access, &folders))
            @if !drafts.is_empty() {
                section aria-label="Plans to review" {
                    h2 { "Plans to review" }
                    ul {
                        @for draft in &drafts {
                            li { a href=(draft_address(access, &draft.draft)) dir="auto" { (draft.goal) } @if draft.planning { " (being planned)" } }
                        }
                    }
                }
            }
            form.search role="search" action=(home(access)) {
                label { "Search in all runs " input type="search" name="q" value=(asked) maxlength="200"; }
                button { "Search" }
            }
            @if let Some(found) = &found { (hits(access, found, &asked)) }
            @if runs.is_empty() { p.quiet { "There are none yet." } }
            @else {
                form action=(format!("{}/compare", access.base())) {
                    div.table tabindex="0" role="region" aria-label="Runs" {
                        table.cost {
                            thead {
                                tr {
                                    th scope="col" { span.unseen { "Compare" } } th scope="col" { "Goal" } th scope="col" { "Status" }
                                    @if several { th scope="col" { "Folder" } }
                                    th scope="col" { "Began" } th scope="col" { "Last written" }
                                }
                            }
                            tbody { @for run in &runs { (entry(access, run, several)) } }
                        }
                    }
                    @if runs.len() > 1 { p { button { "Compare two" } } }
                }
            }
        }
    };
    render_page(StatusCode::OK, access, "Runs", &content)
}

/// Renders a note on a folder whose runs are missing.
fn missing(folder: &UnreadableFolder) -> Markup {
    let Refusal { message, hint, .. } = &folder.reason;
    html! {
        p.failure role="status" dir="auto" {
            "The runs of the folder " strong { (folder.folder) } " are missing: " (message)
            @if let Some(hint) = hint { " (" (hint) ")" }
        }
    }
}

fn begin(access: &Access, folders: &[String]) -> Markup {
    let modes = [
        ("auto", "as the goal asks for"),
        ("direct", "direct: one actor"),
        ("simple", "simple: some steps"),
        ("complex", "complex: a plan"),
        ("emergent", "emergent: it grows"),
    ];
    let approve = [
        ("", "as the settings say"),
        ("ask", "ask for every change"),
        ("edits", "edits of files are free"),
        ("read_only", "nothing but reading"),
    ];
    let inside = html! {
        label.wide { "Goal" textarea name="goal" rows="3" required maxlength="100000" dir="auto" {} }
        @if folders.len() > 1 { (choice("Folder", "folder", &folders.iter().map(|name| (name.as_str(), name.as_str())).collect::<Vec<_>>())) }
        (choice("Work", "mode", &modes))
        (choice("Approval", "approve", &approve))
        button { "Start" }
        button formaction=(format!("{}/plans", access.base())) { "Plan, and review it first" }
    };
    html! {
        details.start {
            summary { "Start a run" }
            (form(access, &format!("{}/runs", access.base()), &inside))
            p.quiet { "It works in the folder, confined as " code { "aime run" } " is, and asks here. It goes on when this page is closed, and stops, to be resumed, when the dashboard ends." }
        }
    }
}

fn entry(access: &Access, run: &RunEntry, several: bool) -> Markup {
    html! {
        tr {
            td { input type="checkbox" name="run" value=(run.run) aria-label="compare"; }
            th scope="row" { a href=(address(access, &run.run)) dir="auto" { (run.goal) } }
            td { (run.status.replace('_', " ")) }
            @if several { td { (run.folder) } }
            td { time datetime=(run.created) { (run.created) } }
            td { time datetime=(run.updated) { (run.updated) } }
        }
    }
}

fn hits(access: &Access, found: &Found, asked: &str) -> Markup {
    // The page of a run searches for the text after `#?`.
    let search: String = url::form_urlencoded::byte_serialize(asked.as_bytes()).collect::<String>().replace('+', "%20");
    html! {
        section.found aria-label="Found" {
            h2 { @match found.hits.len() { 0 => "Nothing found", 1 => "1 place", number => { (number) " places" } } }
            @for run in found.hits.chunk_by(|one, other| one.run == other.run) {
                @if let Some(first) = run.first() {
                    h3 { a href=(format!("{}#?{search}", address(access, &first.run))) dir="auto" { (first.goal) } }
                }
                ul {
                    @for hit in run {
                        li { time datetime=(hit.time) { (hit.time) } " " strong { (hit.kind.replace('_', " ")) } " " span.words dir="auto" { (hit.text) } }
                    }
                }
            }
            @if found.more { p.cut { "There may be more: the search is bounded. More words find less." } }
        }
    }
}

/// Starts a run and shows it.
pub(crate) async fn start(State(shared): State<Shared>, body: Bytes) -> Response {
    let access = &shared.access;
    let started = match new_run(&body) {
        Ok(new) => shared.runs.start(new).await,
        Err(refusal) => Err(refusal),
    };
    match started {
        Ok(run) => see(&address(access, &run)),
        Err(refusal) => failed(&refusal, access, &home(access)),
    }
}

/// Parses a form into the request that programs send.
pub(super) fn new_run(body: &[u8]) -> Result<NewRun, Refusal> {
    fn word<T: serde::de::DeserializeOwned>(body: &[u8], name: &str) -> Result<Option<T>, Refusal> {
        let read = fields(body, name).next().map(|word| serde_json::from_value(Value::String(word))).transpose();
        read.map_err(|error| Refusal { problem: Problem::Invalid, message: format!("{name}: {error}"), hint: None })
    }
    Ok(NewRun {
        goal: fields(body, "goal").next().unwrap_or_default(),
        folder: fields(body, "folder").next(),
        mode: word::<Mode>(body, "mode")?,
        approve: word::<Approve>(body, "approve")?,
    })
}
