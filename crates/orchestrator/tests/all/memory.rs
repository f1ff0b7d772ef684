//! The lessons of one run reach the next, and no fault of memory fails a run.

use std::{fs, path::PathBuf, sync::Arc};

use aime_llm::{
    ChatRequest, Message,
    scripted::{Reply, ScriptedModel, When},
};
use aime_memory::{MemorySettings, MemoryStore, StoredMemory};
use aime_orchestrator::{RunMemory, RunMemorySettings, RunRequest, RunResult};
use aime_progress_management::{PlanMode, ProgressEvent, RecalledFrom, RunStatus};
use serde_json::json;

use crate::bench::{Bench, append, control, done};

const GOAL: &str = "Deploy the website to the harbour server 部署网站";

/// A model that plans one task, writes a line, and reports its lessons.
fn model() -> ScriptedModel {
    let planned = json!({"tasks": [
        {"id": "deploy", "description": "Deploy the website", "bundles": ["append"]},
        {"id": "look", "description": "Look whether it answers", "dependencies": ["deploy"]},
    ]});
    ScriptedModel::new("m")
        .on(When::schema("aime_plan"), [Reply::json(planned.clone()), Reply::json(planned)])
        .on(When::tools().and_contains("Deploy the website\n").and_turn(0), [append("deployed"), append("deployed")])
        .on(When::tools(), [done("The server only takes keys of type ed25519; the password is hunter2-of-june.")])
        .on(When::plain(), [Reply::text("It is deployed. 服务器只接受 ed25519 密钥。")])
}

struct Remembering {
    bench: Bench,
}

impl Remembering {
    fn new(model: ScriptedModel, change: impl FnOnce(&mut RunMemorySettings)) -> Self {
        let mut bench = Bench::new(model);
        let mut settings = RunMemorySettings::new(bench.path(".aime/memory.db"));
        settings.redactor = aime_redact::Redactor::new(["It-is-my-key-77"]);
        change(&mut settings);
        bench.memory = Some(Arc::new(RunMemory::new(settings)));
        Self { bench }
    }

    fn file(&self) -> PathBuf {
        self.bench.path(".aime/memory.db")
    }

    fn kept(&self) -> Vec<StoredMemory> {
        MemoryStore::open(self.file(), MemorySettings::default()).unwrap().list(10).unwrap()
    }

    /// Runs a goal, and returns its result with the events about memory.
    async fn run(&self, run: &str, goal: &str, mode: PlanMode) -> (RunResult, Vec<ProgressEvent>) {
        let mut request = RunRequest { run: run.parse().unwrap(), ..self.bench.request(goal, None) };
        request.settings.mode = Some(mode);
        let (control, mut events) = control();
        let result = self.bench.orchestrator().run_with(request, control).await.unwrap();
        let mut output = Vec::new();
        while let Some(event) = events.recv().await {
            if matches!(event.event, ProgressEvent::Recalled { .. } | ProgressEvent::MemoryFailed { .. }) {
                output.push(event.event);
            }
        }
        (result, output)
    }
}

fn words(request: &ChatRequest) -> String {
    let reply = request.messages.iter().map(|message| match message.as_ref() {
        Message::System { content }
        | Message::User { content, .. }
        | Message::Assistant { content, .. }
        | Message::Tool { content, .. } => content.as_str(),
    });
    reply.collect::<Vec<_>>().join("\n")
}

/// Returns true if a request is that of a planner or an actor.
fn uses_what_is_known(request: &ChatRequest) -> bool {
    !request.tools.is_empty() || words(request).contains("Working folder:")
}

// Requirement: 1.1, 1.9
#[tokio::test]
async fn what_a_run_has_learnt_the_next_one_is_told() {
    let world = Remembering::new(model(), |_| {});
    let (first, output) = world.run("first", GOAL, PlanMode::Complex).await;
    assert_eq!((first.status, output), (RunStatus::Completed, vec![]), "{first:#?}");
    let before = world.bench.model.requests();
    assert!(before.iter().all(|request| !words(request).contains("Memories of earlier runs")), "there were none");

    let kept = world.kept();
    let [StoredMemory { memory, recalled: 0 }] = kept.as_slice() else { panic!("{kept:#?}") };
    assert_eq!((memory.id.as_str(), memory.title.as_str(), memory.run.as_deref()), ("first", GOAL, Some("first")));
    insta::assert_snapshot!(memory.text);

    let goal = "把网站部署到 harbour 服务器";
    let (second, output) = world.run("second", goal, PlanMode::Complex).await;
    assert_eq!(second.status, RunStatus::Completed, "{second:#?}");
    let [ProgressEvent::Recalled { items, tokens, left_out: 0 }] = output.as_slice() else { panic!("{output:#?}") };
    assert_eq!((items[0].from, items[0].name.as_str(), items[0].title.as_str()), (RecalledFrom::Memory, "first", GOAL));
    assert!((1..=800).contains(tokens), "{tokens}");
    let after = world.bench.model.requests().split_off(before.len());
    let informed: Vec<bool> =
        after.iter().filter(|request| uses_what_is_known(request)).map(|request| words(request).contains("ed25519")).collect();
    assert!(informed.len() >= 3 && informed.iter().all(|informed| *informed), "the planner and each actor are told: {informed:?}");
    assert_eq!(world.kept().len(), 2);
}

// Requirement: 1.9
#[tokio::test]
async fn a_failure_is_remembered_with_what_failed() {
    let model = ScriptedModel::new("m").on(When::contains("The plan now:"), [Reply::text("I have no idea")]).on(
        When::tools(),
        [Reply::call("terminate", json!({"status": "failure", "message": "the harbour server refuses It-is-my-key-77"}))],
    );
    let world = Remembering::new(model, |_| {});
    let (result, _) = world.run("first", "Reach the harbour server", PlanMode::Direct).await;
    assert_eq!(result.status, RunStatus::Failed);
    let text = &world.kept()[0].memory.text;
    assert!(text.starts_with("The goal was not reached: ") && text.contains("What failed:\n- "), "{text}");
    assert!(text.contains("the harbour server refuses [redacted-secret]") && !text.contains("It-is-my-key-77"), "{text}");
}

// Requirement: 1.1
#[tokio::test]
async fn documents_are_told_by_their_place_and_indexed_once() {
    let world = Remembering::new(model(), |settings| {
        settings.knowledge = Some(settings.file.parent().unwrap().parent().unwrap().join("docs"));
    });
    fs::create_dir(world.bench.path("docs")).unwrap();
    fs::write(world.bench.path("docs/server.md"), "# Harbour server\n\n## Ports\n\nThe harbour server listens on port 8443.\n").unwrap();
    for run in ["first", "second"] {
        let (result, output) = world.run(run, GOAL, PlanMode::Direct).await;
        assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
        let [ProgressEvent::Recalled { items, .. }] = output.as_slice() else { panic!("{output:#?}") };
        let document = items.iter().find(|item| item.from == RecalledFrom::Document).unwrap();
        assert_eq!((document.name.as_str(), document.title.as_str()), ("server.md", "Harbour server › Ports"));
    }
    let requests = world.bench.model.requests();
    let actors = requests.iter().filter(|request| !request.tools.is_empty());
    assert!(
        actors.clone().count() >= 2 && actors.clone().all(|request| words(request).contains("> The harbour server listens on port 8443."))
    );
}

#[tokio::test]
async fn a_small_window_holds_less_of_it() {
    let store = |world: &Remembering| MemoryStore::open(world.file(), MemorySettings::default()).unwrap();
    let world = Remembering::new(model(), |settings| settings.prompt.memory_tokens = 60);
    let long = aime_memory::Memory {
        id: "long".to_owned(),
        at: 0,
        kind: aime_memory::MemoryKind::Fact,
        title: "The harbour server".to_owned(),
        text: "The harbour server of the website is slow. ".repeat(100),
        run: None,
        tags: Vec::new(),
    };
    store(&world).remember(&long).unwrap();
    let (_, output) = world.run("first", GOAL, PlanMode::Direct).await;
    let [ProgressEvent::Recalled { items, tokens, .. }] = output.as_slice() else { panic!("{output:#?}") };
    assert!(*tokens <= 60 && items[0].cut, "{output:#?}");
}

#[tokio::test]
async fn a_memory_that_cannot_be_used_is_told_once_and_the_run_goes_on() {
    let world = Remembering::new(model(), |_| {});
    fs::write(world.file(), "this is no memory of anybody, and longer than the header of a database file: ".repeat(20)).unwrap();
    let (result, output) = world.run("first", GOAL, PlanMode::Complex).await;
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    let [ProgressEvent::MemoryFailed { message }] = output.as_slice() else { panic!("{output:#?}") };
    let message = message.to_string();
    assert!(message.contains("memory.db") && message.contains("move it away"), "{message}");
}

#[tokio::test]
async fn a_knowledge_folder_that_is_not_there_leaves_the_memories() {
    let world = Remembering::new(model(), |settings| settings.knowledge = Some(settings.file.with_file_name("nowhere")));
    let (result, output) = world.run("first", GOAL, PlanMode::Direct).await;
    let [ProgressEvent::MemoryFailed { message }] = output.as_slice() else { panic!("{output:#?}") };
    assert!(message.to_string().contains("nowhere"), "{message}");
    assert_eq!((result.status, world.kept().len()), (RunStatus::Completed, 1));
    let (_, output) = world.run("second", "Deploy the website again to the harbour server", PlanMode::Direct).await;
    assert!(output.iter().any(|event| matches!(event, ProgressEvent::Recalled { .. })), "{output:#?}");
}

#[tokio::test]
async fn a_run_without_a_model_leaves_memory_alone() {
    let world = Remembering::new(ScriptedModel::new("m"), |_| {});
    let plan = crate::bench::plan(json!([{"id": "a", "kind": "tool", "tool": "append", "parameters": {"line": "one"}}]));
    let result = world.bench.orchestrator_with(None).run(world.bench.request(GOAL, Some(plan))).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert!(!world.file().exists());
}
