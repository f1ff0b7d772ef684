//! The person in front of the client.

use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::{
    Client,
    v1::{
        ConnectionTo,
        schema::{RequestPermissionOutcome, SessionId},
    },
};
use aime_orchestrator::{HumanChannel, HumanQuestion};
use futures::future::BoxFuture;
use tokio::sync::Mutex as AsyncMutex;

use crate::Updates;

/// Requests consent by the protocol, one question at a time. The protocol supports no other questions: these end the
/// turn, and the next prompt answers them.
pub(crate) struct AtTheClient {
    pub(crate) client: ConnectionTo<Client>,
    pub(crate) session: SessionId,
    pub(crate) updates: Arc<Mutex<Updates>>,
    pub(crate) one_at_a_time: AsyncMutex<()>,
}

impl HumanChannel for AtTheClient {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            if question.kind != "approval" {
                return None;
            }
            let _turn = self.one_at_a_time.lock().await;
            let request = self.updates.lock().unwrap_or_else(PoisonError::into_inner).permission(&self.session, &question);
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
        })
    }
}
