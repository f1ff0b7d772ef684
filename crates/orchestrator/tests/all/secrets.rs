//! No secret reaches a child process, the journal, a prompt, an event or a result.

use std::{path::Path, sync::Arc};

use aime_llm::{
    ChatModel, ChatRequest, ModelError, ModelLimits, StreamPart,
    scripted::{Reply, ScriptedModel, When},
};
use aime_progress_management::RunStatus;
use futures::stream::BoxStream;
use serde_json::json;

use crate::bench::{Bench, control, done, plan};

const KEY: &str = "sk-very-secret-0123456789";
const PASSWORD: &str = "hunter2-of-the-proxy";

/// A model that holds a key, like the client of a server.
struct Keyed {
    key: String,
    inner: ScriptedModel,
}

impl ChatModel for Keyed {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn limits(&self) -> ModelLimits {
        self.inner.limits()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        assert_eq!(self.key, KEY);
        self.inner.stream(request)
    }
}

/// Collects every file below a folder, with its bytes.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

#[tokio::test]
async fn no_secret_gets_out() {
    let bash = |command: &str| Reply::call("bash", json!({ "command": command }));
    let inner = ScriptedModel::new("m")
        .on(When::tool("bash").and_turn(0), [bash("env; set; cat /proc/self/environ | tr '\\0' '\\n'; echo the end")])
        .on(When::tool("bash").and_turn(1), [done("this is the environment")])
        .on(When::plain(), [Reply::text("That was the environment.")]);
    let mut bench = Bench::new(inner.clone());
    bench.environment.extend(
        [
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("AIME_KEY", KEY.to_owned()),
            ("https_proxy", format!("http://me:{PASSWORD}@proxy:3128")),
            ("HARMLESS", "a-harmless-value".to_owned()),
        ]
        .map(|(name, value)| (name.into(), value.into())),
    );
    let tasks = json!([
        {"id": "look", "kind": "tool", "tool": "bash", "parameters": {"command": "env > env.txt; env"}},
        {"id": "act", "kind": "actor", "description": "Print the environment", "bundles": ["shell"], "dependencies": ["look"]},
    ]);
    let (control, mut events) = control();
    let orchestrator = bench.orchestrator_with(Some(Arc::new(Keyed { key: KEY.to_owned(), inner })));
    let result = orchestrator.run_with(bench.request("Show the environment", Some(plan(tasks))), control).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    drop(orchestrator);

    let mut places = vec![
        ("the result".to_owned(), serde_json::to_vec(&result).unwrap()),
        ("the requests".to_owned(), format!("{:?}", bench.model.requests()).into_bytes()),
        ("the state".to_owned(), serde_json::to_vec(&bench.state()).unwrap()),
    ];
    while let Some(event) = events.recv().await {
        places.push(("an event".to_owned(), serde_json::to_vec(&event.event).unwrap()));
    }
    files(bench.folder.path(), &mut places);
    for (place, bytes) in &places {
        for secret in [KEY, PASSWORD] {
            assert!(!holds(bytes, secret), "{secret} stands in {place}");
        }
    }
    // Counter-test: a text that is no secret does get everywhere.
    for wanted in ["the requests", "the state", "an event", "env.txt", "aime.db"] {
        let found = places.iter().any(|(place, bytes)| place.contains(wanted) && holds(bytes, "a-harmless-value"));
        assert!(found, "{wanted} should hold the harmless variable");
    }
}

/// A known secret is never stored, no matter if a person, a file or the model says it.
// Requirement: 14.4
#[tokio::test]
async fn a_known_secret_is_journaled_by_nobody() {
    const KNOWN: &str = "the-known-value-4711";
    let say = |text: &str| Reply::call("report_evidence", json!({"type": "discovery", "significance": "low", "content": text}));
    let inner = ScriptedModel::new("m")
        .on(When::tool("bash").and_turn(0), [Reply::call("bash", json!({"command": "cat notes.txt"}))])
        .on(When::tool("bash").and_turn(1), [say(&format!("found {KNOWN}"))])
        .on(When::tool("bash").and_turn(2), [Reply::call("write_file", json!({"path": "key.txt", "content": "sk-0123456789abcdefghij"}))])
        .on(When::tool("bash"), [done(&format!("it is {KNOWN}"))])
        .on(When::plain(), [Reply::text(format!("It is {KNOWN}."))]);
    let bench = Bench::new(inner.clone());
    std::fs::write(bench.path("notes.txt"), format!("{KNOWN} ghp_0123456789abcdef0123\n")).unwrap();
    let redactor = aime_redact::Redactor::new([KNOWN]);
    // The copies for an undo hold files unredacted.
    let builder = bench.builder().model(inner).redactor(redactor).undo(None).project(format!("Use {KNOWN}."));
    let orchestrator = builder.build().unwrap();
    let tasks = json!([{"id": "act", "kind": "actor", "description": "Print the file", "bundles": ["shell", "files"]}]);
    let (control, mut events) = control();
    let result = orchestrator.run_with(bench.request(&format!("Show {KNOWN}"), Some(plan(tasks))), control).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    drop(orchestrator);
    let own = std::fs::read_to_string(bench.path("key.txt")).unwrap();
    assert_eq!(own, "sk-0123456789abcdefghij", "what the model makes up itself is written as it stands");
    std::fs::remove_file(bench.path("notes.txt")).unwrap();
    std::fs::remove_file(bench.path("key.txt")).unwrap();
    let mut places = vec![
        ("the result".to_owned(), serde_json::to_vec(&result).unwrap()),
        ("the requests".to_owned(), format!("{:?}", bench.model.requests()).into_bytes()),
    ];
    while let Some(event) = events.recv().await {
        places.push(("an event".to_owned(), serde_json::to_vec(&event.event).unwrap()));
    }
    files(bench.folder.path(), &mut places);
    for (place, bytes) in &places {
        assert!(!holds(bytes, KNOWN) && !holds(bytes, "ghp_0123456789abcdef0123"), "a secret stands in {place}");
    }
    let marked = |wanted: &str| places.iter().any(|(place, bytes)| place.contains(wanted) && holds(bytes, aime_redact::REDACTED));
    assert!(["the result", "the requests", "an event", "aime.db"].into_iter().all(marked));
}
