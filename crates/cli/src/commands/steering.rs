//! Messages of people to a run in another process: `aime tell`, `aime pause`, `aime answer`, `aime cancel`.

use aime_runs::{Answered, Cancelled, Runs};

use crate::{failure::Failure, i18n::msg, output, screen::first_line};

pub(super) async fn tell(run: &str, task: Option<&str>, text: &str, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    runs.tell(&run, task, text).await?;
    let then = if runs.is_driven(&run) { "the run takes it up now".to_owned() } else { format!("go on with `aime resume {run}`") };
    output::note(&format!("told: {}\n{then}", first_line(text, 100)));
    Ok(0)
}

pub(super) async fn pause(run: &str, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    runs.pause(&run).await?;
    output::note(&format!("the run stops; go on with `aime resume {run}`"));
    Ok(0)
}

pub(super) async fn answer(run: &str, text: String, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    let Answered { question, left } = runs.answer(&run, None, text).await?;
    let then = if left { format!("go on with `aime resume {run}`") } else { "the run takes it up if it is under way".to_owned() };
    output::note(&format!("answered: {}\n{then}", first_line(&question.question, 100)));
    Ok(0)
}

pub(super) async fn cancel(run: &str, task: Option<&str>, runs: &Runs) -> Result<u8, Failure> {
    let run = runs.find(run)?;
    match runs.cancel(&run, task).await? {
        Cancelled::Run => output::note(&msg!("cancel-done", run = run)),
        Cancelled::Stopping => output::note(&format!("run {run} was told, and is still stopping")),
        Cancelled::Task(task) => {
            let driven = runs.is_driven(&run);
            let then = if driven { "the run takes it up now".to_owned() } else { format!("go on with `aime resume {run}`") };
            output::note(&format!("to be cancelled: {task}\n{then}"));
        }
    }
    Ok(0)
}
