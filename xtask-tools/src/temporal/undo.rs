//! Undoes the file changes of a run on an engine, as for a run in a folder.

use std::collections::BTreeMap;
use std::fs;

use aime_scripted_server::ScriptedServer;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, script, tool};
use crate::services::Server;

/// Returns a plan whose tasks change, add and remove files, by file tools and by a command, and revert one of these changes.
fn plan() -> Value {
    let write = |id: &str, path: &str, dependencies: &[&str]| json!({"id": id, "name": id, "kind": "tool", "tool": "write_file", "description": id, "parameters": {"path": path, "content": "by the run\n"}, "dependencies": dependencies});
    json!({"goal": "tidy up", "tasks": [
        write("page", "page.txt", &[]),
        tool("clean", "echo new > new.txt; rm gone.txt", &["page"]),
        write("draft", "drafts/one.txt", &["clean"]),
        {"id": "back", "name": "back", "kind": "tool", "tool": "undo_task", "description": "back", "parameters": {"task_id": "draft"}, "dependencies": ["draft"]},
    ]})
}

impl World {
    /// Returns the files of the run in a folder, and whether a certain subfolder exists.
    fn texts(&self, folder: &str) -> BTreeMap<&'static str, Option<String>> {
        let text = |name: &str| {
            let path = self.root.join(folder).join(name);
            if path.is_dir() { Some(String::new()) } else { fs::read_to_string(path).ok() }
        };
        ["page.txt", "new.txt", "gone.txt", "drafts", "drafts/one.txt"].map(|name| (name, text(name))).into()
    }

    /// Returns the file events of an ended run.
    fn file_events(&self, folder: &str, run: &str, on: &[&str]) -> Result<Vec<Value>> {
        let words = [&["runs", "events", run, "--output", "jsonl"][..], on].concat();
        let events = self.start(folder, &format!("{folder}-told"), "http://127.0.0.1:1", &words)?.printed(0)?;
        let mut events = events.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        events.retain(|event| event.get("type").is_some_and(|kind| kind == "file_changed"));
        for members in events.iter_mut().filter_map(Value::as_object_mut) {
            members.retain(|name, _| !["time", "seq", "tool"].contains(&name.as_str()));
        }
        Ok(events)
    }

    /// Two worker processes record the changes of one run. Undo and redo of the run, of one task and of everything give the same results as
    /// in one process. The same holds if the folder travels between hosts: the changes are undone in the folder where the run began.
    pub(super) fn files_are_put_back(&self) -> Result<String> {
        for folder in ["undo-here", "undo", "undo-client"] {
            let folder = self.root.join(folder);
            fs::write(folder.join("plan.json"), plan().to_string())?;
            fs::write(folder.join("page.txt"), "as it was\n")?;
            fs::write(folder.join("gone.txt"), "also\n")?;
        }
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let (url, engines) = (model.url(), ["undo-engine", "undo-engine-2"].map(|name| Server::start(&self.root.join(name))));
        let [engine, other] = engines;
        let (engine, other) = (engine?, other?);
        let (address, away) = (engine.address(), other.address());
        let blobs = self.root.join("undo-blobs").display().to_string();
        let travels = ["--git-handoff", "--blobs", &blobs];
        let host = |folder: &str, serves: &str| {
            self.start(folder, folder, &url, &[&["worker", "--engine", &away, "--serve", serves][..], &travels].concat())
        };
        let _workers = [
            self.worker("undo", "undo-files", &url, &address, "runs,llm,planner,tools.files")?,
            self.worker("undo", "undo-shell", &url, &address, "tools.shell")?,
            host("undo-host", "runs,llm,planner,tools.files")?,
            host("undo-second", "tools.shell")?,
        ];
        let go = ["run", "--plan", "plan.json", "--run-id", "tidied", "--approve", "all", "--unattended", "--output", "json"];
        let (on, away) = (format!("temporal://{address}"), format!("temporal://{away}"));
        let there = ["--engine", &on];
        let from_away = [&["--engine", away.as_str()][..], &travels].concat();
        let ways: [(&str, &[&str]); 3] = [("undo-here", &[]), ("undo", &there), ("undo-client", &from_away)];
        let before = self.texts("undo-here");
        for (folder, on) in ways {
            self.start(folder, &format!("{folder}-run"), &url, &[&go[..], on].concat())?.ended(0)?;
            let after = self.texts(folder);
            let made = ["page.txt", "new.txt", "drafts/one.txt"].map(|name| after.get(name).cloned().flatten());
            let expected = [Some("by the run\n"), Some("new\n"), None].map(|text| text.map(str::to_owned));
            ensure!(made == expected, "{folder}: the run came to {after:?}");
        }
        self.record(&engine, "files", "aime-run-tidied", "undo/.aime/blobs")?;
        let [here, others @ ..] = ways.map(|(folder, on)| Ok((self.shown(folder, "tidied", on)?, self.file_events(folder, "tidied", on)?)));
        let here: ((Value, Vec<String>), Vec<Value>) = here?;
        ensure!(here.1.len() == 2, "nothing is told of files: {here:#?}");
        for other in others {
            let other: Result<_> = other;
            let other = other?;
            let same = without_merges(&here.0) == without_merges(&other.0) && here.1.iter().all(|change| other.1.contains(change));
            ensure!(same, "what is told is another thing: {other:#?}\nwhere one process has {here:#?}");
        }
        let (undo, redo) = (&["undo", "tidied"][..], &["redo", "tidied"][..]);
        for words in [&["undo", "tidied", "clean"][..], undo, redo, redo, redo, undo] {
            let [here, others @ ..] = ways.map(|(folder, on)| {
                let words = [&["runs"][..], words, &["--yes", "--output", "json"], on].concat();
                let result = self.start(folder, &format!("{folder}-undo"), &url, &words)?.ended(0)?;
                Ok::<_, anyhow::Error>((result, self.texts(folder)))
            });
            let here = here?;
            for other in others {
                let other = other?;
                ensure!(here == other, "{words:?} comes to {other:#?}\nwhere one process comes to {here:#?}");
            }
            ensure!((here.1 == before) == (words == undo), "{words:?} leaves {here:?}");
        }
        for (folder, on) in [("undo-host", &there[..]), ("undo-second", &from_away)] {
            let words = [&["runs", "undo", "tidied", "--yes"][..], on].concat();
            self.start(folder, "undo-elsewhere", &url, &words)?.printed(2).context("a folder that keeps nothing of the run")?;
        }
        Ok("undo and redo of one task and of a whole run gave the files of one process, for changes of two workers and of two other hosts"
            .to_owned())
    }
}

/// Leaves out the merges of a folder that travels, and the changes of files that they report: a merge also sees those of commands.
fn without_merges((result, events): &(Value, Vec<String>)) -> (&Value, Vec<&String>) {
    let merges = ["changes_merged ", "file_changed "];
    (result, events.iter().filter(|event| !merges.iter().any(|kind| event.starts_with(kind))).collect())
}
