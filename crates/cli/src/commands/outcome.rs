//! Prints the outcome of a run.

use aime_messages::{Message, message};
use aime_orchestrator::{CriterionOutcome, FailureCode, RunFailure, RunResult, view};
use aime_progress_management::{CheckMethod, RunId};
use aime_runs::{Setup, outcome};

use crate::{
    args::Output,
    failure::{Failure, code},
    hints::{next_step, with_commands},
    i18n::{msg, print, row, word_name},
    output::{self, DIM, count, plain},
    screen::{conflict_line, first_line, span},
};

/// Prints the documented result for a run that ends with a failure: before it starts or resumes, because no model is available or planning
/// for a review fails, or by a fault of aime.
pub(super) fn print_failure_as_result(failure: Failure, form: Output, result: impl FnOnce(RunFailure) -> RunResult) -> Failure {
    let ends = [
        FailureCode::ModelUnavailable,
        FailureCode::GoalNotReached,
        FailureCode::BoundReached,
        FailureCode::WaitingForHuman,
        FailureCode::Interrupted,
        FailureCode::Internal,
    ];
    let end = ends.into_iter().find(|end| end.exit_code() == failure.code);
    if let Some(code) = end.filter(|_| form != Output::Text) {
        let failed = RunFailure { hint: failure.hint.clone(), ..RunFailure::new(code, failure.message.clone(), None) };
        if let Err(lost) = print_outcome(&result(failed), form) {
            return lost;
        }
    }
    failure
}

/// Prints the documented result for a run that ends with a failure after its start. It can be resumed, so a failure that is not one of a run,
/// such as a full disk, counts as an interruption.
pub(super) fn print_cut_off(failure: Failure, run: &RunId, form: Output, setup: &Setup) -> Failure {
    let code = if failure.code == code::USAGE { code::INTERRUPTED } else { failure.code };
    print_failure_as_result(Failure { code, ..failure }, form, |failed| failed_result(run, failed, setup))
}

/// Returns the result of a run with this failure, as far as its journal has it.
pub(super) fn failed_result(run: &RunId, failure: RunFailure, setup: &Setup) -> RunResult {
    match recorded_result(run, setup) {
        Some(recorded) => RunResult { error: Some(failure), ..recorded },
        None => RunResult::unbegun(run.clone(), failure),
    }
}

fn recorded_result(run: &RunId, setup: &Setup) -> Option<RunResult> {
    let seen = view(&setup.journal().ok()?, run).ok()?;
    Some(RunResult::new(run.clone(), &seen.state, &outcome(run, &seen, false)))
}

/// Prints the documented result of a run that was stopped immediately, as far as its journal has it.
pub(super) fn print_interrupted(run: &RunId, form: Output, setup: &Setup) {
    if form == Output::Text {
        return;
    }
    let result = recorded_result(run, setup).unwrap_or_else(|| {
        let failure = RunFailure::new(FailureCode::Interrupted, message!("stopped-unrecorded"), None);
        RunResult::unbegun(run.clone(), failure)
    });
    if let Err(failure) = print_outcome(&result, form) {
        output::failure(&failure.message, failure.hint.as_ref());
    }
}

/// Prints the result and returns the exit code.
pub(super) fn print_outcome(result: &RunResult, form: Output) -> Result<u8, Failure> {
    match form {
        Output::Json => output::json(&with_commands(result), true)?,
        Output::Jsonl => output::json(&with_commands(result), false)?,
        Output::Text => {
            if !result.answer.is_empty() {
                output::answer(&result.answer);
            }
            result.notes.iter().for_each(|note| output::note(&print(note)));
            checks(result).into_iter().chain(doubts(result)).for_each(|line| output::note(&line));
            result.conflicts.iter().filter(|conflict| !conflict.resolved).for_each(|conflict| output::note(&conflict_line(conflict)));
            output::note(&summary(result));
        }
    }
    let Some(error) = &result.error else { return Ok(0) };
    if form == Output::Text {
        let (message, hint) = (error.message.clone(), hint_of(error));
        match error.code {
            code @ (FailureCode::WaitingForHuman | FailureCode::Interrupted) => {
                output::open_end(code, &message, hint.as_ref());
            }
            // The answer on standard output tells the whole error.
            FailureCode::GoalNotReached if result.answer.contains(&error.message.to_string()) => {
                let hint = hint.unwrap_or_else(|| message!("show-run", run = result.run_id));
                output::failure(&message!("run-not-reached"), Some(&hint));
            }
            _ => output::failure(&message, hint.as_ref()),
        }
    }
    Ok(error.code.exit_code())
}

/// Returns the next step after a failed run.
pub(super) fn hint_of(error: &RunFailure) -> Option<Message> {
    error.next.as_ref().map(next_step).or_else(|| error.hint.clone())
}

/// Returns the number of checks by their result, and of the amended ones; none if there were no checks.
fn checks(result: &RunResult) -> Option<String> {
    let checks = |number: usize| count(number, "check");
    let of = |holds: Option<bool>| result.criteria.iter().filter(move |known| known.holds == holds);
    let passed = of(Some(true)).count();
    let judged = of(Some(true)).filter(|known| known.how == CheckMethod::Audited).count();
    let (failed, open, amended) = (of(Some(false)).count(), of(None).count(), result.amended.len());
    let counts = row([
        (passed > 0).then(|| msg!("run-checks-passed", checks = checks(passed))),
        (judged > 0).then(|| msg!("run-checks-judged", number = judged)),
        (failed > 0).then(|| msg!("run-checks-failed", checks = checks(failed))),
        (open > 0).then(|| msg!("run-checks-open", checks = checks(open))),
        (amended > 0).then(|| msg!("run-checks-amended", checks = checks(amended))),
    ]
    .into_iter()
    .flatten());
    (!counts.is_empty()).then(|| format!("{DIM}{counts}{DIM:#}"))
}

/// Maximum width of the reason why a criterion was not checked.
const REASON: usize = 160;

/// Names the criteria that nobody checked or decided, with the reasons, those that held already before the work, and the amended ones.
fn doubts(result: &RunResult) -> Vec<String> {
    let reason = |text: &str| first_line(text, REASON);
    let line = |known: &CriterionOutcome| {
        let open = known.holds.is_none() && !known.evidence.is_empty();
        Some(match (open, known.how) {
            (true, CheckMethod::Unchecked) => {
                msg!("run-unchecked", criterion = plain(&known.text), reason = reason(&print(&known.evidence)))
            }
            (true, _) => msg!("run-undecided", criterion = plain(&known.text), reason = reason(&print(&known.evidence))),
            (false, _) if known.held_before == Some(true) => msg!("run-held-before", criterion = plain(&known.text)),
            (false, _) => return None,
        })
    };
    let amended = result.amended.iter().map(|known| {
        msg!("run-amended", from = plain(&known.from.to_string()), to = plain(&known.to.to_string()), evidence = reason(&known.evidence))
    });
    result.criteria.iter().filter_map(line).chain(amended).map(|text| format!("{DIM}{text}{DIM:#}")).collect()
}

/// Returns the last line: the outcome and the cost of the run.
pub(super) fn summary(result: &RunResult) -> String {
    let done = result.tasks.iter().filter(|task| task.status == aime_progress_management::TaskStatus::Completed).count();
    let tokens = result.usage.input_tokens + result.usage.output_tokens;
    let cost = if result.usage.cost_usd > 0.0 { format!(", ${:.4}", result.usage.cost_usd) } else { String::new() };
    let ended = result.error.as_ref().map_or_else(|| result.status.to_string(), |error| error.code.word().replace('_', " "));
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let parts = [
        (!result.tasks.is_empty()).then(|| msg!("run-done", done, tasks = count(result.tasks.len(), "task"))),
        (result.replans > 0).then(|| count(number(result.replans.into()), "replan")),
        Some(msg!("run-span", span = span(result.duration_ms))),
        (result.usage.requests > 0).then(|| msg!("run-tokens", tokens, requests = count(number(result.usage.requests), "request"))),
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(&msg!("view-comma"));
    let summary = msg!("run-summary", run = result.run_id, ended = word_name("ended", &ended), parts);
    let cached = match result.usage.cached_input_tokens {
        0 => String::new(),
        tokens => format!("{}{}", msg!("view-comma"), msg!("run-cached", tokens)),
    };
    let by_who = output::by_who(&result.usage_by).map(|text| format!(" · {text}")).unwrap_or_default();
    format!("{DIM}{summary}{cached}{cost}{by_who}{DIM:#}")
}
