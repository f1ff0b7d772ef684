//! The success criteria in the form for the lead.

use aime_progress_management::{Criterion, Owner, ProgressState};

use super::{LeadMemory, message::title};
use crate::draft::{Draft, Share, one_line};

/// Writes the success criteria of the goal, each with the number by which `amend_criterion` names it.
pub(super) fn section(state: &ProgressState, memory: LeadMemory, draft: &mut Draft) {
    if state.strategic.success_criteria.is_empty() {
        return;
    }
    draft.fixed(title(memory, "Success criteria", "Success criteria"));
    for (at, criterion) in state.strategic.success_criteria.iter().enumerate() {
        draft.fixed(format!("{}. ", at + 1));
        draft.line(&criterion.to_string(), Share::Plan);
        draft.fixed(format!("{}\n", status_of(criterion, state)));
    }
}

/// Returns the criteria of the goal, uncut.
pub(super) fn whole(state: &ProgressState) -> String {
    let criteria = state.strategic.success_criteria.iter().enumerate();
    criteria.map(|(at, criterion)| format!("{}. {}{}\n", at + 1, one_line(&criterion.to_string()), status_of(criterion, state))).collect()
}

/// Returns the owner of a criterion, unless it is the lead, and a note if its last check failed.
fn status_of(criterion: &Criterion, state: &ProgressState) -> String {
    let owner = match criterion.owner {
        Owner::Person => Some("of a person"),
        Owner::Project => Some("of the project"),
        Owner::Actor => Some("of the worker"),
        Owner::Lead => None,
    };
    let failed = state.unmet_criteria.contains(criterion).then_some("did not hold");
    let before = (state.held_before(None, &criterion.to_string()) == Some(true)).then_some("held already before the work");
    let notes: Vec<&str> = owner.into_iter().chain(before).chain(failed).collect();
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) }
}
