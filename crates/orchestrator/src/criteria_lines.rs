//! The criteria of a run in words, for its answer: how each was checked, with which result, and why.

use aime_progress_management::{AmendedCriterion, CheckMethod, ProgressState};

use crate::{CriterionOutcome, result::criteria};

/// Maximum number of characters of the evidence in a line.
const EVIDENCE: usize = 300;

/// Returns a line for each criterion with its text, and a line for each amended one.
pub(crate) fn criteria_lines(state: &ProgressState) -> Vec<(String, String)> {
    let checked = criteria(state).into_iter().map(|known| (known.text.clone(), line(&known)));
    let amended = state.amended.iter().map(|known| (known.to.to_string(), amended_line(known)));
    checked.chain(amended).collect()
}

/// Returns the lines of the criteria that were not confirmed, were amended, or prove nothing.
pub(crate) fn doubtful_lines(state: &ProgressState) -> Vec<String> {
    let is_doubtful = |known: &CriterionOutcome| known.holds != Some(true) || known.held_before == Some(true);
    let checked = criteria(state).into_iter().filter(is_doubtful).map(|known| line(&known));
    checked.chain(state.amended.iter().map(amended_line)).collect()
}

fn line(known: &CriterionOutcome) -> String {
    let how = match (known.how, known.holds) {
        (CheckMethod::Executed, Some(true)) => "holds (checked by aime)",
        (CheckMethod::Executed, Some(false)) => "does not hold (checked by aime)",
        (CheckMethod::Executed, None) => "undecided (checked by aime)",
        (CheckMethod::Audited, Some(true)) => "holds (judged by a model)",
        (CheckMethod::Audited, Some(false)) => "does not hold (judged by a model)",
        (CheckMethod::Audited, None) => "undecided (judged by a model)",
        (CheckMethod::Unchecked, _) => "not checked",
    };
    let before = if known.held_before == Some(true) { "; it held already before the work" } else { "" };
    let evidence = cut(&known.evidence.to_string());
    let evidence = if evidence.is_empty() { evidence } else { format!(" ({evidence})") };
    format!("- {how}: {}{evidence}{before}", known.text)
}

fn amended_line(known: &AmendedCriterion) -> String {
    format!("- amended: {} instead of {} ({})", known.to, known.from, cut(&known.evidence))
}

/// Returns a text in one line.
fn cut(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(EVIDENCE) {
        Some((at, _)) => format!("{}…", words.get(..at).unwrap_or_default()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{Criterion, Owner, Plan, PlanId, ProgressEvent, TaskId, TaskSpec, Timestamp};

    use super::*;

    #[test]
    fn each_criterion_says_how_it_was_checked() {
        let now = Timestamp::from_millis(0);
        let mut state = ProgressState::new(PlanId::new("p").unwrap(), "Tidy up".to_owned(), now);
        let mut plan = Plan::new("", vec![TaskSpec::actor(TaskId::new("tidy").unwrap(), "Tidy up")]);
        plan.strategic.success_criteria = ["a", "b", "c", "d"].map(Criterion::text).to_vec();
        state.apply(now, &ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None }).unwrap();
        for (criterion, how, passed) in
            [("a", CheckMethod::Executed, Some(true)), ("b", CheckMethod::Audited, None), ("c", CheckMethod::Unchecked, None)]
        {
            let (criterion, reason, owner) = (criterion.to_owned(), "seen\nthere".into(), Owner::Lead);
            let (task, changes, duration_ms) = (None, None, 0);
            let checked = ProgressEvent::CriterionChecked { task, criterion, owner, how, passed, reason, changes, duration_ms };
            state.apply(now, &checked).unwrap();
        }
        let lines: Vec<String> = criteria_lines(&state).into_iter().map(|(_, line)| line).collect();
        let expected = [
            "- holds (checked by aime): a (seen there)",
            "- undecided (judged by a model): b (seen there)",
            "- not checked: c (seen there)",
            "- not checked: d",
        ];
        assert_eq!(lines, expected);
        assert_eq!(doubtful_lines(&state), expected[1..]);
    }
}
