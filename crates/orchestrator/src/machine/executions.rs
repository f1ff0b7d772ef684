//! The executions of tasks, and the reports that their actors have sent.

use std::collections::{BTreeMap, BTreeSet};

use aime_actor_factory::effect_prefix;
use aime_progress_management::{Conclusion, ProgressState, TaskId};
use aime_tools::ValidatedCall;
use serde::{Deserialize, Serialize};

use super::claims::Claim;
use crate::ActorContinuation;

/// Prefix of the calls that auditors are named by. No task's actor has such a journal, because its execution is a number.
pub(crate) const AUDIT_PREFIX: &str = "run/audit/";

/// The current execution of each task, from 1, and how many reports of each actor were taken.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Executions {
    /// The executions of started tasks. Each conclusion ends an execution.
    current: BTreeMap<TaskId, u32>,
    /// The number of the next report, by the name of the actor's journal.
    reports: BTreeMap<String, u64>,
    /// The last rejected result of the current execution.
    returned: BTreeMap<TaskId, ActorContinuation>,
    /// Number of rejected results of the current execution.
    rejections: BTreeMap<TaskId, u32>,
    /// The tasks that actors have taken over.
    claims: BTreeMap<TaskId, Claim>,
    /// The calls of tool tasks whose criteria are not checked yet.
    called: BTreeMap<TaskId, FinishedCall>,
    /// The tasks that wait until no other task writes in the working folder.
    awaiting_folder: BTreeSet<TaskId>,
    /// The tasks whose criteria are being checked.
    checking: BTreeSet<TaskId>,
}

/// The call of a tool task, with its result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FinishedCall {
    pub(super) call: ValidatedCall,
    pub(super) result: Box<Conclusion>,
}

impl Executions {
    /// Returns the current execution of a task; 1 if the task has not started.
    pub(super) fn of(&self, task: &TaskId) -> u32 {
        self.current.get(task).copied().unwrap_or(1)
    }

    /// Starts an attempt at a task and returns its execution.
    pub(super) fn begin(&mut self, task: &TaskId) -> u32 {
        self.has_folder(task);
        self.checking.remove(task);
        *self.current.entry(task.clone()).or_insert(1)
    }

    /// Records that a task waits for the working folder.
    pub(super) fn await_folder(&mut self, task: &TaskId) {
        self.awaiting_folder.insert(task.clone());
    }

    /// Records that a task does not wait for the working folder.
    pub(super) fn has_folder(&mut self, task: &TaskId) {
        self.awaiting_folder.remove(task);
    }

    pub(super) fn awaits_folder(&self, task: &TaskId) -> bool {
        self.awaiting_folder.contains(task)
    }

    /// Records that the criteria of a task are being checked.
    pub(super) fn start_check(&mut self, task: &TaskId) {
        self.checking.insert(task.clone());
    }

    /// Returns whether the criteria of a task are being checked, so that its worker has nothing to do.
    pub(super) fn is_checking(&self, task: &TaskId) -> bool {
        self.checking.contains(task)
    }

    /// Ends the current execution of a task.
    pub(super) fn conclude(&mut self, task: &TaskId) {
        self.has_folder(task);
        self.checking.remove(task);
        *self.current.entry(task.clone()).or_insert(1) += 1;
        self.returned.remove(task);
        self.rejections.remove(task);
        self.called.remove(task);
    }

    /// Records the call of a tool task in its current execution.
    pub(super) fn finish_call(&mut self, task: &TaskId, call: FinishedCall) {
        self.called.insert(task.clone(), call);
    }

    /// Returns the call of a tool task in its current execution, if it has ended.
    pub(super) fn finished_call(&self, task: &TaskId) -> Option<&FinishedCall> {
        self.called.get(task)
    }

    /// Records that an actor has taken over a task.
    pub(super) fn claim(&mut self, task: &TaskId, claim: Claim) {
        self.claims.insert(task.clone(), claim);
    }

    pub(super) fn claimed(&self) -> Vec<TaskId> {
        self.claims.keys().cloned().collect()
    }

    pub(super) fn claim_of(&self, task: &TaskId) -> Option<&Claim> {
        self.claims.get(task)
    }

    /// Records that the result of the current execution was rejected, and returns the number of rejections.
    pub(super) fn return_result(&mut self, task: &TaskId, missing: String) -> u32 {
        let number = self.returned(task).map_or(0, |before| before.number) + 1;
        self.checking.remove(task);
        self.returned.insert(task.clone(), ActorContinuation { number, missing, answer: false });
        let rejections = self.rejections.entry(task.clone()).or_insert(0);
        *rejections += 1;
        *rejections
    }

    /// Returns the number of rejected results of the current execution.
    pub(super) fn rejections(&self, task: &TaskId) -> u32 {
        self.rejections.get(task).copied().unwrap_or_default()
    }

    /// Counts the rejected results of the current execution anew.
    pub(super) fn forget_rejections(&mut self, task: &TaskId) {
        self.rejections.remove(task);
    }

    /// Records the words of a person for the blocked actor of the current execution.
    pub(super) fn return_answer(&mut self, task: &TaskId, words: String) {
        let number = self.returned(task).map_or(0, |before| before.number) + 1;
        self.returned.insert(task.clone(), ActorContinuation { number, missing: words, answer: true });
    }

    /// Returns the last rejected result of the current execution.
    pub(super) fn returned(&self, task: &TaskId) -> Option<&ActorContinuation> {
        self.returned.get(task)
    }

    /// Takes the report `number` of an actor by the name of its journal. Returns whether it is new.
    pub(super) fn take_report(&mut self, journal: String, number: u64) -> bool {
        let next = self.reports.entry(journal).or_insert(0);
        let is_new = number >= *next;
        if is_new {
            *next = number + 1;
        }
        is_new
    }

    /// Counts the first reports of a journal as taken.
    pub(super) fn skip_reports(&mut self, journal: String, number: u64) {
        self.reports.insert(journal, number);
    }

    /// Returns whether `execution` is that of a task which was begun.
    pub(super) fn is_current(&self, task: &TaskId, execution: u32) -> bool {
        self.current.get(task) == Some(&execution)
    }

    /// Returns whether the actor that works on a task has reported: another attempt resumes it.
    pub(super) fn has_reported(&self, task: &TaskId) -> bool {
        self.current.get(task).is_some_and(|execution| self.reports.contains_key(&effect_prefix(task, *execution, None)))
    }

    /// Returns the number of actors that have reported: one for each execution that has an actor, one for each
    /// delegation.
    pub(super) fn actors(&self) -> u32 {
        u32::try_from(self.reports.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of actors that have reported or have a journal. `streams` are the names of all journals of
    /// the run.
    pub(super) fn actors_with_journals(&self, streams: &[String]) -> u32 {
        // The journal of the run itself has no name. Auditors check the work of actors and are none.
        let is_actor = |stream: &&String| !stream.is_empty() && !stream.starts_with(AUDIT_PREFIX);
        let silent = streams.iter().filter(is_actor).filter(|stream| !self.reports.contains_key(*stream)).count();
        self.actors().saturating_add(u32::try_from(silent).unwrap_or(u32::MAX))
    }

    /// Returns the number of reports taken from the actor with this journal.
    pub(super) fn reports_of(&self, actor: &str) -> u64 {
        self.reports.get(actor).copied().unwrap_or_default()
    }

    /// Returns the execution of each task that was begun and is not settled.
    pub(super) fn under_way<'a>(&'a self, state: &'a ProgressState) -> impl Iterator<Item = (&'a TaskId, u32)> {
        let open = |task: &TaskId| state.tasks.get(task).is_some_and(|known| !known.status.is_settled());
        self.current.iter().filter(move |(task, _)| open(task)).map(|(task, execution)| (task, *execution))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> TaskId {
        "a".parse().unwrap()
    }

    #[test]
    fn an_execution_lasts_until_its_conclusion() {
        let mut executions = Executions::default();
        assert_eq!((executions.of(&task()), executions.is_current(&task(), 1)), (1, false));
        assert_eq!((executions.begin(&task()), executions.begin(&task()), executions.is_current(&task(), 1)), (1, 1, true));
        executions.conclude(&task());
        assert_eq!((executions.of(&task()), executions.is_current(&task(), 1), executions.begin(&task())), (2, false, 2));
    }

    #[test]
    fn results_are_returned_within_one_execution() {
        let mut executions = Executions::default();
        executions.begin(&task());
        assert_eq!((executions.return_result(&task(), "x".to_owned()), executions.return_result(&task(), "y".to_owned())), (1, 2));
        assert_eq!(executions.returned(&task()).map(|returned| returned.missing.as_str()), Some("y"));
        executions.conclude(&task());
        assert_eq!(executions.returned(&task()), None);
    }

    #[test]
    fn each_report_is_taken_once() {
        let mut executions = Executions::default();
        executions.begin(&task());
        let cases = [(None, 0, true), (None, 0, false), (None, 2, true), (None, 1, false), (Some("c1"), 0, true), (Some("c1"), 0, false)];
        for (call, number, expected) in cases {
            assert_eq!(executions.take_report(effect_prefix(&task(), 1, call), number), expected, "{call:?} {number}");
        }
        assert_eq!((executions.actors(), executions.has_reported(&task())), (2, true));
        assert_eq!(executions.reports_of(&effect_prefix(&task(), 1, None)), 3);
        executions.conclude(&task());
        assert!(!executions.has_reported(&task()), "the next execution has an actor of its own");
    }

    #[test]
    fn journals_without_reports_are_actors_too() {
        let mut executions = Executions::default();
        executions.take_report(effect_prefix(&task(), 1, None), 0);
        let known = effect_prefix(&task(), 1, None);
        let audit = effect_prefix(&task(), 1, Some(&format!("{AUDIT_PREFIX}a/1")));
        assert_eq!(executions.actors_with_journals(&[String::new(), known, "b/1".to_owned(), audit]), 2);
    }
}
