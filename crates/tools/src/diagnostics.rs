//! Diagnostics after edits: commands per file pattern, and the output lines that an edit has added.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt::Write,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::Mutex;

use crate::{
    ToolContext,
    builtin::{named_in_patch, shell_output},
};

/// Maximum number of new lines for the model, and maximum characters of each.
const MAX_LINES: usize = 20;
const MAX_CHARACTERS: usize = 300;
/// Time limit of one command.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Commands that check files after an edit. Cheap to clone; clones share the known output.
///
/// A command runs in the working folder, confined as `bash` is: once before the first edit of a file that matches its pattern, and after
/// each such edit. The result of the edit ends with the lines that were not printed before. The comparison ignores numbers in lines,
/// because an edit moves the lines below it.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    commands: Arc<[PatternCommand]>,
    known_lines: Arc<Mutex<KnownLines>>,
}

/// Lines of the last output of each command, without numbers, by folder and command.
type KnownLines = BTreeMap<(PathBuf, String), BTreeSet<String>>;

#[derive(Debug)]
struct PatternCommand {
    matcher: GlobMatcher,
    command: String,
}

/// Error for an invalid file pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{pattern}` is not a valid file pattern: {reason}")]
pub struct DiagnosticPatternError {
    /// The pattern.
    pub pattern: String,
    /// Reason why the pattern is invalid.
    pub reason: String,
}

impl Diagnostics {
    /// Creates diagnostics from pairs of a pattern, such as `*.rs` or `web/**/*.ts`, and a command. A pattern without `/` matches files in
    /// every folder.
    ///
    /// # Errors
    /// [`DiagnosticPatternError`] for the first invalid pattern.
    pub fn new<'a>(commands: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, DiagnosticPatternError> {
        let made = commands.into_iter().map(|(pattern, command)| {
            let whole = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
            let glob = GlobBuilder::new(&whole).literal_separator(true).build();
            let fault = |reason: String| DiagnosticPatternError { pattern: pattern.to_owned(), reason };
            let glob = glob.map_err(|error| fault(error.kind().to_string()))?;
            Ok(PatternCommand { matcher: glob.compile_matcher(), command: command.to_owned() })
        });
        Ok(Self { commands: made.collect::<Result<_, _>>()?, known_lines: Arc::default() })
    }

    /// Returns the commands for the files that a call writes, and runs those without known output.
    pub(crate) async fn before(&self, tool: &str, parameters: &Map<String, Value>, context: &ToolContext) -> Vec<&str> {
        let commands = self.of_call(tool, parameters, context);
        if !commands.is_empty() {
            // Boxed, because most calls have no diagnostics and need not reserve memory for a process.
            Box::pin(self.know(&commands, context)).await;
        }
        commands
    }

    /// Runs those of the commands whose output is not known.
    async fn know(&self, commands: &[&str], context: &ToolContext) {
        let mut known = self.known_lines.lock().await;
        for command in commands {
            if let Entry::Vacant(unknown) = known.entry((context.working_folder().to_path_buf(), (*command).to_owned())) {
                let lines = self.lines(command, context).await;
                unknown.insert(lines.iter().map(|line| without_numbers(line)).collect());
            }
        }
    }

    /// Runs the commands and returns the new lines of their output, for the model; `None` if there are none.
    pub(crate) async fn after(&self, commands: &[&str], context: &ToolContext) -> Option<String> {
        let mut text = String::new();
        for command in commands {
            let mut known = self.known_lines.lock().await;
            let lines = self.lines(command, context).await;
            let now: BTreeSet<String> = lines.iter().map(|line| without_numbers(line)).collect();
            let key = (context.working_folder().to_path_buf(), (*command).to_owned());
            let before = known.insert(key, now).unwrap_or_default();
            let new: Vec<&String> = lines.iter().filter(|line| !before.contains(&without_numbers(line))).collect();
            if new.is_empty() {
                continue;
            }
            let _ = write!(text, "\nNew since this edit, by `{command}`:");
            for line in new.iter().take(MAX_LINES) {
                text.push('\n');
                text.extend(line.chars().take(MAX_CHARACTERS));
            }
            if new.len() > MAX_LINES {
                let _ = write!(text, "\n({} more lines)", new.len() - MAX_LINES);
            }
        }
        (!text.is_empty()).then_some(text)
    }

    fn of_call(&self, tool: &str, parameters: &Map<String, Value>, context: &ToolContext) -> Vec<&str> {
        if self.commands.is_empty() || context.read_only {
            return Vec::new();
        }
        let text = |name: &str| parameters.get(name).and_then(Value::as_str).unwrap_or_default();
        let paths = match tool {
            "write_file" | "edit_file" => vec![text("path").to_owned()],
            "apply_patch" => named_in_patch(text("patch")).into_iter().map(|named| named.path).collect(),
            _ => return Vec::new(),
        };
        let paths: Vec<PathBuf> = paths.iter().map(|path| from_folder(Path::new(path), context.working_folder())).collect();
        let mut commands: Vec<&str> = Vec::new();
        for entry in self.commands.iter().filter(|entry| paths.iter().any(|path| entry.matcher.is_match(path))) {
            if !commands.contains(&entry.command.as_str()) {
                commands.push(&entry.command);
            }
        }
        commands
    }

    /// Returns the lines that a command prints. If the command cannot be run, the only line says so.
    async fn lines(&self, command: &str, context: &ToolContext) -> Vec<String> {
        let printed = shell_output(command, TIME_LIMIT, context).await;
        printed.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

/// Returns the path relative to the working folder, for matching patterns. The file need not exist.
fn from_folder(path: &Path, folder: &Path) -> PathBuf {
    let inside = path.strip_prefix(folder).unwrap_or(path);
    inside.components().filter(|part| *part != Component::CurDir).collect()
}

/// Replaces each run of digits by one mark: line numbers move with edits, and durations vary.
fn without_numbers(line: &str) -> String {
    let mut bare = String::with_capacity(line.len());
    for character in line.chars() {
        match character.is_ascii_digit() {
            true if bare.ends_with('#') => {}
            true => bare.push('#'),
            false => bare.push(character),
        }
    }
    bare
}
