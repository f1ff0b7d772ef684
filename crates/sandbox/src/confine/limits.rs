//! Bounds on what one process may take: set by a shell that then becomes the command, so that they hold from its first step on.
//!
//! The shell waits for a line before. It is given that when the thread that started it is gone: as long as that lives, a command could reach this
//! process through it, for the kernel takes both for one confinement.

use std::ffi::{OsStr, OsString};

use rustix::process::{Resource, getrlimit};

use super::ResourceLimits;

/// Sets the limits that it is given and becomes the command. `-p` is what some shells call the number of processes.
///
/// $1: blocks of 512 bytes of a file; $2: KiB of memory; $3: processes of this user, or nothing; $4: nothing if the command reads nothing; then
/// the command.
const SCRIPT: &str = "read -r _ || exit 125
[ \"$4\" ] || exec </dev/null
ulimit -c 0 && ulimit -f \"$1\" && ulimit -d \"$2\" || { echo 'aime: the limits of this command could not be set' >&2; exit 125; }
if [ \"$3\" ]; then { ulimit -u \"$3\" || ulimit -p \"$3\"; } 2>/dev/null || { echo 'aime: the number of processes could not be bounded' >&2; exit 125; }; fi
shift 4
exec \"$@\"";

/// The shell that sets limits. Not looked for in `PATH`: a command could have put another there.
pub(crate) const SHELL: &str = "/bin/sh";

/// The arguments of [`SHELL`] that make it the command within its limits.
pub(crate) fn wrapped(limits: ResourceLimits, reads: bool, program: &OsStr, arguments: &[OsString]) -> Vec<OsString> {
    let file = bounded(Resource::Fsize, limits.file_bytes) / 512;
    let memory = bounded(Resource::Data, limits.memory_bytes) / 1024;
    let processes = of_this_user().map(|running| bounded(Resource::Nproc, running + limits.processes).to_string()).unwrap_or_default();
    let reads = if reads { "yes" } else { "" };
    let fixed = ["-c", SCRIPT, "aime-limits", &file.to_string(), &memory.to_string(), &processes, reads].map(OsString::from);
    fixed.into_iter().chain([program.to_owned()]).chain(arguments.iter().cloned()).collect()
}

/// What is wanted, or what stands already where that is less: only root may widen it.
fn bounded(resource: Resource, wanted: u64) -> u64 {
    getrlimit(resource).maximum.map_or(wanted, |maximum| maximum.min(wanted))
}

/// The threads that this user runs, which the kernel counts together; none for root, whom it does not bound.
fn of_this_user() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::getuid();
    if user.is_root() {
        return None;
    }
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == user.as_raw()));
    let threads = own.filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(17)?.parse::<u64>().ok()
    });
    Some(threads.sum())
}
