//! Page of a plan that a person reviews before it is run.

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use maud::{Markup, html};
use serde_json::Value;

use super::{address, draft_address, failed, fields, form, home, list::new_run, render_page, see};
use crate::{
    Draft, PlanReview, Refusal, ReviewVerdict,
    access::Access,
    api::{status, verdict},
    server::{Shared, reading},
};

/// Starts to plan a goal, and shows the draft.
pub(crate) async fn plan(State(shared): State<Shared>, body: Bytes) -> Response {
    let access = &shared.access;
    let planned = match new_run(&body) {
        Ok(new) => shared.runs.plan(new).await,
        Err(refusal) => Err(refusal),
    };
    match planned {
        Ok(draft) => see(&draft_address(access, &draft)),
        Err(refusal) => failed(&refusal, access, &home(access)),
    }
}

/// Serves the page of a draft.
pub(crate) async fn draft(State(shared): State<Shared>, Path(draft): Path<String>) -> Response {
    let access = &shared.access;
    match reading(&shared, move |runs| runs.draft(&draft)).await {
        Ok(draft) => page(StatusCode::OK, access, &draft, &RefusedText::default()),
        Err(refusal) => failed(&refusal, access, &home(access)),
    }
}

/// Carries out a person's decision on a draft. If it is refused, the page keeps the person's text.
pub(crate) async fn review(State(shared): State<Shared>, Path((draft, act)): Path<(String, String)>, body: Bytes) -> Response {
    let access = &shared.access;
    let (plan, comments) = (fields(&body, "plan").next(), fields(&body, "text").next().unwrap_or_default());
    let done = match verdict(&act, &comments) {
        Ok(verdict) => {
            let dropped = verdict == ReviewVerdict::Drop;
            shared.runs.review(&draft, PlanReview { plan: plan.clone(), verdict }).await.map(|run| (run, dropped))
        }
        Err(refusal) => Err(refusal),
    };
    match done {
        Ok((Some(run), _)) => see(&address(access, &run)),
        Ok((None, true)) => see(&home(access)),
        Ok((None, false)) => see(&draft_address(access, &draft)),
        Err(refusal) => match reading(&shared, move |runs| runs.draft(&draft)).await {
            Ok(draft) => page(status(refusal.problem), access, &draft, &RefusedText { plan, comments, refusal: Some(refusal) }),
            Err(_) => failed(&refusal, access, &home(access)),
        },
    }
}

/// Text of a person that was refused, with the reason.
#[derive(Default)]
struct RefusedText {
    plan: Option<String>,
    comments: String,
    refusal: Option<Refusal>,
}

fn page(status: StatusCode, access: &Access, draft: &Draft, typed: &RefusedText) -> Response {
    let at = draft_address(access, &draft.draft);
    let content = html! {
        main.alone.review {
            h1 { "Plan to review" }
            p dir="auto" { strong { "Goal: " } span.words { (draft.goal) } }
            @for refusal in typed.refusal.iter().chain(&draft.failure) {
                p.failure dir="auto" { span.words { (refusal.message) } }
                @if let Some(hint) = &refusal.hint { p.quiet dir="auto" { "Hint: " (hint) } }
            }
            @if draft.planning { p role="status" { "The planner is at work. This page is loaded again every two seconds." } }
            @else if let Some(plan) = &draft.plan {
                @if let Some(forecast) = &draft.forecast { p.quiet { (forecast.text) } }
                (tasks(plan))
                (form(access, &format!("{at}/run"), &html! {
                    label { "The plan, which you can edit"
                        textarea name="plan" rows="24" spellcheck="false" { (typed.plan.clone().unwrap_or_else(|| pretty(plan))) }
                    }
                    label { "Comments: the planner changes the plan as they say, and you see it again"
                        textarea name="text" rows="4" maxlength="20000" dir="auto" { (typed.comments) }
                    }
                    button { "Run this plan" } " "
                    button formaction=(format!("{at}/comment")) { "Plan again with the comments" }
                }))
            }
            (form(access, &format!("{at}/drop"), &html! { button.danger { "Drop it" } }))
        }
    };
    let mut shown = render_page(status, access, "Plan to review", &content);
    if draft.planning {
        shown.headers_mut().insert(header::REFRESH, HeaderValue::from_static("2"));
    }
    shown
}

/// Renders the tasks of a plan for reading.
fn tasks(plan: &Value) -> Markup {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |task: &Value, member: &str| task.get(member).map(text).unwrap_or_default();
    let tasks = plan.get("tasks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    html! {
        ol {
            @for task in tasks {
                li dir="auto" {
                    strong { (of(task, "id")) } ": " (of(task, "name")) " " span.words { (of(task, "description")) }
                    @let after: Vec<String> = task.get("dependencies").and_then(Value::as_array).into_iter().flatten().map(text).collect();
                    @if !after.is_empty() { span.quiet { " (after " (after.join(", ")) ")" } }
                }
            }
        }
    }
}

fn pretty(plan: &Value) -> String {
    serde_json::to_string_pretty(plan).unwrap_or_default()
}
