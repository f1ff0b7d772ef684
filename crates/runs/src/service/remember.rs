//! Stores permanent consents of people.

use aime_durable::{Clock, SystemClock};
use aime_messages::{Message, message};
use aime_orchestrator::PublishedEvent;
use aime_progress_management::ProgressEvent;

use crate::Consents;

/// Stores the permanent consent in an event. If it cannot be stored, returns why it holds for this run only.
pub fn remember(event: &PublishedEvent, consents: Option<&Consents>) -> Option<Message> {
    let ProgressEvent::ConsentGiven { rules, .. } = &event.event else { return None };
    match consents.map(|consents| consents.add(rules, SystemClock.now())) {
        Some(Ok(())) => None,
        Some(Err(error)) => Some(message!("run-only", reason = error.with_causes())),
        None => Some(message!("run-only", reason = message!("no-own-folder"))),
    }
}
