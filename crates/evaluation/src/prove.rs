//! Proves the checks of a suite: each must pass after its solution, and fail if nothing was done.

use std::{io, path::Path};

use crate::{Scripts, Suite, Task, check, check::Checked};

/// Results of a check after the solution, and after nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Name of the task.
    pub task: String,
    /// True if the check passes after the solution; `None` if the task has no solution.
    pub solved: Option<bool>,
    /// True if it passes although nothing was done.
    pub undone: bool,
    /// Output of the check after the solution, if it failed.
    pub output: Option<String>,
}

impl Proof {
    /// Returns true if the check distinguishes both cases.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.solved != Some(false) && !self.undone
    }
}

/// Proves each check, one after the other, in new folders below this one.
///
/// # Errors
/// A folder that cannot be created, or a script that cannot be started.
pub async fn prove(suite: &Suite, below: &Path, scripts: &Scripts) -> io::Result<Vec<Proof>> {
    let mut proofs = Vec::new();
    for task in &suite.tasks {
        let solved = match &task.solution {
            Some(solution) => Some(checked(task, Some(solution), &below.join(format!("{}-solved", task.name)), scripts).await?),
            None => None,
        };
        let undone = checked(task, None, &below.join(format!("{}-undone", task.name)), scripts).await?.reached;
        let output = solved.as_ref().filter(|solved| !solved.reached).map(|solved| solved.output.clone());
        proofs.push(Proof { task: task.name.clone(), solved: solved.map(|solved| solved.reached), undone, output });
    }
    Ok(proofs)
}

async fn checked(task: &Task, solution: Option<&str>, folder: &Path, scripts: &Scripts) -> io::Result<Checked> {
    // The folder contains data of the run, which a check must not count.
    std::fs::create_dir_all(folder.join(".aime"))?;
    std::fs::write(folder.join(".aime/aime.db"), "")?;
    let folder = folder.canonicalize()?;
    task.files.write_to(&folder)?;
    if let Some(solution) = solution {
        check::script(solution, &folder, scripts, task.bounds.check_seconds).await?;
    }
    // A solution may give an answer, in a file of this name.
    let answer = std::fs::read_to_string(folder.join("ANSWER")).unwrap_or_default();
    check::reached(task, &folder, &answer, scripts).await
}

/// Returns the results of the check after the solution, and after nothing.
#[cfg(test)]
pub(crate) async fn solved_and_not(task: &Task) -> (bool, bool) {
    (passes_after(task, task.solution.as_deref()).await, passes_after(task, None).await)
}

/// Returns the result of the check after a script.
#[cfg(test)]
pub(crate) async fn passes_after(task: &Task, script: Option<&str>) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let environment = [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into();
    checked(task, script, &folder.path().join("work"), &Scripts { environment, ..Scripts::default() }).await.unwrap().reached
}
