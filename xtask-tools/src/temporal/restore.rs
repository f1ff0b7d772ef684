//! Restores a lost engine database from a backup.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, tool};
use crate::services::Server;

impl World {
    /// The engine is backed up while a run waits for a person. Later events are lost with the database. After the restore the run waits
    /// again, and continues without repeating anything in the backup.
    pub(super) fn an_engine_from_a_backup(&self) -> Result<String> {
        let plan = json!({"goal": "one thing", "tasks": [
            tool("before", "echo before >> log", &[]),
            {"id": "asks", "name": "asks", "kind": "actor", "description": "ask", "dependencies": ["before"]},
            tool("after", "echo after >> log", &["asks"]),
        ]});
        fs::write(self.root.join("backup").join("plan.json"), plan.to_string())?;
        let script = Script::new()
            .on(When::tools().and_turn(0), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
            .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": "asked"}))])
            .on(When::plain(), [Reply::text("Done.")]);
        let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
        let (url, mut engine) = (model.url(), Server::start(&self.root.join("backup-engine"))?);
        let on = format!("temporal://{}", engine.address());
        let _worker = self.start("backup", "backup-worker", &url, &["worker", "--engine", &engine.address()])?;
        let run = ["run", "--plan", "plan.json", "--run-id", "backup", "--approve", "all", "--output", "json", "--engine", &on];
        self.start("backup", "backup-run", &url, &run)?.ended(5)?;
        engine.back_up(&self.root.join("backup-kept"))?;
        let answered = |colour: &str| {
            self.start("backup", &format!("backup-{colour}"), &url, &["answer", "backup", colour, "--engine", &on])?.printed(0)?;
            let resume = ["resume", "backup", "--output", "json", "--engine", &on];
            self.start("backup", &format!("backup-{colour}-ends"), &url, &resume)?.ended(0)?;
            let events = ["runs", "events", "backup", "--output", "jsonl", "--engine", &on];
            let events = self.start("backup", &format!("backup-{colour}-events"), &url, &events)?.printed(0)?;
            let events = events.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
            let answers = events.iter().filter(|event| event.get("type").and_then(Value::as_str) == Some("question_answered"));
            anyhow::Ok(answers.map(|event| event.get("answer").and_then(Value::as_str).unwrap_or_default().to_owned()).collect::<Vec<_>>())
        };
        let first = answered("blue")?;
        ensure!(first == ["blue"], "another answer was heard: {first:?}");
        engine.restore(&self.root.join("backup-kept"))?;
        let second = answered("green")?;
        ensure!(second == ["green"], "the run does not stand where it was backed up: {second:?}");
        let log = fs::read_to_string(self.root.join("backup/log"))?;
        ensure!(log == "before\nafter\nafter\n", "what stood in the backup was done again, or what did not was not: {log:?}");
        Ok("after the engine was restored from a backup, a run continued from there, and only later work was done again".to_owned())
    }
}
