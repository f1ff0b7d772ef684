//! Measures runs on an engine on this machine: duration and throughput by number of workers, and growth of histories.

use std::fs;
use std::time::Instant;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::World;
use crate::services::{History, Server};

/// Number of sequential calls of a run, and of turns of an actor before its last.
const STEPS: usize = 10;
/// Numbers of concurrent runs.
const AT_ONCE: [usize; 2] = [1, 16];
/// Numbers of workers, each of which serves everything.
const WORKERS: [usize; 3] = [1, 2, 4];

/// Kinds of steps.
const KINDS: [&str; 2] = ["calls", "turns"];

impl World {
    /// Measures, and prints tables in Markdown.
    pub(super) fn load(&self) -> Result<()> {
        let call = json!({"path": "."});
        let calls: Vec<Value> = (1..=STEPS)
            .map(|number| {
                let before: Vec<String> = (number > 1).then(|| format!("call-{}", number - 1)).into_iter().collect();
                json!({"id": format!("call-{number}"), "name": "call", "kind": "tool", "tool": "list_dir", "parameters": call, "dependencies": before})
            })
            .collect();
        let turns = vec![json!({"id": "act", "name": "act", "kind": "actor", "description": "act"})];
        for (kind, tasks) in KINDS.into_iter().zip([calls, turns]) {
            fs::write(self.root.join("load").join(format!("{kind}.json")), json!({"goal": "load", "tasks": tasks}).to_string())?;
        }
        println!(
            "| workers | runs at once | a run of {STEPS} calls, median | calls a second | an actor of {STEPS} turns, median | turns a second |"
        );
        println!("|---|---|---|---|---|---|");
        let mut sizes = Vec::new();
        for workers in WORKERS {
            let script = Script::new()
                .on(When::tools().and_turn(STEPS), [Reply::call("terminate", json!({"status": "success", "message": "acted"}))])
                .on(When::tools(), [Reply::call("list_dir", call.clone())])
                .on(When::plain(), [Reply::text("Done.")]);
            let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
            let (url, engine) = (model.url(), Server::start(&self.root.join("load"))?);
            let serve =
                |number| self.start("load", &format!("load-worker-{workers}-{number}"), &url, &["worker", "--engine", &engine.address()]);
            let _workers = (0..workers).map(serve).collect::<Result<Vec<_>>>()?;
            // The first run of each kind is not counted, since it includes one-time start-up.
            for kind in KINDS {
                self.at_once(kind, 1, (&format!("warm-{workers}"), &url, &engine.address()))?;
            }
            for at_once in AT_ONCE {
                let name = format!("w{workers}-n{at_once}");
                let measured = KINDS.map(|kind| self.at_once(kind, at_once, (&name, &url, &engine.address())));
                let [(run, calls), (actor, turns)] = measured.into_iter().collect::<Result<Vec<_>>>()?.try_into().unwrap_or_default();
                println!("| {workers} | {at_once} | {run} ms | {calls:.0} | {actor} ms | {turns:.0} |");
            }
            let name = |kind: &str| format!("aime-run-w{workers}-n1-{kind}-0");
            let histories = [name("calls"), format!("{}/act/1", name("turns")), name("turns")];
            sizes = histories.into_iter().map(|workflow| engine.history(&workflow)).collect::<Result<Vec<_>>>()?;
        }
        for (what, History { events, bytes }) in ["the run of calls", "the actor", "its run"].into_iter().zip(sizes) {
            println!("{what}: {events} events of {bytes} bytes");
        }
        Ok(())
    }

    /// Carries out `number` runs concurrently. Returns the median duration in milliseconds, and the steps per second of all runs.
    fn at_once(&self, kind: &str, number: usize, (name, model, address): (&str, &str, &str)) -> Result<(u64, f64)> {
        let (plan, on) = (format!("{kind}.json"), format!("temporal://{address}"));
        let begun = Instant::now();
        let run = |run| {
            let id = format!("{name}-{kind}-{run}");
            let go = ["run", "--plan", &plan, "--run-id", &id, "--approve", "all", "--unattended", "--output", "json", "--engine", &on];
            self.start("load", &id, model, &go)
        };
        let under_way = (0..number).map(run).collect::<Result<Vec<_>>>()?;
        let ended = under_way.into_iter().map(|process| process.ended(0)).collect::<Result<Vec<_>>>()?;
        let steps = number * STEPS;
        let a_second = steps as f64 / begun.elapsed().as_secs_f64();
        let mut took: Vec<u64> = ended.iter().filter_map(|result| result.get("duration_ms")?.as_u64()).collect();
        took.sort_unstable();
        Ok((took.get(took.len() / 2).copied().context("no run tells how long it took")?, a_second))
    }
}
