//! Stores permanent consents of people.

use aime_durable::{Clock, SystemClock};
use aime_orchestrator::PublishedEvent;
use aime_progress_management::ProgressEvent;

use crate::Consents;

/// Stores the permanent consent in an event. If it cannot be stored, returns why it holds for this run only.
pub fn remember(event: &PublishedEvent, consents: Option<&Consents>) -> Option<String> {
    let ProgressEvent::ConsentGiven { rules, .. } = &event.event else { return None };
    match consents.map(|consents| consents.add(rules, SystemClock.now())) {
        Some(Ok(())) => None,
        Some(Err(error)) => Some(format!("allowed for this run only: {}", error.with_causes())),
        None => Some("allowed for this run only: there is no folder of your own outside of the working folder to keep it in".to_owned()),
    }
}
