//! Whether a goal was reached: the check of the task, and nothing that the run says.

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

/// Bytes of what a script prints that are kept.
const PRINTED: usize = 64 * 1024;
/// Bytes of an answer that a check is given: the variables of a process are bounded.
const ANSWER: usize = 100_000;

/// What scripts of tasks run with: what they see, and how they are confined.
#[derive(Debug, Clone, Default)]
pub struct Scripts {
    /// What they see: no keys.
    pub environment: BTreeMap<OsString, OsString>,
    /// How they are confined, and other agents with them.
    pub sandbox: Sandbox,
}

/// How a process of a trial is confined that is not aime's own.
#[derive(Debug, Clone, Default)]
pub struct Sandbox {
    /// Whether they are not confined at all.
    pub off: bool,
    /// What is done without where this machine cannot keep it; where anything else is missing nothing is run.
    pub go_without: BTreeSet<Guarantee>,
}

impl Sandbox {
    pub(crate) fn confine(&self, mut settings: ConfinementSettings) -> Confinement {
        if self.off {
            return Confinement::off();
        }
        settings.go_without.clone_from(&self.go_without);
        Confinement::or_refuse(settings)
    }
}

/// What a check came to.
#[derive(Debug)]
pub(crate) struct Checked {
    /// Whether the goal was reached.
    pub(crate) reached: bool,
    /// What it printed: why not.
    pub(crate) said: String,
}

/// Runs the check in the folder that a run has left. What it runs was written by a model, so it is confined as commands are.
pub(crate) async fn reached(task: &Task, folder: &Path, answer: &str, scripts: &Scripts) -> io::Result<Checked> {
    // What a run has left there is no part of a check.
    let cleared =
        if task.hidden.iter().any(|(name, _)| name.starts_with(KEPT_BACK)) { remove_tree(&folder.join(KEPT_BACK)) } else { Ok(()) };
    let hidden = task.hidden.clone().map_text(|text| in_folder(text, folder));
    if let Err(error) = cleared.and_then(|()| hidden.lay(folder)) {
        // A run may have left a folder in which nothing can be written: that costs this trial, and no other.
        return Ok(Checked { reached: false, said: format!("the hidden files could not be laid in: {error}\n") });
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
    let said = format!("{}{}{how}\n", ended.stdout.text(), ended.stderr.text());
    Ok(Checked { reached: ended.end == ProcessEnd::Exited(0), said })
}

/// With the path of the working folder where it is named.
fn in_folder(text: &str, folder: &Path) -> String {
    text.replace(FOLDER, &folder.display().to_string())
}

/// Runs a script of a task to its end.
pub(crate) async fn script(text: &str, folder: &Path, scripts: &Scripts, seconds: u64) -> io::Result<ProcessOutcome> {
    let mut environment = scripts.environment.clone();
    // What it compiles is no part of the folder.
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
