//! Forks a run from a plan version that was made while actors were running.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, gate, tool};
use crate::services::Server;

/// Command that fails after both calls of the actors have started.
const FAILS: &str = "for i in $(seq 900); do [ -e at-act ] && [ -e at-part ] && break; sleep 0.1; done; exit 1";

impl World {
    /// Compares one process with an engine. The actors of the fork, including a delegated one, continue from their state at that version,
    /// and a call that was under way then is in doubt.
    pub(super) fn a_fork_with_actors_at_work(&self) -> Result<String> {
        let actor = |id: &str, what: &str| json!({"id": id, "name": id, "kind": "actor", "description": what});
        let tasks = [actor("acts", "THE-ACT"), actor("hands", "THE-WHOLE"), tool("fails", FAILS, &[])];
        for folder in ["fork-here", "fork"] {
            let folder = self.root.join(folder);
            fs::write(folder.join("plan.json"), json!({"goal": "three things", "tasks": tasks}).to_string())?;
            // The calls of the actors are under way at once, and see the files of each other.
            fs::write(
                folder.join("aime.toml"),
                "[run]\nisolation = \"shared\"\n[planning]\nroute = \"rules\"\n[triggers]\nmax_retries = 0\n",
            )?;
        }
        let model = || ScriptedServer::try_start(at_work(), 0).context("the scripted model does not start");
        let here = self.forked_in("fork-here", &model()?, &[])?;
        let (engine, model) = (Server::start(&self.root.join("fork-engine"))?, model()?);
        let _worker = self.start("fork", "fork-worker", &model.url(), &["worker", "--engine", &engine.address()])?;
        let there = self.forked_in("fork", &model, &["--engine", &format!("temporal://{}", engine.address())])?;
        ensure!(here == there, "the fork is another: {there:#?}\nwhere one process has {here:#?}");
        self.record(&engine, "forked", "aime-run-again", "fork/.aime/blobs")?;
        self.record(&engine, "taken-up", "aime-run-again/acts/1", "fork/.aime/blobs")?;
        Ok("a fork continued with the work that its actors had done by then, and repeated none of their calls".to_owned())
    }

    /// Returns the display of the fork, its events, and the number of model requests.
    fn forked_in(&self, folder: &str, model: &ScriptedServer, on: &[&str]) -> Result<(Value, Vec<String>, usize)> {
        let (url, place) = (model.url(), self.root.join(folder));
        let aime = |name: &str, words: &[&str]| self.start(folder, &format!("{folder}-{name}"), &url, &[words, on].concat());
        let run = ["run", "--plan", "plan.json", "--run-id", "first", "--approve", "all", "--unattended", "--output", "json"];
        let run = aime("run", &run)?;
        self.appears(&format!("{folder}/more"))?;
        for name in ["act", "part"] {
            fs::write(place.join(format!("go-{name}")), "")?;
        }
        run.ended(0)?;
        aime("fork", &["runs", "fork", "first", "--at", "2", "--run-id", "again"])?.printed(0)?;
        aime("again", &["resume", "again", "--output", "json"])?.ended(0)?;
        ensure!(model.unmatched().is_empty(), "the model was asked other things: {:?}", model.unmatched());
        let (shown, mut events) = self.shown(folder, "again", on)?;
        let mut log: Vec<String> = fs::read_to_string(place.join("log"))?.lines().map(str::to_owned).collect();
        log.sort();
        let once = ["act", "act ended", "acts", "part", "part ended", "parts"];
        ensure!(log == once, "calls were repeated, or lost: {log:?}");
        let more = fs::read_to_string(place.join("more"))?;
        ensure!(more == "more\nmore\n", "what came after the version was not done by both: {more:?}");
        // Concurrent events come in any order.
        events.sort();
        Ok((shown, events, model.requests().len()))
    }
}

/// Returns the script for the actors and the planner.
fn at_work() -> Script {
    let by = |name: &'static str| move || When::tools().and_contains(name);
    let (whole, part, act) = (by("THE-WHOLE"), by("THE-PART"), by("THE-ACT"));
    let done = |message: &str| Reply::call("terminate", json!({"status": "success", "message": message}));
    let writes = |who: &str| Reply::call("bash", json!({"command": format!("echo {who} >> log")}));
    let waits = |who: &str| Reply::call("bash", json!({"command": gate(who), "timeout_seconds": 110}));
    let mut more = tool("more", "echo more >> more", &[]);
    if let Some(task) = more.as_object_mut() {
        task.remove("dependencies");
    }
    let patch = json!({"reasoning": "another way", "changes": [{"op": "add_task", "task": more, "replaces": ["fails"]}]});
    Script::new()
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .on(whole().and_turn(0), [Reply::call("delegate_task", json!({"description": "THE-PART", "use_actor_factory": false}))])
        .on(whole(), [done("whole and part")])
        .on(part().and_turn(0), [writes("parts")])
        .on(part().and_turn(1), [waits("part")])
        .on(part(), [done("the part")])
        .on(act().and_turn(0), [writes("acts")])
        .on(act().and_turn(1), [waits("act")])
        .on(act(), [done("it has acted")])
        .on(When::plain(), [Reply::text("Done.")])
}
