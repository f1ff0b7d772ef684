//! Consents that a person gave for good.

use aime_durable::{Clock, SystemClock};
use aime_orchestrator::PublishedEvent;
use aime_progress::ProgressEvent;

use crate::Consents;

/// Keeps a consent that an event gives for good. Returns why it holds for this run only, if it cannot be kept.
pub fn remember(event: &PublishedEvent, consents: Option<&Consents>) -> Option<String> {
    let ProgressEvent::ConsentGiven { rules, .. } = &event.event else { return None };
    match consents.map(|consents| consents.add(rules, SystemClock.now())) {
        Some(Ok(())) => None,
        Some(Err(error)) => Some(format!("allowed for this run only: {}", error.with_causes())),
        None => Some("allowed for this run only: there is no folder of your own outside of the working folder to keep it in".to_owned()),
    }
}
