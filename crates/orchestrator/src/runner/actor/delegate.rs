//! Actors that other actors have made: how they begin, and what the one that called is told.

use std::sync::Arc;

use aime_actors::{ActorInput, Delegated};
use aime_progress::{CallOutcome, Conclusion, Origin, Outcome, TaskSpec};
use aime_tools::{DelegateTask, ToolOutput, cut_output};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Attempt, Made};

impl Attempt {
    /// Has another actor do a part of the work, or goes on with the one that does it. What it comes to is the result of the call; that it
    /// failed, or could not be made, is an error that the one that called goes on from. With it comes what the other has read.
    pub(super) async fn delegate(
        self: &Arc<Self>,
        by: &ActorInput,
        call: &str,
        (request, origins): (&DelegateTask, &[Origin]),
        cancel: &CancellationToken,
    ) -> (CallOutcome, ToolOutput, Vec<Origin>) {
        let ended = self.act(Some(call), cancel, || self.compose_below(by, call, request, origins)).await;
        match ended {
            Ok(conclusion) => {
                let (outcome, output) = delegated(&conclusion, self.runner.parts.tool_context.text_limit);
                (outcome, output, conclusion.origins)
            }
            Err(text) => (CallOutcome::Error, ToolOutput::text(text), Vec::new()),
        }
    }

    /// Makes an actor below another one, after everything was looked at that bounds it.
    pub(super) fn compose_below(&self, by: &ActorInput, call: &str, request: &DelegateTask, origins: &[Origin]) -> Result<Made, String> {
        let framing = self.framing(request)?;
        let mut spec = TaskSpec::actor(self.task.clone(), request.description.clone());
        spec.bundles.clone_from(&framing.as_ref().unwrap_or(&self.brief.spec).bundles);
        let frame = framing.as_ref().map(frame).unwrap_or_default();
        let own = (!request.use_actor_factory).then_some(by.spec.profile.as_str());
        let profile = request.profile.as_deref().or(own);
        let mut all = self.origins.clone();
        Origin::merge(&mut all, origins);
        let made = self.compose(&spec, "", Some(Delegated { by, call, profile, frame: &frame }), &all)?;
        self.runner.budget.count_actor().map_err(|error| format!("{error}: no other actor can be made; do it yourself"))?;
        Ok(made)
    }

    /// The task of the plan that the call names.
    fn framing(&self, request: &DelegateTask) -> Result<Option<TaskSpec>, String> {
        let plan = self.brief.plan_id.as_str();
        if let Some(named) = request.plan.as_deref().filter(|named| *named != plan) {
            return Err(format!("there is no plan `{named}` here: the plan of this run is `{plan}`"));
        }
        let Some(named) = &request.task else { return Ok(None) };
        let Some(state) = self.runner.live.get(&self.runner.run) else { return Err("the run is over".to_owned()) };
        let found = state.tasks.values().find(|task| task.spec.id.as_str() == named);
        let tasks = || state.tasks.keys().map(|task| format!("`{task}`")).collect::<Vec<_>>().join(", ");
        found.map(|task| Some(task.spec.clone())).ok_or_else(|| format!("the plan has no task `{named}`: its tasks are {}", tasks()))
    }
}

/// Returns the result of a delegated actor as its caller sees it, with at most `text_limit` bytes of text. It is an error where the actor did
/// not succeed.
#[must_use]
pub fn delegated(conclusion: &Conclusion, text_limit: Option<usize>) -> (CallOutcome, ToolOutput) {
    let (status, said) = match conclusion.outcome {
        Outcome::Success => ("success", conclusion.text().to_owned()),
        Outcome::Failure | Outcome::InDoubt => {
            let error = conclusion.error.as_ref().unwrap_or(&conclusion.summary);
            let words = conclusion.text.as_ref().map(|text| format!("\n{text}")).unwrap_or_default();
            ("failure", format!("{error}{words}"))
        }
        Outcome::Interrupted => ("failure", "it was stopped".to_owned()),
    };
    let references = conclusion.references.clone();
    let made = if references.is_empty() { String::new() } else { format!("\nReferences: {}", references.join(", ")) };
    let said = cut_output(&said, text_limit.unwrap_or(usize::MAX), None).into_owned();
    let value = json!({"status": status, "summary": conclusion.summary, "references": references});
    let output = ToolOutput { text: format!("{status}: {said}{made}"), value, references, ..ToolOutput::default() };
    (if conclusion.outcome == Outcome::Success { CallOutcome::Ok } else { CallOutcome::Error }, output)
}

/// A task of the plan, for an actor that does a part of it.
fn frame(task: &TaskSpec) -> String {
    let mut lines = vec![task.title().to_owned()];
    if task.description != task.title() {
        lines.push(task.description.clone());
    }
    if !task.completion_criteria.is_empty() {
        lines.push("It is done when:".to_owned());
        lines.extend(task.completion_criteria.iter().map(|criterion| format!("- {criterion}")));
    }
    lines.join("\n")
}
