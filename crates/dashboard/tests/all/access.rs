use aime_dashboard::{Act, Mode, NewRun};
use axum::http::StatusCode;

use crate::harness::{BEARER, FORM, HOST, World};

/// Every route; `BASE` is the unguessable path.
const ROUTES: [(&str, &str); 29] = [
    ("GET", "/"),
    ("GET", "/runs/river"),
    ("GET", "BASE/"),
    ("GET", "BASE/compare?run=river&run=river"),
    ("POST", "BASE/runs"),
    ("GET", "BASE/runs/river"),
    ("GET", "BASE/runs/river/live"),
    ("POST", "BASE/runs/river/answer"),
    ("POST", "BASE/runs/river/resume"),
    ("POST", "BASE/runs/river/cancel"),
    ("POST", "BASE/plans"),
    ("GET", "BASE/plans/bridge"),
    ("POST", "BASE/plans/bridge/run"),
    ("GET", "BASE/static/dashboard.js"),
    ("GET", "/api/v1/openapi.json"),
    ("POST", "/api/v1/runs"),
    ("GET", "/api/v1/search?q=river"),
    ("GET", "/api/v1/compare?run=river&run=river"),
    ("POST", "/api/v1/runs/river/resume"),
    ("GET", "/api/v1/runs"),
    ("GET", "/api/v1/runs/river"),
    ("GET", "/api/v1/runs/river/events"),
    ("POST", "/api/v1/runs/river/tell"),
    ("POST", "/api/v1/runs/river/pause"),
    ("GET", "/api/v1/plans"),
    ("POST", "/api/v1/plans"),
    ("GET", "/api/v1/plans/bridge"),
    ("POST", "/api/v1/plans/bridge/run"),
    ("GET", "/nowhere"),
];

// Requirement: 12.11
#[tokio::test]
async fn every_route_is_guarded() {
    let world = World::new("Cross the river");
    let session = world.cookie().await.split(';').next().unwrap().to_owned();
    let cookie = ("cookie", session.as_str());
    for (method, path) in ROUTES {
        let path = path.replace("BASE", &world.base());
        let path = path.as_str();
        for (lines, status) in [
            (vec![HOST], StatusCode::UNAUTHORIZED),
            (vec![HOST, ("authorization", "Bearer wrong")], StatusCode::UNAUTHORIZED),
            (vec![HOST, ("cookie", "aime_4000=token")], StatusCode::UNAUTHORIZED),
            (vec![BEARER], StatusCode::FORBIDDEN),
            (vec![("host", "rebound.test:4000"), BEARER], StatusCode::FORBIDDEN),
            (vec![("host", "rebound.test:4000"), cookie], StatusCode::FORBIDDEN),
            (vec![HOST, ("origin", "http://evil.test"), cookie], StatusCode::FORBIDDEN),
            (vec![HOST, ("origin", "null"), cookie], StatusCode::FORBIDDEN),
            (vec![HOST, ("sec-fetch-site", "cross-site"), cookie], StatusCode::FORBIDDEN),
        ] {
            let answer = world.ask(method, path, &lines, "").await;
            assert_eq!(answer.status, status, "{method} {path} {lines:?}");
            assert!(answer.head("content-security-policy").starts_with("default-src 'none'"), "{method} {path}");
            assert_eq!(answer.head("referrer-policy"), "same-origin", "with none, browsers hide the origin of the page's own forms");
        }
    }
    assert_eq!(world.ask("GET", "/?token=wrong", &[HOST], "").await.status, StatusCode::UNAUTHORIZED);
    assert!(world.runs.acts.lock().unwrap().is_empty() && world.runs.started.lock().unwrap().is_empty(), "nothing was passed on");
    assert!(world.runs.reviews.lock().unwrap().is_empty());
}

// Requirement: 12.11
#[tokio::test]
async fn the_cookie_is_for_pages_alone() {
    let world = World::new("Cross the river");
    let session = world.cookie().await.split(';').next().unwrap().to_owned();
    for (method, path) in ROUTES.into_iter().filter(|(_, path)| path.starts_with("/api")) {
        let answer = world.ask(method, path, &[HOST, ("cookie", session.as_str())], "{}").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path}");
    }
}

#[tokio::test]
async fn a_visit_with_the_token_is_remembered() {
    let world = World::new("Cross the river");
    let cookie = world.cookie().await;
    // Browsers send the cookie only to this path, so other servers on this host do not get it.
    for part in ["HttpOnly", "SameSite=Strict", &format!("Path={};", world.base())] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("=token;"), "the cookie is not the token");
    let run = world.ask("GET", "/runs/river?token=token", &[HOST], "").await;
    assert_eq!((run.status, run.head("location")), (StatusCode::SEE_OTHER, format!("{}/runs/river", world.base()).as_str()));
    let elsewhere = world.ask("GET", "//evil.test/?token=token", &[HOST], "").await;
    assert_eq!((elsewhere.status, elsewhere.head("location")), (StatusCode::UNAUTHORIZED, ""));
    let session = cookie.split(';').next().unwrap();
    let list = world.ask("GET", &format!("{}/", world.base()), &[HOST, ("cookie", session)], "").await;
    assert_eq!(list.status, StatusCode::OK);
    assert!(list.text.contains("Cross the river"), "{}", list.text);
}

// Requirement: 12.11
#[tokio::test]
async fn a_browser_says_nothing_without_the_second_token() {
    let world = World::new("Cross the river");
    let session = world.cookie().await.split(';').next().unwrap().to_owned();
    let cookie = ("cookie", session.as_str());
    let at = |path: &str| format!("{}{path}", world.base());
    let page = world.ask("GET", &at("/runs/river"), &[HOST, cookie], "").await.text;
    let csrf = page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    for (path, lines, body) in [
        ("/runs/river/answer", vec![HOST, cookie, FORM], "text=yes".to_owned()),
        ("/runs/river/answer", vec![HOST, cookie, FORM], "text=yes&csrf=token".to_owned()),
        ("/runs/river/answer", vec![HOST, cookie], format!("text=yes&csrf={csrf}")),
        ("/runs/river/resume", vec![HOST, cookie, FORM], String::new()),
        ("/runs", vec![HOST, cookie, FORM], "goal=x".to_owned()),
        ("/runs", vec![HOST, cookie, FORM], "goal=x&csrf=".to_owned()),
        ("/runs", vec![HOST, cookie, ("content-type", "text/plain")], format!("goal=x&csrf={csrf}")),
        ("/runs?csrf=token", vec![HOST, cookie, FORM, ("x-csrf-token", csrf)], "goal=x".to_owned()),
    ] {
        assert_eq!(world.ask("POST", &at(path), &lines, &body).await.status, StatusCode::FORBIDDEN, "{path} {lines:?} {body}");
    }
    assert!(world.runs.acts.lock().unwrap().is_empty() && world.runs.started.lock().unwrap().is_empty());
    let send = async |path: &str, body: &str| {
        let answer =
            world.ask("POST", &at(path), &[HOST, cookie, FORM, ("origin", "http://127.0.0.1:4000")], &format!("csrf={csrf}&{body}")).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{path} {body}: {}", answer.text);
        answer.head("location").to_owned()
    };
    assert_eq!(send("/runs/river/answer", "text=over+the+%E6%A1%A5&question=q1").await, at("/runs/river?done"));
    assert_eq!(send("/runs", "goal=over+it&mode=complex&approve=&folder=hill").await, at("/runs/river"));
    let acts: Vec<Act> = world.runs.acts.lock().unwrap().iter().map(|(_, act)| act.clone()).collect();
    assert_eq!(acts, [Act::Answer { question: Some("q1".into()), text: "over the 桥".into(), resume: false }]);
    let new = NewRun { goal: "over it".into(), folder: Some("hill".into()), mode: Some(Mode::Complex), approve: None };
    assert_eq!(*world.runs.started.lock().unwrap(), [new]);
    // A form for a task that names none does nothing.
    let cancel = world.ask("POST", &at("/runs/river/cancel"), &[HOST, cookie, FORM], &format!("csrf={csrf}&of=task")).await;
    assert_eq!(cancel.status, StatusCode::CONFLICT);
}

// Requirement: 12.11
#[tokio::test]
async fn what_is_too_much_is_refused() {
    let world = World::new("Cross the river");
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(300_000));
    assert_eq!(world.program("POST", "/api/v1/runs/river/tell", &long).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    for (body, status) in [("{\"text\": \"\"}", 409), ("{\"texts\": \"x\"}", 400), ("no", 400), ("{\"text\": \"x\"}", 200)] {
        assert_eq!(world.program("POST", "/api/v1/runs/river/tell", body).await.status.as_u16(), status, "{body}");
    }
    assert_eq!(world.program("POST", "/api/v1/runs/river/explode", "{}").await.status, StatusCode::NOT_FOUND);
    assert_eq!(world.program("POST", "/api/v1/runs/other/pause", "").await.status, StatusCode::NOT_FOUND);
    assert_eq!(world.program("DELETE", "/api/v1/runs/river", "").await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(world.runs.acts.lock().unwrap().len(), 2);
}
