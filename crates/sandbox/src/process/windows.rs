//! How a program is held together on Windows: in a job object.
//!
//! The job holds all that the program starts, wherever it goes, and the system ends all of it when the job's last handle is closed: also when this
//! process is killed. So no family has to be looked for, and no guardian stands by. A program is not asked to end, it is ended.

use std::{collections::BTreeMap, ffi::OsString, path::Path, process::ExitStatus};

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};

use super::{Bound, ProcessEnd, mark::Mark};
use crate::ResourceLimits;

/// How often it would be looked at what a program takes.
pub(super) const OFTEN: u32 = 10;
pub(super) const SELDOM: u32 = 100;

/// Makes a job for the program that a command starts, and all that it starts.
pub(super) fn hold_together(command: &mut CommandWrap) {
    command.wrap(KillOnDrop).wrap(JobObject);
}

/// A console program could be told by an event of its console, which it shares with this process: nobody is asked.
pub(super) fn ask_to_end(_: &dyn ChildWrapper) -> bool {
    false
}

pub(super) fn ended(status: ExitStatus) -> ProcessEnd {
    ProcessEnd::Exited(status.code().unwrap_or_default())
}

/// The job ends what is left.
pub(super) fn ensure_guardian(_: &BTreeMap<OsString, OsString>) {}

/// A temp folder outlives a process that is killed; Windows' own clean-up finds it.
pub(crate) fn remove_at_end(_: &Path) {}

/// The job knows its members.
#[derive(Debug, Clone)]
pub(super) struct Family;

impl Family {
    pub(super) fn new(_: Mark) -> Self {
        Self
    }

    pub(super) fn look(&mut self) -> bool {
        true
    }

    pub(super) fn end(&mut self) {}
}

/// What a program takes is not bounded here, and `probe` says so.
#[derive(Debug)]
pub(super) struct Watch;

impl Watch {
    pub(super) fn over(_: Family, _: Option<u32>, _: ResourceLimits, _: u32) -> Self {
        Self
    }

    pub(super) fn exceeded(&self) -> Option<Bound> {
        None
    }
}
