//! Verification of criteria: aime checks files and commands itself, and a model judges the rest by the recorded
//! evidence and not only by claims.

use std::sync::Arc;

use aime_durable::EffectId;
use aime_dynamic_planner::{Verdict, verdict};
use aime_messages::{Message, message};
use aime_progress_management::{
    Check, CheckMethod, Conclusion, Criterion, ModelCost, Outcome, Owner, PlanMode, ProgressState, TaskKind, TaskSpec,
};
use aime_tools::{CriterionVerdict, Holds, Permission, Permissions};
use serde_json::Map;
use tokio::time::Instant;

use super::{
    Context, RunRunner,
    audit::AuditSubject,
    baseline::with_baseline,
    checks::{Author, confirmed},
    evidence::{of_files, of_run, of_words},
    plan::model_use,
    private::PrivateWorkspace,
    recheck::names,
};
use crate::{CriterionResult, ModelUse, Reflect, RunFact};

/// Reason why the success criteria in words are not judged with `planning.reflect = "never"`.
const WAIVED: &str = "not checked: `planning.reflect` is \"never\"";
/// The tool whose permissions decide which files a verifier may see.
const READ_FILE: &str = "read_file";

/// The work of an attempt at a task, for a check of its criteria.
#[derive(Debug, Clone)]
pub(super) struct CheckedWork<'a> {
    /// Name of the attempt in the run.
    pub(super) name: String,
    /// The task.
    pub(super) spec: &'a TaskSpec,
    /// The results that the worker was given, in Markdown.
    pub(super) given: &'a str,
    /// The private folder with the work; if absent, the working folder.
    pub(super) place: Option<&'a PrivateWorkspace>,
}

impl<'a> CheckedWork<'a> {
    /// Returns work in the working folder whose worker was given nothing.
    pub(super) const fn new(name: String, spec: &'a TaskSpec) -> Self {
        Self { name, spec, given: "", place: None }
    }
}

impl RunRunner {
    /// Checks the goal's criteria when every task is settled, and once more those of completed tasks, if others have changed files since. A
    /// command that passed still holds if no file has changed since.
    pub(super) async fn verify(self: &Arc<Self>, id: EffectId, state: &ProgressState, context: &Context) -> RunFact {
        let criteria = &state.strategic.success_criteria;
        let reflects = self.input.reflects(criteria);
        // If the settings ask for it, a plan without criteria is judged by its goal.
        let goal = [Criterion::text(format!("what was done reaches the goal: {}", state.goal))];
        let author = self.author(state, &[]);
        let mut checks = Vec::new();
        let changes = self.kept_files.count_changes().await;
        for criterion in if criteria.is_empty() { &goal } else { criteria.as_slice() }.iter().filter(|_| reflects) {
            checks.push(match confirmed(state, criterion, changes) {
                Some(known) => known,
                None => CriterionResult { changes, ..self.execute(criterion, (None, None), &author, context).await },
            });
        }
        let (again, mut calls) = self.check_again(state, &author, context).await;
        calls.extend(match self.input.settings.reflect {
            Reflect::Never => {
                checks.iter_mut().filter(|check| is_open(check)).for_each(|check| check.reason = WAIVED.into());
                Vec::new()
            }
            Reflect::Criteria | Reflect::Always => {
                let name = format!("run-{}-{}", state.version, state.tool_calls);
                let work = AuditSubject {
                    name,
                    task: None,
                    goal: state.goal.clone(),
                    claim: "",
                    earlier_results: "",
                    origins: author.origins,
                    place: None,
                };
                // An auditor receives whole results, as far as its context window allows.
                let whole = self.audits();
                self.judge(work, &mut checks, || Ok(of_run(state, whole)), context).await
            }
        });
        RunFact::Verified { id, checks, again, calls }
    }

    /// Checks a task's criteria when an attempt claims success: those of the plan, and the commands that the actor
    /// names. The only task of a plan is also checked against the success criteria that code can check, so that its
    /// actor learns which of them fail. Recorded evidence of the attempt counts as given.
    pub(super) async fn verify_task(
        self: &Arc<Self>,
        work: CheckedWork<'_>,
        conclusion: &Conclusion,
        evidence: impl FnOnce() -> Result<String, String>,
        context: &Context,
    ) -> (Vec<CriterionResult>, Vec<ModelUse>) {
        let criteria = self.criteria_of(work.spec, conclusion);
        // The author is computed from the results of all tasks, which a task without criteria must not pay for.
        if criteria.is_empty() {
            return (Vec::new(), Vec::new());
        }
        Box::pin(self.verify_criteria(criteria, work, (conclusion, evidence), context)).await
    }

    async fn verify_criteria(
        self: &Arc<Self>,
        criteria: Vec<(Criterion, bool)>,
        work: CheckedWork<'_>,
        (conclusion, evidence): (&Conclusion, impl FnOnce() -> Result<String, String>),
        context: &Context,
    ) -> (Vec<CriterionResult>, Vec<ModelUse>) {
        let _gone = context.facts.send(RunFact::CheckStarted { task: work.spec.id.clone() });
        let author = self.author_of(conclusion);
        let mut checks = Vec::new();
        // The criteria are checked again at the end of the run, unless nothing has changed until then.
        let changes = self.kept_files.count_changes().await;
        for (criterion, of_plan) in criteria {
            let check = self.execute(&criterion, (Some(&work.spec.id), work.place), &author, context).await;
            checks.push(CriterionResult { of_plan, changes, ..check });
        }
        // An attempt that has already failed needs no verdict of a model.
        if checks.iter().any(|check| check.passed == Some(false)) || checks.iter().all(|check| check.executable || check.passed.is_some()) {
            return (checks, Vec::new());
        }
        let calls = self.judge_task(work, conclusion, author, (&mut checks, evidence), context).await;
        (checks, calls)
    }

    /// Checks the criteria of merged work again if the working folder differs at `unseen` from the private folder in which they were checked:
    /// commands and file facts, and texts whose words or evidence name one of these paths.
    pub(super) async fn verify_merged(
        self: &Arc<Self>,
        work: CheckedWork<'_>,
        (conclusion, evidence): (&Conclusion, impl FnOnce() -> Result<String, String>),
        (unseen, checks): (&[String], &mut [CriterionResult]),
        context: &Context,
    ) -> Vec<ModelUse> {
        let changes = self.kept_files.count_changes().await;
        checks.iter_mut().for_each(|check| check.changes = changes);
        if unseen.is_empty() || checks.is_empty() {
            return Vec::new();
        }
        let author = self.author_of(conclusion);
        let mut stale: Vec<(usize, CriterionResult)> = Vec::new();
        for (at, (criterion, of_plan)) in self.criteria_of(work.spec, conclusion).into_iter().enumerate() {
            let Some(check) = checks.get_mut(at) else { break };
            if check.how == CheckMethod::Audited {
                let is_named = |path: &String| names(&check.reason.to_string(), path) || names(&check.criterion, path);
                if unseen.iter().any(is_named) {
                    stale.push((at, CriterionResult { of_plan, changes, ..CriterionResult::open(&criterion) }));
                }
            } else if check.executable || check.passed.is_some() {
                let again = self.execute(&criterion, (Some(&work.spec.id), work.place), &author, context).await;
                *check = CriterionResult { of_plan, changes, ..again };
            }
        }
        if stale.is_empty() || checks.iter().any(|check| check.fault().is_some()) {
            return Vec::new();
        }
        let (places, mut stale): (Vec<usize>, Vec<CriterionResult>) = stale.into_iter().unzip();
        let work = CheckedWork { name: format!("{}-merged", work.name), ..work };
        let calls = self.judge_task(work, conclusion, author, (&mut stale, evidence), context).await;
        for (at, check) in places.into_iter().zip(stale) {
            if let Some(known) = checks.get_mut(at) {
                *known = check;
            }
        }
        calls
    }

    /// Submits the open criteria of a task to a model.
    async fn judge_task(
        self: &Arc<Self>,
        CheckedWork { name, spec, given, place }: CheckedWork<'_>,
        conclusion: &Conclusion,
        author: Author,
        (checks, evidence): (&mut [CriterionResult], impl FnOnce() -> Result<String, String>),
        context: &Context,
    ) -> Vec<ModelUse> {
        let goal = format!("{}\n{}", spec.title(), spec.description);
        let work =
            AuditSubject { name, task: Some(spec), goal, claim: conclusion.text(), earlier_results: given, origins: author.origins, place };
        let judged = context.cancel.run_until_cancelled(Box::pin(self.judge(work, checks, evidence, context))).await;
        // Nobody reads the result of an attempt that is being stopped. It is judged when the run continues.
        judged.unwrap_or_default()
    }

    /// Returns the criteria that are checked when an attempt at a task ends, each with whether it is one of the plan.
    fn criteria_of(&self, spec: &TaskSpec, conclusion: &Conclusion) -> Vec<(Criterion, bool)> {
        if conclusion.outcome != Outcome::Success {
            return Vec::new();
        }
        let own = conclusion.checks.iter().map(|check| Criterion { check: Check::Command(check.clone()), owner: Owner::Actor });
        let of_task = spec.completion_criteria.iter().cloned().chain(own).map(|criterion| (criterion, false));
        let of_plan = self.criteria_of_plan(spec, self.live.get(&self.run).as_deref()).into_iter().map(|criterion| (criterion, true));
        of_task.chain(of_plan).collect()
    }

    /// Returns the author of the criteria of a task whose attempt has ended.
    fn author_of(&self, conclusion: &Conclusion) -> Author {
        match self.live.get(&self.run) {
            Some(state) => self.author(&state, &conclusion.origins),
            None => Author { origins: conclusion.origins.clone(), consents: Vec::new() },
        }
    }

    /// Returns the success criteria that are checked with a task: if one actor does the whole goal, those that code can
    /// check.
    fn criteria_of_plan(&self, spec: &TaskSpec, state: Option<&ProgressState>) -> Vec<Criterion> {
        // Without the state, these criteria are checked at the end of the run.
        let Some(state) = state.filter(|state| spec.kind == TaskKind::Actor && state.mode == Some(PlanMode::Direct) || state.version == 0)
        else {
            return Vec::new();
        };
        let criteria = match state.version {
            0 => &self.input.settings.checks,
            _ if state.tasks.len() == 1 => &state.strategic.success_criteria,
            _ => return Vec::new(),
        };
        criteria.iter().filter(|criterion| !matches!(criterion.check, Check::Text(_))).cloned().collect()
    }

    /// Submits the open criteria to an auditor, or to a small model in one question. A criterion that cannot be judged
    /// stays open, with the reason.
    pub(super) async fn judge(
        self: &Arc<Self>,
        work: AuditSubject<'_>,
        checks: &mut [CriterionResult],
        evidence: impl FnOnce() -> Result<String, String>,
        context: &Context,
    ) -> Vec<ModelUse> {
        let begun = Instant::now();
        let open: Vec<String> = checks.iter().filter(|check| is_open(check)).map(|check| check.criterion.clone()).collect();
        if open.is_empty() {
            return Vec::new();
        }
        if self.audits() {
            return self.judge_by_audit(&work, checks, &open, evidence(), context).await;
        }
        let evidence = evidence().map(|evidence| {
            let files = of_files(self.folder_of(work.place), &open, |path| self.may_read(path));
            let claims = work.task.is_some_and(|task| task.kind == TaskKind::Actor) && !work.claim.is_empty();
            let words = if claims { of_words(work.claim) } else { String::new() };
            [evidence, words, files].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
        });
        let judged = match (self.model("planner", context), evidence) {
            (None, _) => Err(("there is no model to judge it".to_owned(), ModelCost::default())),
            (_, Err(error)) => Err((error, ModelCost::default())),
            (Some(model), Ok(evidence)) => verdict(&model, &self.parts.tiers, &self.parts.prompts, &work.goal, &open, &evidence)
                .await
                .map_err(|error| (error.to_string(), error.spent())),
        };
        let (passed, reason, model, effort, spent) = match judged {
            Ok(judged) => {
                (Some(judged.verdict.passed), Message::text(verdict_text(&judged.verdict)), judged.model, judged.effort, judged.spent)
            }
            Err((error, spent)) => (None, message!("check-not-made", reason = error), String::new(), None, spent),
        };
        for check in checks.iter_mut().filter(|check| is_open(check)) {
            check.passed = passed;
            check.how = if passed.is_some() { CheckMethod::Audited } else { CheckMethod::Unchecked };
            check.reason.clone_from(&reason);
        }
        if spent.requests > 0 { vec![model_use("verdict", &model, effort, spent, begun)] } else { Vec::new() }
    }

    /// Applies the verdicts of an auditor to their criteria.
    async fn judge_by_audit(
        self: &Arc<Self>,
        work: &AuditSubject<'_>,
        checks: &mut [CriterionResult],
        open: &[String],
        calls: Result<String, String>,
        context: &Context,
    ) -> Vec<ModelUse> {
        let state = self.live.get(&self.run);
        let executed = checks.iter().filter_map(|check| {
            let held = if check.passed? { "holds" } else { "does not hold" };
            let evidence = with_baseline(state.as_deref(), work.task.map(|task| &task.id), check);
            Some(format!("{}: {held}: {evidence}", check.criterion))
        });
        let (verdicts, calls) = match calls {
            Ok(calls) => self.audit(work, open, (executed.collect(), calls), context).await,
            Err(error) => (Err(error), Vec::new()),
        };
        let (verdicts, missing) = match verdicts {
            Ok(verdicts) => (verdicts, Message::default()),
            Err(error) => (Vec::new(), message!("check-not-made", reason = error)),
        };
        let mut verdicts = verdicts.into_iter();
        for check in checks.iter_mut().filter(|check| is_open(check)) {
            match verdicts.next() {
                Some(verdict) => {
                    (check.passed, check.how) = match verdict.holds {
                        Holds::Yes => (Some(true), CheckMethod::Audited),
                        Holds::No => (Some(false), CheckMethod::Audited),
                        Holds::CannotTell => (None, CheckMethod::Audited),
                    };
                    check.reason = finding_text(&verdict).into();
                }
                None => check.reason.clone_from(&missing),
            }
        }
        calls
    }

    /// Returns true if an actor could read a file without asking a person.
    pub(super) fn may_read(&self, path: &str) -> bool {
        let (approval, rules) = (self.input.settings.approval, &self.input.rules);
        let parameters = Map::from_iter([("path".to_owned(), path.into())]);
        let read_file = self.input.tools.iter().find(|tool| tool.name() == READ_FILE);
        read_file.is_some_and(|tool| {
            let decided = tool.check(parameters).map(|call| Permissions::new(approval, rules).decide(tool, call));
            matches!(decided, Ok(Permission::Allow(_)))
        })
    }
}

/// Returns true if a model has to judge the criterion.
const fn is_open(check: &CriterionResult) -> bool {
    check.passed.is_none() && !check.executable
}

/// Returns the explanation of an auditor's verdict on one criterion.
fn finding_text(verdict: &CriterionVerdict) -> String {
    let cannot_tell = if verdict.holds == Holds::CannotTell { "cannot tell: " } else { "" };
    let (why, evidence) = (verdict.why.trim(), verdict.evidence.trim());
    if evidence.is_empty() { format!("{cannot_tell}{why}") } else { format!("{cannot_tell}{why} ({evidence})") }
}

/// Formats a verdict; a refusal includes the missing parts and suggestions.
fn verdict_text(verdict: &Verdict) -> String {
    let mut parts = vec![verdict.reason.clone()];
    if !verdict.passed {
        parts.push(verdict.feedback.clone());
        parts.extend(verdict.suggestions.iter().map(|suggestion| format!("suggested: {suggestion}")));
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join("; ")
}
