//! Tasks in the formats of other benchmarks: terminal-bench, harbor (terminal-bench 2) and exercism.
//!
//! They are supported as far as a folder without a container allows. Paths of the container are mapped to places in the folder. Programs
//! that the image would install are listed, not installed.

mod image;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use aime_messages::{Message, message};
use serde::Deserialize;
use serde_json::Value;

use self::image::Image;
use crate::suite::{Task, TaskBounds, TaskFiles};

/// Folder below the working folder for files that a run of these tasks must not see.
pub(crate) const KEPT_BACK: &str = ".check";
/// Placeholder of the working folder in scripts and files of tests, replaced before use: a variable would not work in every kind of quotes.
pub(crate) const FOLDER: &str = "@AIME_FOLDER@";
/// Place of the hidden files of these tasks below the working folder, after the run.
const TESTS: &str = ".check/tests";
/// Folder in which a harbor check writes its reward.
const LOGS: &str = ".check/logs";

/// A task with notes on missing requirements, or the reason why it is not supported.
type Read = Result<(Task, Vec<Message>), Message>;

/// Returns true if a folder is a task of another benchmark.
pub(crate) fn is_task(folder: &Path) -> bool {
    kind(folder).is_some()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    TerminalBench,
    Harbor,
    Exercism,
}

fn kind(folder: &Path) -> Option<Kind> {
    let has = |name: &str| folder.join(name).is_file();
    if has("task.yaml") && has("run-tests.sh") {
        Some(Kind::TerminalBench)
    } else if has("task.toml") && has("instruction.md") {
        Some(Kind::Harbor)
    } else if has(".meta/config.json") && (has(".docs/instructions.md") || has(".docs/introduction.md")) {
        Some(Kind::Exercism)
    } else {
        None
    }
}

/// Reads such a task; `None` if the folder is none.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn read(folder: &Path) -> io::Result<Option<Read>> {
    Ok(match kind(folder) {
        Some(Kind::TerminalBench) => Some(terminal_bench(folder)?),
        Some(Kind::Harbor) => Some(harbor(folder)?),
        Some(Kind::Exercism) => Some(exercism(folder)?),
        None => None,
    })
}

fn name_of(folder: &Path) -> String {
    let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn task(folder: &Path, goal: String, category: &str) -> Task {
    Task {
        name: name_of(folder),
        goal,
        category: category.to_owned(),
        level: 3,
        held_out: false,
        files: TaskFiles::default(),
        hidden: TaskFiles::default(),
        late: Vec::new(),
        check: String::new(),
        solution: None,
        wrong_plan: None,
        bounds: TaskBounds::default(),
    }
}

/// Maps paths of the container to places in the folder, in scripts and in files of tests.
fn localize(text: &str, work: &Path) -> String {
    let places = [("/logs/verifier", LOGS), ("/tests", TESTS)];
    let text = places.iter().fold(text.to_owned(), |text, (there, here)| put(&text, there, &format!("{FOLDER}/{here}")));
    put(&text, &work.display().to_string(), FOLDER)
}

/// Maps paths of the container in a goal, to relative paths.
fn beside(text: &str, work: &Path) -> String {
    let places = [("/logs/verifier", LOGS), ("/tests", TESTS)];
    let text = places.iter().fold(text.to_owned(), |text, (there, here)| put(&text, there, here));
    put(&text, &work.display().to_string(), ".")
}

/// Replaces a complete path, but not a part of another path.
fn put(text: &str, there: &str, here: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(there) {
        out.push_str(before);
        let is_part = |letter: char| letter.is_alphanumeric() || "_-".contains(letter);
        let begins_in_another =
            out.ends_with(|letter: char| is_part(letter) || "./}".contains(letter)) || (before.is_empty() && out.ends_with(here));
        let ends_in_another = after.strip_prefix('.').unwrap_or(after).starts_with(is_part);
        out.push_str(if begins_in_another || ends_in_another { there } else { here });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the parts of an image besides the files.
fn lacks(folder: &Path, image: &Image) -> Vec<Message> {
    let note = || message!("suite-image", task = name_of(folder), lines = image.not_made.join("; "));
    (!image.not_made.is_empty()).then(note).into_iter().collect()
}

#[derive(Deserialize)]
struct TerminalBench {
    instruction: String,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    max_agent_timeout_sec: Option<f64>,
    #[serde(default)]
    max_test_timeout_sec: Option<f64>,
}

/// Reads `task.yaml`, `run-tests.sh`, `tests/`, `solution.sh`; <https://www.tbench.ai/docs/task-overview>.
fn terminal_bench(folder: &Path) -> io::Result<Read> {
    let text = fs::read_to_string(folder.join("task.yaml"))?;
    let document = serde_saphyr::from_str::<Value>(&text).map_err(|error| error.to_string());
    let manifest: TerminalBench = match document.and_then(|document| serde_json::from_value(document).map_err(|error| error.to_string())) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(Err(message!("suite-file", file = "task.yaml", fault = error))),
    };
    let own = |name: &Path| {
        let first = name.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
        let parts = ["task.yaml", "Dockerfile", "docker-compose.yaml", "run-tests.sh", "tests", "solution.sh", "solution.yaml"];
        parts.contains(&first.as_str()) || first.starts_with('.')
    };
    let script = fs::read_to_string(folder.join("run-tests.sh"))?;
    let image = Image::read(&folder.join("Dockerfile"));
    let mut task = task(folder, beside(&manifest.instruction, &image.work), manifest.category.as_deref().unwrap_or("terminal"));
    task.files = image.install_files(TaskFiles::of_folder(folder, own)?);
    task.hidden = TaskFiles::of_folder(&folder.join("tests"), |_| false)?.map_text(|text| localize(text, &image.work)).within(TESTS);
    task.check = format!("export TEST_DIR=\"$PWD/{TESTS}\"\n{}", localize(&script, &image.work));
    task.solution = fs::read_to_string(folder.join("solution.sh")).ok().map(|text| localize(&text, &image.work));
    task.bounds = bounds(manifest.max_agent_timeout_sec, manifest.max_test_timeout_sec);
    Ok(Ok((task, lacks(folder, &image))))
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Harbor {
    metadata: HarborMetadata,
    agent: HarborTime,
    verifier: HarborTime,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct HarborMetadata {
    category: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct HarborTime {
    timeout_sec: Option<f64>,
}

/// Reads `instruction.md`, `task.toml`, `environment/`, `tests/test.sh`, `solution/solve.sh`; <https://harborframework.com/docs/tasks>.
fn harbor(folder: &Path) -> io::Result<Read> {
    let manifest: Harbor = match toml::from_str(&fs::read_to_string(folder.join("task.toml"))?) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(Err(message!("suite-file", file = "task.toml", fault = error))),
    };
    let goal = fs::read_to_string(folder.join("instruction.md"))?;
    let Ok(script) = fs::read_to_string(folder.join("tests/test.sh")) else { return Ok(Err(message!("suite-no-test"))) };
    let image = Image::read(&folder.join("environment/Dockerfile"));
    let mut task = task(folder, beside(&goal, &image.work), manifest.metadata.category.as_deref().unwrap_or("terminal"));
    let made = |name: &Path| [Path::new("Dockerfile"), Path::new("docker-compose.yaml")].contains(&name);
    task.files = image.install_files(TaskFiles::of_folder(&folder.join("environment"), made)?);
    task.hidden = TaskFiles::of_folder(&folder.join("tests"), |_| false)?.map_text(|text| localize(text, &image.work)).within(TESTS);
    // The script succeeds in either case, and writes a number, by itself or as the member of an object.
    task.check = format!(
        "mkdir -p {LOGS}\n(\n{}\n)\nreward=$(cat {LOGS}/reward.txt 2>/dev/null || \
         sed -n 's/.*\"reward\" *: *\\([0-9.]*\\).*/\\1/p' {LOGS}/reward.json 2>/dev/null)\n\
         case \"$reward\" in 1|1.0) exit 0;; *) echo \"reward: ${{reward:-none}}\"; exit 1;; esac",
        localize(&script, &image.work)
    );
    task.solution = fs::read_to_string(folder.join("solution/solve.sh")).ok().map(|text| localize(&text, &image.work));
    task.bounds = bounds(manifest.agent.timeout_sec, manifest.verifier.timeout_sec);
    Ok(Ok((task, lacks(folder, &image))))
}

fn bounds(run: Option<f64>, check: Option<f64>) -> TaskBounds {
    let usual = TaskBounds::default();
    // Whole seconds, at least one.
    let seconds = |given: Option<f64>, usual: u64| {
        given
            .filter(|seconds| (1.0..=86_400.0).contains(seconds))
            .map_or(usual, |seconds| std::time::Duration::from_secs_f64(seconds).as_secs())
    };
    TaskBounds { seconds: seconds(run, usual.seconds), check_seconds: seconds(check, 300), ..usual }
}

#[derive(Deserialize)]
struct Exercism {
    files: ExercismFiles,
    #[serde(default)]
    blurb: String,
}

#[derive(Deserialize)]
struct ExercismFiles {
    solution: Vec<PathBuf>,
    test: Vec<PathBuf>,
    #[serde(default)]
    editor: Vec<PathBuf>,
    #[serde(default)]
    example: Vec<PathBuf>,
}

/// Commands that run the tests of an exercise, by the extension of its solution, and their requirements besides a shell.
const RUNNERS: [(&str, &str, &str); 6] = [
    ("py", "python3 -m pytest -q {tests} 2>/dev/null || python3 -m unittest {tests}", "python3"),
    ("rs", "cargo test --offline -- --include-ignored", "cargo"),
    // The tests are modules, which jest accepts as they are; the preset that an exercise names is a separate package.
    ("js", "NODE_OPTIONS=--experimental-vm-modules jest --transform '{}' {tests}", "jest (npm install --global jest)"),
    ("go", "go test ./...", "go"),
    ("sh", "BATS_RUN_SKIPPED=true bats {tests}", "bats"),
    ("rb", "ruby {tests}", "ruby with minitest"),
];

/// Enables all tests of an exercise: all but the first are marked to be skipped, because learners take them one by one.
fn all_wanted(ending: &str, text: &str) -> String {
    const SKIPPED: [(&str, &str); 3] = [("xtest(", "test("), ("xit(", "it("), ("xdescribe(", "describe(")];
    let line = |line: &str| -> Option<String> {
        let (words, indent) = (line.trim_start(), line.len() - line.trim_start().len());
        match ending {
            "js" => {
                let wanted = SKIPPED.iter().find_map(|(skipped, wanted)| Some(format!("{wanted}{}", words.strip_prefix(skipped)?)));
                Some(wanted.map_or_else(|| line.to_owned(), |words| format!("{}{words}", line.get(..indent).unwrap_or_default())))
            }
            "rb" if words.trim_end() == "skip" => None,
            _ => Some(line.to_owned()),
        }
    };
    text.split_inclusive('\n').filter_map(line).collect()
}

/// Reads `.docs/instructions.md`, `.meta/config.json`; <https://exercism.org/docs/building/tracks/practice-exercises>.
fn exercism(folder: &Path) -> io::Result<Read> {
    let manifest: Exercism =
        match serde_json::from_str::<Value>(&fs::read_to_string(folder.join(".meta/config.json"))?).and_then(serde_json::from_value) {
            Ok(manifest) => manifest,
            Err(error) => return Ok(Err(message!("suite-file", file = ".meta/config.json", fault = error))),
        };
    let text = |name: &str| fs::read_to_string(folder.join(".docs").join(name)).unwrap_or_default();
    let solution: Vec<String> = manifest.files.solution.iter().map(|path| path.display().to_string()).collect();
    let ending = manifest.files.solution.first().and_then(|path| path.extension()).and_then(|ending| ending.to_str()).unwrap_or_default();
    let Some((_, runner, needs)) = RUNNERS.iter().find(|(known, ..)| *known == ending) else {
        return Ok(Err(message!("suite-runner", ending = format!(".{ending}"))));
    };
    let goal = [manifest.blurb, text("introduction.md"), text("instructions.md"), text("instructions.append.md")];
    let goal = goal.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    let mut task = task(folder, format!("{goal}\n\nWrite the solution in {}.", solution.join(" and ")), "coding");
    // Files that only an editor shows, such as cases, are a part of the tests.
    let is_test = |name: &Path| manifest.files.test.iter().chain(&manifest.files.editor).any(|test| test == name);
    let kept_back = |name: &Path| name.starts_with(".meta") || name.starts_with(".docs") || is_test(name);
    task.files = TaskFiles::of_folder(folder, kept_back)?;
    task.hidden = TaskFiles::of_folder(folder, |name| !is_test(name))?.map_text(|text| all_wanted(ending, text));
    let tests: Vec<String> = manifest.files.test.iter().map(|path| format!("'{}'", path.display())).collect();
    task.check = runner.replace("{tests}", &tests.join(" "));
    let examples = manifest
        .files
        .example
        .iter()
        .zip(&manifest.files.solution)
        .filter_map(|(example, place)| Some((place, fs::read_to_string(folder.join(example)).ok()?)));
    let examples: Vec<String> = examples
        .map(|(place, text)| format!("cat > '{}' <<'AIME_EXAMPLE'\n{}\nAIME_EXAMPLE\n", place.display(), text.trim_end()))
        .collect();
    task.solution = (!examples.is_empty()).then(|| examples.concat());
    Ok(Ok((task, vec![message!("suite-needs", ending, needs)])))
}

#[cfg(test)]
mod tests;
