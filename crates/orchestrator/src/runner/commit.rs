//! The work of a run as commits on a branch of its own.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use aime_durable::run_folder;
use aime_messages::{Describe, Message, message};
use aime_progress_management::{ProgressState, TaskId};
use aime_sandbox::ConfinedFolder;
use aime_undo::{Entry, UndoData, UnrecordedReason};
use aime_work_tree::{Content, NewBranch};
use tokio::task::spawn_blocking;

use super::RunRunner;
use crate::Parts;

/// Maximum characters of the first line of a commit's message.
const SUBJECT: usize = 72;
/// Bits of a mode that let a file be executed.
const EXECUTABLE: u32 = 0o111;
/// First line of the message of a commit with changes that a person had not committed.
const BEFORE: &str = "Uncommitted changes from before the run";
/// Number of paths that a note names.
const NAMED: usize = 5;

/// Returns the reason why the work of a run could not be committed at its end, if that is known before it begins.
pub(crate) async fn cannot_commit(parts: &Parts) -> Option<Message> {
    if parts.undo.is_none() {
        return Some(message!("commits-no-undo"));
    }
    let Ok(place) = tempfile::tempdir() else { return None };
    open_branch(parts, place.path()).await.err()
}

async fn open_branch(parts: &Parts, place: &Path) -> Result<NewBranch, Message> {
    let context = &parts.tool_context;
    let path: OsString = context.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let opened = NewBranch::begin(context.working_folder(), place, path).await.map_err(|error| error.describe())?;
    opened.ok_or_else(|| message!("commits-no-repository"))
}

impl RunRunner {
    /// Commits the work of an ended run to a new branch, with one commit for each task, if the settings want it. Returns messages for a person.
    pub(crate) async fn deliver(&self, state: &ProgressState) -> Vec<Message> {
        if !self.input.settings.commit {
            return Vec::new();
        }
        self.commit_work(state).await.unwrap_or_else(|reason| vec![message!("commits-failed", reason)])
    }

    async fn commit_work(&self, state: &ProgressState) -> Result<Vec<Message>, Message> {
        let (keep, run, folder) = (self.parts.keep.clone(), self.run.clone(), self.parts.tool_context.folder.clone());
        let place = run_folder(&keep, run.as_str());
        let work = spawn_blocking(move || RunCommits::read(&UndoData::read(&keep, run.as_str()).map_err(Message::text)?, &folder)).await;
        let RunCommits { before, tasks, mut omitted } = work.map_err(Message::text)??;
        let mut branch = open_branch(&self.parts, &place).await?;
        let seconds = self.parts.clock.now() / 1000;
        // Only this commit has what a person changed in the same files before.
        let text = format!("{BEFORE}\n\nAime-Run: {}", self.run);
        branch.commit(&text, &before, seconds).await.map_err(|error| error.describe())?;
        let is_first_of_person = branch.commits() > 0;
        for (task, contents) in tasks {
            let text = self.message(task.as_deref(), state);
            for (path, reason) in branch.commit(&text, &contents, seconds).await.map_err(|error| error.describe())? {
                omitted.add(reason.describe(), path);
            }
        }
        let created = branch.create(&format!("aime/{}", self.run)).await.map_err(|error| error.describe())?;
        let mut notes = vec![match created {
            Some((branch, commits)) if is_first_of_person => message!("commits-branch-mixed", branch, commits),
            Some((branch, commits)) => message!("commits-branch", branch, commits),
            None => message!("commits-none"),
        }];
        notes.extend(omitted.notes());
        Ok(notes)
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

/// Contents of paths; `None` for a removed path.
type Contents = Vec<(PathBuf, Option<Content>)>;

/// The work of a run, as it is to be committed.
#[derive(Default)]
struct RunCommits {
    /// Contents before the run.
    before: Contents,
    /// Contents after each task.
    tasks: Vec<(Option<String>, Contents)>,
    /// Paths whose content is not known.
    omitted: Omitted,
}

/// Paths that are not in the commits as they are in the folder, by the reason.
#[derive(Default)]
struct Omitted(Vec<(Message, BTreeSet<PathBuf>)>);

impl Omitted {
    fn add(&mut self, reason: Message, path: PathBuf) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, paths)) => drop(paths.insert(path)),
            None => self.0.push((reason, BTreeSet::from([path]))),
        }
    }

    fn notes(&self) -> impl Iterator<Item = Message> {
        self.0.iter().map(|(reason, all)| {
            let paths = all.iter().take(NAMED).map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
            match all.len().saturating_sub(NAMED) {
                0 => message!("commits-omitted", paths, reason),
                more => message!("commits-omitted-more", paths, more, reason),
            }
        })
    }
}

impl RunCommits {
    /// Reads what was recorded. A file that was too large for that is taken from the folder, if nobody has changed it since.
    fn read(kept: &Option<UndoData>, folder: &ConfinedFolder) -> Result<Self, Message> {
        let kept = kept.as_ref().ok_or_else(|| message!("commits-not-recorded"))?;
        if let Some(reason) = kept.lost() {
            return Err(reason.clone());
        }
        let mut work = Self::default();
        for (path, entry) in kept.before() {
            if let Recorded::Content(content) = Recorded::of(kept, entry.as_ref())? {
                work.before.push((path.clone(), content));
            }
        }
        for (number, task) in kept.work().iter().enumerate() {
            let mut contents = Vec::new();
            for (path, entry) in &task.paths {
                match Recorded::of(kept, entry.as_ref())? {
                    Recorded::Nothing => {}
                    Recorded::Content(content) => contents.push((path.clone(), content)),
                    // A later task has a later state of it.
                    Recorded::Unknown(_) if kept.work().iter().skip(number + 1).any(|later| later.paths.contains_key(path)) => {}
                    Recorded::Unknown(why) => match entry.as_ref().and_then(|entry| in_folder(folder, path, entry)) {
                        Some(content) => contents.push((path.clone(), Some(content))),
                        None => work.omitted.add(why.describe(), path.clone()),
                    },
                }
            }
            work.tasks.push((task.task.clone(), contents));
        }
        Ok(work)
    }
}

/// The record of a path.
enum Recorded {
    /// A folder or a cache, which no commit holds.
    Nothing,
    /// The content; `None` for a path without an entry.
    Content(Option<Content>),
    /// The content was not recorded.
    Unknown(UnrecordedReason),
}

impl Recorded {
    fn of(kept: &UndoData, entry: Option<&Entry>) -> Result<Self, Message> {
        Ok(match entry {
            None => Self::Content(None),
            Some(Entry::Folder { .. } | Entry::NotKept { why: UnrecordedReason::Cache, .. }) => Self::Nothing,
            Some(Entry::Link { target }) => Self::Content(Some(Content::Link(target.clone()))),
            Some(entry @ Entry::File { mode, .. }) => {
                let bytes = kept.content(entry).map_err(Message::text)?.unwrap_or_default();
                Self::Content(Some(Content::File { bytes, is_executable: mode & EXECUTABLE != 0 }))
            }
            Some(Entry::NotKept { why, .. }) => Self::Unknown(*why),
        })
    }
}

/// Returns the file in the folder, if it is still the one whose content was not recorded.
fn in_folder(folder: &ConfinedFolder, path: &Path, entry: &Entry) -> Option<Content> {
    let Entry::NotKept { why: UnrecordedReason::TooLarge | UnrecordedReason::NoRoom, size, modified } = entry else { return None };
    let found = folder.entry(path).ok().flatten()?;
    let is_same = found.kind == aime_sandbox::EntryKind::File && (found.stamp.size, found.stamp.modified) == (*size, *modified);
    is_same.then_some(Content::InFolder { is_executable: found.mode & EXECUTABLE != 0 })
}
