//! Pauses a run while the work of an actor is being judged. The work is not repeated.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, compared, until};
use crate::services::Server;

impl World {
    /// Compares one process with an engine: the actor has ended, the model does not answer the request for its judgement, and a person
    /// pauses the run.
    pub(super) fn a_judgement_cut_off(&self) -> Result<String> {
        let task =
            json!({"id": "act", "name": "act", "kind": "actor", "description": "act", "completion_criteria": ["the log is well told"]});
        let plan = json!({"goal": "one thing", "tasks": [task]});
        for folder in ["judged-here", "judged"] {
            fs::write(self.root.join(folder).join("plan.json"), plan.to_string())?;
        }
        let here = self.paused_while_judged("judged-here", &[])?;
        let engine = Server::start(&self.root.join("judged"))?;
        let model = ScriptedServer::try_start(Script::new(), 0).context("the scripted model does not start")?;
        // The worker that drives the run and calls tools sends no model requests.
        let _drives = self.worker("judged", "judged-drives", &model.url(), &engine.address(), "runs,tools.files,tools.shell")?;
        let there = self.paused_while_judged("judged", &["--engine", &format!("temporal://{}", engine.address())])?;
        ensure!(here == there, "the result is another: {there:#}\nwhere one process gives {here:#}");
        let log = fs::read_to_string(self.root.join("judged/log"))?;
        ensure!(log == "actor\n", "the work was done again: {log:?}");
        Ok("a run was paused while work was judged; after the resume it was judged again and not done again".to_owned())
    }

    fn paused_while_judged(&self, folder: &str, on: &[&str]) -> Result<Value> {
        let verdict = Reply::json(json!({"passed": true, "reason": "it is"}));
        let script = Script::new()
            .once(When::schema("aime_verdict"), [Reply::hang()])
            .on(When::schema("aime_verdict"), [verdict])
            .on(When::tools().and_turn(0), [Reply::call("bash", json!({"command": "echo actor >> log"}))])
            .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": "the actor has acted"}))])
            .on(When::plain(), [Reply::text("All was done.")]);
        let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
        let url = model.url();
        let _thinks = match on {
            [] => None,
            [_, place, ..] => Some(self.worker(folder, "judged-thinks", &url, place, "llm,planner")?),
            _ => None,
        };
        let run = ["run", "--plan", "plan.json", "--run-id", "judged", "--approve", "all", "--unattended", "--output", "json"];
        let client = self.start(folder, &format!("{folder}-run"), &url, &[&run[..], on].concat())?;
        until("the work is judged", || Ok(model.requests().len() == 3))?;
        self.start(folder, &format!("{folder}-pause"), &url, &[&["pause", "judged"][..], on].concat())?.printed(0)?;
        let left = client.ended(130)?;
        ensure!(left.pointer("/error/code").and_then(Value::as_str) == Some("interrupted"), "it is not paused: {left:#}");
        let resume = ["resume", "judged", "--output", "json"];
        let ended = self.start(folder, &format!("{folder}-resume"), &url, &[&resume[..], on].concat())?.ended(0)?;
        let asked = model.requests().len();
        ensure!(asked == 4, "the model was asked {asked} times: two turns and two looks at them are four");
        Ok(compared(ended))
    }
}
