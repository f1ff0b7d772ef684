//! The lesson of a run for later ones: a few lines, made without a model.

use aime_memory::{Memory, MemoryKind, UnixMillis};
use aime_progress_management::{Origin, ProgressState, RunId, Task, TaskKind, TaskStatus};

/// Maximum number of characters of the answer, and of each line.
const ANSWER: usize = 1_500;
const LINE: usize = 240;
/// Maximum number of lines of each kind.
const LINES: usize = 6;

/// Returns the memory of a run that has ended, or `None` if nothing was tried. `failure` is the reason why the goal was
/// not reached.
pub(crate) fn lesson(run: &RunId, state: &ProgressState, failure: Option<&str>, at: UnixMillis) -> Option<Memory> {
    let tasks: Vec<&Task> = state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group && task.conclusion.is_some()).collect();
    if tasks.is_empty() {
        return None;
    }
    let mut lines = vec![match failure {
        Some(why) => format!("The goal was not reached: {}", line(why)),
        None => "The goal was reached.".to_owned(),
    }];
    let completed = |task: &&&Task| task.status == TaskStatus::Completed;
    let answer = state.answer.as_deref().map(str::trim).filter(|answer| !answer.is_empty());
    // The answer of a failed run only repeats its tasks.
    if let (Some(answer), None) = (answer, failure) {
        lines.push(format!("Answer: {}", cut(answer, ANSWER)));
    }
    if tasks.len() > 1 || failure.is_some() {
        let worked =
            tasks.iter().filter(completed).map(|task| (task.spec.title(), task.conclusion.as_ref().map(|end| end.summary.as_str())));
        section(&mut lines, "What worked:", worked);
    }
    let failed = tasks.iter().filter(|task| !completed(task)).map(|task| {
        let error = task.conclusion.as_ref().and_then(|end| end.error.clone());
        (task.spec.title(), error.or_else(|| task.reason.clone()).map(String::from))
    });
    let failed: Vec<(&str, Option<String>)> = failed.collect();
    section(&mut lines, "What failed:", failed.iter().map(|(task, error)| (*task, error.as_deref())));
    let replans = state.decisions.iter().filter(|decision| !decision.only_grows());
    let why: Vec<(String, &str)> = replans
        .map(|decision| {
            let reasons: Vec<String> = decision.triggers.iter().map(|reason| reason.detail.to_string()).collect();
            (reasons.join("; "), decision.patch.reasoning.as_str())
        })
        .collect();
    section(&mut lines, "What the plan was changed for, and how:", why.iter().map(|(why, how)| (why.as_str(), Some(*how))));
    let mut made: Vec<&str> = Vec::new();
    for reference in tasks.iter().filter_map(|task| task.conclusion.as_ref()).flat_map(|end| &end.references) {
        if !made.contains(&reference.as_str()) {
            made.push(reference);
        }
    }
    if !made.is_empty() {
        lines.push(format!("Made: {}", cut(&made.join(", "), LINE)));
    }
    let (id, title) = (run.to_string(), state.goal.clone());
    Some(Memory { id, at, kind: MemoryKind::Run, title, text: lines.join("\n"), run: Some(run.to_string()), tags: tags_of(state) })
}

/// Prefix of a tag that names a text's origin.
const FROM: &str = "from ";
/// Tag of a memory that was made from trusted texts alone.
const OWN: &str = "from the user";

/// Returns the tags for the origins of a run's texts.
fn tags_of(state: &ProgressState) -> Vec<String> {
    let mut origins = Vec::new();
    let conclusions = state.tasks.values().filter_map(|task| task.conclusion.as_ref());
    Origin::merge(&mut origins, conclusions.flat_map(|conclusion| &conclusion.origins));
    if origins.is_empty() { vec![OWN.to_owned()] } else { origins.iter().map(|origin| format!("{FROM}{origin}")).collect() }
}

/// Returns the untrusted origins of a memory. A memory without such tags, for example one of an earlier version, may
/// come from anywhere.
pub(crate) fn origins_of(memory: &Memory) -> Vec<Origin> {
    if memory.tags.iter().any(|tag| tag == OWN) {
        return Vec::new();
    }
    let origins = memory.tags.iter().filter_map(|tag| tag.strip_prefix(FROM)).map(|origin| Origin::from(origin.to_owned()));
    [Origin::Memory].into_iter().chain(origins).collect()
}

/// Appends a heading with a line for each entry, if there are any.
fn section<'a>(lines: &mut Vec<String>, heading: &str, entries: impl Iterator<Item = (&'a str, Option<&'a str>)>) {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return;
    }
    lines.push(heading.to_owned());
    let entry_line = |(what, how): (&str, Option<&str>)| match how.map(str::trim).filter(|how| !how.is_empty() && *how != what.trim()) {
        Some(how) => format!("- {}: {}", line(what), line(how)),
        None => format!("- {}", line(what)),
    };
    lines.extend(entries.by_ref().take(LINES).map(entry_line));
    let more = entries.count();
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
}

/// Returns a text on one line.
fn line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), LINE)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{Conclusion, Plan, PlanId, ProgressEvent, TaskId, TaskSpec, Timestamp};

    use super::*;

    fn memory(origins: Vec<Origin>) -> Memory {
        let now = Timestamp::from_millis(0);
        let mut state = ProgressState::new(PlanId::new("p").unwrap(), "Tidy".to_owned(), now);
        let task = || TaskId::new("a").unwrap();
        let plan = Plan::new("", [TaskSpec::actor(task(), "Tidy")]);
        state.apply(now, &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
        state.tasks.get_mut(&task()).unwrap().conclusion = Some(Conclusion { origins, ..Conclusion::success("tidied") });
        lesson(&"r".parse().unwrap(), &state, None, 0).unwrap()
    }

    // Requirement: 14.1
    #[test]
    fn what_a_run_read_is_told_of_its_memory() {
        let doubtful = memory(vec![Origin::Files, Origin::Web("wiki.example".to_owned())]);
        assert_eq!(doubtful.tags, ["from files", "from web wiki.example"]);
        assert_eq!(origins_of(&doubtful), [Origin::Memory, Origin::Files, Origin::Web("wiki.example".to_owned())]);
        assert_eq!(origins_of(&memory(Vec::new())), [], "a run that has read nobody's words but the user's");
        assert_eq!(origins_of(&Memory { tags: Vec::new(), ..doubtful }), [Origin::Memory], "of an earlier version nobody knows");
    }
}
