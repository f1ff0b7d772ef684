//! Resource limits of one process, set by a shell that then becomes the command, so that they apply from the command's first instruction.
//!
//! The shell first waits for a line. The line is sent after the thread that started the shell has ended: while that thread lives, a command
//! could reach this process through it, because the kernel treats both as one confinement domain.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use rustix::process::{Resource, getrlimit};

use super::ResourceLimits;

/// Script that sets the limits in its arguments and becomes the command. Some shells use `-p` for the number of processes.
///
/// $1: blocks of 512 bytes of a file; $2: KiB of memory, or empty; $3: processes of this user, or empty; $4: empty if the command reads
/// nothing; then the command.
const SCRIPT: &str = "read -r _ || exit 125
[ \"$4\" ] || exec </dev/null
ulimit -c 0 && ulimit -f \"$1\" && { [ -z \"$2\" ] || ulimit -d \"$2\"; } || { echo 'aime: the limits of this command could not be set' >&2; exit 125; }
if [ \"$3\" ]; then { ulimit -u \"$3\" || ulimit -p \"$3\"; } 2>/dev/null || { echo 'aime: the number of processes could not be bounded' >&2; exit 125; }; fi
shift 4
exec \"$@\"";

/// Shell that sets the limits. An absolute path, because a command could have put another shell into `PATH`.
pub(crate) const SHELL: &str = "/bin/sh";

/// Returns the arguments of [`SHELL`] with which it becomes the command within its limits.
pub(crate) fn wrapped(limits: ResourceLimits, reads: bool, program: &OsStr, arguments: &[OsString]) -> Vec<OsString> {
    let file = bounded(Resource::Fsize, limits.file_bytes) / 512;
    // With `/proc`, the watch bounds the memory that is used. The kernel's limit also counts memory that is only reserved, of which
    // programs with AddressSanitizer need terabytes.
    let memory = match Path::new("/proc/self/stat").exists() {
        true => String::new(),
        false => (bounded(Resource::Data, limits.memory_bytes) / 1024).to_string(),
    };
    let processes = of_this_user().map(|running| bounded(Resource::Nproc, running + limits.processes).to_string()).unwrap_or_default();
    let reads = if reads { "yes" } else { "" };
    let fixed = ["-c", SCRIPT, "aime-limits", &file.to_string(), &memory, &processes, reads].map(OsString::from);
    fixed.into_iter().chain([program.to_owned()]).chain(arguments.iter().cloned()).collect()
}

/// Returns the wanted limit, or the current one if that is lower: only root may raise it.
fn bounded(resource: Resource, wanted: u64) -> u64 {
    getrlimit(resource).maximum.map_or(wanted, |maximum| maximum.min(wanted))
}

/// Returns the number of threads of this user, which the kernel counts together; `None` for root, to whom the limit does not apply.
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
