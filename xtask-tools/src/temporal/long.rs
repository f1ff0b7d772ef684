//! A run and an actor continue in new histories repeatedly, while people send messages to the run.

use std::fs;
use std::thread::scope;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, compared, gate, tool, until};
use crate::services::Server;

/// Number of events after which the engine suggests a new history. A call has six, and a message about four.
const SOON: &[&str] = &["limit.historyCount.suggestContinueAsNew=20"];
/// Number of sequential calls, and of the actor's turns.
const CALLS: usize = 6;
/// People who send messages concurrently; below, the number of messages of each.
const PEOPLE: [&str; 3] = ["ann", "ben", "cem"];
const WORDS: usize = 8;

impl World {
    /// A run receives messages while it repeatedly changes to a new history. None of them is lost, and the result equals that of the same
    /// run in one process.
    pub(super) fn a_long_run(&self) -> Result<String> {
        let mut tasks: Vec<Value> = Vec::new();
        for number in 1..=CALLS {
            let (name, before) = (format!("call-{number}"), format!("call-{}", number - 1));
            let before: &[&str] = if number == 1 { &[] } else { &[&before] };
            tasks.push(tool(&name, &format!("echo {name} >> log; touch at-{name}; sleep 0.3"), before));
        }
        let last = format!("call-{CALLS}");
        tasks.push(json!({"id": "acts", "name": "acts", "kind": "actor", "description": "act", "dependencies": [last]}));
        tasks.push(json!({"id": "end", "name": "end", "kind": "actor", "description": "THE-END", "dependencies": ["acts"]}));
        let plan = json!({"goal": "a long way", "tasks": tasks});
        for folder in ["long-here", "long"] {
            fs::write(self.root.join(folder).join("plan.json"), plan.to_string())?;
        }
        fs::write(self.root.join("long-here/go-end"), "")?;
        let go = ["run", "--plan", "plan.json", "--run-id", "long", "--approve", "all", "--unattended", "--output", "json"];
        let model = ScriptedServer::try_start(turns(), 0).context("the scripted model does not start")?;
        let embedded = self.start("long-here", "long-here", &model.url(), &go)?.ended(0)?;

        let model = ScriptedServer::try_start(turns(), 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start_with(&self.root.join("long"), SOON)?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let _worker = self.start("long", "long-worker", &url, &["worker", "--engine", &address])?;
        let client = self.start("long", "long-client", &url, &[&go[..], &["--engine", &on]].concat())?;
        self.appears("long/at-call-1")?;
        let words: Vec<String> = scope(|scope| {
            let talk = |person: &'static str| {
                let (url, on) = (url.as_str(), on.as_str());
                move || {
                    (1..=WORDS)
                        .map(|number| {
                            let word = format!("{person}-says-{number}.");
                            let arguments = ["tell", "long", "--task", "end", &word, "--engine", on];
                            self.start("long", &format!("long-{person}-{number}"), url, &arguments)?.printed(0)?;
                            anyhow::Ok(word)
                        })
                        .collect::<Result<Vec<String>>>()
                }
            };
            let talking = PEOPLE.map(|person| scope.spawn(talk(person)));
            let words = talking.into_iter().map(|person| person.join().map_err(|_| anyhow::anyhow!("a person fell silent"))?);
            anyhow::Ok(words.collect::<Result<Vec<_>>>()?.concat())
        })?;
        self.appears("long/at-end")?;
        self.start("long", "long-delete-early", &url, &["runs", "delete", "long", "--engine", &on])?
            .printed(2)
            .context("a run under way")?;
        fs::write(self.root.join("long/go-end"), "")?;
        let there = client.ended(0)?;
        let events =
            self.start("long", "long-events", &url, &["runs", "events", "long", "--engine", &on, "--output", "jsonl"])?.printed(0)?;
        for word in &words {
            let count = events.lines().filter(|event| event.contains("evidence_added") && event.contains(word)).count();
            ensure!(count == 1, "{word:?} was heard {count} times");
        }
        self.record_first(&engine, "continued", "aime-run-long", "long/.aime/blobs")?;
        self.record(&engine, "continues", "aime-run-long", "long/.aime/blobs")?;
        self.record_first(&engine, "continued-actor", "aime-run-long/acts/1", "long/.aime/blobs")?;
        let (of_run, of_actor) = (engine.histories("aime-run-long")?, engine.histories("aime-run-long/acts/1")?);
        ensure!(of_run > 2 && of_actor > 2, "the run has {of_run} histories and its actor {of_actor}: they did not go on in new ones");
        ensure!(
            compared(embedded.clone()) == compared(there.clone()),
            "the result is another: {there:#}\nwhere one process gives {embedded:#}"
        );
        let log = |folder: &str| fs::read_to_string(self.root.join(folder).join("log"));
        ensure!(log("long")? == log("long-here")?, "calls were repeated, or lost: {:?}", log("long")?);
        self.kept_and_forgotten(&engine)?;
        let count = words.len();
        Ok(format!(
            "a run continued over {of_run} histories and its actor over {of_actor}: each of {count} messages in between was delivered once; statistics, \
             checks and deletion of the run cover all histories"
        ))
    }

    /// A run that always has an effect under way still changes to a new history, because new effects are deferred: each call of one lane
    /// begins while one of the other lane is running. The result equals that of one process, and nothing is done twice.
    pub(super) fn a_run_without_rest(&self) -> Result<String> {
        let mut tasks: Vec<Value> = vec![tool("b-0", "sleep 0.4", &[])];
        for number in 1..=CALLS {
            for lane in ["a", "b"] {
                let (name, before) = (format!("{lane}-{number}"), format!("{lane}-{}", number - 1));
                let before: &[&str] = if name == "a-1" { &[] } else { &[&before] };
                tasks.push(tool(&name, &format!("echo {name} >> log-{lane}; sleep 0.8"), before));
            }
        }
        let plan = json!({"goal": "no rest", "tasks": tasks});
        for folder in ["busy-here", "busy"] {
            fs::write(self.root.join(folder).join("plan.json"), plan.to_string())?;
        }
        let go = ["run", "--plan", "plan.json", "--run-id", "busy", "--approve", "all", "--unattended", "--output", "json"];
        let model = ScriptedServer::try_start(turns(), 0).context("the scripted model does not start")?;
        let url = model.url();
        let embedded = self.start("busy-here", "busy-here", &url, &go)?.ended(0)?;
        let engine = Server::start_with(&self.root.join("busy-engine"), SOON)?;
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let _worker = self.start("busy", "busy-worker", &url, &["worker", "--engine", &address])?;
        let there = self.start("busy", "busy-client", &url, &[&go[..], &["--engine", &on]].concat())?.ended(0)?;
        self.record_first(&engine, "busy", "aime-run-busy", "busy/.aime/blobs")?;
        let histories = engine.histories("aime-run-busy")?;
        ensure!(histories > 1, "the run has one history: it was never left");
        ensure!(
            compared(embedded.clone()) == compared(there.clone()),
            "the result is another: {there:#}\nwhere one process gives {embedded:#}"
        );
        for lane in ["log-a", "log-b"] {
            let log = |folder: &str| fs::read_to_string(self.root.join(folder).join(lane));
            ensure!(log("busy")? == log("busy-here")?, "calls were repeated, or lost: {:?}", log("busy")?);
        }
        Ok(format!("a run that always had an effect under way continued over {histories} histories"))
    }

    /// The stored data of the run is complete, counts like that of a folder, and is gone after a delete.
    fn kept_and_forgotten(&self, engine: &Server) -> Result<()> {
        let on = format!("temporal://{}", engine.address());
        let ask = |folder: &str, words: &[&str], on: &[&str]| {
            let words = [&["runs"][..], words, on].concat();
            self.start(folder, &format!("{folder}-{}", words.get(1).unwrap_or(&"")), "http://127.0.0.1:1", &words)
        };
        let on = ["--engine", on.as_str()];
        let checked = ask("long", &["check", "long", "--output", "json"], &on)?.ended(0)?;
        let (findings, actors) = (checked.pointer("/findings"), checked.pointer("/actors").and_then(Value::as_u64));
        ensure!(findings == Some(&json!([])) && actors == Some(2), "it is not whole: {checked:#}");
        let stats = ["stats", "--output", "json"];
        let (here, there) = (ask("long-here", &stats, &[])?.ended(0)?, ask("long", &stats, &on)?.ended(0)?);
        let (here, there) = (compared(here), compared(there));
        ensure!(here == there, "it counts for something else: {there:#}\nwhere one process gives {here:#}");
        ask("long", &["delete", "long"], &on)?.printed(0)?;
        until("the run is forgotten", || Ok(engine.histories("aime-run-long")? == 0 && engine.histories("aime-run-long/acts/1")? == 0))?;
        ask("long", &["show", "long"], &on)?.printed(2).context("a run that was deleted")?;
        Ok(())
    }
}

/// Returns a model that makes sequential calls and ends; the last actor makes one call, which waits.
fn turns() -> Script {
    let ends = [Reply::call("terminate", json!({"status": "success", "message": "the actor has acted"}))];
    let last = || When::tools().and_contains("THE-END");
    Script::new()
        .on(last().and_turn(0), [Reply::call("bash", json!({"command": gate("end"), "timeout_seconds": 110}))])
        .on(last(), ends.clone())
        .on(When::tools().and_turn(CALLS), ends)
        .on(When::tools(), [Reply::call("bash", json!({"command": "echo actor >> log"}))])
        .on(When::plain(), [Reply::text("All was done.")])
}
