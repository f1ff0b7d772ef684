//! Commands that check criteria. aime runs them itself.

use aime_messages::{Message, message};
use aime_progress_management::{CheckMethod, CommandCheck, CommandResult, Criterion, Origin, Owner, ProgressState, TaskId};
use aime_tools::{Approval, Permission, PermissionRules, Permissions, ToolError, ToolOutput, ValidatedCall, streams_of};
use serde_json::{Map, Value};

use super::{Context, RunRunner, on_bound, private::PrivateWorkspace};
use crate::{CriterionResult, machine::lead::main_id, settings::in_force};

/// The tool that runs them.
const BASH: &str = "bash";
/// Maximum number of characters of the output's head, and of its tail, in evidence.
const SHOWN: usize = 800;
/// Files changed by a command that its evidence names.
const EFFECTS_SHOWN: usize = 10;
/// The beginning of the reason why a command was not run.
const NOT_RUN: &str = "not run: ";

/// Sources of the texts from which a model may have made the criteria, and the consents of people.
pub(super) struct Author {
    pub(super) origins: Vec<Origin>,
    pub(super) consents: Vec<String>,
}

/// Outcome of one run of a command.
enum Outcome {
    Ran { holds: bool, evidence: Message },
    TookTooLong(Message),
    NotRun(Message),
}

impl RunRunner {
    /// Returns the author of criteria in this state. `more` are origins in addition to those of the results.
    pub(super) fn author(&self, state: &ProgressState, more: &[Origin]) -> Author {
        let mut origins = self.untrusted(&self.input.settings.origins);
        let results = state.tasks.values().filter_map(|task| task.conclusion.as_ref()).flat_map(|conclusion| &conclusion.origins);
        let evidence = state.evidence.iter().flat_map(|evidence| &evidence.origins);
        Origin::merge(&mut origins, results.chain(evidence).chain(more));
        Author { origins, consents: state.consents.clone() }
    }

    /// Runs the command of a criterion, and repeats it once after a failure: two different outcomes leave the criterion
    /// undecided. A command without permission leaves it unchecked.
    pub(super) async fn run_check(
        &self,
        check: &CommandCheck,
        open: CriterionResult,
        (task, place): (Option<&TaskId>, Option<&PrivateWorkspace>),
        author: &Author,
        context: &Context,
    ) -> CriterionResult {
        let (seconds, by) = (u64::from(self.input.settings.check_seconds), (open.owner, author));
        let call = match self.permit_check(check, seconds, by) {
            Ok(call) => call,
            Err(reason) => return CriterionResult { reason, ..open },
        };
        let how = CheckMethod::Executed;
        let first = match self.run_once(check, (call.clone(), by), (task, place), context).await {
            Outcome::Ran { holds: true, evidence } => return CriterionResult { how, passed: Some(true), reason: evidence, ..open },
            Outcome::TookTooLong(reason) => return CriterionResult { how, passed: Some(false), reason, ..open },
            Outcome::NotRun(reason) => return CriterionResult { reason, ..open },
            Outcome::Ran { holds: false, evidence } => evidence,
        };
        match self.run_once(check, (call, by), (task, place), context).await {
            Outcome::Ran { holds: true, evidence } => {
                let reason = message!("check-flaky", first, evidence);
                CriterionResult { how, passed: None, reason, ..open }
            }
            Outcome::Ran { .. } | Outcome::TookTooLong(_) => CriterionResult { how, passed: Some(false), reason: first, ..open },
            Outcome::NotRun(why) => {
                let reason = message!("check-not-again", reason = why, evidence = first);
                CriterionResult { how, passed: Some(false), reason, ..open }
            }
        }
    }

    /// Returns the permissions of a command. A criterion of a person or the project implies consent; any other needs
    /// permission like a tool call.
    fn permissions_of_check<'a>(&'a self, (owner, author): (Owner, &'a Author), rules: &'a PermissionRules) -> Permissions<'a> {
        let (settings, named) = (&self.input.settings, owner.needs_consent());
        Permissions {
            approval: if named { Approval::All } else { settings.approval },
            rules,
            trust: settings.trust.as_ref().filter(|_| !named),
            origins: &author.origins,
            handed_over: named,
        }
    }

    /// Decides if a command may be run.
    fn permit_check(&self, check: &CommandCheck, seconds: u64, by: (Owner, &Author)) -> Result<ValidatedCall, Message> {
        let tool = self.parts.tools.get(BASH).ok_or_else(|| message!("check-no-bash"))?;
        let rules = in_force(&self.input.rules, &by.1.consents);
        let permissions = self.permissions_of_check(by, &rules);
        let parameters = Map::from_iter([
            ("command".to_owned(), Value::from(check.command.as_str())),
            ("timeout_seconds".to_owned(), Value::from(seconds)),
        ]);
        let call = tool.spec().check(parameters).map_err(|error| message!("check-not-run", reason = error))?;
        match permissions.decide(tool.spec(), call) {
            Permission::Allow(call) => Ok(call),
            Permission::Ask(_) => Err(message!("check-not-allowed")),
            Permission::Deny { reason } => Err(message!("check-not-run", reason)),
        }
    }

    /// Runs the command of a criterion once, before the work. Returns whether it holds; `None` if that cannot be told within the limit and
    /// the budget.
    pub(super) async fn try_command(
        &self,
        check: &CommandCheck,
        (owner, seconds): (Owner, u64),
        (task, place): (&TaskId, Option<&PrivateWorkspace>),
        author: &Author,
        context: &Context,
    ) -> Option<bool> {
        let (seconds, by) = (seconds.min(u64::from(self.input.settings.check_seconds)), (owner, author));
        let call = self.permit_check(check, seconds, by).ok()?;
        self.budget.count_tool_call().ok()?;
        match self.run_counted(check, (call, by), (Some(task), place), context).await {
            Outcome::Ran { holds, .. } => Some(holds),
            Outcome::TookTooLong(_) | Outcome::NotRun(_) => None,
        }
    }

    async fn run_once(
        &self,
        check: &CommandCheck,
        call: (ValidatedCall, (Owner, &Author)),
        of: (Option<&TaskId>, Option<&PrivateWorkspace>),
        context: &Context,
    ) -> Outcome {
        if let Err(error) = self.budget.count_tool_call() {
            // The run, which is told, revokes the effect; it is carried out again when the run goes on.
            (on_bound(context))(&(&error).into());
            context.cancel.cancelled().await;
            return Outcome::NotRun(message!("check-not-run", reason = error));
        }
        self.run_counted(check, call, of, context).await
    }

    async fn run_counted(
        &self,
        check: &CommandCheck,
        (mut call, by): (ValidatedCall, (Owner, &Author)),
        (task, place): (Option<&TaskId>, Option<&PrivateWorkspace>),
        context: &Context,
    ) -> Outcome {
        let folder = task.cloned().unwrap_or_else(main_id);
        let tool_context = self.tool_context(context.cancel.clone(), &folder).with_whole_results();
        let tool_context = place.map_or(tool_context.clone(), |place| place.context(tool_context));
        let asking = self.asking(&context.facts, task);
        let rules = in_force(&self.input.rules, &by.1.consents);
        let permissions = self.permissions_of_check(by, &rules);
        let (called, effects) = self.call_without_effects(place, asking, &mut call, tool_context, permissions).await;
        let (exit, printed) = match called {
            Ok(ToolOutput { value, .. }) => {
                let text = |stream: &str| value.get(stream).and_then(Value::as_str).unwrap_or_default().to_owned();
                (0, (text("stdout"), text("stderr")))
            }
            Err(ToolError::Exited { code, printed }) => (code, streams_of(&printed)),
            Err(error @ ToolError::Stopped { timed_out: true, .. }) => {
                return Outcome::TookTooLong(with_effects(bounded(&error.to_string()).into(), &effects));
            }
            Err(error @ ToolError::Stopped { .. }) => {
                return Outcome::Ran { holds: false, evidence: with_effects(bounded(&error.to_string()).into(), &effects) };
            }
            Err(ToolError::TimedOut(text)) => return Outcome::TookTooLong(with_effects(bounded(&text).into(), &effects)),
            Err(ToolError::Failed(text)) => return Outcome::Ran { holds: false, evidence: with_effects(bounded(&text).into(), &effects) },
            Err(error) => return Outcome::NotRun(not_run(&error.to_string())),
        };
        let (stdout, stderr) = (&printed.0, &printed.1);
        let holds = check.expect.holds(&CommandResult { exit: Some(exit), stdout, stderr });
        let output = format!("{stdout}{stderr}");
        let exit = message!("check-exit", code = exit.to_string());
        let evidence = if output.trim().is_empty() { exit } else { Message::list("\n", &[exit, bounded(&output).into()]) };
        Outcome::Ran { holds, evidence: with_effects(evidence, &effects) }
    }
}

/// Returns the evidence with the changes of files that the command made.
fn with_effects(evidence: Message, effects: &[String]) -> Message {
    let more = effects.len().saturating_sub(EFFECTS_SHOWN);
    let more = (more > 0).then(|| message!("check-more-changes", number = more));
    let shown = effects.iter().take(EFFECTS_SHOWN).map(Message::text).chain(more);
    let lines: Vec<Message> = [evidence].into_iter().chain(shown).collect();
    Message::list("\n", &lines)
}

fn not_run(why: &str) -> Message {
    message!("check-not-run", reason = why.strip_prefix(NOT_RUN).unwrap_or(why))
}

/// Returns a success criterion that was confirmed earlier and still is, because no file has changed since. `changes` is the number of
/// recorded changes of files so far.
pub(super) fn confirmed(state: &ProgressState, criterion: &Criterion, changes: Option<u64>) -> Option<CriterionResult> {
    let open = CriterionResult::open(criterion);
    let known = state.checked.iter().find(|known| known.task.is_none() && known.criterion == open.criterion)?;
    let is_checked = known.how != CheckMethod::Unchecked && known.holds == Some(true);
    let holds = is_checked && changes.is_some() && known.changes == changes;
    holds.then(|| CriterionResult { how: known.how, passed: known.holds, reason: known.evidence.clone(), changes, ..open })
}

/// Returns the head and the tail of a text.
fn bounded(text: &str) -> String {
    head_and_tail(text, SHOWN)
}

/// Returns the first and the last `shown` characters of a text.
pub(super) fn head_and_tail(text: &str, shown: usize) -> String {
    let text = text.trim();
    let characters = text.chars().count();
    if characters <= 2 * shown {
        return text.to_owned();
    }
    let head: String = text.chars().take(shown).collect();
    let tail: String = text.chars().skip(characters - shown).collect();
    format!("{head}\n[… {} characters …]\n{tail}", characters - 2 * shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_keeps_head_and_tail() {
        assert_eq!(bounded(" short\n"), "short");
        let long = format!("{}{}", "a".repeat(SHOWN), "b".repeat(SHOWN + 5));
        let shown = bounded(&long);
        assert!(shown.starts_with("aa") && shown.ends_with("bb") && shown.contains("[… 5 characters …]"), "{shown}");
    }
}
