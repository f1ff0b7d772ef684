//! Limits of actors that other actors create by delegation.

use aime_tools::Approval;

use super::ComposeError;
use crate::ActorInput;

/// Call of an actor that another actor shall answer.
#[derive(Debug, Clone, Copy)]
pub struct Delegated<'a> {
    /// Input of the calling actor.
    pub caller: &'a ActorInput,
    /// Name of the call in events.
    pub call: &'a str,
    /// Profile that the call asks for; without one the factory selects the best fit.
    pub profile: Option<&'a str>,
    /// Work that the task is part of, as Markdown; may be empty.
    pub frame: &'a str,
}

/// Depth of an actor in the chain of delegation, and the limits that it inherits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DelegationLevel {
    pub(super) depth: u32,
    pub(super) max_depth: Option<u32>,
    pub(super) max_steps: Option<u32>,
    pub(super) approval: Option<Approval>,
}

impl Delegated<'_> {
    /// Returns the depth and limits of the new actor: one level below the caller, bounded by the caller's own limits.
    pub(super) fn standing(&self) -> Result<DelegationLevel, ComposeError> {
        let Self { caller: by, .. } = self;
        let (depth, max) = (by.depth, by.settings.max_depth);
        if depth >= max {
            return Err(ComposeError::TooDeep { depth, max });
        }
        Ok(DelegationLevel { depth: depth + 1, max_depth: Some(max), max_steps: Some(by.spec.max_steps), approval: Some(by.spec.approval) })
    }

    /// Returns true if the caller has the tool itself.
    pub(super) fn may_have(&self, tool: &str) -> bool {
        self.caller.spec.tool(tool).is_some()
    }
}
