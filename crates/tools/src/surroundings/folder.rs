//! Two levels of the working folder, and its instruction files.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::{
    ToolContext,
    builtin::{blocking, walk},
};

/// Names of files with instructions for agents.
const INSTRUCTIONS: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "copilot-instructions.md"];
/// Maximum number of files that are visited.
const MAX_FILES: usize = 20_000;
/// Number of levels that are always shown.
const LEVELS: usize = 2;
/// Maximum number of lines in the tree, and of entries of one folder in it.
const MAX_LINES: usize = 120;
const MAX_ENTRIES: usize = 24;
/// Maximum number of named paths that the tree shows.
const MAX_NAMED: usize = 20;
/// Maximum number of instruction files that are listed.
const MAX_INSTRUCTIONS: usize = 20;
/// File times lag behind the clock by up to one tick of the kernel, which is 10 ms at most.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// The entries of the folder down to its second level, and those of the folders that the work names.
#[derive(Default)]
struct Tree {
    top: Folder,
    /// Named paths below the first level.
    deep: Vec<PathBuf>,
    instructions: Vec<String>,
    files: usize,
}

/// Entries by name; a file is `None`.
#[derive(Default)]
struct Folder(BTreeMap<String, Option<Self>>);

/// Returns the lines of the tree with the folders that `work` names, and the paths of instruction files, of which those of these folders come
/// first. Skips files that `.gitignore` excludes.
pub(super) async fn describe(context: &ToolContext, work: &str) -> (String, Vec<String>) {
    let (context, named) = (context.clone(), paths_in(&context.as_relative(work), context.working_folder()));
    let looked = blocking(move || {
        let deep = named.iter().filter(|path| path.components().nth(1).is_some()).take(MAX_NAMED).cloned().collect();
        let mut tree = Tree { deep, ..Tree::default() };
        walk(&context, Path::new(""), |path| {
            tree.add(path);
            Ok(if tree.files < MAX_FILES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok((tree.lines(), nearest(tree.instructions, &named)))
    });
    looked.await.unwrap_or_default()
}

/// Returns the paths that a text may name, relative to the root.
fn paths_in(text: &str, root: &Path) -> Vec<PathBuf> {
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '@');
    let words = text.split(|c| !is_of_path(c)).map(|word| word.trim_end_matches('.')).filter(|word| !word.is_empty());
    let relative = |word: &str| {
        let path = Path::new(word);
        path.strip_prefix(root).unwrap_or(path).components().filter(|part| *part != Component::CurDir).collect::<PathBuf>()
    };
    words.map(relative).filter(|path| path.is_relative() && !path.as_os_str().is_empty()).collect()
}

/// Returns the instruction files that are listed: of the root, of folders around the named paths, of folders below them, then others.
fn nearest(mut instructions: Vec<String>, named: &[PathBuf]) -> Vec<String> {
    instructions.sort_by_cached_key(|file| {
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let is_around = named.iter().any(|path| path.starts_with(folder));
        let is_below = || named.iter().any(|path| folder.starts_with(path));
        let rank = match folder.as_os_str().is_empty() {
            true => 0,
            false if is_around => 1,
            false if is_below() => 2,
            false => 3,
        };
        (rank, file.clone())
    });
    instructions.truncate(MAX_INSTRUCTIONS);
    instructions
}

/// Returns at most `most` files that were changed at `since` or later, and the number of further ones.
pub(super) async fn changed_since(context: &ToolContext, since: SystemTime, most: usize) -> (Vec<String>, usize) {
    let (context, since) = (context.clone(), since.checked_sub(CLOCK_STEP).unwrap_or(since));
    let looked = blocking(move || {
        let (root, mut changed, mut files) = (context.working_folder().to_path_buf(), Vec::new(), 0);
        walk(&context, Path::new(""), |path| {
            files += 1;
            let modified = root.join(path).symlink_metadata().and_then(|facts| facts.modified());
            if modified.is_ok_and(|at| at >= since) {
                changed.push(path.display().to_string());
            }
            Ok(if files < MAX_FILES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        let more = changed.len().saturating_sub(most);
        changed.truncate(most);
        Ok((changed, more))
    });
    looked.await.unwrap_or_default()
}

impl Tree {
    fn add(&mut self, path: &Path) {
        self.files += 1;
        let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if parts.last().is_some_and(|name| INSTRUCTIONS.contains(&name.as_str())) {
            self.instructions.push(parts.join("/"));
        }
        let mut folder = &mut self.top;
        for (depth, name) in parts.iter().enumerate() {
            let entry: PathBuf = parts.iter().take(depth + 1).collect();
            if depth >= LEVELS && !self.deep.iter().any(|named| shows(named, &entry)) {
                break;
            }
            let is_folder = depth + 1 < parts.len();
            let entry = folder.0.entry(name.clone()).or_default();
            if !is_folder {
                break;
            }
            folder = entry.get_or_insert_default();
        }
    }

    fn lines(&self) -> String {
        let mut lines = Vec::new();
        self.top.lines(0, &mut lines);
        let more = lines.len().saturating_sub(MAX_LINES);
        lines.truncate(MAX_LINES);
        if more > 0 {
            lines.push(format!("… {more} more lines"));
        }
        if self.files >= MAX_FILES {
            lines.push(format!("… only the first {MAX_FILES} files were looked at"));
        }
        lines.join("\n")
    }
}

impl Folder {
    fn lines(&self, level: usize, lines: &mut Vec<String>) {
        let most = if level == 0 { usize::MAX } else { MAX_ENTRIES };
        let indent = "  ".repeat(level);
        for (name, folder) in self.0.iter().take(most) {
            let Some(folder) = folder else {
                lines.push(format!("{indent}{name}"));
                continue;
            };
            lines.push(format!("{indent}{name}/"));
            folder.lines(level + 1, lines);
        }
        if let more @ 1.. = self.0.len().saturating_sub(most) {
            lines.push(format!("{indent}… {more} more"));
        }
    }
}

/// Returns whether an entry leads to a named path, or is directly in it.
fn shows(named: &Path, entry: &Path) -> bool {
    named.starts_with(entry) || entry.parent() == Some(named)
}
