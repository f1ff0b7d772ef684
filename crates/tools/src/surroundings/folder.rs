//! Two levels of the working folder, and its instruction files.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::{
    ToolContext,
    builtin::{blocking, walk},
};

/// Names of files with instructions for agents.
const INSTRUCTIONS: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "copilot-instructions.md"];
/// Maximum number of files that are visited.
const MOST_FILES: usize = 20_000;
/// Number of levels that are always shown.
const LEVELS: usize = 2;
/// Maximum number of lines in the tree, and of entries of one folder in it.
const MOST_LINES: usize = 120;
const MOST_ENTRIES: usize = 24;
/// Maximum number of paths in a goal that are looked for.
const MOST_NAMED: usize = 20;
/// Maximum number of instruction files that are listed.
const MOST_INSTRUCTIONS: usize = 20;
/// File times lag behind the clock by up to one tick of the kernel, which is 10 ms at most.
const CLOCK_STEP: Duration = Duration::from_millis(20);

/// The entries of the folder down to its second level, and those of the folders that the goal names.
#[derive(Default)]
struct Tree {
    top: Folder,
    /// The folders that the goal names, as parts of their paths.
    named: Vec<Vec<String>>,
    instructions: Vec<String>,
    files: usize,
}

/// Entries by name; a file is `None`.
#[derive(Default)]
struct Folder(BTreeMap<String, Option<Self>>);

/// Returns the lines of the tree, and the paths of instruction files. Skips files that `.gitignore` excludes.
pub(super) async fn describe(context: &ToolContext, goal: &str) -> (String, Vec<String>) {
    let (context, named) = (context.clone(), folders_in(&context.as_relative(goal)));
    let looked = blocking(move || {
        let mut tree = Tree { named, ..Tree::default() };
        walk(&context, Path::new(""), |path| {
            tree.add(path);
            Ok(if tree.files < MOST_FILES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok((tree.lines(), tree.instructions))
    });
    looked.await.unwrap_or_default()
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
            Ok(if files < MOST_FILES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
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
        if parts.last().is_some_and(|name| INSTRUCTIONS.contains(&name.as_str())) && self.instructions.len() < MOST_INSTRUCTIONS {
            self.instructions.push(parts.join("/"));
        }
        let mut folder = &mut self.top;
        for (depth, name) in parts.iter().enumerate() {
            if depth >= LEVELS && !self.named.iter().any(|named| shows(named, parts.get(..=depth).unwrap_or_default())) {
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
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.truncate(MOST_LINES);
        if more > 0 {
            lines.push(format!("… {more} more lines"));
        }
        if self.files >= MOST_FILES {
            lines.push(format!("… only the first {MOST_FILES} files were looked at"));
        }
        lines.join("\n")
    }
}

impl Folder {
    fn lines(&self, level: usize, lines: &mut Vec<String>) {
        let most = if level == 0 { usize::MAX } else { MOST_ENTRIES };
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

/// Returns whether an entry leads to a named folder, or is directly in it.
fn shows(named: &[String], entry: &[String]) -> bool {
    named.starts_with(entry) || entry.split_last().is_some_and(|(_, folder)| folder == named)
}

/// Returns the paths in a text that may be those of folders below the first level.
fn folders_in(text: &str) -> Vec<Vec<String>> {
    let ends = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;:".contains(c);
    let paths = text.split(ends).filter(|word| word.contains('/')).take(MOST_NAMED);
    let parts = |path: &str| path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect::<Vec<_>>();
    paths.map(|path| parts(path.trim_end_matches(['.', '?', '!']))).collect()
}
