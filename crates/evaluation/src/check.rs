//! Whether a goal was reached: the check of the task, and nothing that the run says.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::Path,
    time::Duration,
};

use aime_sandbox::{Confinement, ConfinementSettings, ProcessEnd, ProcessRequest, run};
use tokio_util::sync::CancellationToken;

use crate::Task;

/// Bytes of what a script prints that are kept.
const PRINTED: usize = 64 * 1024;
/// Bytes of an answer that a check is given: the variables of a process are bounded.
const ANSWER: usize = 100_000;

/// Runs the check in the folder that a run has left. What it runs was written by a model, so it is confined as commands are.
pub(crate) async fn reached(task: &Task, folder: &Path, answer: &str, environment: &BTreeMap<OsString, OsString>) -> io::Result<bool> {
    task.hidden.lay(folder)?;
    let mut environment = environment.clone();
    let end = (0..=ANSWER.min(answer.len())).rev().find(|end| answer.is_char_boundary(*end)).unwrap_or_default();
    environment.insert("ANSWER".into(), answer.get(..end).unwrap_or_default().replace('\0', "").into());
    let ended = script(&task.check, folder, environment, task.bounds.check_seconds).await?;
    Ok(ended == ProcessEnd::Exited(0))
}

/// Runs a script of a task to its end.
pub(crate) async fn script(
    text: &str,
    folder: &Path,
    mut environment: BTreeMap<OsString, OsString>,
    seconds: u64,
) -> io::Result<ProcessEnd> {
    // What it compiles is no part of the folder.
    environment.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
    let mut settings = ConfinementSettings::new(folder, &environment);
    settings.home = environment.get(OsStr::new("HOME")).map(Into::into);
    let request = ProcessRequest {
        program: "bash".into(),
        arguments: vec!["-c".into(), text.into()],
        working_folder: folder.to_owned(),
        environment,
        input: Vec::new(),
        time_limit: Duration::from_secs(seconds),
        output_limit: PRINTED,
        confinement: Confinement::or_refuse(settings),
    };
    let outcome = run(request, &CancellationToken::new()).await.map_err(io::Error::other)?;
    tracing::debug!(end = ?outcome.end, out = outcome.stdout.text(), error = outcome.stderr.text(), "a script of a task has ended");
    Ok(outcome.end)
}
