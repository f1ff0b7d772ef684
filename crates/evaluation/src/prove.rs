//! Whether the checks of a suite can be trusted: each passes where its solution was run, and fails where nothing was done.

use std::{collections::BTreeMap, ffi::OsString, io, path::Path};

use crate::{Suite, Task, check};

/// What a check says of a solution, and of nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The task.
    pub task: String,
    /// Whether the check passes after the solution; nothing where the task has none.
    pub solved: Option<bool>,
    /// Whether it passes where nothing was done.
    pub undone: bool,
}

impl Proof {
    /// Whether it tells the two apart.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.solved != Some(false) && !self.undone
    }
}

/// Proves each check, one after the other, in new folders below this one. `environment` is what the scripts see.
///
/// # Errors
/// When a folder cannot be made or a script not be started.
pub async fn prove(suite: &Suite, below: &Path, environment: &BTreeMap<OsString, OsString>) -> io::Result<Vec<Proof>> {
    let mut proofs = Vec::new();
    for task in &suite.tasks {
        let solved = match &task.solution {
            Some(solution) => Some(passes(task, Some(solution), &below.join(format!("{}-solved", task.name)), environment).await?),
            None => None,
        };
        let undone = passes(task, None, &below.join(format!("{}-undone", task.name)), environment).await?;
        proofs.push(Proof { task: task.name.clone(), solved, undone });
    }
    Ok(proofs)
}

async fn passes(task: &Task, solution: Option<&str>, folder: &Path, environment: &BTreeMap<OsString, OsString>) -> io::Result<bool> {
    std::fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    task.files.lay(&folder)?;
    if let Some(solution) = solution {
        check::script(solution, &folder, environment.clone(), task.bounds.check_seconds).await?;
    }
    // A solution may answer: then it leaves the answer in a file of this name.
    let answer = std::fs::read_to_string(folder.join("ANSWER")).unwrap_or_default();
    check::reached(task, &folder, &answer, environment).await
}

/// What the check says after the solution, and after nothing, in the tests.
#[cfg(test)]
pub(crate) async fn solved_and_not(task: &Task) -> (bool, bool) {
    let folder = tempfile::tempdir().unwrap();
    let environment = BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
    let solved = passes(task, task.solution.as_deref(), &folder.path().join("solved"), &environment).await.unwrap();
    (solved, passes(task, None, &folder.path().join("undone"), &environment).await.unwrap())
}
