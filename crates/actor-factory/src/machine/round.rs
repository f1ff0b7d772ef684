//! End of a turn: results enter the history, followed by notes.

use std::collections::BTreeMap;

use aime_durable::{Outbox, UnixMillis};
use aime_llm::Message;
use aime_messages::message;
use aime_progress_management::{CallOutcome, Origin};

use super::{
    ActorMachine, ActorStep,
    own_tools::NOT_ENDED,
    turn::{Call, CallState, TODO, UPDATE_PROGRESS, harmless, is_end},
};
use crate::{marks::marked, notes::Note, prompts::TODO_REMINDER};

impl ActorMachine {
    /// Ends a turn whose calls are all done. Their results enter the history in the order of the calls.
    pub(super) fn end_turn(&mut self, at: UnixMillis, out: &mut Outbox<Self>) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        self.count_refusal(&turn.calls);
        let class = self.input.class;
        let mut most_repeated = (0, String::new(), false);
        let (mut updated, mut done_again) = (false, false);
        self.last_failed = turn.calls.last().is_some_and(Call::failed);
        let mut results = Vec::new();
        // The calls of one answer are one attempt: the model saw no result between them.
        let mut attempts: BTreeMap<String, bool> = BTreeMap::new();
        for call in turn.calls {
            self.unnamed_files.retain(|file| !call.has_named(file));
            let CallState::Done { text, outcome } = call.state else {
                continue;
            };
            // If a model reads a program's own error output, the tool itself has worked.
            let tool_worked = outcome == CallOutcome::Ok || (call.exited && !class.exit_codes_are_failures);
            // Other parameters do not help a call that is not permitted.
            if !call.denied && !call.skipped {
                *attempts.entry(call.name.clone()).or_default() |= tool_worked;
            }
            if !call.skipped {
                self.failed_in_row = if outcome == CallOutcome::Ok { 0 } else { self.failed_in_row.saturating_add(1) };
            }
            updated |= call.name == TODO && outcome == CallOutcome::Ok;
            let changed = outcome == CallOutcome::Ok && self.tool_spec(&call.name).is_some_and(|tool| !harmless(tool));
            let count = self.repeats.record(&call.name, &call.parameters, &text, changed);
            done_again |= call.name == UPDATE_PROGRESS && text == NOT_ENDED && count > 1;
            if count > most_repeated.0 {
                most_repeated = (count, call.name.clone(), outcome == CallOutcome::Ok);
            }
            let text = match &call.origin {
                // Errors in a call of a file tool, and facts about a call that was cut off, are aime's own text.
                Some(origin)
                    if self.input.marks
                        && (outcome == CallOutcome::Ok || *origin != Origin::Files)
                        && !matches!(outcome, CallOutcome::InDoubt | CallOutcome::Cancelled) =>
                {
                    marked(&origin.to_string(), &call.id, &text)
                }
                _ => text,
            };
            let text = match &call.printed {
                // The facts are aime's own text, but the output is data.
                Some(printed) => {
                    let origin = call.origin.as_ref().map(ToString::to_string);
                    let printed =
                        origin.filter(|_| self.input.marks).map_or_else(|| printed.clone(), |origin| marked(&origin, &call.id, printed));
                    format!("{text}.\nIts output until then:\n{printed}")
                }
                None => text,
            };
            let is_error = outcome != CallOutcome::Ok;
            results.push(Message::Tool { call_id: call.id, name: call.name, content: text, is_error, images: call.images });
        }
        for (tool, worked) in attempts {
            self.router.record(&tool, worked);
        }
        for result in results {
            self.history.push(result);
        }
        if self.conclusion.is_some() {
            return;
        }
        self.note_due = true;
        if self.todos_forgotten(updated) {
            self.nudged("todo_reminder", TODO_REMINDER, out);
            self.notes.push(TODO_REMINDER.to_owned());
        }
        let (count, name, succeeded) = most_repeated;
        // Without a step left, the step limit is the more precise reason for the failure.
        if count >= self.input.settings.abort_after_repeats && self.steps_left() > 0 {
            self.fail(message!("actor-stuck", tool = name, number = count), None);
            return;
        }
        self.withheld = None;
        if count >= self.input.settings.warn_after_repeats {
            let note = if succeeded { Note::Repeated } else { Note::Stuck };
            let note = note.text(&self.input.notes, &[("name", &name), ("count", &count.to_string())]);
            self.nudged("stuck", &note, out);
            self.notes.push(note);
            // Small models repeat the call in spite of the note, so it is withheld. For other models an unchanged, cached tool list is
            // worth more.
            self.withheld = class.narrow_tools.then_some(name);
        }
        // Only small models are made to conclude. A capable model may have a reason to repeat a call, such as polling, and keeps the notes.
        let concludes = class.failures_before_conclusion > 0;
        let hopeless = self.failed_in_row >= class.failures_before_conclusion || count >= self.input.settings.conclude_after_repeats;
        self.must_conclude = (done_again || (concludes && hopeless)) && self.input.spec.tools.iter().any(|tool| is_end(tool.name()));
        self.hint(out);
        if self.rest_if_it_gave_up() {
            return;
        }
        self.go(ActorStep::Results);
        self.next_step(at, out);
    }

    /// Adds the router's hint about a tool that keeps failing.
    fn hint(&mut self, out: &mut Outbox<Self>) {
        if let Some(hint) = self.router.take_hint(self.input.spec.tools.iter().map(AsRef::as_ref)) {
            self.nudged("tool_hint", &hint, out);
            self.notes.push(hint);
        }
    }

    /// Counts rounds in which an open TODO list was not updated.
    fn todos_forgotten(&mut self, updated: bool) -> bool {
        self.rounds_without_todos = if updated || !self.todos_open() { 0 } else { self.rounds_without_todos + 1 };
        let forgotten = self.rounds_without_todos >= self.input.settings.rounds_before_todo_reminder;
        if forgotten {
            self.rounds_without_todos = 0;
        }
        forgotten
    }
}
