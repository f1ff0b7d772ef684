//! A dashboard of runs that are made up, asked without a network.

use std::sync::{Arc, Mutex};

use aime_dashboard::{Act, Asked, Event, Looked, Problem, Refusal, RunEntry, Runs, app};
use aime_progress::{PlanId, ProgressEvent, ProgressState, RunId, Timestamp};
use aime_redact::Redactor;
use aime_report::{ReportView, Source};
use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
    response::Response,
};
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use serde_json::json;
use tower::ServiceExt;

pub(crate) const PORT: u16 = 4000;
pub(crate) const TOKEN: &str = "token";

/// Runs of which one is there, `river`.
#[derive(Default)]
pub(crate) struct MadeUp {
    pub(crate) goal: Mutex<String>,
    pub(crate) events: Mutex<Vec<u64>>,
    pub(crate) said: Mutex<Vec<(String, Act)>>,
}

fn unknown() -> Refusal {
    Refusal { problem: Problem::NotFound, message: "there is no such run".into(), hint: Some("look again".into()) }
}

impl Runs for MadeUp {
    fn list(&self) -> Result<Vec<RunEntry>, Refusal> {
        let at = "2026-01-01T00:00:00Z".to_owned();
        let goal = self.goal.lock().unwrap().clone();
        Ok(vec![RunEntry { run_id: "river".into(), status: "waiting_for_human".into(), goal, created: at.clone(), updated: at }])
    }

    fn look(&self, run: &str) -> Result<Looked, Refusal> {
        if run != "river" {
            return Err(unknown());
        }
        let (id, at, goal) = (RunId::new(run).unwrap(), Timestamp::from_millis(0), self.goal.lock().unwrap().clone());
        let begun = ProgressEvent::RunStarted { plan_id: PlanId::new(run).unwrap(), goal: goal.clone() };
        let state = ProgressState::start(at, &begun).unwrap();
        let source = Source { run: &id, state: &state, events: vec![(at, &begun)], failure: None, files: None, notes: vec![], made_at: at };
        Ok(Looked {
            view: ReportView::new(&source, &Redactor::default()),
            result: json!({"run_id": run}),
            questions: vec![Asked { id: "q1".into(), kind: "approval".into(), question: goal }],
            seq: 1,
            driven: true,
            over: false,
        })
    }

    fn events(&self, run: &str, after: u64, most: usize) -> Result<Vec<Event>, Refusal> {
        if run != "river" {
            return Err(unknown());
        }
        let events = self.events.lock().unwrap();
        Ok(events
            .iter()
            .filter(|seq| **seq > after)
            .take(most)
            .map(|seq| Event { seq: *seq, document: json!({"seq": seq, "text": "a\nb"}) })
            .collect())
    }

    fn act<'a>(&'a self, run: &'a str, act: Act) -> BoxFuture<'a, Result<String, Refusal>> {
        Box::pin(async move {
            self.said.lock().unwrap().push((run.to_owned(), act));
            if run == "river" { Ok("said".to_owned()) } else { Err(unknown()) }
        })
    }
}

/// A dashboard and its runs.
pub(crate) struct World {
    pub(crate) runs: Arc<MadeUp>,
    app: Router,
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    head: header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn head(&self, name: &str) -> &str {
        self.head.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl World {
    pub(crate) fn new(goal: &str) -> Self {
        let runs = Arc::new(MadeUp { goal: Mutex::new(goal.to_owned()), ..MadeUp::default() });
        Self { app: app(Arc::clone(&runs) as Arc<dyn Runs>, TOKEN.to_owned(), PORT), runs }
    }

    /// Sends a request with these lines of its head, and no others.
    pub(crate) async fn raw(&self, method: &str, path: &str, lines: &[(&str, &str)], body: &str) -> Response {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        self.app.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap()
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, lines: &[(&str, &str)], body: &str) -> Answer {
        let answer = self.raw(method, path, lines, body).await;
        let (status, head) = (answer.status(), answer.headers().clone());
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        Answer { status, head, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// As a program asks, with the token.
    pub(crate) async fn program(&self, method: &str, path: &str, body: &str) -> Answer {
        self.ask(method, path, &[HOST, BEARER], body).await
    }

    /// The cookie that a visit with the token is given.
    pub(crate) async fn cookie(&self) -> String {
        let visit = self.ask("GET", "/?token=token", &[HOST], "").await;
        assert_eq!((visit.status, visit.head("location")), (StatusCode::SEE_OTHER, "/"));
        visit.head("set-cookie").to_owned()
    }
}

pub(crate) const HOST: (&str, &str) = ("host", "127.0.0.1:4000");
pub(crate) const BEARER: (&str, &str) = ("authorization", "Bearer token");
pub(crate) const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
