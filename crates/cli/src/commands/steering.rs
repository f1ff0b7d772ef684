//! Messages of people to a run in another process: `aime tell`, `aime pause`, `aime answer`, `aime cancel`.

use aime_progress_management::RunId;
use aime_runs::{AnswerReceipt, Cancelled, Runs};

use crate::{
    failure::Failure,
    i18n::{msg, print_question},
    output,
    screen::first_line,
};

pub(super) async fn message(run: &str, task: Option<&str>, text: &str, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    runs.message(&run, task, text).await?;
    output::note(&format!("{}\n{}", msg!("sent", text = first_line(text, 100)), next_step_note(&run, runs)));
    Ok(0)
}

pub(super) async fn pause(run: &str, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    runs.pause(&run).await?;
    output::note(&msg!("run-stops", run));
    Ok(0)
}

pub(super) async fn answer(run: &str, text: String, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    let AnswerReceipt { question, was_left: left } = runs.answer(&run, None, text).await?;
    let then = if left { msg!("hint-resume", run) } else { msg!("run-takes-up-if") };
    output::note(&format!("{}\n{then}", msg!("answered", question = first_line(&print_question(&question.question), 100))));
    Ok(0)
}

pub(super) async fn cancel(run: &str, task: Option<&str>, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    match runs.cancel(&run, task).await? {
        Cancelled::Run => output::note(&msg!("cancel-done", run)),
        Cancelled::Stopping => output::note(&msg!("cancel-stopping", run)),
        Cancelled::Task(task) => {
            output::note(&format!("{}\n{}", msg!("cancel-task", task), next_step_note(&run, runs)));
        }
    }
    Ok(0)
}

/// Describes when the run reads a message.
fn next_step_note(run: &RunId, runs: &Runs) -> String {
    if runs.is_driven(run) { msg!("run-takes-up") } else { msg!("hint-resume", run) }
}
