//! Tests faults of a provider in virtual time: the waits, their durations, and the number of attempts.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use tokio::time::{Instant, sleep};

use super::{ask, line};
use crate::{
    ChatModel, ChatResponse, Model, ModelError, ModelStack, OpenAiSettings, Redactor, RetrySettings, StreamPart, Transport,
    TransportResponse,
};

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n";
const KEEP_ALIVE: &str = ": keep-alive\n\n";
const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Reaction of a provider to a request.
#[derive(Debug, Clone)]
enum Does {
    Answers,
    /// Sends nothing, not even headers.
    Hangs,
    /// Says these bytes, and then nothing.
    HangsBehind(&'static str),
    /// Says these bytes again and again, each time after a wait.
    Drips(&'static str, Duration),
    /// Answers after this time, with a comment every ten seconds until then.
    Thinks(Duration),
    /// Says these bytes, and the connection breaks.
    BreaksBehind(&'static str),
    /// Cannot be reached.
    IsGone,
    Refuses(u16, &'static [(&'static str, &'static str)]),
    /// Bytes without an end, as fast as they are read.
    Floods,
}

/// Does one thing after the other, the last for ever.
struct Provider {
    does: Mutex<VecDeque<Does>>,
    asked: AtomicU32,
}

impl Transport for Provider {
    fn send(&self, _: &[u8]) -> BoxFuture<'_, std::io::Result<TransportResponse>> {
        self.asked.fetch_add(1, SeqCst);
        let does = {
            let mut left = self.does.lock().unwrap();
            let next = left.front().cloned().unwrap();
            if left.len() > 1 {
                left.pop_front();
            }
            next
        };
        let chunk = |text: &'static str| stream::iter([Ok(text.as_bytes().to_vec())]);
        let with = |status, headers: &[(&str, &str)], body| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            async move { Ok(TransportResponse { status, headers, body }) }.boxed()
        };
        match does {
            Does::Answers => with(200, &[], chunk(HELLO).chain(chunk(END)).boxed()),
            Does::Hangs => futures::future::pending().boxed(),
            Does::HangsBehind(text) => with(200, &[], chunk(text).chain(stream::pending()).boxed()),
            Does::Drips(text, every) => {
                let drops = stream::repeat(text).then(move |text| sleep(every).map(move |()| Ok(text.as_bytes().to_vec())));
                with(200, &[], drops.boxed())
            }
            Does::Thinks(time) => {
                let comments = stream::iter(0..time.as_secs() / 10)
                    .then(|_| sleep(Duration::from_secs(10)).map(|()| Ok(KEEP_ALIVE.as_bytes().to_vec())));
                with(200, &[], comments.chain(chunk(HELLO)).chain(chunk(END)).boxed())
            }
            Does::BreaksBehind(text) => with(200, &[], chunk(text).chain(stream::iter([Err(std::io::Error::other("reset"))])).boxed()),
            Does::IsGone => async { Err(std::io::Error::other("connection refused")) }.boxed(),
            Does::Refuses(status, headers) => with(status, headers, chunk("{\"error\":\"busy\"}").boxed()),
            Does::Floods => with(200, &[], stream::repeat_with(|| Ok(vec![b'x'; 1 << 20])).boxed()),
        }
    }
}

fn provider(does: impl IntoIterator<Item = Does>) -> Arc<Provider> {
    Arc::new(Provider { does: Mutex::new(does.into_iter().collect()), asked: AtomicU32::new(0) })
}

fn model(name: &str, transport: Arc<dyn Transport>) -> Model {
    let mut settings = OpenAiSettings::new(name, "http://localhost/v1");
    settings.retry = RetrySettings { jitter_seed: Some(7), ..RetrySettings::default() };
    ModelStack::with_transport(settings, transport).unwrap().build(&Redactor::default())
}

/// Returns the result of a request, the number of attempts, and the seconds until the result.
async fn outcome(does: impl IntoIterator<Item = Does>) -> (Result<ChatResponse, ModelError>, u32, u64) {
    let provider = provider(does);
    let model = model("m", Arc::clone(&provider) as Arc<dyn Transport>);
    let start = Instant::now();
    let answer = model.complete(ask("hello")).await;
    (answer, provider.asked.load(SeqCst), start.elapsed().as_secs())
}

// Requirement: 16.5
#[tokio::test(start_paused = true)]
async fn a_wait_of_300_seconds_ends_at_300_seconds() {
    let hour = Duration::from_secs(3_600);
    let cases = [
        ("silence", Does::Hangs, "m did not answer within 300 s", 300),
        ("headers and silence", Does::HangsBehind(""), "m did not answer within 300 s", 300),
        ("a comment and silence", Does::HangsBehind(KEEP_ALIVE), "m did not answer within 300 s", 300),
        ("comments for ever", Does::Drips(KEEP_ALIVE, Duration::from_secs(10)), "m did not answer within 3600 s", hour.as_secs()),
        ("a letter at a time, and no event", Does::Drips("d", Duration::from_secs(1)), "m did not answer within 3600 s", hour.as_secs()),
        ("text and silence", Does::HangsBehind(HELLO), "m did not answer within 300 s", 300),
        ("text for ever", Does::Drips(HELLO, Duration::from_secs(200)), "m did not answer within 3600 s", hour.as_secs()),
    ];
    for (name, does, words, seconds) in cases {
        let (answer, asked, after) = outcome([does]).await;
        assert_eq!((line(&answer), asked, after), (format!("error: {words}"), 1, seconds), "{name}");
    }
}

// Requirement: 16.5
#[tokio::test(start_paused = true)]
async fn an_attempt_has_the_time_of_its_client_whatever_came_before() {
    let (answer, asked, after) = outcome([Does::Refuses(500, &[]), Does::Hangs]).await;
    assert_eq!((line(&answer).as_str(), asked), ("error: m did not answer within 300 s (gave up after 2 attempts)", 2));
    assert!((300..302).contains(&after), "{after}");
}

// Requirement: 16.5
#[tokio::test(start_paused = true)]
async fn a_model_that_thinks_for_long_while_its_server_sends_comments_is_waited_for() {
    let provider = provider([Does::Thinks(Duration::from_secs(900))]);
    let model = model("m", Arc::clone(&provider) as Arc<dyn Transport>);
    let start = Instant::now();
    let answer = model.complete(ask("hello")).await;
    assert_eq!((line(&answer).as_str(), provider.asked.load(SeqCst), start.elapsed().as_secs()), ("\"hello\" stop estimated by m", 1, 900));
}

// Requirement: 16.5
#[tokio::test(start_paused = true)]
async fn retries_are_bounded_whatever_the_storm() {
    // Five attempts; the waits between them are at most 0.5 and three times 2 s, because the server is on this machine, or what it asks
    // for, at most 60 s.
    let cases = [
        ("429", Does::Refuses(429, &[]), 5, 4..7),
        ("429 with a wait", Does::Refuses(429, &[("Retry-After", "20")]), 5, 80..81),
        ("429 with a wait of five minutes", Does::Refuses(429, &[("retry-after", "300")]), 5, 240..241),
        ("429 with a wait of a day", Does::Refuses(429, &[("retry-after", "86400")]), 1, 0..1),
        ("429 with a wait of nothing", Does::Refuses(429, &[("retry-after", "0")]), 5, 4..7),
        ("429 with a wait of milliseconds", Does::Refuses(429, &[("retry-after-ms", "56")]), 5, 4..7),
        ("429 with a wait that is no number", Does::Refuses(429, &[("retry-after", "soon")]), 5, 4..7),
        // Both clocks are the server's own, so that no jump of ours counts.
        (
            "429 until a date",
            Does::Refuses(429, &[("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")]),
            5,
            40..41,
        ),
        (
            "429 until a date that is past",
            Does::Refuses(429, &[("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sat, 05 Nov 1994 08:49:37 GMT")]),
            5,
            4..7,
        ),
        ("500", Does::Refuses(500, &[]), 5, 4..7),
        ("503 with a wait", Does::Refuses(503, &[("retry-after", "5")]), 5, 20..21),
        ("529", Does::Refuses(529, &[]), 5, 4..7),
        ("gone", Does::IsGone, 5, 4..7),
        ("cut before anything", Does::BreaksBehind(""), 5, 4..7),
        ("cut in the middle", Does::BreaksBehind(HELLO), 5, 4..7),
        ("a flood", Does::Floods, 5, 4..7),
        ("400", Does::Refuses(400, &[]), 1, 0..1),
        ("401", Does::Refuses(401, &[]), 1, 0..1),
    ];
    for (name, does, attempts, seconds) in cases {
        let (answer, asked, after) = outcome([does]).await;
        assert!(
            answer.is_err() && asked == attempts && seconds.contains(&after),
            "{name}: {asked} attempts in {after} s, {}",
            line(&answer)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_survived() {
    for does in [
        Does::IsGone,
        Does::BreaksBehind(HELLO),
        Does::Refuses(429, &[]),
        Does::Refuses(429, &[("retry-after", "30")]),
        Does::Refuses(502, &[]),
        Does::Floods,
    ] {
        let (answer, asked, _) = outcome([does.clone(), does.clone(), Does::Answers]).await;
        assert_eq!((answer.unwrap().content.as_str(), asked), ("hello", 3), "{does:?}");
    }
}

/// Server that answers each request after a second, and refuses excess concurrent requests after a tenth of a second.
struct Crowded {
    most: AtomicU32,
    under_way: AtomicU32,
    peak: AtomicU32,
    refused: AtomicU32,
}

struct Leaves<'a>(&'a AtomicU32);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Transport for Crowded {
    fn send(&self, _: &[u8]) -> BoxFuture<'_, std::io::Result<TransportResponse>> {
        async {
            let now = self.under_way.fetch_add(1, SeqCst) + 1;
            let _leaves = Leaves(&self.under_way);
            self.peak.fetch_max(now, SeqCst);
            if now > self.most.load(SeqCst) {
                self.refused.fetch_add(1, SeqCst);
                sleep(Duration::from_millis(100)).await;
                let body = stream::iter([Ok(b"{\"error\":\"busy\"}".to_vec())]).boxed();
                return Ok(TransportResponse { status: 429, headers: Vec::new(), body });
            }
            sleep(Duration::from_secs(1)).await;
            Ok(TransportResponse::of([HELLO.as_bytes().to_vec(), END.as_bytes().to_vec()]))
        }
        .boxed()
    }
}

// Requirement: 16.6
#[tokio::test(start_paused = true)]
async fn fewer_are_asked_at_once_after_refusals_and_more_again_while_it_answers() {
    let crowded = Arc::new(Crowded { most: 4.into(), under_way: 0.into(), peak: 0.into(), refused: 0.into() });
    let model = model("m", Arc::clone(&crowded) as Arc<dyn Transport>);
    let many = |count: usize| futures::future::join_all((0..count).map(|_| model.complete(ask("hello"))));
    assert!(many(32).await.iter().all(Result::is_ok), "all are answered in the end");
    assert_eq!(crowded.peak.swap(0, SeqCst), 32);
    let storm = crowded.refused.swap(0, SeqCst);
    assert!(many(32).await.iter().all(Result::is_ok));
    assert!(crowded.peak.load(SeqCst) < 16, "{} at once after {storm} refusals", crowded.peak.load(SeqCst));
    assert!(crowded.refused.swap(0, SeqCst) < storm / 2);
    // The server has room again: so many answers later all are asked at once.
    crowded.most.store(100, SeqCst);
    for _ in 0..40 {
        assert!(many(32).await.iter().all(Result::is_ok));
    }
    crowded.peak.store(0, SeqCst);
    many(32).await;
    assert_eq!((crowded.peak.load(SeqCst), crowded.refused.load(SeqCst)), (32, 0));
}

// Requirement: 16.7
#[tokio::test(start_paused = true)]
async fn a_broken_provider_is_left_for_its_fallback_and_come_back_to() {
    let broken = provider(vec![Does::Hangs; 1].into_iter().chain([Does::Answers]));
    let second = model("second", provider([Does::Answers]) as Arc<dyn Transport>);
    let models = ModelStack::of(model("first", Arc::clone(&broken) as Arc<dyn Transport>)).or_else([ModelStack::of(second)]);
    let models = models.build(&Redactor::default());
    let mut answered = Vec::new();
    for _ in 0..6 {
        answered.push(models.complete(ask("hello")).await.unwrap().model);
    }
    assert_eq!(answered, ["second", "second", "second", "second", "first", "first"]);
    assert_eq!(broken.asked.load(SeqCst), 3, "one that hung, and two that answered");
}

#[tokio::test(start_paused = true)]
async fn whoever_stops_waiting_frees_the_place() {
    let provider = provider([Does::Hangs]);
    let model = model("m", Arc::clone(&provider) as Arc<dyn Transport>);
    for _ in 0..200 {
        let request = model.complete(ask("hello"));
        assert!(tokio::time::timeout(Duration::from_secs(1), request).await.is_err());
    }
    assert_eq!(provider.asked.load(SeqCst), 200, "none waits for those that were given up");
}

#[tokio::test(start_paused = true)]
async fn parts_are_handed_on_before_a_stream_breaks() {
    let model = model("m", provider([Does::BreaksBehind(HELLO), Does::Answers]) as Arc<dyn Transport>);
    let parts: Vec<_> = model.stream(ask("hello")).collect().await;
    assert!(matches!(parts.as_slice(), [Ok(StreamPart::Text(text)), Err(ModelError::Cut { .. })] if text == "hello"), "{parts:?}");
}
