//! Protected places: files that later cause code to run outside of any confinement, such as hooks and settings of git, start files of
//! shells, tasks of editors.

use std::path::{Component, Path};

/// Folders in which every file is protected, at any depth.
const FOLDERS: &[&str] =
    &[".git", ".husky", ".githooks", ".idea", ".devcontainer", ".fleet", ".ssh", ".claude", ".codex", ".cursor", "launchagents"];
/// Further such folders, given by two names.
const DEEP_FOLDERS: &[[&str; 2]] = &[[".config", "fish"], [".config", "autostart"], [".config", "systemd"]];
/// The runtime's own folder. At the top level, writes to it are always refused.
const OWN: &str = ".aime";
/// Entries that can make something run in a repository whose folder name ends in `.git`.
const IN_REPOSITORY: &[&str] = &["hooks", "config", "config.worktree", "modules", "worktrees", "commondir"];
/// Protected file names, at any depth.
const FILES: &[&str] = &[
    // git. A file `HEAD` turns its folder into a repository.
    ".gitmodules",
    ".gitconfig",
    "head",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    // Shells, and files that they read at start.
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".xprofile",
    ".xinitrc",
    ".xsessionrc",
    ".tmux.conf",
    // Editors and debuggers.
    ".exrc",
    ".vimrc",
    ".gvimrc",
    ".nvimrc",
    ".nvim.lua",
    ".emacs",
    ".dir-locals.el",
    ".gdbinit",
    ".lldbinit",
    ".devcontainer.json",
    // Agents.
    ".mcp.json",
    "aime.toml",
    "aime.yaml",
    "aime.yml",
    "aime.json",
];
/// Protected files of certain folders, given by both names.
const FILES_OF: &[(&str, &[&str])] =
    &[(".vscode", &["tasks.json", "launch.json", "settings.json", "mcp.json"]), (".zed", &["tasks.json", "settings.json", "debug.json"])];
/// Protected file extensions.
const ENDINGS: &[&str] = &[".code-workspace", ".run.xml"];

/// Returns true if a file at this path is protected, by its name. The path may be relative or absolute, and is taken as written: the caller
/// resolves `..` and links. Ignores case, and characters that some file systems ignore.
#[must_use]
pub fn is_protected(path: &Path) -> bool {
    let names: Vec<String> = path
        .components()
        .filter_map(|component| if let Component::Normal(name) = component { Some(folded(&name.to_string_lossy())) } else { None })
        .collect();
    let Some((name, above)) = names.split_last() else { return false };
    let pairs = || names.iter().zip(names.iter().skip(1));
    names.iter().any(|name| FOLDERS.contains(&name.as_str()))
        || pairs().any(|(one, next)| {
            DEEP_FOLDERS.contains(&[one.as_str(), next.as_str()]) || (one.ends_with(".git") && IN_REPOSITORY.contains(&next.as_str()))
        })
        || names.iter().skip(1).any(|name| name == OWN)
        || FILES.contains(&name.as_str())
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || FILES_OF.iter().any(|(folder, files)| {
            // A rule for all files of the folder names them, too.
            above.last().is_some_and(|above| above == folder) && (files.contains(&name.as_str()) || name.contains('*'))
        })
}

/// Normalizes a name as the least exact file systems compare it: without case, without the characters that HFS+ ignores, without those that
/// Windows cuts off.
fn folded(name: &str) -> String {
    let left_out = |c: &char| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name: String = name.chars().filter(left_out).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    // An alternate data stream belongs to its file.
    let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    match name {
        // Short names on Windows.
        "git~1" | "git~2" => ".git".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_make_something_run_later_are_known() {
        for path in [
            ".git",
            ".git/hooks/pre-commit",
            ".git/config",
            ".GIT/hooks/x",
            ".Git/Config",
            "./.git/x",
            "sub/.git/hooks/post-checkout",
            "sub/.git",
            "/abs/.git/config",
            "GIT~1/hooks/x",
            ".git./hooks/x",
            ".git /hooks/x",
            ".g\u{200c}it/hooks/x",
            ".git::$INDEX_ALLOCATION/hooks/x",
            "bare.git/hooks/update",
            "bare.git/config",
            "bare/HEAD",
            ".gitmodules",
            "sub/.gitmodules",
            ".envrc",
            "a/b/.ENVRC",
            ".vscode/tasks.json",
            "sub/.vscode/launch.json",
            ".VSCode/Settings.json",
            ".vscode/*",
            "x.code-workspace",
            ".idea/runConfigurations/x.xml",
            ".idea/workspace.xml",
            ".run/build.run.xml",
            ".bashrc",
            ".baſhrc",
            "home/.profile",
            ".zshrc",
            ".config/fish/config.fish",
            "Library/LaunchAgents/x.plist",
            ".ssh/authorized_keys",
            "sub/.aime/aime.db",
            "aime.toml",
            ".husky/pre-commit",
            ".mcp.json",
        ] {
            assert!(is_protected(Path::new(path)), "{path}");
        }
        for path in [
            "",
            ".",
            "src/main.rs",
            ".gitignore",
            ".gitattributes",
            ".github/workflows/x.yml",
            "git/hooks/x",
            "x.git",
            "x.git/README.md",
            ".vscode/extensions.json",
            "vscode/tasks.json",
            "tasks.json",
            ".env",
            "profile",
            "HEADER.md",
            "config/fish",
            // Writes to the runtime's own folder are always refused elsewhere.
            ".aime/aime.db",
        ] {
            assert!(!is_protected(Path::new(path)), "{path}");
        }
    }
}
