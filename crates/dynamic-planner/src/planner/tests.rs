//! A scripted model plans, replans, fails, and is asked again.

mod requests;

use std::sync::{Arc, Mutex};

use aime_llm::{
    Message, ModelError, ModelStack, Redactor, ToolDefinition,
    scripted::{Reply, ScriptedModel, When},
};
use aime_progress_management::{
    Conclusion, Evidence, EvidenceId, EvidenceKind, PlanId, PlanPatch, ProgressEvent, ProgressState, Significance, TaskId, TaskStatus,
    Timestamp, TriggerKind, TriggerReason,
};
use serde_json::{Value, json};

use super::*;
use crate::{PlanFault, ProfileBrief, ReplanRequest};

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, description: &str, properties: Value, required: Value| ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}).into(),
    };
    let text = || json!({"type": "string"});
    let number = || json!({"type": "integer"});
    vec![
        tool(
            "read_file",
            "Reads a text file. Long files are cut.",
            json!({"path": text(), "offset": number(), "limit": number()}),
            json!(["path"]),
        ),
        tool("write_file", "Writes a text file, and its folders.", json!({"path": text(), "content": text()}), json!(["path", "content"])),
        tool(
            "edit_file",
            "Replaces a text that occurs once in a file.",
            json!({"path": text(), "old_text": text(), "new_text": text(), "replace_all": {"type": "boolean"}}),
            json!(["path", "old_text", "new_text"]),
        ),
        tool("list_dir", "Lists a folder.", json!({"path": text()}), json!(["path"])),
        tool("glob", "Finds files by a pattern of their names.", json!({"pattern": text(), "path": text()}), json!(["pattern"])),
        tool(
            "grep",
            "Finds lines by a regular expression.",
            json!({"pattern": text(), "path": text(), "glob": text()}),
            json!(["pattern"]),
        ),
        tool(
            "bash",
            "Runs a shell command in the working folder.",
            json!({"command": text(), "timeout_seconds": number()}),
            json!(["command"]),
        ),
        tool("python", "Runs Python code.", json!({"code": text(), "timeout_seconds": number()}), json!(["code"])),
    ]
}

fn profiles() -> Vec<ProfileBrief> {
    [
        ("sisyphus", "does any kind of work"),
        ("oracle", "reads and advises, changes nothing"),
        ("explore", "searches code fast, changes nothing"),
    ]
    .map(|(name, description)| ProfileBrief::new(name, description))
    .into()
}

fn request(mode: PlanMode) -> PlanRequest {
    PlanRequest {
        project: "# Notes\nRun `make check` before you finish.".to_owned(),
        folder: "Makefile\nsrc/\ntests/".to_owned(),
        tools: tools().into(),
        actor_tools: vec!["todo".to_owned(), "terminate".to_owned()],
        profiles: profiles(),
        category_profile: Some("sisyphus".to_owned()),
        ..PlanRequest::new("Count the TODO comments and write a report to report.md", mode)
    }
}

fn plan(text: &str) -> Plan {
    crate::parse_plan(text).unwrap().plan
}

/// A judge that accepts every patch unseen.
fn fits(_: &PlanPatch) -> Result<Plan, Vec<PlanFault>> {
    Ok(plan(r#"{"tasks": [{"id": "any", "description": "a"}]}"#))
}

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

/// Returns a run of a plan whose tasks ended like this, each with a text.
fn ended(goal: &str, plan: &str, tasks: &[(&str, TaskStatus, &str)]) -> ProgressState {
    let at = Timestamp::from_millis;
    let mut state = ProgressState::new(PlanId::new("p").unwrap(), goal, at(0));
    let plan = crate::parse_plan(plan).unwrap().plan;
    state.apply(at(1), &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
    for (task, end, text) in tasks {
        let mut go = |from, to, for_good| {
            let attempt = u32::from(from != TaskStatus::Pending);
            let event = ProgressEvent::TaskStatusChanged { task: id(task), from, to, attempt, for_good, reason: None };
            state.apply(at(2), &event).unwrap();
        };
        go(TaskStatus::Pending, TaskStatus::Ready, false);
        go(TaskStatus::Ready, TaskStatus::Running, false);
        let failed = *end == TaskStatus::Failed;
        go(TaskStatus::Running, *end, failed);
        let known = state.tasks.get_mut(&id(task)).unwrap();
        known.conclusion = Some(if failed { Conclusion::failure(*text) } else { Conclusion::success(*text) });
    }
    state
}

fn replan_request() -> ReplanRequest {
    let mut state = ended(
        "Count the TODO comments and write a report to report.md",
        r#"{"strategic": {"risks": [{"description": "the disk is read-only", "mitigation": "write elsewhere"}]},
            "tasks": [{"id": "find", "description": "Find TODOs", "tool": "grep", "parameters": {"pattern": "TODO"}},
                {"id": "report", "description": "Write report", "dependencies": ["find"]}]}"#,
        &[("find", TaskStatus::Completed, "There are 3."), ("report", TaskStatus::Failed, "permission denied: report.md")],
    );
    let report = state.tasks.get_mut(&id("report")).unwrap();
    (report.attempts, report.failures) = (3, 3);
    state.evidence.push(Evidence::new(
        EvidenceId::new("e1").unwrap(),
        Timestamp::from_millis(0),
        EvidenceKind::Discovery,
        Significance::High,
        "report.md is\nread-only",
    ));
    let reasons = vec![
        TriggerReason::new(TriggerKind::Blocked, 50, "send is blocked"),
        TriggerReason { tasks: vec![id("report")], ..TriggerReason::new(TriggerKind::TaskFailed, 90, "report failed 3 times") },
    ];
    ReplanRequest {
        folder: "main.py\nnotes.txt".to_owned(),
        tools: tools().into(),
        actor_tools: vec!["todo".to_owned()],
        profiles: profiles(),
        ..ReplanRequest::of(&state, reasons)
    }
}

/// Returns the same request for another run.
fn replan_of(state: &ProgressState) -> ReplanRequest {
    ReplanRequest { state: Box::new(state.clone()), ..replan_request() }
}

fn good() -> Reply {
    Reply::json(json!({"strategic": {"approach": "x", "success_criteria": ["report.md exists"]}, "tasks": [
        {"id": "find", "name": "Find", "description": "Find them", "dependencies": []},
        {"id": "report", "name": "Report", "description": "Write it", "dependencies": ["find"]}]}))
}

fn cycle() -> Reply {
    Reply::json(json!({"tasks": [
        {"id": "a", "description": "x", "dependencies": ["b"]}, {"id": "b", "description": "y", "dependencies": ["a"]}]}))
}

fn planner(model: &ScriptedModel) -> Planner {
    Planner::new(model.built(), PlannerSettings::default())
}

fn last_user_text(request: &aime_llm::ChatRequest) -> String {
    match request.messages.last().map(AsRef::as_ref) {
        Some(Message::User { content, .. }) => content.clone(),
        other => panic!("{other:?}"),
    }
}

// Requirement: 2.2, 2.15, 3.1
#[tokio::test]
async fn a_direct_plan_needs_no_model() {
    let model = ScriptedModel::new("m");
    let planned = planner(&model).plan(&request(PlanMode::Direct)).await.unwrap();
    assert_eq!(planned.plan.tasks.len(), 1);
    let task = &planned.plan.tasks[0];
    assert_eq!((task.id.as_str(), task.profile.as_deref()), ("main", Some("sisyphus")));
    assert_eq!(task.description, "Count the TODO comments and write a report to report.md");
    assert!(planned.plan.check().is_ok());
    assert!(model.requests().is_empty());
}

// Requirement: 3.1
#[tokio::test]
async fn a_good_answer_is_the_plan() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [good().usage(100, 20)]);
    for mode in [PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent] {
        let planned = planner(&model).plan(&request(mode)).await.unwrap();
        assert_eq!((planned.plan.tasks.len(), planned.refused.len(), planned.fallback), (2, 0, None));
        assert_eq!(planned.plan.goal, "Count the TODO comments and write a report to report.md");
        assert_eq!((planned.spent.requests, planned.spent.input_tokens, planned.spent.output_tokens), (1, 100, 20));
    }
}

// Requirement: 3.44
#[tokio::test]
async fn a_cycle_is_asked_for_again_with_the_errors() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [cycle(), good()]);
    let planned = planner(&model).plan(&request(PlanMode::Complex)).await.unwrap();
    assert_eq!(planned.refused.len(), 1);
    assert!(planned.refused[0].faults[0].to_string().contains("a → b → a"), "{:?}", planned.refused);
    assert_eq!((planned.plan.tasks.len(), planned.fallback), (2, None));
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert!(last_user_text(&requests[1]).contains("a cycle: a → b → a"), "{}", last_user_text(&requests[1]));
}

// Requirement: 3.44
#[tokio::test]
async fn after_all_tries_a_simplified_plan_is_asked_for() {
    let simple = Reply::json(json!({"tasks": [{"id": "1", "description": "Find them"}, {"id": "2", "description": "Write it"}]}));
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [cycle(), cycle(), cycle(), simple]);
    let planned = planner(&model).plan(&request(PlanMode::Complex)).await.unwrap();
    assert_eq!(planned.refused.iter().map(|one| one.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(planned.fallback.as_ref().is_some_and(|why| why.to_string().starts_with("simplified: ")), "{:?}", planned.fallback);
    assert_eq!(planned.plan.tasks[1].dependencies[0].as_str(), "1", "a row");
    assert_eq!(planned.spent.requests, 4);
}

// Requirement: 2.17
#[tokio::test]
async fn when_nothing_fits_the_categorys_actor_does_the_goal() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [cycle()]);
    let planned = planner(&model).plan(&request(PlanMode::Simple)).await.unwrap();
    assert_eq!(planned.refused.iter().map(|one| one.attempt).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(planned.fallback.as_ref().is_some_and(|why| why.to_string().starts_with("category: ")), "{:?}", planned.fallback);
    assert_eq!((planned.plan.tasks.len(), planned.plan.tasks[0].profile.as_deref()), (1, Some("sisyphus")));
    assert_eq!(planned.spent.requests, 4);
}

// Requirement: 2.18
#[tokio::test]
async fn without_a_fallback_planning_fails_with_all_faults() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [cycle()]);
    let settings = PlannerSettings { fallback: Fallback::Fail, max_attempts: 1, ..PlannerSettings::default() };
    let error = Planner::new(model.built(), settings).plan(&request(PlanMode::Simple)).await.unwrap_err();
    assert!(matches!(&error, PlannerError::NoPlan { refused, .. } if refused.len() == 2), "{error:?}");
    assert!(error.to_string().contains("a → b → a"), "{error}");
    assert_eq!(error.spent().requests, 2);
}

#[tokio::test]
async fn a_model_that_cannot_be_used_is_an_error_not_a_fallback() {
    let unreachable = ModelError::Unreachable { url: "http://x".to_owned(), setting: None, reason: "refused".to_owned() };
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [cycle(), Reply::error(unreachable)]);
    let error = planner(&model).plan(&request(PlanMode::Simple)).await.unwrap_err();
    assert!(matches!(&error, PlannerError::Model { source, refused, .. } if refused.len() == 1 && source.is_retryable()), "{error:?}");
    let error = planner(&ScriptedModel::new("m")).replan(&replan_request(), fits).await.unwrap_err();
    assert!(matches!(error, PlannerError::Model { .. }), "{error:?}");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_made_shorter() {
    let overflow = ModelError::ContextOverflow { model: "m".to_owned(), message: "too long".to_owned() };
    let simple = Reply::json(json!({"tasks": [{"id": "1", "description": "Do it"}]}));
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [Reply::error(overflow), simple]);
    let planned = planner(&model).plan(&request(PlanMode::Simple)).await.unwrap();
    assert!(planned.fallback.as_ref().is_some_and(|why| why.to_string().contains("too long")), "{:?}", planned.fallback);
}

// Requirement: 3.46
#[tokio::test]
async fn the_same_goal_is_planned_once() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [good()]);
    let planner = planner(&model).with_cache(Arc::new(Mutex::new(PlanCache::new(8))));
    let first = planner.plan(&request(PlanMode::Simple)).await.unwrap();
    let second = planner.plan(&request(PlanMode::Simple)).await.unwrap();
    assert_eq!(first.plan, second.plan);
    assert_eq!((model.requests().len(), second.spent.requests), (1, 0));
    assert_eq!((first.reused, second.reused), (None, Some(ReusedPlan::default())));
    planner.plan(&request(PlanMode::Complex)).await.unwrap();
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn an_earlier_plan_that_does_not_fit_any_more_is_left_out() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [good()]);
    let cache = Arc::new(Mutex::new(PlanCache::new(8)));
    let planner = planner(&model).with_cache(Arc::clone(&cache));
    let request = request(PlanMode::Simple);
    let plan = crate::parse_plan(r#"{"tasks": [{"id": "a", "tool": "fly", "parameters": {}}]}"#).unwrap().plan;
    let kept = crate::KeptPlan { key: planner.key(&request), folders: vec![request.folder.clone()], plan, by: None, used_at: 0 };
    cache.lock().unwrap().insert(kept);
    let planned = planner.plan(&request).await.unwrap();
    assert_eq!((planned.plan.tasks.len(), planned.reused, model.requests().len()), (2, None, 1));
    assert!(planned.repairs[0].to_string().contains("there is no tool \"fly\""), "{:?}", planned.repairs);
}

// Requirement: 3.40
#[tokio::test]
async fn what_was_repaired_in_the_json_of_an_answer_is_told() {
    let loose = "Here it is:\n{'tasks': [{'id': 'a', 'description': 'x'},]}";
    let repairs = ["left out the text around the JSON", "replaced single quotes", "left out trailing commas"];
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [Reply::text(loose)]);
    let settings = PlannerSettings { max_attempts: 1, ..PlannerSettings::default() };
    let planner = Planner::new(model.built(), settings);
    assert_eq!(planner.plan(&request(PlanMode::Simple)).await.unwrap().repairs, repairs);
    let model = ScriptedModel::new("m").once(When::schema("aime_plan"), [cycle()]).on(When::any(), [Reply::text(loose)]);
    let planner = Planner { model: model.built(), ..planner };
    let simplified = planner.plan(&request(PlanMode::Simple)).await.unwrap();
    assert!(simplified.fallback.is_some() && simplified.repairs == repairs, "{simplified:?}");
    let loose = "Here it is:\n{'changes': [{'op': 'drop', 'id': 'report'},]}";
    let model = ScriptedModel::new("m").on(When::schema("aime_patch"), [Reply::text(loose)]);
    let planner = Planner { model: model.built(), ..planner };
    assert_eq!(planner.replan(&replan_request(), fits).await.unwrap().repairs, repairs);
}

#[tokio::test]
async fn a_fallback_is_not_kept() {
    let model = ScriptedModel::new("m").once(When::schema("aime_plan"), [cycle(), cycle(), cycle(), cycle()]).on(When::any(), [good()]);
    let planner = planner(&model).with_cache(Arc::new(Mutex::new(PlanCache::new(8))));
    assert!(planner.plan(&request(PlanMode::Simple)).await.unwrap().fallback.is_some());
    assert!(planner.plan(&request(PlanMode::Simple)).await.unwrap().fallback.is_none());
}

// Requirement: 3.50
#[test]
fn a_plan_can_be_made_on_any_thread() {
    fn is_send<T: Send>(_: &T) {}
    let model = ScriptedModel::new("m");
    let planner = planner(&model);
    is_send(&planner.plan(&request(PlanMode::Simple)));
    is_send(&planner.replan(&replan_request(), fits));
}

/// A model that answers only after three requests have arrived.
struct Crowd {
    model: ScriptedModel,
    gate: tokio::sync::Barrier,
}

impl ChatModel for Crowd {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn stream(&self, request: aime_llm::ChatRequest) -> futures::stream::BoxStream<'_, Result<aime_llm::StreamPart, ModelError>> {
        Box::pin(futures::StreamExt::flatten(futures::stream::once(async move {
            self.gate.wait().await;
            self.model.stream(request)
        })))
    }
}

// Requirement: 3.50
#[tokio::test]
async fn many_goals_are_planned_at_once() {
    let plan = |id: &str| Reply::json(json!({"tasks": [{"id": id, "description": "x", "dependencies": []}]}));
    let goals = ["bake", "sew", "paint"];
    let model = goals.iter().fold(ScriptedModel::new("m"), |model, goal| model.on(When::contains(format!("Goal: {goal}")), [plan(goal)]));
    let planner = Planner::new(
        ModelStack::of(Crowd { model, gate: tokio::sync::Barrier::new(3) }).build(&Redactor::default()),
        PlannerSettings::default(),
    );
    let requests = goals.map(|goal| PlanRequest::new(goal, PlanMode::Simple));
    // A planner that waited for one answer before the next request would wait for ever.
    let plans = futures::future::join_all(requests.iter().map(|request| planner.plan(request))).await;
    let planned: Vec<String> = plans.into_iter().map(|planned| planned.unwrap().plan.tasks[0].id.to_string()).collect();
    assert_eq!(planned, goals);
}

#[tokio::test]
async fn a_patch_is_judged_and_asked_for_again() {
    let patch = |id: &str, tool: Option<&str>| {
        Reply::json(json!({"reasoning": "smaller", "changes": [
            {"op": "add_task", "task": {"id": id, "description": "x", "tool": tool}, "replaces": ["report"]}]}))
    };
    let model = ScriptedModel::new("m").on(When::schema("aime_patch"), [patch("find", Some("todo")), patch("part-1", None)]);
    let judge = |patch: &PlanPatch| {
        let taken = serde_json::to_string(patch).unwrap().contains("\"id\":\"find\"");
        if taken { Err(vec![PlanFault::new("changes[0].task.id", "the id \"find\" is taken")]) } else { fits(patch) }
    };
    let replanned = planner(&model).replan(&replan_request(), judge).await.unwrap();
    assert_eq!(replanned.patch.changes.len(), 1);
    assert_eq!(replanned.patch.reasoning, "smaller");
    let faults = &replanned.refused[0].faults;
    assert_eq!(faults.len(), 2, "both judges are heard: {faults:?}");
    assert!(faults[0].to_string().contains("todo") && faults[1].to_string().starts_with("changes[0].task.id: "), "{faults:?}");
}

/// Returns a run in which `look` is done, `convert` has failed for good and `upload` waits for it.
fn troubled() -> ProgressState {
    ended(
        "goal",
        r#"{"tasks": [{"id": "look", "description": "l"}, {"id": "convert", "description": "c", "dependencies": ["look"]},
            {"id": "upload", "description": "u", "dependencies": ["convert"]}]}"#,
        &[("look", TaskStatus::Completed, "seen"), ("convert", TaskStatus::Failed, "no pandas")],
    )
}

/// Returns the patched plan.
fn after(state: &ProgressState, patch: &PlanPatch) -> Result<Plan, Vec<PlanFault>> {
    let after = state.patched(patch, Timestamp::from_millis(3));
    after.map(|after| after.plan()).map_err(|found| found.faults.into_iter().map(PlanFault::from).collect())
}

// Requirement: 3.29
#[tokio::test]
async fn the_progress_state_is_a_judge() {
    let state = troubled();
    let touches_done = json!({"reasoning": "r", "changes": [{"op": "modify_task", "id": "look", "change": {"description": "again"}}]});
    // The example in the prompt must be an applicable patch.
    let prompt = include_str!("../../prompts/patch.md");
    let example = prompt.lines().find(|line| line.starts_with("{\"reasoning\": \"pandas")).unwrap();
    let model = ScriptedModel::new("m").on(When::schema("aime_patch"), [Reply::json(touches_done), Reply::text(example)]);
    let judge = |patch: &PlanPatch| after(&state, patch);
    let replanned = planner(&model).replan(&replan_of(&state), judge).await.unwrap();
    assert_eq!(replanned.repairs, Vec::<String>::new());
    assert!(replanned.refused[0].faults[0].to_string().contains("\"look\" is completed"), "{:?}", replanned.refused);
    let after = state.patched(&replanned.patch, Timestamp::from_millis(3)).unwrap();
    let upload = &after.tasks[&TaskId::new("upload").unwrap()].spec;
    assert_eq!(upload.dependencies[0].as_str(), "convert-csv");
}

#[test]
fn the_examples_in_the_prompts_are_plans() {
    let examples = [
        (include_str!("../../prompts/plan_simple.md"), PlanMode::Simple),
        (include_str!("../../prompts/plan_complex.md"), PlanMode::Complex),
        (include_str!("../../prompts/plan_simplified.md"), PlanMode::Simple),
    ];
    for (prompt, mode) in examples {
        let example = prompt.lines().find(|line| line.starts_with("{\"strategic\"") || line.starts_with("{\"tasks\"")).unwrap();
        let checked = PlanChecker { mode: Some(mode), ..PlanChecker::default() }.check(example).unwrap();
        let chained = "no task has a dependency, so each task depends on the one before it";
        assert!(checked.repairs.iter().all(|repair| repair == chained), "{:?}", checked.repairs);
    }
}

// Requirement: 6.13
#[tokio::test]
async fn new_tasks_take_the_place_of_what_failed() {
    let add = |id: &str, rest: Value| {
        let mut change = json!({"op": "add_task", "task": {"id": id, "description": "x"}});
        change.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        change
    };
    let cases = [
        (json!([add("a", json!({})), add("b", json!({}))]), Some("b")),
        (json!([add("a", json!({"replaces": ["report"]})), add("b", json!({}))]), None),
        (json!([add("a", json!({})), {"op": "unblock_task", "id": "report"}]), None),
        (json!([{"op": "remove_task", "id": "send"}]), None),
    ];
    for (changes, replacing) in cases {
        let model = ScriptedModel::new("m").on(When::schema("aime_patch"), [Reply::json(json!({"changes": changes}))]);
        let replanned = planner(&model).replan(&replan_request(), fits).await.unwrap();
        let is_noted = replanned.repairs.iter().any(|repair| repair.to_string().contains("which no change named"));
        assert_eq!(is_noted, replacing.is_some(), "{changes}");
        let last = serde_json::to_value(replanned.patch.changes.last().unwrap()).unwrap();
        if let Some(id) = replacing {
            assert_eq!((&last["task"]["id"], &last["replaces"]), (&json!(id), &json!(["report"])));
        }
    }
}

struct NoUploads;

impl PlanValidator for NoUploads {
    fn validate(&self, plan: &Plan) -> Vec<PlanFault> {
        let uploads = plan.tasks.iter().filter(|task| task.id.as_str().starts_with("upload"));
        uploads.map(|task| PlanFault::new(task.id.as_str(), "nothing leaves this house")).collect()
    }
}

// Requirement: 3.41
#[tokio::test]
async fn added_rules_are_asked_of_the_plan_that_a_patch_leaves() {
    let state = troubled();
    let judge = |patch: &PlanPatch| after(&state, patch);
    let patch = |more: Value| {
        let again = json!({"op": "add_task", "task": {"id": "convert-csv", "description": "x"}, "replaces": ["convert"]});
        Reply::json(json!({"changes": [again, more]}))
    };
    // `upload` waits in the plan, so the first patch leaves it there.
    let keeps = patch(json!({"op": "modify_task", "id": "upload", "change": {"description": "y"}}));
    let model = ScriptedModel::new("m").on(When::schema("aime_patch"), [keeps, patch(json!({"op": "remove_task", "id": "upload"}))]);
    let planner = planner(&model).with_validators(vec![Arc::new(NoUploads)]);
    let replanned = planner.replan(&replan_of(&state), judge).await.unwrap();
    assert_eq!(replanned.refused.len(), 1);
    assert!(replanned.refused[0].faults[0].to_string().contains("nothing leaves this house"), "{:?}", replanned.refused);
    let after = judge(&replanned.patch).unwrap();
    assert_eq!(after.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["look", "convert-csv"], "what was taken out is gone");
}

#[tokio::test]
async fn what_a_patch_has_taken_out_it_does_not_change_again() {
    let state = troubled();
    let judge = |patch: &PlanPatch| after(&state, patch);
    let add = json!({"op": "add_task", "task": {"id": "by-hand", "description": "x"}, "replaces": ["convert"]});
    let modify = |id: &str| json!({"op": "modify_task", "id": id, "change": {"description": "y"}});
    let remove = |id: &str| json!({"op": "remove_task", "id": id, "reason": ""});
    let cases = [
        (json!([add, remove("convert"), modify("upload")]), ["by-hand", "upload"], 1),
        // A change before the replacement is valid, because the task existed then.
        (json!([modify("convert"), add]), ["by-hand", "upload"], 0),
        (json!([add, modify("convert"), {"op": "unblock_task", "id": "convert"}]), ["by-hand", "upload"], 2),
    ];
    for (changes, left, repairs) in cases {
        let model = ScriptedModel::new("m").on(When::schema("aime_patch"), [Reply::json(json!({"changes": changes}))]);
        let replanned = planner(&model).replan(&replan_of(&state), judge).await.unwrap();
        assert_eq!(replanned.repairs.len(), repairs, "{:?}", replanned.repairs);
        let mut after: Vec<_> = judge(&replanned.patch).unwrap().tasks.into_iter().map(|task| task.id.to_string()).collect();
        after.retain(|id| id != "look");
        after.sort();
        assert_eq!(after, left, "{changes}");
    }
}

#[tokio::test]
async fn no_change_is_a_patch_too() {
    let model = ScriptedModel::new("m").on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "all is well", "changes": []}))]);
    let replanned = planner(&model).replan(&replan_request(), |_| Err(vec![PlanFault::new("patch", "never asked")])).await.unwrap();
    assert_eq!(replanned.patch.changes, vec![]);
}

#[tokio::test]
async fn when_no_patch_fits_all_faults_are_told() {
    let model = ScriptedModel::new("m").on(When::any(), [Reply::text("I would rather not.")]);
    let error = planner(&model).replan(&replan_request(), fits).await.unwrap_err();
    assert!(matches!(&error, PlannerError::NoPatch { refused, .. } if refused.len() == 3), "{error:?}");
}
