//! Plans that are kept from one run to the next: a folder with a file for each.
//!
//! A plan is kept once its run has reached the goal with the original plan. During the run the plan is stored in the
//! run's own folder, so that a run that is resumed in another process still keeps it. A kept plan is deleted if its run
//! fails or has to repair it.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use aime_dynamic_planner::{KeptPlan, PlanCache, PlanKey};
use aime_progress_management::{ProgressState, RunId, RunStatus, TaskStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `schema` member of a kept plan.
const SCHEMA: &str = "aime.kept-plan/v1";
/// Default maximum number of kept plans.
const KEPT: usize = 64;
/// Maximum size of a file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Folder of kept plans. Many runs and processes may share it, because each file is written atomically.
#[derive(Debug, Clone)]
pub struct KeptPlans {
    folder: PathBuf,
    most: usize,
}

/// File format of a kept plan.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    /// In a run's folder: true if the plan was kept before and is used again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
    kept: KeptPlan,
}

impl KeptPlans {
    /// Keeps plans in this folder, which is created with the first plan. Keeps at most 64 and evicts the least recently
    /// used.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), most: KEPT }
    }

    /// Sets the maximum number of plans.
    #[must_use]
    pub const fn at_most(mut self, plans: usize) -> Self {
        self.most = plans;
        self
    }

    /// Returns all plans that can be read, and a message for each other one. Blocks.
    pub(crate) fn read(&self) -> (PlanCache, Vec<String>) {
        let mut notes = Vec::new();
        let mut plans = Vec::new();
        for path in self.files() {
            match read(&path) {
                Ok(document) => plans.push(document.kept),
                Err(why) => notes.push(format!("the kept plan {} was left out: {why}", path.display())),
            }
        }
        plans.sort_by(|one, other| (one.used_at, &one.key.goal).cmp(&(other.used_at, &other.key.goal)));
        let mut cache = PlanCache::new(self.most);
        plans.into_iter().for_each(|kept| cache.insert(kept));
        (cache, notes)
    }

    /// Deletes the plans of a run. Blocks.
    pub fn forget_run(&self, run: &RunId) {
        for path in self.files() {
            if read(&path).is_ok_and(|document| document.kept.by.as_deref() == Some(run.as_str())) {
                remove(&path);
            }
        }
    }

    /// Stores a plan and evicts others to make room for it. Blocks.
    fn keep(&self, kept: KeptPlan) -> io::Result<()> {
        write(&self.path(&kept.key), &Document { schema: SCHEMA.to_owned(), again: false, kept })?;
        // An unreadable file is useless, so it is evicted first.
        let mut files: Vec<(i64, PathBuf)> =
            self.files().map(|path| (read(&path).map_or(i64::MIN, |document| document.kept.used_at), path)).collect();
        files.sort();
        let surplus = files.len().saturating_sub(self.most);
        files.iter().take(surplus).for_each(|(_, path)| remove(path));
        Ok(())
    }

    fn path(&self, key: &PlanKey) -> PathBuf {
        self.folder.join(format!("{}.json", key.name()))
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|ending| ending == "json"))
    }
}

/// The plan of a run in progress, stored in the run's folder.
pub(crate) struct ActivePlan {
    path: PathBuf,
}

impl ActivePlan {
    /// Creates a handle for the folder of a run.
    pub(crate) fn new(run_folder: &Path) -> Self {
        Self { path: run_folder.join("plan.json") }
    }

    /// Stores the plan that the run works with; `again` is true if it was kept before. Blocks.
    pub(crate) fn begin(&self, kept: KeptPlan, again: bool) -> io::Result<()> {
        write(&self.path, &Document { schema: SCHEMA.to_owned(), again, kept })
    }

    /// Deletes the stored plan, because the run has no plan that could be kept. Blocks.
    pub(crate) fn forget(&self) {
        remove(&self.path);
    }

    /// Keeps the plan of a run that has ended for good, or deletes it. `folder` describes the content of the working
    /// folder now. Blocks.
    pub(crate) fn end(&self, plans: &KeptPlans, state: &ProgressState, folder: String, at: i64) -> io::Result<()> {
        let Ok(Document { again, mut kept, .. }) = read(&self.path) else { return Ok(()) };
        let ended = if is_worth_keeping(state) {
            kept.folders.retain(|held| *held != folder);
            kept.folders.push(folder);
            kept.used_at = at;
            plans.keep(kept)
        } else {
            if again {
                remove(&plans.path(&kept.key));
            }
            Ok(())
        };
        remove(&self.path);
        ended
    }
}

/// Returns true if a run reached its goal with its original plan: no task failed for good, and no replan repaired the
/// plan.
fn is_worth_keeping(state: &ProgressState) -> bool {
    state.status == RunStatus::Completed
        && !state.tasks.values().any(|task| matches!(task.status, TaskStatus::Failed | TaskStatus::RolledBack))
        && !state.decisions.iter().any(aime_progress_management::Decision::is_replan)
}

fn read(path: &Path) -> Result<Document, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_BYTES {
        return Err(format!("it is larger than {MAX_BYTES} bytes"));
    }
    let text = fs::read(path).map_err(|error| error.to_string())?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| format!("it is damaged ({error})"))?;
    match value.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => serde_json::from_value(value).map_err(|error| format!("it is damaged ({error})")),
        Some(other) => Err(format!("it is {other:?}, and this version of aime reads {SCHEMA:?}")),
        None => Err("it is damaged (it has no schema)".to_owned()),
    }
}

fn write(path: &Path, document: &Document) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".plan-").suffix(".tmp").tempfile_in(folder)?;
    serde_json::to_writer_pretty(&mut file, document)?;
    file.write_all(b"\n")?;
    file.persist(path)?;
    Ok(())
}

/// Removes a file. Ignores errors: a remaining file is found and reported again.
fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %path.display(), "a kept plan could not be removed");
    }
}

#[cfg(test)]
mod tests;
