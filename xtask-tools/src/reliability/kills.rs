//! Kills real processes with SIGKILL at chosen points, resumes them, and compares the result with an undisturbed run.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use xtask::fresh_folder;

/// Prefix of the folders in which runs are killed.
pub(super) const FOLDER: &str = "aime-kill";
/// Largest number of events before a kill.
const EVENTS: u64 = 60;
/// Effects of a run.
const EFFECTS: [&str; 5] = ["FIRST", "ONE-FOOT", "OTHER-FOOT", "BETWEEN", "LAST"];
/// Time after which a process counts as hanging.
const DEADLINE: Duration = Duration::from_secs(120);

/// Statistics of the kills.
#[derive(Default)]
pub(super) struct Kills {
    at_events: u64,
    at_effects: u64,
    too_late: u64,
    in_doubt: u64,
    resumes: u64,
}

impl fmt::Display for Kills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_events, at_effects, too_late, in_doubt, resumes } = self;
        let killed = at_events + at_effects;
        write!(
            f,
            "real processes killed: {killed} (after an event {at_events}, in an effect {at_effects}); resumed {resumes} times; ended before the \
             kill {too_late}; with a call in doubt {in_doubt}; effects repeated in silence: 0"
        )
    }
}

/// Point at which a process is killed.
#[derive(Debug, Clone, Copy)]
enum Point {
    /// After this number of events in its output.
    Event(u64),
    /// After this number of visible effects.
    Effect(u64),
}

impl Kills {
    /// Kills `count` processes, each with its own run. Every fourth one is killed again after its resume.
    pub(super) fn try_many(&mut self, program: &Path, count: u64, seed: u64) -> Result<()> {
        let server = ScriptedServer::start_blocking(script());
        let until = self.killed() + count;
        for number in seed.. {
            if self.killed() >= until {
                break;
            }
            // The multiplication by a large prime scatters the points.
            let chance = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16;
            let point =
                if number.is_multiple_of(2) { Point::Event(1 + chance % EVENTS) } else { Point::Effect(1 + chance % EFFECTS.len() as u64) };
            let run = Run::new(program, &server)?;
            self.kill(&run, point, number).with_context(|| format!("kill {number}, {point:?}; look into {}", run.folder.display()))?;
            fs::remove_dir_all(&run.folder).ok();
        }
        Ok(())
    }

    const fn killed(&self) -> u64 {
        self.at_events + self.at_effects
    }

    fn kill(&mut self, run: &Run, point: Point, number: u64) -> Result<()> {
        let begin = ["run", "--plan", "plan.json", "--run-id", "trip", "--approve", "all", "--output", "jsonl"];
        let go_on = ["resume", "trip", "--output", "jsonl"];
        let mut killed = run.until(&begin, point)?;
        if killed && number.is_multiple_of(4) {
            // The second process of the same run is killed too.
            killed = run.until(&go_on, Point::Event(1 + number % 9))?;
            self.resumes += 1;
        }
        match (killed, point) {
            (false, _) => self.too_late += 1,
            (true, Point::Event(_)) => self.at_events += 1,
            (true, Point::Effect(_)) => self.at_effects += 1,
        }
        let again = if run.begun()? { &go_on[..] } else { &begin[..] };
        let output = run.command(again).stdin(Stdio::null()).stderr(Stdio::null()).output().context("aime does not start")?;
        self.resumes += 1;
        let text = String::from_utf8_lossy(&output.stdout);
        let result: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).context("it gave no result")?;
        let events = run.command(&["runs", "events", "trip", "--output", "jsonl"]).output()?;
        let events = String::from_utf8_lossy(&events.stdout);
        let doubts =
            events.lines().filter(|line| line.contains("\"outcome\":\"in_doubt\"") || line.contains("\"outcome\":\"cancelled\"")).count();
        self.in_doubt += u64::from(doubts > 0);
        let log = run.log()?;
        for effect in EFFECTS {
            let seen = log.lines().filter(|line| *line == effect).count();
            ensure!(seen <= 1, "{effect} was repeated in silence: {log}");
            ensure!(seen == 1 || doubts > 0, "{effect} is lost, and nothing is in doubt: {log}\n{result}");
        }
        // Two tasks that run at once change the text, one of them in a private folder.
        let text = fs::read_to_string(run.folder.join("text"))?;
        let known: Vec<String> = ["one", "1"].iter().flat_map(|one| ["seven", "7"].map(|seven| text_of(one, seven))).collect();
        ensure!(known.contains(&text), "the text is neither as before an edit nor as after it: {text}");
        ensure!(doubts > 0 || text == text_of("1", "7"), "an edit is lost: {text}");
        let status = result.get("status").and_then(Value::as_str).unwrap_or_default();
        ensure!(["completed", "failed"].contains(&status), "it is left unfinished: {result}");
        let tasks = result.get("tasks").and_then(Value::as_array).map_or(0, Vec::len);
        ensure!(tasks >= 4, "a task is lost: {result}");
        if doubts == 0 {
            ensure!(
                output.status.success() && result.get("answer").is_some_and(|answer| answer == "Both feet."),
                "it ends otherwise than a run that nobody killed: {result}"
            );
        }
        let checked = run.command(&["runs", "check", "trip"]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        ensure!(checked.success(), "`aime runs check` finds fault with it");
        Ok(())
    }
}

/// Run in its own folder.
struct Run {
    folder: PathBuf,
    program: PathBuf,
    url: String,
}

impl Run {
    fn new(program: &Path, server: &ScriptedServer) -> Result<Self> {
        let folder = fresh_folder(FOLDER)?;
        let effect = |name: &str| json!({"command": command(name)});
        let plan = json!({"tasks": [
            {"id": "first", "kind": "tool", "tool": "bash", "parameters": effect("FIRST")},
            {"id": "one", "kind": "actor", "description": "ONE-STEP of two", "dependencies": ["first"]},
            {"id": "between", "kind": "tool", "tool": "bash", "parameters": effect("BETWEEN"), "dependencies": ["first"]},
            {"id": "last", "kind": "tool", "tool": "bash", "parameters": effect("LAST"), "dependencies": ["one", "between"]},
        ]});
        fs::write(folder.join("plan.json"), plan.to_string())?;
        fs::write(folder.join("text"), text_of("one", "seven"))?;
        Ok(Self { folder, program: program.to_owned(), url: server.url() })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.folder).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", &self.folder).env("AIME_OFFLINE", "1").env("OPENAI_BASE_URL", &self.url);
        command
    }

    /// Returns the effects in the working folder.
    fn log(&self) -> Result<String> {
        let logs = EFFECTS.iter().map(|name| self.folder.join(format!("{name}.log"))).filter(|path| path.exists());
        Ok(logs.map(fs::read_to_string).collect::<std::io::Result<Vec<_>>>()?.concat())
    }

    /// Returns the number of different effects in the working folder and the private ones.
    fn effects(&self) -> usize {
        let private = fs::read_dir(self.folder.join(".aime/runs/trip/private")).into_iter().flatten();
        let mut folders: Vec<PathBuf> = private.filter_map(|home| Some(home.ok()?.path().join("folder"))).collect();
        folders.push(self.folder.clone());
        EFFECTS.iter().filter(|name| folders.iter().any(|folder| folder.join(format!("{name}.log")).exists())).count()
    }

    /// Returns true if the journal has the run.
    fn begun(&self) -> Result<bool> {
        let shown = self.command(&["runs", "show", "trip"]).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        Ok(shown.success())
    }

    /// Continues the run and kills it at a point. Returns false if it ended before.
    fn until(&self, words: &[&str], point: Point) -> Result<bool> {
        // A kill by effects needs no output.
        let stdout = if matches!(point, Point::Event(_)) { Stdio::piped() } else { Stdio::null() };
        let mut child = self.command(words).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn()?;
        let begun = Instant::now();
        match (point, child.stdout.take()) {
            (Point::Event(count), Some(stdout)) => {
                // The iterator ends early if the process does.
                let _lines = BufReader::new(stdout).lines().take(usize::try_from(count)?).count();
            }
            (Point::Event(count) | Point::Effect(count), _) => {
                while self.effects() < usize::try_from(count)? && child.try_wait()?.is_none() {
                    ensure!(begun.elapsed() < DEADLINE, "it hangs");
                    sleep(Duration::from_millis(1));
                }
            }
        }
        let ended = child.try_wait()?.is_some();
        // On Unix this is SIGKILL.
        child.kill().ok();
        child.wait()?;
        Ok(!ended)
    }
}

/// Returns the command of an effect. Two of them change the text.
fn command(name: &str) -> String {
    let edit = match name {
        "OTHER-FOOT" => "; sed -i 's/one/1/' text",
        "BETWEEN" => "; sed -i 's/seven/7/' text",
        _ => "",
    };
    format!("echo {name} >> {name}.log{edit}")
}

fn text_of(one: &str, seven: &str) -> String {
    format!("{one}\ntwo\nthree\nfour\nfive\nsix\n{seven}\n")
}

fn script() -> Script {
    let bash = |name: &str| Reply::call("bash", json!({"command": command(name)}));
    let done = || Reply::call("terminate", json!({"status": "success", "message": "a step"}));
    Script::new()
        // The lead answers when the tasks have ended.
        .on(When::tool("submit_plan"), [Reply::call("terminate", json!({"status": "success", "message": "Both feet."}))])
        .on(When::tools().and_contains("ONE-STEP").and_turn(0), [bash("ONE-FOOT")])
        .on(When::tools().and_contains("ONE-STEP").and_turn(1), [bash("OTHER-FOOT")])
        .on(When::tools(), [done()])
        .on(When::schema("aime_patch"), [Reply::json(json!({"reasoning": "nothing can be done", "changes": []}))])
        .on(When::plain(), [Reply::text("Both feet.")])
}
