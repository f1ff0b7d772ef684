//! Tool calls as a client shows them.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    Diff, PermissionOption, PermissionOptionKind, RequestPermissionRequest, SessionId, SessionUpdate, ToolCall, ToolCallContent,
    ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use aime_orchestrator::HumanQuestion;
use aime_progress_management::{CallOutcome, FileChange, FileChangeKind, QuestionId, TaskId};
use aime_tools::offers_always;
use serde_json::{Map, Value};

use super::{Updates, first_line};

/// Tools by which actors report progress and end their work. They are shown as the plan, messages and status instead
/// of calls.
const UNSEEN: [&str; 5] = ["todo", "update_progress", "report_evidence", "ask_human", "terminate"];
/// First character of the last line of a truncated diff.
const CUT: char = '…';

/// A tool call, unique in the run. A question for consent to a call has the name of the call with other dashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallId(String);

impl CallId {
    fn of_call(call: &str) -> Self {
        Self(call.replace('/', "-"))
    }

    pub(super) fn of_question(id: &QuestionId) -> Self {
        Self(id.to_string())
    }
}

impl From<&CallId> for ToolCallId {
    fn from(id: &CallId) -> Self {
        Self::new(id.0.as_str())
    }
}

/// Returns the request for consent to a call.
pub(super) fn permission(session: &SessionId, id: CallId, question: &HumanQuestion) -> RequestPermissionRequest {
    let text = question.text.to_string();
    let mut options = vec![PermissionOption::new("yes", "Allow", PermissionOptionKind::AllowOnce)];
    if offers_always(&text) {
        options.push(PermissionOption::new("always", "Always allow", PermissionOptionKind::AllowAlways));
    }
    options.push(PermissionOption::new("no", "Reject", PermissionOptionKind::RejectOnce));
    let fields =
        ToolCallUpdateFields::new().title(first_line(&text)).status(ToolCallStatus::Pending).content(vec![ToolCallContent::from(text)]);
    RequestPermissionRequest::new(session.clone(), ToolCallUpdate::new(ToolCallId::from(&id), fields), options)
}

impl Updates {
    pub(super) fn started(
        &mut self,
        task: Option<&TaskId>,
        call: &str,
        tool: &str,
        parameters: &Map<String, Value>,
    ) -> Option<SessionUpdate> {
        if UNSEEN.contains(&tool) {
            return None;
        }
        let id = CallId::of_call(call);
        self.last.insert((task.cloned(), tool.to_owned()), id.clone());
        let text = |name: &str| parameters.get(name).and_then(Value::as_str);
        let diffs = self.diffs(tool, parameters);
        if !diffs.is_empty() {
            self.with_diff.insert(id.clone());
        }
        let several = parameters.get("paths").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let locations = text("path").into_iter().chain(several).map(|path| ToolCallLocation::new(self.folder.join(path)));
        let shown = ToolCall::new(ToolCallId::from(&id), title(tool, parameters))
            .kind(kind(tool))
            .status(ToolCallStatus::InProgress)
            .locations(locations.collect())
            .content(diffs.into_iter().map(ToolCallContent::Diff).collect())
            .raw_input(Value::Object(parameters.clone()));
        // A client that was asked for consent has the call already.
        Some(if self.consent_calls.remove(&id) { SessionUpdate::ToolCallUpdate(shown.into()) } else { SessionUpdate::ToolCall(shown) })
    }

    /// Returns the changes that a call will make.
    fn diffs(&self, tool: &str, parameters: &Map<String, Value>) -> Vec<Diff> {
        let Some(path) = parameters.get("path").and_then(Value::as_str).map(|path| self.folder.join(path)) else { return Vec::new() };
        let text = |edit: &Map<String, Value>, name: &str| edit.get(name).and_then(Value::as_str).map(str::to_owned);
        match tool {
            "write_file" => text(parameters, "content").map(|content| Diff::new(path, content)).into_iter().collect(),
            "edit_file" => {
                let several = parameters.get("edits").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
                let edits = std::iter::once(parameters).chain(several);
                let diff = |edit| Some(Diff::new(path.clone(), text(edit, "new_text")?).old_text(text(edit, "old_text")?));
                edits.filter_map(diff).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn finished(&mut self, call: &str, tool: &str, outcome: CallOutcome, output: &str) -> Option<SessionUpdate> {
        if UNSEEN.contains(&tool) {
            return None;
        }
        let id = CallId::of_call(call);
        let good = outcome == CallOutcome::Ok;
        let mut fields = ToolCallUpdateFields::new().status(if good { ToolCallStatus::Completed } else { ToolCallStatus::Failed });
        fields.raw_output = Some(Value::from(output));
        // The change says more than that it was made.
        let shows_diff = good && self.with_diff.contains(&id);
        if !shows_diff && !output.trim().is_empty() {
            fields.content = Some(vec![ToolCallContent::from(fenced(tool, output))]);
        }
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(ToolCallId::from(&id), fields)))
    }

    /// Returns the exact diff of a file tool, which replaces the content of its call.
    pub(super) fn changed(&mut self, change: &FileChange) -> Option<SessionUpdate> {
        let id = self.last.get(&(change.task.clone(), change.tool.clone()))?.clone();
        let path = self.folder.join(&change.path);
        let diffs = diffs(&path, change)?;
        self.with_diff.insert(id.clone());
        let fields = ToolCallUpdateFields::new().content(diffs).locations(vec![ToolCallLocation::new(path)]);
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(ToolCallId::from(&id), fields)))
    }
}

/// Returns the changed parts of a file; `None` if the journal does not have all of them.
fn diffs(path: &Path, change: &FileChange) -> Option<Vec<ToolCallContent>> {
    let lines: Vec<&str> = change.diff.lines().collect();
    if lines.is_empty() || lines.last().is_some_and(|line| line.starts_with(CUT)) {
        return None;
    }
    let mut parts = Vec::new();
    for line in lines {
        if line.starts_with("@@") {
            parts.push((String::new(), String::new()));
            continue;
        }
        let (old, new) = parts.last_mut()?;
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        for (side, other) in [(old, "+"), (new, "-")] {
            if sign != other {
                side.push_str(rest);
                side.push('\n');
            }
        }
    }
    let created = change.did == FileChangeKind::Created;
    let diff = |(old, new): (String, String)| {
        let diff = Diff::new(path, new);
        ToolCallContent::Diff(if created { diff } else { diff.old_text(old) })
    };
    Some(parts.into_iter().map(diff).collect())
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" | "list_dir" | "load_skill" => ToolKind::Read,
        "write_file" | "edit_file" | "apply_patch" | "undo_task" => ToolKind::Edit,
        "grep" | "glob" => ToolKind::Search,
        "bash" | "bash_output" | "bash_kill" | "python" => ToolKind::Execute,
        "web_fetch" | "web_search" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// Returns the tool and its parameters on one line.
fn title(tool: &str, parameters: &Map<String, Value>) -> String {
    let named = ["path", "command", "pattern", "url", "query", "name", "description", "id"];
    let first_of_several = || parameters.get("paths")?.get(0)?.as_str();
    let named = named.iter().find_map(|name| parameters.get(*name)?.as_str()).or_else(first_of_several);
    match named {
        Some(text) if tool == "bash" => format!("`{}`", first_line(text)),
        Some(text) => format!("{tool} {}", first_line(text)),
        None => tool.to_owned(),
    }
}

/// Returns the output of a command unchanged, inside a code fence.
fn fenced(tool: &str, output: &str) -> String {
    if kind(tool) != ToolKind::Execute {
        return output.to_owned();
    }
    // A fence that is longer than any in the text.
    let longest = output.split(|sign| sign != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", output.trim_end())
}
