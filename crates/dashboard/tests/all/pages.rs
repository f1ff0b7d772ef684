use axum::http::StatusCode;
use dom_query::Document;
use serde_json::Value;

use crate::harness::World;

const ATTACK: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload='alert(1)";

#[tokio::test]
async fn what_others_wrote_is_text() {
    let world = World::new(ATTACK);
    for (path, scripts) in [("/", 1), ("/runs/river", 1)] {
        let answer = world.program("GET", path, "").await;
        let page = Document::from(answer.text.as_str());
        assert_eq!((page.select("script").length(), page.select("script[src='/static/dashboard.js']").length()), (scripts, 1), "{path}");
        assert_eq!(page.select("img, iframe, [style], [onerror], [onload]").length(), 0, "{path}");
        assert!(page.text().contains("<script>alert(1)</script>"), "{path} shows it as it was written");
    }
}

#[tokio::test]
async fn a_page_can_be_used_without_its_script() {
    let world = World::new("May I cross?");
    let page = Document::from(world.program("GET", "/runs/river", "").await.text);
    for form in ["answer", "tell", "pause", "cancel"] {
        assert!(page.select(&format!("form[method=post][action='/runs/river/{form}'] input[name=csrf]")).length() > 0, "{form}");
    }
    let consent: Vec<String> =
        page.select("input[type=hidden][name=text]").iter().filter_map(|input| input.attr("value")).map(|it| it.to_string()).collect();
    assert_eq!(consent, ["yes", "always", "no"]);
    assert_eq!(page.select("#now main section#plan").length(), 1, "the report stands in it");
    for file in ["report.css", "dashboard.css", "dashboard.js"] {
        assert_eq!(world.program("GET", &format!("/static/{file}"), "").await.status, StatusCode::OK);
    }
    let missing = world.program("GET", "/runs/other", "").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert!(missing.text.contains("there is no such run"), "{}", missing.text);
}

#[tokio::test]
async fn programs_are_told_the_same() {
    let world = World::new("Cross the river");
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let runs = read(&world.program("GET", "/api/v1/runs", "").await.text);
    assert_eq!((&runs["schema"], &runs["runs"][0]["run_id"]), (&"aime.runs/v1".into(), &"river".into()));
    let run = read(&world.program("GET", "/api/v1/runs/river", "").await.text);
    assert_eq!((&run["schema"], &run["questions"][0]["id"], &run["driven"]), (&"aime.run/v1".into(), &"q1".into(), &true.into()));
    let described = read(&world.program("GET", "/api/v1/openapi.json", "").await.text);
    assert_eq!(described["openapi"], "3.1.0");
}
