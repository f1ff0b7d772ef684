//! Runs that one conversation leads: its worker is killed in the middle of two wakes, a person is asked, and its own work moves between hosts.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, world::compared, world::until};
use crate::services::Server;

/// Settings with which a capable model leads, and actors that may write work in the folder at once.
const LEAD: [(&str, &str); 2] = [("AIME__PLANNING__ROUTE", "auto"), ("AIME__RUN__ISOLATION", "shared")];
const GOAL: &str = "do the dishes";

impl World {
    /// Compares led runs on an engine with the same runs in one process: the requests of the lead and the results.
    pub(super) fn a_lead_on_an_engine(&self) -> Result<String> {
        let world = self.with(&LEAD);
        let engine = Server::start(&self.root.join("lead-engine"))?;
        let killed = world.killed_while_it_plans(&engine)?;
        self.record(&engine, "led", "aime-run-led", "lead/.aime/blobs")?;
        self.record(&engine, "lead", "aime-run-led/lead/chat", "lead/.aime/blobs")?;
        world.asked_and_works_itself(&engine)?;
        self.record(&engine, "lead-asked", "aime-run-asks", "lead/.aime/blobs")?;
        world.forked_and_goes_on(&engine)?;
        Ok(format!(
            "a lead planned and changed its plan with the {killed} requests of one process, although its workers were killed during two of them; \
             a lead that asked a person continued with the answer, and a fork with the conversation"
        ))
    }

    /// Kills the workers of runs and of models while the lead waits for its model, before its plan and before its change of the plan.
    fn killed_while_it_plans(&self, engine: &Server) -> Result<usize> {
        let run = ["run", GOAL, "--mode", "complex", "--run-id", "led", "--approve", "all", "--unattended", "--output", "json"];
        let model = ScriptedServer::try_start(dishes(Script::new()), 0).context("the scripted model does not start")?;
        let here = self.start("lead-here", "lead-here-led", &model.url(), &run)?.ended(0)?;
        let wanted = lead_requests(&model);

        let hangs = |script: Script, turn| script.once(lead().and_turn(turn), [Reply::hang()]);
        let model = ScriptedServer::try_start(dishes(hangs(hangs(Script::new(), 1), 2)), 0).context("the scripted model does not start")?;
        let (url, address, on) = (model.url(), engine.address(), format!("temporal://{}", engine.address()));
        let _rest = self.worker("lead", "lead-rest", &url, &address, "planner,tools.files,tools.shell")?;
        let serve = |number: usize| {
            let start = |serves: &str| self.worker("lead", &format!("lead-{serves}-{number}"), &url, &address, serves);
            anyhow::Ok([start("runs")?, start("llm")?])
        };
        let mut workers = serve(1)?;
        let client = self.start("lead", "lead-led", &url, &[&run[..], &["--engine", &on]].concat())?;
        for kill in 1..=2 {
            // Each hanging request is made again.
            until("the lead has asked its model", || Ok(asked(&model).len() == kill * 2))?;
            drop(workers);
            workers = serve(kill + 1)?;
        }
        let there = client.ended(0)?;
        let found = lead_requests(&model);
        ensure!(asked(&model).len() == found.len() + 2, "the requests that were cut off were not made again as they were");
        same_requests(&wanted, &found)?;
        let (here, there) = (compared(here), compared(there));
        ensure!(here == there, "the result is another: {there:#}\nwhere one process gives {here:#}");
        Ok(found.len())
    }

    /// The lead asks a person, waits in the engine, and does the goal itself.
    fn asked_and_works_itself(&self, engine: &Server) -> Result<()> {
        let on = format!("temporal://{}", engine.address());
        let play = |folder: &str, on: &[&str]| {
            let model = ScriptedServer::try_start(cups(), 0).context("the scripted model does not start")?;
            let url = model.url();
            let _worker = match on {
                [] => None,
                _ => Some(self.start(folder, "lead-asks-worker", &url, &["worker", "--engine", &engine.address()])?),
            };
            let go = |name: &str, words: &[&str]| self.start(folder, &format!("{folder}-{name}"), &url, &[words, on].concat());
            let run = ["run", GOAL, "--run-id", "asks", "--approve", "all", "--unattended", "--output", "json"];
            let waits = go("asks", &run)?.ended(5)?;
            let question = waits.pointer("/error/message").and_then(Value::as_str).unwrap_or_default().to_owned();
            ensure!(question.contains("Which cups?"), "another question: {waits:#}");
            go("answer", &["answer", "asks", "the blue ones"])?.printed(0)?;
            let result = go("resume", &["resume", "asks", "--output", "json"])?.ended(0)?;
            let written = fs::read_to_string(self.root.join(folder).join("cups"))?;
            anyhow::Ok((compared(result), written, lead_requests(&model)))
        };
        let (here, there) = (play("lead-here", &[])?, play("lead", &["--engine", &on])?);
        same_requests(&here.2, &there.2)?;
        ensure!(here == there, "the result is another: {there:#?}\nwhere one process gives {here:#?}");
        Ok(())
    }

    /// A fork of the first run goes on with the conversation of the lead so far.
    fn forked_and_goes_on(&self, engine: &Server) -> Result<()> {
        let on = format!("temporal://{}", engine.address());
        let play = |folder: &str, on: &[&str]| {
            let script = Script::new().on(lead(), [done("All was clean.")]).on(When::tools(), [done("done")]);
            let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
            let url = model.url();
            let _worker = match on {
                [] => None,
                _ => Some(self.start(folder, "lead-fork-worker", &url, &["worker", "--engine", &engine.address()])?),
            };
            let go = |name: &str, words: &[&str]| self.start(folder, &format!("{folder}-{name}"), &url, &[words, on].concat());
            go("fork", &["runs", "fork", "led", "--at", "1", "--run-id", "led-2"])?.printed(0)?;
            let result = go("forked", &["resume", "led-2", "--output", "json"])?.ended(0)?;
            anyhow::Ok((compared(result), lead_requests(&model)))
        };
        let (here, there) = (play("lead-here", &[])?, play("lead", &["--engine", &on])?);
        same_requests(&here.1, &there.1)?;
        ensure!(here.1.len() == 1, "the lead is asked once: {:#?}", here.1);
        ensure!(here == there, "the result is another: {there:#?}\nwhere one process gives {here:#?}");
        Ok(())
    }
}

fn lead() -> When {
    When::tool("submit_plan")
}

fn done(message: &str) -> Reply {
    Reply::call("terminate", json!({"status": "success", "message": message}))
}

/// The lead looks, plans two tasks, and changes its plan for what one of them finds.
fn dishes(script: Script) -> Script {
    let actor = |id: &str, description: &str, after: &[&str]| json!({"id": id, "name": id, "kind": "actor", "description": description, "dependencies": after});
    let plan = json!({"mode": "complex", "tasks": [actor("wash", "WASH the cups", &[]), actor("dry", "DRY the plates", &["wash"])]});
    let find = json!({"type": "discovery", "significance": "high", "content": "the plates are paper"});
    let change = json!({"reasoning": "paper is not dried", "changes": [
        {"op": "remove_task", "id": "dry", "reason": "paper"},
        {"op": "add_task", "task": {"id": "bin", "description": "BIN the plates"}},
    ]});
    script
        .on(lead().and_turn(0), [Reply::call("list_dir", json!({"path": "."}))])
        .on(lead().and_turn(1), [Reply::call("submit_plan", plan)])
        .on(lead().and_turn(2), [Reply::call("change_plan", change)])
        .on(lead(), [done("All is clean.")])
        .on(When::tools().and_contains("WASH").and_turn(0), [Reply::call("report_evidence", find)])
        // It works until the plan is changed.
        .on(When::tools().and_contains("WASH").and_turn(1), [done("done").after_request("BIN the plates")])
        .on(When::tools(), [done("done")])
}

/// The lead asks which cups, and washes them itself.
fn cups() -> Script {
    Script::new()
        .on(lead().and_turn(0), [Reply::call("ask_human", json!({"question": "Which cups?"}))])
        .on(lead().and_turn(1), [Reply::call("write_file", json!({"path": "cups", "content": "blue"}))])
        .on(lead(), [done("The blue cups are clean.")])
}

/// Returns the requests of the lead, also those that were cut off.
fn asked(model: &ScriptedServer) -> Vec<Value> {
    let offers = |request: &Value| request.get("tools").is_some_and(|tools| tools.to_string().contains("\"submit_plan\""));
    model.requests().into_iter().filter(offers).collect()
}

/// Returns the requests of the lead. A request that was made again as it was counts once.
fn lead_requests(model: &ScriptedServer) -> Vec<Value> {
    let mut requests = asked(model);
    requests.dedup();
    requests
}

/// Checks that each request is one of a conversation that grows only at its end, and that both conversations are the same.
fn same_requests(wanted: &[Value], found: &[Value]) -> Result<()> {
    let messages = |request: &Value| request.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    for pair in found.windows(2) {
        let [before, after] = pair else { continue };
        ensure!(messages(after).starts_with(&messages(before)), "a request is not the one before it and an end: {before:#}\n{after:#}");
        ensure!(before.get("tools") == after.get("tools"), "the tools of the lead change");
    }
    let texts = |requests: &[Value]| {
        requests.iter().map(|request| json!({"messages": messages(request), "tools": request.get("tools")})).collect::<Vec<_>>()
    };
    let (wanted, found) = (texts(wanted), texts(found));
    for (wanted, found) in wanted.iter().zip(&found) {
        ensure!(wanted == found, "the lead is asked other things: {found:#}\nwhere one process asks {wanted:#}");
    }
    ensure!(wanted.len() == found.len(), "{} requests, where one process makes {}", found.len(), wanted.len());
    Ok(())
}
