//! Dashboard in the hands of a person who uses all functions, and attacked by a page of another origin.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::install::node_script;

const PACKAGE: &str = include_str!("package.json");
const PACKAGE_LOCK: &str = include_str!("package-lock.json");
const PERSON: &str = include_str!("person.mjs");

/// Serves the runs of a subfolder, uses them in the browser, and checks the results. Screenshots go to `folder`.
pub(super) fn drive(aime: &Path, browser: &Path, folder: &Path) -> Result<()> {
    let person = node_script(aime, "browser-person", [PACKAGE, PACKAGE_LOCK], ("person.mjs", PERSON))?;
    for name in ["kitchen", "home"] {
        fs::create_dir(folder.join(name))?;
    }
    fs::write(folder.join("kitchen").join("aime.toml"), "[triggers]\nmax_retries = 0\n")?;
    let server = ScriptedServer::try_start(script(), 0).context("the scripted model does not start")?;
    let mut serving = Serving::start(aime, folder, &server.url())?;
    let output = Command::new("node")
        .arg(person)
        .arg(browser)
        .arg(&serving.address)
        .arg(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("could not start node")?;
    ensure!(output.status.success(), "the person in front of the dashboard failed ({}); look into {}", output.status, folder.display());
    let seen: Value = serde_json::from_slice(&output.stdout).context("the person prints no JSON")?;
    serving.end()?;
    check(&seen).with_context(|| format!("the person saw {seen:#}"))
}

/// Returns the script of a plan with two tasks: the first needs consent and asks a question; the second fails, and is replaced by one that
/// asks a question too.
fn script() -> Script {
    let task = |id: &str, name: &str, dependencies: &[&str]| json!({"id": id, "name": name, "kind": "actor", "description": id.to_uppercase(), "dependencies": dependencies});
    let plan = json!({"goal": "clean dishes", "strategic": {"approach": "by hand"}, "tasks": [task("wash", "wash", &[]), task("dry", "dry", &["wash"])]});
    let patch = json!({"reasoning": "there is nothing to dry them with", "changes": [{"op": "add_task", "task": task("towel", "Fetch a towel", &[]), "replaces": ["dry"]}]});
    let ends = |status: &str, message: &str| Reply::call("terminate", json!({"status": status, "message": message}));
    let asks = |question: &str| Reply::call("ask_human", json!({"question": question}));
    let of = |text: &str| When::tools().and_contains(text);
    Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan)])
        .on(When::schema("aime_patch"), [Reply::json(patch)])
        .on(of("WASH").and_turn(0), [Reply::call("write_file", json!({"path": "soap.txt", "content": "much\n"}))])
        .on(of("WASH").and_turn(1), [Reply::call("bash", json!({"command": "cp soap.txt foam.txt"}))])
        .on(of("WASH").and_turn(2), [asks("Hot or cold?")])
        .on(of("WASH"), [ends("success", "washed")])
        .on(of("TOWEL").and_turn(0), [asks("Which towel?")])
        .on(of("TOWEL"), [ends("success", "fetched")])
        .on(When::tools(), [ends("failure", "there is no towel")])
        .on(When::plain(), [Reply::text("The dishes are done.")])
}

/// Checks what the person has seen.
fn check(seen: &Value) -> Result<()> {
    let at = |pointer: &str| seen.pointer(pointer).cloned().unwrap_or_default();
    ensure!(at("/list/token") == false && at("/list/heading") == "Runs", "the token stays in the address");
    ensure!(at("/consent") == json!(["yes", "no"]) || at("/consent") == json!(["yes", "always", "no"]), "there is no consent to give");
    ensure!(at("/watched") == true, "the page was loaded again");
    ensure!(at("/open") == true && at("/typed") == "half a sen", "what was open or typed is lost");
    ensure!(at("/grew").as_i64().is_some_and(|turns| turns > 0), "the conversation did not grow");
    ensure!(at("/same") == true, "what was sent in pieces is not what is sent whole");
    ensure!(at("/foundWithin").as_str().is_some_and(|found| found.ends_with("places")), "the search within the run finds nothing");
    ensure!(at("/cancelled").as_str().is_some_and(|status| status.contains("cancelled")), "the run was not cancelled");
    ensure!(at("/found").as_u64().is_some_and(|places| places > 0) && at("/leads") == "#?towel%20red", "the search finds nothing");
    ensure!(at("/compared").as_array().is_some_and(|rows| rows.contains(&json!("differs"))), "the two runs do not differ");
    ensure!(at("/sentCookie") == false, "another server of this machine was sent the cookie");
    ensure!(at("/read") == json!(["refused", "refused", "refused"]) && at("/posted") == 403, "a page of another origin was let in");
    ensure!(at("/runs") == 2, "a page of another origin has begun a run");
    ensure!(at("/said") == json!([]) && at("/foreign") == json!([]), "the pages said something, or asked for something of elsewhere");
    Ok(())
}

/// Process of `aime serve`.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(aime: &Path, folder: &Path, model: &str) -> Result<Self> {
        let mut command = Command::new(aime);
        command.arg("-C").arg(folder.join("kitchen")).args(["serve", "-q"]).stdin(Stdio::null()).stdout(Stdio::piped());
        for (name, place) in [("HOME", "home"), ("XDG_CONFIG_HOME", "home"), ("XDG_STATE_HOME", "home")] {
            command.env(name, folder.join(place));
        }
        // The script answers the planner that is asked for a whole plan, and not a lead.
        command.env("AIME__PLANNING__ROUTE", "rules").env("AIME_OFFLINE", "1").env("OPENAI_BASE_URL", model);
        let mut child = command.spawn().context("aime does not start")?;
        let mut address = String::new();
        BufReader::new(child.stdout.take().context("aime prints nothing")?).read_line(&mut address)?;
        Ok(Self { child, address: address.trim().to_owned() })
    }

    fn end(&mut self) -> Result<()> {
        self.child.kill().context("aime cannot be ended")?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The process may have ended already.
        drop(self.end());
    }
}
