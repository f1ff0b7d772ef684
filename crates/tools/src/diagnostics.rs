//! Diagnostics after edits: commands for patterns of files, and the lines of their output that an edit made new.

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

/// New lines that the model is shown, and the length of each in characters.
const MOST_LINES: usize = 20;
const MOST_CHARACTERS: usize = 300;
/// The time that one command may take.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The commands that check files after an edit. Cheap to clone; clones share what earlier output is known.
///
/// A command runs in the working folder, confined as `bash` is: once before the first edit of a file that its pattern names, and after each
/// such edit. The result of the edit ends with the lines that were not there before. Numbers do not make a line new, since an edit moves
/// the lines below it.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    commands: Arc<[PatternCommand]>,
    known: Arc<Mutex<KnownLines>>,
}

/// The lines, without their numbers, that a command printed last in a folder.
type KnownLines = BTreeMap<(PathBuf, String), BTreeSet<String>>;

#[derive(Debug)]
struct PatternCommand {
    matcher: GlobMatcher,
    command: String,
}

/// A pattern of files that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{pattern}` is no pattern of files: {reason}")]
pub struct DiagnosticPatternError {
    /// The pattern.
    pub pattern: String,
    /// The fault in it.
    pub reason: String,
}

impl Diagnostics {
    /// Makes them of patterns, such as `*.rs` or `web/**/*.ts`, each with its command. A pattern without `/` names files in every folder.
    ///
    /// # Errors
    /// [`DiagnosticPatternError`] for the first pattern that cannot be read.
    pub fn new<'a>(commands: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, DiagnosticPatternError> {
        let made = commands.into_iter().map(|(pattern, command)| {
            let whole = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
            let glob = GlobBuilder::new(&whole).literal_separator(true).build();
            let fault = |reason: String| DiagnosticPatternError { pattern: pattern.to_owned(), reason };
            let glob = glob.map_err(|error| fault(error.kind().to_string()))?;
            Ok(PatternCommand { matcher: glob.compile_matcher(), command: command.to_owned() })
        });
        Ok(Self { commands: made.collect::<Result<_, _>>()?, known: Arc::default() })
    }

    /// Returns the commands for the files that a call writes, and runs those whose output is not known yet.
    pub(crate) async fn before(&self, tool: &str, parameters: &Map<String, Value>, context: &ToolContext) -> Vec<&str> {
        let commands = self.of_call(tool, parameters, context);
        if commands.is_empty() {
            return commands;
        }
        let mut known = self.known.lock().await;
        for command in &commands {
            if let Entry::Vacant(unknown) = known.entry((context.working_folder().to_path_buf(), (*command).to_owned())) {
                let lines = self.lines(command, context).await;
                unknown.insert(lines.iter().map(|line| without_numbers(line)).collect());
            }
        }
        commands
    }

    /// Runs the commands, and returns what is new in their output, for the model; nothing where nothing is.
    pub(crate) async fn after(&self, commands: &[&str], context: &ToolContext) -> Option<String> {
        let mut text = String::new();
        for command in commands {
            let mut known = self.known.lock().await;
            let lines = self.lines(command, context).await;
            let now: BTreeSet<String> = lines.iter().map(|line| without_numbers(line)).collect();
            let key = (context.working_folder().to_path_buf(), (*command).to_owned());
            let before = known.insert(key, now).unwrap_or_default();
            let new: Vec<&String> = lines.iter().filter(|line| !before.contains(&without_numbers(line))).collect();
            if new.is_empty() {
                continue;
            }
            let _ = write!(text, "\nNew since this edit, by `{command}`:");
            for line in new.iter().take(MOST_LINES) {
                text.push('\n');
                text.extend(line.chars().take(MOST_CHARACTERS));
            }
            if new.len() > MOST_LINES {
                let _ = write!(text, "\n({} more lines)", new.len() - MOST_LINES);
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

    /// Returns the lines that a command prints. A command that cannot be run says so in a line.
    async fn lines(&self, command: &str, context: &ToolContext) -> Vec<String> {
        let printed = shell_output(command, TIME_LIMIT, context).await;
        printed.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

/// Returns the path from the working folder, as patterns know it. The file need not be there.
fn from_folder(path: &Path, folder: &Path) -> PathBuf {
    let inside = path.strip_prefix(folder).unwrap_or(path);
    inside.components().filter(|part| *part != Component::CurDir).collect()
}

/// Returns the line with each row of digits as one mark: positions move with the lines above them, and durations differ.
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
