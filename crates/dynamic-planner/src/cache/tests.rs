//! Tests of keeping, evicting and comparing plans.

use super::*;
use crate::direct_plan;

fn key_of(request: &PlanRequest) -> PlanKey {
    PlanKey::of(request, &PlannerSettings::default(), &Prompts::default(), "m")
}

fn key(goal: &str) -> PlanKey {
    key_of(&PlanRequest::new(goal, PlanMode::Simple))
}

fn kept(goal: &str, plan: &str) -> KeptPlan {
    KeptPlan { key: key(goal), folders: vec![String::new()], plan: direct_plan(plan, None), by: None, used_at: 0 }
}

fn goal_of(kept: Option<&KeptPlan>) -> Option<&str> {
    kept.map(|kept| kept.plan.goal.as_str())
}

// Requirement: 3.46
#[test]
fn the_least_recently_used_plan_leaves_first() {
    let mut cache = PlanCache::new(2);
    cache.insert(kept("a", "a"));
    cache.insert(kept("b", "b"));
    assert!(cache.get(&key("a"), "").is_some());
    cache.insert(kept("c", "c"));
    assert_eq!((cache.len(), cache.get(&key("b"), "").is_none()), (2, true));
    assert_eq!(goal_of(cache.get(&key("a"), "")), Some("a"));
    cache.insert(kept("a", "new"));
    assert_eq!((cache.len(), goal_of(cache.get(&key("a"), ""))), (2, Some("new")));
    cache.remove(&key("a"));
    assert_eq!((cache.len(), goal_of(cache.get(&key("a"), ""))), (1, None));
}

#[test]
fn a_cache_for_nothing_keeps_nothing() {
    let mut cache = PlanCache::new(0);
    cache.insert(kept("a", "a"));
    assert!(cache.is_empty());
}

/// Returns an image of one pixel's height.
fn gif(width: u8) -> aime_llm::Image {
    aime_llm::Image::new("a.gif", &[b"GIF89a".as_slice(), &[width, 0, 1, 0, 0, 0, 0]].concat()).unwrap()
}

// Requirement: 3.46
#[test]
fn requests_differ_by_goal_mode_and_tools() {
    let base = PlanRequest::new("goal", PlanMode::Simple);
    let tool = |name: &str, description: &str| aime_llm::ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: serde_json::json!({}).into(),
    };
    let with = |tools: Vec<aime_llm::ToolDefinition>| key_of(&PlanRequest { tools: tools.into(), ..base.clone() });
    let profile = |description: &str| crate::ProfileBrief::new("p", description);
    let profiled = |description: &str| key_of(&PlanRequest { profiles: vec![profile(description)], ..base.clone() });
    let (plain, prompts) = (PlannerSettings::default(), Prompts::default());
    let own = Prompts::with_overrides(&[("plan_simple".to_owned(), "Plan: {{ goal }}".to_owned())].into()).unwrap();
    let keys = [
        key_of(&base),
        key_of(&PlanRequest { goal: "other".to_owned(), ..base.clone() }),
        key_of(&PlanRequest { mode: PlanMode::Complex, ..base.clone() }),
        key_of(&PlanRequest { images: vec![gif(3)], ..base.clone() }),
        key_of(&PlanRequest { images: vec![gif(4)], ..base.clone() }),
        key_of(&PlanRequest { project: "Run make.".to_owned(), ..base.clone() }),
        key_of(&PlanRequest { actor_tools: vec!["todo".to_owned()], ..base.clone() }),
        key_of(&PlanRequest { bundles: vec!["todo".to_owned()], ..base.clone() }),
        with(vec![tool("a", "bc")]),
        with(vec![tool("ab", "c")]),
        profiled("works"),
        profiled("reads"),
        PlanKey::of(&base, &PlannerSettings { tool_tasks: false, ..plain.clone() }, &prompts, "m"),
        PlanKey::of(&base, &plain, &own, "m"),
        PlanKey::of(&base, &plain, &prompts, "another"),
    ];
    for (at, one) in keys.iter().enumerate() {
        assert!(!keys.iter().skip(at + 1).any(|other| other == one || other.name() == one.name()), "{one:?}");
    }
    let same = PlanRequest { goal: " goal ".to_owned(), recalled: "much".to_owned(), folder: "a.txt".to_owned(), ..base.clone() };
    assert_eq!(key_of(&base), key_of(&same));
}

#[test]
fn a_plan_is_used_again_where_the_folder_holds_what_it_held() {
    let mut cache = PlanCache::new(2);
    cache.insert(KeptPlan { folders: vec!["notes.txt".to_owned(), "notes.txt\nreport.md".to_owned()], ..kept("a", "a") });
    for (folder, again) in [("notes.txt", true), ("notes.txt\nreport.md\n", true), ("", false), ("notes.txt\nmore.txt", false)] {
        assert_eq!(cache.get(&key("a"), folder).is_some(), again, "{folder:?}");
    }
}

// Requirement: 3.48
#[test]
fn the_plan_of_the_most_similar_goal_is_found() {
    let goals = [
        "Count the TODO comments in src and write them to report.md",
        "Translate readme.md to French",
        "把 data.csv 转换成 JSON 并检查字段",
    ];
    let mut cache = PlanCache::new(8);
    goals.iter().for_each(|goal| cache.insert(kept(goal, goal)));
    let cases = [
        ("count the FIXME comments in lib and write them to list.md", Some(goals[0])),
        ("Translate guide.md to German", Some(goals[1])),
        ("把 users.csv 转换成 JSON 并检查字段", Some(goals[2])),
        ("Bake a cake with plums and cream for the whole office", None),
        ("总结会议记录", None),
    ];
    for (goal, found) in cases {
        assert_eq!(goal_of(cache.similar(&key(goal))), found, "{goal}");
        assert_eq!(goal_of(cache.similar(&PlanKey { mode: PlanMode::Complex, ..key(goal) })), None, "another mode plans another way");
    }
}

#[test]
fn a_kept_plan_reads_back_as_it_was() {
    let kept = KeptPlan { by: Some("run".to_owned()), used_at: 7, ..kept("a", "a") };
    let json = serde_json::to_string(&kept).unwrap();
    assert_eq!(serde_json::from_str::<KeptPlan>(&json).unwrap(), kept);
}
