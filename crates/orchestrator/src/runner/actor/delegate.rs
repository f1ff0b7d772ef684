//! Actors created by other actors: their start, and the results that their callers receive.

use std::sync::Arc;

use aime_actor_factory::{ActorInput, Delegated};
use aime_messages::Message;
use aime_progress_management::{CallOutcome, Conclusion, Origin, Outcome, Task, TaskId, TaskKind, TaskSpec, TaskStatus};
use aime_tools::{DelegateTask, ToolOutput, cut_output};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Attempt, NewActor, ended};
use crate::RunFact;

impl Attempt {
    /// Delegates a part of the work to another actor, or continues with the one that already does it. The other actor's
    /// result becomes the result of the call. If that actor failed or could not be created, the call returns an error
    /// and the caller continues. The result includes the origins of what the other actor has read.
    pub(super) async fn delegate(
        self: &Arc<Self>,
        by: &ActorInput,
        call: &str,
        (request, origins): (&DelegateTask, &[Origin]),
        cancel: &CancellationToken,
    ) -> (CallOutcome, ToolOutput, Vec<Origin>) {
        match self.claimable(call, request) {
            Ok(Some(task)) => {
                let claimed = cancel.run_until_cancelled(self.claim(task, call, request)).await;
                return claimed.unwrap_or_else(|| (CallOutcome::Cancelled, ToolOutput::default(), Vec::new()));
            }
            Ok(None) => {}
            Err(text) => return (CallOutcome::Error, ToolOutput::text(text), Vec::new()),
        }
        let made = Box::pin(self.compose_below(by, call, request, origins));
        let ended = Box::pin(self.act(Some(call), None, cancel, made)).await.and_then(ended);
        match ended {
            Ok(conclusion) => {
                let (outcome, output) = delegation_result(&conclusion, self.runner.parts.tool_context.text_limit);
                (outcome, output, conclusion.origins)
            }
            Err(reason) => (CallOutcome::Error, ToolOutput::text(reason.to_string()), Vec::new()),
        }
    }

    /// Returns the task of the plan that a call takes over: a task that nobody has started, or that this call took over
    /// earlier. A task in progress is the context of the delegated work and is not taken over.
    fn claimable(&self, call: &str, request: &DelegateTask) -> Result<Option<TaskId>, String> {
        let Some(named) = self.framing(request)?.filter(|named| named.id != self.task) else { return Ok(None) };
        let Some(state) = self.runner.live.get(&self.runner.run) else { return Err("the run is over".to_owned()) };
        let Some(task) = state.tasks.get(&named.id) else { return Ok(None) };
        let claimed = task.claimed_by.as_deref() == Some(call);
        match task.status {
            _ if claimed => {}
            // A completed task answers the call at once with its result.
            TaskStatus::Ready | TaskStatus::Completed => {}
            TaskStatus::Running => return Ok(None),
            TaskStatus::Pending => return Err(format!("the task `{}` cannot start yet: it waits for other tasks of the plan", named.id)),
            status => return Err(format!("the task `{}` is {status}: {}", named.id, ending(task))),
        }
        if named.kind == TaskKind::Group {
            return Err(format!("the task `{}` is a group: name one of its tasks", named.id));
        }
        if let Some(profile) = request.profile.as_deref().filter(|profile| self.runner.parts.actors.profiles().get(profile).is_none()) {
            let known = self.runner.parts.actors.profiles().iter().map(|known| format!("`{}`", known.name)).collect::<Vec<_>>();
            return Err(format!("there is no profile `{profile}`; the profiles are: {}", known.join(", ")));
        }
        Ok(Some(named.id.clone()))
    }

    /// Takes over a task of the plan and waits until the run has settled it.
    async fn claim(&self, task: TaskId, call: &str, request: &DelegateTask) -> (CallOutcome, ToolOutput, Vec<Origin>) {
        let (by, call, words) = (self.task.clone(), call.to_owned(), request.description.clone());
        let fact = RunFact::TaskClaimed { task: task.clone(), by, call, words, profile: request.profile.clone() };
        // If the run is gone, it revokes the call.
        let _gone = self.facts.send(fact);
        let settled = || {
            let state = self.runner.live.get(&self.runner.run)?;
            let Some(known) = state.tasks.get(&task) else { return Some(Err(format!("the task `{task}` was taken out of the plan"))) };
            match known.status {
                TaskStatus::Completed => Some(Ok(known.conclusion.clone()?)),
                TaskStatus::Failed if !known.failed_for_good => None,
                status if status.is_settled() || status == TaskStatus::Blocked => {
                    Some(Err(format!("the task `{task}` is {status}: {}", ending(known))))
                }
                _ => None,
            }
        };
        match self.runner.words.until(settled).await {
            Ok(conclusion) => {
                let (outcome, output) = delegation_result(&conclusion, self.runner.parts.tool_context.text_limit);
                (outcome, output, conclusion.origins)
            }
            Err(reason) => (CallOutcome::Error, ToolOutput::text(reason.to_string()), Vec::new()),
        }
    }

    /// Creates an actor below another one, after checking every bound on delegation.
    pub(super) async fn compose_below(
        &self,
        by: &ActorInput,
        call: &str,
        request: &DelegateTask,
        origins: &[Origin],
    ) -> Result<NewActor, Message> {
        let framing = self.framing(request)?;
        let mut spec = TaskSpec::actor(self.task.clone(), request.description.clone());
        let framed = framing.as_ref().unwrap_or(&self.brief.spec);
        spec.bundles.clone_from(&framed.bundles);
        spec.denied_tools.clone_from(&framed.denied_tools);
        spec.skills.clone_from(&framed.skills);
        let frame = framing.as_deref().map(frame).unwrap_or_default();
        let own = (!request.use_actor_factory).then_some(by.spec.profile.as_str());
        let profile = request.profile.as_deref().or(own);
        let mut all = self.origins.clone();
        Origin::merge(&mut all, origins);
        let made = self.compose(&spec, "", Some(Delegated { caller: by, call, profile, frame: &frame }), &all).await?;
        self.runner.budget.count_actor().map_err(|error| Message::text(format!("{error}: no other actor can be made; do it yourself")))?;
        Ok(made)
    }

    /// Returns the task of the plan that the call names.
    fn framing(&self, request: &DelegateTask) -> Result<Option<Arc<TaskSpec>>, String> {
        let plan = self.brief.plan_id.as_str();
        if let Some(named) = request.plan.as_deref().filter(|named| *named != plan) {
            return Err(format!("there is no plan `{named}` here: the plan of this run is `{plan}`"));
        }
        let Some(named) = &request.task else { return Ok(None) };
        let Some(state) = self.runner.live.get(&self.runner.run) else { return Err("the run is over".to_owned()) };
        let found = state.tasks.values().find(|task| task.spec.id.as_str() == named);
        let tasks = || state.tasks.keys().map(|task| format!("`{task}`")).collect::<Vec<_>>().join(", ");
        found.map(|task| Some(Arc::clone(&task.spec))).ok_or_else(|| format!("the plan has no task `{named}`: its tasks are {}", tasks()))
    }
}

/// Returns the result of a delegated actor for its caller, with at most `text_limit` bytes of text. The result is an
/// error if the actor did not succeed.
#[must_use]
pub fn delegation_result(conclusion: &Conclusion, text_limit: Option<usize>) -> (CallOutcome, ToolOutput) {
    let (status, text) = match conclusion.outcome {
        Outcome::Success => ("success", conclusion.text().to_owned()),
        Outcome::Failure | Outcome::InDoubt => {
            let error = conclusion.explanation();
            let words = conclusion.text.as_ref().map(|text| format!("\n{text}")).unwrap_or_default();
            ("failure", format!("{error}{words}"))
        }
        Outcome::Interrupted => ("failure", "it was stopped".to_owned()),
    };
    let references = conclusion.references.clone();
    let made = if references.is_empty() { String::new() } else { format!("\nReferences: {}", references.join(", ")) };
    let text = cut_output(&text, text_limit.unwrap_or(usize::MAX), None).into_owned();
    let value = json!({"status": status, "summary": conclusion.summary, "references": references});
    let output = ToolOutput { text: format!("{status}: {text}{made}"), value, references, ..ToolOutput::default() };
    (if conclusion.outcome == Outcome::Success { CallOutcome::Ok } else { CallOutcome::Error }, output)
}

/// Returns the reason for the status of a task, or its result.
fn ending(task: &Task) -> String {
    let concluded = task.conclusion.as_ref();
    let error = concluded.and_then(|conclusion| conclusion.error.clone()).or_else(|| task.reason.clone());
    error.map(String::from).or_else(|| concluded.map(|conclusion| conclusion.text().to_owned())).unwrap_or_default()
}

/// Describes a task of the plan to an actor that does a part of it.
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
