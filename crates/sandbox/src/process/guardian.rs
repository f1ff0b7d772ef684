//! Guardian: a small process that ends the remaining commands when this process is gone, even after SIGKILL.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io::{self, Write},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use super::mark::{self, VARIABLE};

const SCRIPT: &str = include_str!("guardian.sh");
/// Search path for `sh` and `grep`. Not the command's path: a command may have put other programs there, and the guardian runs unconfined.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin";

/// Holds the end of the guardian's pipe that keeps it waiting. Never dropped, so that only the end of this process closes it.
static GUARDIAN: Mutex<Option<Child>> = Mutex::new(None);

/// Folders to remove when this process is gone.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Registers a folder to be removed when this process is gone for any reason. The folder may be removed earlier.
pub(crate) fn remove_at_end(folder: &Path) {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(folder.to_owned());
    let mut guardian = GUARDIAN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(child) = guardian.as_mut() {
        send_folder(child, folder);
    }
}

/// Sends a folder to the guardian, one per line. A folder with a line break in its name cannot be sent.
fn send_folder(guardian: &mut Child, folder: &Path) {
    let line = folder.as_os_str().as_bytes();
    if let Some(pipe) = guardian.stdin.as_mut()
        && !line.contains(&b'\n')
        && let Err(error) = pipe.write_all(&[line, b"\n"].concat())
    {
        tracing::debug!(%error, "the guardian was not told of a folder");
    }
}

/// Starts the guardian if needed, before a command with this environment starts.
///
/// The guardian has a process group of its own, out of the reach of Ctrl-C. It holds none of our streams, and has no mark of our commands.
/// It is restarted if it was killed.
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
        .inspect_err(|error| tracing::warn!(%error, "cannot start the guardian: processes left by commands would survive a crash of aime"))
        .ok();
    drop(guardian);
    let folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(child) = GUARDIAN.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        folders.iter().for_each(|folder| send_folder(child, folder));
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
fn start(session: &str, environment: &BTreeMap<OsString, OsString>) -> io::Result<Child> {
    super::system::keep_descriptors();
    // An outer aime ends our commands itself, and may end their guardian with them.
    let outer = environment.get(OsStr::new(VARIABLE)).map(|mark| (VARIABLE, mark));
    Command::new("sh")
        .args(["-c", SCRIPT, "aime-guardian", session])
        .env_clear()
        .env("PATH", PATH)
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
