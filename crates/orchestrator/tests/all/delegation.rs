//! Runs in which actors delegate work to other actors: results, bounds, crashes, stops and questions.

use std::{collections::BTreeSet, sync::Arc};

use aime_llm::{
    ChatRequest,
    scripted::{Reply, ScriptedModel, When},
};
use aime_orchestrator::{Bounds, HumanChannel, HumanQuestion, InboxMessage, RunResult};
use aime_progress_management::{CallOutcome, Plan, ProgressEvent, RunStatus, TaskStatus};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::bench::{Bench, Point, append, control, done, plan, run_id, statuses, wait_for_events};

fn delegate(parameters: Value) -> Reply {
    Reply::call("delegate_task", parameters)
}

fn like_me(description: &str) -> Reply {
    delegate(json!({"description": description, "use_actor_factory": false}))
}

/// The task of an actor of the plan that may append to the log.
fn whole(more: Value) -> Plan {
    let mut task = json!({"id": "whole", "kind": "actor", "name": "WHOLE", "description": "WHOLE: four lines", "bundles": ["append"],
                          "profile": "sisyphus"});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    plan(json!([task]))
}

/// Returns the requests of an actor whose task contains these words.
fn asked(bench: &Bench, words: &str) -> Vec<ChatRequest> {
    let task = |request: &ChatRequest| request.messages.get(1).is_some_and(|message| format!("{message:?}").contains(words));
    bench.model.requests().into_iter().filter(task).collect()
}

fn messages_text(request: &ChatRequest) -> String {
    format!("{:?}", request.messages)
}

fn offers(request: &ChatRequest, tool: &str) -> bool {
    request.tools.iter().any(|offered| offered.name == tool)
}

/// Four lines, two of them by delegated actors: WHOLE delegates to PART, which delegates to LEAF.
fn three_deep() -> (ScriptedModel, Plan) {
    let model = ScriptedModel::new("m")
        .on(When::contains("The plan now:"), [Reply::text("I have no idea")])
        .on(When::contains("WHOLE: four").and_turn(0), [like_me("PART: three lines")])
        .on(When::contains("WHOLE: four").and_turn(1), [append("four")])
        .on(When::contains("WHOLE: four").and_turn(2), [done("four lines")])
        .on(When::contains("PART: three").and_turn(0), [append("one")])
        .on(When::contains("PART: three").and_turn(1), [like_me("LEAF: one line")])
        .on(When::contains("PART: three").and_turn(2), [append("three")])
        .on(When::contains("PART: three").and_turn(3), [done("PART-DONE")])
        .on(When::contains("LEAF: one").and_turn(0), [append("two")])
        .on(When::contains("LEAF: one").and_turn(1), [done("LEAF-DONE")])
        .on(When::plain(), [Reply::text("Four lines are written.")]);
    (model, whole(json!({})))
}

fn code(result: &RunResult) -> Option<&str> {
    result.error.as_ref().map(|error| error.code.word())
}

// Requirement: 8.7
#[tokio::test]
async fn what_another_actor_did_comes_back_and_counts() {
    let (model, plan) = three_deep();
    let bench = Bench::new(model);
    let result = bench.run("the goal", Some(plan)).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert_eq!(bench.log(), ["one", "two", "three", "four"]);
    let last = messages_text(asked(&bench, "WHOLE").last().unwrap());
    assert!(last.contains("success: PART-DONE\\nReferences: log"), "{last}");
    assert!(messages_text(asked(&bench, "PART").last().unwrap()).contains("success: LEAF-DONE"));
    assert_eq!(asked(&bench, "LEAF").len(), 2, "each in a conversation of its own");
    let state = bench.state();
    assert_eq!(state.tasks[0].conclusion.as_ref().unwrap().references, ["log"]);
    assert_eq!((state.spent.requests, state.tool_calls), (9, 9), "all of it is counted");
    let calls = bench.events().into_iter().filter_map(|timed| match timed.event {
        ProgressEvent::ToolCallStarted { call, task: Some(task), .. } if task.as_str() == "whole" => Some(call),
        _ => None,
    });
    let calls: Vec<String> = calls.collect();
    assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len(), "no two calls of a run have one name: {calls:?}");
    let created = bench.events().into_iter().filter_map(|timed| match timed.event {
        ProgressEvent::ActorCreated { actor, .. } => Some(actor),
        _ => None,
    });
    assert_eq!(created.collect::<Vec<_>>(), ["whole-1", "whole-1-1-1-d", "whole-1-1-1-d-2-1-d"]);
}

// Requirement: 4.31
#[tokio::test]
async fn who_is_made_is_chosen_or_named_and_is_told_the_frame() {
    let frame = json!({"description": "PART: search where it is", "task_id": "whole", "plan_id": "trip"});
    // PART's context quotes the words of the whole task, so the rule for the part comes first.
    let model = ScriptedModel::new("m")
        .on(When::contains("# Your task\nPART"), [done("found")])
        .on(When::contains("WHOLE: four").and_turn(0), [delegate(frame)])
        .on(When::contains("WHOLE: four").and_turn(1), [delegate(json!({"description": "PART: search", "profile": "oracle"}))])
        .on(When::contains("WHOLE: four").and_turn(2), [delegate(json!({"description": "x", "profile": "zeus"}))])
        .on(When::contains("WHOLE: four").and_turn(3), [delegate(json!({"description": "x", "task_id": "part"}))])
        .on(When::contains("WHOLE: four").and_turn(4), [delegate(json!({"description": "x", "plan_id": "other"}))])
        .on(When::contains("WHOLE: four").and_turn(5), [done("enough")]);
    let bench = Bench::new(model);
    let result = bench.run("the goal", Some(whole(json!({})))).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let parts = asked(&bench, "# Your task\\nPART");
    assert!(messages_text(&parts[0]).contains("You are Sisyphus") && messages_text(&parts[1]).contains("You are Oracle"), "{parts:#?}");
    assert!(messages_text(&parts[0]).contains("# What your task is a part of\\nWHOLE\\nWHOLE: four lines"), "{}", messages_text(&parts[0]));
    assert!(!messages_text(&parts[1]).contains("a part of"));
    let prompt = messages_text(asked(&bench, "# Your task\\nWHOLE").last().unwrap());
    for expected in [
        "Error: there is no profile `zeus`; the profiles are: `sisyphus`, `oracle`",
        "Error: the plan has no task `part`: its tasks are `whole`",
        "Error: there is no plan `other` here: the plan of this run is `trip`",
    ] {
        assert!(prompt.contains(expected), "{expected}: {prompt}");
    }
}

#[tokio::test]
async fn a_failure_below_is_an_error_and_not_the_end() {
    let gives_up = Reply::call("terminate", json!({"status": "failure", "message": "no way"}));
    let model = ScriptedModel::new("m")
        .on(When::contains("WHOLE: four").and_turn(0), [like_me("PART: three lines")])
        .on(When::contains("WHOLE: four").and_turn(1), [done("I did it myself")])
        .on(When::contains("PART: three").and_turn(0), [append("one")])
        .on(When::contains("PART: three").and_turn(1), [gives_up]);
    let bench = Bench::new(model);
    let result = bench.run("the goal", Some(whole(json!({})))).await;
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "I did it myself"), "{result:#?}");
    assert!(messages_text(asked(&bench, "WHOLE").last().unwrap()).contains("Error: failure: no way\\nReferences: log"));
    assert_eq!(bench.state().tasks[0].conclusion.as_ref().unwrap().references, ["log"], "half done is made all the same");
    assert_eq!(bench.state().tasks[0].attempts, 1);
}

#[tokio::test]
async fn one_that_may_only_read_makes_none_that_writes() {
    let write = Reply::call("write_file", json!({"path": "log", "content": "x"}));
    let model = ScriptedModel::new("m")
        .on(When::contains("WHOLE: four").and_turn(0), [delegate(json!({"description": "PART: write it", "profile": "sisyphus"}))])
        .on(When::contains("WHOLE: four").and_turn(1), [done("it cannot be")])
        .on(When::contains("PART: write").and_turn(0), [append("one")])
        .on(When::contains("PART: write").and_turn(1), [write])
        .on(When::contains("PART: write").and_turn(2), [done("I may not")]);
    let bench = Bench::new(model);
    let reader = whole(json!({"profile": "explore", "bundles": ["append", "delegation"], "description": "WHOLE: four of them, where?"}));
    bench.run("the goal", Some(reader)).await;
    let part = asked(&bench, "PART");
    assert!(messages_text(&part[0]).contains("You are Sisyphus") && part.len() == 3, "{part:#?}");
    for tool in ["append", "write_file", "edit_file", "bash", "python"] {
        assert!(!offers(&part[0], tool), "{tool}");
    }
    assert!(messages_text(&part[2]).contains("Unknown tool: append") && messages_text(&part[2]).contains("Unknown tool: write_file"));
    assert!(bench.log().is_empty());
}

// Requirement: 4.32, 10.7
#[tokio::test]
async fn nobody_stands_deeper_than_two_below_the_plan() {
    let model = ScriptedModel::new("m")
        .on(When::contains("LEAF: one").and_turn(0), [like_me("DEEPER: x")])
        .on(When::contains("LEAF: one").and_turn(1), [done("LEAF-DONE")])
        .on(When::contains("PART: three").and_turn(0), [like_me("LEAF: one line")])
        .on(When::contains("PART: three").and_turn(1), [done("PART-DONE")])
        .on(When::contains("WHOLE: four").and_turn(0), [like_me("PART: three lines")])
        .on(When::contains("WHOLE: four").and_turn(1), [done("done")]);
    let bench = Bench::new(model);
    let result = bench.run("the goal", Some(whole(json!({})))).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let leaf = asked(&bench, "LEAF: one");
    assert!(!offers(&leaf[0], "delegate_task") && offers(&asked(&bench, "PART")[0], "delegate_task"));
    assert!(messages_text(&leaf[1]).contains("Unknown tool: delegate_task"));
    assert!(asked(&bench, "DEEPER").is_empty());
}

async fn bounded(bench: &Bench, plan: Plan, bounds: Bounds) -> RunResult {
    let mut request = bench.request("the goal", Some(plan));
    request.settings.bounds = bounds;
    bench.orchestrator().run(request).await.unwrap()
}

// Requirement: 10.9
#[tokio::test]
async fn tool_calls_and_tokens_are_counted_over_the_tree() {
    let (model, plan) = three_deep();
    let bench = Bench::new(model);
    // Delegation is a tool call, so the third call would create LEAF.
    let result = bounded(&bench, plan, Bounds { max_tool_calls: 2, ..Bounds::default() }).await;
    assert_eq!((code(&result), bench.log()), (Some("bound_reached"), vec!["one".to_owned()]), "{result:#?}");
    let result = bench.orchestrator().resume(&run_id(), Some(Bounds::default()), control().0).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert_eq!(bench.log(), ["one", "two", "three", "four"], "the call that was refused is made when there is room");

    let model = ScriptedModel::new("m")
        .on(When::contains("WHOLE: four").and_turn(0), [like_me("PART: three lines").usage(900_000, 200_000)])
        .on(When::contains("WHOLE: four").and_turn(1), [done("done")])
        .on(When::contains("PART: three"), [done("PART-DONE")]);
    let bench = Bench::new(model);
    let result = bounded(&bench, whole(json!({})), Bounds { max_tokens: Some(1_000_000), ..Bounds::default() }).await;
    assert_eq!((code(&result), bench.model.requests().len()), (Some("bound_reached"), 1), "{result:#?}");
    let raised = Bounds { max_tokens: Some(9_000_000), ..Bounds::default() };
    let result = bench.orchestrator().resume(&run_id(), Some(raised), control().0).await.unwrap();
    assert_eq!((result.status, bench.model.requests().len()), (RunStatus::Completed, 3), "{result:#?}");
}

// Requirement: 10.6
#[tokio::test]
async fn actors_below_count_as_actors_also_after_a_resume() {
    let (model, plan) = three_deep();
    let bench = Bench::new(model);
    let result = bounded(&bench, plan, Bounds { max_actors: 2, ..Bounds::default() }).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let prompt = messages_text(asked(&bench, "PART").last().unwrap());
    assert!(prompt.contains("Error: 2 actors are allowed, and all are used: no other actor can be made; do it yourself"), "{prompt}");
    assert_eq!(bench.log(), ["one", "three", "four"]);

    // The run is stopped with two actors at work, so it has used two when it continues.
    for (most, third) in [(2, false), (3, true)] {
        let (model, plan) = three_deep();
        let bench = Bench::new(model);
        let (there, (control, _events)) = (bench.hold(Point::Begun(1)), control());
        let (stop, mut request) = (control.stop.clone(), bench.request("the goal", Some(plan)));
        request.settings.bounds.max_actors = most;
        let orchestrator = bench.orchestrator();
        let (result, ()) = tokio::join!(orchestrator.run_with(request, control), async {
            there.await;
            stop.cancel();
        });
        bench.release();
        assert_eq!(code(&result.unwrap()), Some("interrupted"));
        let result = bench.resume().await;
        assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
        assert_eq!(!asked(&bench, "LEAF").is_empty(), third, "{most}");
    }
}

/// Checks the invariants of the three actors, for any number of interruptions.
fn check(bench: &Bench, result: &RunResult, when: &str) {
    let (log, state) = (bench.log(), bench.state());
    assert_eq!(result.status, RunStatus::Completed, "{when}: {result:#?}");
    for line in ["one", "two", "three", "four"] {
        assert!(log.iter().filter(|written| *written == line).count() <= 1, "{line} was written twice, {when}: {log:?}");
    }
    let (mut started, mut finished, mut cut_off, mut answers, mut made) = (Vec::new(), Vec::new(), 0, 0, 0);
    for timed in bench.events() {
        match timed.event {
            ProgressEvent::ToolCallStarted { call, .. } => started.push(call),
            ProgressEvent::ToolCallFinished { call, outcome, tool, .. } => {
                finished.push(call);
                assert!(tool != "delegate_task" || outcome == CallOutcome::Ok, "{when}: it is taken up again");
                cut_off += usize::from(matches!(outcome, CallOutcome::InDoubt | CallOutcome::Cancelled));
            }
            ProgressEvent::ModelCalled { purpose, .. } if purpose == "act" => answers += 1,
            ProgressEvent::ActorCreated { .. } => made += 1,
            _ => {}
        }
    }
    assert!(log.len() + cut_off >= 4, "{when}: {log:?}");
    started.sort();
    finished.sort();
    assert_eq!(started, finished, "{when}: every call has one end");
    assert_eq!((started.len(), answers, made), (9, 9, 3), "{when}: nothing is told twice, and nothing is lost");
    assert_eq!(statuses(&state), [("whole", TaskStatus::Completed)]);
    let prompts: BTreeSet<String> = bench.model.requests().iter().map(messages_text).collect();
    assert!(prompts.len() <= 10, "{when}: what was answered is not asked in another way");
}

/// Continues the run, and drops it at an event if it has not ended before.
async fn until(bench: &Bench, plan: Option<Plan>, event: usize) -> Option<RunResult> {
    let ((control, events), orchestrator) = (control(), bench.orchestrator());
    let carried = async {
        match plan {
            Some(plan) => orchestrator.run_with(bench.request("the goal", Some(plan)), control).await,
            None => orchestrator.resume(&run_id(), None, control).await,
        }
    };
    tokio::select! {
        biased;
        () = wait_for_events(events, event) => None,
        result = carried => Some(result.unwrap()),
    }
}

#[tokio::test]
async fn a_crash_after_any_event_goes_on_where_each_actor_was() {
    for event in 1.. {
        let (model, plan) = three_deep();
        let bench = Bench::new(model);
        if let Some(result) = until(&bench, Some(plan), event).await {
            check(&bench, &result, "undisturbed");
            assert!(event > 30, "it was killed in the middle");
            break;
        }
        let result = bench.resume().await;
        check(&bench, &result, &format!("killed after event {event}"));
    }
}

#[tokio::test]
async fn crash_after_crash_all_actors_come_to_their_end() {
    let (model, plan) = three_deep();
    let bench = Bench::new(model);
    let mut plan = Some(plan);
    for round in 0.. {
        assert!(round < 100, "it never ends");
        if let Some(result) = until(&bench, plan.take(), 9).await {
            check(&bench, &result, "killed again and again");
            break;
        }
    }
}

#[tokio::test]
async fn a_crash_in_a_call_below_leaves_that_call_in_doubt_and_no_other() {
    for call in 1..=4 {
        let (model, plan) = three_deep();
        let bench = Bench::new(model);
        let (there, orchestrator) = (bench.hold(Point::Begun(call)), bench.orchestrator());
        tokio::select! {
            biased;
            () = there => {}
            result = orchestrator.run(bench.request("the goal", Some(plan))) => panic!("{result:?}"),
        }
        let result = bench.resume().await;
        check(&bench, &result, &format!("killed in call {call}"));
        let finished = bench.events().into_iter().filter_map(|timed| match timed.event {
            ProgressEvent::ToolCallFinished { tool, outcome: CallOutcome::InDoubt, .. } => Some(tool),
            _ => None,
        });
        assert_eq!(finished.collect::<Vec<_>>(), ["append"], "killed in call {call}");
    }
}

#[tokio::test]
async fn a_stop_at_any_event_stops_those_below_first_and_resumes() {
    for stop_at in (1..).step_by(2) {
        let (model, plan) = three_deep();
        let bench = Bench::new(model);
        let ((control, events), orchestrator) = (control(), bench.orchestrator());
        let stop = control.stop.clone();
        let stopping = tokio::spawn(async move {
            wait_for_events(events, stop_at).await;
            stop.cancel();
        });
        let first = orchestrator.run_with(bench.request("the goal", Some(plan)), control).await.unwrap();
        stopping.abort();
        let stopped = code(&first) == Some("interrupted");
        assert!(!statuses(&bench.state()).iter().any(|(_, status)| *status == TaskStatus::Running), "nothing is left running");
        let result = if stopped { bench.resume().await } else { first };
        check(&bench, &result, &format!("stopped at {stop_at}"));
        if !stopped {
            break;
        }
    }
}

/// A person who gives this answer.
struct Says(&'static str);

impl HumanChannel for Says {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move { Some(format!("{} ({})", self.0, question.text)) })
    }
}

fn asks() -> ScriptedModel {
    ScriptedModel::new("m")
        .on(When::contains("WHOLE: four").and_turn(0), [like_me("PART: paint it")])
        .on(When::contains("WHOLE: four").and_turn(1), [done("all done")])
        .on(When::contains("PART: paint").and_turn(0), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
        .on(When::contains("PART: paint").and_contains("red").and_turn(1), [done("painted red")])
}

#[tokio::test]
async fn one_below_can_ask_a_person_now_or_over_a_restart() {
    let mut bench = Bench::new(asks());
    bench.human = Arc::new(Says("red"));
    let result = bench.run("the goal", Some(whole(json!({})))).await;
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "all done"), "{result:#?}");

    let bench = Bench::new(asks());
    let result = bench.run("the goal", Some(whole(json!({})))).await;
    assert_eq!((result.status, result.error.unwrap().message.to_string().as_str()), (RunStatus::WaitingForHuman, "Which colour?"));
    assert_eq!(bench.resume().await.status, RunStatus::WaitingForHuman, "nothing has changed");
    let question = bench.state().questions[0].id.clone();
    assert_eq!(question.as_str(), "whole-1-1-1-d-1-1");
    let message = serde_json::to_string(&InboxMessage::Answer { question, text: "red".to_owned() }).unwrap();
    bench.journal.inbox_put("trip", 1, &message).await.unwrap();
    let result = bench.resume().await;
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "all done"), "{result:#?}");
    assert_eq!((bench.state().questions.len(), bench.model.requests().len()), (1, 4), "nothing is asked twice");
}

#[tokio::test]
async fn who_judges_a_task_sees_what_was_done_below() {
    let verdict = Reply::json(json!({"passed": true, "score": 1.0, "reason": "it was", "feedback": "", "suggestions": []}));
    let (model, _) = three_deep();
    let bench = Bench::new(model.on(When::schema("aime_verdict"), [verdict]));
    let result = bench.run("the goal", Some(whole(json!({"completion_criteria": ["the lines are tidy"]})))).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let judged = bench.model.requests().into_iter().find(|request| messages_text(request).contains("in the worker's own words")).unwrap();
    let recorded = messages_text(&judged);
    let places: Vec<usize> = ["one", "two", "three", "four"].iter().map(|line| recorded.find(&format!("wrote {line}")).unwrap()).collect();
    assert!(places.is_sorted() && !recorded.contains("PART-DONE"), "{recorded}");
}

#[tokio::test]
async fn actors_at_work_when_a_process_dies_count_once() {
    let (model, plan) = three_deep();
    let bench = Bench::new(model);
    let (there, (control, _events)) = (bench.hold(Point::Begun(1)), control());
    let mut request = bench.request("the goal", Some(plan));
    request.settings.bounds.max_actors = 3;
    let orchestrator = bench.orchestrator();
    tokio::select! {
        result = orchestrator.run_with(request, control) => panic!("it was to be killed: {result:?}"),
        () = there => {}
    }
    bench.release();
    let result = bench.resume().await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert!(!asked(&bench, "LEAF").is_empty(), "a third actor was allowed");
}

/// Returns a plan of two tasks that could start at once, with only one slot.
fn two_tasks() -> Plan {
    plan(json!([
        {"id": "whole", "kind": "actor", "name": "WHOLE", "description": "WHOLE: two lines", "bundles": ["append"], "profile": "sisyphus"},
        {"id": "part", "kind": "actor", "name": "PART", "description": "PART: one line", "bundles": ["append"], "profile": "sisyphus"},
        {"id": "after", "kind": "actor", "name": "LAST", "description": "AFTER: look", "dependencies": ["whole"]},
    ]))
}

// Requirement: 4.31
#[tokio::test]
async fn a_task_of_the_plan_is_taken_over_and_settled() {
    let model = ScriptedModel::new("m")
        .on(When::contains("WHOLE: two").and_turn(0), [delegate(json!({"description": "in capitals", "task_id": "after"}))])
        .on(When::contains("WHOLE: two").and_turn(1), [delegate(json!({"description": "in capitals", "task_id": "part"}))])
        .on(When::contains("WHOLE: two").and_turn(2), [append("two")])
        .on(When::contains("WHOLE: two").and_turn(3), [done("both")])
        .on(When::contains("AFTER: look"), [done("looked")])
        .on(When::contains("PART: one").and_turn(0), [append("ONE")])
        .on(When::contains("PART: one").and_turn(1), [done("PART-DONE")])
        .on(When::plain(), [Reply::text("Two lines.")]);
    let bench = Bench::new(model);
    let mut request = bench.request("the goal", Some(two_tasks()));
    request.settings.max_parallel = 1;
    let result = bench.orchestrator().run(request).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert_eq!(bench.log(), ["ONE", "two"]);
    assert!(statuses(&bench.state()).iter().all(|(_, status)| *status == TaskStatus::Completed));
    let prompt = messages_text(asked(&bench, "# Your task\\nWHOLE").last().unwrap());
    assert!(prompt.contains("the task `after` cannot start yet") && prompt.contains("success: PART-DONE"), "{prompt}");
    let part = messages_text(&asked(&bench, "PART: one")[0]);
    assert!(part.contains("From the worker that hands it over") && part.contains("in capitals"), "{part}");
    let state = bench.state();
    let known = &state.tasks[1];
    assert_eq!((known.attempts, known.claimed_by.as_deref()), (1, Some("whole/1/2/1")), "it ran once, by the call");
    assert_eq!(known.actor.as_ref().map(|actor| actor.profile.as_str()), Some("sisyphus"));
}

#[test]
fn the_profiles_stand_in_the_schema() {
    let registry = aime_tools::builtin();
    let rules = aime_tools::PermissionRules::at("/work", aime_tools::RuleLists::default()).unwrap();
    let context = aime_actor_factory::ActorContext::new("g", &registry, &rules);
    let task = aime_progress_management::TaskSpec::actor("t".parse().unwrap(), "Write a.txt");
    let made = aime_actor_factory::ActorFactory::builtin().unwrap().compose(&task, &context).unwrap();
    let schema = made.input.spec.tool("delegate_task").unwrap().definition.parameters.to_string();
    for profile in ["sisyphus", "oracle", "librarian", "explore", "atlas"] {
        assert!(schema.contains(&format!("{profile} (")), "{schema}");
    }
}
