//! Tools of an MCP server that one worker has, with a secret token, in a separate namespace.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, holds, tool};
use crate::services::{NAMESPACE, Server};

/// Server program, written without aime's library.
const CLOCK: &str = include_str!("clock.sh");
const TOOL: &str = "mcp__clock__read";
/// Token of the server, which only its worker has.
const TOKEN: &str = "tok-5b0e93d1a7c24f68";
/// Workers that know the server's tools, and workers that have the server with its token.
const SETTINGS: [(&str, &str); 2] = [("mcp-offered", ""), ("mcp-has", "env_vars = [\"CLOCK_TOKEN\"]\n")];

impl World {
    /// A task and an actor call the tool. The settings of all workers name the server, but only the worker for such tools starts it, with
    /// its own settings and token. Like a command, the server is confined to the worker's folder.
    pub(super) fn servers_of_a_worker(&self) -> Result<String> {
        let path = |name: &str| self.root.join(name);
        for (home, more) in SETTINGS {
            fs::create_dir_all(path(home).join("aime"))?;
            let settings = format!("[mcp.servers.clock]\ncommand = \"sh\"\nargs = [\"clock.sh\"]\n{more}");
            fs::write(path(home).join("aime/config.toml"), settings)?;
        }
        let [client, drives, thinks, host, kept] = ["mcp-client", "mcp-drives", "mcp-thinks", "mcp-host", "mcp-engine"];
        for folder in [client, drives, thinks, host, kept] {
            fs::create_dir(path(folder))?;
            fs::write(path(folder).join("clock.sh"), CLOCK)?;
        }
        let plan = json!({"goal": "the time, twice", "tasks": [
            {"id": "look", "name": "look", "kind": "tool", "tool": TOOL, "description": "look", "parameters": {}},
            {"id": "acts", "name": "acts", "kind": "actor", "description": "look again", "dependencies": ["look"]},
            tool("strays", "(echo out > ../escaped) 2> /dev/null || echo refused >> refusals", &["acts"]),
        ]});
        fs::write(path(client).join("plan.json"), plan.to_string())?;
        let script = Script::new()
            .on(When::tools().and_turn(0), [Reply::call(TOOL, json!({}))])
            .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": "looked"}))])
            .on(When::plain(), [Reply::text("Done.")]);
        let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&path(kept))?);
        let (address, blobs) = (format!("{}/{NAMESPACE}", engine.address()), path("mcp-blobs").display().to_string());
        let on = format!("temporal://{address}");
        let [offered, has] = SETTINGS.map(|(home, _)| path(home).display().to_string());
        let offered = self.with(&[("XDG_CONFIG_HOME", &offered)]);
        let has = self.with(&[("XDG_CONFIG_HOME", &has), ("CLOCK_TOKEN", TOKEN)]);
        let serve = |world: &Self, folder: &str, serves: &str| {
            world.start(folder, folder, &url, &["worker", "--engine", &address, "--serve", serves, "--blobs", &blobs])
        };
        let _workers = [
            serve(&offered, drives, "runs,llm,tools.files")?,
            serve(&offered, thinks, "planner")?,
            serve(&has, host, "tools.mcp,tools.shell")?,
        ];
        let go = ["run", "--plan", "plan.json", "--run-id", "servers", "--approve", "all", "--unattended", "--output", "json"];
        let shared = ["--engine", &on, "--blobs", &blobs];
        let result = offered.start(client, "mcp-run", &url, &[&go[..], &shared].concat())?.ended(0)?;
        let shown = offered.start(client, "mcp-show", &url, &[&["runs", "show", "servers", "--output", "json"][..], &shared].concat())?;
        let shown = shown.printed(0)?;

        let listed = |name: &str, on: &str| offered.start(client, name, &url, &["runs", "--output", "json", "--engine", on])?.printed(0);
        let (ours, others) = (listed("mcp-list", &on)?, listed("mcp-others", &format!("temporal://{}", engine.address()))?);
        ensure!(ours.contains("\"servers\"") && !others.contains("\"servers\""), "the run is not in its namespace alone: {ours}\n{others}");

        let summary = result.pointer("/tasks/0/summary").and_then(Value::as_str).unwrap_or_default();
        ensure!(summary.contains("noon-1"), "the task has another answer: {result:#}");
        let knows_later_time = model.requests().iter().any(|request| request.to_string().contains("noon-2"));
        ensure!(knows_later_time, "the actor was not told the time by the process that had told it before: {:#?}", model.requests());
        let lines = |folder: &str, file: &str| fs::read_to_string(path(folder).join(file)).unwrap_or_default().lines().count();
        let calls = [client, drives, thinks, host].map(|folder| lines(folder, "calls"));
        ensure!(calls == [0, 0, 0, 2], "calls were made by others: {calls:?}");
        // A client asks the server once to check the plan, and not for looking at runs. A worker that neither plans nor calls tools never
        // asks.
        let greetings = [client, drives, thinks].map(|folder| lines(folder, "greetings"));
        ensure!(greetings == [1, 0, 1], "the server was started elsewhere: {greetings:?}");
        ensure!(
            lines(host, "refusals") == 3 && !path("escaped").exists(),
            "a server or a command of the worker has written outside of its folder"
        );
        ensure!(holds(&path(kept), "noon-1")?, "what was told is not found: the search is no good");
        for place in [kept, "mcp-blobs", "mcp-run.out", client, drives, thinks] {
            ensure!(!path(place).exists() || !holds(&path(place), TOKEN)?, "the token of the worker stands in {place}");
        }
        ensure!(!shown.contains(TOKEN), "the token of the worker is shown: {shown}");
        let asked = model.requests().iter().any(|request| request.to_string().contains(TOKEN));
        ensure!(!asked, "the model was told the token of the worker");
        Ok("a task and an actor called a tool of an MCP server of one worker: one server process answered both, its token stayed there, and neither it nor a \
            command could write elsewhere"
            .to_owned())
    }
}
