//! Whether the checks of a suite can be trusted: each passes where its solution was run, and fails where nothing was done.

use std::{io, path::Path};

use crate::{Scripts, Suite, Task, check, check::Checked};

/// What a check says of a solution, and of nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The task.
    pub task: String,
    /// Whether the check passes after the solution; nothing where the task has none.
    pub solved: Option<bool>,
    /// Whether it passes where nothing was done.
    pub undone: bool,
    /// What the check said after the solution, where it did not pass.
    pub said: Option<String>,
}

impl Proof {
    /// Whether it tells the two apart.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.solved != Some(false) && !self.undone
    }
}

/// Proves each check, one after the other, in new folders below this one.
///
/// # Errors
/// When a folder cannot be made or a script not be started.
pub async fn prove(suite: &Suite, below: &Path, scripts: &Scripts) -> io::Result<Vec<Proof>> {
    let mut proofs = Vec::new();
    for task in &suite.tasks {
        let solved = match &task.solution {
            Some(solution) => Some(checked(task, Some(solution), &below.join(format!("{}-solved", task.name)), scripts).await?),
            None => None,
        };
        let undone = checked(task, None, &below.join(format!("{}-undone", task.name)), scripts).await?.reached;
        let said = solved.as_ref().filter(|solved| !solved.reached).map(|solved| solved.said.clone());
        proofs.push(Proof { task: task.name.clone(), solved: solved.map(|solved| solved.reached), undone, said });
    }
    Ok(proofs)
}

async fn checked(task: &Task, solution: Option<&str>, folder: &Path, scripts: &Scripts) -> io::Result<Checked> {
    // What a run keeps lies in its folder, and is nothing that a check may count.
    std::fs::create_dir_all(folder.join(".aime"))?;
    std::fs::write(folder.join(".aime/aime.db"), "")?;
    let folder = folder.canonicalize()?;
    task.files.lay(&folder)?;
    if let Some(solution) = solution {
        check::script(solution, &folder, scripts, task.bounds.check_seconds).await?;
    }
    // A solution may answer: then it leaves the answer in a file of this name.
    let answer = std::fs::read_to_string(folder.join("ANSWER")).unwrap_or_default();
    check::reached(task, &folder, &answer, scripts).await
}

/// What the check says after the solution, and after nothing, in the tests.
#[cfg(test)]
pub(crate) async fn solved_and_not(task: &Task) -> (bool, bool) {
    (passes_after(task, task.solution.as_deref()).await, passes_after(task, None).await)
}

/// What the check says after a script, in the tests.
#[cfg(test)]
pub(crate) async fn passes_after(task: &Task, script: Option<&str>) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let environment = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into();
    checked(task, script, &folder.path().join("work"), &Scripts { environment, ..Scripts::default() }).await.unwrap().reached
}
