//! Windows implementation: a program runs in a job object.
//!
//! The job contains all that the program starts, and the system ends all of it when the job's last handle is closed, also if this process
//! is killed. So there is no search for a family, and no guardian. A program is terminated without being asked to end.

use std::{collections::BTreeMap, ffi::OsString, path::Path, process::ExitStatus};

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};

use super::{Bound, ProcessEnd, mark::Mark};
use crate::ResourceLimits;

/// Interval of resource checks, unused on Windows.
pub(super) const OFTEN: u32 = 10;
pub(super) const SELDOM: u32 = 100;

/// A program inherits only handles that are passed to it.
pub(super) fn keep_descriptors() {}

/// Creates a job for the program and all that it starts.
pub(super) fn hold_together(command: &mut CommandWrap) {
    command.wrap(KillOnDrop).wrap(JobObject);
}

/// A console event could ask a program to end, but would also reach this process, with which it shares the console. So nothing is sent.
pub(super) fn ask_to_end(_: &dyn ChildWrapper) -> bool {
    false
}

pub(super) fn ended(status: ExitStatus) -> ProcessEnd {
    ProcessEnd::Exited(status.code().unwrap_or_default())
}

/// The job ends the remaining processes.
pub(super) fn ensure_guardian(_: &BTreeMap<OsString, OsString>) {}

/// A temporary folder stays behind if this process is killed; Windows' own clean-up finds it.
pub(crate) fn remove_at_end(_: &Path) {}

/// The job itself knows its members.
#[derive(Debug, Clone)]
pub(super) struct ProcessTree;

impl ProcessTree {
    pub(super) fn new(_: Mark) -> Self {
        Self
    }

    pub(super) fn look(&mut self) -> bool {
        true
    }

    pub(super) fn end(&mut self) {}
}

/// Resources are not limited on Windows, and `probe` says so.
#[derive(Debug)]
pub(super) struct Watch;

impl Watch {
    pub(super) fn over(_: ProcessTree, _: Option<u32>, _: ResourceLimits, _: u32) -> Self {
        Self
    }

    pub(super) fn exceeded(&self) -> Option<Bound> {
        None
    }
}
