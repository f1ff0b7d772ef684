//! HTML pages for people, rendered on the server. A browser without a script can do everything except watch a run and search in it.

mod compare;
mod draft;
mod list;
mod run;

use axum::{
    extract::Path,
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, html};

pub(crate) use self::{
    compare::compare,
    draft::{draft, plan, review},
    list::{list, start},
    run::{act, pieces, run},
};
use crate::{Refusal, access::Access, api::status};

const STYLE: &str = include_str!("dashboard.css");
const SCRIPT: &str = include_str!("dashboard.js");

/// Renders a page with a title and a content.
fn page(base: &str, title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                @for style in ["report.css", "dashboard.css"] { link rel="stylesheet" href=(format!("{base}/static/{style}")); }
                title { (title) " – aime" }
                script src=(format!("{base}/static/dashboard.js")) defer {}
            }
            body {
                div.top { a href=(format!("{base}/")) { "aime" } " dashboard" span #live role="status" {} }
                (content)
            }
        }
    }
}

fn render_page(status: StatusCode, access: &Access, title: &str, content: &Markup) -> Response {
    (status, Html(page(&access.base(), title, content).into_string())).into_response()
}

/// Renders a failure: the action, the reason, and a link back to one of these pages.
fn failed(refusal: &Refusal, access: &Access, back: &str) -> Response {
    let content = html! {
        main.alone {
            h1 { "Not done" }
            p.failure dir="auto" { (refusal.message) }
            @if let Some(hint) = &refusal.hint { p.quiet dir="auto" { "Hint: " (hint) } }
            p { a href=(back) { "Back" } }
        }
    };
    render_page(status(refusal.problem), access, "Not done", &content)
}

/// Returns the address of the list of runs.
fn home(access: &Access) -> String {
    format!("{}/", access.base())
}

/// Returns the address of a run's page.
fn address(access: &Access, run: &str) -> String {
    below(access, "runs", run)
}

/// Returns the address of the page of a plan that is reviewed.
fn draft_address(access: &Access, draft: &str) -> String {
    below(access, "plans", draft)
}

fn below(access: &Access, kind: &str, name: &str) -> String {
    // Names of runs and folders need no escape. Anything else gets no address.
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':')) {
        format!("{}/{kind}/{name}", access.base())
    } else {
        home(access)
    }
}

/// Renders a form that changes something. It includes the second token.
fn form(access: &Access, action: &str, inside: &Markup) -> Markup {
    html! { form method="post" action=(action) { input type="hidden" name="csrf" value=(access.csrf()); (inside) } }
}

/// Renders a choice of values with their labels. The first one is selected.
fn choice(label: &str, name: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        label { (label) " " select name=(name) { @for (value, words) in options { option value=(value) { (words) } } } }
    }
}

/// Redirects the browser after a form.
fn see(place: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

/// Returns the non-empty fields of a form or query with this name.
fn fields<'a>(text: &'a [u8], name: &'a str) -> impl Iterator<Item = String> + 'a {
    let all = url::form_urlencoded::parse(text).filter(move |(found, _)| found == name);
    all.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Serves styles and scripts.
pub(crate) async fn file(Path(file): Path<String>) -> Response {
    let (kind, text) = match file.as_str() {
        "report.css" => ("text/css; charset=utf-8", aime_report::STYLE),
        "dashboard.css" => ("text/css; charset=utf-8", STYLE),
        "report.js" => ("text/javascript; charset=utf-8", aime_report::SCRIPT),
        "dashboard.js" => ("text/javascript; charset=utf-8", SCRIPT),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
