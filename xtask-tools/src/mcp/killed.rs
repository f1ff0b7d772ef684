//! Kills a server in the middle of a call: the actor is told, the server restarts with increasing delays, and the next call succeeds.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use aime_scripted_server::{Reply, Script, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::calls::Driven;
use super::install::Installed;
use super::processes;
use super::served::{self, Served};
use super::world::{RUN, World, done, last_result, model};

/// Tool with a long call.
const LONG: &str = "trigger-long-running-operation";
/// Duration of its call, in seconds.
const SECONDS: u64 = 300;
/// Delay of the first restart in `aime-tools`.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Delay after which an announced call has surely reached a running server.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// Kills the server process that aime has started.
pub(crate) fn over_stdio(world: &World, all: &[Driven], installed: &Installed) -> Result<()> {
    let everything = all.iter().find(|server| server.name == "everything").context("server-everything is not driven")?;
    world.configure(&everything.settings())?;
    let script = installed.script("server-everything");
    let pids = || processes::of(installed.folder()).into_iter().filter(|(_, line)| line.contains(&script)).map(|(pid, _)| pid);
    let mut killed = None;
    let report = actor(world, everything.name, || {
        let pid = pids().next().context("no process of server-everything is found")?;
        processes::kill(pid)?;
        killed = Some((pid, Instant::now()));
        Ok(())
    })?;
    let (pid, at) = killed.context("nothing was killed")?;
    ensure!(report.echoed_at.duration_since(at) >= FIRST_WAIT, "the server was started again at once");
    println!("{:<12} killed in mid-call (process {pid}): {}; the next call succeeds", "stdio", report.first_fault);
    Ok(())
}

/// Kills the server behind an address, and starts another one there.
pub(crate) fn over_http(world: &World, installed: &Installed) -> Result<()> {
    let mut served = Some(Served::everything(installed, None)?);
    let port = served.as_ref().map(Served::port);
    world.configure(&served.as_ref().map(Served::settings).unwrap_or_default())?;
    let mut again = None;
    let report = actor(world, served::NAME, || {
        drop(served.take());
        again = Some(Served::everything(installed, port)?);
        Ok(())
    })?;
    println!("{:<12} killed in mid-call: {}; a later call succeeds", "HTTP", report.first_fault);
    Ok(())
}

/// Observations of an actor.
struct Observed {
    first_fault: String,
    echoed_at: Instant,
}

/// Runs an actor that calls the server, then makes a long call during which `disturb` runs, and then repeats its call until it succeeds.
fn actor(world: &World, server: &str, disturb: impl FnOnce() -> Result<()>) -> Result<Observed> {
    let echo = |message: &str| Reply::call(format!("mcp__{server}__echo"), json!({"message": message}));
    let long = format!("mcp__{server}__{LONG}");
    let script = Script::new()
        .on(When::tools().and_turn(0), [echo("before")])
        .on(When::tools().and_turn(1), [Reply::call(long.clone(), json!({"duration": SECONDS, "steps": SECONDS}))])
        .on(When::tools().and_contains("Echo: after"), [done()])
        .on(When::tools(), [echo("after")]);
    let model = model(script)?;
    let mut child = world.command(&RUN).env("OPENAI_BASE_URL", model.url()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let lines = BufReader::new(child.stdout.take().context("aime has no output")?).lines();
    let (mut disturb, mut echoed_at, mut last) = (Some(disturb), None, Value::Null);
    for line in lines {
        last = serde_json::from_str(&line?)?;
        let is = |kind: &str, tool: &str| {
            last.get("type").is_some_and(|found| found == kind) && last.get("tool").is_some_and(|found| found == tool)
        };
        if is("tool_call_started", &long)
            && let Some(disturb) = disturb.take()
        {
            sleep(ON_ITS_WAY);
            disturb()?;
        }
        if is("tool_call_finished", &format!("mcp__{server}__echo")) {
            echoed_at = Some(Instant::now());
        }
    }
    let status = child.wait()?;
    let answers: Vec<String> = model.requests().iter().skip(2).map(last_result).collect();
    let first_fault = answers.first().cloned().unwrap_or_default();
    ensure!(first_fault.contains("in the middle of the call"), "the actor is not told that the server was lost, but: {first_fault}");
    ensure!(answers.last().is_some_and(|answer| answer.contains("Echo: after")), "no later call succeeds: {answers:?}");
    ensure!(status.success(), "the run failed ({status}): {last}");
    Ok(Observed { first_fault, echoed_at: echoed_at.context("no call came back")? })
}
