//! Checks of commands and file facts, which aime carries out itself.

use std::path::{Component, Path, PathBuf};

use aime_messages::{Describe, Message, message};
use aime_progress_management::{Check, CheckMethod, Criterion, FileChange, FileChangeKind, FileCheck, FileFact, TaskId};
use aime_sandbox::ConfinedFolder;
use aime_tools::{Permissions, ToolContext, ToolError, ToolOutput, ValidatedCall};
use aime_undo::PathComparison;
use tokio::time::Instant;

use super::{Context, RunRunner, checks::Author, hooks::HookCaller, kept_files::CHECK, millis_since, private::PrivateWorkspace};
use crate::{CriterionResult, RunFact, read_criterion};

impl RunRunner {
    /// Returns the folder of a task's work.
    pub(super) fn folder_of<'a>(&'a self, place: Option<&'a PrivateWorkspace>) -> &'a ConfinedFolder {
        place.map_or(&self.parts.tool_context.folder, PrivateWorkspace::confined)
    }

    /// Makes a call that must leave no effects in its folder, and puts them back. Returns a line for each path that the call changed.
    pub(super) async fn call_without_effects(
        &self,
        place: Option<&PrivateWorkspace>,
        asking: HookCaller,
        call: &mut ValidatedCall,
        tool_context: ToolContext,
        permissions: Permissions<'_>,
    ) -> (Result<ToolOutput, ToolError>, Vec<String>) {
        let asking = asking.of_check();
        let Some(place) = place else {
            let called = self.call_with_hooks(&asking, call, tool_context, permissions).await;
            let folder = self.parts.tool_context.working_folder();
            return (called, self.kept_files.discard_effects(asking.task(), folder, asking.facts()).await);
        };
        let state = match place.private().begin_check().await {
            Ok(state) => state,
            Err(error) => return (Err(ToolError::NotBegun(format!("not run: {error}"))), Vec::new()),
        };
        let called = self.call_with_hooks(&asking, call, tool_context, permissions).await;
        let changed = match place.private().discard_effects(&state).await {
            Ok(changed) => changed,
            Err(error) => return (called, vec![format!("its changes of files could not be put back: {error}")]),
        };
        let mut lines = Vec::new();
        for path in changed {
            let path = path.to_string_lossy().into_owned();
            lines.push(format!("it changed `{path}`, which was put back"));
            let (added, removed, diff) = (0, 0, String::new());
            let (task, tool, did) = (asking.task().cloned(), CHECK.to_owned(), FileChangeKind::PutBack);
            // A run that is gone has nobody to be told.
            let _gone = asking.facts().send(RunFact::FileChanged { change: FileChange { task, tool, path, did, added, removed, diff } });
        }
        (called, lines)
    }

    /// Checks a criterion that code can check, in the private folder of a task if there is one; leaves the others open.
    pub(super) async fn execute(
        &self,
        criterion: &Criterion,
        of: (Option<&TaskId>, Option<&PrivateWorkspace>),
        author: &Author,
        context: &Context,
    ) -> CriterionResult {
        let begun = Instant::now();
        let result = self.look_at(criterion, of, author, context).await;
        CriterionResult { duration_ms: millis_since(begun), ..result }
    }

    async fn look_at(
        &self,
        criterion: &Criterion,
        of: (Option<&TaskId>, Option<&PrivateWorkspace>),
        author: &Author,
        context: &Context,
    ) -> CriterionResult {
        let open = CriterionResult::open(criterion);
        let file = match &criterion.check {
            Check::File(file) => Some(file.clone()),
            Check::Text(text) => read_criterion(text),
            Check::Command(command) => return self.run_check(command, open, of, author, context).await,
        };
        let Some(file) = file else { return CriterionResult { reason: message!("check-no-file"), ..open } };
        let file = self.named_in(file, of.1);
        let (passed, reason) = match file.fact {
            FileFact::Unchanged => self.check_unchanged(&file.path, of.1).await,
            FileFact::Exists | FileFact::Absent | FileFact::Contains(_) | FileFact::Matches(_) => self.check_file(&file, of.1),
        };
        let how = if passed.is_some() { CheckMethod::Executed } else { CheckMethod::Unchecked };
        CriterionResult { passed, reason, how, ..open }
    }

    /// Returns a file check whose absolute path names a file of the working folder as that file in a private folder.
    fn named_in(&self, file: FileCheck, place: Option<&PrivateWorkspace>) -> FileCheck {
        let within = Path::new(&file.path).strip_prefix(self.parts.tool_context.working_folder());
        match within {
            Ok(within) if place.is_some() => FileCheck { path: within.to_string_lossy().into_owned(), ..file },
            _ => file,
        }
    }

    /// Checks that a path is as it was when the run began.
    async fn check_unchanged(&self, path: &str, place: Option<&PrivateWorkspace>) -> (Option<bool>, Message) {
        let folder = self.folder_of(place);
        if let Err(ToolError::Denied(why)) = folder.facts(path).map_err(ToolError::from) {
            return (None, why.into());
        }
        let known = Path::new(path);
        let within = known.strip_prefix(folder.path()).unwrap_or(known).components().filter(|part| *part != Component::CurDir);
        let within: PathBuf = within.collect();
        if !within.components().all(|part| matches!(part, Component::Normal(_))) || within.as_os_str().is_empty() {
            return (None, message!("check-outside", path));
        }
        let unmerged = match place {
            Some(place) => place.private().unmerged_paths().await,
            None => Ok(Vec::new()),
        };
        match unmerged {
            Ok(unmerged) if unmerged.iter().any(|changed| changed.starts_with(&within)) => {
                return (Some(false), message!("check-changed", path));
            }
            Ok(_) => {}
            Err(error) => return (None, message!("check-unread", error)),
        }
        match self.kept_files.since_begin(within).await {
            Some(PathComparison::Same) => (Some(true), message!("check-unchanged", path)),
            Some(PathComparison::Changed) => (Some(false), message!("check-changed", path)),
            Some(PathComparison::NotKept(why)) => (None, message!("check-path-unrecorded", path, reason = why.describe())),
            None => (None, message!("check-unrecorded")),
        }
    }

    /// Checks a fact about a file. A path that the run may not see, such as one outside the working folder, cannot be checked.
    fn check_file(&self, FileCheck { path, fact }: &FileCheck, place: Option<&PrivateWorkspace>) -> (Option<bool>, Message) {
        let folder = self.folder_of(place);
        let exists = match folder.facts(path).map_err(ToolError::from) {
            Ok(_) => true,
            Err(ToolError::Denied(why)) => return (None, why.into()),
            Err(_) => false,
        };
        let text = match fact {
            FileFact::Exists | FileFact::Absent => {
                let found = if exists { message!("check-exists", path) } else { message!("check-absent", path) };
                return (Some(exists == (*fact == FileFact::Exists)), found);
            }
            FileFact::Contains(_) | FileFact::Matches(_) | FileFact::Unchanged => match folder.read(path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) => return (Some(false), Message::text(error)),
            },
        };
        let (holds, found) = match fact {
            FileFact::Matches(pattern) if pattern.is_match(&text) => (true, message!("check-matches", path, pattern)),
            FileFact::Matches(pattern) => (false, message!("check-matches-not", path, pattern)),
            FileFact::Contains(part) if text.contains(part) => (true, message!("check-contains", path, part = format!("{part:?}"))),
            FileFact::Contains(part) => (false, message!("check-contains-not", path, part = format!("{part:?}"))),
            FileFact::Exists | FileFact::Absent | FileFact::Unchanged => return (None, Message::default()),
        };
        (Some(holds), found)
    }
}
