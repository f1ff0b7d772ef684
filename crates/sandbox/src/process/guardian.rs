//! The guardian: a small process that ends what this one leaves running when it is gone, also when it was killed and could do nothing itself.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use super::mark::{self, VARIABLE};

const SCRIPT: &str = include_str!("guardian.sh");
/// Where `sh` and `grep` are looked for when they are not on the command's path.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Holds the one end of the guardian's pipe that keeps it waiting. Never dropped: only the end of this process closes it.
static GUARDIAN: Mutex<Option<Child>> = Mutex::new(None);

/// Sees to it that the guardian is there before a command with this environment starts.
///
/// It stands in a process group of its own, out of the reach of Ctrl-C, holds no stream of ours, and carries the mark of no command of ours. It
/// is started again when somebody has killed it.
pub(super) fn ensure(environment: &BTreeMap<OsString, OsString>) {
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut guardian = GUARDIAN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(child) = guardian.as_mut()
        && matches!(child.try_wait(), Ok(None))
    {
        return;
    }
    *guardian = start(&mark::session(), environment)
        .inspect_err(|error| tracing::warn!(%error, "no guardian: what a command leaves running outlives a crash"))
        .ok();
}

#[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
fn start(session: &str, environment: &BTreeMap<OsString, OsString>) -> io::Result<Child> {
    let mut path = environment
        .get(OsStr::new("PATH"))
        .filter(|path| !path.is_empty())
        .map_or_else(OsString::new, |path| [path, OsStr::new(":")].into_iter().collect());
    path.push(PATH);
    // An outer aime ends our commands itself, and may end their guardian with them.
    let outer = environment.get(OsStr::new(VARIABLE)).map(|mark| (VARIABLE, mark));
    Command::new("sh")
        .args(["-c", SCRIPT, "aime-guardian", session])
        .env_clear()
        .env("PATH", path)
        .envs(outer)
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
