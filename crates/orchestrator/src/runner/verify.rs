//! Criteria against evidence: files are looked at, the rest is put to a model that sees what happened and not only what is claimed.

use std::time::Instant;

use aime_durable::EffectId;
use aime_planner::verdict;
use aime_progress::{ProgressState, TaskStatus};
use aime_tools::ToolError;

use super::{Context, RunRunner, plan::model_use};
use crate::{CriterionResult, FileCriterion, RunFact, read_criterion};

/// How much of each task's result a verifier reads, in characters.
const EVIDENCE_CHARS: usize = 1_500;

impl RunRunner {
    pub(super) async fn verify(&self, id: EffectId, state: &ProgressState, context: &Context) -> RunFact {
        let begun = Instant::now();
        let criteria = &state.strategic.success_criteria;
        let mut checks = self.check_files(criteria);
        let open: Vec<String> = checks.iter().filter(|check| check.passed.is_none()).map(|check| check.criterion.clone()).collect();
        let mut calls = Vec::new();
        if let (false, Some(model)) = (open.is_empty(), self.model("planner", context)) {
            match verdict(model.as_ref(), &self.parts.tiers, &self.parts.prompts, &state.goal, &open, &evidence(state)).await {
                Ok(judged) => {
                    calls.push(model_use("verdict", &judged.model, judged.spent, begun));
                    for check in checks.iter_mut().filter(|check| check.passed.is_none()) {
                        check.passed = Some(judged.verdict.passed);
                        check.reason.clone_from(&judged.verdict.reason);
                    }
                }
                Err(error) => {
                    for check in checks.iter_mut().filter(|check| check.passed.is_none()) {
                        check.reason = format!("not checked: {error}");
                    }
                }
            }
        }
        RunFact::Verified { id, checks, calls }
    }

    /// Looks at the criteria that speak of files; leaves the others open.
    pub(super) fn check_files(&self, criteria: &[String]) -> Vec<CriterionResult> {
        criteria
            .iter()
            .map(|criterion| {
                let (passed, reason) = match read_criterion(criterion) {
                    Some(file) => self.check_file(&file),
                    None => (None, "not about a file".to_owned()),
                };
                CriterionResult { criterion: criterion.clone(), passed, reason }
            })
            .collect()
    }

    /// Looks at a file. What the run may not see, such as a path outside of the working folder, it cannot tell anything of.
    fn check_file(&self, criterion: &FileCriterion) -> (Option<bool>, String) {
        let folder = &self.parts.tool_context.folder;
        let (FileCriterion::Exists(path) | FileCriterion::Absent(path) | FileCriterion::Contains { path, .. }) = criterion;
        let exists = match folder.facts(path).map_err(ToolError::from) {
            Ok(_) => true,
            Err(ToolError::Denied(why)) => return (None, why),
            Err(_) => false,
        };
        let FileCriterion::Contains { text, .. } = criterion else {
            let wanted = matches!(criterion, FileCriterion::Exists(_));
            return (Some(exists == wanted), format!("{path} {}", if exists { "exists" } else { "does not exist" }));
        };
        match folder.read(path) {
            Ok(bytes) => {
                let holds = String::from_utf8_lossy(&bytes).contains(text);
                (Some(holds), format!("{path} {} {text:?}", if holds { "contains" } else { "does not contain" }))
            }
            Err(error) => (Some(false), error.to_string()),
        }
    }
}

/// What happened, for a verifier: results, references, failures.
pub(super) fn evidence(state: &ProgressState) -> String {
    let mut lines = Vec::new();
    for task in state.tasks.values() {
        let Some(conclusion) = &task.conclusion else {
            lines.push(format!("- {} ({})", task.spec.title(), task.status));
            continue;
        };
        let text = match task.status {
            TaskStatus::Completed => conclusion.text.as_ref().unwrap_or(&conclusion.summary),
            _ => conclusion.error.as_ref().unwrap_or(&conclusion.summary),
        };
        let text: String = text.chars().take(EVIDENCE_CHARS).collect();
        lines.push(format!("- {} ({}): {text}", task.spec.title(), task.status));
        if !conclusion.references.is_empty() {
            lines.push(format!("  made: {}", conclusion.references.join(", ")));
        }
    }
    lines.join("\n")
}
