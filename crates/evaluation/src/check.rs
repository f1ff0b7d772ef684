//! Decides if a goal was reached, by the check of the task and independent of the run's claim.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    io,
    path::Path,
    time::Duration,
};

use aime_sandbox::{Confinement, ConfinementSettings, Guarantee, ProcessEnd, ProcessOutcome, ProcessRequest, run};
use tokio_util::sync::CancellationToken;

use crate::{
    Task,
    foreign::{FOLDER, KEPT_BACK},
    remove_tree,
};

/// Maximum bytes of a script's output that are kept.
const PRINTED: usize = 64 * 1024;
/// Maximum bytes of an answer that a check gets: the environment of a process is limited.
const ANSWER: usize = 100_000;

/// Environment and confinement of the scripts of tasks.
#[derive(Debug, Clone, Default)]
pub struct Scripts {
    /// Environment variables, without keys.
    pub environment: BTreeMap<OsString, OsString>,
    /// Confinement of the scripts, and of other agents.
    pub sandbox: Sandbox,
}

/// Confinement of the processes of a trial other than aime.
#[derive(Debug, Clone, Default)]
pub struct Sandbox {
    /// If true, they are not confined.
    pub off: bool,
    /// Guarantees that may be missing on this machine; if another one is missing, nothing is run.
    pub allow_missing: BTreeSet<Guarantee>,
}

impl Sandbox {
    pub(crate) fn confine(&self, mut settings: ConfinementSettings) -> Confinement {
        if self.off {
            return Confinement::off();
        }
        settings.allow_missing.clone_from(&self.allow_missing);
        Confinement::or_refuse(settings)
    }
}

/// Result of a check.
#[derive(Debug)]
pub(crate) struct Checked {
    /// True if the goal was reached.
    pub(crate) reached: bool,
    /// Output of the check, which says why not.
    pub(crate) output: String,
}

/// Runs the check in the folder that a run has left. The check executes code that a model wrote, so it is confined as commands are.
pub(crate) async fn reached(task: &Task, folder: &Path, answer: &str, scripts: &Scripts) -> io::Result<Checked> {
    // Files that the run has put there are not part of the check.
    let cleared =
        if task.hidden.iter().any(|(name, _)| name.starts_with(KEPT_BACK)) { remove_tree(&folder.join(KEPT_BACK)) } else { Ok(()) };
    let hidden = task.hidden.clone().map_text(|text| in_folder(text, folder));
    if let Err(error) = cleared.and_then(|()| hidden.write_to(folder)) {
        // A run may have made its folder read-only: that fails only this trial.
        return Ok(Checked { reached: false, output: format!("the hidden files could not be laid in: {error}\n") });
    }
    let mut scripts = scripts.clone();
    let end = (0..=ANSWER.min(answer.len())).rev().find(|end| answer.is_char_boundary(*end)).unwrap_or_default();
    scripts.environment.insert("ANSWER".into(), answer.get(..end).unwrap_or_default().replace('\0', "").into());
    let ended = script(&task.check, folder, &scripts, task.bounds.check_seconds).await?;
    let how = match ended.end {
        ProcessEnd::Exited(code) => format!("exit code {code}"),
        ProcessEnd::TimedOut => format!("it took longer than {} seconds", task.bounds.check_seconds),
        ref other => format!("{other:?}"),
    };
    let output = format!("{}{}{how}\n", ended.stdout.text(), ended.stderr.text());
    Ok(Checked { reached: ended.end == ProcessEnd::Exited(0), output })
}

/// Replaces the placeholder of the working folder by its path.
fn in_folder(text: &str, folder: &Path) -> String {
    text.replace(FOLDER, &folder.display().to_string())
}

/// Runs a script of a task to its end.
pub(crate) async fn script(text: &str, folder: &Path, scripts: &Scripts, seconds: u64) -> io::Result<ProcessOutcome> {
    let mut environment = scripts.environment.clone();
    // Compiled files are not part of the folder.
    environment.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
    let mut settings = ConfinementSettings::new(folder, &environment);
    settings.home = environment.get(OsStr::new("HOME")).map(Into::into);
    let request = ProcessRequest {
        program: "bash".into(),
        arguments: vec!["-c".into(), in_folder(text, folder).into()],
        working_folder: folder.to_owned(),
        environment,
        input: Vec::new(),
        time_limit: Duration::from_secs(seconds),
        output_limit: PRINTED,
        confinement: scripts.sandbox.confine(settings),
    };
    run(request, &CancellationToken::new()).await.map_err(io::Error::other)
}
