//! Guard of the protected places: scans them before and after each call that may change any file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aime_redact::Redactor;
use aime_sandbox::ConfinedFolder;
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

use super::{
    changes::{PlaceChange, PlaceOutcome, change_kind, differences, is_harmless, is_moved, origins, put_back},
    scan::{Memory, Places, ScanLimits, scan_after, scan_before},
};
use crate::{Consent, Source, ToolContext, ToolError, ToolOutput, ToolScope, ToolSpec, permission::Granted};

/// Maximum number of changes that a result names.
const MAX_NAMED: usize = 20;

/// Reverts unapproved changes of protected places in one folder by the calls of a run. Cheap to clone; all clones share the state, since the
/// changes of concurrent calls cannot be told apart.
#[derive(Clone, Default)]
pub struct ProtectedPlaces {
    state: Arc<Mutex<State>>,
    changes: Arc<Mutex<Vec<PlaceChange>>>,
    asks_nobody: bool,
    pub(super) limits: ScanLimits,
}

#[derive(Default)]
struct State {
    /// Content of each place while calls are running. Changes between calls are made by the person.
    baseline: Option<Places>,
    /// Knowledge from the last calls.
    memory: Memory,
    /// Folders that were made readable again, and are not reported yet.
    reopened: BTreeSet<PathBuf>,
    /// Places that running calls may change, by the calls' numbers.
    running_calls: Vec<(u64, Granted)>,
    next: u64,
    /// True once a place was reported that could not be watched as a whole. Later calls would only repeat it.
    has_reported_missed: bool,
}

impl ProtectedPlaces {
    /// Returns a handle for one call; [`take_changes`](Self::take_changes) then returns the call's changes. Without `asks`, no person is
    /// asked to approve changes.
    #[must_use]
    pub fn for_call(&self, asks: bool) -> Self {
        Self { state: Arc::clone(&self.state), changes: Arc::default(), asks_nobody: !asks, limits: self.limits }
    }

    /// Returns the changes by calls since the last use of this function.
    #[must_use]
    pub fn take_changes(&self) -> Vec<PlaceChange> {
        std::mem::take(&mut *locked(&self.changes))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Starts to watch a call, if it may change any file or names a protected place.
    pub(crate) async fn watch(&self, spec: &ToolSpec, parameters: &Map<String, Value>, context: &ToolContext) -> Option<WatchedCall> {
        let any = match spec.source {
            Source::Server { .. } | Source::Servers { .. } => true,
            Source::Touched => !spec.read_only && matches!(spec.touches, ToolScope::Processes | ToolScope::Network | ToolScope::Anything),
        };
        if !any && spec.read_only {
            return None;
        }
        let granted = context.rules.granted(spec.name(), parameters);
        let by_file_tool = !any && granted.names_places();
        if !any && !by_file_tool {
            return None;
        }
        self.begin_for(granted, by_file_tool, context).await
    }

    /// Starts to watch a command that continues after its call.
    pub(crate) async fn watch_command(&self, parameters: &Map<String, Value>, context: &ToolContext) -> Option<WatchedCall> {
        let granted = context.rules.granted("bash", parameters);
        self.begin_for(granted, false, context).await
    }

    async fn begin_for(&self, granted: Granted, by_file_tool: bool, context: &ToolContext) -> Option<WatchedCall> {
        let (places, folder, redactor) = (self.clone(), context.folder.clone(), context.redactor.clone());
        let begun = spawn_blocking(move || places.begin(&folder, &redactor, granted)).await;
        begun.ok().map(|number| WatchedCall { places: self.clone(), folder: context.folder.clone(), number, by_file_tool, is_ended: false })
    }

    fn begin(&self, folder: &ConfinedFolder, redactor: &Redactor, granted: Granted) -> u64 {
        let mut state = self.state();
        // If other calls are running, or the last scan was skipped, the earlier baseline applies.
        if state.baseline.is_none() {
            let baseline = scan_before(&state.memory, folder, redactor, self.limits);
            if state.next == 0 {
                state.memory.begin_with(&baseline);
            }
            state.baseline = Some(baseline);
        }
        let number = state.next;
        state.next += 1;
        state.running_calls.push((number, granted));
        number
    }

    /// Returns the places that calls changed without approval.
    fn unapproved(&self, folder: &ConfinedFolder, redactor: &Redactor) -> Vec<String> {
        let mut state = self.state();
        let Some(before) = &state.baseline else { return Vec::new() };
        let after = scan_after(before, folder, redactor, self.limits);
        let open = |path: &&str| !state.allows(folder, path, before, &after);
        let paths = differences(before, &after).into_iter().filter(open).map(str::to_owned).collect();
        state.reopened.extend(after.reopened());
        paths
    }

    /// Ends the watch of a call. Reverts unapproved changes, except at the `approved` paths. With `reports_folders`, also returns the place
    /// that could not be watched as a whole, and the folders that calls have made unreadable.
    fn end(
        &self,
        folder: &ConfinedFolder,
        redactor: &Redactor,
        (number, approved): (u64, &[String]),
        reports_folders: bool,
    ) -> Vec<PlaceChange> {
        let mut state = self.state();
        let Some(before) = state.baseline.take() else { return Vec::new() };
        let after = scan_after(&before, folder, redactor, self.limits);
        let mut outcomes: BTreeMap<&str, PlaceOutcome> = BTreeMap::new();
        for path in differences(&before, &after) {
            let is_allowed = approved.iter().any(|approved| approved == path) || state.allows(folder, path, &before, &after);
            let was = before.get(path);
            let outcome = match is_allowed {
                true => PlaceOutcome::Stays,
                false if was.is_none() && (before.may_hide(folder, path) || state.memory.has(folder, &before, path)) => {
                    PlaceOutcome::Failed { why: "it is unknown whether it was there before the call".to_owned() }
                }
                false => put_back(folder, path, was),
            };
            outcomes.insert(path, outcome);
        }
        // What was new and is removed may have been moved there.
        let removed = outcomes.iter().filter(|(path, outcome)| **outcome == PlaceOutcome::PutBack && before.get(path).is_none());
        let goes_back = |path: &&str| outcomes.get(path) == Some(&PlaceOutcome::Stays);
        let lost: Vec<&str> = removed.filter_map(|(path, _)| origins(path, &before, &after).find(goes_back)).collect();
        for path in lost {
            if put_back(folder, path, before.get(path)) == PlaceOutcome::PutBack {
                outcomes.insert(path, PlaceOutcome::PutBack);
            }
        }
        let change = |(path, outcome): (&str, PlaceOutcome)| {
            let did = change_kind(before.get(path), after.get(path));
            PlaceChange { path: path.to_owned(), did, outcome }
        };
        let mut changes: Vec<PlaceChange> = outcomes.into_iter().map(change).collect();
        state.reopened.extend(after.reopened());
        let mut folders = Vec::new();
        if reports_folders {
            let reopened = std::mem::take(&mut state.reopened);
            folders.extend(reopened.iter().map(|path| PlaceChange::of_folder(path, PlaceOutcome::Reopened)));
            let failed = || PlaceOutcome::Failed { why: "it can no longer be read".to_owned() };
            folders.extend(after.lost_since(&before).map(|path| PlaceChange::of_folder(path, failed())));
            let missed = before.missed_with(&after).filter(|_| !state.has_reported_missed);
            folders.extend(missed.map(PlaceChange::not_watched));
            state.has_reported_missed |= missed.is_some();
        }
        state.running_calls.retain(|(known, _)| *known != number);
        if state.running_calls.is_empty() {
            state.memory.go_on_with(after);
        } else if changes.is_empty() {
            state.baseline = Some(after);
        } else {
            let again = scan_after(&before, folder, redactor, self.limits);
            state.reopened.extend(again.reopened());
            state.baseline = Some(again);
        }
        changes.extend(folders);
        changes
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn allows(&self, folder: &ConfinedFolder, path: &str, before: &Places, after: &Places) -> bool {
        self.running_calls.iter().any(|(_, granted)| granted.covers(path))
            || is_harmless(folder, path, before.get(path), after.get(path))
            || is_moved(folder, path, before, after)
    }
}

/// Watch of a program that works beside the calls and may change any file at any time, such as an external agent. The changes are told by
/// [`ProtectedPlaces::take_changes`].
pub struct WatchedProgram {
    places: ProtectedPlaces,
    watched: tokio::sync::Mutex<Option<WatchedCall>>,
}

impl WatchedProgram {
    /// Starts to watch.
    pub async fn begin(context: &ToolContext) -> Self {
        let watched = context.protected.watch_command(&Map::new(), context).await;
        Self { places: context.protected.clone(), watched: watched.into() }
    }

    /// Reverts what it has changed so far without approval.
    pub async fn check(&self, context: &ToolContext) {
        let now = self.places.watch_command(&Map::new(), context).await;
        drop(end_watch(now, Ok(ToolOutput::default()), context).await);
    }

    /// Reverts what it has changed without approval, and ends the watch.
    pub async fn end(&self, context: &ToolContext) {
        let watched = self.watched.lock().await.take();
        drop(end_watch(watched, Ok(ToolOutput::default()), context).await);
    }
}

/// Ends the watch of a call, if it is watched, and adds the changes to the result.
pub(crate) async fn end_watch(
    watched: Option<WatchedCall>,
    result: Result<ToolOutput, ToolError>,
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    match watched {
        Some(watched) => Box::pin(watched.end(result, context)).await,
        None => result,
    }
}

/// A watched call.
pub(crate) struct WatchedCall {
    places: ProtectedPlaces,
    folder: ConfinedFolder,
    number: u64,
    by_file_tool: bool,
    is_ended: bool,
}

impl WatchedCall {
    /// Ends the watch, and adds the changes to the result.
    pub(crate) async fn end(mut self, result: Result<ToolOutput, ToolError>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (places, folder, redactor) = (self.places.clone(), self.folder.clone(), context.redactor.clone());
        let open = match &context.person {
            Some(person) if !self.by_file_tool && !self.places.asks_nobody => {
                let (places, folder, redactor) = (places.clone(), folder.clone(), redactor.clone());
                let paths = spawn_blocking(move || places.unapproved(&folder, &redactor)).await.unwrap_or_default();
                let asked = async { if paths.is_empty() { None } else { person.ask(question(&paths)).await } };
                let answer = context.cancel.run_until_cancelled(asked).await.flatten();
                if answer.is_some_and(|answer| Consent::of(&answer) != Consent::No) { paths } else { Vec::new() }
            }
            _ => Vec::new(),
        };
        let (number, by_file_tool) = (self.number, self.by_file_tool);
        let changes = spawn_blocking(move || places.end(&folder, &redactor, (number, &open), !by_file_tool)).await.unwrap_or_default();
        self.is_ended = true;
        if by_file_tool {
            return result;
        }
        let note = changes_note(&changes);
        locked(&self.places.changes).extend(changes);
        if note.is_empty() {
            return result;
        }
        match result {
            Ok(mut output) => {
                let gap = if output.text.is_empty() || output.text.ends_with('\n') { "" } else { "\n" };
                output.text.push_str(&format!("{gap}{note}"));
                Ok(output)
            }
            Err(error) => Err(error.map_text(|text| {
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                format!("{text}{gap}{note}")
            })),
        }
    }
}

impl Drop for WatchedCall {
    fn drop(&mut self) {
        if !self.is_ended {
            // The call was dropped. The scan after the next call finds its changes, because the baseline stays.
            self.places.state().running_calls.retain(|(known, _)| *known != self.number);
        }
    }
}

fn question(paths: &[String]) -> String {
    format!("The call changed what runs later on its own, outside of aime: {}. May that stay?", quoted(paths.iter().map(String::as_str)))
}

/// Returns the note on the changes for a result. It does not tell the caller which places are not watched.
fn changes_note(changes: &[PlaceChange]) -> String {
    let of =
        |wanted: fn(&PlaceOutcome) -> bool| changes.iter().filter(move |change| wanted(&change.outcome)).map(|change| change.path.as_str());
    let mut lines = Vec::new();
    let put_back: Vec<&str> = of(|outcome| *outcome == PlaceOutcome::PutBack).collect();
    if let Some(first) = put_back.first() {
        lines.push(format!(
            "[put back as it was: {}. Such files run later on their own, and nobody approved that; the user can allow it by a rule such as `write_file({first})`]",
            quoted(put_back.iter().copied())
        ));
    }
    for change in changes {
        if let PlaceOutcome::Failed { why } = &change.outcome {
            lines.push(format!(
                "[{} `{}`, which runs later on its own and nobody approved; it could not be put back: {why}]",
                change.did.name(),
                change.path
            ));
        }
    }
    let reopened: Vec<&str> = of(|outcome| *outcome == PlaceOutcome::Reopened).collect();
    if !reopened.is_empty() {
        lines.push(format!("[made readable again, because files that run later may be in it: {}]", quoted(reopened)));
    }
    let changed: Vec<&str> = of(|outcome| *outcome == PlaceOutcome::Stays).collect();
    if !changed.is_empty() {
        lines.push(format!("[changed what may run later: {}]", quoted(changed)));
    }
    lines.join("\n")
}

fn quoted<'a>(paths: impl IntoIterator<Item = &'a str>) -> String {
    let paths: Vec<String> = paths.into_iter().map(|path| format!("`{path}`")).collect();
    let more = paths.len().saturating_sub(MAX_NAMED);
    let shown = paths.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

impl fmt::Debug for ProtectedPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProtectedPlaces({} at work)", self.state().running_calls.len())
    }
}
