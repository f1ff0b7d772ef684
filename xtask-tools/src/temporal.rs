//! `cargo xtask scenario temporal` and `cargo xtask test temporal`: runs on a real engine, whose processes are killed.
//!
//! The build takes minutes, and the engine is downloaded from Python's package index, so they are not part of `cargo test`.

mod bucket;
mod conflict;
mod cut;
mod delegation;
mod early_message;
mod ends;
mod fork;
mod judged;
mod led;
mod load;
mod long;
mod restore;
mod secret;
mod servers;
mod undo;
mod upgrade;
mod world;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use self::world::{World, compared, holds, until};
use crate::services::Server;
use xtask::fresh_folder;
use xtask::workspace::{build_aime, cargo, run};

/// Settings of the scenario on an engine.
#[derive(Args)]
pub(crate) struct EngineArguments {
    /// With `temporal`: keep the histories of its runs, in a folder of this name, as those that the tests of `aime-temporal` replay: a version or a day,
    /// since those of earlier ones stay
    #[arg(long, value_name = "NAME")]
    record: Option<String>,
    /// With `temporal`: only the parts whose names hold this; with `documents`: only the lines that do
    #[arg(long, value_name = "NAME")]
    pub(crate) part: Option<String>,
    /// With `temporal`: an aime of an earlier version, built with the feature `temporal`, from which workers are upgraded; a copy of the new one
    /// with another build id unless given
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// With `temporal`: play nothing, and measure how long runs take and how much goes through by 1, 2 and 4 workers, and how long histories grow
    #[arg(long, conflicts_with_all = ["record", "part", "before"])]
    load: bool,
}

/// Runs the tests of the crate, including those against a server.
pub(crate) fn test() -> Result<()> {
    let server = Server::start(&fresh_folder("aime-temporal")?)?;
    // The limit is below the events of a contract run, so that it continues in a new history, and above those of a timer, which restarts in
    // each history.
    let soon = Server::start_with(&fresh_folder("aime-temporal-soon")?, &["limit.historyCount.suggestContinueAsNew=14"])?;
    let features = ["--package", "aime-temporal", "--features", "server-tests"];
    run(cargo(["clippy"]).args(features).args(["--all-targets", "--", "-D", "warnings"]))?;
    run(cargo(["test"]).args(features).env("AIME_TEMPORAL_ADDRESS", server.address()).env("AIME_TEMPORAL_SOON_ADDRESS", soon.address()))
}

/// Part of the scenario: its name, and the function that plays it and returns a summary.
type Part<'a> = (&'a str, &'a dyn Fn(&World) -> Result<String>);

/// Runs the scenario.
pub(crate) fn drive(arguments: &EngineArguments) -> Result<()> {
    let program = build_aime(&["--no-default-features", "--features", "temporal,mcp"])?;
    let world = World::new(program, arguments.record.clone())?;
    if arguments.load {
        return world.load();
    }
    let begun = Instant::now();
    let parts: [Part<'_>; 20] = [
        ("kills", &World::killed_in_every_way),
        ("doubt", &World::a_call_cut_off),
        ("trees", &World::a_folder_goes_from_host_to_host),
        ("lost", &World::a_host_that_does_not_come_back),
        ("cut", &World::a_worker_cut_off),
        ("long", &World::a_long_run),
        ("busy", &World::a_run_without_rest),
        ("upgrade", &|world: &World| world.workers_are_upgraded(arguments.before.as_deref())),
        ("judged", &World::a_judgement_cut_off),
        ("bucket", &World::blobs_in_a_bucket),
        ("delegation", &World::work_is_handed_on),
        ("ends", &World::ends_before_the_goal),
        ("secret", &World::no_secret_travels),
        ("restore", &World::an_engine_from_a_backup),
        ("mcp", &World::servers_of_a_worker),
        ("early", &World::message_before_creation),
        ("conflict", &World::a_conflict_is_evidence),
        ("undo", &World::files_are_put_back),
        ("fork", &World::a_fork_with_actors_at_work),
        ("lead", &World::a_lead_on_an_engine),
    ];
    let mut seen = Vec::new();
    for (name, play) in parts.iter().filter(|(name, _)| arguments.part.as_deref().is_none_or(|wanted| name.contains(wanted))) {
        let outcome = play(&world).with_context(|| format!("look into {}", world.root.display()))?;
        seen.push(format!("  {name:<10} {outcome}"));
    }
    ensure!(!seen.is_empty(), "there is no such part: there are {}", parts.map(|(name, _)| name).join(", "));
    println!("scenario temporal passed in {} s:\n{}", begun.elapsed().as_secs(), seen.join("\n"));
    Ok(())
}

/// Returns a command that signals its start and waits for a file before it ends, with a time limit.
fn gate(name: &str) -> String {
    format!(
        "echo {name} >> log; touch at-{name}; for i in $(seq 900); do [ -e go-{name} ] && break; sleep 0.1; done; echo {name} ended >> log"
    )
}

/// Returns a command that signals its start, waits for a file, and leaves only the results of `work`.
fn meeting(name: &str, work: &str) -> String {
    format!("touch at-{name}; for i in $(seq 900); do [ -e go ] || [ -e met ] && break; sleep 0.1; done; rm -f at-{name} go; {work}")
}

fn tool(id: &str, command: &str, dependencies: &[&str]) -> Value {
    json!({"id": id, "name": id, "kind": "tool", "tool": "bash", "description": id, "parameters": {"command": command, "timeout_seconds": 110}, "dependencies": dependencies})
}

/// Returns a model that serves an actor of two calls. With `hangs` the first request gets no answer.
fn script(hangs: bool) -> Script {
    let call = || Reply::call("bash", json!({"command": "echo actor >> log"}));
    let script = if hangs { Script::new().once(When::tools().and_turn(0), [Reply::hang()]) } else { Script::new() };
    script
        .on(When::tools().and_turn(0), [call()])
        .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": "the actor has acted"}))])
        .on(When::plain(), [Reply::text("All was done.")])
}

impl World {
    /// Kills a client, the worker of runs, the engine and the worker of models during a run, and compares the result with the same run in
    /// one process.
    fn killed_in_every_way(&self) -> Result<String> {
        let plan = json!({"goal": "three things", "tasks": [
            tool("first", "echo first >> log", &[]),
            tool("second", &gate("second"), &["first"]),
            {"id": "third", "name": "third", "kind": "actor", "description": "act", "dependencies": ["second"]},
        ]});
        for folder in ["here", "there"] {
            fs::write(self.root.join(folder).join("plan.json"), plan.to_string())?;
        }
        let go = ["run", "--plan", "plan.json", "--run-id", "three", "--approve", "all", "--unattended", "--output", "json"];

        fs::write(self.root.join("here/go-second"), "")?;
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let embedded = self.start("here", "embedded", &model.url(), &go)?.ended(0)?;

        let model = ScriptedServer::try_start(script(true), 0).context("the scripted model does not start")?;
        let (url, mut engine) = (model.url(), Server::start(&self.root)?);
        let address = engine.address();
        let on = format!("temporal://{address}");
        let runs = self.worker("there", "runs-1", &url, &address, "runs")?;
        let llm = self.worker("there", "llm-1", &url, &address, "llm")?;
        let _rest = self.worker("there", "rest", &url, &address, "planner,tools.files,tools.shell")?;
        let client = self.start("there", "client-1", &url, &[&go[..], &["--engine", &on]].concat())?;

        self.appears("there/at-second")?;
        drop(client);
        drop(runs);
        engine.crash()?;
        let _runs = self.worker("there", "runs-2", &url, &address, "runs")?;
        fs::write(self.root.join("there/go-second"), "")?;
        until("the model is asked", || Ok(!model.requests().is_empty()))?;
        drop(llm);
        let _llm = self.worker("there", "llm-2", &url, &address, "llm")?;
        let there = self.start("there", "client-2", &url, &["resume", "three", "--engine", &on, "--output", "json"])?.ended(0)?;

        self.record(&engine, "run", "aime-run-three", "there/.aime/blobs")?;
        self.record(&engine, "actor", "aime-run-three/third/1", "there/.aime/blobs")?;
        let (embedded, there) = (compared(embedded), compared(there));
        ensure!(embedded == there, "the result is another: {there:#}\nwhere one process gives {embedded:#}");
        let log = fs::read_to_string(self.root.join("there/log"))?;
        ensure!(log == "first\nsecond\nsecond ended\nactor\n", "calls were repeated, or lost: {log:?}");
        let asked = model.requests().len();
        Ok(format!(
            "after kills of a client, two workers and the engine, each call was made once ({asked} model requests) and the result equals a run in one process"
        ))
    }

    /// Kills the worker during a call that must not be repeated.
    fn a_call_cut_off(&self) -> Result<String> {
        let plan = json!({"goal": "one thing", "tasks": [tool("cut", &gate("cut"), &[])]});
        fs::write(self.root.join("cut/plan.json"), plan.to_string())?;
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let (url, folder) = (model.url(), self.root.join("cut"));
        let engine = Server::start(&folder)?;
        let address = engine.address();
        let on = format!("temporal://{address}");
        let _drives = self.worker("cut", "cut-runs", &url, &address, "runs,planner,tools.files")?;
        let shell = self.worker("cut", "cut-shell-1", &url, &address, "tools.shell")?;
        let go = ["run", "--plan", "plan.json", "--run-id", "cut", "--approve", "all", "--unattended", "--output", "json", "--engine", &on];
        let client = self.start("cut", "cut-client", &url, &go)?;
        self.appears("cut/at-cut")?;
        drop(shell);
        let _shell = self.worker("cut", "cut-shell-2", &url, &address, "tools.shell")?;
        let result = client.ended(1)?;
        self.record(&engine, "doubt", "aime-run-cut", "cut/.aime/blobs")?;
        fs::write(folder.join("go-cut"), "")?;
        let error = result.pointer("/tasks/0/error").and_then(Value::as_str).unwrap_or_default();
        ensure!(error.contains("unknown"), "the doubt is not told: {result:#}");
        let log = fs::read_to_string(folder.join("log"))?;
        ensure!(log.matches("cut\n").count() == 1, "the call was repeated: {log:?}");
        Ok("a call whose worker was killed is reported as in doubt and not repeated".to_owned())
    }

    /// Two hosts without a shared folder work on one run concurrently. Their changes are merged, and conflicts are reported.
    fn a_folder_goes_from_host_to_host(&self) -> Result<String> {
        let blobs = self.root.join("blobs").display().to_string();
        let (client, hosts) = (self.root.join("client"), ["host-1", "host-2"]);
        let parts = json!({"goal": "a page of two parts", "tasks": [
            tool("begin", "cat title > page", &[]),
            tool("left", &meeting("left", "echo left > left"), &["begin"]),
            tool("right", &meeting("right", "echo right > right"), &["begin"]),
            tool("join", "cat left right >> page", &["left", "right"]),
        ]});
        let across = json!({"goal": "a page twice", "tasks": [
            tool("this", &meeting("this", "touch met; echo this > page"), &[]),
            tool("that", &meeting("that", "touch met; echo that > page"), &[]),
        ]});
        for (name, text) in [("apart.json", parts.to_string()), ("across.json", across.to_string()), ("title", "title\n".to_owned())] {
            fs::write(client.join(name), text)?;
        }
        fs::write(client.join(".gitignore"), "*.key\n")?;
        fs::write(client.join("own.key"), "stays here")?;
        let key = self.root.join("payload.key").display().to_string();
        fs::write(&key, "5eed".repeat(16))?;

        // The planner learns of the conflict and keeps the plan unchanged.
        let unchanged = json!({"reasoning": "nothing helps", "changes": []});
        let script = script(false).on(When::schema("aime_patch"), [Reply::json(unchanged)]);
        let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&self.root.join("engine"))?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let serve = |folder: &str, serves: &str| {
            let arguments = ["worker", "--engine", &address, "--serve", serves, "--git-handoff", "--blobs", &blobs, "--payload-key", &key];
            self.start(folder, &format!("trees-{folder}"), &url, &arguments)
        };
        let _workers = [
            serve("drives", "runs,llm,planner")?,
            serve(hosts[0], "tools.files,tools.shell")?,
            serve(hosts[1], "tools.files,tools.shell")?,
        ];
        let run = |plan: &str, name: &str| {
            let plan = format!("{plan}.json");
            let arguments = ["run", "--plan", &plan, "--run-id", name, "--approve", "all", "--unattended", "--output", "json"];
            self.start(
                "client",
                name,
                &url,
                &[&arguments[..], &["--engine", &on, "--git-handoff", "--blobs", &blobs, "--payload-key", &key]].concat(),
            )
        };
        // Both are under way at once, each in its own folder without the changes of the other.
        let meet = |one: &str, other: &str| {
            until(&format!("{one} and {other} are on two hosts"), || {
                let at = |name: &str| hosts.iter().position(|host| self.root.join(host).join(format!("at-{name}")).exists());
                Ok(at(one).is_some() && at(other).is_some() && at(one) != at(other))
            })?;
            for host in hosts {
                fs::write(self.root.join(host).join("go"), "")?;
            }
            anyhow::Ok(())
        };

        let parts_run = run("apart", "apart")?;
        meet("left", "right").context("left and right")?;
        fs::write(client.join("meanwhile"), "a person's")?;
        let result = parts_run.ended(0)?;
        ensure!(fs::read_to_string(client.join("page"))? == "title\nleft\nright\n", "the work of both hosts is not joined: {result:#}");
        ensure!(fs::read_to_string(client.join("meanwhile"))? == "a person's", "what a person wrote meanwhile is lost");
        let strayed = hosts.iter().any(|host| self.root.join(host).join("own.key").exists());
        ensure!(!strayed, "what .gitignore names has left its host");

        self.record(&engine, "trees", "aime-run-apart", "blobs")?;

        let across = run("across", "across")?;
        meet("this", "that").context("this and that")?;
        let result = across.ended(1)?;
        let conflicts = result.pointer("/conflicts").and_then(Value::as_array).cloned().unwrap_or_default();
        let [conflict] = conflicts.as_slice() else { bail!("there is not one conflict: {result:#}") };
        let text = |name: &str| conflict.get(name).and_then(Value::as_str).unwrap_or_default();
        let (loser, kept) = (text("task"), text("kept"));
        let winner = if loser == "this" { "that" } else { "this" };
        ensure!((text("path"), text("kind")) == ("page", "text"), "another conflict: {conflict:#}");
        let attempts = |task: usize| result.pointer(&format!("/tasks/{task}/attempts")).and_then(Value::as_u64);
        ensure!((attempts(0), attempts(1)) == (Some(1), Some(1)), "nobody knows that doing it again would keep both: {result:#}");
        for (path, of) in [("page", winner), (kept, loser)] {
            let page = fs::read_to_string(client.join(path)).with_context(|| format!("{path} does not come back"))?;
            ensure!(page == format!("{of}\n"), "{path} is not of {of}: {page:?}");
        }
        let events = self
            .start(
                "client",
                "across-events",
                &url,
                &["runs", "events", "across", "--output", "jsonl", "--engine", &on, "--payload-key", &key, "--blobs", &blobs],
            )?
            .printed(0)?;
        let evidence = events.lines().filter(|event| event.contains("evidence_added") && event.contains(kept)).count();
        ensure!(evidence == 1, "the conflict is {evidence} pieces of evidence: {events}");

        // The names of runs are not encrypted, so finding one proves that the search works.
        ensure!(holds(&self.root.join("engine"), "aime-run-apart")?, "the name of the run is not found: the search is no good");
        for (place, words) in
            [("engine", "a page"), ("engine", "echo"), ("blobs", "git bundle"), ("blobs", "\"version\""), ("blobs", "a page")]
        {
            ensure!(!holds(&self.root.join(place), words)?, "{words:?} stands in {place} in plain text");
        }
        let summary = "two hosts without a common folder worked on one run at once: their changes were merged and returned, with both versions of a conflict";
        Ok(format!("{summary}, and no plain text was left in the engine or the blobs"))
    }

    /// The only worker of a place dies in a call and does not return.
    fn a_host_that_does_not_come_back(&self) -> Result<String> {
        let plan = json!({"goal": "one thing", "tasks": [tool("lost", &gate("lost"), &[])]});
        fs::write(self.root.join("lost/plan.json"), plan.to_string())?;
        let model = ScriptedServer::try_start(script(false), 0).context("the scripted model does not start")?;
        let (url, engine) = (model.url(), Server::start(&self.root.join("lost"))?);
        let (address, on) = (engine.address(), format!("temporal://{}", engine.address()));
        let worker = |name: &str, serves: &str| {
            self.start("lost", name, &url, &["worker", "--engine", &address, "--serve", serves, "--workspace", "box"])
        };
        let _drives = worker("lost-runs", "runs,planner,tools.files")?;
        let shell = worker("lost-shell", "tools.shell")?;
        let go =
            ["run", "--plan", "plan.json", "--run-id", "lost", "--approve", "all", "--unattended", "--output", "json", "--engine", &on];
        let client = self.start("lost", "lost-client", &url, &[&go[..], &["--workspace", "box", "--worker-timeout", "2s"]].concat())?;
        self.appears("lost/at-lost")?;
        drop(shell);
        let result = client.ended(1)?;
        let error = result.pointer("/tasks/0/error").and_then(Value::as_str).unwrap_or_default();
        self.record(&engine, "lost", "aime-run-lost", "lost/.aime/blobs")?;
        ensure!(error.contains("its host is lost") && error.contains("outcome is unknown"), "the lost host is not told: {result:#}");
        Ok("a host that did not come back is reported as lost, and its call as in doubt".to_owned())
    }
}
