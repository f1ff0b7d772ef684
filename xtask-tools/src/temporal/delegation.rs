//! An actor delegates a part of its work to another one, which asks a person.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::World;
use crate::services::Server;

impl World {
    /// Compares one process with an engine: the run waits for the person, and both actors continue where they were.
    pub(super) fn work_is_handed_on(&self) -> Result<String> {
        let task = json!({"id": "whole", "name": "whole", "kind": "actor", "description": "THE-WHOLE"});
        let plan = json!({"goal": "one thing", "tasks": [task]});
        for folder in ["parted-here", "parted"] {
            fs::write(self.root.join(folder).join("plan.json"), plan.to_string())?;
        }
        let model = ScriptedServer::try_start(parted(), 0).context("the scripted model does not start")?;
        let here = self.asked_below("parted-here", &model, &[])?;
        let (engine, model) = (
            Server::start(&self.root.join("parted"))?,
            ScriptedServer::try_start(parted(), 0).context("the scripted model does not start")?,
        );
        let _worker = self.start("parted", "parted-worker", &model.url(), &["worker", "--engine", &engine.address()])?;
        let there = self.asked_below("parted", &model, &["--engine", &format!("temporal://{}", engine.address())])?;
        ensure!(here == there, "`aime runs` shows other things: {there:#?}\nwhere one process has {here:#?}");
        self.record(&engine, "answered", "aime-run-parted", "parted/.aime/blobs")?;
        self.record(&engine, "delegated", "aime-run-parted/whole/1", "parted/.aime/blobs")?;
        Ok("an actor delegated work to another one, which asked a person; both continued after the answer".to_owned())
    }

    fn asked_below(&self, folder: &str, model: &ScriptedServer, on: &[&str]) -> Result<(Value, usize, String)> {
        let url = model.url();
        let run = ["run", "--plan", "plan.json", "--run-id", "parted", "--approve", "all", "--output", "json"];
        let asked = self.start(folder, &format!("{folder}-run"), &url, &[&run[..], on].concat())?.ended(5)?;
        let question = asked.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
        ensure!(question.contains("Which colour?"), "another question: {asked:#}");
        self.start(folder, &format!("{folder}-answer"), &url, &[&["answer", "parted", "blue"][..], on].concat())?.printed(0)?;
        let resume = ["resume", "parted", "--output", "json"];
        self.start(folder, &format!("{folder}-resume"), &url, &[&resume[..], on].concat())?.ended(0)?;
        let (result, events) = self.shown(folder, "parted", on)?;
        for (kind, times) in [("actor_created whole", 2), ("question_asked whole", 1), ("question_answered ", 1)] {
            let found = events.iter().filter(|event| *event == kind).count();
            ensure!(found == times, "{kind} {found} times: {events:#?}");
        }
        ensure!(model.unmatched().is_empty(), "the model was asked other things: {:?}", model.unmatched());
        Ok((result, model.requests().len(), fs::read_to_string(self.root.join(folder).join("log"))?))
    }
}

/// Returns the script for both actors.
fn parted() -> Script {
    let (whole, part) = (|| When::tools().and_contains("THE-WHOLE"), || When::tools().and_contains("THE-PART"));
    let done = |message: &str| Reply::call("terminate", json!({"status": "success", "message": message}));
    let acts = |who: &str| Reply::call("bash", json!({"command": format!("echo {who} >> log")}));
    Script::new()
        .on(whole().and_turn(0), [acts("whole")])
        .on(whole().and_turn(1), [Reply::call("delegate_task", json!({"description": "THE-PART", "use_actor_factory": false}))])
        .on(whole().and_turn(2), [done("whole and part")])
        .on(part().and_turn(0), [acts("part")])
        .on(part().and_turn(1), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
        .on(part().and_turn(2), [done("the part in blue")])
        .on(When::plain(), [Reply::text("Done.")])
}
