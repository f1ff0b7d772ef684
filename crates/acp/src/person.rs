//! The person in front of the client.

use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::{
    Client,
    v1::{
        ConnectionTo,
        schema::{
            CreateElicitationRequest, ElicitationAcceptAction, ElicitationAction, ElicitationContentValue, ElicitationFormMode,
            ElicitationSchema, ElicitationSessionScope, RequestPermissionOutcome, SessionId, StringPropertySchema,
        },
    },
};
use aime_orchestrator::{HumanChannel, HumanQuestion};
use aime_progress_management::Question;
use futures::future::BoxFuture;
use tokio::sync::Mutex as AsyncMutex;

use crate::Updates;

/// Name of the field for an answer.
const ANSWER: &str = "answer";

/// Requests consent by the protocol, and answers by a form where the client shows forms; one question at a time. Without forms a question
/// ends the turn, and the next prompt answers it.
pub(crate) struct ClientChannel {
    pub(crate) client: ConnectionTo<Client>,
    pub(crate) session: SessionId,
    pub(crate) updates: Arc<Mutex<Updates>>,
    /// True if the client shows forms.
    pub(crate) shows_forms: bool,
    pub(crate) one_at_a_time: AsyncMutex<()>,
}

impl HumanChannel for ClientChannel {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let _turn = self.one_at_a_time.lock().await;
            match question.kind.as_str() {
                "approval" => self.consent(&question).await,
                _ if self.shows_forms => self.answer(&question).await,
                _ => None,
            }
        })
    }
}

impl ClientChannel {
    async fn consent(&self, question: &HumanQuestion) -> Option<String> {
        let request = self.updates.lock().unwrap_or_else(PoisonError::into_inner).permission(&self.session, question);
        match self.client.send_request(request).block_task().await {
            // The ids of the options are the words of answers.
            Ok(response) => match response.outcome {
                RequestPermissionOutcome::Selected(selected) => Some(selected.option_id.0.to_string()),
                _ => None,
            },
            Err(error) => {
                tracing::info!(%error, "the client does not ask for consent: the run waits for it");
                None
            }
        }
    }

    /// Asks by a form with one field. If the person declines, the run waits, and the next prompt answers.
    async fn answer(&self, question: &HumanQuestion) -> Option<String> {
        let needs_words = !Question::takes_empty_answer(&question.kind);
        let field = StringPropertySchema::new().title("Answer".to_owned()).min_length(needs_words.then_some(1_u32));
        let form = ElicitationSchema::new().property(ANSWER, field, needs_words);
        let mode = ElicitationFormMode::new(ElicitationSessionScope::new(self.session.clone()), form);
        let asked = self.client.send_request(CreateElicitationRequest::new(mode, question.text.to_string())).block_task().await;
        match asked.map(|response| response.action) {
            Ok(ElicitationAction::Accept(accepted)) => answer_of(accepted, needs_words),
            Ok(_) => None,
            Err(error) => {
                tracing::info!(%error, "the client does not show a form: the run waits for an answer");
                None
            }
        }
    }
}

/// Returns the text of an accepted form. A form may leave out a field that needs no words.
fn answer_of(ElicitationAcceptAction { content, .. }: ElicitationAcceptAction, needs_words: bool) -> Option<String> {
    let text = match content.and_then(|mut content| content.remove(ANSWER)) {
        Some(ElicitationContentValue::String(text)) => text,
        Some(_) => return None,
        None => String::new(),
    };
    Some(text).filter(|text| !needs_words || !text.trim().is_empty())
}
