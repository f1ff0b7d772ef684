//! Live updates as server-sent events: events for programs, changed pieces for pages.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    extract::{Path, RawQuery, State},
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event as Sent, KeepAlive, Sse},
    },
};
use futures::{Stream, stream};
use serde_json::json;

use crate::{
    Event, Refusal, RunDetails,
    api::refused,
    changes::PageHashes,
    pages,
    server::{Shared, reading},
};

/// Polling interval: other processes write the journal.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Largest number of events that are read at once.
const MAX_EVENTS: usize = 500;

/// Returns the id of the last event that the client has: `Last-Event-ID`, which browsers send, or else `?after=ID`.
fn last_event_id(head: &HeaderMap, query: Option<&str>) -> Option<String> {
    let last = head.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let after = || {
        let (_, id) = url::form_urlencoded::parse(query?.as_bytes()).find(|(name, _)| name == "after")?;
        Some(id.into_owned())
    };
    last.or_else(after)
}

fn sent(events: impl Stream<Item = Sent> + Send + 'static) -> Response {
    use futures::StreamExt;

    Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::default()).into_response()
}

/// Streams the events of a run after the known ones. The id of each is its number, so a client that reconnects continues after the last one
/// seen, without loss or repetition.
pub(crate) async fn events(State(shared): State<Shared>, Path(run): Path<String>, RawQuery(query): RawQuery, head: HeaderMap) -> Response {
    let seen = last_event_id(&head, query.as_deref()).and_then(|id| id.parse().ok()).unwrap_or(0);
    let mut place = Place { shared, run, last_event: seen, ready: VecDeque::new() };
    // A missing run must be reported before the stream begins.
    if let Err(refusal) = place.read().await {
        return refused(&refusal);
    }
    sent(stream::unfold(place, |mut place| async move {
        let event = place.next().await?;
        Some((event, place))
    }))
}

/// Position of a client in a stream.
struct Place {
    shared: Shared,
    run: String,
    last_event: u64,
    ready: VecDeque<Event>,
}

impl Place {
    async fn read(&mut self) -> Result<(), Refusal> {
        let (run, seen) = (self.run.clone(), self.last_event);
        let found = reading(&self.shared, move |runs| runs.events(&run, seen, MAX_EVENTS)).await?;
        // An event after a gap must wait, or the gap would be skipped forever.
        for event in found {
            if event.seq != self.last_event + 1 {
                break;
            }
            self.last_event = event.seq;
            self.ready.push_back(event);
        }
        Ok(())
    }

    /// Waits for the next event; none once the run is gone.
    async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Sent::default().id(event.seq.to_string()).data(event.document.to_string()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            self.read().await.ok()?;
        }
    }
}

/// Streams the pieces of a run's page that change, each time that something has happened.
pub(crate) async fn changes(State(shared): State<Shared>, Path(run): Path<String>, RawQuery(query): RawQuery, head: HeaderMap) -> Response {
    let looked = match load_details(&shared, &run).await {
        Ok(looked) => looked,
        Err(refusal) => return refused(&refusal),
    };
    // The content of a page is known only if it was made of this state. Every other page gets all pieces.
    let shown = (last_event_id(&head, query.as_deref()) == Some(looked.state_id())).then(|| {
        let pieces = pages::pieces(&looked, &shared.access);
        PageHashes::of(pieces.get(1..).unwrap_or_default())
    });
    let page =
        Page { shared, run, is_unknown: shown.is_none(), hashes: shown.unwrap_or_default(), updated_at: None, details: Some(looked) };
    sent(stream::unfold(page, |mut page| async move {
        let event = page.next().await?;
        Some((event, page))
    }))
}

async fn load_details(shared: &Shared, run: &str) -> Result<RunDetails, Refusal> {
    let run = run.to_owned();
    reading(shared, move |runs| runs.details(&run)).await
}

/// Page that is open in a browser.
struct Page {
    shared: Shared,
    run: String,
    hashes: PageHashes,
    /// True if its content is unknown.
    is_unknown: bool,
    /// State when it was last updated: the number of the last event, and whether the run was driven.
    updated_at: Option<(u64, bool)>,
    /// Run as last read, until it is sent.
    details: Option<RunDetails>,
}

impl Page {
    /// Waits for the next changes; none once the run is gone.
    async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some(looked) = self.details.take() {
                self.updated_at = Some((looked.seq, looked.driven));
                let changes = self.hashes.renew(pages::pieces(&looked, &self.shared.access));
                let whole = std::mem::take(&mut self.is_unknown);
                let document = json!({"whole": whole, "over": looked.is_settled(), "changes": changes});
                return Some(Sent::default().id(looked.state_id()).event("changes").data(document.to_string()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
            if self.has_moved().await.ok()? {
                self.details = Some(load_details(&self.shared, &self.run).await.ok()?);
            }
        }
    }

    async fn has_moved(&self) -> Result<bool, Refusal> {
        let (run, last_update) = (self.run.clone(), self.updated_at);
        reading(&self.shared, move |runs| {
            let Some((seq, driven)) = last_update else { return Ok(true) };
            Ok(!runs.events(&run, seq, 1)?.is_empty() || runs.is_driven(&run)? != driven)
        })
        .await
    }
}
