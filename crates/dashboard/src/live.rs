//! What happens in a run, as it happens, as server-sent events: to programs its events, to pages what of them is no longer so.

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
    Event, Looked, Refusal,
    api::refused,
    changes::Shown,
    pages,
    server::{Shared, reading},
};

/// How often it is looked for more: other processes write the journal.
const LOOK: Duration = Duration::from_millis(300);
/// The most events that are read at once.
const MOST: usize = 500;

/// The number of the last event that who asks has: `Last-Event-ID`, as browsers say it, or else `?after=N`.
fn seen(head: &HeaderMap, query: Option<&str>) -> Option<u64> {
    let last = head.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let after = || {
        let (_, number) = url::form_urlencoded::parse(query?.as_bytes()).find(|(name, _)| name == "after")?;
        number.parse().ok()
    };
    last.or_else(after)
}

fn sent(events: impl Stream<Item = Sent> + Send + 'static) -> Response {
    use futures::StreamExt;

    Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::default()).into_response()
}

/// The events of a run after those that are known. Each has its number as its id, so that who was cut off goes on after the last that was seen: none is lost and
/// none comes twice.
pub(crate) async fn events(State(shared): State<Shared>, Path(run): Path<String>, RawQuery(query): RawQuery, head: HeaderMap) -> Response {
    let seen = seen(&head, query.as_deref()).unwrap_or(0);
    let mut place = Place { shared, run, seen, ready: VecDeque::new() };
    // Whether there is such a run is told before the stream begins.
    if let Err(refusal) = place.read().await {
        return refused(&refusal);
    }
    sent(stream::unfold(place, |mut place| async move {
        let event = place.next().await?;
        Some((event, place))
    }))
}

/// Where one who listens is.
struct Place {
    shared: Shared,
    run: String,
    seen: u64,
    ready: VecDeque<Event>,
}

impl Place {
    async fn read(&mut self) -> Result<(), Refusal> {
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

/// What of a run's page is no longer so, each time that something has happened: the pieces that changed, and no others.
pub(crate) async fn changes(State(shared): State<Shared>, Path(run): Path<String>, RawQuery(query): RawQuery, head: HeaderMap) -> Response {
    let looked = match look(&shared, &run).await {
        Ok(looked) => looked,
        Err(refusal) => return refused(&refusal),
    };
    // A page that was made when as much had happened shows all but what is no event. For any other, nobody knows what it shows.
    let shown = (seen(&head, query.as_deref()) == Some(looked.seq)).then(|| {
        let pieces = pages::pieces(&looked, &shared.access);
        Shown::of(pieces.get(1..).unwrap_or_default())
    });
    let page = Page { shared, run, whole: shown.is_none(), shown: shown.unwrap_or_default(), told: None, looked: Some(looked) };
    sent(stream::unfold(page, |mut page| async move {
        let event = page.next().await?;
        Some((event, page))
    }))
}

async fn look(shared: &Shared, run: &str) -> Result<Looked, Refusal> {
    let run = run.to_owned();
    reading(shared, move |runs| runs.look(&run)).await
}

/// A page that somebody has before them.
struct Page {
    shared: Shared,
    run: String,
    shown: Shown,
    /// Nobody knows what it shows.
    whole: bool,
    /// How it stood when it was told last: the number of the last event, and whether it was carried out.
    told: Option<(u64, bool)>,
    /// What was found when it was looked at last, until that is told.
    looked: Option<Looked>,
}

impl Page {
    /// What has changed, when something has; nothing once the run is gone.
    async fn next(&mut self) -> Option<Sent> {
        loop {
            if let Some(looked) = self.looked.take() {
                self.told = Some((looked.seq, looked.driven));
                let changes = self.shown.renew(pages::pieces(&looked, &self.shared.access));
                let whole = std::mem::take(&mut self.whole);
                let document = json!({"whole": whole, "over": looked.is_settled(), "changes": changes});
                return Some(Sent::default().id(looked.seq.to_string()).event("changes").data(document.to_string()));
            }
            tokio::time::sleep(LOOK).await;
            if self.has_moved().await.ok()? {
                self.looked = Some(look(&self.shared, &self.run).await.ok()?);
            }
        }
    }

    async fn has_moved(&self) -> Result<bool, Refusal> {
        let (run, told) = (self.run.clone(), self.told);
        reading(&self.shared, move |runs| {
            let Some((seq, driven)) = told else { return Ok(true) };
            Ok(!runs.events(&run, seq, 1)?.is_empty() || runs.is_driven(&run)? != driven)
        })
        .await
    }
}
