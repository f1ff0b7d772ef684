//! Commands that are known to write protected places, and the places that they write.

use crate::protected::is_harmless_setting;

/// Commands that run a program of a package by its name.
const RUNNERS: [&str; 4] = ["npx", "bunx", "pnpx", "uvx"];
/// Package managers that do so with a subcommand.
const RUNNERS_BY: [&str; 5] = ["npm", "pnpm", "yarn", "bun", "uv"];
/// Options of `git` with a value in the next word.
pub(super) const GIT_TAKES: [&str; 7] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];
/// Git commands that write files of the work tree as a commit contains them, and no other content.
const WORK_TREE: [&str; 15] = [
    "checkout",
    "switch",
    "restore",
    "reset",
    "pull",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "stash",
    "clone",
    "worktree",
    "submodule",
    "bisect",
    "sparse-checkout",
];

/// Git commands that change the branch, the index or the stash, or files that other actors may be editing.
const SHARED_STATE: [&str; 19] = [
    "add",
    "am",
    "bisect",
    "checkout",
    "cherry-pick",
    "clean",
    "commit",
    "merge",
    "mv",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "sparse-checkout",
    "stash",
    "switch",
];

/// A word of a command; `None` if it is unknown before the command runs.
pub(super) type KnownWord = Option<String>;

/// Returns the protected places that a simple command writes by its purpose, as paths relative to its current folder.
pub(super) fn sets_up(words: &[KnownWord]) -> Vec<String> {
    let Some((program, rest)) = program(words) else { return Vec::new() };
    let first = rest.iter().flatten().find(|word| !word.starts_with('-')).map(String::as_str);
    let places: &[&str] = match (program, first) {
        ("git", _) => return git(rest),
        ("husky", _) => &[".husky", ".git/config", ".git/hooks"],
        ("pre-commit" | "lefthook" | "git-lfs", Some("install" | "uninstall")) => &[".git/hooks", ".git/config"],
        _ => &[],
    };
    places.iter().map(|place| (*place).to_owned()).collect()
}

/// Returns true if a simple command is a git command that writes files of commits to the work tree.
pub(super) fn writes_work_tree(words: &[KnownWord]) -> bool {
    let Some(("git", rest)) = program(words) else { return false };
    git_command(rest).is_some_and(|(_, command, _)| WORK_TREE.contains(&command))
}

/// Returns the git command, such as `git stash`, by which a simple command changes the state of the repository in its folder.
pub(super) fn changes_repository(words: &[KnownWord]) -> Option<String> {
    let ("git", rest) = program(words)? else { return None };
    let (folder, command, arguments) = git_command(rest)?;
    let elsewhere = folder.is_some_and(|folder| folder.starts_with('/') || folder.split('/').any(|part| part == ".."));
    let first = arguments.first().and_then(Option::as_deref);
    let only_looks = command == "stash" && matches!(first, Some("list" | "show"));
    (!elsewhere && !only_looks && SHARED_STATE.contains(&command)).then(|| format!("git {command}"))
}

/// Returns the program that runs, after removing package runners, and its arguments.
fn program(words: &[KnownWord]) -> Option<(&str, &[KnownWord])> {
    let (first, rest) = words.split_first()?;
    let name = first.as_deref()?.rsplit('/').next().unwrap_or_default();
    let by_word = RUNNERS_BY.contains(&name) && matches!(rest.first()?.as_deref(), Some("exec" | "x" | "dlx" | "run" | "tool"));
    let rest = if by_word {
        rest.get(1..)?
    } else if RUNNERS.contains(&name) {
        rest
    } else {
        return Some((name, rest));
    };
    let at = rest.iter().position(|word| word.as_ref().is_some_and(|word| !word.starts_with('-')))?;
    let (program, rest) = rest.get(at..)?.split_first()?;
    Some((program.as_deref()?, rest))
}

/// Returns the folder of `-C`, the git command, and its arguments.
fn git_command(words: &[KnownWord]) -> Option<(Option<&str>, &str, &[KnownWord])> {
    let (mut folder, mut at) = (None, 0);
    while let Some(word) = words.get(at)?.as_deref().filter(|word| word.starts_with('-')) {
        let takes = GIT_TAKES.contains(&word);
        if word == "-C" {
            folder = words.get(at + 1)?.as_deref();
        }
        at += 1 + usize::from(takes);
    }
    let (command, rest) = words.get(at..)?.split_first()?;
    Some((folder, command.as_deref()?, rest))
}

fn git(words: &[KnownWord]) -> Vec<String> {
    let Some((folder, command, rest)) = git_command(words) else { return Vec::new() };
    let places: &[&str] = match command {
        "config" if sets_what_runs(rest) => &[".git/config", ".git/config.worktree"],
        "remote" if rest.first().is_some_and(|word| word.as_deref() == Some("set-url")) => &[".git/config"],
        "lfs" | "flow" => &[".git/hooks", ".git/config"],
        "maintenance" => &[".git/config"],
        _ => &[],
    };
    places.iter().map(|place| folder.map_or_else(|| (*place).to_owned(), |folder| format!("{folder}/{place}"))).collect()
}

/// Returns true if `git config` with these arguments changes a setting of the repository that may run code or redirect data.
fn sets_what_runs(arguments: &[KnownWord]) -> bool {
    let options: Vec<&str> = arguments.iter().flatten().map(String::as_str).take_while(|word| word.starts_with('-')).collect();
    let elsewhere = |option: &&str| {
        matches!(*option, "--global" | "--system" | "-f" | "--file" | "--blob" | "-l" | "--list" | "--show-origin" | "--show-scope")
            || option.starts_with("--get")
            || option.starts_with("--file=")
    };
    if options.iter().any(elsewhere) {
        return false;
    }
    let removes = options.iter().any(|option| option.starts_with("--unset"));
    let mut words = arguments.iter().filter(|word| word.as_ref().is_none_or(|word| !word.starts_with('-')));
    let Some(first) = words.next() else { return true };
    let (key, writes) = match first.as_deref() {
        Some("get" | "list") => return false,
        Some("set" | "unset") => (words.next(), true),
        _ => (Some(first), removes),
    };
    let value = words.next();
    if !writes && value.is_none() {
        // The command only reads, unless it edits, removes or renames a section.
        return options.iter().any(|option| matches!(*option, "-e" | "--edit" | "--remove-section" | "--rename-section"))
            || matches!(first.as_deref(), Some("edit" | "remove-section" | "rename-section"));
    }
    let (Some(Some(key)), value) = (key, value.cloned().unwrap_or_else(|| Some(String::new()))) else { return true };
    value.is_none_or(|value| !is_harmless_setting(key, &value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<KnownWord> {
        text.split(' ').map(|word| (!word.starts_with('$')).then(|| word.to_owned())).collect()
    }

    #[test]
    fn commands_that_set_up_what_runs_later_are_known() {
        for (command, expected) in [
            ("git config core.hooksPath x", &[".git/config", ".git/config.worktree"][..]),
            ("git config --local core.fsmonitor x", &[".git/config", ".git/config.worktree"]),
            ("git -C sub config alias.st !x", &["sub/.git/config", "sub/.git/config.worktree"]),
            ("/usr/bin/git -c a=b config set core.pager x", &[".git/config", ".git/config.worktree"]),
            ("git config $key x", &[".git/config", ".git/config.worktree"]),
            ("git config --edit", &[".git/config", ".git/config.worktree"]),
            ("git remote set-url origin x", &[".git/config"]),
            ("git config user.name x", &[]),
            ("git config core.hooksPath", &[]),
            ("git config --get core.hooksPath", &[]),
            ("git config --global core.hooksPath x", &[]),
            ("git config get core.pager", &[]),
            ("git remote add origin x", &[]),
            ("git commit -m config", &[]),
            ("npx husky install", &[".husky", ".git/config", ".git/hooks"]),
            ("npm exec -- husky", &[".husky", ".git/config", ".git/hooks"]),
            ("pre-commit install", &[".git/hooks", ".git/config"]),
            ("pre-commit run", &[]),
            ("uvx pre-commit install", &[".git/hooks", ".git/config"]),
            ("npm install", &[]),
            ("", &[]),
        ] {
            assert_eq!(sets_up(&words(command)), expected, "{command}");
        }
        for (command, expected) in
            [("git checkout main", true), ("git -C sub pull", true), ("git apply x", false), ("git config a.b c", false), ("ls", false)]
        {
            assert_eq!(writes_work_tree(&words(command)), expected, "{command}");
        }
        for (command, expected) in [
            ("git stash", Some("git stash")),
            ("git -c a=b -C sub checkout main", Some("git checkout")),
            ("git stash list", None),
            ("git -C /elsewhere commit", None),
            ("git -C ../x commit", None),
            ("git status", None),
            ("git diff", None),
            ("git branch", None),
        ] {
            assert_eq!(changes_repository(&words(command)).as_deref(), expected, "{command}");
        }
    }
}
