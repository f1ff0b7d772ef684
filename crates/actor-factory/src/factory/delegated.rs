//! Actors that other actors have made: what they may be at most.

use aime_tools::Approval;

use super::ComposeError;
use crate::ActorInput;

/// The call of an actor for which another one is made.
#[derive(Debug, Clone, Copy)]
pub struct Delegated<'a> {
    /// The actor that calls.
    pub by: &'a ActorInput,
    /// Its call, by its name in events.
    pub call: &'a str,
    /// The profile that the other must have; the one that fits best where none is named.
    pub profile: Option<&'a str>,
    /// What the work is a part of, as Markdown; may be empty.
    pub frame: &'a str,
}

/// Where an actor stands, and what it may have at most.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Standing {
    pub(super) depth: u32,
    pub(super) max_depth: Option<u32>,
    pub(super) max_steps: Option<u32>,
    pub(super) approval: Option<Approval>,
}

impl Delegated<'_> {
    /// Where the new actor stands: one below the one that calls, bounded by what that one has.
    pub(super) fn standing(&self) -> Result<Standing, ComposeError> {
        let Self { by, .. } = self;
        let (depth, max) = (by.depth, by.settings.max_depth);
        if depth >= max {
            return Err(ComposeError::TooDeep { depth, max });
        }
        Ok(Standing { depth: depth + 1, max_depth: Some(max), max_steps: Some(by.spec.max_steps), approval: Some(by.spec.approval) })
    }

    /// Whether the actor that calls has the tool itself.
    pub(super) fn may_have(&self, tool: &str) -> bool {
        self.by.spec.tool(tool).is_some()
    }
}
