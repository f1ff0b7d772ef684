//! The person at the terminal.

use std::{
    io::{BufRead, Write},
    sync::{Arc, Mutex, PoisonError},
};

use aime_orchestrator::{HumanChannel, HumanQuestion};
use aime_tools::offers_always;
use futures::future::BoxFuture;

use crate::{
    keyboard::Keyboard,
    output::{self, BOLD},
    screen::Pause,
};

/// Asks on the terminal, one question at a time, while the live view is still.
pub(crate) struct AtTerminal {
    pause: Arc<dyn Pause>,
    /// Who listens to what is typed unasked, and lends the terminal.
    keyboard: Option<Arc<Keyboard>>,
    one_at_a_time: Arc<Mutex<()>>,
}

impl AtTerminal {
    pub(crate) fn new(pause: Arc<dyn Pause>, keyboard: Option<Arc<Keyboard>>) -> Self {
        Self { pause, keyboard, one_at_a_time: Arc::default() }
    }
}

impl HumanChannel for AtTerminal {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let (pause, keyboard, turn) = (Arc::clone(&self.pause), self.keyboard.clone(), Arc::clone(&self.one_at_a_time));
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || {
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                let mut answer = None;
                let mut ask = || answer = read_answer(&question);
                pause.still(&mut || match &keyboard {
                    Some(keyboard) => keyboard.lend(&mut ask),
                    None => ask(),
                });
                answer
            });
            asked.await.ok().flatten()
        })
    }
}

/// Nothing at all (the end of the input) means that nobody is there.
fn read_answer(question: &HumanQuestion) -> Option<String> {
    let who = question.task.as_ref().map(|task| format!(" ({task})")).unwrap_or_default();
    output::tell(&format!("\n{BOLD}{}{who}{BOLD:#}: {}", question.kind, output::plain(&question.text)));
    let prompt = match question.kind.as_str() {
        "approval" if offers_always(&question.text) => "[y]es, [a]lways, [N]o > ",
        "approval" => "[y]es, [N]o > ",
        _ => "> ",
    };
    let mut stderr = anstream::stderr();
    drop(write!(stderr, "{prompt}"));
    drop(stderr.flush());
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(read) if read > 0 => Some(line.trim().to_owned()),
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
    answers(&format!("{question} [y/N]")).await.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

/// Asks for a yes; anything but a no is one.
pub(crate) async fn confirms(question: &str) -> bool {
    let question = question.to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let mut stderr = anstream::stderr();
        drop(write!(stderr, "{question} [Y/n] "));
        drop(stderr.flush());
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).unwrap_or(0);
        read > 0 && !line.trim().to_lowercase().starts_with('n')
    });
    asked.await.unwrap_or(false)
}
