//! One turn: the calls of one answer, and which may begin.

use aime_durable::EffectId;
use aime_llm::{Image, ToolCall, read_arguments};
use aime_progress::{CallOutcome, LeadCommand, Origin, QuestionId};
use aime_tools::{CheckedCall, DELEGATE_TASK, HandledBy, OpenCall, ToolSheet, ValidatedCall};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::QuestionKind;
use crate::ActorSpec;

/// The tool that ends an actor.
pub(super) const TERMINATE: &str = "terminate";
/// The tool that replaces the TODO list.
pub(super) const TODO: &str = "todo";
/// The tool that says how the work goes.
pub(super) const UPDATE_PROGRESS: &str = "update_progress";

/// The parameters of tools that hold what they write into a file.
const CONTENT: [&str; 2] = ["content", "new_text"];

const CUT_OFF: &str = "Error: cut by the length limit; ask for less at once";

/// The calls of one answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Turn {
    /// The request they answer: part of their effects' ids.
    pub(super) number: u32,
    pub(super) calls: Vec<Call>,
    /// All change nothing, so they may run at once.
    pub(super) parallel: bool,
    /// A call did not end as calls do: what was to follow it is not run.
    pub(super) broken: bool,
}

/// One call on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// As they stand in the history.
    arguments: String,
    pub(super) parameters: Map<String, Value>,
    /// Why it cannot run.
    pub(super) fault: Option<String>,
    /// How far it has come before it runs.
    pub(super) way: Option<Way>,
    /// How often it was handed on: to a person, or to another actor. Each time is an effect of its own.
    #[serde(alias = "questions")]
    pub(super) handed_on: u32,
    /// Its beginning was told.
    pub(super) started: bool,
    /// Where its result comes from, once there is one from outside.
    #[serde(default)]
    pub(super) origin: Option<Origin>,
    /// The images of its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Image>,
    /// It was a program, which ended with another exit code than 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) exited: bool,
    pub(super) state: CallState,
}

/// How far a call has come before it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Way {
    /// Its arguments were read.
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
    /// A call of a plan tool that the run carries out: the next wake is its result.
    Accepted {
        command: Box<LeadCommand>,
    },
    Done {
        text: String,
        outcome: CallOutcome,
    },
}

impl Call {
    /// Whether it succeeded, and its parameters name a file, given in lower case. Words about the work name none, and neither does what is written
    /// into a file: whoever writes "a copy of notes.txt" has not read that.
    pub(super) fn has_named(&self, file: &str) -> bool {
        let about = [TERMINATE, TODO, UPDATE_PROGRESS].contains(&self.name.as_str());
        let succeeded = matches!(self.state, CallState::Done { outcome: CallOutcome::Ok, .. });
        let mut named =
            self.parameters.iter().filter(|(name, _)| !CONTENT.contains(&name.as_str())).map(|(_, value)| value.to_string().to_lowercase());
        !about && succeeded && named.any(|value| value.contains(file))
    }

    /// Whether it writes a text that it is given into a file: what that comes to shows nothing of the world.
    pub(super) fn writes(&self) -> bool {
        CONTENT.iter().any(|name| self.parameters.contains_key(*name))
    }

    fn new(call: ToolCall, cut_off: bool, spec: &ActorSpec) -> Self {
        let sheet = spec.tool(&call.name);
        let read = read_arguments(&call.arguments, sheet.map(|sheet| sheet.definition.parameters.as_ref()));
        let strict = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
        let (parameters, checked) = match (sheet, read) {
            (None, read) => {
                let unknown = format!("Unknown tool: {}. Available: {}", call.name, spec.tool_names().join(", "));
                (read.unwrap_or_default(), Err(unknown))
            }
            (Some(_), Err(error)) => (Map::new(), Err(format!("Error: {error}"))),
            (Some(sheet), Ok(parameters)) => {
                let checked = sheet.check_read(parameters.clone());
                (parameters, checked.map_err(|error| format!("Error: {error}")))
            }
        };
        let checked = if cut_off { Err(CUT_OFF.to_owned()) } else { checked };
        // Servers read the history too, and some refuse arguments that are not JSON.
        let arguments = if strict { call.arguments } else { Value::Object(parameters.clone()).to_string() };
        let (way, fault) = match checked {
            Ok(checked) => (Some(Way::Checked(checked)), None),
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
            exited: false,
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

/// Returns whether a call of the tool changes nothing outside the actor. What another actor does is not known beforehand, and calls of plan tools
/// depend on each other.
pub(super) fn harmless(sheet: &ToolSheet) -> bool {
    if sheet.handled_by == HandledBy::Run {
        return false;
    }
    sheet.read_only || (sheet.handled_by == HandledBy::Actor && sheet.name() != DELEGATE_TASK)
}

impl Turn {
    pub(super) fn new(number: u32, calls: Vec<ToolCall>, cut_off: bool, spec: &ActorSpec) -> Self {
        let calls: Vec<Call> = calls.into_iter().map(|call| Call::new(call, cut_off, spec)).collect();
        let parallel = calls.iter().filter_map(|call| spec.tool(&call.name)).all(harmless);
        Self { number, calls, parallel, broken: false }
    }

    /// The calls as they stand in the history.
    pub(super) fn spoken(&self) -> Vec<ToolCall> {
        let call = |c: &Call| ToolCall { id: c.id.clone(), name: c.name.clone(), arguments: c.arguments.clone() };
        self.calls.iter().map(call).collect()
    }

    /// What waits for an answer.
    pub(super) fn under_way(&self) -> impl Iterator<Item = &EffectId> {
        self.calls.iter().filter_map(Call::effect)
    }

    /// The length of the message of the call that ends the task, if there is one.
    pub(super) fn last_words(&self) -> Option<usize> {
        let call = self.calls.iter().find(|call| call.name == TERMINATE)?;
        Some(call.parameters.get("message").and_then(Value::as_str).unwrap_or_default().trim().len())
    }

    pub(super) fn position(&self, effect: &EffectId) -> Option<usize> {
        self.calls.iter().position(|call| call.effect() == Some(effect))
    }

    /// The next call that may begin: any that waits when all are harmless, else the first that is not done. The call that ends the task
    /// waits for all before it.
    pub(super) fn next(&self) -> Option<usize> {
        let mut all_done = true;
        for (at, call) in self.calls.iter().enumerate() {
            if matches!(call.state, CallState::Waiting) && (all_done || (self.parallel && call.name != TERMINATE)) {
                return Some(at);
            }
            all_done &= call.done();
            if !all_done && (!self.parallel || call.name == TERMINATE) {
                return None;
            }
        }
        None
    }
}
