//! Texts that a compaction of the lead's conversation must keep.

use aime_progress_management::{Plan, ProgressState};

use super::{UnsolicitedMessage, criteria, message::CHANGING, tasks};
use crate::draft::{one_line, quote};

/// Returns the texts that the lead must remember, uncut: the goal, the plan as a checklist, the success criteria, the
/// unhandled messages of people, and the rules for changing a plan of tasks.
#[must_use]
pub fn kept_words(state: &ProgressState, unhandled: &[UnsolicitedMessage]) -> String {
    let mut out = format!("## Goal\n{}\n", state.goal.trim());
    if !state.strategic.approach.is_empty() {
        out.push_str(&format!("\n## Approach\n{}\n", state.strategic.approach.trim()));
    }
    let criteria = criteria::whole(state);
    if !criteria.is_empty() {
        out.push_str(&format!("\n## Success criteria\n{criteria}"));
    }
    if !state.tasks.is_empty() {
        out.push_str(&format!("\n## Plan, version {}\n", state.version));
    }
    for (task, depth) in tasks::in_order(state) {
        let spec = &task.spec;
        let title = one_line(spec.title());
        let title = if title == spec.id.as_str() { String::new() } else { format!(": {title}") };
        let waits = if task.status.is_settled() { Vec::new() } else { tasks::waits_for(state, &spec.id) };
        let waits = if waits.is_empty() { String::new() } else { format!(" — waits for {}", waits.join(", ")) };
        out.push_str(&format!("{}- [{}] `{}`{title}{waits}\n", "  ".repeat(depth), task.status.mark(), spec.id));
    }
    if !unhandled.is_empty() {
        out.push_str("\n## Words of people, not handled yet\n");
    }
    for words in unhandled {
        let to = words.task.as_ref().map(|task| format!(", to the worker of `{task}`")).unwrap_or_default();
        out.push_str(&format!("- {}{to}:\n{}", words.id, quote(words.text.trim_end())));
    }
    if state.tasks.keys().any(|task| task.as_str() != Plan::DIRECT_TASK) {
        out.push_str(&format!("\n{CHANGING}"));
    }
    out
}
