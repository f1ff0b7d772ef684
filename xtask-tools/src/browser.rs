//! `cargo xtask scenario browser`: shows the report of a hostile run, and the dashboard, in Chromium.
//!
//! No page may write to the console or send a request elsewhere; its own scripts must run, and no others. Screenshots (light, dark and
//! narrow) are kept for inspection. It needs Chromium, Node.js and npm's package index, so it is not part of `cargo test`.

mod dashboard;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use xtask::fresh_folder;
use xtask::workspace::{build_aime, program_on_path, run};

/// Names of Chromium's program.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Text that the run writes everywhere. If any of it is more than text in the page, the page writes to the console.
const WORST: &str = "</script></style></title></svg><script>console.log('acted')</script><img src=http://acted.test/i onerror=console.log('acted')>\
    [a](javascript:console.log('acted')) \u{202e}gpj.exe 数字";

/// Options that keep Chromium from using the network itself, and from features that a container lacks.
const QUIET: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--hide-scrollbars",
    // Any request that is still made finds no host.
    "--host-resolver-rules=MAP * ~NOTFOUND",
];

/// Runs the scenario.
pub(crate) fn drive() -> Result<()> {
    let browser = Browser { program: chromium()?, folder: fresh_folder("aime-browser")? };
    let aime = build_aime(&["--no-default-features"])?;
    let page = browser.folder.join("report.html");
    make(&aime, &browser.folder, &page)?;

    let plain = browser.open("plain", &page, "")?;
    plain.is_quiet()?;
    plain.shows("<div id=\"search\" role=\"search\">", "its own script has run")?;
    ensure!(plain.dom.matches("<script").count() == 1, "there is a script that is not the page's own");
    let linked = browser.open("linked", &page, "#task-2")?;
    linked.is_quiet()?;
    linked.shows("id=\"task-2\" data-item=\"\" open=\"\"", "a link to a task opens it")?;
    let searched = browser.open("searched", &page, "#?%E8%BF%87%E6%A1%A5")?;
    searched.is_quiet()?;
    searched
        .shows("aria-live=\"polite\">8 places</p>", "a search in Chinese finds the answer, the tasks, the file and what is said of them")?;
    let answer = browser.open("answer", &page, "#?goal%20was%20not%20reached")?;
    answer.is_quiet()?;
    answer.shows("aria-live=\"polite\">1 place</p>", "a search finds what only the answer says")?;
    browser.picture("light", &page, &["--window-size=1280,2400"])?;
    browser.picture("dark", &page, &["--window-size=1280,2400", "--blink-settings=preferredColorScheme=0"])?;
    browser.picture("narrow", &page, &["--window-size=500,2400"])?;
    dashboard::drive(&aime, &browser.program, &browser.folder)?;
    println!("scenario browser passed: nothing on the console, no request; look at the pictures in {}", browser.folder.display());
    Ok(())
}

/// Finds Chromium, or installs it by Debian's package client.
fn chromium() -> Result<PathBuf> {
    let found = || NAMES.into_iter().find_map(program_on_path);
    if let Some(program) = found() {
        return Ok(program);
    }
    let install = run(Command::new("apt-get").args(["install", "--yes", "--no-install-recommends", "chromium", "fonts-wqy-microhei"]));
    install.context("install Chromium (Debian, as root: apt-get update && apt-get install chromium)")?;
    found().context("Chromium was installed and is not on the PATH")
}

/// Creates a run of tool tasks, which needs no model, and its report.
fn make(aime: &Path, folder: &Path, page: &Path) -> Result<()> {
    let work = folder.join("work");
    fs::create_dir(&work)?;
    let tool = |id: &str, name: &str, tool: &str, parameters: Value, dependencies: &[&str]| json!({"id": id, "name": name, "kind": "tool", "tool": tool, "parameters": parameters, "dependencies": dependencies});
    let plan = json!({"goal": format!("Cross the river {WORST}"), "strategic": {"approach": WORST, "risks": [{"description": WORST, "mitigation": WORST}]}, "tasks": [
        tool("look", "Look for a way", "list_dir", json!({"path": "."}), &[]),
        tool("way", "写下怎样过桥", "write_file", json!({"path": "way.html", "content": format!("过桥\n{WORST}\n")}), &["look"]),
        tool("say", WORST, "bash", json!({"command": "cat way.html; seq 1 9000"}), &["way"]),
        tool("lost", "Read what is not there", "read_file", json!({"path": "nowhere"}), &["look"]),
    ]});
    fs::write(work.join("plan.json"), plan.to_string())?;
    let command = |arguments: &[&str]| {
        Command::new(aime)
            .arg("-C")
            .arg(&work)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .context("aime does not start")
    };
    let plan = work.join("plan.json");
    let code = command(&["run", "--plan", &plan.to_string_lossy(), "--run-id", "river", "--approve", "all", "--unattended", "-q"])?.code();
    ensure!(code == Some(1), "a run with a task that fails ended with {code:?}");
    ensure!(command(&["runs", "report", "river", "-o", &page.to_string_lossy()])?.success(), "there is no report");
    Ok(())
}

/// Chromium, with a folder for its profile.
struct Browser {
    program: PathBuf,
    folder: PathBuf,
}

/// Page that was opened.
struct Opened {
    dom: String,
    /// Console output.
    console: Vec<String>,
    /// Addresses that it requested besides its own.
    requests: Vec<String>,
}

impl Browser {
    fn command(&self, page: &Path, place: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(QUIET).arg(format!("--user-data-dir={}", self.folder.join("profile").display()));
        command.arg(format!("file://{}{place}", page.display())).stdin(Stdio::null());
        command
    }

    /// Opens a page and waits until its startup script is done.
    fn open(&self, name: &str, page: &Path, place: &str) -> Result<Opened> {
        let log = self.folder.join(format!("{name}.net.json"));
        let mut command = self.command(page, place);
        command
            .args(["--dump-dom", "--virtual-time-budget=3000", "--enable-logging=stderr"])
            .arg(format!("--log-net-log={}", log.display()));
        let output = command.output().context("Chromium does not start")?;
        ensure!(output.status.success(), "Chromium failed ({})", output.status);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let console = stderr.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
        Ok(Opened { dom: String::from_utf8_lossy(&output.stdout).into_owned(), console, requests: requests(&log)? })
    }

    fn picture(&self, name: &str, page: &Path, options: &[&str]) -> Result<()> {
        let picture = self.folder.join(format!("{name}.png"));
        let status = self.command(page, "").args(options).arg(format!("--screenshot={}", picture.display())).stderr(Stdio::null()).status();
        ensure!(status.context("Chromium does not start")?.success() && picture.is_file(), "there is no picture {name}");
        Ok(())
    }
}

/// Returns the addresses that a page has requested, from a network log. Requests of Chromium's own services do not count.
fn requests(log: &Path) -> Result<Vec<String>> {
    let log: Value = serde_json::from_str(&fs::read_to_string(log).context("Chromium kept no log of the network")?)?;
    let events = log.get("events").and_then(Value::as_array).context("the log of the network has no events")?;
    let asked = events.iter().filter_map(|event| {
        let parameters = event.get("params")?;
        let (url, by) = (parameters.get("url")?.as_str()?, parameters.get("initiator").and_then(Value::as_str).unwrap_or_default());
        let own = by == "not an origin" || by.is_empty();
        (url.starts_with("http") && (!own || url.contains("acted"))).then(|| url.to_owned())
    });
    Ok(asked.collect())
}

impl Opened {
    fn is_quiet(&self) -> Result<()> {
        if let Some(line) = self.console.first() {
            bail!("the page said on the console: {line}");
        }
        if let Some(asked) = self.requests.first() {
            bail!("the page asked for {asked}");
        }
        Ok(())
    }

    fn shows(&self, text: &str, what: &str) -> Result<()> {
        ensure!(self.dom.contains(text), "not so: {what} ({text} is not in the page)");
        Ok(())
    }
}
