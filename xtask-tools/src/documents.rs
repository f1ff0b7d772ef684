//! `cargo xtask scenario documents`: runs the cargo commands of the documents literally in a clone of this repository.
//!
//! The scenarios of `aime` run the `aime` commands. The model is scripted, except for commands that use a local model. A clone contains
//! what is committed. It is built in its own folder, which is kept for the next time.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use xtask::workspace::{root, run, target_folder};

/// Longest time of a command, which only a full release build needs.
const DEADLINE: Duration = Duration::from_secs(60 * 60);
/// Time that a command has to end after Ctrl-C.
const GRACE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(200);
/// Time that a command must continue after its first output.
const GOES_ON: Duration = Duration::from_secs(2);

/// End of a command.
#[derive(Debug, Clone, Copy)]
enum End {
    /// It ends by itself, successfully.
    Well,
    /// It runs for long and is ended by Ctrl-C after an output line that begins with one of these, where `N` is a number.
    AfterWords(&'static [&'static str]),
    /// It serves the rest of its block, and is ended with the block.
    WithItsBlock(&'static [&'static str]),
    /// It is run elsewhere. The text names the place.
    Elsewhere(&'static str),
}

/// Commands that do not end successfully by themselves within minutes, by their prefixes. The first match counts.
const OTHERWISE: [(&str, End); 13] = [
    ("cargo xtask test", End::Elsewhere("`.ci/run` runs it, and is run for every change")),
    ("cargo xtask evaluate --tables", End::Well),
    ("cargo xtask evaluate", End::AfterWords(&["N/"])),
    ("cargo xtask bench --local", End::AfterWords(&["| "])),
    ("cargo xtask bench", End::AfterWords(&["measured: "])),
    ("cargo xtask reliability --seed", End::Well),
    ("cargo xtask reliability --long", End::Well),
    ("cargo xtask reliability --soak", End::AfterWords(&["memory: "])),
    ("cargo xtask reliability", End::AfterWords(&["runs by chance: "])),
    ("cargo xtask services", End::AfterWords(&["Temporal on "])),
    ("cargo xtask model serve", End::AfterWords(&["serving; "])),
    ("cargo xtask run --server", End::AfterWords(&["$ aime run "])),
    // It fuzzes, or reports what is missing.
    ("cargo xtask fuzz", End::AfterWords(&["#", "error: libFuzzer needs", "error: cargo fuzz is not there"])),
];
/// Serves the rest of its block, on a port that it prints.
const SERVES: (&str, End) = ("cargo run --release -p aime-bench -- serve", End::WithItsBlock(&["{\"url\""]));

/// Environment of the commands.
struct World {
    place: PathBuf,
    clone: PathBuf,
    model: ScriptedServer,
}

/// Started command with its output so far. When this is dropped, it and its children are killed.
struct Typed {
    child: Child,
    log: PathBuf,
}

/// Returns the documents of a checkout for users of aime, its crates or its tasks.
pub(crate) fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    found.extend(crates.map(|entry| entry.path().join("README.md")).filter(|readme| readme.is_file()));
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the cargo commands in each block of a document.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```").filter(|language| !language.is_empty()) else { continue };
        let block = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```"));
        let typed = block.filter_map(|line| match language {
            "sh" | "bash" | "console" => Some(line.trim_start().trim_start_matches("$ ")),
            // Commands in output blocks begin with `$ `.
            "text" => line.strip_prefix("$ "),
            _ => None,
        });
        blocks.push(typed.filter(|line| line.starts_with("cargo ")).collect::<Vec<_>>());
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// Returns true if a line begins with a word. A leading `N` of the word matches a number.
fn begins(line: &str, word: &str) -> bool {
    match word.strip_prefix('N') {
        Some(word) => {
            line.starts_with(|first: char| first.is_ascii_digit())
                && line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(word)
        }
        None => line.starts_with(word),
    }
}

fn end_of(line: &str) -> End {
    let known = [SERVES].into_iter().chain(OTHERWISE);
    known.into_iter().find(|(start, _)| line.starts_with(start)).map_or(End::Well, |(_, end)| end)
}

/// Runs all commands, or those that contain `part`.
pub(crate) fn drive(part: Option<&str>) -> Result<()> {
    let begun = Instant::now();
    let place = target_folder().join("documents");
    drop(fs::remove_dir_all(&place));
    let clone = place.join("aime");
    fs::create_dir_all(&place)?;
    run(Command::new("git").args(["clone", "--quiet"]).arg(root()).arg(&clone))?;
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("write_file", json!({"path": "haiku.txt", "content": "waves\n"}))])
        .on(When::tools(), [Reply::call("terminate", json!({"status": "success", "message": "it is written"}))])
        .on(When::any(), [Reply::text("Done.")]);
    let model = ScriptedServer::try_start(script, 0).context("the scripted model does not start")?;
    let world = World { place, clone, model };
    let mut seen = BTreeSet::new();
    for document in documents(&world.clone) {
        let text = fs::read_to_string(&document)?;
        for block in blocks(&text) {
            let mut serving: Option<Typed> = None;
            for line in block.iter().filter(|line| part.is_none_or(|part| line.contains(part))) {
                // A comment at the end is for people.
                if !seen.insert(line.split(" #").next().unwrap_or(line).trim_end().to_owned()) {
                    continue;
                }
                let place = document.strip_prefix(&world.clone).unwrap_or(&document).display().to_string();
                world.typed(line, &mut serving, seen.len()).with_context(|| format!("{place}: {line}"))?;
            }
            serving.into_iter().try_for_each(Typed::interrupted)?;
        }
    }
    ensure!(!seen.is_empty(), "no document has such a line");
    if part.is_none() {
        for (start, _) in OTHERWISE.iter().chain([&SERVES]) {
            ensure!(seen.iter().any(|line| line.starts_with(start)), "no document has {start}");
        }
    }
    println!("scenario documents passed in {} s: {} lines were typed as they stand", begun.elapsed().as_secs(), seen.len());
    Ok(())
}

impl World {
    fn typed(&self, line: &str, serving: &mut Option<Typed>, number: usize) -> Result<()> {
        let end = end_of(line);
        if let End::Elsewhere(why) = end {
            eprintln!("{line}: {why}");
            return Ok(());
        }
        let port = serving.as_ref().and_then(Typed::port);
        let line = port.map_or_else(|| line.to_owned(), |port| line.replace("PORT", &port));
        eprintln!("$ {line}");
        // A command that reads its input would end immediately without one.
        let input = if matches!(end, End::WithItsBlock(_)) { Stdio::piped() } else { Stdio::null() };
        let mut typed = self.start(&line, input, number)?;
        match end {
            End::AfterWords(words) => {
                typed.begins(words)?;
                typed.interrupted()?;
            }
            End::WithItsBlock(words) => {
                typed.begins(words)?;
                *serving = Some(typed);
            }
            End::Well | End::Elsewhere(_) => {
                let code = typed.ended(DEADLINE)?;
                ensure!(code == Some(0), "it ended with {code:?}; {} says why", typed.log.display());
                self.came_of(&line, &typed)?;
            }
        }
        Ok(())
    }

    /// Starts a command in its own process group, like a terminal, so that Ctrl-C can go to the group.
    fn start(&self, line: &str, input: Stdio, number: usize) -> Result<Typed> {
        let log = self.place.join(format!("{number}.log"));
        // A background shell makes its children ignore Ctrl-C, so the default is restored.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", "bash", "-c", line]).current_dir(&self.clone).process_group(0);
        // Variables that cargo sets for this task's package do not exist in a user's shell.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
                command.env_remove(name);
            }
        }
        for folder in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"] {
            command.env(folder, self.place.join("home"));
        }
        // With the target folder of this checkout, cargo would mistake the clone's builds for its own.
        command.env("CARGO_TARGET_DIR", target_folder().join("documents-target")).env("CARGO_INSTALL_ROOT", self.place.join("installed"));
        command.env("OPENAI_BASE_URL", self.model.url()).env("AIME_MODEL", "scripted");
        let kept = File::create(&log)?;
        command.stdin(input).stdout(kept.try_clone()?).stderr(kept);
        Ok(Typed { child: command.spawn().context("env does not start")?, log })
    }

    /// Checks that a command has done what it claims.
    fn came_of(&self, line: &str, typed: &Typed) -> Result<()> {
        if line.starts_with("cargo install") {
            let version = Command::new(self.place.join("installed/bin/aime")).arg("--version").status().context("nothing was installed")?;
            ensure!(version.success(), "what was installed does not tell its version");
        }
        if line.starts_with("cargo xtask run") {
            ensure!(typed.text()?.contains("new in it: haiku.txt"), "no file was made; {} says why", typed.log.display());
        }
        Ok(())
    }
}

impl Typed {
    fn text(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.log)?).into_owned())
    }

    /// Returns the port that it serves on.
    fn port(&self) -> Option<String> {
        let text = self.text().ok()?;
        let (_, after) = text.split_once("http://127.0.0.1:")?;
        Some(after.chars().take_while(char::is_ascii_digit).collect())
    }

    /// Waits until it prints a line that begins with one of these words and continues, or ends with such a line.
    fn begins(&mut self, words: &[&str]) -> Result<()> {
        let begun = Instant::now();
        loop {
            let ended = self.child.try_wait()?.is_some();
            let text = self.text()?;
            if text.lines().any(|line| words.iter().any(|word| begins(line, word))) {
                sleep(GOES_ON);
                // It may have ended successfully, or with an error that is among the words.
                let failed = self.child.try_wait()?.is_some_and(|status| !status.success());
                let is_expected =
                    self.text()?.lines().any(|line| line.starts_with("error: ") && words.iter().any(|word| line.starts_with(word)));
                ensure!(!failed || is_expected, "it failed after that; {} says why", self.log.display());
                return Ok(());
            }
            ensure!(!ended, "it ended before it worked; {} says why", self.log.display());
            ensure!(begun.elapsed() < DEADLINE, "it does not work; {} says how far it came", self.log.display());
            sleep(LOOK);
        }
    }

    /// Waits for its end and returns its exit code.
    fn ended(&mut self, within: Duration) -> Result<Option<i32>> {
        let begun = Instant::now();
        while begun.elapsed() < within {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code());
            }
            sleep(LOOK);
        }
        bail!("it does not end; {} says how far it came", self.log.display())
    }

    /// Sends Ctrl-C. It must end, with all its children.
    fn interrupted(mut self) -> Result<()> {
        self.signal("-INT");
        self.ended(GRACE)?;
        let begun = Instant::now();
        while self.signal("-0") {
            ensure!(begun.elapsed() < GRACE, "what it started goes on after Ctrl-C");
            sleep(LOOK);
        }
        Ok(())
    }

    /// Sends a signal to its group. Returns true if the group has a process.
    fn signal(&self, signal: &str) -> bool {
        let group = format!("-{}", self.child.id());
        let status = Command::new("kill").args([signal, "--", &group]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for Typed {
    fn drop(&mut self) {
        self.signal("-KILL");
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_at_cargo_is_found_in_blocks() {
        let text = "`cargo inline`\n```sh\ncargo one   # why\naime two\n```\n```text\n$ cargo three\ncargo printed this\n```\n```toml\ncargo = 1\n```\n";
        assert_eq!(blocks(text), [vec!["cargo one   # why"], vec!["cargo three"]]);
    }

    #[test]
    fn a_word_may_begin_with_a_number() {
        for (line, word, expected) in
            [("17/48 page", "N/", true), ("/48 page", "N/", false), ("48 trials", "N/", false), ("| a", "| ", true)]
        {
            assert_eq!(begins(line, word), expected, "{line}");
        }
    }

    #[test]
    fn every_line_that_ends_otherwise_stands_in_a_document() {
        let texts: Vec<String> = documents(&root()).iter().map(|document| fs::read_to_string(document).unwrap()).collect();
        let lines: Vec<&str> = texts.iter().flat_map(|text| blocks(text)).flatten().collect();
        for (start, _) in OTHERWISE.iter().chain([&SERVES]) {
            assert!(lines.iter().any(|line| line.starts_with(start)), "no document has {start}");
        }
        assert!(lines.len() > 30, "{lines:?}");
    }

    #[test]
    fn the_recipe_for_a_pipeline_is_a_workflow_in_which_a_goal_is_no_script() {
        let text = fs::read_to_string(root().join("docs/src/guide/ci.md")).unwrap();
        let recipe = text.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
        let workflow: serde_json::Value = serde_saphyr::from_str(recipe).unwrap();
        let goal = workflow.pointer("/on/workflow_dispatch/inputs/goal").unwrap();
        assert_eq!(goal["required"], true);
        let scripts = workflow.pointer("/jobs/goal/steps").and_then(serde_json::Value::as_array).unwrap().iter();
        let scripts: Vec<&str> = scripts.filter_map(|step| step["run"].as_str()).collect();
        let works = |line: &str| line.contains("aime run ") && line.contains(" -- \"$GOAL\" ");
        assert!(scripts.iter().any(|script| script.lines().any(works)), "a goal is no option either: {scripts:?}");
        for script in scripts {
            assert!(!script.contains("${{"), "{script}");
            assert!(Command::new("bash").args(["-n", "-c", script]).status().unwrap().success(), "{script}");
        }
    }
}
