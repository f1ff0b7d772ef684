//! The work of a run as commits on a branch of its own.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use aime_progress_management::{ProgressState, TaskId};
use aime_undo::{Entry, Kept, NotKept, Work};
use aime_work_tree::{Content, NewBranch};
use tokio::task::spawn_blocking;

use super::RunRunner;

/// Maximum characters of the first line of a commit's message.
const SUBJECT: usize = 72;
/// Bits of a mode that let a file be executed.
const EXECUTABLE: u32 = 0o111;

impl RunRunner {
    /// Commits the work of an ended run to a new branch, with one commit for each task, if the settings want it. Returns messages for a person.
    pub(crate) async fn deliver(&self, state: &ProgressState) -> Vec<String> {
        if !self.input.settings.commit {
            return Vec::new();
        }
        vec![match self.commit_work(state).await {
            Ok(Some((branch, commits))) => format!("the work is on the branch {branch}, in {commits} commits"),
            Ok(None) => "nothing is committed: the run changed no file that the repository keeps".to_owned(),
            Err(reason) => format!("the work is not committed: {reason}"),
        }]
    }

    async fn commit_work(&self, state: &ProgressState) -> Result<Option<(String, usize)>, String> {
        let context = &self.parts.tool_context;
        let path: OsString = context.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let (keep, run) = (self.parts.keep.clone(), self.run.clone());
        let place = keep.join("runs").join(run.as_str());
        let all = spawn_blocking(move || contents(&Kept::read(&keep, run.as_str()).map_err(|error| error.to_string())?)).await;
        let all = all.map_err(|error| error.to_string())??;
        let branch = NewBranch::begin(context.working_folder(), &place, path).await.map_err(|error| error.to_string())?;
        let mut branch = branch.ok_or("the folder is in no git repository")?;
        let seconds = self.parts.clock.now() / 1000;
        for (task, contents) in all {
            let message = self.message(task.as_deref(), state);
            branch.commit(&message, &contents, seconds).await.map_err(|error| error.to_string())?;
        }
        branch.create(&format!("aime/{}", self.run)).await.map_err(|error| error.to_string())
    }

    fn message(&self, task: Option<&str>, state: &ProgressState) -> String {
        let known = task.and_then(|task| state.tasks.get(&task.parse::<TaskId>().ok()?));
        let title = known.map_or(state.goal.as_str(), |task| task.spec.name.as_str());
        let subject: String = title.lines().next().unwrap_or_default().chars().take(SUBJECT).collect();
        let summary = known.and_then(|task| task.conclusion.as_ref()).map_or("", |conclusion| conclusion.summary.trim());
        let summary = if summary.is_empty() || summary == subject { String::new() } else { format!("{summary}\n\n") };
        let task = task.map(|task| format!("Aime-Task: {task}\n")).unwrap_or_default();
        format!("{subject}\n\n{summary}{task}Aime-Run: {}", self.run)
    }
}

/// Contents of the paths that a task changed; `None` for a removed path.
type Contents = Vec<(PathBuf, Option<Content>)>;

/// Returns the work of each task with the contents of its files.
fn contents(kept: &Option<Kept>) -> Result<Vec<(Option<String>, Contents)>, String> {
    let kept = kept.as_ref().ok_or("the changes of files were not recorded")?;
    if let Some(reason) = kept.lost() {
        return Err(reason.to_owned());
    }
    kept.work().iter().map(|Work { task, paths }| Ok((task.clone(), contents_of(kept, paths)?))).collect()
}

fn contents_of<'a>(kept: &Kept, paths: impl IntoIterator<Item = (&'a PathBuf, &'a Option<Entry>)>) -> Result<Contents, String> {
    let mut contents = Vec::new();
    for (path, entry) in paths {
        let content = match entry {
            None => None,
            Some(Entry::Link { target }) => Some(Content::Link(target.clone())),
            Some(entry @ Entry::File { mode, .. }) => {
                let bytes = kept.content(entry).map_err(|error| error.to_string())?.unwrap_or_default();
                Some(Content::File { bytes, is_executable: mode & EXECUTABLE != 0 })
            }
            Some(Entry::Folder { .. } | Entry::NotKept { why: NotKept::Cache, .. }) => continue,
            Some(Entry::NotKept { why, .. }) => return Err(format!("{} is not recorded: {}", path.display(), why.words())),
        };
        contents.push((path.clone(), content));
    }
    Ok(contents)
}
