//! Two hosts change one file at once: the plan changes where the tasks call tools, and an actor resolves its own conflict.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, tool, until};
use crate::services::Server;

const HOSTS: [&str; 2] = ["conflict-1", "conflict-2"];
/// Evidence of a task whose changes were left out.
const TOLD: &str = "two tasks changed the same files at once (second), and its changes are not in the working folder";
/// Path of its kept version.
const KEPT: &str = ".aime/runs/conflict/private/second-1-1/own/page";
const TEXT: &str = "one\ntwo\nthree\nfour\n";

/// Two actors that change one line; the second removes the markers of its conflict.
fn actors(script: Script) -> Script {
    let edit = |to: &str| Reply::call("edit_file", json!({"path": "text", "old_text": "one", "new_text": to}));
    let done = |text: &str| Reply::call("terminate", json!({"status": "success", "message": text}));
    let turn = |part: &str, turn: usize| When::tools().and_contains(part).and_turn(turn);
    // A file that was read before the change of the other reverts that change when it is written.
    let change = |old: &str, new: &str| {
        Reply::call("bash", json!({"command": format!("cp text {old} && sleep 1 && sed 's/{old}/{new}/' {old} > text && rm {old}")}))
    };
    let resolve = "grep -v '^[<=>]\\{7\\}' text > text.new && mv text.new text";
    script
        .on(turn("A-PART", 0), [edit("a's")])
        .on(turn("A-PART", 1), [done("a is done")])
        .on(turn("B-PART", 0), [edit("b's")])
        // The third task begins when the first is merged.
        .on(turn("B-PART", 1), [done("b is done").after_request("THE-END-OF-A")])
        .on(turn("B-PART", 2), [Reply::call("bash", json!({"command": resolve}))])
        .on(turn("B-PART", 3), [done("both are kept")])
        .on(When::tools().and_contains("C-PART"), [done("THE-END-OF-A")])
        .on(turn("TURN-A", 0), [change("one", "1")])
        .on(turn("TURN-A", 1), [done("it is changed")])
        .on(turn("TURN-B", 0), [change("four", "4")])
        .on(turn("TURN-B", 1), [done("it is changed")])
        .on(When::plain(), [Reply::text("Done.")])
}

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
        let script = actors(Script::new().on(When::schema("aime_patch"), [Reply::json(patch)]));
        let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&self.root.join("conflict-engine"))?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let serve = |folder: &str, serves: &str| {
            let arguments = ["worker", "--engine", &address, "--serve", serves, "--git-handoff", "--blobs", &blobs];
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
        let conflicts = json!([{"task": "second", "path": "page", "kind": "text", "kept": KEPT, "resolved": false}]);
        ensure!(result.pointer("/conflicts") == Some(&conflicts), "the result tells other conflicts: {result:#}");
        ensure!(fs::read_to_string(client.join(KEPT))? == "second\n", "the version that lost is not kept");
        self.an_actor_resolves_its_conflict(&engine, &url, &on)?;
        Ok("the planner received both versions of a conflict and patched the plan; an actor resolved its own conflict as in a folder"
            .to_owned())
    }

    /// The actor whose changes come second resolves the conflict, as it does in a folder, and the result is the same.
    fn an_actor_resolves_its_conflict(&self, engine: &Server, url: &str, on: &[&str]) -> Result<()> {
        let actor = |id: &str, words: &str, after: &[&str]| json!({"id": id, "name": id, "kind": "actor", "description": words, "dependencies": after});
        let tasks = [actor("a", "A-PART", &[]), actor("b", "B-PART", &[]), actor("c", "THE-END-OF-A C-PART", &["a"])];
        let plan = json!({"goal": "a text", "tasks": tasks}).to_string();
        let mut seen = Vec::new();
        let here = ScriptedServer::try_start(actors(Script::new()), 0).context("the scripted model does not start")?;
        for (folder, on) in [("conflict-here", &[][..]), ("conflict-client", on)] {
            fs::write(self.root.join(folder).join("plan.json"), &plan)?;
            fs::write(self.root.join(folder).join("text"), TEXT)?;
            fs::write(self.root.join(folder).join("aime.toml"), "[run]\nisolation = \"worktree\"\n")?;
            let url = if on.is_empty() { here.url() } else { url.to_owned() };
            let run = ["run", "--plan", "plan.json", "--run-id", "text", "--approve", "all", "--unattended", "--output", "json"];
            let result = self.start(folder, &format!("{folder}-text"), &url, &[&run[..], on].concat())?.ended(0)?;
            let show = self.start(folder, &format!("{folder}-shown"), &url, &[&["runs", "show", "text"][..], on].concat())?.printed(0)?;
            let events = [&["runs", "events", "text", "--output", "jsonl"][..], on].concat();
            let events = self.start(folder, &format!("{folder}-noted"), &url, &events)?.printed(0)?;
            let line = show.lines().find(|line| line.starts_with("conflict")).map(str::to_owned);
            // A merge that changed nothing is not shown.
            let merged = events.lines().filter(|event| event.contains("changes_merged") && !event.contains("\"files\":0")).count();
            let changed = events.lines().filter(|event| event.contains("file_changed") && event.contains("\"join\"")).count();
            let text = fs::read_to_string(self.root.join(folder).join("text"))?;
            seen.push((result.pointer("/conflicts").cloned(), line, merged, changed, text));
        }
        self.actors_take_turns(engine, url)?;
        let conflict = json!([{"task": "b", "path": "text", "kind": "text", "resolved": true}]);
        ensure!(seen.first().is_some_and(|(conflicts, ..)| *conflicts == Some(conflict)), "another conflict: {seen:#?}");
        ensure!(seen.first() == seen.last(), "the two runs tell of it differently: {seen:#?}");
        ensure!(seen.iter().all(|(.., text)| *text == TEXT.replace("one", "a's\nb's")), "the text is not of both: {seen:#?}");
        self.record(engine, "resolved", "aime-run-text", "conflict-blobs")
    }

    /// Two actors that may write in the one folder of all hosts work one after the other, and the run tells that the second waits.
    fn actors_take_turns(&self, engine: &Server, url: &str) -> Result<()> {
        // Each actor also sees the title of the other's task.
        let tasks =
            [("a", "TURN-A"), ("b", "TURN-B")].map(|(id, text)| json!({"id": id, "name": id, "kind": "actor", "description": text}));
        let folder = self.root.join("conflict-here");
        fs::write(folder.join("plan.json"), json!({"goal": "a text", "tasks": tasks}).to_string())?;
        fs::write(folder.join("text"), TEXT)?;
        fs::write(folder.join("aime.toml"), "")?;
        let on = format!("temporal://{}", engine.address());
        let workers = ["worker", "--engine", &engine.address(), "--queue-prefix", "turns"];
        let _workers = self.start("conflict-here", "conflict-turns", url, &workers)?;
        let on = ["--engine", &on, "--queue-prefix", "turns"];
        let run = ["run", "--plan", "plan.json", "--run-id", "turns", "--approve", "all", "--unattended", "--output", "json"];
        self.start("conflict-here", "conflict-turns-run", url, &[&run[..], &on].concat())?.ended(0)?;
        let text = fs::read_to_string(folder.join("text"))?;
        ensure!(text == TEXT.replace("one", "1").replace("four", "4"), "a change is lost: {text:?}");
        let events = [&["runs", "events", "turns", "--output", "jsonl"][..], &on].concat();
        let events = self.start("conflict-here", "conflict-turns-events", url, &events)?.printed(0)?;
        let waits = events.lines().filter(|event| event.contains("folder_awaited")).count();
        ensure!(waits == 1, "{waits} tasks wait for the folder: {events}");
        Ok(())
    }
}
