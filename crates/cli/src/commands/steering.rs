//! Messages of people to a run that something else drives: `aime tell`, `aime pause`, `aime answer`, `aime cancel`.

use aime_progress_management::RunId;
use aime_runs::{Cancelled, Delivery, RunService};

use crate::{
    failure::Failure,
    i18n::{msg, print_question},
    output,
    screen::first_line,
};

pub(super) async fn message(run: &str, task: Option<&str>, text: &str, runs: &RunService<'_>) -> Result<u8, Failure> {
    let run = runs.find(run).await?;
    let delivery = runs.message(&run, task, text.to_owned()).await?;
    note(&msg!("sent", text = first_line(text, 100)), delivery, &run, msg!("head-sent"));
    Ok(0)
}

pub(super) async fn pause(run: &str, runs: &RunService<'_>) -> Result<u8, Failure> {
    let run = runs.find(run).await?;
    runs.pause(&run).await?;
    output::note(&msg!("run-stops", run));
    Ok(0)
}

pub(super) async fn answer(run: &str, text: String, runs: &RunService<'_>) -> Result<u8, Failure> {
    let run = runs.find(run).await?;
    let (question, delivery) = runs.answer(&run, text).await?;
    let question = question.map(|question| first_line(&print_question(&question.question), 100)).unwrap_or_default();
    let answered = msg!("answered", question);
    match delivery {
        Delivery::Driven => output::note(&format!("{answered}\n{}", msg!("run-takes-up-if"))),
        delivery => note(&answered, delivery, &run, msg!("engine-answered")),
    }
    Ok(0)
}

pub(super) async fn cancel(run: &str, task: Option<&str>, runs: &RunService<'_>) -> Result<u8, Failure> {
    let run = runs.find(run).await?;
    let (cancelled, delivery) = runs.cancel(&run, task).await?;
    match (cancelled, delivery) {
        (Cancelled::Task(task), delivery) => note(&msg!("cancel-task", task), delivery, &run, msg!("engine-cancelled")),
        (_, Delivery::Unchecked) => note("", delivery, &run, msg!("engine-cancelled")),
        (Cancelled::Run, _) => output::note(&msg!("cancel-done", run)),
        (Cancelled::Stopping, _) => output::note(&msg!("cancel-stopping", run)),
    }
    Ok(0)
}

/// Prints what was sent and when the run reads it, or `unchecked` if no worker can report the state of the run.
fn note(sent: &str, delivery: Delivery, run: &RunId, unchecked: String) {
    let then = match delivery {
        Delivery::Driven => msg!("run-takes-up"),
        Delivery::Left => msg!("hint-resume", run),
        Delivery::Continues => msg!("engine-goes-on"),
        Delivery::Unchecked => return output::note(&msg!("engine-sent", then = unchecked, run)),
    };
    output::note(&format!("{sent}\n{then}"));
}
