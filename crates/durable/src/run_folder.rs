//! Folders of runs in a data folder.

use std::path::{Path, PathBuf};

/// Name of the folder of all runs in a data folder.
const RUNS: &str = "runs";
/// Room for the name of a file or a task in the folder of a run, because each tool call makes such a path.
const ROOM: usize = 32;

/// Returns the folder of the files of all runs in a data folder.
#[must_use]
pub fn runs_folder(data_folder: &Path) -> PathBuf {
    data_folder.join(RUNS)
}

/// Returns the folder of the files of a run: its lock, its outputs and its undo data.
#[must_use]
pub fn run_folder(data_folder: &Path, run: &str) -> PathBuf {
    let mut folder = PathBuf::with_capacity(data_folder.as_os_str().len() + run.len() + ROOM);
    folder.push(data_folder);
    folder.extend([RUNS, run]);
    folder
}
