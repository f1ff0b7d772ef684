//! Two hosts change one file concurrently without retries, so the plan must change.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, tool, until};
use crate::services::Server;

const HOSTS: [&str; 2] = ["conflict-1", "conflict-2"];
/// Error of a task whose changes were left out.
const TOLD: &str = "conflicts with what others did meanwhile: page";

/// Returns a command that waits for a file, removes its signal files, and writes its name to the page.
fn page(name: &str) -> String {
    format!(
        "touch at-{name}; for i in $(seq 900); do [ -e go-{name} ] && break; sleep 0.1; done; rm -f at-{name} go-{name}; echo {name} > page"
    )
}

impl World {
    /// The later of the two tasks fails. The planner's request names the files in conflict, and its patch is carried out on the work of the
    /// other task.
    pub(super) fn a_conflict_is_evidence(&self) -> Result<String> {
        let blobs = self.root.join("conflict-blobs").display().to_string();
        let (client, tasks) = (self.root.join("conflict-client"), ["first", "second"].map(|name| tool(name, &page(name), &[])));
        fs::write(client.join("plan.json"), json!({"goal": "a page", "tasks": tasks}).to_string())?;
        fs::write(client.join("aime.toml"), "[triggers]\nmax_retries = 0\n")?;
        let mut another = tool("both", "echo and second >> page", &[]);
        if let Some(task) = another.as_object_mut() {
            task.remove("dependencies");
        }
        let patch = json!({"reasoning": "on top of it", "changes": [{"op": "add_task", "task": another, "replaces": ["second"]}]});
        let script = Script::new().on(When::schema("aime_patch"), [Reply::json(patch)]).on(When::plain(), [Reply::text("Done.")]);
        let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&self.root.join("conflict-engine"))?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let serve = |folder: &str, serves: &str| {
            let arguments = ["worker", "--temporal", &address, "--serve", serves, "--git-handoff", "--blobs", &blobs];
            self.start(folder, &format!("{folder}-worker"), &url, &arguments)
        };
        let tools = "tools.files,tools.shell";
        let _workers = [serve("conflict-drives", "runs,llm,planner")?, serve(HOSTS[0], tools)?, serve(HOSTS[1], tools)?];
        let on = ["--engine", &on, "--git-handoff", "--blobs", &blobs];
        let run = ["run", "--plan", "plan.json", "--run-id", "conflict", "--approve", "all", "--unattended", "--output", "json"];
        let client_of_it = self.start("conflict-client", "conflict-run", &url, &[&run[..], &on].concat())?;

        let mut at = [None; 2];
        until("both are at work, each on a host", || {
            at = ["first", "second"].map(|name| HOSTS.into_iter().find(|host| self.root.join(host).join(format!("at-{name}")).exists()));
            Ok(at.iter().all(Option::is_some))
        })?;
        let [first, second] = at.map(Option::unwrap_or_default);
        ensure!(first != second, "both are on {first}");
        fs::write(self.root.join(first).join("go-first"), "")?;
        until("the first has ended", || {
            let events = [&["runs", "events", "conflict", "--output", "jsonl"][..], &on[..2]].concat();
            let events = self.start("conflict-client", "conflict-events", &url, &events)?.printed(0)?;
            let ended = ["task_concluded", "\"first\""];
            Ok(events.lines().any(|event| ended.iter().all(|words| event.contains(words))))
        })?;
        fs::write(self.root.join(second).join("go-second"), "")?;
        let result = client_of_it.ended(0)?;
        self.record(&engine, "conflict", "aime-run-conflict", "conflict-blobs")?;
        let events = [&["runs", "events", "conflict", "--output", "jsonl"][..], &on].concat();
        let events = self.start("conflict-client", "conflict-told", &url, &events)?.printed(0)?;
        ensure!(events.lines().any(|event| event.contains("evidence_added") && event.contains(TOLD)), "no evidence tells of it: {events}");

        let asked = model.requests().iter().filter(|request| request.to_string().contains("aime_patch")).cloned().collect::<Vec<_>>();
        ensure!(asked.len() == 1, "the planner was asked {} times: {result:#}", asked.len());
        ensure!(asked.iter().all(|request| request.to_string().contains(TOLD)), "the planner is not told of the conflict: {asked:#?}");
        ensure!(result.pointer("/replans").and_then(Value::as_u64) == Some(1), "the plan did not change: {result:#}");
        let page = fs::read_to_string(client.join("page"))?;
        ensure!(page == "first\nand second\n", "the page is not of both: {page:?}");
        Ok("a conflict that was not tried again was told to the planner with its file, whose patch went on from the work of the other"
            .to_owned())
    }
}
