//! Upgrades workers in the middle of a run.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use aime_scripted_server::ScriptedServer;
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{World, compared, gate, script, tool};
use crate::services::Server;

impl World {
    /// Workers of one version begin a run, and those of another end it.
    pub(super) fn workers_are_upgraded(&self, before: Option<&Path>) -> Result<String> {
        let plan = json!({"goal": "three things", "tasks": [
            tool("first", &gate("first"), &[]),
            {"id": "second", "name": "second", "kind": "actor", "description": "act", "dependencies": ["first"]},
            tool("third", "echo third >> log", &["second"]),
        ]});
        for folder in ["new-here", "new"] {
            fs::write(self.root.join(folder).join("plan.json"), plan.to_string())?;
        }
        fs::write(self.root.join("new-here/go-first"), "")?;
        let go = ["run", "--plan", "plan.json", "--run-id", "new", "--approve", "all", "--unattended", "--output", "json"];
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let embedded = self.start("new-here", "new-here", &model.url(), &go)?.ended(0)?;

        let old = self.of_version(match before {
            Some(program) => program.canonicalize().with_context(|| format!("there is no {}", program.display()))?,
            None => self.rebuilt()?,
        });
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&self.root.join("new"))?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let drives = old.worker("new", "new-old-drives", &url, &address, "runs,llm,planner,tools.files")?;
        let shell = old.worker("new", "new-old-shell", &url, &address, "tools.shell")?;
        let client = old.start("new", "new-client", &url, &[&go[..], &["--engine", &on]].concat())?;
        self.appears("new/at-first")?;
        let _drives = self.worker("new", "new-new-drives", &url, &address, "runs,llm,planner,tools.files")?;
        drives.terminate()?;
        drives.printed(0).context("a worker of the old version")?;
        let _shell = self.worker("new", "new-new-shell", &url, &address, "tools.shell")?;
        // The worker ends its present work and accepts nothing new.
        shell.terminate()?;
        fs::write(self.root.join("new/go-first"), "")?;
        shell.printed(0).context("the worker of the old version with a call under way")?;
        let there = client.ended(0)?;
        ensure!(
            compared(embedded.clone()) == compared(there.clone()),
            "the result is another: {there:#}\nwhere one process gives {embedded:#}"
        );
        let log = fs::read_to_string(self.root.join("new/log"))?;
        ensure!(log == "first\nfirst ended\nactor\nthird\n", "calls were repeated, or lost: {log:?}");
        let (here, seen) = (self.shown("new-here", "new", &[])?, self.shown("new", "new", &["--engine", &on])?);
        ensure!(here == seen, "`aime runs` shows other things: {seen:#?}\nwhere one process has {here:#?}");
        ensure!(seen.0 == compared(there), "`aime runs show` has another result than the run");
        let builds = engine.builds("aime-run-new")?;
        ensure!(builds.len() == 2, "the run was driven by {builds:?}, and not by two versions");
        let what = if before.is_some() { "an earlier version" } else { "one build to another" };
        Ok(format!("all workers were upgraded from {what} in the middle of a run; `aime runs` shows the same as for a run in a folder"))
    }

    /// Returns the same program as another build: the build id is a checksum of its bytes, and appended bytes are never read.
    fn rebuilt(&self) -> Result<PathBuf> {
        let copy = self.root.join("aime-before");
        fs::copy(&self.program, &copy)?;
        fs::OpenOptions::new().append(true).open(&copy)?.write_all(b"before")?;
        Ok(copy)
    }
}
