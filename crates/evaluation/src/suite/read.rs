//! Reads a suite: `suite.toml`, further tables beside it, and folders of tasks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    fs,
    path::{Path, PathBuf},
};

use aime_messages::{Message, message};
use serde::Deserialize;
use serde_json::Value;

use super::{Suite, SuiteError, Task, TaskBounds, TaskFiles, files::is_inside};
use crate::foreign;

/// Content of `suite.toml`, and of other `.toml` files beside it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Table {
    name: Option<String>,
    description: Option<String>,
    task: Vec<TaskTable>,
}

/// A task in a table, or the `task.toml` of its folder.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TaskTable {
    name: Option<String>,
    goal: String,
    category: Option<String>,
    level: Option<u8>,
    held_out: bool,
    files: BTreeMap<String, String>,
    hidden: BTreeMap<String, String>,
    late: Vec<PathBuf>,
    check: Option<String>,
    solution: Option<String>,
    /// A plan as JSON, because it is a document of its own and not a part of the table.
    wrong_plan: Option<String>,
    seconds: Option<u64>,
    tokens: Option<u64>,
    check_seconds: Option<u64>,
    late_seconds: Option<u64>,
}

impl Suite {
    /// Reads a folder: its `suite.toml` and other tables, the folders in its `tasks`, or tasks in the formats of other benchmarks.
    ///
    /// # Errors
    /// [`SuiteError`] with all faults.
    pub fn read(folder: &Path) -> Result<Self, SuiteError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| SuiteError::Unreadable { path, source }
        };
        let mut suite = Self {
            name: folder
                .canonicalize()
                .ok()
                .as_deref()
                .unwrap_or(folder)
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            description: String::new(),
            tasks: Vec::new(),
            notes: Vec::new(),
        };
        let mut faults = Vec::new();
        for path in entries(folder).map_err(unreadable(folder))? {
            if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() && !foreign::is_task(folder) {
                let text = fs::read_to_string(&path).map_err(unreadable(&path))?;
                // Without a suite.toml the folder may belong to another benchmark, and contain tables of other programs.
                if !folder.join("suite.toml").is_file() && text.parse::<toml::Table>().is_ok_and(|table| !table.contains_key("task")) {
                    continue;
                }
                match toml::from_str::<Table>(&text) {
                    Ok(table) => suite.take(table, &path, &mut faults),
                    Err(error) => faults.push(in_file(&path, error)),
                }
            }
        }
        for path in task_folders(folder).map_err(unreadable(folder))? {
            if let Some(read) = foreign::read(&path).map_err(unreadable(&path))? {
                match read {
                    Ok((task, _)) if name_fault(&task.name).is_some() => {
                        suite.notes.extend(name_fault(&task.name).map(|fault| omission_message(&path, &fault)));
                    }
                    Ok((task, notes)) => {
                        let new: Vec<_> = notes.into_iter().filter(|note| !suite.notes.contains(note)).collect();
                        suite.notes.extend(new);
                        suite.tasks.push(task);
                    }
                    // One unsupported task among many is no reason to reject the others.
                    Err(fault) => suite.notes.push(omission_message(&path, &fault)),
                }
            } else if path.join("task.toml").is_file() {
                match own(&path).map_err(unreadable(&path))? {
                    Ok(task) => suite.tasks.push(task),
                    Err(found) => faults.extend(found),
                }
            }
        }
        let mut seen = BTreeSet::new();
        let twice = suite.tasks.iter().filter(|task| !seen.insert(&task.name));
        faults.extend(twice.map(|task| message!("suite-twice", name = format!("{:?}", task.name))));
        if !faults.is_empty() {
            return Err(SuiteError::Faults { path: folder.to_owned(), faults });
        }
        if suite.tasks.is_empty() && !suite.notes.is_empty() {
            return Err(SuiteError::Faults { path: folder.to_owned(), faults: suite.notes });
        }
        if suite.tasks.is_empty() {
            return Err(SuiteError::Empty(folder.to_owned()));
        }
        Ok(suite)
    }

    /// Returns the built-in suite: small tasks and long chains, coding, data, research, repair.
    ///
    /// # Errors
    /// None, as its test shows.
    pub fn core() -> Result<Self, SuiteError> {
        const TABLES: [(&str, &str); 6] = [
            ("small.toml", include_str!("../../suites/core/small.toml")),
            ("coding.toml", include_str!("../../suites/core/coding.toml")),
            ("data.toml", include_str!("../../suites/core/data.toml")),
            ("research.toml", include_str!("../../suites/core/research.toml")),
            ("repair.toml", include_str!("../../suites/core/repair.toml")),
            ("chains.toml", include_str!("../../suites/core/chains.toml")),
        ];
        let mut suite =
            Self { name: "core".to_owned(), description: "Small things and long chains.".to_owned(), tasks: Vec::new(), notes: Vec::new() };
        let mut faults = Vec::new();
        for (name, text) in TABLES {
            match toml::from_str::<Table>(text) {
                Ok(table) => suite.take(table, Path::new(name), &mut faults),
                Err(error) => faults.push(in_file(Path::new(name), error)),
            }
        }
        if faults.is_empty() { Ok(suite) } else { Err(SuiteError::Faults { path: "core".into(), faults }) }
    }

    fn take(&mut self, table: Table, path: &Path, faults: &mut Vec<Message>) {
        if let Some(name) = table.name {
            faults.extend(name_fault(&name).map(|fault| in_file(path, fault)));
            self.name = name;
        }
        if let Some(description) = table.description {
            self.description = description;
        }
        for (index, task) in table.task.into_iter().enumerate() {
            let name = task.name.as_ref().map_or_else(|| message!("suite-unnamed"), Message::text);
            let place = |fault: Message| message!("suite-place", file = path.display(), number = index + 1, name, fault);
            match task.checked(None, TaskFiles::default(), TaskFiles::default()) {
                Ok(task) => self.tasks.push(task),
                Err(found) => faults.extend(found.into_iter().map(place)),
            }
        }
    }
}

/// Returns a note on a rejected task.
fn omission_message(path: &Path, fault: &Message) -> Message {
    message!("suite-left-out", path = path.display(), fault)
}

/// Returns a fault with the file that has it.
fn in_file(path: &Path, fault: impl Display) -> Message {
    message!("suite-file", file = path.display(), fault)
}

/// Returns the entries of a folder, sorted by name.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    found.sort();
    Ok(found)
}

/// Returns the folders of possible tasks: the folder itself if it is a task of another benchmark, else the folders in it, in `tasks`, and
/// in exercism's places.
fn task_folders(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    if foreign::is_task(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let mut found = Vec::new();
    for place in ["", "tasks", "exercises/practice", "exercises/concept"] {
        let place = if place.is_empty() { folder.to_owned() } else { folder.join(place) };
        if place.is_dir() {
            found.extend(entries(&place)?.into_iter().filter(|path| path.is_dir()));
        }
    }
    Ok(found)
}

/// Reads a task from a folder of its own: `task.toml`, `files`, `hidden`, `check.sh`, `solution.sh`.
fn own(folder: &Path) -> std::io::Result<Result<Task, Vec<Message>>> {
    let path = folder.join("task.toml");
    let place = |fault: Message| message!("suite-file", file = path.display(), fault);
    let mut table: TaskTable = match toml::from_str(&fs::read_to_string(&path)?) {
        Ok(table) => table,
        Err(error) => return Ok(Err(vec![place(Message::text(error))])),
    };
    for (script, file) in [(&mut table.check, "check.sh"), (&mut table.solution, "solution.sh")] {
        let file = folder.join(file);
        if script.is_none() && file.is_file() {
            *script = Some(fs::read_to_string(file)?);
        }
    }
    let everything = |_: &Path| false;
    let (files, hidden) =
        (TaskFiles::of_folder(&folder.join("files"), everything)?, TaskFiles::of_folder(&folder.join("hidden"), everything)?);
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(table.checked(name, files, hidden).map_err(|faults| faults.into_iter().map(place).collect()))
}

impl TaskTable {
    fn checked(self, name: Option<String>, files: TaskFiles, hidden: TaskFiles) -> Result<Task, Vec<Message>> {
        let mut faults = Vec::new();
        let name = self.name.or(name).unwrap_or_default();
        if let Some(fault) = name_fault(&name) {
            faults.push(fault);
        }
        let mut add_texts = |texts, folder: TaskFiles| match TaskFiles::of_texts(texts) {
            Ok(files) => folder.with(files),
            Err(found) => {
                faults.extend(found);
                folder
            }
        };
        let (files, hidden) = (add_texts(self.files, files), add_texts(self.hidden, hidden));
        faults.extend(
            self.late
                .iter()
                .filter(|place| !is_inside(place) || !files.has(place))
                .map(|place| message!("suite-late", file = format!("{:?}", place.display().to_string()))),
        );
        if self.goal.trim().is_empty() {
            faults.push(message!("suite-no-goal"));
        }
        let check = self.check.unwrap_or_default();
        if check.trim().is_empty() {
            faults.push(message!("suite-no-check"));
        }
        let level = self.level.unwrap_or(1);
        if !(1..=5).contains(&level) {
            faults.push(message!("suite-level", level));
        }
        let wrong_plan = self.wrong_plan.as_deref().map(serde_json::from_str::<Value>).transpose();
        let wrong_plan = wrong_plan.unwrap_or_else(|error| {
            faults.push(message!("suite-json", error));
            None
        });
        let usual = TaskBounds::default();
        let bounds = TaskBounds {
            seconds: self.seconds.unwrap_or(usual.seconds).max(1),
            tokens: self.tokens,
            check_seconds: self.check_seconds.unwrap_or(usual.check_seconds).max(1),
            late_seconds: self.late_seconds.unwrap_or(usual.late_seconds),
        };
        if !faults.is_empty() {
            return Err(faults);
        }
        let category = self.category.unwrap_or_else(|| "general".to_owned());
        let (goal, held_out, late, solution) = (self.goal, self.held_out, self.late, self.solution);
        Ok(Task { name, goal, category, level, held_out, files, hidden, late, check, solution, wrong_plan, bounds })
    }
}

/// Returns the fault of a name, which is used in the names of folders.
pub(crate) fn name_fault(name: &str) -> Option<Message> {
    let good = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    match name {
        "" => Some(message!("suite-no-name")),
        _ if name.len() > 80 || name.starts_with('.') || !name.chars().all(good) => {
            Some(message!("suite-name", name = format!("{name:?}")))
        }
        _ => None,
    }
}
