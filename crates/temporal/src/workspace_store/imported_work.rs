//! Authors of the changes that led to a state.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_messages::Message;
use aime_undo::{Author, Content, ImportedWork, Recorder, Scope};
use aime_work_tree::{Blob, ChangedPath, Commit, Step, WorkTree, WorkTreeError};
use serde::{Deserialize, Serialize};
use tokio::{runtime::Handle, task::spawn_blocking};

use super::TreeError;

/// Folder of aime's own files, which belong to no task.
const OWN: &str = ".aime";
/// Maximum size in bytes of a file that is kept in a state between two pieces of work. It is held in memory.
const MAX_FILE_BYTES: u64 = 32_000_000;
/// Maximum size in bytes of all such files together.
const MAX_TOTAL_BYTES: u64 = 512_000_000;

/// Author of some work, recorded in the state that resulted from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkAuthor {
    /// Author of the work.
    pub(super) author: Author,
    /// Scope that it undid, if it was an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undoes: Option<Scope>,
}

impl WorkAuthor {
    /// Returns the line of JSON that is stored with a state.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns the author of changes without a recorded author: the run as a whole.
#[must_use]
pub fn import_author() -> Author {
    Author::new(None, "trees")
}

/// Returns the authors of a step, and the scope that it undid.
fn step_authors(step: &Step) -> (Vec<Author>, Option<Scope>) {
    let read = |by: &String| serde_json::from_str(by).unwrap_or_else(|_| WorkAuthor { author: import_author(), undoes: None });
    let mut all: Vec<WorkAuthor> = step.authors.iter().map(read).collect();
    let undoes = if let [by] = all.as_mut_slice() { by.undoes.take() } else { None };
    (authors(all.into_iter().map(|by| by.author)), undoes)
}

fn authors(all: impl IntoIterator<Item = Author>) -> Vec<Author> {
    all.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the work of these steps in the form in which it is recorded in a folder. Paths that were also changed in
/// the folder (`here`) were merged, so for these only the authors are known.
pub(super) async fn pieces(folder: &WorkTree, steps: &[Step], here: &BTreeSet<PathBuf>) -> Result<Vec<ImportedWork>, WorkTreeError> {
    let mut last: HashMap<&Path, usize> = HashMap::new();
    for (number, step) in steps.iter().enumerate() {
        last.extend(step.changes.iter().map(|changed| (changed.path.as_path(), number)));
    }
    // The last content of a path is read from the folder.
    let between = |number: usize, changed: &ChangedPath| {
        let is_read = !here.contains(&changed.path) && last.get(changed.path.as_path()) != Some(&number);
        if is_read && !changed.path.starts_with(OWN) { changed.after.clone() } else { None }
    };
    let blobs = steps.iter().enumerate().flat_map(|(number, step)| step.changes.iter().filter_map(move |changed| between(number, changed)));
    let contents = contents(folder, blobs.collect()).await?;
    let mut pieces = Vec::new();
    let mut merged: HashMap<&Path, Vec<Author>> = HashMap::new();
    for (number, step) in steps.iter().enumerate() {
        let (by, undoes) = step_authors(step);
        let mut changes = Vec::new();
        for changed in &step.changes {
            if here.contains(&changed.path) {
                merged.entry(&changed.path).or_default().extend(by.iter().cloned());
            } else {
                let content = between(number, changed).and_then(|blob| contents.get(&blob).cloned());
                changes.push((changed.path.clone(), content));
            }
        }
        pieces.push(ImportedWork { authors: by, undoes, changes });
    }
    pieces.extend(here.iter().filter_map(|path| {
        let by = authors(merged.remove(path.as_path())?);
        Some(ImportedWork { authors: by, undoes: None, changes: vec![(path.clone(), None)] })
    }));
    Ok(pieces)
}

/// Returns the changes to a folder in the state `now`, given a run's work between two states and the merge result
/// `both`.
pub(super) async fn work(
    folder: &WorkTree,
    (before, after): (&Commit, &Commit),
    (now, both): (&Commit, &Commit),
) -> Result<Vec<ImportedWork>, WorkTreeError> {
    let steps = folder.history(Some(before), after).await?.map(|history| history.steps).unwrap_or_default();
    let here = folder.changed(before, now).await?.into_iter().map(|changed| changed.path).collect();
    let mut work = pieces(folder, &steps, &here).await?;
    let paths: BTreeSet<PathBuf> = work.iter().flat_map(|piece| &piece.changes).map(|(path, _)| path.clone()).collect();
    for mut rest in as_one(folder, now, both).await? {
        rest.changes.retain(|(path, _)| !paths.contains(path));
        if !rest.changes.is_empty() {
            work.push(rest);
        }
    }
    Ok(work)
}

/// Returns the changes to a folder as one piece of work, if the authors are not known.
pub(super) async fn as_one(folder: &WorkTree, now: &Commit, both: &Commit) -> Result<Vec<ImportedWork>, WorkTreeError> {
    let changes = folder.changed(now, both).await?.into_iter().map(|changed| (changed.path, None)).collect();
    Ok(vec![ImportedWork { authors: vec![import_author()], undoes: None, changes }])
}

/// Has work come into a folder, and keeps it.
pub(super) async fn import(
    recorder: Arc<Recorder>,
    work: Vec<ImportedWork>,
    come: impl Future<Output = Result<(), WorkTreeError>> + Send + 'static,
) -> Result<(), TreeError> {
    let runtime = Handle::current();
    let came = spawn_blocking(move || recorder.import(&import_author(), &work, || runtime.block_on(come)));
    Ok(came.await.map_err(|error| TreeError::Broken { why: Message::text(error) })??)
}

/// Returns the contents of these blobs, each once; only the size of those that are too large.
async fn contents(folder: &WorkTree, blobs: HashSet<Blob>) -> Result<HashMap<Blob, Content>, WorkTreeError> {
    let blobs: Vec<Blob> = blobs.into_iter().collect();
    let sizes = folder.sizes(&blobs.iter().collect::<Vec<_>>()).await?;
    let (mut contents, mut room) = (HashMap::new(), MAX_TOTAL_BYTES);
    for (blob, size) in blobs.into_iter().zip(sizes) {
        let content = if size > room.min(MAX_FILE_BYTES) {
            Content::TooLarge { size }
        } else if blob.is_link() {
            Content::Link { target: folder.target(&blob).await? }
        } else {
            room -= size;
            Content::File { bytes: folder.content(&blob).await?, is_executable: blob.is_executable() }
        };
        contents.insert(blob, content);
    }
    Ok(contents)
}
