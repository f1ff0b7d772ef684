//! A message of a person to a task whose actor is not made yet.

use std::fs;

use aime_scripted_server::ScriptedServer;
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{World, gate, script, tool, until};
use crate::services::Server;

/// Message of the person, which no prompt contains by itself.
const WORDS: &str = "write-it-in-green";

impl World {
    /// No worker can make the actor when its task gets the message. The first request to its model contains it.
    pub(super) fn message_before_creation(&self) -> Result<String> {
        let act = json!({"id": "act", "name": "act", "kind": "actor", "description": "act", "dependencies": ["wait"]});
        let plan = json!({"goal": "two things", "tasks": [tool("wait", &gate("wait"), &[]), act]});
        fs::write(self.root.join("early/plan.json"), plan.to_string())?;
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&self.root.join("early-engine"))?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let _drives = self.worker("early", "early-drives", &url, &address, "runs,llm,tools.files,tools.shell")?;
        let plans = self.worker("early", "early-plans", &url, &address, "planner")?;
        let run =
            ["run", "--plan", "plan.json", "--run-id", "early", "--approve", "all", "--unattended", "--output", "json", "--engine", &on];
        let client = self.start("early", "early-run", &url, &run)?;
        self.appears("early/at-wait")?;
        plans.terminate()?;
        plans.printed(0).context("the worker that plans and makes actors")?;
        fs::write(self.root.join("early/go-wait"), "")?;
        until("the task has begun", || {
            let events = ["runs", "events", "early", "--engine", &on, "--output", "jsonl"];
            let events = self.start("early", "early-events", &url, &events)?.printed(0)?;
            let begun = ["task_status_changed", "\"act\"", "\"running\""];
            Ok(events.lines().any(|event| begun.iter().all(|words| event.contains(words))))
        })?;
        self.start("early", "early-tell", &url, &["tell", "early", "--task", "act", WORDS, "--engine", &on])?.printed(0)?;
        let _makes = self.worker("early", "early-makes", &url, &address, "planner")?;
        client.ended(0)?;
        self.record(&engine, "early", "aime-run-early", "early/.aime/blobs")?;
        let requests = model.requests();
        let first = requests.first().context("the model was not asked")?;
        let count = first.to_string().matches(WORDS).count();
        ensure!(count == 1, "the words are {count} times in the first request to the model: {first:#}");
        Ok("a message to a task that arrived while its actor was created was in the first request of the actor".to_owned())
    }
}
