use aime_dashboard::Act;
use axum::http::StatusCode;

use crate::harness::{BEARER, FORM, HOST, World};

const ROUTES: [(&str, &str); 12] = [
    ("GET", "/"),
    ("GET", "/runs/river"),
    ("POST", "/runs/river/answer"),
    ("POST", "/runs/river/cancel"),
    ("GET", "/static/dashboard.js"),
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/api/v1/runs"),
    ("GET", "/api/v1/runs/river"),
    ("GET", "/api/v1/runs/river/events"),
    ("POST", "/api/v1/runs/river/tell"),
    ("POST", "/api/v1/runs/river/pause"),
    ("GET", "/nowhere"),
];

#[tokio::test]
async fn every_route_is_guarded() {
    let world = World::new("Cross the river");
    let session = world.cookie().await.split(';').next().unwrap().to_owned();
    let cookie = ("cookie", session.as_str());
    for (method, path) in ROUTES {
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
    assert!(world.runs.said.lock().unwrap().is_empty(), "nothing was passed on");
}

#[tokio::test]
async fn a_visit_with_the_token_is_remembered() {
    let world = World::new("Cross the river");
    let cookie = world.cookie().await;
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("=token;"), "the cookie is not the token");
    let run = world.ask("GET", "/runs/river?token=token", &[HOST], "").await;
    assert_eq!((run.status, run.head("location")), (StatusCode::SEE_OTHER, "/runs/river"));
    let elsewhere = world.ask("GET", "//evil.test/?token=token", &[HOST], "").await;
    assert_eq!((elsewhere.status, elsewhere.head("location")), (StatusCode::UNAUTHORIZED, ""));
    let session = cookie.split(';').next().unwrap();
    let list = world.ask("GET", "/", &[HOST, ("cookie", session)], "").await;
    assert_eq!(list.status, StatusCode::OK);
    assert!(list.text.contains("Cross the river"), "{}", list.text);
}

#[tokio::test]
async fn a_browser_says_nothing_without_the_second_token() {
    let world = World::new("Cross the river");
    let session = world.cookie().await.split(';').next().unwrap().to_owned();
    let cookie = ("cookie", session.as_str());
    let page = world.ask("GET", "/runs/river", &[HOST, cookie], "").await.text;
    let csrf = page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    for (path, lines, body) in [
        ("/runs/river/answer", vec![HOST, cookie, FORM], "text=yes".to_owned()),
        ("/runs/river/answer", vec![HOST, cookie, FORM], "text=yes&csrf=token".to_owned()),
        ("/runs/river/answer", vec![HOST, cookie], format!("text=yes&csrf={csrf}")),
        ("/api/v1/runs/river/answer", vec![HOST, cookie], "{\"text\": \"yes\"}".to_owned()),
        ("/api/v1/runs/river/answer", vec![HOST, cookie, ("x-csrf-token", "token")], "{\"text\": \"yes\"}".to_owned()),
    ] {
        assert_eq!(world.ask("POST", path, &lines, &body).await.status, StatusCode::FORBIDDEN, "{path} {lines:?} {body}");
    }
    assert!(world.runs.said.lock().unwrap().is_empty());
    let said = world
        .ask(
            "POST",
            "/runs/river/answer",
            &[HOST, cookie, FORM, ("origin", "http://127.0.0.1:4000")],
            &format!("csrf={csrf}&text=over+the+%E6%A1%A5"),
        )
        .await;
    assert_eq!((said.status, said.head("location")), (StatusCode::SEE_OTHER, "/runs/river?said"));
    let said = world.ask("POST", "/api/v1/runs/river/pause", &[HOST, cookie, ("x-csrf-token", csrf)], "").await;
    assert_eq!(said.status, StatusCode::OK);
    let acts: Vec<Act> = world.runs.said.lock().unwrap().iter().map(|(_, act)| act.clone()).collect();
    assert_eq!(acts, [Act::Answer { text: "over the 桥".into() }, Act::Pause]);
}

#[tokio::test]
async fn what_is_too_much_is_refused() {
    let world = World::new("Cross the river");
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(300_000));
    assert_eq!(world.program("POST", "/api/v1/runs/river/tell", &long).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    for (body, status) in [("{\"text\": \"\"}", 409), ("{\"texts\": \"x\"}", 409), ("no", 409), ("{\"text\": \"x\"}", 200)] {
        assert_eq!(world.program("POST", "/api/v1/runs/river/tell", body).await.status.as_u16(), status, "{body}");
    }
    assert_eq!(world.program("POST", "/api/v1/runs/river/explode", "{}").await.status, StatusCode::NOT_FOUND);
    assert_eq!(world.program("POST", "/api/v1/runs/other/pause", "").await.status, StatusCode::NOT_FOUND);
    assert_eq!(world.program("DELETE", "/api/v1/runs/river", "").await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(world.runs.said.lock().unwrap().len(), 2);
}
