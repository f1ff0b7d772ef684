//! People: they answer questions, and act on their own.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use aime_durable::Journal;
use aime_orchestrator::{HumanChannel, HumanQuestion, InboxMessage, RunControl};
use aime_progress_management::TaskStatus;
use futures::future::BoxFuture;
use tokio::time::sleep;

use crate::{
    life::{RUN, run_id},
    scenario::ExternalEvent,
    world::{World, lock},
};

/// Person at the terminal, if one is present.
pub(crate) struct Person(pub(crate) Arc<World>);

impl HumanChannel for Person {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            if !self.0.scenario.attended {
                return None;
            }
            let mut rng = self.0.chances.of(&format!("person/{}", question.id));
            sleep(Duration::from_millis(rng.u64(100..9_000))).await;
            (rng.u32(0..8) > 0).then(|| answer(&mut rng))
        })
    }
}

/// Returns a random answer.
pub(crate) fn answer(rng: &mut fastrand::Rng) -> String {
    rng.choice(["yes", "yes", "no", "always", "stop", "by the left way"]).unwrap_or("yes").to_owned()
}

/// Performs the actions of people that are due in this life.
pub(crate) async fn external_events(world: Arc<World>, journal: Journal, control: RunControl) {
    let mut now = 0;
    loop {
        let Some((at, external_event)) = world.scenario.external_events.get(world.external_events.load(Ordering::Relaxed)) else { return };
        sleep(Duration::from_millis(at.saturating_sub(now))).await;
        now = now.max(*at);
        world.external_events.fetch_add(1, Ordering::Relaxed);
        let message = match external_event {
            ExternalEvent::Stop => {
                control.stop.cancel();
                continue;
            }
            ExternalEvent::Clock(seconds) => {
                world.clock(*seconds);
                continue;
            }
            ExternalEvent::Pause => InboxMessage::Pause {},
            ExternalEvent::Cancel => InboxMessage::Cancel { task: None },
            ExternalEvent::Say => InboxMessage::Say { task: None, text: "go slowly".to_owned() },
            ExternalEvent::CancelTask => {
                let state = lock(&world.orchestrator).as_ref().and_then(|orchestrator| orchestrator.live().get(&run_id()));
                let task = state.and_then(|state| {
                    let mut open = state.tasks.values().filter(|task| task.status.is_open() || task.status == TaskStatus::Running);
                    open.next().map(|task| task.spec.id.clone())
                });
                let Some(task) = task else { continue };
                InboxMessage::Cancel { task: Some(task) }
            }
        };
        put(&journal, &message).await;
    }
}

/// Puts a message into the run's inbox. A failing disk loses it, and the person notices.
pub(crate) async fn put(journal: &Journal, message: &InboxMessage) {
    if let Ok(text) = serde_json::to_string(message) {
        drop(journal.inbox_put(RUN, 1, &text).await);
    }
}
