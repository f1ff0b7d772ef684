//! Walks through the files of a folder.

use std::{
    ops::ControlFlow,
    path::{Component, Path},
};

use ignore::{
    WalkBuilder,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::{ToolContext, ToolError};

/// Folders that are never searched.
const NEVER: &[&str] = &[".git", ".hg", ".svn", ".jj", ".aime"];
/// Names of files with ignore rules.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore"];

/// Visits the regular files beneath `base`, in order of their paths, with paths relative to the working folder. Skips files that
/// `.gitignore` and `.ignore` exclude, with or without a repository, and symbolic links. Ignore files outside of the working folder have no
/// effect, and neither have the user's global ones.
pub(crate) fn walk(
    context: &ToolContext,
    base: &Path,
    mut visit: impl FnMut(&Path) -> Result<ControlFlow<()>, ToolError>,
) -> Result<(), ToolError> {
    let root = context.working_folder();
    let above = rules_above(root, base);
    let mut builder = WalkBuilder::new(root.join(base));
    builder.hidden(false).parents(false).git_global(false).require_git(false).follow_links(false).sort_by_file_name(Ord::cmp).filter_entry(
        move |entry| {
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let never = folder && entry.file_name().to_str().is_some_and(|name| NEVER.contains(&name));
            entry.depth() == 0 || !(never || above.iter().any(|rules| rules.matched(entry.path(), folder).is_ignore()))
        },
    );
    for entry in builder.build() {
        if context.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        // Skip unreadable entries, as every search tool does.
        let Some(path) = entry.ok().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())).map(ignore::DirEntry::into_path)
        else {
            continue;
        };
        if let Ok(relative) = path.strip_prefix(root)
            && visit(relative)?.is_break()
        {
            break;
        }
    }
    Ok(())
}

/// Returns the ignore rules between the working folder and the folder where the walk begins.
fn rules_above(root: &Path, base: &Path) -> Vec<Gitignore> {
    let mut folder = root.to_path_buf();
    let mut rules = Vec::new();
    for component in base.components().filter(|component| matches!(component, Component::Normal(_))) {
        let mut builder = GitignoreBuilder::new(&folder);
        let found = IGNORE_FILES.iter().filter(|name| {
            let file = folder.join(name);
            file.is_file() && builder.add(file).is_none()
        });
        if found.count() > 0 {
            rules.extend(builder.build());
        }
        folder.push(component);
    }
    rules
}
