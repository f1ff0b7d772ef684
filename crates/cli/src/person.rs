//! The person at the terminal.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    sync::{Arc, Mutex, PoisonError},
};

use aime_orchestrator::{HumanChannel, HumanQuestion};
use aime_progress::QuestionId;
use aime_tools::offers_always;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{
    output::{self, BOLD},
    screen::Pause,
    words::{asked, meant, msg, named, said},
};

/// Asks on the terminal, one question at a time, while the live view is still.
pub(crate) struct AtTerminal {
    pause: Arc<dyn Pause>,
    one_at_a_time: Arc<Mutex<()>>,
}

impl AtTerminal {
    pub(crate) fn new(pause: Arc<dyn Pause>) -> Self {
        Self { pause, one_at_a_time: Arc::default() }
    }
}

impl HumanChannel for AtTerminal {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let (pause, turn) = (Arc::clone(&self.pause), Arc::clone(&self.one_at_a_time));
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let mut answer = None;
                pause.still(&mut || answer = read_answer(&question));
                answer
            });
            asked.await.ok().flatten()
        })
    }
}

/// Asks on the whole screen, which shows the question from the run's events: an answer that is given there comes here.
#[derive(Default)]
pub(crate) struct OnScreen {
    waiting: Mutex<BTreeMap<QuestionId, oneshot::Sender<String>>>,
}

impl OnScreen {
    /// Passes an answer on. Gives it back where nobody waits for it here.
    pub(crate) fn answer(&self, question: &QuestionId, text: String) -> Result<(), String> {
        match self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(question) {
            Some(asked) => asked.send(text),
            None => Err(text),
        }
    }
}

impl HumanChannel for OnScreen {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let (answered, answer) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(question.id, answered);
        Box::pin(async { answer.await.ok() })
    }
}

/// Nothing at all (the end of the input) means that nobody is there.
fn read_answer(question: &HumanQuestion) -> Option<String> {
    let who = question.task.as_ref().map(|task| format!(" ({task})")).unwrap_or_default();
    output::tell(&format!("\n{BOLD}{}{who}{BOLD:#}: {}", named("kind", &question.kind), output::plain(&asked(&question.text))));
    let approval = question.kind == "approval";
    let prompt = match approval {
        true if offers_always(&question.text) => msg!("prompt-approval-always"),
        true => msg!("prompt-approval"),
        false => "> ".to_owned(),
    };
    let mut stderr = anstream::stderr();
    drop(write!(stderr, "{prompt}"));
    drop(stderr.flush());
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(read) if read > 0 => Some(line.trim().to_owned()).map(|answer| if approval { meant(answer) } else { answer }),
        _ => None,
    }
}

/// Asks on the terminal where no run is going on.
pub(crate) async fn answers(question: &str) -> Option<String> {
    let question = output::plain(question).into_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let mut stderr = anstream::stderr();
        drop(write!(stderr, "{question}\n> "));
        drop(stderr.flush());
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).unwrap_or(0);
        (read > 0).then(|| line.trim().to_owned())
    });
    asked.await.ok().flatten()
}

/// Asks for a yes; nothing else is one.
pub(crate) async fn agrees(question: &str) -> bool {
    let asked = format!("{} {}", said(question), msg!("prompt-no"));
    answers(&asked).await.is_some_and(|answer| matches!(meant(answer).to_lowercase().as_str(), "y" | "yes"))
}

/// Asks for a yes; anything but a no is one.
pub(crate) async fn confirms(question: &str) -> bool {
    let question = format!("{} {}", said(question), msg!("prompt-yes"));
    let asked = tokio::task::spawn_blocking(move || {
        let mut stderr = anstream::stderr();
        drop(write!(stderr, "{question} "));
        drop(stderr.flush());
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).unwrap_or(0);
        read > 0 && !meant(line.trim().to_owned()).to_lowercase().starts_with('n')
    });
    asked.await.unwrap_or(false)
}
