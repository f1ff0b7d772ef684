//! Custom hooks around a whole run.

use std::sync::{Arc, Mutex};

use aime_dynamic_planner::{PlanFault, PlanValidator};
use aime_llm::scripted::{Reply, ScriptedModel, When};
use aime_orchestrator::{
    CommandHook, CommandHookSettings, Hook, HookAnswer, HookError, HookEvent, HookPayload, HookPoint, Hooks, Orchestrator, PlanRoute,
    RunResult,
};
use aime_progress_management::{CallOutcome, Plan, PlanMode, ProgressEvent, RunStatus, TaskStatus};
use aime_tools::{Approval, RuleLists};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::bench::{Bench, append, control, done, four_lines, plan, statuses, wait_for_events};

type Answers = dyn Fn(&HookEvent) -> HookAnswer + Send + Sync;

/// A hook made of a function; it records the events it receives.
struct Made {
    points: Vec<HookPoint>,
    answers: Box<Answers>,
    asked: Arc<Mutex<Vec<HookEvent>>>,
}

impl Hook for Made {
    fn name(&self) -> &str {
        "guard"
    }

    fn points(&self) -> &[HookPoint] {
        &self.points
    }

    fn ask<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, Result<HookAnswer, HookError>> {
        self.asked.lock().unwrap().push(event.clone());
        Box::pin(async { Ok((self.answers)(event)) })
    }
}

type Asked = Arc<Mutex<Vec<HookEvent>>>;

fn hooks(points: &[HookPoint], answers: impl Fn(&HookEvent) -> HookAnswer + Send + Sync + 'static) -> (Hooks, Asked) {
    let asked = Asked::default();
    let made = Made { points: points.to_vec(), answers: Box::new(answers), asked: Arc::clone(&asked) };
    ([Arc::new(made) as Arc<dyn Hook>].into_iter().collect(), asked)
}

fn block(reason: &str) -> HookAnswer {
    HookAnswer::Block { reason: reason.to_owned() }
}

fn points(asked: &Asked) -> Vec<&'static str> {
    asked.lock().unwrap().iter().map(|event| event.point.name()).collect()
}

fn orchestrator(bench: &Bench, hooks: Hooks) -> Orchestrator {
    bench.builder().model(bench.model.clone()).hooks(hooks).build().unwrap()
}

/// Returns the journaled actions of hooks: kind, point and detail.
fn acts(bench: &Bench) -> Vec<(String, String, String)> {
    let acts = bench.events().into_iter().filter_map(|timed| match timed.event {
        ProgressEvent::HookActed(act) => Some((act.did.name().to_owned(), act.point.to_string(), act.detail)),
        _ => None,
    });
    acts.collect()
}

/// Returns an actor that writes one line, and its reaction to an error.
fn writer() -> (ScriptedModel, Plan) {
    let model = ScriptedModel::new("m")
        .on(When::contains("The plan now:"), [Reply::text("no idea")])
        .on(When::tool("append").and_turn(0), [append("one")])
        .on(When::tool("append").and_contains("Error: "), [Reply::call("terminate", json!({"status": "failure", "message": "refused"}))])
        .on(When::tool("append"), [done("written")])
        .on(When::plain(), [Reply::text("It is written.")]);
    (model, plan(json!([{"id": "write", "kind": "actor", "description": "Write a line", "bundles": ["append"]}])))
}

async fn run(bench: &Bench, hooks: Hooks, plan: Plan) -> RunResult {
    let mut request = bench.request("Write a line", Some(plan));
    request.settings.triggers.max_retries = 1;
    orchestrator(bench, hooks).run(request).await.unwrap()
}

// Requirement: 8.15
#[tokio::test]
async fn each_point_is_asked_in_order_and_what_is_let_be_changes_nothing() {
    let ((model, plan), (same, _)) = (four_lines(), four_lines());
    let (plain, with) = (Bench::new(model), Bench::new(same));
    plain.run("Write a line", Some(plan.clone())).await;
    let (hooks, asked) = hooks(&HookPoint::ALL, |_| HookAnswer::Continue);
    let result = run(&with, hooks, plan).await;
    assert_eq!((result.status, result.notes.len()), (RunStatus::Completed, 0), "{result:#?}");
    let task = ["before_task", "before_tool", "after_tool", "after_task"];
    let step = ["before_prompt", "after_prompt", "before_tool", "after_tool"];
    let actor = [&["before_task"], step.as_slice(), &step, &["before_prompt", "after_prompt", "after_task"]].concat();
    assert_eq!(points(&asked), [task.as_slice(), &actor, &task, &["before_prompt", "after_prompt", "stop"]].concat());
    assert_eq!(plain.model.requests(), with.model.requests(), "the model sees the same");
    let kinds = |bench: &Bench| bench.events().into_iter().map(|timed| timed.event.name()).collect::<Vec<_>>();
    assert_eq!(kinds(&plain), kinds(&with), "nothing is told of hooks that let things be");
    let last = asked.lock().unwrap().last().unwrap().clone();
    assert!(matches!(last.payload, HookPayload::Stop { result: output } if *output == result));
}

// Requirement: 8.16
#[tokio::test]
async fn a_blocked_call_is_not_made_and_the_model_is_told_why() {
    let (model, plan) = writer();
    let bench = Bench::new(model);
    let (hooks, _) = hooks(&[HookPoint::BeforeTool], |_| block("not on Fridays"));
    let result = run(&bench, hooks, plan).await;
    assert_eq!(result.status, RunStatus::Failed, "{:#?}", bench.model.requests().last().map(|request| request.messages.clone()));
    assert!(bench.log().is_empty());
    let output = format!("{:?}", bench.model.requests()[1]);
    assert!(output.contains("Error: blocked by the hook guard: not on Fridays"), "{output}");
    assert_eq!(acts(&bench)[0], ("blocked".to_owned(), "before_tool".to_owned(), "not on Fridays".to_owned()));
}

#[tokio::test]
async fn a_call_of_the_plan_that_is_blocked_is_not_tried_again() {
    let bench = Bench::new(ScriptedModel::new("m").on(When::contains("The plan now:"), [Reply::text("no idea")]));
    let (hooks, asked) = hooks(&[HookPoint::BeforeTool], |_| block("not on Fridays"));
    run(&bench, hooks, plan(json!([{"id": "a", "kind": "tool", "tool": "append", "parameters": {"line": "x"}}]))).await;
    let state = bench.state();
    assert_eq!((state.tasks[0].status, state.tasks[0].attempts), (TaskStatus::Failed, 1));
    assert_eq!(
        state.tasks[0].conclusion.as_ref().unwrap().error.as_ref().map(ToString::to_string).as_deref(),
        Some("blocked by the hook guard: not on Fridays")
    );
    assert_eq!((bench.log().len(), asked.lock().unwrap().len()), (0, 1));
}

// Requirement: 8.16
#[tokio::test]
async fn changed_parameters_are_used_and_the_actor_knows() {
    let (model, plan) = writer();
    let bench = Bench::new(model);
    let (hooks, _) = hooks(&[HookPoint::BeforeTool], |_| HookAnswer::Change(json!({"parameters": {"line": "ONE"}})));
    let result = run(&bench, hooks, plan).await;
    assert_eq!((result.status, bench.log()), (RunStatus::Completed, vec!["ONE".to_owned()]), "{result:#?}");
    let output = format!("{:?}", bench.model.requests()[1]);
    assert!(output.contains("the parameters were changed by the hook guard"), "{output}");
    assert_eq!(acts(&bench)[0], ("changed".to_owned(), "before_tool".to_owned(), r#"{"parameters":{"line":"ONE"}}"#.to_owned()));
}

#[tokio::test]
async fn parameters_that_a_hook_made_unfit_are_not_used() {
    let (model, plan) = writer();
    let bench = Bench::new(model);
    let environment = Arc::new(bench.environment.iter().cloned().collect());
    let settings = CommandHookSettings {
        name: Some("guard".to_owned()),
        point: HookPoint::BeforeTool,
        command: r#"echo '{"change": {"parameters": {"lines": ["ONE"]}}}'"#.to_owned(),
        tools: vec!["app*".to_owned()],
        time_limit: std::time::Duration::from_secs(30),
        required: false,
    };
    let command = CommandHook::new(settings, bench.folder.path(), environment).unwrap();
    run(&bench, [Arc::new(command) as Arc<dyn Hook>].into_iter().collect(), plan).await;
    assert!(bench.log().is_empty());
    let output = format!("{:?}", bench.model.requests()[1]);
    assert!(output.contains("the hook guard changed the parameters so that they do not fit"), "{output}");
}

/// A hook is the user's own program: the plan that a person handed over covers what it makes of a call, and a deny rule holds.
#[tokio::test]
async fn a_changed_call_keeps_the_permissions_of_the_original_one() {
    for (command, expected) in [("echo two > log", RunStatus::Completed), ("rm -f log", RunStatus::Failed)] {
        let bench = Bench::new(
            ScriptedModel::new("m").on(When::contains("The plan now:"), [Reply::text("no idea")]).on(When::plain(), [Reply::text("ok")]),
        );
        let (hooks, _) = hooks(&[HookPoint::BeforeTool], move |_| HookAnswer::Change(json!({"parameters": {"command": command}})));
        let plan = plan(json!([{"id": "a", "kind": "tool", "tool": "bash", "parameters": {"command": "echo one > log"}}]));
        let mut request = bench.request("Write a line", Some(plan));
        (request.settings.approval, request.settings.plan_approved) = (Approval::Edits, true);
        let rules = RuleLists { deny: vec!["bash(rm *)".parse().unwrap()], ..RuleLists::default() };
        let builder = bench.builder().model(bench.model.clone()).hooks(hooks).tool_context(bench.context().with_rules(rules));
        let result = builder.build().unwrap().run(request).await.unwrap();
        assert_eq!(result.status, expected, "{result:#?}");
        let log = if expected == RunStatus::Completed { vec!["two".to_owned()] } else { Vec::new() };
        assert_eq!(bench.log(), log);
    }
}

#[tokio::test]
async fn a_changed_call_is_judged_by_what_its_actor_has_read() {
    let read = |path: &str| Reply::call("read_file", json!({"path": path}));
    let model = ScriptedModel::new("m")
        .on(When::tool("read_file").and_turn(0), [read("README.md")])
        .on(When::tool("read_file").and_turn(1), [read("a.txt")])
        .on(When::tool("read_file"), [done("it is read")])
        .on(When::plain(), [Reply::text("It is read.")]);
    let bench = Bench::new(model);
    for name in ["README.md", "a.txt", ".env"] {
        std::fs::write(bench.path(name), "KEY=1\n").unwrap();
    }
    let (hooks, _) = hooks(&[HookPoint::BeforeTool], |event| match &event.payload {
        HookPayload::Tool { parameters, .. } if parameters["path"] == "a.txt" => {
            HookAnswer::Change(json!({"parameters": {"path": ".env"}}))
        }
        _ => HookAnswer::Continue,
    });
    run(&bench, hooks, plan(json!([{"id": "read", "kind": "actor", "description": "Read the files"}]))).await;
    let seen = format!("{:?}", bench.model.requests()[2]);
    assert!(seen.contains("a call that needs a person's consent"), "{seen}");
}

// Requirement: 8.16
#[tokio::test]
async fn a_result_may_be_changed_or_withheld() {
    for (answer, output, status) in [
        (HookAnswer::Change(json!({"text": "wrote a secret"})), "wrote a secret", RunStatus::Completed),
        (block("it holds a key"), "Error: blocked by the hook guard: it holds a key", RunStatus::Failed),
    ] {
        let (model, plan) = writer();
        let bench = Bench::new(model);
        let (hooks, _) = hooks(&[HookPoint::AfterTool], move |_| answer.clone());
        let result = run(&bench, hooks, plan).await;
        assert_eq!((result.status, bench.log()[0].as_str()), (status, "one"), "it was written all the same");
        let seen = format!("{:?}", bench.model.requests()[1]);
        assert!(seen.contains(output) && !seen.contains("wrote one"), "{seen}");
    }
}

// Requirement: 8.16
#[tokio::test]
async fn a_message_comes_at_the_end_and_the_rest_stays_as_it_is() {
    let ((model, plan), (same, _)) = (writer(), writer());
    let (plain, with) = (Bench::new(model), Bench::new(same));
    plain.run("Write a line", Some(plan.clone())).await;
    let (hooks, _) = hooks(&[HookPoint::BeforePrompt], |_| HookAnswer::Change(json!({"message": "Mind the gap."})));
    assert_eq!(run(&with, hooks, plan).await.status, RunStatus::Completed);
    for (plain, with) in plain.model.requests().into_iter().zip(with.model.requests()) {
        let (last, before) = with.messages.split_last().unwrap();
        assert!(serde_json::to_string(last.as_ref()).unwrap().contains("Mind the gap."), "{with:#?}");
        assert_eq!(before, &plain.messages[..before.len()], "the prefix is the same");
        assert!(plain.messages.len() <= with.messages.len());
    }
}

#[tokio::test]
async fn hooks_around_prompts_see_no_secret_and_send_none() {
    const KNOWN: &str = "the-known-value-4711";
    let (model, plan) = writer();
    let bench = Bench::new(model);
    let (hooks, asked) = hooks(&[HookPoint::BeforePrompt, HookPoint::AfterPrompt], |event| match event.point {
        HookPoint::BeforePrompt => HookAnswer::Change(json!({"message": format!("Mind {KNOWN}.")})),
        _ => HookAnswer::Continue,
    });
    let builder = bench.builder().model(bench.model.clone()).hooks(hooks).project(format!("Use {KNOWN}."));
    let orchestrator = builder.redactor(aime_redact::Redactor::new([KNOWN])).build().unwrap();
    let result = orchestrator.run(bench.request("Write a line", Some(plan))).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let seen = format!("{:?}", asked.lock().unwrap());
    assert!(!seen.contains(KNOWN) && seen.contains(aime_redact::REDACTED), "{seen}");
    let sent = format!("{:?}", bench.model.requests());
    assert!(!sent.contains(KNOWN) && sent.contains(&format!("Mind {}.", aime_redact::REDACTED)), "{sent}");
}

#[tokio::test]
async fn a_blocked_prompt_or_answer_ends_the_attempt_with_the_reason() {
    for (point, requests) in [(HookPoint::BeforePrompt, 0), (HookPoint::AfterPrompt, 2)] {
        let (model, plan) = writer();
        let bench = Bench::new(model);
        let (hooks, _) = hooks(&[point], |event| match &event.payload {
            HookPayload::Prompt { messages, .. } if messages.iter().any(|message| message.text.contains("The plan now:")) => {
                HookAnswer::Continue
            }
            _ => block("no names of customers"),
        });
        let result = run(&bench, hooks, plan).await;
        assert_eq!(result.error.as_ref().map(|error| error.code.word()), Some("goal_not_reached"), "the model can be used: {result:#?}");
        let task = &result.tasks[0];
        assert!(task.error.as_ref().unwrap().to_string().ends_with("blocked by the hook guard: no names of customers"), "{task:?}");
        let to_actor = bench.model.requests().iter().filter(|request| !request.tools.is_empty()).count();
        assert_eq!((to_actor, task.attempts), (requests, 2), "{point}");
    }
}

// Requirement: 8.16
#[tokio::test]
async fn a_task_that_may_not_begin_fails_at_once_and_one_that_is_refused_is_tried_again() {
    let (model, plan) = writer();
    let bench = Bench::new(model);
    let (no, asked) = hooks(&[HookPoint::BeforeTask], |_| block("frozen"));
    let result = run(&bench, no, plan).await;
    assert_eq!(
        (result.tasks[0].attempts, result.tasks[0].error.as_ref().map(ToString::to_string).as_deref()),
        (1, Some("blocked by the hook guard: frozen"))
    );
    assert_eq!((points(&asked).len(), bench.log().len()), (1, 0));

    let (model, plan) = writer();
    let bench = Bench::new(model);
    let (hooks, _) = hooks(&[HookPoint::AfterTask], |event| match &event.payload {
        HookPayload::Task { conclusion: Some(conclusion), .. } if conclusion.summary == "written" => block("no test was written"),
        _ => HookAnswer::Continue,
    });
    let result = run(&bench, hooks, plan).await;
    assert_eq!((result.status, result.tasks[0].attempts), (RunStatus::Failed, 2));
    assert_eq!(
        result.tasks[0].error.as_ref().map(ToString::to_string).as_deref(),
        Some("reported as done, but blocked by the hook guard: no test was written")
    );
    let second = format!("{:?}", bench.model.requests());
    assert!(second.contains("An earlier attempt at this task failed") && second.contains("no test was written"));
}

/// A planner that returns a plan of one task, and another plan after a refusal.
fn planned() -> ScriptedModel {
    let one = |id: &str| Reply::json(json!({"tasks": [{"id": id, "description": "Write a line into the log"}]}));
    ScriptedModel::new("m")
        .on(When::schema("aime_plan").and_contains("An earlier plan was refused"), [one("better")])
        .on(When::schema("aime_plan"), [one("first")])
        .on(When::tool("append").and_turn(0), [append("one")])
        .on(When::tool("append"), [done("written")])
        .on(When::tools(), [done("written")])
        .on(When::plain(), [Reply::text("It is written.")])
}

async fn plan_and_run(bench: &Bench, hooks: Hooks) -> RunResult {
    let mut request = bench.request("Write a line", None);
    request.settings.mode = Some(PlanMode::Simple);
    orchestrator(bench, hooks).run(request).await.unwrap()
}

fn ids(bench: &Bench) -> Vec<String> {
    statuses(&bench.state()).into_iter().map(|(id, _)| id.to_owned()).collect()
}

fn faults(bench: &Bench) -> Vec<String> {
    let events = bench.events().into_iter();
    events
        .filter_map(|timed| {
            if let ProgressEvent::PlanRefused { faults, .. } = timed.event {
                Some(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            } else {
                None
            }
        })
        .collect()
}

// Requirement: 8.15
#[tokio::test]
async fn a_refused_plan_is_asked_for_again_with_the_reason() {
    let bench = Bench::new(planned());
    let (hooks, _) = hooks(&[HookPoint::AfterPlan], |event| match &event.payload {
        HookPayload::Plan { plan: Some(plan), .. } if plan["tasks"][0]["id"] == "first" => block("a better one"),
        _ => HookAnswer::Continue,
    });
    let result = plan_and_run(&bench, hooks).await;
    assert_eq!((result.status, ids(&bench)), (RunStatus::Completed, vec!["better".to_owned()]), "{result:#?}");
    assert_eq!(faults(&bench), ["blocked by the hook guard: a better one"]);
    assert_eq!(result.usage.requests, bench.model.requests().len() as u64, "every request is paid for");
}

// Requirement: 8.16
#[tokio::test]
async fn a_changed_plan_is_checked_again() {
    let change = |tasks: Value| move |_: &HookEvent| HookAnswer::Change(json!({"plan": {"tasks": tasks}}));
    let bench = Bench::new(planned());
    let (good, _) = hooks(&[HookPoint::AfterPlan], change(json!([{"id": "mine", "description": "Write a line into the log"}])));
    let result = plan_and_run(&bench, good).await;
    assert_eq!((result.status, ids(&bench)), (RunStatus::Completed, vec!["mine".to_owned()]), "{result:#?}");

    // A plan that does not fit is refused. So is the fallback, which the hook corrupts as well.
    let bench = Bench::new(planned());
    let (bad, asked) = hooks(&[HookPoint::AfterPlan], change(json!([{"id": "a", "description": "x", "dependencies": ["b"]}])));
    let result = plan_and_run(&bench, bad).await;
    assert_eq!(result.error.as_ref().map(|error| error.code.word()), Some("goal_not_reached"));
    assert_eq!(points(&asked).len(), 4, "three answers and the fallback");
    assert!(
        faults(&bench).iter().all(|fault| fault.contains("the hook guard changed the plan so that it does not fit")),
        "{:?}",
        faults(&bench)
    );
}

// Requirement: 8.15
#[tokio::test]
async fn planning_may_be_blocked() {
    let bench = Bench::new(planned());
    let (hooks, _) = hooks(&[HookPoint::BeforePlan], |_| block("no plans today"));
    let result = plan_and_run(&bench, hooks).await;
    let error = result.error.unwrap();
    assert!(
        error.code.word() == "goal_not_reached" && error.message.to_string().contains("blocked by the hook guard: no plans today"),
        "{error:?}"
    );
    assert!(!bench.model.requests().iter().any(|request| When::schema("aime_plan").fits(request)), "the planner was not asked");
}

#[tokio::test]
async fn a_patch_may_be_refused_and_the_plan_stays() {
    let patch =
        json!({"changes": [{"op": "add_task", "task": {"id": "again", "description": "Write it another way"}, "replaces": ["write"]}]});
    let model = ScriptedModel::new("m")
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .on(When::tool("append").and_contains("Write it another way"), [done("written")])
        .on(When::tools(), [Reply::call("terminate", json!({"status": "failure", "message": "cannot"}))])
        .on(When::plain(), [Reply::text("It is written.")]);
    let bench = Bench::new(model);
    let (hooks, asked) = hooks(&[HookPoint::AfterPlan], |event| match &event.payload {
        HookPayload::Patch { patch: Some(patch), reasons, .. } if !reasons.is_empty() && patch["changes"].is_array() => block("hands off"),
        _ => HookAnswer::Continue,
    });
    run(&bench, hooks, writer().1).await;
    assert_eq!(ids(&bench), ["write"], "{:?}", faults(&bench));
    assert!(points(&asked).len() >= 3 && faults(&bench).contains(&"blocked by the hook guard: hands off".to_owned()));
}

#[tokio::test]
async fn what_was_repaired_in_a_patch_and_who_changed_it_is_told() {
    let patch = "{'changes': [{'op': 'add_task', 'task': {'id': 'again', 'description': 'Write it another way'}, 'replaces': ['write']}]}";
    let model = ScriptedModel::new("m")
        .on(When::schema("aime_patch"), [Reply::text(patch)])
        .on(When::tool("append").and_contains("Write it well"), [done("written")])
        .on(When::tools(), [Reply::call("terminate", json!({"status": "failure", "message": "cannot"}))])
        .on(When::plain(), [Reply::text("It is written.")]);
    let bench = Bench::new(model);
    let (hooks, _) = hooks(&[HookPoint::AfterPlan], |event| match &event.payload {
        HookPayload::Patch { patch: Some(patch), .. } => {
            let mut patch = patch.clone();
            patch["changes"][0]["task"]["description"] = json!("Write it well");
            HookAnswer::Change(json!({"patch": patch}))
        }
        _ => HookAnswer::Continue,
    });
    run(&bench, hooks, writer().1).await;
    let output: Vec<_> = bench
        .events()
        .into_iter()
        .filter_map(|timed| match timed.event {
            ProgressEvent::PatchRepaired { repairs } => Some(repairs),
            _ => None,
        })
        .collect();
    assert_eq!(output, [["replaced single quotes", "changed by the hook guard"]]);
}

/// What a hook makes of the plan of a lead is checked again: the lead reads why it does not fit, or it is carried out.
// Requirement: 8.16
#[tokio::test]
async fn a_hook_changes_the_plan_and_the_patch_of_a_lead() {
    let task = |id: &str, line: &str| json!({"id": id, "kind": "tool", "tool": "append", "parameters": {"line": line}});
    let tasks = |line: &str| json!({"mode": "complex", "tasks": [task("one", line), task("two", "two")]});
    let change = json!({"reasoning": "one more", "changes": [{"op": "add_task", "task": task("three", "three")}]});
    let lead = |turn| When::tool("submit_plan").and_turn(turn);
    let model = ScriptedModel::new("m")
        .on(lead(0), [Reply::call("submit_plan", tasks("bad"))])
        .on(lead(1), [Reply::call("submit_plan", tasks("one"))])
        .on(lead(2), [Reply::call("change_plan", change)])
        .on(lead(3), [done("it is written")]);
    let bench = Bench::new(model);
    let (hooks, _) = hooks(&[HookPoint::AfterPlan], |event| match &event.payload {
        HookPayload::Plan { plan: Some(plan), .. } => {
            let mut plan = plan.clone();
            if plan["tasks"][0]["parameters"]["line"] == "bad" {
                plan["tasks"][0]["dependencies"] = json!(["nobody"]);
            }
            plan["tasks"][0]["parameters"]["line"] = json!("ours");
            HookAnswer::Change(json!({"plan": plan}))
        }
        HookPayload::Patch { patch: Some(patch), .. } => {
            let mut patch = patch.clone();
            patch["changes"][0]["task"]["parameters"]["line"] = json!("ours, too");
            HookAnswer::Change(json!({"patch": patch}))
        }
        _ => HookAnswer::Continue,
    });
    let mut request = bench.request("Three lines", None);
    request.settings.route = PlanRoute::Auto;
    request.settings.max_parallel = 1;
    let result = orchestrator(&bench, hooks).run(request).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert_eq!(bench.log(), ["ours", "two", "ours, too"]);
    let refused = format!("{:?}", bench.model.requests()[1].messages);
    assert!(refused.contains("the hook guard changed the plan so that it does not fit"), "{refused}");
    let repairs = bench.events().into_iter().filter_map(|timed| match timed.event {
        ProgressEvent::PlanCreated { repairs, .. } | ProgressEvent::PatchRepaired { repairs } => Some(repairs),
        _ => None,
    });
    let by_hook = repairs.filter(|repairs| repairs.iter().any(|repair| *repair == "changed by the hook guard")).count();
    assert_eq!(by_hook, 2, "one in the plan, one in the patch");
}

/// Forbids every write.
struct NoWriting;

impl PlanValidator for NoWriting {
    fn validate(&self, plan: &Plan) -> Vec<PlanFault> {
        let writing = plan.tasks.iter().filter(|task| task.description.contains("Write"));
        writing.map(|task| PlanFault::new(task.id.as_str(), "nobody may write here")).collect()
    }
}

// Requirement: 3.41
#[tokio::test]
async fn added_rules_are_asked_of_plans_of_patches_and_of_what_hooks_make_of_both() {
    let task = |id: &str, what: &str| json!({"id": id, "description": format!("{what} a line"), "dependencies": []});
    let plan = |what: &str| Reply::json(json!({"tasks": [task("line", what)]}));
    let again = |what: &str| json!({"changes": [{"op": "add_task", "task": task("again", what), "replaces": ["line"]}]});
    let model = ScriptedModel::new("m")
        .on(When::schema("aime_plan"), [plan("Write"), plan("Append")])
        .on(When::schema("aime_patch"), [Reply::json(again("Write")), Reply::json(again("Sing"))])
        .on(When::tools().and_contains("Append a line"), [Reply::call("terminate", json!({"status": "failure", "message": "cannot"}))])
        .on(When::tools(), [done("sung")])
        .on(When::plain(), [Reply::text("It is sung.")]);
    let bench = Bench::new(model);
    // The hook changes the first valid patch into one that writes again.
    let writes = again("Write");
    let changed = Mutex::new(false);
    let (hooks, _) = hooks(&[HookPoint::AfterPlan], move |event| match &event.payload {
        HookPayload::Patch { patch: Some(_), .. } if !std::mem::replace(&mut *changed.lock().unwrap(), true) => {
            HookAnswer::Change(json!({"patch": writes.clone()}))
        }
        _ => HookAnswer::Continue,
    });
    let builder = bench.builder().model(bench.model.clone()).hooks(hooks).validator(NoWriting);
    let mut request = bench.request("A line", None);
    request.settings.mode = Some(PlanMode::Simple);
    request.settings.triggers.max_retries = 0;
    let result = builder.build().unwrap().run(request).await.unwrap();
    assert_eq!((result.status, ids(&bench)), (RunStatus::Completed, vec!["line".to_owned(), "again".to_owned()]), "{result:#?}");
    let faults = faults(&bench);
    assert_eq!(faults.iter().filter(|fault| fault.contains("nobody may write here")).count(), 3, "{faults:#?}");
    assert!(faults.iter().any(|fault| fault.contains("the hook guard changed the patch so that it does not fit")), "{faults:#?}");
}

#[tokio::test]
async fn what_is_recorded_is_not_asked_again() {
    let asked_in_all = |points: Vec<&'static str>| points.into_iter().filter(|point| *point == "before_task").count();
    for stop_at in [6, 9, 12, 15, 18] {
        let (model, plan) = four_lines();
        let bench = Bench::new(model);
        let (hooks, asked) = hooks(&[HookPoint::BeforeTask, HookPoint::AfterTool], |_| HookAnswer::Continue);
        let ((control, events), orchestrator) = (control(), orchestrator(&bench, hooks));
        let stop = control.stop.clone();
        let stopping = tokio::spawn(async move {
            wait_for_events(events, stop_at).await;
            stop.cancel();
        });
        let first = orchestrator.run_with(bench.request("Write four lines", Some(plan)), control).await.unwrap();
        stopping.abort();
        if first.status != RunStatus::Completed {
            orchestrator.resume(&first.run_id, None, crate::bench::control().0).await.unwrap();
        }
        let calls = bench
            .events()
            .into_iter()
            .filter(
                |timed| matches!(&timed.event, ProgressEvent::ToolCallFinished { tool, outcome: CallOutcome::Ok, .. } if tool == "append"),
            )
            .count();
        let (tools, tasks) = (points(&asked).iter().filter(|point| **point == "after_tool").count(), asked_in_all(points(&asked)));
        assert!(tools >= calls && tools <= calls + 1, "{tools} for {calls} calls, stopped at {stop_at}");
        // A stop between the record of the first call and the call itself leaves its outcome unknown, and nothing
        // follows it.
        assert!(tasks <= 4 && (tasks >= 1 || calls == 0), "{tasks} attempts, stopped at {stop_at}");
    }
}

#[tokio::test]
async fn the_end_cannot_be_blocked_and_an_attempt_at_it_is_told() {
    let (model, plan) = writer();
    let bench = Bench::new(model);
    let (hooks, asked) = hooks(&[HookPoint::Stop], |_| block("go on"));
    let result = run(&bench, hooks.clone(), plan).await;
    assert_eq!(
        (result.status, result.notes.as_slice()),
        (RunStatus::Completed, ["the hook guard at stop could not block, because it was called too late: go on".into()].as_slice())
    );
    orchestrator(&bench, hooks).resume(&result.run_id, None, control().0).await.unwrap();
    assert_eq!(points(&asked), ["stop"], "a run that is over gives its result again and asks nobody");
}
