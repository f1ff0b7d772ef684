//! Runs `git` on a repository of aime's own, with fixed settings only.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use aime_sandbox::{Confinement, ProcessEnd, ProcessError, ProcessRequest, run};
use tokio_util::sync::CancellationToken;

use crate::WorkTreeError;

/// Oldest version of `git` that merges states without a folder, as its first two numbers.
pub(crate) const OLDEST: (u32, u32) = (2, 38);
/// Time limit of one command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum bytes of output that are read: mostly file names.
const OUTPUT: usize = 64 * 1024 * 1024;
/// Fixed author and date, so that the same state after the same parent has the same name on every host.
const NOBODY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "aime"),
    ("GIT_AUTHOR_EMAIL", "aime@localhost"),
    ("GIT_AUTHOR_DATE", "@0 +0000"),
    ("GIT_COMMITTER_NAME", "aime"),
    ("GIT_COMMITTER_EMAIL", "aime@localhost"),
    ("GIT_COMMITTER_DATE", "@0 +0000"),
];
/// Settings that override all others: no hook, filter or other program is started, and bytes stay unchanged.
const SETTINGS: [&str; 11] = [
    "core.bare=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "commit.gpgSign=false",
    // git counts a folder whose files moved to several places as a conflict without naming a path.
    "merge.directoryRenames=false",
];

/// `git` with a repository and a folder.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    pub(crate) repository: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) path: OsString,
    /// Index file, if not that of the repository.
    pub(crate) index: Option<PathBuf>,
    /// File in the place of the user's settings.
    pub(crate) user_settings: PathBuf,
}

/// Output of a command, and how it ended.
pub(crate) struct GitOutput {
    command: String,
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    stderr: String,
}

/// Returns the version of `git` if it is new enough to merge states. `folder` is a folder that exists, `path` the `PATH` to find `git` on.
///
/// # Errors
/// [`WorkTreeError::GitVersion`] if there is no `git`, or an older one.
pub async fn git_version(folder: &Path, path: OsString) -> Result<String, WorkTreeError> {
    let git = Git { repository: folder.to_owned(), folder: folder.to_owned(), path, index: None, user_settings: "/dev/null".into() };
    git.checked_version().await
}

impl Git {
    /// Returns the version of `git`, if it is new enough to merge states.
    pub(crate) async fn checked_version(&self) -> Result<String, WorkTreeError> {
        let output = match self.run_plain(vec!["version".into()], Vec::new()).await {
            Err(WorkTreeError::Process(ProcessError::ProgramNotFound { .. })) => return Err(WorkTreeError::GitVersion { found: None }),
            output => output?,
        };
        if output.code != 0 {
            return Err(output.refused());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        // Builds of vendors add words and numbers behind the version.
        let version = text.trim_start_matches("git version ").split_whitespace().next().unwrap_or_default().to_owned();
        let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
        match (numbers.next(), numbers.next()) {
            (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(version),
            _ => Err(WorkTreeError::GitVersion { found: Some(version) }),
        }
    }

    /// Runs a command that must succeed, and returns its output.
    pub(crate) async fn run_ok<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Result<Vec<u8>, WorkTreeError> {
        self.run_ok_with_input(arguments, Vec::new()).await
    }

    /// Runs a command with standard input that must succeed, and returns its output.
    pub(crate) async fn run_ok_with_input<A: AsRef<OsStr>>(&self, arguments: &[A], input: Vec<u8>) -> Result<Vec<u8>, WorkTreeError> {
        let output = self.run(arguments, input).await?;
        if output.code == 0 { Ok(output.stdout) } else { Err(output.refused()) }
    }

    /// Runs a command to its end, with any exit code.
    pub(crate) async fn run<A: AsRef<OsStr>>(&self, arguments: &[A], input: Vec<u8>) -> Result<GitOutput, WorkTreeError> {
        let places = [option("--git-dir=", &self.repository), option("--work-tree=", &self.folder)];
        let arguments = arguments.iter().map(|argument| argument.as_ref().to_owned());
        self.run_plain(places.into_iter().chain(arguments).collect(), input).await
    }

    /// Runs a command without the repository and the folder.
    pub(crate) async fn run_plain(&self, arguments: Vec<OsString>, input: Vec<u8>) -> Result<GitOutput, WorkTreeError> {
        let command = command_in(&arguments);
        let mut all: Vec<OsString> = SETTINGS.iter().flat_map(|setting| ["-c".into(), setting.into()]).collect();
        all.extend(arguments);
        let request = ProcessRequest {
            program: "git".into(),
            arguments: all,
            working_folder: self.folder.clone(),
            environment: self.environment(),
            input,
            time_limit: COMMAND_TIMEOUT,
            output_limit: OUTPUT,
            confinement: Confinement::off(),
        };
        let outcome = run(request, &CancellationToken::new()).await?;
        let stderr = String::from_utf8_lossy(&outcome.stderr.bytes).trim().to_owned();
        let ProcessEnd::Exited(code) = outcome.end else {
            return Err(WorkTreeError::Killed { command, end: outcome.end });
        };
        let stdout = outcome.stdout;
        if stdout.total > stdout.bytes.len() as u64 {
            return Err(WorkTreeError::TooMuch { command, bytes: stdout.total });
        }
        Ok(GitOutput { command, code, stdout: stdout.bytes, stderr })
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        // Fixed formats, so that all hosts write the same with every version of git.
        let forms = [("GIT_DEFAULT_HASH", "sha1"), ("GIT_DEFAULT_REF_FORMAT", "files")];
        let fixed = [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("LC_ALL", "C")];
        let all = fixed.into_iter().chain(forms).chain(NOBODY).map(|(name, value)| (name.into(), value.into()));
        let index = self.index.iter().map(|index| ("GIT_INDEX_FILE".into(), index.into()));
        let places = [("HOME".into(), self.repository.clone().into()), ("GIT_CONFIG_GLOBAL".into(), self.user_settings.clone().into())];
        all.chain([("PATH".into(), self.path.clone())]).chain(places).chain(index).collect()
    }
}

impl GitOutput {
    pub(crate) fn refused(self) -> WorkTreeError {
        let Self { command, code, stderr, .. } = self;
        WorkTreeError::Git { command, code, stderr }
    }
}

/// Returns the command of arguments, such as `read-tree`: the first word that is no option and no value of one.
fn command_in(arguments: &[OsString]) -> String {
    let mut words = arguments.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        match word.as_ref() {
            "-C" | "-c" => drop(words.next()),
            option if option.starts_with('-') => {}
            command => return command.to_owned(),
        }
    }
    String::new()
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}
