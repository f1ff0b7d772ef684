//! What is kept, what leaves, and what is counted.

use super::*;
use crate::direct_plan;

fn key(goal: &str) -> PlanKey {
    PlanKey::of(&PlanRequest::new(goal, PlanMode::Simple))
}

#[test]
fn the_least_recently_used_plan_leaves_first() {
    let mut cache = PlanCache::new(2);
    cache.insert(key("a"), direct_plan("a", None));
    cache.insert(key("b"), direct_plan("b", None));
    assert!(cache.get(&key("a")).is_some());
    cache.insert(key("c"), direct_plan("c", None));
    assert_eq!((cache.len(), cache.get(&key("b")).is_none()), (2, true));
    assert_eq!(cache.get(&key("a")).map(|plan| plan.goal.as_str()), Some("a"));
    cache.insert(key("a"), direct_plan("new", None));
    assert_eq!(cache.get(&key("a")).map(|plan| plan.goal.as_str()), Some("new"));
    assert_eq!(cache.len(), 2);
    let json = serde_json::to_string(&cache).unwrap();
    assert_eq!(serde_json::from_str::<PlanCache>(&json).unwrap(), cache);
}

#[test]
fn a_cache_for_nothing_keeps_nothing() {
    let mut cache = PlanCache::new(0);
    cache.insert(key("a"), direct_plan("a", None));
    assert!(cache.is_empty());
}

#[test]
fn requests_differ_by_goal_mode_and_tools() {
    let base = PlanRequest::new("goal", PlanMode::Simple);
    let tool = |name: &str, description: &str| aime_llm::ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: serde_json::json!({}),
    };
    let with = |tools: Vec<aime_llm::ToolDefinition>| PlanKey::of(&PlanRequest { tools, ..base.clone() });
    let keys = [
        PlanKey::of(&base),
        PlanKey::of(&PlanRequest { goal: "other".to_owned(), ..base.clone() }),
        PlanKey::of(&PlanRequest { mode: PlanMode::Complex, ..base.clone() }),
        PlanKey::of(&PlanRequest { folder: "a.txt".to_owned(), ..base.clone() }),
        with(vec![tool("a", "bc")]),
        with(vec![tool("ab", "c")]),
    ];
    for (at, one) in keys.iter().enumerate() {
        assert!(!keys.iter().skip(at + 1).any(|other| other == one), "{one:?}");
    }
    assert_eq!(PlanKey::of(&base), PlanKey::of(&PlanRequest { goal: " goal ".to_owned(), ..base.clone() }));
}

#[test]
fn metrics_are_rates_and_means() {
    let mut metrics = PlanningMetrics::default();
    assert_eq!((metrics.planning_success_rate(), metrics.mean_planning_ms(), metrics.execution_success_rate()), (None, None, None));
    metrics.planned(true, 100);
    metrics.planned(false, 300);
    metrics.executed(true);
    assert_eq!((metrics.planning_success_rate(), metrics.mean_planning_ms()), (Some(0.5), Some(200.0)));
    assert_eq!(metrics.execution_success_rate(), Some(1.0));
}
