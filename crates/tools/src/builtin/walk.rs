//! Walks through the files of a folder.

use std::{
    ops::ControlFlow,
    path::{Component, Path},
};

use aime_sandbox::CACHE_FOLDERS;
use ignore::{
    WalkBuilder,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::{ToolContext, ToolError};

/// Folders that are never searched, besides caches.
const NEVER: &[&str] = &[".git", ".hg", ".svn", ".jj", ".aime"];
/// Names of files with ignore rules.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore"];

/// Visits the regular files beneath `base`, in order of their paths, with paths relative to the working folder. Skips files that
/// `.gitignore` and `.ignore` exclude, with or without a repository, caches, and symbolic links. Ignore files outside of the working folder have no
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
            let never = folder && entry.file_name().to_str().is_some_and(|name| NEVER.contains(&name) || CACHE_FOLDERS.contains(&name));
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

/// Returns whether the `.gitignore` and `.ignore` files of a folder leave out a path in it. The path is relative to the folder.
#[must_use]
pub fn is_ignored(root: &Path, path: &Path) -> bool {
    let whole = root.join(path);
    let is_folder = whole.is_dir();
    // The file nearest to the path has the last word.
    let mut rules = rules_above(root, path).into_iter().rev();
    rules.find_map(|rules| {
        let rule = rules.matched_path_or_any_parents(&whole, is_folder);
        (!rule.is_none()).then(|| rule.is_ignore())
    }) == Some(true)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_ignore_file_has_the_last_word() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sub/out")).unwrap();
        fs::write(root.path().join(".gitignore"), "*.o\nout/\n").unwrap();
        fs::write(root.path().join("sub/.ignore"), "!kept.o\nsecret\n").unwrap();
        for (path, expected) in [
            ("a.txt", false),
            ("a.o", true),
            ("sub/a.o", true),
            ("sub/kept.o", false),
            ("sub/secret", true),
            ("secret", false),
            ("sub/out", true),
            ("sub/out/gone.txt", true),
            (".gitignore", false),
        ] {
            assert_eq!(is_ignored(root.path(), Path::new(path)), expected, "{path}");
        }
    }
}
