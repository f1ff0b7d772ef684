//! Dashboard with fake runs, called without a network.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use aime_dashboard::{
    Act, Draft, Event, Found, Hit, NewRun, OpenQuestion, PlanForecast, PlanReview, Problem, Refusal, ReviewVerdict, RunDetails, RunEntry,
    RunList, Runs, UnreadableFolder, app,
};
use aime_progress_management::{PlanId, ProgressEvent, ProgressState, RunId, Timestamp};
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
use sha2::{Digest, Sha256};
use tower::ServiceExt;

pub(crate) const PORT: u16 = 4000;
pub(crate) const TOKEN: &str = "token";

/// Fake runs; only `river` exists.
#[derive(Default)]
pub(crate) struct MadeUp {
    pub(crate) goal: Mutex<String>,
    pub(crate) events: Mutex<Vec<u64>>,
    pub(crate) acts: Mutex<Vec<(String, Act)>>,
    pub(crate) started: Mutex<Vec<NewRun>>,
    pub(crate) reviews: Mutex<Vec<PlanReview>>,
    /// True if no process drives it.
    pub(crate) left: AtomicBool,
    /// Reason why the folder `hill` cannot be read, if it cannot.
    pub(crate) hill_fault: Mutex<Option<String>>,
    /// Number of times that it was read.
    pub(crate) looks: AtomicUsize,
}

fn unknown() -> Refusal {
    Refusal { problem: Problem::NotFound, message: "there is no such run".into(), hint: Some("look again".into()) }
}

impl MadeUp {
    fn unreadable(&self) -> Vec<UnreadableFolder> {
        let reason = |message: &String| Refusal { problem: Problem::Refused, message: message.clone(), hint: None };
        self.hill_fault.lock().unwrap().iter().map(|message| UnreadableFolder { folder: "hill".into(), reason: reason(message) }).collect()
    }
}

impl Runs for MadeUp {
    fn folders(&self) -> Vec<String> {
        vec!["meadow".into(), "hill".into()]
    }

    fn is_driven(&self, _: &str) -> Result<bool, Refusal> {
        Ok(!self.left.load(Ordering::SeqCst))
    }

    fn search(&self, words: &[String]) -> Result<Found, Refusal> {
        let goal = self.goal.lock().unwrap().clone();
        let hit =
            Hit { run: "river".into(), goal: goal.clone(), seq: 0, kind: "goal".into(), time: "2026-01-01T00:00:00Z".into(), text: goal };
        let found = words.iter().all(|word| hit.goal.to_lowercase().contains(word));
        Ok(Found { hits: if found { vec![hit] } else { vec![] }, more: true, unreadable: self.unreadable() })
    }

    fn start(&self, new: NewRun) -> BoxFuture<'_, Result<String, Refusal>> {
        Box::pin(async move {
            if new.folder.as_ref().is_some_and(|folder| !self.folders().contains(folder)) {
                return Err(unknown());
            }
            self.started.lock().unwrap().push(new);
            Ok("river".to_owned())
        })
    }

    fn plan(&self, new: NewRun) -> BoxFuture<'_, Result<String, Refusal>> {
        Box::pin(async move {
            self.started.lock().unwrap().push(new);
            Ok("bridge".to_owned())
        })
    }

    fn drafts(&self) -> Vec<Draft> {
        self.draft("bridge").into_iter().collect()
    }

    fn draft(&self, draft: &str) -> Result<Draft, Refusal> {
        let goal = self.goal.lock().unwrap().clone();
        let task = json!({"id": "look", "kind": "actor", "name": goal, "description": goal, "dependencies": [goal]});
        let forecast = PlanForecast { requests: 6, tokens: 900, cost_usd: None, text: "about 6 requests".into() };
        let made = Draft {
            draft: draft.to_owned(),
            goal,
            planning: false,
            plan: Some(json!({"schema": "aime.plan/v1", "tasks": [task]})),
            forecast: Some(forecast),
            failure: None,
        };
        if draft == "bridge" { Ok(made) } else { Err(unknown()) }
    }

    fn review<'a>(&'a self, draft: &'a str, review: PlanReview) -> BoxFuture<'a, Result<Option<String>, Refusal>> {
        Box::pin(async move {
            self.draft(draft)?;
            let run = review.verdict == ReviewVerdict::Run;
            self.reviews.lock().unwrap().push(review);
            Ok(run.then(|| "river".to_owned()))
        })
    }

    fn list(&self) -> Result<RunList, Refusal> {
        let at = "2026-01-01T00:00:00Z".to_owned();
        let goal = self.goal.lock().unwrap().clone();
        let entry = RunEntry {
            run: "river".into(),
            run_id: "river".into(),
            folder: "meadow".into(),
            status: "waiting_for_human".into(),
            goal,
            created: at.clone(),
            updated: at,
        };
        Ok(RunList { runs: vec![entry], unreadable: self.unreadable() })
    }

    fn details(&self, run: &str) -> Result<RunDetails, Refusal> {
        if run != "river" {
            return Err(unknown());
        }
        let (id, at, goal) = (RunId::new(run).unwrap(), Timestamp::from_millis(0), self.goal.lock().unwrap().clone());
        self.looks.fetch_add(1, Ordering::SeqCst);
        let begun = ProgressEvent::RunStarted { plan_id: PlanId::new(run).unwrap(), goal: goal.clone(), images: Vec::new() };
        let state = ProgressState::start(at, &begun).unwrap();
        // There is one moment more than there are events.
        let numbers = self.events.lock().unwrap().clone();
        let noted: Vec<ProgressEvent> =
            numbers.iter().map(|seq| ProgressEvent::MemoryFailed { message: format!("event {seq}").into() }).collect();
        let events = std::iter::once(&begun).chain(&noted).map(|event| (at, event)).collect();
        let source = Source { run: &id, state: &state, events, failure: None, files: None, notes: vec![], made_at: at };
        Ok(RunDetails {
            run: run.to_owned(),
            view: ReportView::new(&source, &Redactor::default()),
            result: json!({"run_id": run}),
            questions: vec![OpenQuestion { id: "q1".into(), kind: "approval".into(), task: None, question: goal, always: true }],
            seq: numbers.last().copied().unwrap_or(0),
            driven: !self.left.load(Ordering::SeqCst),
            is_over: false,
            takes_follow_up: false,
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
            self.acts.lock().unwrap().push((run.to_owned(), act));
            if run == "river" { Ok("said".to_owned()) } else { Err(unknown()) }
        })
    }
}

/// Dashboard with its runs.
pub(crate) struct World {
    pub(crate) runs: Arc<MadeUp>,
    app: Router,
}

/// Received answer.
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

    /// Sends a request with only these header lines.
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

    /// Sends a request as a program, with the token.
    pub(crate) async fn program(&self, method: &str, path: &str, body: &str) -> Answer {
        self.ask(method, path, &[HOST, BEARER], body).await
    }

    /// Returns the cookie that a visit with the token sets.
    pub(crate) async fn cookie(&self) -> String {
        let visit = self.ask("GET", "/?token=token", &[HOST], "").await;
        assert_eq!((visit.status, visit.head("location")), (StatusCode::SEE_OTHER, format!("{}/", self.base()).as_str()));
        visit.head("set-cookie").to_owned()
    }

    /// Returns the path below which the pages are.
    pub(crate) fn base(&self) -> String {
        let hash = Sha256::digest(format!("base of {TOKEN}"));
        format!("/{}", hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    /// Requests a page as a program.
    pub(crate) async fn page(&self, path: &str) -> Answer {
        self.program("GET", &format!("{}{path}", self.base()), "").await
    }
}

pub(crate) const HOST: (&str, &str) = ("host", "127.0.0.1:4000");
pub(crate) const BEARER: (&str, &str) = ("authorization", "Bearer token");
pub(crate) const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
