use std::sync::{Mutex, PoisonError};

use std::sync::Arc;

use aime_sandbox::{ConfinedFolder, clean_environment};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::{AskPerson, RuleLists, builtin};

/// A folder with a person who gives these answers, and the questions that they got.
struct World {
    folder: TempDir,
    asked: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap(), asked: Arc::default() };
        std::fs::write(world.folder.path().join("a.txt"), "one\n").unwrap();
        world
    }

    fn context(&self) -> ToolContext {
        let environment = clean_environment([("PATH".into(), "/usr/bin:/bin".into())], &[]);
        ToolContext::new(ConfinedFolder::open(self.folder.path()).unwrap(), environment)
    }

    fn answered(&self, answer: &'static str) -> ToolContext {
        let asked = Arc::clone(&self.asked);
        self.context().with_person(AskPerson::new(move |question| {
            asked.lock().unwrap_or_else(PoisonError::into_inner).push(question);
            Box::pin(std::future::ready(Some(answer.to_owned())))
        }))
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

async fn call(session: &mut ToolSession, tool: &str, parameters: Value) -> Result<String, ToolError> {
    session.call(tool, &parameters.to_string()).await.map(|output| output.text)
}

fn write(path: &str) -> Value {
    json!({"path": path, "content": "x"})
}

#[tokio::test]
async fn nothing_is_done_without_the_consent_it_needs() {
    let world = World::new();
    let mut alone = ToolSession::new(builtin(), world.context(), Approval::Ask);
    assert!(matches!(call(&mut alone, "write_file", write("b")).await, Err(ToolError::Denied(_))));
    let mut refused = ToolSession::new(builtin(), world.answered("no"), Approval::Ask);
    let refusal = call(&mut refused, "write_file", write("b")).await.unwrap_err();
    assert_eq!(refusal, ToolError::Denied("the user refused: no".to_owned()));
    assert_eq!((world.asked(), world.folder.path().join("b").exists()), (1, false));
}

#[tokio::test]
async fn what_is_always_allowed_is_asked_once() {
    let world = World::new();
    let mut session = ToolSession::new(builtin(), world.answered("always"), Approval::Ask);
    for path in ["b", "c"] {
        call(&mut session, "write_file", write(path)).await.unwrap();
    }
    assert_eq!(world.asked(), 1);
    assert_eq!(session.consents().iter().map(ToString::to_string).collect::<Vec<_>>(), ["write_file"]);
}

#[tokio::test]
async fn a_call_that_does_not_fit_asks_nobody() {
    let world = World::new();
    let mut session = ToolSession::new(builtin(), world.answered("yes"), Approval::Ask);
    assert!(matches!(call(&mut session, "write_file", json!({"file": "b"})).await, Err(ToolError::InvalidParameters(_))));
    assert!(matches!(call(&mut session, "fly", json!({})).await, Err(ToolError::Unknown(_))));
    assert!(matches!(session.call("write_file", "{\"path\": \"b").await, Err(ToolError::InvalidParameters(_))));
    assert_eq!(world.asked(), 0);
}

#[tokio::test]
async fn rules_deny_whoever_consents() {
    let world = World::new();
    let deny = vec!["write_file(b)".parse().unwrap()];
    let context = world.answered("yes").with_rules(RuleLists { deny, ..RuleLists::default() });
    let absolute = world.folder.path().canonicalize().unwrap().join("b").display().to_string();
    let mut session = ToolSession::new(builtin(), context, Approval::All);
    for path in ["b", absolute.as_str(), "./x/../b"] {
        assert!(matches!(call(&mut session, "write_file", write(path)).await, Err(ToolError::Denied(_))), "{path}");
    }
    assert_eq!(world.asked(), 0);
}

#[tokio::test]
async fn what_was_read_is_kept_in_mind() {
    let world = World::new();
    let mut session = ToolSession::new(builtin(), world.answered("yes"), Approval::All);
    call(&mut session, "read_file", json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(session.origins(), [Origin::Files]);
    call(&mut session, "read_file", json!({"path": ".env"})).await.unwrap_err();
    assert_eq!(world.asked(), 1, "after text from others, a file of keys is asked about");
    let mut vouched = ToolSession::new(builtin(), world.answered("yes"), Approval::All).with_trusted_files();
    call(&mut vouched, "read_file", json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(vouched.origins(), []);
}
