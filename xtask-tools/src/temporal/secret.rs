//! Checks that no history contains the workers' secrets.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{World, gate, holds, tool};
use crate::services::Server;

/// Key of the model, which every process of the part has; below, a word that is public.
const KEY: &str = "sk-scenario-4f1d07c2b96e8a35";
const WORD: &str = "nothing-secret";

impl World {
    /// The key is in the plan, in a file that a call and an actor read, and in a message of a person. It must not reach any history, blob
    /// or result.
    pub(super) fn no_secret_travels(&self) -> Result<String> {
        let world = self.with(&[("OPENAI_API_KEY", KEY)]);
        let plan = json!({"goal": "one thing", "tasks": [
            tool("reads", "cat token", &[]),
            {"id": "acts", "name": "acts", "kind": "actor", "description": format!("act with {KEY}"), "dependencies": ["reads"]},
            tool("end", &gate("end"), &["acts"]),
        ]});
        let folder = world.root.join("secret");
        fs::write(folder.join("plan.json"), plan.to_string())?;
        fs::write(folder.join("token"), format!("{WORD} {KEY}\n"))?;
        let script = Script::new()
            .on(When::tools().and_turn(0), [Reply::call("bash", json!({"command": "cat token"}))])
            .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": format!("{WORD}: {KEY}")}))])
            .on(When::plain(), [Reply::text(format!("It is {KEY}."))]);
        let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&world.root.join("secret-engine"))?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let _worker = world.start("secret", "secret-worker", &url, &["worker", "--engine", &address])?;
        let go =
            ["run", "--plan", "plan.json", "--run-id", "secret", "--approve", "all", "--unattended", "--output", "json", "--engine", &on];
        let client = world.start("secret", "secret-client", &url, &go)?;
        world.appears("secret/at-end")?;
        world.start("secret", "secret-tell", &url, &["tell", "secret", &format!("it is {KEY}"), "--engine", &on])?.printed(0)?;
        fs::write(folder.join("go-end"), "")?;
        let result = client.ended(0)?.to_string();
        ensure!(!result.contains(KEY), "the key stands in the result: {result}");
        ensure!(holds(&world.root.join("secret-engine"), WORD)?, "what was read is not found: the search is no good");
        let mut places = vec![world.root.join("secret-engine")];
        for entry in fs::read_dir(folder.join(".aime"))? {
            places.push(entry?.path());
        }
        // The undo record keeps the original content of files, in the folder of the files and readable only for their owner.
        places.retain(|place| place.file_name().is_none_or(|name| name != "undo"));
        for place in places {
            ensure!(!holds(&place, KEY)?, "the key stands in {}", place.display());
        }
        Ok("a key that was in a plan, a file and a message is in no history and no blob".to_owned())
    }
}
