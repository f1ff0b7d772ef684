//! Verification of criteria: aime checks files and commands itself, and a model judges the rest by the recorded
//! evidence and not only by claims.

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use aime_durable::EffectId;
use aime_dynamic_planner::{Verdict, verdict};
use aime_messages::Describe;
use aime_progress_management::{
    Check, CheckMethod, Conclusion, Criterion, FileCheck, FileFact, ModelCost, Outcome, Owner, PlanMode, ProgressState, TaskId, TaskKind,
    TaskSpec,
};
use aime_tools::{CriterionVerdict, Holds, Permission, Permissions, ToolError};
use aime_undo::PathComparison;
use serde_json::Map;
use tokio::time::Instant;

use super::{
    Context, RunRunner,
    audit::Work,
    before::with_before,
    checks::{Author, confirmed},
    evidence::{of_files, of_run, of_words},
    millis_since,
    plan::model_use,
};
use crate::{CriterionResult, ModelUse, Reflect, RunFact, read_criterion};

/// The tool whose permissions decide which files a verifier may see.
const READ_FILE: &str = "read_file";

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
                None => CriterionResult { changes, ..self.execute(criterion, None, &author, context).await },
            });
        }
        let again = self.check_again(state, &author, context).await;
        let calls = match self.input.settings.reflect {
            Reflect::Never => Vec::new(),
            Reflect::Criteria | Reflect::Always => {
                let name = format!("run-{}-{}", state.version, state.tool_calls);
                let work = Work { name, task: None, goal: state.goal.clone(), claim: "", earlier_results: "", origins: author.origins };
                self.judge(work, &mut checks, || Ok(of_run(state)), context).await
            }
        };
        RunFact::Verified { id, checks, again, calls }
    }

    /// Checks a task's criteria when an attempt claims success: those of the plan, and the commands that the actor
    /// names. The only task of a plan is also checked against the success criteria that code can check, so that its
    /// actor learns which of them fail. Recorded evidence of the attempt counts as given.
    pub(super) async fn verify_task(
        self: &Arc<Self>,
        (name, spec, given): (String, &TaskSpec, &str),
        conclusion: &Conclusion,
        evidence: impl FnOnce() -> Result<String, String>,
        context: &Context,
    ) -> (Vec<CriterionResult>, Vec<ModelUse>) {
        if conclusion.outcome != Outcome::Success {
            return (Vec::new(), Vec::new());
        }
        let own = conclusion.checks.iter().map(|check| Criterion { check: Check::Command(check.clone()), owner: Owner::Actor });
        let of_task: Vec<Criterion> = spec.completion_criteria.iter().cloned().chain(own).collect();
        let state = self.live.get(&self.run);
        let of_plan = self.criteria_of_plan(spec, state.as_deref());
        // The author is computed from the results of all tasks, which a task without criteria must not pay for.
        if of_task.is_empty() && of_plan.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let author = match state {
            Some(state) => self.author(&state, &conclusion.origins),
            None => Author { origins: conclusion.origins.clone(), consents: Vec::new() },
        };
        let mut checks = Vec::new();
        // The criteria are checked again at the end of the run, unless nothing has changed until then.
        let changes = self.kept_files.count_changes().await;
        for criterion in of_task {
            checks.push(CriterionResult { changes, ..self.execute(&criterion, Some(&spec.id), &author, context).await });
        }
        for criterion in of_plan {
            let check = self.execute(&criterion, Some(&spec.id), &author, context).await;
            checks.push(CriterionResult { of_plan: true, changes, ..check });
        }
        // An attempt that has already failed needs no verdict of a model.
        if checks.iter().any(|check| check.passed == Some(false)) || checks.iter().all(|check| check.executable || check.passed.is_some()) {
            return (checks, Vec::new());
        }
        let goal = format!("{}\n{}", spec.title(), spec.description);
        let work = Work { name, task: Some(spec), goal, claim: conclusion.text(), earlier_results: given, origins: author.origins };
        let judged = context.cancel.run_until_cancelled(Box::pin(self.judge(work, &mut checks, evidence, context))).await;
        // Nobody reads the result of an attempt that is being stopped. It is judged when the run continues.
        let calls = judged.unwrap_or_default();
        (checks, calls)
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
    async fn judge(
        self: &Arc<Self>,
        work: Work<'_>,
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
            let files = of_files(&self.parts.tool_context.folder, &open, |path| self.may_read(path));
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
            Ok(judged) => (Some(judged.verdict.passed), verdict_text(&judged.verdict), judged.model, judged.effort, judged.spent),
            Err((error, spent)) => (None, format!("not checked: {error}"), String::new(), None, spent),
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
        work: &Work<'_>,
        checks: &mut [CriterionResult],
        open: &[String],
        calls: Result<String, String>,
        context: &Context,
    ) -> Vec<ModelUse> {
        let state = self.live.get(&self.run);
        let executed = checks.iter().filter_map(|check| {
            let held = if check.passed? { "holds" } else { "does not hold" };
            let evidence = with_before(state.as_deref(), work.task.map(|task| &task.id), check);
            Some(format!("{}: {held}: {evidence}", check.criterion))
        });
        let (verdicts, calls) = match calls {
            Ok(calls) => self.audit(work, open, (executed.collect(), calls), context).await,
            Err(error) => (Err(error), Vec::new()),
        };
        let (verdicts, missing) = match verdicts {
            Ok(verdicts) => (verdicts, String::new()),
            Err(error) => (Vec::new(), format!("not checked: {error}")),
        };
        let mut verdicts = verdicts.into_iter();
        for check in checks.iter_mut().filter(|check| is_open(check)) {
            match verdicts.next() {
                Some(verdict) => {
                    (check.passed, check.how) = match verdict.holds {
                        Holds::Yes => (Some(true), CheckMethod::Audited),
                        Holds::No => (Some(false), CheckMethod::Audited),
                        Holds::CannotTell => (None, CheckMethod::Unchecked),
                    };
                    check.reason = finding_text(&verdict);
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
        let sheet = self.input.tools.iter().find(|sheet| sheet.name() == READ_FILE);
        sheet.is_some_and(|sheet| {
            let decided = sheet.check(parameters).map(|call| Permissions::new(approval, rules).decide(sheet, call));
            matches!(decided, Ok(Permission::Allow(_)))
        })
    }

    /// Checks a criterion that code can check; leaves the others open.
    pub(super) async fn execute(
        &self,
        criterion: &Criterion,
        task: Option<&TaskId>,
        author: &Author,
        context: &Context,
    ) -> CriterionResult {
        let begun = Instant::now();
        let result = self.check_criterion(criterion, task, author, context).await;
        CriterionResult { duration_ms: millis_since(begun), ..result }
    }

    async fn check_criterion(&self, criterion: &Criterion, task: Option<&TaskId>, author: &Author, context: &Context) -> CriterionResult {
        let open = CriterionResult::open(criterion);
        let file = match &criterion.check {
            Check::File(file) => Some(file.clone()),
            Check::Text(text) => read_criterion(text),
            Check::Command(command) => return self.run_check(command, open, task, author, context).await,
        };
        let Some(file) = file else { return CriterionResult { reason: "not about a file".to_owned(), ..open } };
        let (passed, reason) = match file.fact {
            FileFact::Unchanged => self.check_unchanged(&file.path).await,
            FileFact::Exists | FileFact::Absent | FileFact::Contains(_) | FileFact::Matches(_) => self.check_file(&file),
        };
        let how = if passed.is_some() { CheckMethod::Executed } else { CheckMethod::Unchecked };
        CriterionResult { passed, reason, how, ..open }
    }

    /// Checks that a path is as it was when the run began.
    async fn check_unchanged(&self, path: &str) -> (Option<bool>, String) {
        let folder = &self.parts.tool_context.folder;
        if let Err(ToolError::Denied(why)) = folder.facts(path).map_err(ToolError::from) {
            return (None, why);
        }
        let known = Path::new(path);
        let within = known.strip_prefix(folder.path()).unwrap_or(known).components().filter(|part| *part != Component::CurDir);
        let within: PathBuf = within.collect();
        if !within.components().all(|part| matches!(part, Component::Normal(_))) || within.as_os_str().is_empty() {
            return (None, format!("{path} is no path within the working folder"));
        }
        match self.kept_files.since_begin(within).await {
            Some(PathComparison::Same) => (Some(true), format!("{path} is as it was when the run began")),
            Some(PathComparison::Changed) => (Some(false), format!("{path} is not as it was when the run began")),
            Some(PathComparison::NotKept(why)) => (None, format!("changes of {path} are not recorded ({})", why.describe())),
            None => (None, "changes of files are not recorded in this run".to_owned()),
        }
    }

    /// Checks a fact about a file. A path that the run may not see, such as one outside the working folder, cannot be checked.
    fn check_file(&self, FileCheck { path, fact }: &FileCheck) -> (Option<bool>, String) {
        let folder = &self.parts.tool_context.folder;
        let exists = match folder.facts(path).map_err(ToolError::from) {
            Ok(_) => true,
            Err(ToolError::Denied(why)) => return (None, why),
            Err(_) => false,
        };
        let text = match fact {
            FileFact::Exists | FileFact::Absent => {
                let found = format!("{path} {}", if exists { "exists" } else { "does not exist" });
                return (Some(exists == (*fact == FileFact::Exists)), found);
            }
            FileFact::Contains(_) | FileFact::Matches(_) | FileFact::Unchanged => match folder.read(path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) => return (Some(false), error.to_string()),
            },
        };
        let (holds, found) = match fact {
            FileFact::Matches(pattern) if pattern.is_match(&text) => (true, format!("matches /{pattern}/")),
            FileFact::Matches(pattern) => (false, format!("does not match /{pattern}/")),
            FileFact::Contains(part) if text.contains(part) => (true, format!("contains {part:?}")),
            FileFact::Contains(part) => (false, format!("does not contain {part:?}")),
            FileFact::Exists | FileFact::Absent | FileFact::Unchanged => return (None, String::new()),
        };
        (Some(holds), format!("{path} {found}"))
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
