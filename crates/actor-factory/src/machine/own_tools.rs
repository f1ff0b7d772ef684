//! Tools that the actor machine answers itself: they change its state or report to people.

use aime_durable::{Outbox, UnixMillis};
use aime_progress_management::{CallOutcome, Evidence, EvidenceId, ProgressEvent, Timestamp, TodoList, TodoStatus, render_todos};
use aime_tools::{
    AskHuman, CriterionVerdict, DELEGATE_TASK, DelegateTask, ReportEvidence, Terminate, TerminateStatus, ToolError, UpdateProgress, VERDICT,
};
use serde_json::{Map, Value};

use super::{
    ActorMachine, QuestionKind,
    turn::{Call, TERMINATE, TODO, UPDATE_PROGRESS},
};
use crate::{
    history::ASK_HUMAN,
    text::{cut, id_text},
};

/// Longest progress report, in characters.
const MAX_REPORT_CHARS: usize = 4_000;
const NOT_YET: &str =
    "not ended: one failed call is no reason to give up. Make a better call, use another tool, or answer from what you know";
const SAID_MEANWHILE: &str = "not ended: a person has said something meanwhile. It follows; take it into account before you end";
/// Reply to an actor that reports its work as done. Many models mistake that report for the end of the task.
pub(super) const NOT_ENDED: &str =
    "Reported. That does not end the task: call `terminate` with status `success` and the result as its message.";
/// Statuses that mean "done".
const DONE: [&str; 9] = ["completed", "complete", "done", "finished", "success", "succeeded", "完成", "已完成", "成功"];
/// Result of `terminate`. The actor reads it only if its result is not accepted.
const TERMINATED: &str = "Received.";
const NOBODY: &str = "Nobody is available to answer. Decide yourself and go on.";

impl ActorMachine {
    pub(super) fn answer_own(&mut self, index: usize, call: &Call, at: UnixMillis, out: &mut Outbox<Self>) {
        self.started(index, out);
        let answer = match call.name.as_str() {
            TODO => self.replace_todos(&call.parameters, out),
            UPDATE_PROGRESS => self.report(&call.parameters, out).map_err(|error| error.to_string()),
            "report_evidence" => self.add_evidence(index, &call.parameters, at, out),
            ASK_HUMAN => match AskHuman::parse(&call.parameters) {
                // A lead's question waits for its answer even if no person is there now.
                Ok(asked) if self.input.attended || self.leads().is_some() => {
                    return self.ask(index, asked.question, QuestionKind::Question, out);
                }
                Ok(_) => Ok(NOBODY.to_owned()),
                Err(error) => Err(error.to_string()),
            },
            DELEGATE_TASK => match DelegateTask::parse(&call.parameters) {
                Ok(request) => return self.delegate(index, request, out),
                Err(error) => Err(error.to_string()),
            },
            VERDICT if self.input.audits > 0 => self.end_audit(&call.parameters),
            TERMINATE => self.terminate(index, &call.parameters),
            other => Err(format!("`{other}` cannot be used here")),
        };
        match answer {
            Ok(text) => self.finish(index, text, CallOutcome::Ok, 0, out),
            Err(error) => self.finish(index, format!("Error: {error}"), CallOutcome::Error, 0, out),
        }
    }

    /// Replaces the whole TODO list, or leaves it unchanged on an error.
    fn replace_todos(&mut self, parameters: &Map<String, Value>, out: &mut Outbox<Self>) -> Result<String, String> {
        let list = TodoList::from_parameters(parameters).map_err(|error| error.to_string())?;
        self.todos = list.into_items();
        // A lead's list is shown only once it works itself.
        if let Some(task) = self.works_for() {
            out.emit(ProgressEvent::TodosChanged { task, items: self.todos.clone() });
        }
        Ok(render_todos(&self.todos))
    }

    /// Returns true if the TODO list has an open item.
    pub(super) fn todos_open(&self) -> bool {
        self.todos.iter().any(|item| item.status != TodoStatus::Completed)
    }

    fn report(&self, parameters: &Map<String, Value>, out: &mut Outbox<Self>) -> Result<String, ToolError> {
        let mut report = UpdateProgress::parse(parameters)?.report;
        report.message = cut(&report.message, MAX_REPORT_CHARS);
        report.status = cut(&report.status, 100);
        let is_done = DONE.contains(&report.status.trim().to_lowercase().as_str());
        out.emit(ProgressEvent::ProgressReported { task: self.works_for(), report });
        Ok(if is_done { NOT_ENDED } else { "Reported." }.to_owned())
    }

    fn add_evidence(
        &self,
        index: usize,
        parameters: &Map<String, Value>,
        at: UnixMillis,
        out: &mut Outbox<Self>,
    ) -> Result<String, String> {
        let reported = ReportEvidence::parse(parameters).map_err(|error| error.to_string())?;
        let id = id_text(&format!("{}-{}-{}", self.input.effect_prefix().replace('/', "-"), self.requests, index + 1));
        let evidence = Evidence {
            id: EvidenceId::new(id).map_err(|error| error.to_string())?,
            at: Timestamp::from_millis(at),
            task: self.works_for(),
            kind: reported.kind,
            significance: reported.significance,
            content: cut(&self.with_risk(&reported), self.longest_text()),
            processed: false,
            origins: self.origins.clone(),
        };
        out.emit(ProgressEvent::EvidenceAdded { evidence });
        Ok("Recorded.".to_owned())
    }

    /// Returns the content of the evidence, with the text of the risk that came true.
    fn with_risk(&self, reported: &ReportEvidence) -> String {
        let content = reported.content.as_str();
        let Some(given) = reported.risk.as_deref().map(str::trim) else { return content.to_owned() };
        let digits: String = given.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        let numbered = digits.parse::<usize>().ok().and_then(|number| self.input.risks.get(number.checked_sub(1)?));
        let named = || self.input.risks.iter().find(|risk| risk.to_lowercase().contains(&given.to_lowercase()));
        match numbered.or_else(named) {
            Some(risk) if content.contains(risk.as_str()) => format!("a risk of the plan came true: {content}"),
            Some(risk) => format!("a risk of the plan came true ({risk}): {content}"),
            // A number outside the list carries no information, but words may.
            None if given.chars().all(|c| c.is_ascii_digit()) => content.to_owned(),
            None => format!("a risk came true ({given}): {content}"),
        }
    }

    /// Returns a file that the task names and no successful call has named. The number of reminders is limited, because a script may name
    /// the file itself.
    fn forgotten_file(&mut self) -> Option<String> {
        let most = self.input.class.file_reminders;
        let named = |file: &String| self.turn.iter().flat_map(|turn| &turn.calls).any(|call| call.has_named(file));
        let forgotten = self.unnamed_files.iter().find(|file| self.reminders < most && !named(file)).cloned();
        self.reminders += u32::from(forgotten.is_some());
        forgotten
    }

    /// Ends an auditor with its verdicts as the result.
    fn end_audit(&mut self, parameters: &Map<String, Value>) -> Result<String, String> {
        let verdicts = CriterionVerdict::parse_all(parameters, self.input.audits).map_err(|error| error.to_string())?;
        let verdicts = serde_json::to_value(verdicts).map_err(|error| error.to_string())?;
        self.conclude_with(verdicts);
        Ok(TERMINATED.to_owned())
    }

    /// Ends the actor, unless it claims success in the same turn as a failed call, whose failure it cannot have seen.
    fn terminate(&mut self, index: usize, parameters: &Map<String, Value>) -> Result<String, String> {
        let arguments = Terminate::parse(parameters).map_err(|error| error.to_string())?;
        let success = arguments.status == TerminateStatus::Success;
        if self.has_unread_messages() {
            return Err(SAID_MEANWHILE.to_owned());
        }
        if success && let Some(failed) = self.failed_before(index) {
            return Err(format!("not ended: `{failed}` failed in this turn. Read its result first"));
        }
        if success && let Some(file) = self.forgotten_file() {
            return Err(format!(
                "not ended: the task also names `{file}`. See with `read_file` whether it is as the task wants it, and make it if it is missing; \
                 then call `terminate` again"
            ));
        }
        // Small models often give up at the first error.
        let gives_up_at_once = self.input.class.refuse_early_failure
            && !success
            && self.last_failed
            && self.calls_ok == 0
            && !self.denied
            && !self.must_conclude;
        if gives_up_at_once && !std::mem::replace(&mut self.urged, true) {
            return Err(NOT_YET.to_owned());
        }
        let result = parameters.get("message").filter(|message| message.is_object() || message.is_array()).cloned();
        let mut message = match &result {
            Some(structured) if arguments.message.trim().is_empty() => structured.to_string(),
            _ => arguments.message.clone(),
        };
        if message.trim().is_empty() && self.plain_text.is_empty() {
            if success && self.calls_ok == 0 {
                return Err("`message` is missing: say what was done".to_owned());
            }
            message = "ended without a word".to_owned();
        }
        self.conclude_by_terminate(arguments, &message, result.unwrap_or_default());
        Ok(TERMINATED.to_owned())
    }
}
