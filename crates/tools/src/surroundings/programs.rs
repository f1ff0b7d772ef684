//! Versions of programs, and the git state of the folder.

use std::{env, ffi::OsStr, path::Path, time::Duration};

use aime_sandbox::{CACHE_ENDINGS, CACHE_FOLDERS, ProcessEnd, ProcessRequest, run};
use futures::future::join_all;

use super::GitState;
use crate::ToolContext;

const PYTHON: &str = "python3";
/// Program that is often there as a module alone.
const PYTEST: &str = "pytest";
const PROGRAMS: [&str; 4] = [PYTHON, "node", "cargo", "git"];
/// Programs with which most projects are built and tested.
const USUAL: [&str; 8] = [PYTHON, PYTEST, "node", "npm", "cargo", "go", "make", "git"];
/// Folders of a project in which it keeps programs of its own.
const OWN_PROGRAMS: [&str; 3] = [".venv/bin", "venv/bin", "node_modules/.bin"];
const TIME_LIMIT: Duration = Duration::from_secs(3);
const OUTPUT_LIMIT: usize = 64 * 1024;
/// Options with which `git` runs no program that the repository names, and takes no lock that others wait for.
const STATUS: [&str; 6] = ["-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--short", "--branch"];

/// Programs of this machine at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// Installed programs with their versions.
    versions: Vec<String>,
    /// True if pytest is no program, but a module of python3.
    has_pytest_module: bool,
}

impl Programs {
    /// Asks common programs for their versions. Omits programs that are missing or do not answer. Asks none if the context contains the
    /// facts about the folder.
    pub async fn read(context: &ToolContext) -> Self {
        if context.surroundings.is_some() {
            return Self::default();
        }
        let (versions, has_pytest_module) = futures::join!(versions(context), has_pytest_module(context));
        Self { versions, has_pytest_module }
    }

    /// Returns the versions, as `python3 3.12.3`.
    pub(super) fn into_versions(self) -> Vec<String> {
        self.versions
    }

    /// Returns the usual programs that are neither on `PATH` nor in the folder.
    pub(super) fn missing(&self, context: &ToolContext) -> Vec<String> {
        let root = context.working_folder();
        let is_there = |program: &str| is_on_path(context, program) || OWN_PROGRAMS.iter().any(|folder| is_in(&root.join(folder), program));
        let note = if self.has_pytest_module { "but `python3 -m pytest` works" } else { "nor as a module of python3 when this run began" };
        let python_is_there = is_on_path(context, PYTHON);
        let in_words = |program: &str| if program == PYTEST && python_is_there { format!("{PYTEST} ({note})") } else { program.to_owned() };
        USUAL.into_iter().filter(|program| !is_there(program)).map(in_words).collect()
    }
}

async fn versions(context: &ToolContext) -> Vec<String> {
    let asked = PROGRAMS.map(|program| async move {
        let output = printed(context, program, &["--version"]).await?;
        Some(format!("{program} {}", version(&output)?))
    });
    join_all(asked).await.into_iter().flatten().collect()
}

async fn has_pytest_module(context: &ToolContext) -> bool {
    !is_on_path(context, PYTEST) && printed(context, PYTHON, &["-m", PYTEST, "--version"]).await.is_some()
}

/// Returns true if this process runs as root, so that no file mode keeps its commands out.
pub(super) fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    let user = std::fs::metadata("/proc/self").map(|facts| std::os::unix::fs::MetadataExt::uid(&facts)).ok();
    #[cfg(not(target_os = "linux"))]
    let user: Option<u32> = None;
    user == Some(0)
}

fn is_on_path(context: &ToolContext, program: &str) -> bool {
    context.environment.get(OsStr::new("PATH")).is_some_and(|path| env::split_paths(path).any(|folder| is_in(&folder, program)))
}

fn is_in(folder: &Path, program: &str) -> bool {
    folder.join(format!("{program}{}", env::consts::EXE_SUFFIX)).is_file()
}

/// Returns the first word that begins with a number and has a dot, without a `v` before it.
fn version(output: &str) -> Option<&str> {
    let words = output.split_whitespace().map(|word| word.trim_start_matches('v'));
    words.into_iter().find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
}

/// Returns the branch and the changed files of the repository that contains the folder.
pub(super) async fn git_state(context: &ToolContext) -> Option<GitState> {
    if !context.working_folder().ancestors().any(|folder| folder.join(".git").exists()) {
        return None;
    }
    printed(context, "git", &STATUS).await.map(|output| of_status(&output))
}

fn of_status(output: &str) -> GitState {
    let mut lines = output.lines();
    let head = lines.next().unwrap_or_default().trim_start_matches("## ");
    let branch = match head.strip_prefix("No commits yet on ") {
        Some(branch) => format!("branch `{branch}` without a commit"),
        None if head.starts_with("HEAD ") => "no branch (detached HEAD)".to_owned(),
        None => format!("branch `{}`", head.split("...").next().unwrap_or(head)),
    };
    GitState { branch, changes: lines.filter(|line| !is_generated(line)).map(str::to_owned).collect() }
}

/// Returns true if a line of `git status --short` names a new file that is not part of the work: in the runtime's own folder, or made again
/// by programs.
fn is_generated(line: &str) -> bool {
    let Some(path) = line.strip_prefix("?? ") else { return false };
    let path = path.trim_matches('"');
    let ending = Path::new(path).extension().and_then(OsStr::to_str);
    path == ".aime/"
        || path.split('/').any(|name| CACHE_FOLDERS.contains(&name))
        || ending.is_some_and(|ending| CACHE_ENDINGS.contains(&ending))
}

/// Returns the output of a program, if it is installed and succeeds.
async fn printed(context: &ToolContext, program: &str, arguments: &[&str]) -> Option<String> {
    if context.confinement.refusal().is_some() || !is_on_path(context, program) {
        return None;
    }
    let request = ProcessRequest {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        working_folder: context.working_folder().to_path_buf(),
        environment: context.environment.as_ref().clone(),
        input: Vec::new(),
        time_limit: TIME_LIMIT,
        output_limit: OUTPUT_LIMIT,
        confinement: context.confinement.clone(),
    };
    let outcome = run(request, &context.cancel).await.ok()?;
    (outcome.end == ProcessEnd::Exited(0)).then(|| outcome.stdout.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        for (output, expected) in [
            ("Python 3.12.3\n", Some("3.12.3")),
            ("v22.1.0\n", Some("22.1.0")),
            ("cargo 1.90.0 (840b83a10 2025-07-30)\n", Some("1.90.0")),
            ("git version 2.43.0\n", Some("2.43.0")),
            ("no idea\n", None),
        ] {
            assert_eq!(version(output), expected, "{output}");
        }
    }

    #[test]
    fn git_tells_the_branch_and_the_changes() {
        for (output, branch, changes) in [
            ("## main...origin/main [ahead 1]\n M a.rs\n?? b\n", "branch `main`", vec![" M a.rs", "?? b"]),
            ("## No commits yet on main\n?? .aime/\n", "branch `main` without a commit", vec![]),
            ("## HEAD (no branch)\n", "no branch (detached HEAD)", vec![]),
            ("## fix/one\n", "branch `fix/one`", vec![]),
            (
                "## main\n?? __pycache__/\n?? src/.pytest_cache/\n?? a.pyc\n?? \"d e/__pycache__/\"\n M b/__pycache__/kept\n?? pycache.md\n",
                "branch `main`",
                vec![" M b/__pycache__/kept", "?? pycache.md"],
            ),
        ] {
            let state = of_status(output);
            assert_eq!((state.branch.as_str(), state.changes.iter().map(String::as_str).collect()), (branch, changes), "{output}");
        }
    }
}
