//! Answers on the way from the run to the actors that wait for them.

use std::collections::BTreeMap;

use aime_progress_management::{ProgressState, QuestionId};
use tokio::sync::watch;

/// The answers in the run's journal. An actor gets an answer only after it is journaled. Waiting costs nothing, and an
/// answer that arrives before its question is kept.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    answers: watch::Sender<BTreeMap<QuestionId, String>>,
}

impl Answers {
    /// Creates the channel with the answers from before a resume.
    pub(crate) fn of(state: &ProgressState) -> Self {
        let known = state.questions.iter().filter_map(|question| Some((question.id.clone(), question.answer.clone()?))).collect();
        Self { answers: watch::Sender::new(known) }
    }

    /// Creates the channel with these answers.
    pub(crate) fn with_answers(answers: impl IntoIterator<Item = (QuestionId, String)>) -> Self {
        Self { answers: watch::Sender::new(answers.into_iter().collect()) }
    }

    pub(crate) fn put(&self, question: QuestionId, answer: String) {
        self.answers.send_modify(|known| {
            known.entry(question).or_insert(answer);
        });
    }

    pub(crate) fn contains(&self, question: &QuestionId) -> bool {
        self.answers.borrow().contains_key(question)
    }

    pub(crate) async fn wait(&self, question: &QuestionId) -> String {
        let mut changes = self.answers.subscribe();
        loop {
            let answer = changes.borrow_and_update().get(question).cloned();
            if let Some(answer) = answer {
                return answer;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
