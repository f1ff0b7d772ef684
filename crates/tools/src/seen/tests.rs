use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::{Arc, Mutex},
};

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ChangeAuthor, SeenFiles, WriteGuard, hash_of};
use crate::{ToolContext, ToolError, ToolOutput, ToolRegistry, builtin};

const FILE: &str = "notes.txt";

/// Several actors and a person in one folder, with a record of the authors of changes.
struct World {
    folder: TempDir,
    tools: ToolRegistry,
    seen: BTreeMap<String, SeenFiles>,
    record: Arc<Mutex<Vec<(String, String)>>>,
}

impl World {
    fn new(content: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), content).unwrap();
        Self { folder, tools: builtin(), seen: BTreeMap::new(), record: Arc::default() }
    }

    fn content(&self) -> String {
        fs::read_to_string(self.folder.path().join(FILE)).unwrap_or_default()
    }

    fn changed(&self, by: &str) {
        self.record.lock().unwrap().push((by.to_owned(), hash_of(self.content().as_bytes())));
    }

    fn person_writes(&self, content: &str) {
        fs::write(self.folder.path().join(FILE), content).unwrap();
        self.changed("ann");
    }

    async fn call(&mut self, actor: &str, tool: &str, parameters: Value) -> Result<ToolOutput, ToolError> {
        let seen = self.seen.entry(actor.to_owned()).or_default();
        let (record, me, before) = (Arc::clone(&self.record), actor.to_owned(), fs::read(self.folder.path().join(FILE)).ok());
        let guard = WriteGuard::new(actor, seen.clone()).looking_up(move |_, hash| {
            let record = record.lock().unwrap();
            let known = hash.and_then(|hash| record.iter().rposition(|(_, after)| after == hash)).map_or(0, |at| at + 1);
            let other = record.iter().skip(known).rfind(|(by, _)| *by != me);
            other.map_or(ChangeAuthor::Nobody, |(by, _)| ChangeAuthor::By(format!("task `{by}`")))
        });
        let context = ToolContext::in_folder(self.folder.path()).unwrap().with_guard(guard);
        let output = self.tools.call_with_consent(tool, parameters.as_object().unwrap().clone(), &context).await?;
        for file in output.seen.clone() {
            match file.hash {
                Some(hash) => drop(seen.insert(file.path, hash)),
                None => drop(seen.remove(&file.path)),
            }
        }
        if fs::read(self.folder.path().join(FILE)).ok() != before {
            self.changed(actor);
        }
        Ok(output)
    }

    async fn text(&mut self, actor: &str, tool: &str, parameters: Value) -> String {
        self.call(actor, tool, parameters).await.map_or_else(|error| error.to_string(), |output| output.text)
    }
}

fn write(content: &str) -> Value {
    json!({"path": FILE, "content": content})
}

fn edit(old: &str, new: &str) -> Value {
    json!({"path": FILE, "old_text": old, "new_text": new})
}

fn patch(text: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{text}\n*** End Patch")})
}

// Requirement: 8.32
#[tokio::test]
async fn write_over_an_unseen_change_is_refused() {
    let mut world = World::new("one\ntwo\n");
    world.call("a", "read_file", json!({"path": FILE})).await.unwrap();
    world.call("b", "edit_file", edit("two", "2")).await.unwrap();
    let refused = "not written: `notes.txt` was changed by task `b` since you last read it. Read it again, and keep that change: best change only your part of it, with edit_file";
    assert_eq!(world.text("a", "write_file", write("mine\n")).await, refused);
    assert_eq!(world.text("a", "write_file", write("mine\n")).await, refused, "asking twice changes nothing");
    assert_eq!(world.content(), "one\n2\n");
    world.call("a", "read_file", json!({"path": "./notes.txt"})).await.unwrap();
    world.call("a", "write_file", write("mine\n")).await.unwrap();
    world.call("a", "write_file", write("mine again\n")).await.unwrap();
    assert_eq!(world.content(), "mine again\n");
}

#[tokio::test]
async fn only_unseen_changes_of_others_are_guarded() {
    let mut world = World::new("one\n");
    world.call("a", "write_file", write("a's\n")).await.unwrap();
    let refused = world.text("b", "write_file", write("b's\n")).await;
    assert!(refused.starts_with("not written: `notes.txt` was changed by task `a` in this run, and you have not read it."), "{refused}");
    world.call("b", "write_file", write("a's\n")).await.unwrap();
    world.person_writes("ann's\n");
    let refused = world.text("a", "apply_patch", patch("*** Delete File: notes.txt")).await;
    assert!(refused.starts_with("not deleted: `notes.txt` was changed by task `ann` since you last read it."), "{refused}");
    world.call("a", "read_file", json!({"path": FILE})).await.unwrap();
    world.call("a", "apply_patch", patch("*** Delete File: notes.txt")).await.unwrap();
    world.call("b", "write_file", write("there is nothing to lose\n")).await.unwrap();
}

#[tokio::test]
async fn an_edit_that_matches_keeps_the_other_change() {
    let mut world = World::new("one\ntwo\nthree\n");
    for actor in ["a", "b"] {
        world.call(actor, "read_file", json!({"path": FILE})).await.unwrap();
    }
    world.call("b", "edit_file", edit("three", "3")).await.unwrap();
    let note = "[`notes.txt` was changed by task `b` since you last read it; this edit was made on top of that change, which is kept]";
    let text = world.text("a", "edit_file", edit("one", "1")).await;
    assert!(text.contains(note), "{text}");
    let text = world.text("a", "apply_patch", patch("*** Update File: notes.txt\n@@\n-two\n+2")).await;
    assert!(text.contains(note), "{text}");
    assert_eq!(world.content(), "1\n2\n3\n");
    // An edit shows the actor only its own part.
    assert!(world.call("a", "write_file", write("mine\n")).await.is_err());
    let text = world.text("a", "edit_file", edit("one", "uno")).await;
    assert!(text.contains("old_text"), "an edit of text that is gone fails: {text}");
}

#[derive(Debug, Clone)]
enum Step {
    Read(usize),
    Write(usize),
    Edit(usize),
    Patch(usize),
    Person,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let actor = 0..3_usize;
    let step = prop_oneof![
        actor.clone().prop_map(Step::Read),
        actor.clone().prop_map(Step::Write),
        actor.clone().prop_map(Step::Edit),
        actor.prop_map(Step::Patch),
        Just(Step::Person),
    ];
    proptest::collection::vec(step, 1..24)
}

fn words(content: &str) -> BTreeSet<String> {
    content.lines().map(str::to_owned).collect()
}

/// Runs the steps; each change adds a unique word. Returns a word that an author removed without having seen it.
async fn word_lost_unseen(steps: Vec<Step>) -> Option<(String, Step)> {
    let mut world = World::new("begin\n");
    let mut known: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (number, step) in steps.into_iter().enumerate() {
        let (word, before) = (format!("word-{number}"), world.content());
        let actor = match &step {
            Step::Read(actor) | Step::Write(actor) | Step::Edit(actor) | Step::Patch(actor) => *actor,
            Step::Person => {
                world.person_writes(&format!("{before}{word}\n"));
                continue;
            }
        };
        let name = format!("actor-{actor}");
        let known = known.entry(actor).or_insert_with(|| words("begin\n"));
        let done = match &step {
            Step::Read(_) => {
                known.extend(words(&before));
                world.call(&name, "read_file", json!({"path": FILE})).await
            }
            Step::Write(_) => world.call(&name, "write_file", write(&format!("{word}\n"))).await,
            Step::Edit(_) => world.call(&name, "edit_file", edit("", &format!("{word}\n"))).await,
            Step::Patch(_) => {
                let first = before.lines().next().unwrap_or_default();
                world.call(&name, "apply_patch", patch(&format!("*** Update File: {FILE}\n@@\n {first}\n+{word}"))).await
            }
            Step::Person => continue,
        };
        let after = words(&world.content());
        assert!(done.is_ok() || after == words(&before), "a call that fails changes nothing");
        if let Some(lost) = words(&before).difference(&after).find(|lost| !known.contains(*lost)) {
            return Some((lost.clone(), step));
        }
        known.insert(word);
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    // Requirement: 8.32
    #[test]
    fn no_unseen_change_is_overwritten(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        prop_assert_eq!(runtime.block_on(word_lost_unseen(steps)).map(|(word, _)| word), None);
    }
}
