//! Snapshots of every whole request to the model.

use aime_llm::{ChatRequest, ModelLimits, ResponseFormat, Tiers, estimate_tokens};
use aime_tools::ModelClasses;

use super::*;
use crate::{UndecidedGoal, ask_route, verdict};

fn show(request: &ChatRequest) -> String {
    let mut out = String::new();
    for message in &request.messages {
        let (role, content) = match message.as_ref() {
            Message::System { content } => ("system", content),
            Message::User { content, .. } => ("user", content),
            Message::Assistant { content, .. } => ("assistant", content),
            Message::Tool { content, .. } => ("tool", content),
        };
        out.push_str(&format!("[{role}]\n{content}\n\n"));
    }
    let format = serde_json::to_string_pretty(&request.format).unwrap();
    let rest = (request.temperature, request.max_output_tokens, request.tools.len(), request.tool_choice.clone());
    format!("{out}[temperature, output tokens, tools, choice] {rest:?}\n[format]\n{format}")
}

/// Returns the estimated tokens of the messages.
fn tokens(request: &ChatRequest) -> u64 {
    request
        .messages
        .iter()
        .map(|message| match message.as_ref() {
            Message::System { content } | Message::User { content, .. } => estimate_tokens(content),
            _ => 0,
        })
        .sum()
}

/// Returns a small model. Its prompts must not change, because they were measured in this form.
fn small() -> ScriptedModel {
    ScriptedModel::new("m").with_limits(ModelLimits { small: true, ..ModelLimits::default() })
}

async fn requests_for(mode: PlanMode, replies: Vec<Reply>) -> Vec<ChatRequest> {
    let model = small().on(When::schema("aime_plan"), replies);
    planner(&model).plan(&request(mode)).await.unwrap();
    model.requests()
}

/// Returns the lines of a request that another one lacks.
fn added(request: &ChatRequest, to: &ChatRequest) -> String {
    let before = show(to);
    let before: Vec<&str> = before.lines().collect();
    show(request).lines().filter(|line| !before.contains(line)).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn larger_models_are_told_of_edges_and_of_the_strategy_too() {
    let mut additions = Vec::new();
    let room = Some(crate::Room { used: 1, most: 20, must_merge: false });
    let updated = ReplanRequest { room, ..replan_request() };
    for (schema, replanning) in [("aime_plan", None), ("aime_patch", Some(replan_request())), ("aime_patch", Some(updated))] {
        let mut requests = Vec::new();
        for model in [small(), ScriptedModel::new("m")] {
            let reply = if replanning.is_some() { Reply::json(json!({"changes": []})) } else { good() };
            let model = model.on(When::schema(schema), [reply]);
            match &replanning {
                Some(request) => drop(planner(&model).replan(request, fits).await.unwrap()),
                None => drop(planner(&model).plan(&request(PlanMode::Complex)).await.unwrap()),
            }
            requests.extend(model.requests());
        }
        assert!(tokens(&requests[1]) - tokens(&requests[0]) < 160, "{}", tokens(&requests[1]) - tokens(&requests[0]));
        assert_eq!(added(&requests[0], &requests[1]), "", "nothing is left out");
        additions.push(added(&requests[1], &requests[0]));
    }
    insta::assert_snapshot!(additions.join("\n---\n"));
}

// Requirement: 3.14
#[tokio::test]
async fn a_first_plan_may_have_edges() {
    let task = |id: &str| json!({"id": id, "name": id, "kind": "actor", "description": "x", "dependencies": []});
    let strategic = json!({"approach": "", "phases": [], "risks": [], "success_criteria": []});
    let edges = json!([
        {"from": "check", "to": "mend", "type": "conditional", "condition": "@{steps.check.result} contains 'error'"},
        {"from": "publish", "to": "withdraw", "type": "rollback"},
    ]);
    let tasks = ["check", "mend", "publish", "withdraw"].map(task);
    let plan = json!({"strategic": strategic, "tasks": tasks, "edges": edges});
    for (model, may) in [(ScriptedModel::new("m"), true), (small(), false)] {
        let model = model.on(When::schema("aime_plan"), [Reply::json(plan.clone())]);
        let planned = planner(&model).plan(&request(PlanMode::Complex)).await.unwrap();
        assert_eq!(serde_json::to_value(&planned.plan.edges).unwrap(), edges, "it is read in any case");
        let asked = &model.requests()[0];
        let ResponseFormat::JsonSchema { schema, .. } = &asked.format else { panic!("{:?}", asked.format) };
        assert_eq!(aime_llm::SchemaChecker::new(schema).unwrap().fits(&plan), may);
        for edge in edges.as_array().unwrap() {
            let names_edge =
                |message: &Arc<Message>| matches!(message.as_ref(), Message::System { content } if content.contains(&written(edge)));
            assert_eq!(asked.messages.iter().any(names_edge), may, "{edge}");
        }
    }
}

/// Formats JSON like the prompts.
fn written(value: &Value) -> String {
    value.to_string().replace("\":", "\": ").replace(",\"", ", \"")
}

#[tokio::test]
async fn images_go_with_the_goal_in_each_mode() {
    let image = Image::new("a.gif", b"GIF89a\x05\0\x03\0\0\0\0").unwrap();
    for mode in [PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent] {
        let model = ScriptedModel::new("m").on(When::any(), [Reply::text("no plan")]);
        let images = vec![image.clone()];
        drop(planner(&model).plan(&PlanRequest { images: images.clone(), ..request(mode) }).await);
        drop(planner(&model).replan(&ReplanRequest { images, ..replan_request() }, fits).await);
        for asked in model.requests() {
            let with_images: Vec<_> = asked.messages.iter().filter(|message| !message.images().is_empty()).collect();
            let [message] = with_images.as_slice() else { panic!("{mode}: {with_images:?}") };
            let Message::User { content, images } = message.as_ref() else { panic!("{mode}: {message:?}") };
            assert!(
                content.contains("\n\nImages of the goal: a.gif") && images.as_slice() == std::slice::from_ref(&image),
                "{mode}: {content}"
            );
        }
    }
}

#[tokio::test]
async fn plan_simple() {
    let requests = requests_for(PlanMode::Simple, vec![good()]).await;
    insta::assert_snapshot!(show(&requests[0]));
    assert!(tokens(&requests[0]) < 1_200, "{}", tokens(&requests[0]));
}

// Requirement: 19.6
#[tokio::test]
async fn a_goal_in_chinese_gets_a_plan_in_chinese() {
    const WISH: &str = "Goal: 统计所有 TODO 并写入 TODO.md\n\nWrite names, descriptions and criteria in the language of the goal.";
    for mode in [PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent] {
        let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [good()]);
        planner(&model).plan(&PlanRequest { goal: "统计所有 TODO 并写入 TODO.md".to_owned(), ..request(mode) }).await.unwrap();
        let asked = model.requests();
        let Message::User { content, .. } = asked[0].messages[1].as_ref() else { panic!("{:?}", asked[0].messages) };
        assert!(content.ends_with(WISH), "{mode}: {content}");
        let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [good()]);
        planner(&model).plan(&request(mode)).await.unwrap();
        assert!(!show(&model.requests()[0]).contains("in the language of the goal"), "one in English is as short as it was");
    }
}

// Requirement: 1.1
#[tokio::test]
async fn plan_with_what_is_known() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [good(), good(), good()]);
    let known = "Memories of earlier runs.\n\n[1] Count the TODOs\n> bash: grep -rn TODO\n";
    for mode in [PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent] {
        planner(&model).plan(&PlanRequest { recalled: known.to_owned(), ..request(mode) }).await.unwrap();
    }
    let requests = model.requests();
    let users = requests.iter().map(|request| match request.messages[1].as_ref() {
        Message::User { content, .. } => content.clone(),
        other => panic!("{other:?}"),
    });
    let users: Vec<String> = users.collect();
    assert!(users.windows(2).all(|pair| pair[0] == pair[1]), "each mode tells it: {users:#?}");
    insta::assert_snapshot!(users[0]);
}

// Requirement: 3.48
#[tokio::test]
async fn plan_with_the_example_of_a_similar_goal() {
    let model = ScriptedModel::new("m").on(When::schema("aime_plan"), [good()]);
    let planner = planner(&model).with_cache(Arc::new(Mutex::new(PlanCache::new(8))));
    for goal in ["Count the TODO comments and write a report to report.md", "Count the FIXME comments and write a report to list.md"] {
        planner.plan(&PlanRequest { goal: goal.to_owned(), ..request(PlanMode::Simple) }).await.unwrap();
    }
    let requests = model.requests();
    let [before, with] = requests.as_slice() else { panic!("{requests:?}") };
    assert!(!last_user_text(before).contains("similar goal"));
    insta::assert_snapshot!(last_user_text(with));
    assert!(tokens(with) - tokens(before) < 280, "{}", tokens(with) - tokens(before));
}

// Requirement: 3.48
#[test]
fn an_example_keeps_to_its_tokens() {
    let tasks: Vec<Value> = (0..15).map(|at| json!({"id": format!("t{at}"), "description": "word ".repeat(60)})).collect();
    let plan = crate::parse::plan_from_value(&json!({"goal": "goal ".repeat(100), "tasks": tasks})).unwrap().plan;
    for (bound, steps) in [(0, None), (30, None), (250, Some(7)), (10_000, Some(15))] {
        let example = crate::PlanExample::of(&plan, bound);
        assert_eq!(example.as_ref().map(|example| example.steps.len()), steps, "{bound}: {example:?}");
        let text = example.map(|example| format!("{}\n- {}", example.goal, example.steps.join("\n- "))).unwrap_or_default();
        assert!(estimate_tokens(&text) <= bound + 10, "{bound}: {}", estimate_tokens(&text));
    }
}

// Requirement: 1.3
#[tokio::test]
async fn plan_complex() {
    let requests = requests_for(PlanMode::Complex, vec![good()]).await;
    insta::assert_snapshot!(show(&requests[0]));
    assert!(tokens(&requests[0]) < 1_200, "{}", tokens(&requests[0]));
}

// Requirement: 3.53
#[tokio::test]
async fn plan_emergent() {
    let requests = requests_for(PlanMode::Emergent, vec![good()]).await;
    insta::assert_snapshot!(show(&requests[0]));
    assert!(tokens(&requests[0]) < 1_200, "{}", tokens(&requests[0]));
}

// Requirement: 3.55
#[tokio::test]
async fn an_update_of_a_plan_that_grows() {
    let model = small().on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "enough", "changes": []}))]);
    let found = format!("{}the end", "what was found here ".repeat(30));
    let names: Vec<String> = (1..=7).map(|at| format!("look-{at}")).collect();
    let tasks: Vec<Value> = names.iter().map(|name| json!({"id": name, "description": "Look there"})).collect();
    let ends: Vec<_> = names.iter().map(|name| (name.as_str(), TaskStatus::Completed, found.as_str())).collect();
    let state = ended("Find why the tests are slow", &json!({"tasks": tasks}).to_string(), &ends);
    let room = Some(crate::Room { used: 17, most: 20, must_merge: true });
    let update = TriggerReason::new(TriggerKind::Update, 20, "3 tasks were done");
    let request = ReplanRequest { room, tools: tools().into(), profiles: profiles(), ..ReplanRequest::of(&state, vec![update]) };
    let replanned = planner(&model).replan(&request, fits).await.unwrap();
    assert!(replanned.patch.changes.is_empty());
    insta::assert_snapshot!(show(&model.requests()[0]));
    let prompt = last_user_text(&model.requests()[0]);
    assert_eq!(prompt.matches(&found).count(), 7, "early and late results are told whole: {prompt}");
    let narrow = ModelLimits { small: true, context_tokens: 4_096, ..ModelLimits::default() };
    let model = ScriptedModel::new("m").with_limits(narrow).on(When::any(), [Reply::json(json!({"changes": []}))]);
    planner(&model).replan(&request, fits).await.unwrap();
    assert!(tokens(&model.requests()[0]) < 1_800, "{}", tokens(&model.requests()[0]));
}

#[tokio::test]
async fn plan_without_tools_and_profiles() {
    let model = small().on(When::schema("aime_plan"), [good()]);
    planner(&model).plan(&PlanRequest::new("Write a poem", PlanMode::Complex)).await.unwrap();
    insta::assert_snapshot!(show(&model.requests()[0]));
}

#[tokio::test]
async fn plan_asked_again() {
    let requests = requests_for(PlanMode::Simple, vec![cycle(), good()]).await;
    let (first, second) = (&requests[0].messages, &requests[1].messages);
    assert_eq!(&second[..first.len()], &first[..], "a request grows only at its end");
    let added = ChatRequest { messages: second[first.len()..].to_vec(), ..requests[1].clone() };
    insta::assert_snapshot!(show(&added).split("[format]").next().unwrap());
}

#[tokio::test]
async fn plan_simplified() {
    let requests = requests_for(PlanMode::Complex, vec![cycle(), cycle(), cycle(), good()]).await;
    insta::assert_snapshot!(show(&requests[3]));
}

// Requirement: 6.12, 6.13, 7.7
#[tokio::test]
async fn patch() {
    let model = small().on(When::schema("aime_patch"), [Reply::json(json!({"changes": []}))]);
    planner(&model).replan(&replan_request(), fits).await.unwrap();
    insta::assert_snapshot!(show(&model.requests()[0]));
    assert!(tokens(&model.requests()[0]) < 1_300, "{}", tokens(&model.requests()[0]));
}

// Requirement: 1.1
#[tokio::test]
async fn a_patch_and_an_update_are_told_what_is_known() {
    let model = ScriptedModel::new("m").on(When::schema("aime_patch"), [Reply::json(json!({"changes": []}))]);
    let known = "Memories of earlier runs.\n\n[1] Write the report\n> report.md is made by make\n".to_owned();
    let room = Some(crate::Room { used: 1, most: 20, must_merge: false });
    for request in
        [ReplanRequest { recalled: known.clone(), ..replan_request() }, ReplanRequest { recalled: known, room, ..replan_request() }]
    {
        planner(&model).replan(&request, fits).await.unwrap();
    }
    for request in model.requests() {
        let text = last_user_text(&request);
        assert!(text.starts_with("Memories of earlier runs.\n\n[1] Write the report\n> report.md is made by make\n\nGoal: "), "{text}");
    }
}

// Requirement: 3.49
#[test]
fn tool_lines_and_templates_are_made_once_for_all_plans() {
    let (settings, prompts) = (PlannerSettings::default(), Prompts::default());
    let tools = crate::PlanTools::from(tools());
    let lines = |goal: &str| {
        PlanRequest { tools: tools.clone(), ..PlanRequest::new(goal, PlanMode::Simple) }.context(
            &settings,
            (ModelLimits::default(), ModelClasses::default()),
            None,
        )
    };
    let (one, other) = (lines("one"), lines("other"));
    let patch = ReplanRequest { tools: tools.clone(), ..replan_request() }.context(ModelLimits::default(), ModelClasses::default());
    assert!(one.tools.len() == tools.len() && one.tools[0].parameters == "path, offset?, limit?", "{:?}", one.tools[0]);
    assert!(Arc::ptr_eq(&one.tools, &other.tools) && Arc::ptr_eq(&one.tools, &patch.tools), "a plan and a patch share the lines");

    let compiled = prompts.compiled();
    assert_eq!(compiled.len(), 22, "both parts of each prompt");
    for context in [&one, &other] {
        prompts.plan_simple(context).unwrap();
    }
    prompts.patch(&patch).unwrap();
    assert_eq!(prompts.compiled(), compiled, "no template is read or compiled again");
}

fn undecided() -> UndecidedGoal {
    UndecidedGoal { score: 1, category: "general".to_owned(), reasons: vec!["length 150 (+1)".into()] }
}

// Requirement: 2.9
#[tokio::test]
async fn route() {
    let model =
        ScriptedModel::new("m").on(When::schema("aime_route"), [Reply::json(json!({"reason": "two steps", "complexity": "Simple"}))]);
    let asked = ask_route(&model.built(), &Tiers::new(), &Prompts::default(), "Read it, then write it", undecided()).await.unwrap();
    assert_eq!((asked.routed.mode, asked.routed.by.as_str(), asked.routed.score), (PlanMode::Simple, "model", Some(1)));
    assert_eq!(asked.routed.reasons, ["length 150 (+1)", "m: two steps"]);
    insta::assert_snapshot!(show(&model.requests()[0]));
}

// Requirement: 2.10
#[tokio::test]
async fn without_an_answer_a_goal_is_complex() {
    for reply in [Reply::text("no idea"), Reply::json(json!({"complexity": "medium"})), Reply::status(401, "no key")] {
        let model = ScriptedModel::new("m").on(When::schema("aime_route"), [reply]);
        let asked = ask_route(&model.built(), &Tiers::new(), &Prompts::default(), "goal", undecided()).await.unwrap();
        assert_eq!(asked.routed.mode, PlanMode::Complex);
        assert!(asked.failure.is_some());
    }
}

#[tokio::test]
async fn verdict_request() {
    let answer = json!({"reason": "both hold", "passed": true, "score": 10, "feedback": "", "suggestions": "none"});
    let model = ScriptedModel::new("m").on(When::schema("aime_verdict"), [Reply::json(json!({"score": 1})), Reply::json(answer)]);
    let criteria = ["out.txt exists".to_owned(), "the tests pass".to_owned()];
    let judged = verdict(&model.built(), &Tiers::new(), &Prompts::default(), "Do it", &criteria, "write_file out.txt: ok").await.unwrap();
    assert!(judged.verdict.passed);
    assert!((judged.verdict.score - 1.0).abs() < f64::EPSILON);
    assert_eq!(judged.spent.requests, 2);
    insta::assert_snapshot!(show(&model.requests()[0]));
}
