//! Background commands of an actor.

use std::fmt::Write;

use aime_progress_management::CallOutcome;
use aime_tools::ToolScope;
use serde_json::Value;

use super::ActorMachine;

/// Tools whose results report the state of a background command.
const TOOLS: [&str; 3] = ["bash", "bash_output", "bash_kill"];

impl ActorMachine {
    /// Returns true if the call ran a program that exited with a code other than 0. Its output is a result, not an error of the tool.
    pub(super) fn has_exited(&self, tool: &str, outcome: CallOutcome, value: &Value) -> bool {
        let runs = self.tool_spec(tool).is_some_and(|spec| spec.touches == ToolScope::Processes);
        runs && outcome == CallOutcome::Error && value.get("exit_code").is_some()
    }

    /// Records a command that keeps running after its call, or that has ended.
    pub(super) fn note_process(&mut self, tool: &str, outcome: CallOutcome, value: &Value) {
        let process = value.get("id").and_then(Value::as_str).zip(value.get("running").and_then(Value::as_bool));
        let Some((id, runs)) = process.filter(|_| outcome == CallOutcome::Ok && TOOLS.contains(&tool)) else { return };
        self.processes.retain(|known| known != id);
        if runs {
            self.processes.push(id.to_owned());
        }
    }

    /// Tells a resumed actor that the interruption ended its commands.
    pub(super) fn note_ended_processes(&mut self) {
        let ended = std::mem::take(&mut self.processes);
        let Some((last, others)) = ended.split_last() else { return };
        let mut names = String::new();
        for id in others {
            let _never_fails = write!(names, "`{id}`, ");
        }
        self.notes.push(format!(
            "You were interrupted, and the commands that ran in the background were ended with you: {names}`{last}`. Start those again that you still need."
        ));
    }
}
