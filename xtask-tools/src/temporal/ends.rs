//! Runs that end before their goal and continue: after a refusal by the model, a bound, or a person.

use std::fs;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{World, compared, gate, tool};
use crate::services::Server;

/// Time bound: longer than the start of a call, shorter than the call.
const TIME: &str = "10s";

impl World {
    /// Compares one process with an engine, including the exit codes.
    pub(super) fn ends_before_the_goal(&self) -> Result<String> {
        let actor = |what: &str| json!([{"id": "act", "name": "act", "kind": "actor", "description": what}]);
        let plans = [
            ("refused", actor("REFUSED")),
            ("capped", json!([tool("one", "echo one >> log", &[]), tool("two", "echo two >> log", &["one"])])),
            ("spent", actor("SPENDS")),
            ("late", json!([tool("late", &gate("late"), &[])])),
            ("asked", actor("ASKS")),
            ("ended", json!([tool("cut", &gate("cut"), &[]), tool("after", "echo after >> log", &["cut"])])),
            ("stopped", json!([tool("stop", &gate("stop"), &[]), tool("after", "echo after >> log", &["stop"])])),
        ];
        // The hook runs at each end, and its futile objection appears in the result.
        let settings = self.root.join("home/aime/config.toml");
        fs::create_dir_all(self.root.join("home/aime"))?;
        fs::write(
            &settings,
            "[[hooks.stop]]\nname = \"bell\"\ncommand = \"echo rung >> rung; echo '{\\\"block\\\": \\\"not yet\\\"}'\"\n",
        )?;
        for folder in ["ends-here", "ends"] {
            for (name, tasks) in &plans {
                let plan = json!({"goal": "one thing", "tasks": tasks});
                fs::write(self.root.join(folder).join(format!("{name}.json")), plan.to_string())?;
            }
        }
        let refusal =
            json!({"error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}});
        // This call is under way when the bound is noticed.
        let spends = Reply::call("bash", json!({"command": "sleep 60"})).usage(5_000, 100);
        let script = Script::new()
            .on(When::tools().and_contains("REFUSED"), [Reply::status(401, refusal, [])])
            .on(When::tools().and_contains("ASKS").and_turn(0), [Reply::call("bash", json!({"command": "echo asked >> log"}))])
            .on(When::tools().and_turn(0), [spends])
            .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": "the actor has acted"}))])
            .on(When::plain(), [Reply::text("Done.")]);
        let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
        // The engine keeps its files elsewhere, because the prompt lists the content of the working folder.
        let (url, engine) = (model.url(), Server::start(&self.root.join("ends-engine"))?);
        let here = self.ends_in("ends-here", &url, &[])?;
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let _worker = self.start("ends", "ends-worker", &url, &["worker", "--engine", &address])?;
        let there = self.ends_in("ends", &url, &["--engine", &on])?;
        fs::remove_file(&settings)?;
        for (name, run) in [("cancelled", "ended"), ("stopped", "stopped"), ("asked", "asked")] {
            self.record(&engine, name, &format!("aime-run-{run}"), "ends/.aime/blobs")?;
        }
        ensure!(here == there, "the results are others: {there:#?}\nwhere one process gives {here:#?}");
        Ok("exit codes, results, hooks and refusals equal those of one process for runs that were refused by the model, reached a bound, timed out, were \
            stopped, cancelled or forked, or asked a person"
            .to_owned())
    }

    /// Returns the result of each run, and the effects of their calls.
    fn ends_in(&self, folder: &str, url: &str, on: &[&str]) -> Result<(Vec<Value>, [String; 3])> {
        let aime = |name: &str, words: &[&str]| self.start(folder, &format!("{folder}-{name}"), url, &[words, on].concat());
        let run = |name: &str| {
            let plan = format!("{name}.json");
            let go =
                ["run", "--plan", &plan, "--run-id", name, "--approve", "all", "--unattended", "--max-tokens", "5000", "--output", "json"];
            aime(name, &go)
        };
        let refused = run("refused")?.ended(3)?;
        let spent = run("spent")?.ended(4)?;
        let more = aime("more", &["resume", "spent", "--max-tokens", "50000", "--output", "json"])?.ended(0)?;
        let time = ["--approve", "all", "--unattended", "--timeout", TIME, "--output", "json"];
        let late = aime("late", &[&["run", "--plan", "late.json", "--run-id", "late"][..], &time].concat())?;
        self.appears(&format!("{folder}/at-late"))?;
        let late = late.ended(4)?;
        // Ending the watching process stops the run, which can be resumed.
        let going = run("stopped")?;
        self.appears(&format!("{folder}/at-stop"))?;
        going.terminate()?;
        let stopped = going.ended(130)?;
        let listed = aime("list", &["runs", "--output", "jsonl"])?.printed(0)?;
        ensure!(
            listed.lines().any(|run| run.contains("\"stopped\"") && run.contains("\"interrupted\"")),
            "it is listed as another: {listed}"
        );
        // The effect of the interrupted call is unknown, and the plan does not change.
        fs::write(self.root.join(folder).join("go-stop"), "")?;
        let gone_on = aime("gone-on", &["resume", "stopped", "--output", "json"])?.ended(1)?;
        let going = run("ended")?;
        self.appears(&format!("{folder}/at-cut"))?;
        aime("cancel", &["cancel", "ended"])?.printed(0)?;
        let ended = going.ended(1)?;
        fs::write(self.root.join(folder).join("go-cut"), "")?;
        aime("fork", &["runs", "fork", "ended", "--at", "1", "--run-id", "again"])?.printed(0)?;
        aime("no-pause", &["pause", "again"])?.printed(2).context("a fork that nobody carries on")?;
        let stands = aime("stands", &["runs", "show", "again", "--output", "json"])?.ended(0)?;
        let again = aime("again", &["resume", "again", "--output", "json"])?.ended(0)?;
        // The last run gets its question answered, in another language.
        let asked = aime("asked", &["run", "--plan", "asked.json", "--run-id", "asked", "--output", "json"])?.ended(5)?;
        aime("yes", &["answer", "last", "是"])?.printed(0)?;
        let asked_and_done = aime("done", &["resume", "ask", "--output", "json"])?.ended(0)?;
        // A message to a run without remaining calls survives a resume that has none either.
        let settings = self.root.join(folder).join("aime.toml");
        fs::write(&settings, "[run]\nmax_tool_calls = 1\n")?;
        let capped = run("capped")?.ended(4)?;
        aime("word", &["tell", "capped", "in-green"])?.printed(0)?;
        let still = aime("still", &["resume", "capped", "--output", "json"])?.ended(4)?;
        fs::remove_file(&settings)?;
        let uncapped = aime("uncapped", &["resume", "capped", "--output", "json"])?.ended(0)?;
        let events = aime("events", &["runs", "events", "capped", "--output", "jsonl"])?.printed(0)?;
        let count = events.lines().filter(|event| event.contains("evidence_added") && event.contains("in-green")).count();
        ensure!(count == 1, "in {folder} the words were heard {count} times");
        // This run has no plan; its model refuses, and it can be resumed.
        let alone = ["run", "REFUSED", "--mode", "direct", "--run-id", "alone", "--unattended", "--output", "json"];
        let alone = aime("alone", &alone)?.ended(3)?;
        // Ended runs refuse all messages.
        let mut refusals = String::new();
        for words in [
            &["tell", "ended", "something"][..],
            &["tell", "asked", "--task", "none", "something"],
            &["answer", "asked", "yes"],
            &["pause", "asked"],
            &["cancel", "ended"],
            &["resume", "ended"],
            &["cancel", "alone", "main"],
        ] {
            aime("refusal", words)?.printed(2).with_context(|| format!("{words:?}"))?;
            refusals.push_str(&fs::read_to_string(self.root.join(format!("{folder}-refusal.err")))?);
        }
        // A left run can be deleted too.
        aime("delete", &["runs", "delete", "refused"])?.printed(0)?;
        let [log, rung] = ["log", "rung"].map(|name| fs::read_to_string(self.root.join(folder).join(name)));
        ensure!(self.root.join(folder).join(".aime/progress/capped.json").is_file(), "in {folder} no snapshot is kept");
        Ok((
            [refused, spent, more, late, stopped, gone_on, stands, ended, again, asked, asked_and_done, capped, still, uncapped, alone]
                .map(compared)
                .into(),
            [refusals, log?, rung?],
        ))
    }
}
