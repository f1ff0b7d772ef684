//! The interface for programs, version 1. `openapi.json` describes it, and a test compares the two.

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Act, Problem, Refusal, live,
    server::{Shared, reading},
};

const DESCRIPTION: &str = include_str!("openapi.json");

/// What is said to a run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) task: Option<String>,
}

impl Said {
    /// The act of this name; none where there is no such one.
    pub(crate) fn act(self, name: &str) -> Result<Act, Refusal> {
        let text = self.text.trim().to_owned();
        let task = self.task.filter(|task| !task.is_empty());
        let refused = |problem, message: &str| Err(Refusal { problem, message: message.to_owned(), hint: None });
        match name {
            "answer" | "tell" if text.is_empty() => refused(Problem::Refused, "there is no text"),
            "answer" => Ok(Act::Answer { text }),
            "tell" => Ok(Act::Tell { task, text }),
            "pause" => Ok(Act::Pause),
            "cancel" => Ok(Act::Cancel { task }),
            _ => refused(Problem::NotFound, "nothing of that name can be said to a run"),
        }
    }
}

/// The routes below `/api/v1`.
pub(crate) fn routes() -> [(&'static str, MethodRouter<Shared>); 5] {
    [
        ("/openapi.json", get(description)),
        ("/runs", get(list)),
        ("/runs/{run}", get(look)),
        ("/runs/{run}/events", get(live::events)),
        ("/runs/{run}/{act}", post(act)),
    ]
}

async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION).into_response()
}

async fn list(State(shared): State<Shared>) -> Response {
    match reading(&shared, |runs| runs.list()).await {
        Ok(runs) => answer(StatusCode::OK, &json!({"schema": "aime.runs/v1", "runs": runs})),
        Err(refusal) => refused(&refusal),
    }
}

async fn look(State(shared): State<Shared>, Path(run): Path<String>) -> Response {
    match reading(&shared, move |runs| runs.look(&run)).await {
        Ok(looked) => answer(
            StatusCode::OK,
            &json!({"schema": "aime.run/v1", "result": looked.result, "questions": looked.questions, "seq": looked.seq, "driven": looked.driven, "over": looked.over}),
        ),
        Err(refusal) => refused(&refusal),
    }
}

async fn act(State(shared): State<Shared>, Path((run, act)): Path<(String, String)>, body: Bytes) -> Response {
    let said: Result<Said, _> = if body.is_empty() { Ok(Said::default()) } else { serde_json::from_slice(&body) };
    let said = said.map_err(|error| Refusal {
        problem: Problem::Refused,
        message: format!("the document is not as it should be: {error}"),
        hint: None,
    });
    let done = match said.and_then(|said| said.act(&act)) {
        Ok(act) => shared.runs.act(&run, act).await,
        Err(refusal) => Err(refusal),
    };
    match done {
        Ok(told) => answer(StatusCode::OK, &json!({"told": told})),
        Err(refusal) => refused(&refusal),
    }
}

pub(crate) const fn status(problem: Problem) -> StatusCode {
    match problem {
        Problem::NotFound => StatusCode::NOT_FOUND,
        Problem::Refused => StatusCode::CONFLICT,
        Problem::Fault => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub(crate) fn refused(refusal: &Refusal) -> Response {
    answer(status(refusal.problem), &json!({"error": {"message": refusal.message, "hint": refusal.hint}}))
}

fn answer(status: StatusCode, document: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

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
}
