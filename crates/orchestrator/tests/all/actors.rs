//! Inputs of a run's actors, and their context after compaction.

use std::{collections::BTreeMap, path::Path};

use aime_actor_factory::ActorFactory;
use aime_dynamic_planner::{Category, RouteSettings};
use aime_llm::{
    ChatRequest, Effort, Image, Message, ModelLimits, ModelStack,
    scripted::{Reply, ScriptedModel, When},
};
use aime_orchestrator::{Models, RunRequest};
use aime_progress_management::{PlanMode, ProgressEvent, ReasoningEffort, RunStatus};
use aime_redact::Redactor;
use aime_tools::{InstalledSkill, Skill, SkillCatalog};
use serde_json::json;

use crate::bench::{Bench, done, plan};

// Requirement: 2.16
#[tokio::test]
async fn the_actors_of_a_category_have_its_model_and_its_skills() {
    let text = "---\nname: rhyme\ndescription: How verse is written\n---\nRHYME-EVERY-SECOND-LINE\n";
    let mut skills = SkillCatalog::default();
    let skill = Skill::parse(Path::new("rhyme/SKILL.md"), text).unwrap();
    skills.add(InstalledSkill { skill, folder: "rhyme".into(), files: Vec::new() });
    let verse = Category {
        name: "verse".to_owned(),
        keywords: vec!["poem".to_owned()],
        profile: "sisyphus".to_owned(),
        model: Some("poet".to_owned()),
        skills: vec!["rhyme".to_owned()],
    };
    let (usual, poet) = (ScriptedModel::new("usual"), ScriptedModel::new("poet-1").on(When::tools(), [done("a poem")]));
    let roles = [("default", usual.clone()), ("poet", poet.clone())];
    let roles: BTreeMap<_, _> = roles.into_iter().map(|(role, model)| (role.to_owned(), ModelStack::of(model))).collect();
    let bench = Bench::new(usual.clone());
    let builder = bench.builder().model(Models::new(roles).unwrap()).routing(vec![verse], RouteSettings::default());
    let orchestrator = builder.actors(ActorFactory::builtin().unwrap().with_skills(skills)).build().unwrap();
    let mut request = bench.request("Say a poem about the sea", None);
    request.settings.mode = Some(PlanMode::Direct);
    let result = orchestrator.run(request).await.unwrap();
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "a poem"), "{result:#?}");
    assert!(usual.requests().is_empty(), "the usual model is not asked");
    assert!(format!("{:?}", poet.requests()[0].messages[0]).contains("RHYME-EVERY-SECOND-LINE"), "{:?}", poet.requests()[0].messages[0]);
    let made = bench.events().into_iter().find_map(|timed| match timed.event {
        ProgressEvent::ActorCreated { model, name, description, temperature, created_at, .. } => {
            assert!(name.starts_with("sisyphus: ") && !description.is_empty(), "{name}: {description}");
            assert_eq!((temperature, created_at.is_some()), (Some(0.2), true));
            Some(model)
        }
        _ => None,
    });
    assert_eq!(made.as_deref(), Some("poet-1"));
    assert_eq!(bench.state().category, "verse");
}

// Requirement: 4.45, 11.3
#[tokio::test]
async fn a_task_has_its_own_model_effort_and_limits() {
    let limits = |most| ModelLimits { max_output_tokens: most, ..ModelLimits::default() };
    let usual = ScriptedModel::new("usual").with_limits(limits(500)).on(When::tools(), [done("by the usual one")]);
    let strong = ScriptedModel::new("strong-1").with_limits(limits(9_000)).on(When::tools(), [done("by the strong one")]);
    let roles = [("default", usual.clone()), ("strong", strong.clone())];
    let roles: BTreeMap<_, _> = roles.into_iter().map(|(role, model)| (role.to_owned(), ModelStack::of(model))).collect();
    let bench = Bench::new(usual.clone());
    let orchestrator = bench.builder().model(Models::new(roles).unwrap()).build().unwrap();
    let plan = plan(json!([
        {"id": "easy", "kind": "actor", "description": "SAY-IT"},
        {"id": "hard", "kind": "actor", "description": "PROVE-IT", "model": "strong", "effort": "high"},
    ]));
    let result = orchestrator.run(bench.request("Prove it", Some(plan))).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let asked = |model: &ScriptedModel| {
        let of_actors = |request: &ChatRequest| !request.tools.is_empty();
        model.requests().into_iter().filter(of_actors).map(|request| (request.effort, request.max_output_tokens)).collect::<Vec<_>>()
    };
    assert_eq!(asked(&usual), [(None, Some(500))]);
    assert_eq!(asked(&strong), [(Some(Effort::High), Some(9_000))]);
    let spec = &bench.state().tasks["hard"].spec;
    assert_eq!((spec.model.as_deref(), spec.effort), (Some("strong"), Some(ReasoningEffort::High)));
}

// Requirement: 4.38
#[tokio::test]
async fn compaction_keeps_what_an_actor_knows_of_the_plan() {
    // The model's own count says how full the window is.
    let look = |at: u32| {
        Reply::call("read_file", json!({"path": "long.txt", "offset": at * 45 + 1, "limit": 90})).usage(u64::from(at) * 800 + 800, 20)
    };
    let model = ScriptedModel::new("m")
        .with_limits(ModelLimits { context_tokens: 8_000, max_output_tokens: 500, ..ModelLimits::default() })
        .once(When::tools(), (0..12).map(look))
        .on(When::tools(), [done("all is read")])
        .on(When::plain(), [Reply::text("It is a long text.")]);
    let bench = Bench::new(model);
    std::fs::write(bench.path("long.txt"), "a line of the long text, and nothing else\n".repeat(600)).unwrap();
    let plan = plan(json!([
        {"id": "first", "kind": "tool", "tool": "append", "parameters": {"line": "HEADLINE"}},
        {"id": "read", "kind": "actor", "description": "READ-THE-LONG-TEXT", "dependencies": ["first"], "profile": "sisyphus"},
    ]));
    let result = bench.run("KNOW-THE-TEXT", Some(plan)).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let compacted = bench.events().iter().filter(|timed| matches!(timed.event, ProgressEvent::HistoryCompacted { .. })).count();
    assert!(compacted > 0, "the window was full");
    let asked: Vec<_> = bench.model.requests().into_iter().filter(|request| !request.tools.is_empty()).collect();
    let (first, last) = (asked.first().unwrap(), asked.last().unwrap());
    let task = |request: &ChatRequest| match request.messages[1].as_ref() {
        Message::User { content, .. } => content.clone(),
        other => panic!("{other:?}"),
    };
    let known = task(last);
    assert_eq!(last.messages[0], first.messages[0]);
    assert!(known.starts_with(&task(first)) && known.contains("Earlier messages were removed"), "what it began with stands: {known}");
    for kept in ["KNOW-THE-TEXT", "READ-THE-LONG-TEXT", "wrote HEADLINE"] {
        assert!(known.contains(kept), "{kept} is not kept: {known}");
    }
}

/// Returns an image whose base64 data contains `holds`.
fn image(name: &str, holds: &str) -> Image {
    let image = Image::new(name, b"GIF89a\x05\0\x03\0\0\0\0 and more").unwrap();
    assert!(image.data.contains(holds), "{}", image.data);
    image
}

#[tokio::test]
async fn images_reach_the_planner_and_the_actors_unchanged() {
    let made = plan(json!([{"id": "look", "kind": "actor", "description": "LOOK"}]));
    let model = ScriptedModel::new("m")
        .on(When::schema("aime_plan"), [Reply::json(serde_json::to_value(&made).unwrap())])
        .on(When::tools().and_turn(0), [Reply::call("read_file", json!({"path": "b.gif"}))])
        .on(When::tools(), [done("seen")]);
    let bench = Bench::new(model.clone());
    std::fs::write(bench.path("b.gif"), b"GIF89a\x05\0\x03\0\0\0\0 and more").unwrap();
    // The image data contains this value by chance, in base64 too.
    let redactor = Redactor::new(["R0lGODlhBQAD", "and more"]);
    let builder = bench.builder().model(model.clone()).redactor(redactor);
    let mut request = RunRequest { images: vec![image("a.gif", "R0lGODlhBQAD")], ..bench.request("Describe it", None) };
    request.settings.mode = Some(PlanMode::Simple);
    let result = builder.build().unwrap().run(request).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let (a, b) = (image("a.gif", ""), image("b.gif", ""));
    let seen = |request: &ChatRequest| request.messages.iter().flat_map(|message| message.images().to_vec()).collect::<Vec<_>>();
    let images: Vec<Vec<Image>> = model.requests().iter().map(seen).filter(|images| !images.is_empty()).collect();
    assert_eq!(images, [vec![a.clone()], vec![a.clone()], vec![a, b.clone()]]);
    // Events name the images of the goal and hold no data.
    let events = bench.events().into_iter().map(|timed| serde_json::to_string(&timed.event).unwrap()).collect::<String>();
    assert!(events.contains(r#""images":[{"name":"a.gif","media_type":"image/gif"}]"#), "{events}");
    assert!(!events.contains(&*b.data) && !serde_json::to_string(&result).unwrap().contains(&*b.data), "{events}");
}
