//! The corpus of streams and documents: in random pieces, cut at every byte, and what of it may run.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::Value;

use super::{ask, line};
use crate::corpus::{self, Named};
use crate::{
    ChatModel, ChatResponse, FinishReason, Model, ModelError, ModelStack, OpenAiSettings, Redactor, Transport, TransportResponse,
    read_arguments,
};

/// Number of random splits of each stream.
const SPLITS: u64 = 12;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    body: Option<String>,
    #[serde(default)]
    events: Vec<String>,
    done: Option<bool>,
    is: String,
    runs: Option<Vec<String>>,
}

impl Named for Case {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        let events = || self.events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>();
        let end = if self.done == Some(false) { "" } else { "data: [DONE]\n\n" };
        self.body.clone().unwrap_or_else(|| events() + end).into_bytes()
    }
}

/// A way that answers with these pieces, and breaks off behind them if it is to.
#[derive(Default)]
struct Player(Mutex<(Vec<Vec<u8>>, bool)>);

impl Transport for Player {
    fn send(&self, _: &[u8]) -> BoxFuture<'_, std::io::Result<TransportResponse>> {
        let (pieces, breaks) = std::mem::take(&mut *self.0.lock().unwrap());
        let end = stream::iter(breaks.then(|| Err(std::io::Error::other("reset by peer"))));
        let body = stream::iter(pieces.into_iter().map(Ok)).chain(end).boxed();
        async { Ok(TransportResponse { status: 200, headers: Vec::new(), body }) }.boxed()
    }
}

struct Reader {
    player: Arc<Player>,
    model: Model,
}

impl Reader {
    fn new(streaming: bool) -> Self {
        let player = Arc::new(Player::default());
        let mut settings = OpenAiSettings::new("m", "http://localhost/v1");
        settings.retry.max_retries = 0;
        settings.streaming = streaming;
        Self {
            model: ModelStack::with_transport(settings, Arc::clone(&player) as Arc<dyn Transport>).unwrap().build(&Redactor::default()),
            player,
        }
    }

    async fn read(&self, pieces: Vec<Vec<u8>>, breaks: bool) -> Result<ChatResponse, ModelError> {
        *self.player.0.lock().unwrap() = (pieces, breaks);
        self.model.complete(ask("hello")).await
    }
}

fn shown(answer: &Result<ChatResponse, ModelError>) -> String {
    line(answer).replace("http://localhost/v1", "URL")
}

/// Returns the calls that an actor would run: none of an answer that the limit cut, and none whose arguments cannot
/// be read.
fn runs(answer: &Result<ChatResponse, ModelError>) -> Vec<String> {
    let Ok(answer) = answer else { return Vec::new() };
    let calls = answer.tool_calls.iter().filter(|_| answer.finish != FinishReason::Length);
    calls.filter_map(|call| Some(format!("{} {}", call.name, Value::Object(read_arguments(&call.arguments, None).ok()?)))).collect()
}

fn at_random(bytes: &[u8], seed: u64) -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(seed);
    let longest = [1, 3, 20, 200][random.usize(..4)];
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(random.usize(1..=longest).min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

async fn check(file: &str, streaming: bool) {
    let reader = Reader::new(streaming);
    let mut wrong = Vec::new();
    for case in corpus::read::<Case>(file).cases {
        let bytes = case.bytes();
        let answer = reader.read(vec![bytes.clone()], false).await;
        let found = shown(&answer);
        if found != case.is {
            wrong.push(format!("{}\n  is = '{found}'", case.name));
            continue;
        }
        let may_run = runs(&answer);
        if let Some(runs) = &case.runs
            && *runs != may_run
        {
            wrong.push(format!("{}\n  runs = {may_run:?}", case.name));
        }
        if case.runs.is_none() && answer.as_ref().is_ok_and(|answer| answer.tool_calls.len() != may_run.len()) {
            wrong.push(format!("{}: not all calls run: runs = {may_run:?}", case.name));
        }
        for seed in 0..SPLITS {
            let split = shown(&reader.read(at_random(&bytes, seed), false).await);
            if split != case.is {
                wrong.push(format!("{} taken apart with seed {seed}\n  {split}", case.name));
            }
        }
    }
    corpus::none_of(&wrong);
}

// Requirement: 16.1
#[tokio::test]
async fn every_stream_is_read_however_it_is_taken_apart() {
    check("streams.toml", true).await;
}

// Requirement: 16.1
#[tokio::test]
async fn every_document_is_read_whatever_was_asked_for() {
    check("documents.toml", false).await;
    check("documents.toml", true).await;
}

/// Checks that a cut answer is refused, or is the whole answer except for the tokens at its end.
async fn check_cut(file: &str, streaming: bool) {
    let reader = Reader::new(streaming);
    let mut wrong = Vec::new();
    for case in corpus::read::<Case>(file).cases {
        let bytes = case.bytes();
        let whole = reader.read(vec![bytes.clone()], false).await;
        for at in 0..bytes.len() {
            let cut = reader.read(vec![bytes[..at].to_vec()], at % 2 == 0).await;
            let same = match (&cut, &whole) {
                (Ok(cut), Ok(whole)) => {
                    (&cut.content, &cut.reasoning, &cut.tool_calls) == (&whole.content, &whole.reasoning, &whole.tool_calls)
                }
                (Ok(_), Err(_)) => false,
                (Err(_), _) => true,
            };
            if !same || runs(&cut).iter().any(|call| !runs(&whole).contains(call)) {
                wrong.push(format!("{} cut at {at}\n  {}\n  {:?}", case.name, shown(&cut), String::from_utf8_lossy(&bytes[..at])));
            }
        }
    }
    corpus::none_of(&wrong);
}

// Requirement: 16.2
#[tokio::test]
async fn a_stream_that_is_cut_anywhere_never_runs_half_a_call() {
    check_cut("streams.toml", true).await;
}

// Requirement: 16.2
#[tokio::test]
async fn a_document_that_is_cut_anywhere_is_no_answer() {
    check_cut("documents.toml", true).await;
}
