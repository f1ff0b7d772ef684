//! Who did what on the way to a state.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_undo::{Author, Brought, Content, Recorder, Scope};
use aime_work_tree::{Blob, Changed, Commit, Step, WorkTree, WorkTreeError};
use serde::{Deserialize, Serialize};
use tokio::{runtime::Handle, task::spawn_blocking};

use super::TreeError;

/// On whose behalf work was done: what the state tells that came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct By {
    /// Who did it.
    pub(super) author: Author,
    /// What it undid, if it was an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undoes: Option<Scope>,
}

impl By {
    /// As it stands with a state: a line of JSON.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Who changes files where nothing tells on whose behalf: the run as a whole.
#[must_use]
pub fn brought() -> Author {
    Author::new(None, "trees")
}

/// Who did a step, and what it undid.
fn who(step: &Step) -> (Vec<Author>, Option<Scope>) {
    let read = |by: &String| serde_json::from_str(by).unwrap_or_else(|_| By { author: brought(), undoes: None });
    let mut all: Vec<By> = step.by.iter().map(read).collect();
    let undoes = if let [by] = all.as_mut_slice() { by.undoes.take() } else { None };
    (authors(all.into_iter().map(|by| by.author)), undoes)
}

fn authors(all: impl IntoIterator<Item = Author>) -> Vec<Author> {
    all.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// The work of these steps, as it comes into a folder. What was changed `here` too was joined with it, so that of these paths nobody knows more than who
/// changed them.
pub(super) async fn pieces(folder: &WorkTree, steps: &[Step], here: &BTreeSet<PathBuf>) -> Result<Vec<Brought>, WorkTreeError> {
    let mut last: HashMap<&Path, usize> = HashMap::new();
    for (number, step) in steps.iter().enumerate() {
        last.extend(step.changes.iter().map(|changed| (changed.path.as_path(), number)));
    }
    let mut pieces = Vec::new();
    let mut joined: HashMap<&Path, Vec<Author>> = HashMap::new();
    for (number, step) in steps.iter().enumerate() {
        let (by, undoes) = who(step);
        let mut changes = Vec::new();
        for Changed { path, after, .. } in &step.changes {
            if here.contains(path) {
                joined.entry(path).or_default().extend(by.iter().cloned());
                continue;
            }
            let content = match after {
                Some(blob) if last.get(path.as_path()) != Some(&number) => Some(content(folder, blob).await?),
                _ => None,
            };
            changes.push((path.clone(), content));
        }
        pieces.push(Brought { by, undoes, changes });
    }
    pieces.extend(here.iter().filter_map(|path| {
        let by = authors(joined.remove(path.as_path())?);
        Some(Brought { by, undoes: None, changes: vec![(path.clone(), None)] })
    }));
    Ok(pieces)
}

/// What a folder that stands `now` comes to by what a run did between two states, where that makes `both` of it.
pub(super) async fn work(
    folder: &WorkTree,
    (before, after): (&Commit, &Commit),
    (now, both): (&Commit, &Commit),
) -> Result<Vec<Brought>, WorkTreeError> {
    let steps = folder.past(Some(before), after).await?.map(|past| past.steps).unwrap_or_default();
    let here = folder.changed(before, now).await?.into_iter().map(|changed| changed.path).collect();
    let mut work = pieces(folder, &steps, &here).await?;
    let told: BTreeSet<PathBuf> = work.iter().flat_map(|piece| &piece.changes).map(|(path, _)| path.clone()).collect();
    let whole = folder.changed(now, both).await?.into_iter().map(|changed| (changed.path, None));
    let changes: Vec<_> = whole.filter(|(path, _)| !told.contains(path)).collect();
    if !changes.is_empty() {
        work.push(Brought { by: vec![brought()], undoes: None, changes });
    }
    Ok(work)
}

/// Has work come into a folder, and keeps it.
pub(super) async fn bring(
    recorder: Arc<Recorder>,
    work: Vec<Brought>,
    come: impl Future<Output = Result<(), WorkTreeError>> + Send + 'static,
) -> Result<(), TreeError> {
    let runtime = Handle::current();
    let came = spawn_blocking(move || recorder.bring(&brought(), &work, || runtime.block_on(come)));
    Ok(came.await.map_err(|error| TreeError::Broken { why: error.to_string() })??)
}

async fn content(folder: &WorkTree, blob: &Blob) -> Result<Content, WorkTreeError> {
    if blob.is_link() {
        return Ok(Content::Link { target: folder.target(blob).await? });
    }
    match folder.content(blob).await {
        Ok(bytes) => Ok(Content::File { bytes, may_run: blob.may_run() }),
        Err(WorkTreeError::TooMuch { bytes, .. }) => Ok(Content::TooLarge { size: bytes }),
        Err(error) => Err(error),
    }
}
