//! Progress messages to a client of the server, and questions to the person behind it.

use std::sync::Arc;

use aime_orchestrator::{HumanChannel, HumanQuestion, NoHuman, PublishedEvent};
use aime_terminal::{first_line, plain};
use aime_tools::{AskPerson, ProgressReporter};
use futures::future::BoxFuture;
use tokio::sync::Mutex as AsyncMutex;

use crate::Texts;

/// Longest progress message, in characters.
const MAX_PROGRESS_CHARS: usize = 300;

/// Returns the channel to the person who answers a run's questions.
pub(crate) fn person(person: Option<AskPerson>) -> Arc<dyn HumanChannel> {
    match person {
        Some(person) => Arc::new(ClientPerson { person, one_at_a_time: AsyncMutex::new(()) }),
        None => Arc::new(NoHuman),
    }
}

/// Reports the events of a run to the client, one line each.
pub(crate) fn event_reporter(texts: Texts, progress: Option<ProgressReporter>) -> impl Fn(PublishedEvent) {
    move |event: PublishedEvent| {
        if let (Some(progress), Some(line)) = (&progress, (texts.line)(&event)) {
            progress.report(first_line(&line, MAX_PROGRESS_CHARS));
        }
    }
}

/// Person behind a client.
struct ClientPerson {
    person: AskPerson,
    one_at_a_time: AsyncMutex<()>,
}

impl HumanChannel for ClientPerson {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let _turn = self.one_at_a_time.lock().await;
            let form = if question.kind == "approval" { "\nAnswer yes, always or no." } else { "" };
            self.person.ask(format!("{}{form}", plain(&question.text.to_string()))).await
        })
    }
}
