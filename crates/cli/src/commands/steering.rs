//! What people say to a run from outside: `aime tell`, `aime pause`, `aime answer`.

use aime_durable::{Clock, RunLock, SystemClock};
use aime_orchestrator::{InboxMessage, RunView};
use aime_progress::{ProgressState, Question, QuestionId, RunId, RunStatus, Task, TaskId, TaskKind};

use super::runs::read;
use crate::{
    failure::{Failure, code},
    output,
    screen::first_line,
    wiring::Setup,
    words,
};

fn answered_by(body: &str) -> Option<QuestionId> {
    match serde_json::from_str(body).ok()? {
        InboxMessage::Answer { question, .. } => Some(question),
        InboxMessage::Say { .. } | InboxMessage::Cancel { .. } | InboxMessage::Pause {} => None,
    }
}

/// Says something to a run unasked, or to the actor of one task. A run that nobody carries out finds it when it is resumed.
pub(super) async fn tell(run: &str, task: Option<&str>, text: &str, setup: &Setup) -> Result<u8, Failure> {
    let (run, seen) = read(run, setup)?;
    let task = hearer(&run, &seen, task)?;
    put(&run, &InboxMessage::Say { task, text: text.to_owned() }, setup).await?;
    let then = if is_driven(&run, setup) { "the run takes it up now".to_owned() } else { format!("go on with `aime resume {run}`") };
    output::note(&format!("told: {}\n{then}", first_line(text, 100)));
    Ok(0)
}

/// The task whose actor is to hear something; none where the run is.
pub(super) fn hearer(run: &RunId, seen: &RunView, task: Option<&str>) -> Result<Option<TaskId>, Failure> {
    let task = task.map(|task| open_task(run, seen, task)).transpose()?.map(|task| &task.spec);
    if seen.over {
        return Err(has_ended(run, &seen.state));
    }
    if let Some(task) = task.filter(|task| task.kind != TaskKind::Actor) {
        return Err(Failure::usage(format!("task {} has no actor who could hear it", task.id))
            .hint(format!("`aime tell {run} TEXT` tells the run")));
    }
    Ok(task.map(|task| task.id.clone()))
}

/// The task of a name, if it is not settled.
pub(super) fn open_task<'a>(run: &RunId, seen: &'a RunView, name: &str) -> Result<&'a Task, Failure> {
    let tasks = &seen.state.tasks;
    let hint = format!("`aime runs show {run}` lists the tasks");
    let Some(task) = tasks.values().find(|task| task.spec.id.as_str() == name) else {
        return Err(Failure::usage(format!("run {run} has no task {name:?}")).hint(hint));
    };
    if task.status.is_settled() {
        return Err(Failure::usage(format!("task {name} is {}", task.status)).hint(hint));
    }
    Ok(task)
}

/// Nothing can be said to a run that has ended, nor asked of it.
pub(super) fn has_ended(run: &RunId, state: &ProgressState) -> Failure {
    let (status, version) = (state.status, state.version);
    let ended = if status == RunStatus::Cancelled { "was cancelled" } else { "has ended" };
    Failure::usage(format!("run {run} {ended}")).hint(match version {
        0 => "give the goal anew".to_owned(),
        _ => format!("`aime runs fork {run} --at {version}` makes one that goes on from its plan"),
    })
}

/// Nobody who could pause it works on a run.
pub(super) fn not_driven(run: &RunId) -> Failure {
    Failure::usage(format!("no process carries out run {run}")).hint(format!("`aime runs show {run}` tells where it stands"))
}

/// Nothing can be answered.
pub(super) fn asks_nothing(run: &RunId, what: &str) -> Failure {
    Failure::usage(format!("run {run} {what}")).hint(format!("`aime runs show {run}` tells where it stands"))
}

/// Stops a run that another process carries out.
pub(super) async fn pause(run: &str, setup: &Setup) -> Result<u8, Failure> {
    let (run, _) = read(run, setup)?;
    if !is_driven(&run, setup) {
        return Err(not_driven(&run));
    }
    put(&run, &InboxMessage::Pause {}, setup).await?;
    output::note(&format!("the run stops; go on with `aime resume {run}`"));
    Ok(0)
}

pub(super) async fn put(run: &RunId, message: &InboxMessage, setup: &Setup) -> Result<(), Failure> {
    let mut message = serde_json::to_value(message).map_err(Failure::internal)?;
    setup.redactor().document(&mut message);
    let body = message.to_string();
    let put = setup.journal()?.inbox_put(run.as_str(), SystemClock.now(), &body).await;
    put.map(drop).map_err(|error| Failure::caused(code::USAGE, &error))
}

/// Whether a process carries the run out: it holds the run's lock.
pub(super) fn is_driven(run: &RunId, setup: &Setup) -> bool {
    RunLock::is_held(&setup.keep().join("runs").join(run.as_str()).join("lock"))
}

pub(super) async fn answer(run: &str, text: &str, setup: &Setup) -> Result<u8, Failure> {
    let Answered { run, question, left } = put_answer(run, None, text, setup).await?;
    let then = if left { format!("go on with `aime resume {run}`") } else { "the run takes it up if it is under way".to_owned() };
    output::note(&format!("answered: {}\n{then}", first_line(&question, 100)));
    Ok(0)
}

/// A question that has been answered.
pub(super) struct Answered {
    pub(super) run: RunId,
    pub(super) question: String,
    /// The run was left waiting for it.
    pub(super) left: bool,
}

/// Answers an open question of a run: the one of this id, and no other, or else the first.
pub(super) async fn put_answer(run: &str, id: Option<&str>, text: &str, setup: &Setup) -> Result<Answered, Failure> {
    let (run, seen) = read(run, setup)?;
    let journal = setup.journal()?;
    // Answers that the run has not taken up yet.
    let waiting = journal.inbox(run.as_str()).map_err(|error| Failure::caused(code::USAGE, &error))?;
    let answered: Vec<QuestionId> = waiting.iter().filter_map(|message| answered_by(&message.body)).collect();
    let open = |question: &&Question| question.answer.is_none() && !answered.contains(&question.id);
    let meant = |question: &&Question| id.is_none_or(|id| question.id.as_str() == id);
    let Some(question) = seen.state.questions.iter().filter(open).find(meant) else {
        if id.is_some() {
            return Err(Failure::usage(format!("run {run} no longer asks that"))
                .hint("look again: it was answered, or its task has come to an end"));
        }
        let what = if answered.is_empty() { "asks nothing" } else { "asks nothing more" };
        return Err(asks_nothing(&run, what));
    };
    let text = if question.kind == "approval" { words::meant(text.to_owned()) } else { text.to_owned() };
    put(&run, &InboxMessage::Answer { question: question.id.clone(), text }, setup).await?;
    let left = matches!(&seen.output, Some(output) if output.status == RunStatus::WaitingForHuman);
    Ok(Answered { run, question: question.question.clone(), left })
}
