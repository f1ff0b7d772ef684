use aime_dashboard::{PlanReview, ReviewVerdict};
use axum::http::StatusCode;
use dom_query::Document;
use serde_json::{Value, json};

use crate::harness::World;

const ATTACK: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload='alert(1)";

// Requirement: 12.11
#[tokio::test]
async fn what_others_wrote_is_text() {
    let world = World::new(ATTACK);
    let own = format!("script[src^='{}/static/']", world.base());
    for (path, scripts) in [("/", 1), ("/?q=alert", 1), ("/runs/river", 2), ("/compare?run=river&run=river", 1), ("/plans/bridge", 1)] {
        let answer = world.page(path).await;
        let page = Document::from(answer.text.as_str());
        assert_eq!((page.select("script").length(), page.select(&own).length()), (scripts, scripts), "{path}");
        assert_eq!(page.select("img, iframe, [style], [onerror], [onload]").length(), 0, "{path}");
        assert!(page.text().contains("<script>alert(1)</script>"), "{path} shows it as it was written");
    }
}

// Requirement: 12.10
#[tokio::test]
async fn a_page_can_be_used_without_its_script() {
    let world = World::new("May I cross?");
    let page = Document::from(world.page("/runs/river").await.text);
    for form in ["answer", "tell", "pause", "cancel"] {
        let form = format!("form[method=post][action='{}/runs/river/{form}'] input[name=csrf]", world.base());
        assert!(page.select(&form).length() > 0, "{form}");
    }
    assert_eq!(page.select("input[name=question][value=q1]").length(), 3, "what is meant for one question answers no other");
    let list = Document::from(world.page("/?q=river").await.text);
    assert_eq!(list.select("form[method=post] textarea[name=goal][required]").length(), 1, "a run can be started");
    assert_eq!(list.select("select[name=folder] option").length(), 2);
    assert_eq!(list.select("select[name=approve] option[value=all]").length(), 0, "nothing allows everything");
    assert_eq!(list.select("form[action$='/compare'] input[type=checkbox][name=run][value=river]").length(), 1);
    let consent: Vec<String> =
        page.select("input[type=hidden][name=text]").iter().filter_map(|input| input.attr("value")).map(|it| it.to_string()).collect();
    assert_eq!(consent, ["yes", "always", "no"]);
    assert_eq!(page.select("#now main section#plan").length(), 1, "the report stands in it");
    for file in ["report.css", "report.js", "dashboard.css", "dashboard.js"] {
        assert_eq!(world.page(&format!("/static/{file}")).await.status, StatusCode::OK);
    }
    let missing = world.page("/runs/other").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert!(missing.text.contains("there is no such run"), "{}", missing.text);
}

#[tokio::test]
async fn an_unreadable_folder_is_named_beside_the_runs() {
    let world = World::new("Cross the river");
    assert_eq!(Document::from(world.page("/").await.text).select("p.failure").length(), 0);
    *world.runs.hill_fault.lock().unwrap() = Some(ATTACK.to_owned());
    let list = Document::from(world.page("/").await.text);
    let note = list.select("p.failure").text().to_string();
    assert!(note.contains("folder hill are missing") && note.contains("<script>alert(1)</script>"), "{note}");
    assert_eq!(list.select("input[name=run][value=river]").length(), 1);
    for path in ["/api/v1/runs", "/api/v1/search?q=river"] {
        let answer: Value = serde_json::from_str(&world.program("GET", path, "").await.text).unwrap();
        assert_eq!(answer["unreadable"], json!([{"folder": "hill", "message": ATTACK, "hint": null}]), "{path}");
    }
}

#[tokio::test]
async fn a_plan_is_reviewed_in_a_form() {
    let world = World::new("Cross the river");
    let list = Document::from(world.page("/").await.text);
    assert_eq!(list.select(&format!("button[formaction='{}/plans']", world.base())).length(), 1, "a goal can be planned first");
    assert_eq!(list.select(&format!("a[href='{}/plans/bridge']", world.base())).length(), 1);
    let page = Document::from(world.page("/plans/bridge").await.text);
    assert!(page.text().contains("about 6 requests"), "the page shows the forecast");
    let shown: Value = serde_json::from_str(&page.select("textarea[name=plan]").text()).unwrap();
    assert_eq!(shown["tasks"][0]["id"], "look");
    let send = async |act: &str, body: &str| world.program("POST", &format!("{}/plans/bridge/{act}", world.base()), body).await;
    assert_eq!(send("comment", "plan=%7B%7D&text=by+boat").await.head("location"), format!("{}/plans/bridge", world.base()));
    assert_eq!(send("run", "plan=%7B%7D").await.head("location"), format!("{}/runs/river", world.base()));
    assert_eq!(send("drop", "").await.head("location"), format!("{}/", world.base()));
    let plan = Some("{}".to_owned());
    let expected = [
        PlanReview { plan: plan.clone(), verdict: ReviewVerdict::Comment("by boat".into()) },
        PlanReview { plan, verdict: ReviewVerdict::Run },
        PlanReview { plan: None, verdict: ReviewVerdict::Drop },
    ];
    assert_eq!(*world.runs.reviews.lock().unwrap(), expected);
    // Comments are not lost because the wrong button was used.
    let refused = send("run", "plan=%7B%7D&text=by+boat").await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    let kept = Document::from(refused.text);
    assert_eq!((&*kept.select("textarea[name=plan]").text(), &*kept.select("textarea[name=text]").text()), ("{}", "by boat"));
}

#[tokio::test]
async fn programs_are_told_the_same() {
    let world = World::new("Cross the river");
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let runs = read(&world.program("GET", "/api/v1/runs", "").await.text);
    assert_eq!((&runs["schema"], &runs["runs"][0]["run_id"]), (&"aime.runs/v1".into(), &"river".into()));
    let run = read(&world.program("GET", "/api/v1/runs/river", "").await.text);
    assert_eq!((&run["schema"], &run["questions"][0]["id"], &run["driven"]), (&"aime.run/v1".into(), &"q1".into(), &true.into()));
}
