//! One turn: the calls of one answer and the order in which they begin.

use aime_durable::EffectId;
use aime_llm::{Image, ToolCall, read_arguments};
use aime_progress_management::{CallOutcome, LeadCommand, Origin, QuestionId};
use aime_tools::{CheckedCall, DELEGATE_TASK, Executor, OpenCall, ToolSpec, VERDICT, ValidatedCall};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::QuestionKind;
use crate::{ActorSpec, history::waits_for_others};

/// Tool that ends an actor.
pub(super) const TERMINATE: &str = "terminate";

/// Returns true for a tool whose call ends the actor.
pub(super) fn is_end(tool: &str) -> bool {
    [TERMINATE, VERDICT].contains(&tool)
}

/// Tool that replaces the TODO list.
pub(super) const TODO: &str = "todo";
/// Tool that reports progress.
pub(super) const UPDATE_PROGRESS: &str = "update_progress";

/// Parameters that hold the content a tool writes into a file.
const CONTENT: [&str; 2] = ["content", "new_text"];

const CUT_OFF: &str = "Error: cut by the length limit; ask for less at once";

/// Calls of one answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// Number of the request that they answer; part of effect ids.
    pub(super) number: u32,
    pub(super) calls: Vec<Call>,
    /// True if no call changes anything, so that they may run concurrently.
    pub(super) parallel: bool,
    /// True if a call ended abnormally, so that later calls of the turn do not run.
    pub(super) broken: bool,
}

/// Call with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// Arguments as the history holds them.
    arguments: String,
    pub(super) parameters: Map<String, Value>,
    /// Reason why the call cannot run.
    pub(super) fault: Option<String>,
    /// Progress of the call before it runs.
    pub(super) way: Option<CallProgress>,
    /// Number of times that the call was handed to a person or another actor. Each time is its own effect.
    pub(super) handed_on: u32,
    /// True if its start was reported.
    pub(super) started: bool,
    /// Origin of its result, once an outside source has given one.
    #[serde(default)]
    pub(super) origin: Option<Origin>,
    /// Images of its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Image>,
    /// End of its output, if it was cut off by a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) printed: Option<String>,
    /// True if it ran a program that exited with a code other than 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) exited: bool,
    /// True if it was not permitted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) denied: bool,
    /// True if it was not tried, because of a call before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) skipped: bool,
    pub(super) state: CallState,
}

/// Progress of a call before it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallProgress {
    /// Its arguments were parsed and checked.
    Checked(CheckedCall),
    /// A person is asked for consent.
    Asked(OpenCall),
    /// It may be made.
    Allowed(ValidatedCall),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum CallState {
    Waiting,
    Asking {
        effect: EffectId,
        question: QuestionId,
        kind: QuestionKind,
    },
    Delegated {
        effect: EffectId,
    },
    Running {
        effect: EffectId,
    },
    /// Accepted call of a plan tool, which the run carries out: the next wake is its result.
    Accepted {
        command: Box<LeadCommand>,
    },
    Done {
        text: String,
        outcome: CallOutcome,
    },
}

impl Call {
    /// Returns true if the call succeeded and its parameters name the file, given in lower case. Progress reports and file contents do not
    /// count: a call that writes "a copy of notes.txt" has not read that file.
    pub(super) fn has_named(&self, file: &str) -> bool {
        let about = [TERMINATE, TODO, UPDATE_PROGRESS].contains(&self.name.as_str());
        let succeeded = matches!(self.state, CallState::Done { outcome: CallOutcome::Ok, .. });
        let mut named =
            self.parameters.iter().filter(|(name, _)| !CONTENT.contains(&name.as_str())).map(|(_, value)| value.to_string().to_lowercase());
        !about && succeeded && named.any(|value| value.contains(file))
    }

    /// Returns true if the call writes given text into a file. Its result contains no new information about the world.
    pub(super) fn writes(&self) -> bool {
        CONTENT.iter().any(|name| self.parameters.contains_key(*name))
    }

    /// Returns the file that the call names. Two calls with different ones may still mean the same file, by an absolute path or a link.
    pub(super) fn file(&self) -> Option<&str> {
        self.parameters.get("path").and_then(Value::as_str).map(|path| path.trim_start_matches("./"))
    }

    fn new(call: ToolCall, cut_off: bool, spec: &ActorSpec) -> Self {
        let tool_spec = spec.tool(&call.name);
        let read = read_arguments(&call.arguments, tool_spec.map(|tool| tool.definition.parameters.as_ref()));
        let strict = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
        let (parameters, checked) = match (tool_spec, read) {
            (None, read) => {
                let unknown = format!("Unknown tool: {}. Available: {}", call.name, spec.tool_names().join(", "));
                (read.unwrap_or_default(), Err(unknown))
            }
            (Some(_), Err(error)) => (Map::new(), Err(format!("Error: {error}"))),
            (Some(tool_spec), Ok(parameters)) => {
                let checked = tool_spec.check_read(parameters.clone());
                (parameters, checked.map_err(|error| format!("Error: {error}")))
            }
        };
        let checked = if cut_off { Err(CUT_OFF.to_owned()) } else { checked };
        // Servers read the history too, and some refuse arguments that are not JSON.
        let arguments = if strict { call.arguments } else { Value::Object(parameters.clone()).to_string() };
        let (way, fault) = match checked {
            Ok(checked) => (Some(CallProgress::Checked(checked)), None),
            Err(fault) => (None, Some(fault)),
        };
        Self {
            id: call.id,
            name: call.name,
            arguments,
            parameters,
            fault,
            way,
            handed_on: 0,
            started: false,
            origin: None,
            images: Vec::new(),
            printed: None,
            exited: false,
            denied: false,
            skipped: false,
            state: CallState::Waiting,
        }
    }

    pub(super) const fn done(&self) -> bool {
        matches!(self.state, CallState::Done { .. } | CallState::Accepted { .. })
    }

    const fn effect(&self) -> Option<&EffectId> {
        match &self.state {
            CallState::Asking { effect, .. } | CallState::Delegated { effect } | CallState::Running { effect } => Some(effect),
            CallState::Waiting | CallState::Accepted { .. } | CallState::Done { .. } => None,
        }
    }

    pub(super) fn failed(&self) -> bool {
        matches!(&self.state, CallState::Done { outcome, .. } if *outcome != CallOutcome::Ok)
    }
}

/// Returns true if a call of the tool changes nothing outside the actor. Delegation does not count as harmless, since its effects are
/// unknown, and calls of plan tools depend on each other.
pub(super) fn harmless(tool_spec: &ToolSpec) -> bool {
    if tool_spec.handled_by == Executor::Run {
        return false;
    }
    tool_spec.read_only || (tool_spec.handled_by == Executor::Actor && tool_spec.name() != DELEGATE_TASK)
}

impl Turn {
    pub(super) fn new(number: u32, calls: Vec<ToolCall>, cut_off: bool, spec: &ActorSpec) -> Self {
        let calls: Vec<Call> = calls.into_iter().map(|call| Call::new(call, cut_off, spec)).collect();
        let parallel = calls.iter().filter_map(|call| spec.tool(&call.name)).all(harmless);
        Self { number, calls, parallel, broken: false }
    }

    /// Returns the calls as the history holds them.
    pub(super) fn written_calls(&self) -> Vec<ToolCall> {
        let call = |c: &Call| ToolCall { id: c.id.clone(), name: c.name.clone(), arguments: c.arguments.clone() };
        self.calls.iter().map(call).collect()
    }

    /// Returns the effects that wait for an answer.
    pub(super) fn under_way(&self) -> impl Iterator<Item = &EffectId> {
        self.calls.iter().filter_map(Call::effect)
    }

    /// Returns the effects that wait for another actor or a person.
    pub(super) fn waiting_for_others(&self) -> impl Iterator<Item = &EffectId> {
        self.calls.iter().filter(|call| waits_for_others(&call.name)).filter_map(Call::effect)
    }

    /// Returns the length of the message in the call that ends the task, if there is one.
    pub(super) fn last_words(&self) -> Option<usize> {
        let call = self.calls.iter().find(|call| call.name == TERMINATE)?;
        Some(call.parameters.get("message").and_then(Value::as_str).unwrap_or_default().trim().len())
    }

    pub(super) fn position(&self, effect: &EffectId) -> Option<usize> {
        self.calls.iter().position(|call| call.effect() == Some(effect))
    }

    /// Returns the next call that may begin: any waiting call if all are harmless, else the first unfinished one. The call that ends the
    /// task waits for all calls before it.
    pub(super) fn next(&self) -> Option<usize> {
        let mut all_done = true;
        for (at, call) in self.calls.iter().enumerate() {
            if matches!(call.state, CallState::Waiting) && (all_done || (self.parallel && !is_end(&call.name))) {
                return Some(at);
            }
            all_done &= call.done();
            if !all_done && (!self.parallel || is_end(&call.name)) {
                return None;
            }
        }
        None
    }
}
