//! The commands that an actor has left running beside its calls.

use std::fmt::Write;

use aime_progress::CallOutcome;
use aime_tools::Touches;
use serde_json::Value;

use super::ActorMachine;

/// The tools whose results tell the state of such a command.
const TOOLS: [&str; 3] = ["bash", "bash_output", "bash_kill"];

impl ActorMachine {
    /// Returns whether a call ended as a program does that exits with another code than 0: what it printed is a result, and no error of the tool.
    pub(super) fn has_exited(&self, tool: &str, outcome: CallOutcome, value: &Value) -> bool {
        let runs = self.sheet(tool).is_some_and(|sheet| sheet.touches == Touches::Processes);
        runs && outcome == CallOutcome::Error && value.get("exit_code").is_some()
    }

    /// Takes note of a command that goes on when its call has ended, or that does so no longer.
    pub(super) fn note_process(&mut self, tool: &str, outcome: CallOutcome, value: &Value) {
        let told = value.get("id").and_then(Value::as_str).zip(value.get("running").and_then(Value::as_bool));
        let Some((id, runs)) = told.filter(|_| outcome == CallOutcome::Ok && TOOLS.contains(&tool)) else { return };
        self.processes.retain(|known| known != id);
        if runs {
            self.processes.push(id.to_owned());
        }
    }

    /// Tells the actor, which goes on after an interruption, that its commands were ended with it.
    pub(super) fn tell_ended_processes(&mut self) {
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
