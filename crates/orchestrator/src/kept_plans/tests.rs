//! Tests of keeping, leaving out and evicting plans.

use aime_dynamic_planner::{PlannerSettings, Prompts, direct_plan};
use aime_progress_management::{Decision, PlanId, PlanMode, PlanPatch, ProgressEvent, TaskId, Timestamp, TriggerKind, TriggerReason};

use super::*;

struct Place {
    folder: tempfile::TempDir,
    plans: KeptPlans,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plans = KeptPlans::new(folder.path().join("plans")).at_most(2);
        Self { folder, plans }
    }

    fn under_way(&self) -> ActivePlan {
        ActivePlan::new(&self.folder.path().join("runs/r"))
    }

    /// Returns for each goal if the folder has a plan for it.
    fn has(&self, goals: &[&str], folder: &str) -> Vec<bool> {
        let (mut cache, notes) = self.plans.read();
        assert_eq!(notes, Vec::<String>::new());
        goals.iter().map(|goal| cache.get(&key(goal), folder).is_some()).collect()
    }
}

fn key(goal: &str) -> PlanKey {
    let request = aime_dynamic_planner::PlanRequest::new(goal, PlanMode::Simple);
    PlanKey::of(&request, &PlannerSettings::default(), &Prompts::default(), "m")
}

fn kept(goal: &str, used_at: i64) -> KeptPlan {
    KeptPlan { key: key(goal), folders: vec!["a.txt".to_owned()], plan: direct_plan(goal, None), by: Some("r".to_owned()), used_at }
}

/// Returns a run that ended with this status.
fn ended(status: RunStatus) -> ProgressState {
    let mut state = ProgressState::new(PlanId::new("r").unwrap(), "goal", Timestamp::from_millis(0));
    let plan = direct_plan("goal", None);
    state.apply(Timestamp::from_millis(0), &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
    state.status = status;
    state
}

fn with_decision(kind: TriggerKind) -> ProgressState {
    let reason = TriggerReason { kind, priority: 1, detail: "".into(), tasks: vec![], evidence: vec![] };
    let patch: PlanPatch = serde_json::from_str(r#"{"reasoning": "", "changes": []}"#).unwrap();
    let mut state = ended(RunStatus::Completed);
    let at = Timestamp::from_millis(0);
    state.decisions.push(Decision { version: 2, at, triggers: vec![reason], patch, evidence: vec![], lowered: vec![], dropped: vec![] });
    state
}

fn with_task(status: TaskStatus) -> ProgressState {
    let mut state = ended(RunStatus::Completed);
    state.tasks.get_mut(&TaskId::new("main").unwrap()).unwrap().status = status;
    state
}

#[test]
fn a_plan_is_kept_when_its_run_has_reached_the_goal_with_it() {
    let cases = [
        (ended(RunStatus::Completed), true),
        (with_decision(TriggerKind::Update), true),
        (with_decision(TriggerKind::TaskFailed), false),
        (with_decision(TriggerKind::Person), false),
        (with_task(TaskStatus::Failed), false),
        (with_task(TaskStatus::Skipped), true),
        (ended(RunStatus::Failed), false),
        (ended(RunStatus::Cancelled), false),
    ];
    for (state, is_kept) in cases {
        let place = Place::new();
        place.under_way().begin(kept("goal", 1), false).unwrap();
        assert_eq!(place.has(&["goal"], "a.txt"), [false], "not before the run has ended");
        place.under_way().end(&place.plans, &state, "a.txt\nb.txt".to_owned(), 2).unwrap();
        assert_eq!(place.has(&["goal"], "a.txt"), [is_kept], "{:?} {:?}", state.status, state.decisions);
        assert_eq!(place.has(&["goal"], "a.txt\nb.txt"), [is_kept], "also in the folder as the run left it");
        assert!(!place.folder.path().join("runs/r/plan.json").exists());
    }
}

#[test]
fn a_plan_that_is_used_again_and_comes_to_nothing_is_forgotten() {
    for (again, status, left) in [(true, RunStatus::Failed, false), (true, RunStatus::Completed, true), (false, RunStatus::Failed, true)] {
        let place = Place::new();
        place.plans.keep(kept("goal", 1)).unwrap();
        place.under_way().begin(kept("goal", 2), again).unwrap();
        place.under_way().end(&place.plans, &ended(status), "a.txt".to_owned(), 3).unwrap();
        assert_eq!(place.has(&["goal"], "a.txt"), [left], "{again} {status}");
    }
}

#[test]
fn a_run_without_a_plan_of_its_own_keeps_none() {
    let place = Place::new();
    place.under_way().end(&place.plans, &ended(RunStatus::Completed), String::new(), 1).unwrap();
    place.under_way().begin(kept("goal", 1), false).unwrap();
    place.under_way().forget();
    place.under_way().end(&place.plans, &ended(RunStatus::Completed), String::new(), 1).unwrap();
    assert_eq!(place.has(&["goal"], "a.txt"), [false]);
}

#[test]
fn the_least_recently_used_plan_leaves_first() {
    let place = Place::new();
    for (goal, at) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
        place.plans.keep(kept(goal, at)).unwrap();
    }
    assert_eq!(place.has(&["a", "b", "c"], "a.txt"), [true, false, true]);
    place.plans.forget_run(&"another".parse().unwrap());
    assert_eq!(place.has(&["a", "b", "c"], "a.txt"), [true, false, true]);
    place.plans.forget_run(&"r".parse().unwrap());
    assert_eq!(place.has(&["a", "b", "c"], "a.txt"), [false, false, false]);
}

#[test]
fn what_is_damaged_or_of_another_version_is_left_out_and_told() {
    let later = r#"{"schema": "aime.kept-plan/v2", "something": "new"}"#;
    let cases =
        [("", "damaged"), ("{\"schema\": \"aime.kept-plan/v1\"}", "damaged"), ("[]", "no schema"), (later, "\"aime.kept-plan/v2\"")];
    for (text, why) in cases {
        let place = Place::new();
        place.plans.keep(kept("goal", 1)).unwrap();
        let damaged = place.folder.path().join("plans/odd.json");
        fs::write(&damaged, text).unwrap();
        let (mut cache, notes) = place.plans.read();
        assert!(cache.get(&key("goal"), "a.txt").is_some(), "the others are of use");
        assert!(notes.len() == 1 && notes[0].contains("odd.json") && notes[0].contains(why), "{notes:?}");
        place.plans.keep(kept("other", 2)).unwrap();
        assert!(!damaged.exists(), "it is the first to leave");
        assert_eq!(place.has(&["goal", "other"], "a.txt"), [true, true]);
    }
}
