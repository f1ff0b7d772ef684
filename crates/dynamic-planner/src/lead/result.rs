//! `read_result`: returns the whole result text of a task.

use aime_llm::estimate_tokens;
use aime_progress_management::{ProgressState, Task};
use serde_json::{Map, Value};

use super::{call::Call, message::sources};
use crate::{PlanFault, draft::quote};

/// Returns the answer of `read_result`: the task's result text, in at most about `budget_tokens` tokens. From a longer
/// text it returns the requested part, and names the start of the next one.
///
/// # Errors
///
/// Every fault of the call.
pub fn read_result(parameters: &Map<String, Value>, state: &ProgressState, budget_tokens: u64) -> Result<String, Vec<PlanFault>> {
    let mut call = Call::of(parameters);
    let task = call.task(state);
    let (offset, limit) = (call.count("offset"), call.count("limit"));
    let task = call.close(task)?;
    let id = &task.spec.id;
    let Some(text) = whole(task) else {
        let fault = PlanFault::new("task", format!("the task `{id}` is {} and has no result yet", task.status.word()));
        return Err(vec![fault.hint("wait until it settles: the run wakes you")]);
    };
    let total = text.chars().count();
    let offset = offset.unwrap_or(0);
    if offset >= total && offset > 0 {
        return Err(vec![PlanFault::new("offset", format!("the result of `{id}` ends after {total} characters"))]);
    }
    let mut part: String = text.chars().skip(offset).take(limit.unwrap_or(usize::MAX)).collect();
    shorten(&mut part, budget_tokens);
    let end = offset + part.chars().count();
    let origins = task.conclusion.as_ref().map(|conclusion| sources(&conclusion.origins)).unwrap_or_default();
    let mut out = format!("`{id}` is {}{origins}.\n{}", task.status.word(), quote(&part));
    if end < total {
        out.push_str(&format!("[characters {offset} to {end} of {total}; call again with `offset` {end} for the next]\n"));
    }
    Ok(out)
}

/// Returns all texts of a task's result.
fn whole(task: &Task) -> Option<String> {
    let conclusion = task.conclusion.as_ref()?;
    let mut parts = Vec::new();
    if let Some(error) = &conclusion.error {
        parts.push(format!("Error: {error}"));
    }
    let text = conclusion.text();
    if !text.is_empty() && conclusion.error.as_ref().is_none_or(|error| error != text) {
        parts.push(text.to_owned());
    }
    let is_text = conclusion.result.as_str() == Some(text);
    if !conclusion.result.is_null() && !is_text {
        parts.push(format!("Structured: {}", conclusion.result));
    }
    if !conclusion.references.is_empty() {
        parts.push(format!("References: {}", conclusion.references.join(", ")));
    }
    Some(parts.join("\n"))
}

/// Cuts a text so that it takes at most `tokens` tokens when quoted. Keeps at least one character.
fn shorten(text: &mut String, tokens: u64) {
    let within = |end: usize| estimate_tokens(&quote(text.get(..end).unwrap_or_default())) <= tokens;
    if within(text.len()) {
        return;
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let longest = ends.partition_point(|end| within(*end));
    let end = longest.checked_sub(1).and_then(|at| ends.get(at)).or(ends.first()).copied().unwrap_or(text.len());
    text.truncate(end);
}
