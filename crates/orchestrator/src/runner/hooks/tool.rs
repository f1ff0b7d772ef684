//! Calls of tools, with hooks around them.

use aime_progress_management::{FileChange, FileChangeKind, Task, TaskId, TaskKind, TaskStatus};
use aime_tools::{
    Approval, Permission, Permissions, PlaceOutcome, Source, ToolContext, ToolError, ToolOutput, ToolScope, ValidatedCall, WriteGuard,
    changes_repository,
};
use serde_json::Value;

use super::{HookCaller, HookedEvent};
use crate::{
    HookPoint, RunFact,
    hooks::{HookPayload, HookToolResult},
    runner::{
        RunRunner,
        kept_files::{CHECK, author, may_change_anything},
        private::works_in_shared_folder,
    },
};

impl RunRunner {
    /// Makes one call. `call` is left as it was executed, because hooks may have changed its parameters within the
    /// `permissions` under which it was allowed. File changes of the call and of its hooks are recorded for the task.
    pub(in crate::runner) async fn call_with_hooks(
        &self,
        asking: &HookCaller,
        call: &mut ValidatedCall,
        context: ToolContext,
        permissions: Permissions<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let (task, facts, kept_files) = (asking.task.as_ref(), &asking.facts, &self.kept_files);
        let tool = call.tool().to_owned();
        let by = if asking.checks { CHECK } else { &tool };
        // Changes in a private folder are recorded when it is merged.
        let is_private = self.is_private(&context);
        let known = self.parts.tools.get(&tool).map(|known| known.spec());
        if is_private && known.is_some_and(|known| works_in_shared_folder(known)) {
            return Box::pin(self.call_in_shared_folder(asking, call, context, permissions)).await;
        }
        let mut context = if is_private { context } else { kept_files.watched(context, task, by) };
        context.protected = context.protected.for_call(self.input.settings.approval != Approval::All);
        context.model = self.model_for_tools(asking);
        let hooked = asking.at(HookPoint::BeforeTool) || asking.at(HookPoint::AfterTool);
        if is_private || !hooked && !known.is_some_and(|known| may_change_anything(known)) {
            // A merge between the reading and the writing of a file would be overwritten.
            let _in_use =
                if is_private || known.is_some_and(|known| known.read_only) { None } else { Some(kept_files.folder().act().await) };
            let result = self.call_between(asking, call, &context, permissions).await;
            kept_files.report_changes(facts).await;
            report_protected_changes(asking, &tool, &context);
            return result;
        }
        let author = author(task, by).of_actor(context.guard.as_ref().map(WriteGuard::actor));
        let window = Box::pin(kept_files.open(author, facts)).await;
        let result = self.call_between(asking, call, &context, permissions).await;
        Box::pin(kept_files.close(window, facts)).await;
        report_protected_changes(asking, &tool, &context);
        result
    }

    /// Makes the call of a tool that works in the working folder, for an actor that works in a private one: in its turn, and recorded.
    async fn call_in_shared_folder(
        &self,
        asking: &HookCaller,
        call: &mut ValidatedCall,
        context: ToolContext,
        permissions: Permissions<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let turn = match &asking.task {
            Some(task) => Some(self.turn(task, (&asking.facts, &context.cancel)).await.map_err(|_| ToolError::Cancelled)?),
            None => None,
        };
        let ToolContext { folder, originals, protected, confinement, .. } = self.parts.tool_context.clone();
        let context = ToolContext { folder, originals, protected, confinement, ..context };
        match &turn {
            Some(turn) => turn.call(self.call_with_hooks(asking, call, context, permissions)).await,
            None => self.call_with_hooks(asking, call, context, permissions).await,
        }
    }

    /// Makes the call between its hooks.
    async fn call_between(
        &self,
        asking: &HookCaller,
        call: &mut ValidatedCall,
        context: &ToolContext,
        permissions: Permissions<'_>,
    ) -> Result<ToolOutput, ToolError> {
        self.within_reach(call.tool(), context)?;
        self.alone_in_repository(asking, call, context)?;
        if !asking.at(HookPoint::BeforeTool) && !asking.at(HookPoint::AfterTool) {
            return self.parts.tools.call(call.clone(), context).await;
        }
        let private = self.is_private(context).then(|| asking.in_private_folder(context));
        let asking = private.as_ref().unwrap_or(asking);
        let asked = context.cancel.run_until_cancelled(Box::pin(self.before_tool(asking, call, permissions))).await;
        let changed_by = asked.ok_or(ToolError::Cancelled)??;
        let result = self.parts.tools.call(call.clone(), context).await;
        if matches!(result, Err(ToolError::Cancelled)) {
            return result;
        }
        let asked = context.cancel.run_until_cancelled(Box::pin(after_tool(asking, call, result))).await;
        let mut result = asked.unwrap_or(Err(ToolError::Cancelled));
        // An actor learns which parameters were really used. The result of a plan's task is input for other tasks and
        // stays unchanged.
        if let (Some(who), Ok(output), Some(_)) = (changed_by, &mut result, context.text_limit) {
            let used = Value::Object(call.parameters().clone()).to_string();
            let used: String = used.chars().take(SHOWN_CHARS).collect();
            output.text.push_str(&format!("\n[the parameters were changed by the hook {who}: {used}]"));
        }
        result
    }

    /// Refuses a command that reaches the network now if commands could not at the start of the run. The settings from
    /// the start decided which calls need no consent.
    fn within_reach(&self, tool: &str, context: &ToolContext) -> Result<(), ToolError> {
        let runs = self
            .parts
            .tools
            .get(tool)
            .is_some_and(|known| known.spec().touches == ToolScope::Processes && known.spec().source == Source::Touched);
        let unforeseen = self.input.settings.trust.as_ref().is_some_and(|trust| !trust.commands_reach_network);
        if runs && unforeseen && context.confinement.reaches_network() {
            return Err(ToolError::Denied(
                "commands reach the network now, and did not when this run began: start a new run, or take the network away again"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Refuses a command that changes the state of the repository while other tasks that may write work in the same folder.
    fn alone_in_repository(&self, asking: &HookCaller, call: &ValidatedCall, context: &ToolContext) -> Result<(), ToolError> {
        let command = call.parameters().get("command").and_then(Value::as_str).filter(|_| call.tool() == "bash");
        let Some(command) = command.and_then(changes_repository).filter(|_| !self.kept_files.is_transient() && !self.is_private(context))
        else {
            return Ok(());
        };
        let others = self.other_writers(asking.task.as_ref());
        if others.is_empty() {
            return Ok(());
        }
        let others = others.iter().map(|task| format!("`{task}`")).collect::<Vec<_>>().join(", ");
        Err(ToolError::NotBegun(format!(
            "not run: `{command}` changes the branch, the index, the stash or the files of the repository, and other tasks work in the same folder now: {others}. Look with git status, git diff or git log, and leave such a change to a task that runs after them"
        )))
    }

    /// Returns whether a call works in a private folder.
    fn is_private(&self, context: &ToolContext) -> bool {
        context.working_folder() != self.parts.tool_context.working_folder()
    }

    /// Returns whether a tool may change files.
    pub(in crate::runner) fn tool_writes(&self, tool: &str) -> bool {
        self.parts.tools.get(tool).is_none_or(|tool| !tool.spec().read_only && tool.spec().touches != ToolScope::Nothing)
    }

    /// Returns the tasks in progress that may change files of the folder, except `task` and those that wait for it.
    fn other_writers(&self, task: Option<&TaskId>) -> Vec<TaskId> {
        let Some(state) = self.live.get(&self.run) else { return Vec::new() };
        let mut waiting: Vec<&str> = Vec::new();
        let mut next = task.map(TaskId::as_str);
        while let Some(task) = next.filter(|task| !waiting.contains(task)) {
            waiting.push(task);
            let known = state.tasks.iter().find(|(id, _)| id.as_str() == task);
            next = known.and_then(|(_, known)| known.claimed_by.as_deref()?.split('/').next());
        }
        let writes = |tool: &str| self.tool_writes(tool);
        let may_write = |known: &Task| match known.spec.kind {
            TaskKind::Group => false,
            TaskKind::Tool => known.spec.tool.as_deref().is_none_or(writes),
            TaskKind::Actor => known.actor.as_ref().is_none_or(|actor| {
                let outside = |tool: &&String| self.parts.tools.get(tool).is_some_and(|tool| !tool.spec().handled_by.is_inside());
                actor.tools.iter().filter(outside).any(|tool| writes(tool))
            }),
        };
        let others = state
            .tasks
            .iter()
            .filter(|(id, known)| known.status == TaskStatus::Running && !waiting.contains(&id.as_str()) && may_write(known));
        others.map(|(id, _)| id.clone()).collect()
    }

    /// Calls the hooks before a tool call. Returns the names of the hooks that changed the parameters, if any. A
    /// changed call is validated, and decided by its own parameters under the permissions of the original one.
    async fn before_tool(
        &self,
        asking: &HookCaller,
        call: &mut ValidatedCall,
        permissions: Permissions<'_>,
    ) -> Result<Option<String>, ToolError> {
        if !asking.at(HookPoint::BeforeTool) {
            return Ok(None);
        }
        let payload = HookPayload::of_call(call.tool(), call.parameters(), None);
        let HookedEvent { payload, changed_by } = asking.ask(HookPoint::BeforeTool, payload).await.map_err(ToolError::Denied)?;
        let Some(who) = &changed_by else { return Ok(None) };
        let changed = payload.into_parameters(call.parameters().clone());
        let tool_spec = self.parts.tools.spec(call.tool())?;
        let checked = tool_spec.check(changed).map_err(|error| {
            ToolError::InvalidParameters(format!("the hook {who} changed the parameters so that they do not fit: {error}"))
        })?;
        let shown = Value::Object(checked.parameters().clone());
        // A person who was asked has consented to the original call only, and a hook cannot give consent in a person's place.
        let Permission::Allow(allowed) = permissions.decide(tool_spec, checked) else {
            return Err(ToolError::Denied(format!(
                "the hook {who} changed a call that needs a person's consent, and a changed call has none; make the call in the way that the hook wants: {shown}"
            )));
        };
        *call = allowed;
        Ok(changed_by)
    }
}

/// Reports to the run the changes that a call made to files that are executed later.
pub(in crate::runner) fn report_protected_changes(asking: &HookCaller, tool: &str, context: &ToolContext) {
    for change in context.protected.take_changes() {
        let did = match &change.outcome {
            PlaceOutcome::PutBack | PlaceOutcome::Reopened => FileChangeKind::PutBack,
            PlaceOutcome::Failed { .. } => FileChangeKind::NotPutBack,
            PlaceOutcome::Stays | PlaceOutcome::NotWatched => change.did,
        };
        let (added, removed, diff) = (0, 0, String::new());
        let change = FileChange { task: asking.task.clone(), tool: tool.to_owned(), path: change.path, did, added, removed, diff };
        // Sending fails only if the run is gone, and then nobody needs the report.
        let _gone = asking.facts.send(RunFact::FileChanged { change });
    }
}

/// Maximum number of characters of changed parameters in the report to an actor.
const SHOWN_CHARS: usize = 500;

/// Calls the hooks after a tool call: they may change the text or withhold the result.
async fn after_tool(asking: &HookCaller, call: &ValidatedCall, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
    if !asking.at(HookPoint::AfterTool) {
        return result;
    }
    let (ok, text) = match &result {
        Ok(output) => (true, output.text.clone()),
        // A hook sees and changes the printed output; how the program ended stays the same.
        Err(ToolError::Exited { printed, .. } | ToolError::Stopped { printed, .. }) => (false, printed.clone()),
        Err(error) => (false, error.to_string()),
    };
    let payload = HookPayload::of_call(call.tool(), call.parameters(), Some(HookToolResult { ok, text }));
    // The call has taken effect and did not fail for lack of permission, so the block allows another attempt.
    let HookedEvent { payload, changed_by } = asking.ask(HookPoint::AfterTool, payload).await.map_err(ToolError::Failed)?;
    match (changed_by, payload, result) {
        (Some(_), HookPayload::Tool { result: Some(HookToolResult { text, .. }), .. }, Ok(output)) => Ok(with_text(output, text)),
        (Some(_), HookPayload::Tool { result: Some(HookToolResult { text, .. }), .. }, Err(ToolError::Failed(_))) => {
            Err(ToolError::Failed(text))
        }
        (Some(_), HookPayload::Tool { result: Some(HookToolResult { text: printed, .. }), .. }, Err(ToolError::Exited { code, .. })) => {
            Err(ToolError::Exited { code, printed })
        }
        (
            Some(_),
            HookPayload::Tool { result: Some(HookToolResult { text: printed, .. }), .. },
            Err(ToolError::Stopped { reason, timed_out, .. }),
        ) => Err(ToolError::Stopped { reason, printed, timed_out }),
        (_, _, result) => result,
    }
}

/// Returns a result with another text. Its value and its images could still hold what the hook has taken out of the text.
fn with_text(output: ToolOutput, text: String) -> ToolOutput {
    if text == output.text {
        return output;
    }
    let value = serde_json::from_str(&text).unwrap_or_default();
    ToolOutput { text, value, images: Vec::new(), ..output }
}

#[cfg(test)]
mod tests {
    use aime_llm::Image;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_changed_text_replaces_the_whole_result() {
        let image = Image::from_base64("a", "R0lGODlhBQADAAAAAA==").unwrap();
        let given =
            || ToolOutput { text: "key".to_owned(), value: json!({"key": 1}), images: vec![image.clone()], ..ToolOutput::default() };
        for (text, value) in [("no key", Value::Null), ("{\"no\": 1}", json!({"no": 1}))] {
            let changed = with_text(given(), text.to_owned());
            assert_eq!((changed.text.as_str(), changed.value, changed.images.len()), (text, value, 0));
        }
        assert_eq!(with_text(given(), "key".to_owned()), given());
    }
}
