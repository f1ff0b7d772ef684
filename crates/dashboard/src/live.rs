//! The events of a run as they happen, as server-sent events. Each has its number as its id, so that a browser that was cut off goes on after the
//! last it has seen: none is lost and none comes twice.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    extract::{Path, RawQuery, State},
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event as Sent, KeepAlive, Sse},
    },
};
use futures::stream;

use crate::{
    Event,
    api::refused,
    server::{Shared, reading},
};

/// How often it is looked for more: other processes write the journal.
const LOOK: Duration = Duration::from_millis(300);
/// The most events that are read at once.
const MOST: usize = 500;

/// Where one who listens is.
struct Place {
    shared: Shared,
    run: String,
    seen: u64,
    ready: VecDeque<Event>,
}

/// The events of a run after `Last-Event-ID`, or else after `?after=N`; all of them without either.
pub(crate) async fn events(State(shared): State<Shared>, Path(run): Path<String>, RawQuery(query): RawQuery, head: HeaderMap) -> Response {
    let last = head.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let query = query.unwrap_or_default();
    let after =
        || url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "after").and_then(|(_, number)| number.parse().ok());
    let seen = last.or_else(after).unwrap_or(0);
    let mut place = Place { shared, run, seen, ready: VecDeque::new() };
    // Whether there is such a run is told before the stream begins.
    if let Err(refusal) = place.read().await {
        return refused(&refusal);
    }
    let sent = stream::unfold(place, |mut place| async move {
        let event = place.next().await?;
        Some((Ok::<_, Infallible>(event), place))
    });
    Sse::new(sent).keep_alive(KeepAlive::default()).into_response()
}

impl Place {
    async fn read(&mut self) -> Result<(), crate::Refusal> {
        let (run, seen) = (self.run.clone(), self.seen);
        let found = reading(&self.shared, move |runs| runs.events(&run, seen, MOST)).await?;
        // A gap would be passed over for ever: what comes after one waits.
        for event in found {
            if event.seq != self.seen + 1 {
                break;
            }
            self.seen = event.seq;
            self.ready.push_back(event);
        }
        Ok(())
    }

    /// The next event, when there is one; nothing once the run is gone.
    async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Sent::default().id(event.seq.to_string()).data(event.document.to_string()));
            }
            tokio::time::sleep(LOOK).await;
            self.read().await.ok()?;
        }
    }
}
