//! Unix implementation: a program leads a process group, its family is found by its mark, and a guardian outlives this process.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};

use super::ProcessEnd;
pub(crate) use super::guardian::remove_at_end;
pub(super) use super::{
    family::ProcessTree,
    guardian::ensure as ensure_guardian,
    watch::{OFTEN, SELDOM, Watch},
};

const SIGTERM: i32 = 15;

/// Makes programs that start from now on inherit no descriptor but their three standard streams. Descriptors that Rust opens are closed
/// anyway; those that this process was started with are not, and may lead to files, sockets or locks that a confined command must not reach.
pub(crate) fn keep_descriptors() {
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}

/// Makes the program the leader of a group.
pub(super) fn hold_together(command: &mut CommandWrap) {
    command.wrap(ProcessGroup::leader()).wrap(KillOnDrop);
}

/// Asks the group to end. Returns true if it was asked, and has time to clean up.
pub(super) fn ask_to_end(child: &dyn ChildWrapper) -> bool {
    // The group does not exist any more: it has ended by itself.
    if let Err(error) = child.signal(SIGTERM) {
        tracing::trace!(%error, "the process group is gone");
    }
    true
}

pub(super) fn ended(status: ExitStatus) -> ProcessEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Exited(code),
        (None, signal) => ProcessEnd::Signalled(signal.unwrap_or_default()),
    }
}
