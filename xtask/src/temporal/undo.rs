//! What a run of an engine did to files is put back, as that of a run in a folder is.

use std::collections::BTreeMap;
use std::fs;

use aime_scripted_server::ScriptedServer;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, script, tool};
use crate::services::Server;

/// The plan's tasks change, add and remove files, through the folder's handle and by a command, and take back what one of them did.
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
    /// The files of a folder that the run knows of.
    fn texts(&self, folder: &str) -> BTreeMap<&'static str, Option<String>> {
        let text = |name: &str| fs::read_to_string(self.root.join(folder).join(name)).ok();
        ["page.txt", "new.txt", "gone.txt", "drafts/one.txt"].map(|name| (name, text(name))).into()
    }

    /// Two workers, each a process, keep what one run does; undo and redo of it, of one task and of all, come to what they come to in one process.
    /// Where the folder goes from host to host it is put back in the one where the run began.
    pub(super) fn files_are_put_back(&self) -> Result<String> {
        for folder in ["undo-here", "undo", "undo-client"] {
            let folder = self.root.join(folder);
            fs::write(folder.join("plan.json"), plan().to_string())?;
            fs::write(folder.join("page.txt"), "as it was\n")?;
            fs::write(folder.join("gone.txt"), "also\n")?;
        }
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&self.root.join("undo-engine"))?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let _workers = [
            self.worker("undo", "undo-files", &url, &address, "runs,llm,planner,tools.files")?,
            self.worker("undo", "undo-shell", &url, &address, "tools.shell")?,
        ];
        let go = ["run", "--plan", "plan.json", "--run-id", "tidied", "--approve", "all", "--unattended", "--output", "json"];
        let ways: [(&str, &[&str]); 2] = [("undo-here", &[]), ("undo", &["--on", &on])];
        let before = self.texts("undo-here");
        for (folder, on) in ways {
            self.start(folder, &format!("{folder}-run"), &url, &[&go[..], on].concat())?.ended(0)?;
            let after = self.texts(folder);
            let made = ["page.txt", "new.txt", "drafts/one.txt"].map(|name| after.get(name).cloned().flatten());
            let expected = [Some("by the run\n"), Some("new\n"), None].map(|text| text.map(str::to_owned));
            ensure!(made == expected, "{folder}: the run came to {after:?}");
        }
        self.record(&engine, "files", "aime-run-tidied", "undo/.aime/blobs")?;
        let [here, there] = ways.map(|(folder, on)| self.shown(folder, "tidied", on));
        let (here, there) = (here?, there?);
        ensure!(here.1 == there.1, "the events are others: {:#?}\nwhere one process has {:#?}", there.1, here.1);
        ensure!(there.1.iter().any(|event| event.starts_with("noted")), "nothing is told of files: {:#?}", there.1);
        for words in [&["undo", "tidied", "clean"][..], &["undo", "tidied"], &["redo", "tidied"], &["redo", "tidied"]] {
            let [here, there] = ways.map(|(folder, on)| {
                let words = [&["runs"][..], words, &["--yes", "--output", "json"], on].concat();
                self.start(folder, &format!("{folder}-undo"), &url, &words)?.ended(0)
            });
            let (here, there) = (here?, there?);
            ensure!(here == there, "{words:?} comes to {there:#}\nwhere one process comes to {here:#}");
            let [here, there] = ["undo-here", "undo"].map(|folder| self.texts(folder));
            ensure!(here == there, "{words:?} leaves {there:?}, and not {here:?}");
            ensure!((here == before) == (words == ["undo", "tidied"]), "{words:?} leaves {here:?}");
        }

        let blobs = self.root.join("undo-blobs").display().to_string();
        let travels = ["--trees", "--blobs", &blobs];
        let serves = ["worker", "--temporal", &address];
        let _host = self.start("undo-host", "undo-host", &url, &[&serves[..], &travels].concat())?;
        let on = [&["--on", on.as_str()][..], &travels].concat();
        let run = ["run", "--plan", "plan.json", "--run-id", "brought", "--approve", "all", "--unattended", "--output", "json"];
        let plan = fs::read_to_string(self.root.join("undo-client/plan.json"))?.replace("\"undo_task\"", "\"list_dir\"");
        fs::write(self.root.join("undo-client/plan.json"), plan.replace("{\"task_id\":\"draft\"}", "{\"path\":\".\"}"))?;
        self.start("undo-client", "undo-client-run", &url, &[&run[..], &on].concat())?.ended(0)?;
        ensure!(self.texts("undo-client") != before, "the run brought nothing");
        let undo = |folder: &str, name: &str, words: &[&str], code: i32| {
            let words = [&["runs"][..], words, &["--yes"], &on].concat();
            self.start(folder, name, &url, &words)?.printed(code)
        };
        undo("undo-client", "undo-one", &["undo", "brought", "clean"], 2)?;
        undo("undo-here", "undo-elsewhere", &["undo", "brought"], 2)?;
        undo("undo-client", "undo-brought", &["undo", "brought"], 0)?;
        ensure!(self.texts("undo-client") == before, "it is not as it was: {:?}", self.texts("undo-client"));
        Ok("what a run did to files was kept by two workers, and put back and done again, of one task and of all, as in one process; what came from \
            another host was put back in the folder where the run began"
            .to_owned())
    }
}
