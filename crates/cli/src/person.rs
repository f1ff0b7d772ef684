//! Questions to the person at the terminal.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aime_orchestrator::{HumanChannel, HumanQuestion};
use aime_progress_management::QuestionId;
use aime_terminal::discard_typed_input;
use aime_tools::{Consent, offers_always};
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{
    i18n::{msg, print_question, word_name},
    output::{self, BOLD},
    screen::Pause,
};

/// Asks on the terminal, one question at a time, while the live view is paused.
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

/// Asks on the full-screen view, which shows the question from the run's events and returns the answer here.
#[derive(Default)]
pub(crate) struct ScreenPerson {
    state: Mutex<AskedState>,
}

#[derive(Default)]
struct AskedState {
    waiting: BTreeMap<QuestionId, (HumanQuestion, oneshot::Sender<String>)>,
    /// Channel that asks after the screen is gone.
    instead: Option<Arc<dyn HumanChannel>>,
}

impl ScreenPerson {
    fn state(&self) -> MutexGuard<'_, AskedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Delivers an answer. Returns it if nothing here waits for it.
    pub(crate) fn answer(&self, question: &QuestionId, text: String) -> Result<(), String> {
        match self.state().waiting.remove(question) {
            Some((_, asked)) => asked.send(text),
            None => Err(text),
        }
    }

    /// Switches to another channel after the screen is gone: it asks the open questions one after the other, and all later ones. Returns
    /// when all are answered.
    pub(crate) async fn switch_channel(&self, instead: Arc<dyn HumanChannel>) {
        let waiting = {
            let mut asked = self.state();
            asked.instead = Some(Arc::clone(&instead));
            std::mem::take(&mut asked.waiting)
        };
        for (question, answered) in waiting.into_values().filter(|(_, answered)| !answered.is_closed()) {
            // Without an answer `answered` is dropped, which tells the run.
            if let Some(answer) = instead.ask(question).await {
                drop(answered.send(answer));
            }
        }
    }
}

impl HumanChannel for ScreenPerson {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        let mut asked = self.state();
        if let Some(instead) = asked.instead.clone() {
            return Box::pin(async move { instead.ask(question).await });
        }
        let (answered, answer) = oneshot::channel();
        asked.waiting.insert(question.id.clone(), (question, answered));
        Box::pin(async { answer.await.ok() })
    }
}

/// Reads an answer. None (end of input) means that nobody is there. Text typed at a terminal before the question appeared is discarded.
fn read_answer(question: &HumanQuestion) -> Option<String> {
    discard_typed_input();
    let who = question.task.as_ref().map(|task| format!(" ({task})")).unwrap_or_default();
    output::alert(&format!(
        "\n{BOLD}{}{who}{BOLD:#}: {}",
        word_name("kind", &question.kind),
        output::plain(&print_question(&question.text))
    ));
    let approval = question.kind == "approval";
    let prompt = match approval {
        true if offers_always(&question.text.to_string()) => msg!("prompt-approval-always"),
        true => msg!("prompt-approval"),
        false => "> ".to_owned(),
    };
    let mut stderr = anstream::stderr();
    drop(write!(stderr, "{prompt}"));
    drop(stderr.flush());
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(read) if read > 0 => Some(line.trim().to_owned()).map(|answer| if approval { Consent::recorded(answer) } else { answer }),
        _ => None,
    }
}

/// Asks a question on the terminal outside of a run.
pub(crate) async fn answers(question: &str) -> Option<String> {
    let question = output::plain(question).into_owned();
    let asked = tokio::task::spawn_blocking(move || {
        discard_typed_input();
        let mut stderr = anstream::stderr();
        drop(write!(stderr, "{question}\n> "));
        drop(stderr.flush());
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).unwrap_or(0);
        (read > 0).then(|| line.trim().to_owned())
    });
    asked.await.ok().flatten()
}

/// Asks for a yes; any other answer means no.
pub(crate) async fn agrees(question: &str) -> bool {
    let asked = format!("{question} {}", msg!("prompt-no"));
    answers(&asked).await.is_some_and(|answer| Consent::recorded(answer) == "yes")
}

/// Asks for a yes; any answer but a no means yes.
pub(crate) async fn confirms(question: &str) -> bool {
    let question = format!("{question} {}", msg!("prompt-yes"));
    let asked = tokio::task::spawn_blocking(move || {
        discard_typed_input();
        let mut stderr = anstream::stderr();
        drop(write!(stderr, "{question} "));
        drop(stderr.flush());
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).unwrap_or(0);
        read > 0 && !Consent::recorded(line.trim().to_owned()).to_lowercase().starts_with('n')
    });
    asked.await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with the question in upper case, and an empty question with no answer.
    struct Echo;

    impl HumanChannel for Echo {
        fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
            Box::pin(async move { Some(question.text.to_string().to_uppercase()).filter(|text| !text.is_empty()) })
        }
    }

    fn question(id: &str, text: &str) -> HumanQuestion {
        HumanQuestion { id: QuestionId::new(id).unwrap(), kind: "approval".to_owned(), task: None, text: text.into() }
    }

    #[tokio::test]
    async fn what_is_open_when_the_screen_is_lost_is_asked_elsewhere() {
        let screen = ScreenPerson::default();
        let (open, refused, withdrawn) =
            (screen.ask(question("a", "may I")), screen.ask(question("b", "")), screen.ask(question("c", "never")));
        drop(withdrawn);
        screen.switch_channel(Arc::new(Echo)).await;
        assert_eq!((open.await.as_deref(), refused.await), (Some("MAY I"), None));
        assert_eq!(screen.ask(question("d", "later")).await.as_deref(), Some("LATER"));
        assert_eq!(screen.answer(&QuestionId::new("a").unwrap(), "yes".to_owned()), Err("yes".to_owned()), "nobody waits for it twice");
    }
}
