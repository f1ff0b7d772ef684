//! The pages for people, made here: a browser without a script can do everything but watch.

use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{
    Looked, Refusal, RunEntry,
    api::{Said, status},
    server::{Shared, reading},
};

const STYLE: &str = include_str!("dashboard.css");
const SCRIPT: &str = include_str!("dashboard.js");

fn page(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/static/report.css";
                link rel="stylesheet" href="/static/dashboard.css";
                title { (title) " – aime" }
                script src="/static/dashboard.js" defer {}
            }
            body {
                div.top { a href="/" { "aime" } " dashboard" span #live role="status" {} }
                (content)
            }
        }
    }
}

fn shown(status: StatusCode, title: &str, content: &Markup) -> Response {
    (status, Html(page(title, content).into_string())).into_response()
}

fn failed(refusal: &Refusal, back: &str) -> Response {
    let content = html! {
        main.alone {
            h1 { "Not done" }
            p.failure dir="auto" { (refusal.message) }
            @if let Some(hint) = &refusal.hint { p.quiet dir="auto" { "Hint: " (hint) } }
            p { a href=(back) { "Back" } }
        }
    };
    shown(status(refusal.problem), "Not done", &content)
}

/// All runs.
pub(crate) async fn list(State(shared): State<Shared>) -> Response {
    let runs = match reading(&shared, |runs| runs.list()).await {
        Ok(runs) => runs,
        Err(refusal) => return failed(&refusal, "/"),
    };
    let content = html! {
        main.alone {
            h1 { "Runs" }
            @if runs.is_empty() { p.quiet { "There are none in this folder yet: " code { "aime run \"…\"" } } }
            @else {
                div.table tabindex="0" role="region" aria-label="Runs" {
                    table.cost {
                        thead { tr { @for head in ["Goal", "Status", "Began", "Last written"] { th scope="col" { (head) } } } }
                        tbody { @for run in &runs { (entry(run)) } }
                    }
                }
            }
        }
    };
    shown(StatusCode::OK, "Runs", &content)
}

fn entry(run: &RunEntry) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(address(&run.run_id)) dir="auto" { (run.goal) } }
            td { (run.status.replace('_', " ")) }
            td { time datetime=(run.created) { (run.created) } }
            td { time datetime=(run.updated) { (run.updated) } }
        }
    }
}

fn address(run: &str) -> String {
    // Ids of runs need no escape; what is none is no address either.
    if run.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')) {
        format!("/runs/{run}")
    } else {
        "/".to_owned()
    }
}

/// One run, as it stands; the script shows what comes.
pub(crate) async fn run(State(shared): State<Shared>, Path(run): Path<String>, RawQuery(query): RawQuery) -> Response {
    let looked = match reading(&shared, move |runs| runs.look(&run)).await {
        Ok(looked) => looked,
        Err(refusal) => return failed(&refusal, "/"),
    };
    let query = query.unwrap_or_default();
    let told = url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "said");
    let csrf = shared.access.csrf();
    let content = html! {
        @if told { p.note role="status" { "Said to the run." } }
        div #asks { (asks(&looked, &csrf)) }
        div #now data-run=(looked.view.run) data-seq=(looked.seq) data-over[looked.over] { (PreEscaped(looked.view.fragment())) }
    };
    shown(StatusCode::OK, &looked.view.run, &content)
}

/// What waits for a person, and what can be said.
fn asks(looked: &Looked, csrf: &str) -> Markup {
    let run = &looked.view.run;
    let form = |act: &str, inside: Markup| {
        html! {
            form method="post" action=(format!("{}/{act}", address(run))) { input type="hidden" name="csrf" value=(csrf); (inside) }
        }
    };
    let first = looked.questions.first();
    html! {
        div.panel data-asks=(looked.questions.iter().map(|asked| asked.id.as_str()).collect::<Vec<_>>().join(" ")) {
            @if let Some(asked) = first {
                section.question aria-label="It asks" {
                    p dir="auto" { strong { "It asks: " } span.words { (asked.question) } }
                    (form("answer", html! {
                        label { "Answer " input type="text" name="text" required maxlength="20000" autocomplete="off" dir="auto"; }
                        button { "Answer" }
                    }))
                    @if asked.kind == "approval" {
                        @for word in ["yes", "always", "no"] { (form("answer", html! { input type="hidden" name="text" value=(word); button { (word) } })) }
                    }
                    @if looked.questions.len() > 1 { p.quiet { (looked.questions.len() - 1) " more wait after it" } }
                }
            }
            @if !looked.over {
                details {
                    summary { (if looked.driven { "It runs: say something, pause, cancel" } else { "Nobody carries it out: say something, cancel" }) }
                    (form("tell", html! {
                        label { "Say to the run " input type="text" name="text" required maxlength="20000" autocomplete="off" dir="auto"; }
                        button { "Say" }
                    }))
                    @if looked.driven { (form("pause", html! { button { "Pause" } })) }
                    (form("cancel", html! { button.danger { "Cancel the run for good" } }))
                    @if !looked.driven { p.quiet { "It goes on with " code { "aime resume " (run) } } }
                }
            }
        }
    }
}

/// Something is said to a run.
pub(crate) async fn act(State(shared): State<Shared>, Path((run, act)): Path<(String, String)>, body: Bytes) -> Response {
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&body).into_owned().collect();
    let field = |name: &str| form.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone());
    let said = Said { text: field("text").unwrap_or_default(), task: field("task") };
    let done = match said.act(&act) {
        Ok(act) => shared.runs.act(&run, act).await,
        Err(refusal) => Err(refusal),
    };
    match done {
        Ok(_) => (StatusCode::SEE_OTHER, [(header::LOCATION, format!("{}?said", address(&run)))]).into_response(),
        Err(refusal) => failed(&refusal, &address(&run)),
    }
}

/// Styles and the script.
pub(crate) async fn file(Path(file): Path<String>) -> Response {
    let (kind, text) = match file.as_str() {
        "report.css" => ("text/css; charset=utf-8", aime_report::STYLE),
        "dashboard.css" => ("text/css; charset=utf-8", STYLE),
        "dashboard.js" => ("text/javascript; charset=utf-8", SCRIPT),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
