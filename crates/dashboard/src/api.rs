//! HTTP interface for programs, version 1. `openapi.json` describes it, and tests compare the two.

use aime_report::Comparison;
use axum::{
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    Act, Draft, Found, NewRun, PlanReview, Problem, Refusal, ReviewVerdict, RunDetails, RunList, live,
    server::{Shared, reading},
};

const DESCRIPTION: &str = include_str!("openapi.json");
/// Largest number of words in a search.
const WORDS: usize = 8;

/// Body of a message to a run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MessageBody {
    pub(crate) text: String,
    pub(crate) task: Option<String>,
    pub(crate) question: Option<String>,
    pub(crate) resume: bool,
}

impl MessageBody {
    /// Returns the act with this name.
    pub(crate) fn act(self, name: &str) -> Result<Act, Refusal> {
        let text = self.text.trim().to_owned();
        let task = self.task.filter(|task| !task.is_empty());
        match name {
            "tell" | "continue" if text.is_empty() => Err(refusal(Problem::Refused, "there is no text")),
            "answer" => Ok(Act::Answer { question: self.question, text, resume: self.resume }),
            "tell" => Ok(Act::Tell { task, text }),
            "pause" => Ok(Act::Pause),
            "resume" => Ok(Act::Resume),
            "continue" => Ok(Act::Continue { goal: text }),
            "cancel" => Ok(Act::Cancel { task }),
            _ => Err(refusal(Problem::NotFound, "nothing of that name can be said to a run")),
        }
    }
}

/// Body of a review of a draft.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ReviewBody {
    /// The edited plan.
    plan: Option<Value>,
    /// The comments.
    text: String,
}

/// Returns the verdict with this name.
pub(crate) fn verdict(name: &str, comments: &str) -> Result<ReviewVerdict, Refusal> {
    match name {
        "run" if !comments.trim().is_empty() => {
            Err(refusal(Problem::Refused, "a plan with comments is planned again before it is run: comment, or remove the comments"))
        }
        "run" => Ok(ReviewVerdict::Run),
        "comment" if comments.trim().is_empty() => Err(refusal(Problem::Refused, "there is no comment")),
        "comment" => Ok(ReviewVerdict::Comment(comments.trim().to_owned())),
        "drop" => Ok(ReviewVerdict::Drop),
        _ => Err(refusal(Problem::NotFound, "nothing of that name can be done with a plan")),
    }
}

fn refusal(problem: Problem, message: &str) -> Refusal {
    Refusal { problem, message: message.to_owned(), hint: None }
}

/// Returns the distinct words of a search, in lower case.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.to_lowercase().split_whitespace().take(WORDS).map(str::to_owned).collect();
    words.sort();
    words.dedup();
    words
}

/// Returns the routes below `/api/v1`.
pub(crate) fn routes() -> [(&'static str, MethodRouter<Shared>); 10] {
    [
        ("/openapi.json", get(description)),
        ("/runs", get(list).post(start)),
        ("/runs/{run}", get(run_details)),
        ("/runs/{run}/events", get(live::events)),
        ("/runs/{run}/{act}", post(act)),
        ("/plans", get(drafts).post(plan)),
        ("/plans/{draft}", get(draft)),
        ("/plans/{draft}/{act}", post(review)),
        ("/search", get(search)),
        ("/compare", get(compare)),
    ]
}

async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION).into_response()
}

async fn list(State(shared): State<Shared>) -> Response {
    let read = reading(&shared, |runs| Ok((runs.folders(), runs.list()?))).await;
    let document = |(folders, list): (Vec<String>, RunList)| json!({"schema": "aime.runs/v1", "folders": folders, "runs": list.runs, "unreadable": list.unreadable});
    answered(StatusCode::OK, read.map(document))
}

async fn start(State(shared): State<Shared>, body: Bytes) -> Response {
    let started = match document::<NewRun>(&body) {
        Ok(new) if new.goal.trim().is_empty() => Err(refusal(Problem::Refused, "the goal is empty")),
        Ok(new) => shared.runs.start(new).await,
        Err(refusal) => Err(refusal),
    };
    answered(StatusCode::CREATED, started.map(|run| json!({"run": run})))
}

async fn run_details(State(shared): State<Shared>, Path(run): Path<String>) -> Response {
    let looked = reading(&shared, move |runs| runs.details(&run)).await;
    let document = |looked: RunDetails| {
        let RunDetails { run, result, questions, seq, driven, is_over: over, takes_follow_up, .. } = looked;
        json!({"schema": "aime.run/v1", "run": run, "result": result, "questions": questions, "seq": seq, "driven": driven, "over": over,
            "takes_follow_up": takes_follow_up})
    };
    answered(StatusCode::OK, looked.map(document))
}

async fn act(State(shared): State<Shared>, Path((run, act)): Path<(String, String)>, body: Bytes) -> Response {
    let message = if body.is_empty() { Ok(MessageBody::default()) } else { document(&body) };
    let done = match message.and_then(|message: MessageBody| message.act(&act)) {
        Ok(act) => shared.runs.act(&run, act).await,
        Err(refusal) => Err(refusal),
    };
    answered(StatusCode::OK, done.map(|note| json!({"message": note})))
}

async fn plan(State(shared): State<Shared>, body: Bytes) -> Response {
    let planned = match document::<NewRun>(&body) {
        Ok(new) if new.goal.trim().is_empty() => Err(refusal(Problem::Refused, "the goal is empty")),
        Ok(new) => shared.runs.plan(new).await,
        Err(refusal) => Err(refusal),
    };
    answered(StatusCode::CREATED, planned.map(|draft| json!({"draft": draft})))
}

async fn drafts(State(shared): State<Shared>) -> Response {
    let read = reading(&shared, |runs| Ok(runs.drafts())).await;
    answered(StatusCode::OK, read.map(|drafts| json!({"schema": "aime.drafts/v1", "drafts": drafts})))
}

async fn draft(State(shared): State<Shared>, Path(draft): Path<String>) -> Response {
    let read = reading(&shared, move |runs| runs.draft(&draft)).await;
    let document = |draft: Draft| {
        let mut members = Map::from_iter([("schema".to_owned(), Value::from("aime.draft/v1"))]);
        if let Value::Object(of_draft) = json!(draft) {
            members.extend(of_draft);
        }
        Value::Object(members)
    };
    answered(StatusCode::OK, read.map(document))
}

async fn review(State(shared): State<Shared>, Path((draft, act)): Path<(String, String)>, body: Bytes) -> Response {
    let reviewing = if body.is_empty() { Ok(ReviewBody::default()) } else { document::<ReviewBody>(&body) };
    let review = reviewing.and_then(|ReviewBody { plan, text }| {
        let verdict = verdict(&act, &text)?;
        Ok(PlanReview { plan: plan.map(|plan| plan.to_string()), verdict })
    });
    let done = match review {
        Ok(review) => shared.runs.review(&draft, review).await,
        Err(refusal) => Err(refusal),
    };
    answered(StatusCode::OK, done.map(|run| json!({"run": run})))
}

async fn search(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let asked = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "q").map(|(_, words)| words_of(&words));
    let found = match asked.filter(|words| !words.is_empty()) {
        Some(words) => reading(&shared, move |runs| runs.search(&words)).await,
        None => Err(refusal(Problem::Refused, "there are no words to be searched for")),
    };
    let document =
        |found: Found| json!({"schema": "aime.found/v1", "hits": found.hits, "more": found.more, "unreadable": found.unreadable});
    answered(StatusCode::OK, found.map(document))
}

async fn compare(State(shared): State<Shared>, RawQuery(query): RawQuery) -> Response {
    let compared = compared(&shared, query.as_deref().unwrap_or_default()).await;
    let document = |[one, other]: [RunDetails; 2]| {
        let comparison = Comparison::new(&one.view, &other.view);
        json!({"schema": "aime.comparison/v1", "runs": comparison.runs, "tasks": comparison.tasks, "files": comparison.files})
    };
    answered(StatusCode::OK, compared.map(document))
}

/// Returns the two runs that a query names, each as `run`.
pub(crate) async fn compared(shared: &Shared, query: &str) -> Result<[RunDetails; 2], Refusal> {
    let named = url::form_urlencoded::parse(query.as_bytes()).into_owned().filter(|(name, _)| name == "run").map(|(_, run)| run);
    let Ok([one, other]) = <[String; 2]>::try_from(named.collect::<Vec<_>>()) else {
        return Err(refusal(Problem::Refused, "two runs are compared: name two"));
    };
    reading(shared, move |runs| Ok([runs.details(&one)?, runs.details(&other)?])).await
}

/// Parses the body that a program has sent.
fn document<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| refusal(Problem::Invalid, &format!("the document is not as it should be: {error}")))
}

pub(crate) const fn status(problem: Problem) -> StatusCode {
    match problem {
        Problem::Invalid => StatusCode::BAD_REQUEST,
        Problem::NotFound => StatusCode::NOT_FOUND,
        Problem::Refused => StatusCode::CONFLICT,
        Problem::Fault => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub(crate) fn refused(refusal: &Refusal) -> Response {
    answer(status(refusal.problem), &json!({"error": {"message": refusal.message, "hint": refusal.hint}}))
}

fn answered(good: StatusCode, done: Result<Value, Refusal>) -> Response {
    match done {
        Ok(document) => answer(good, &document),
        Err(refusal) => refused(&refusal),
    }
}

fn answer(status: StatusCode, document: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // Requirement: 12.10
    #[test]
    fn every_route_is_described_and_nothing_else() {
        let description: Value = serde_json::from_str(DESCRIPTION).unwrap();
        let described: BTreeSet<&str> = description["paths"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, routes().iter().map(|(path, _)| *path).collect());
        for (path, methods) in description["paths"].as_object().unwrap() {
            for named in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                let parameters = serde_json::to_string(&methods["parameters"]).unwrap();
                assert!(
                    parameters.contains(&format!("parameters/{named}")) || parameters.contains(&format!("\"{named}\"")),
                    "{path}: {named}"
                );
            }
        }
        let references = DESCRIPTION.split("\"$ref\": \"#").skip(1).map(|rest| rest.split('"').next().unwrap());
        for reference in references {
            assert!(description.pointer(reference).is_some(), "{reference}");
        }
    }

    #[test]
    fn words_are_bounded_and_in_small_letters() {
        assert_eq!(words_of(" Über  the BRIDGE the "), ["bridge", "the", "über"]);
        assert_eq!(words_of(&"a b c d ".repeat(9)).len(), 4);
        assert!(words_of(" ").is_empty());
    }
}
