use std::sync::Mutex;

use futures::StreamExt;

use super::*;
use crate::scripted::{Reply, ScriptedModel, When};
use crate::{Message, Prices, Usage, in_one_part};

const CANARY: &str = "canary-4711";

fn redactor() -> Redactor {
    Redactor::new([CANARY])
}

fn ask(text: &str) -> ChatRequest {
    ChatRequest { messages: vec![Arc::new(Message::user(text))], ..ChatRequest::default() }
}

fn down() -> Reply {
    Reply::status(503, "overloaded")
}

/// Returns settings without wait between attempts.
fn twice() -> RetrySettings {
    RetrySettings { max_retries: 1, first_wait: Duration::ZERO, jitter_seed: Some(1), ..RetrySettings::default() }
}

/// Writes down what it is asked.
#[derive(Default)]
struct Ledger {
    wanted: Mutex<Vec<TryEstimate>>,
    booked: Mutex<Vec<TryCost>>,
    /// Tries that it has room for.
    room: Option<usize>,
}

struct Entry<'a>(&'a Ledger);

impl Meter for Ledger {
    fn reserve(&self, wanted: TryEstimate) -> Result<Box<dyn CostReservation + '_>, OutOfBudget> {
        let mut all = self.wanted.lock().unwrap();
        if self.room.is_some_and(|room| all.len() >= room) {
            return Err(OutOfBudget { bound: "tokens".to_owned(), detail: "all are used".into() });
        }
        all.push(wanted);
        Ok(Box::new(Entry(self)))
    }
}

impl CostReservation for Entry<'_> {
    fn settle(self: Box<Self>, cost: TryCost) {
        self.0.booked.lock().unwrap().push(cost);
    }
}

/// Adds a text with a secret to each request, and keeps what it sees.
#[derive(Default)]
struct Watching {
    requests: Mutex<Vec<String>>,
    answers: Mutex<Vec<String>>,
}

impl ModelHook for Watching {
    fn before<'a>(&'a self, _: &'a str, mut request: ChatRequest) -> BoxFuture<'a, Result<ChatRequest, ModelError>> {
        self.requests.lock().unwrap().push(format!("{:?}", request.messages));
        request.end_with(&format!("The hook knows {CANARY} too."));
        Box::pin(async { Ok(request) })
    }

    fn sees_answers(&self) -> bool {
        true
    }

    fn after<'a>(&'a self, _: &'a str, request: &'a ChatRequest, answer: &'a ChatResponse) -> BoxFuture<'a, Result<(), ModelError>> {
        assert!(!format!("{:?}", request.messages).contains(CANARY), "{:?}", request.messages);
        self.answers.lock().unwrap().push(answer.content.clone());
        Box::pin(async { Ok(()) })
    }
}

fn prices(input: f64) -> Prices {
    Prices { input, ..Prices::default() }
}

#[tokio::test(start_paused = true)]
async fn a_request_passes_the_layers_in_their_order() {
    // The first model fails twice, the second once: four tries in all.
    let first = ScriptedModel::new("first").with_prices(prices(1.0)).on(When::any(), [down()]);
    let second = ScriptedModel::new("second")
        .with_prices(prices(2.0))
        .on(When::any(), [Reply::error(ModelError::Cut { model: "second".into() }), Reply::text(format!("It is {CANARY}."))]);
    let (ledger, hook) = (Arc::new(Ledger::default()), Arc::new(Watching::default()));
    let model = ModelStack::of(first.clone())
        .retrying(twice())
        .or_else([ModelStack::of(second.clone()).retrying(twice())])
        .build(&redactor())
        .hooked(Arc::clone(&hook) as Arc<dyn ModelHook>)
        .metered(Arc::clone(&ledger) as Arc<dyn Meter>)
        .cached_as("run-1")
        .ending_with(format!("The caller says {CANARY}."));

    let answer = model.complete(ask(&format!("What is {CANARY}?"))).await.unwrap();

    // Redaction is outside of fallback and retries, and on both sides of the hook.
    let sent = [first.requests(), second.requests()].concat();
    let sent: Vec<String> = sent.iter().map(|request| format!("{:?} {:?}", request.messages, request.cache_key)).collect();
    assert_eq!(sent.len(), 4);
    for sent in &sent {
        assert!(!sent.contains(CANARY), "{sent}");
        assert_eq!(sent.matches("[redacted-secret]").count(), 3, "of the request, its frame and the hook: {sent}");
        assert!(sent.contains("run-1"), "{sent}");
    }
    // The hook is outside of fallback and retries, inside of the frame, and sees what was redacted.
    let seen = hook.requests.lock().unwrap().clone();
    assert_eq!(seen.len(), 1, "it is asked once for all tries");
    assert!(seen[0].contains("The caller says [redacted-secret].") && !seen[0].contains(CANARY), "{seen:?}");
    assert_eq!(*hook.answers.lock().unwrap(), ["It is [redacted-secret]."]);
    assert_eq!(answer.content, "It is [redacted-secret].");
    // The budget is inside of fallback and retries: every try is reserved at its own model's price, and what was paid for is booked.
    let wanted: Vec<_> = ledger.wanted.lock().unwrap().iter().map(|wanted| wanted.prices.unwrap().input).collect();
    assert_eq!(wanted, [1.0, 1.0, 2.0, 2.0]);
    let booked = ledger.booked.lock().unwrap();
    assert_eq!(booked.len(), 2, "the cut answer and the whole one; refused tries cost nothing: {booked:?}");
    assert!(booked.iter().all(|cost| cost.usage.input_tokens > 0), "{booked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_passes_the_same_layers() {
    let first = ScriptedModel::new("first").on(When::any(), [down()]);
    let second = ScriptedModel::new("second").on(When::any(), [Reply::text(format!("It is {CANARY}."))]);
    let ledger = Arc::new(Ledger::default());
    let stack = ModelStack::of(first.clone()).retrying(twice()).or_else([ModelStack::of(second.clone())]);
    let model = stack.build(&redactor()).metered(Arc::clone(&ledger) as Arc<dyn Meter>);
    let parts: Vec<_> = model.stream(ask(CANARY)).collect().await;
    let shown = format!("{parts:?} {:?} {:?}", first.requests(), second.requests());
    assert!(parts.iter().all(Result::is_ok) && !shown.contains(CANARY), "{shown}");
    assert_eq!((ledger.wanted.lock().unwrap().len(), ledger.booked.lock().unwrap().len()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_budget_is_an_error_at_once() {
    for (room, asked) in [(0, [0, 0]), (1, [1, 0])] {
        let first = ScriptedModel::new("first").on(When::any(), [down()]);
        let second = ScriptedModel::new("second").on(When::any(), [Reply::text("hello")]);
        let stack = ModelStack::of(first.clone()).retrying(twice()).or_else([ModelStack::of(second.clone())]);
        let ledger = Arc::new(Ledger { room: Some(room), ..Ledger::default() });
        let model = stack.build(&redactor()).metered(ledger);
        let errors = [model.complete(ask("hi")).await.unwrap_err(), model.stream(ask("hi")).next().await.unwrap().unwrap_err()];
        for error in errors {
            let ModelError::OutOfBudget { bound, .. } = error.root() else { panic!("{error}") };
            assert_eq!((bound.as_str(), error.to_string().as_str()), ("tokens", "no answer of first: all are used"));
            assert!(!error.is_retryable());
        }
        assert_eq!([first.requests().len(), second.requests().len()], asked, "no other try is made");
    }
}

/// Hands on some parts, and then none.
struct Stuck;

impl ChatModel for Stuck {
    fn name(&self) -> &str {
        "stuck"
    }

    fn prices(&self) -> Option<Prices> {
        Some(Prices { output: 1_000_000.0, ..prices(0.0) })
    }

    fn stream(&self, _: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        futures::stream::iter([Ok(StreamPart::Text("four words of text!!".into()))]).chain(futures::stream::pending()).boxed()
    }
}

#[tokio::test]
async fn what_was_begun_and_given_up_is_booked_by_estimate() {
    let ledger = Arc::new(Ledger::default());
    let model = ModelStack::of(Stuck).build(&Redactor::default()).metered(Arc::clone(&ledger) as Arc<dyn Meter>);
    drop(model.stream(ask("four words of text!!")));
    assert!(ledger.booked.lock().unwrap().is_empty(), "nothing was sent");
    let mut parts = model.stream(ask("four words of text!!"));
    parts.next().await.unwrap().unwrap();
    drop(parts);
    assert_eq!(*ledger.booked.lock().unwrap(), [TryCost { usage: Usage::new(5, 5), cost_usd: 5.0 }]);
}

/// A model behind a server of this protocol.
struct Served(Protocol);

impl ChatModel for Served {
    fn name(&self) -> &str {
        "served"
    }

    fn protocol(&self) -> Option<Protocol> {
        Some(self.0)
    }

    fn stream(&self, _: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        in_one_part(async { Ok(ChatResponse::text("served", "hi")) })
    }
}

#[tokio::test]
async fn all_searches_of_a_request_are_reserved() {
    for (protocol, searches) in [(Protocol::Messages, 5), (Protocol::Responses, 1), (Protocol::Gemini, 1)] {
        let ledger = Arc::new(Ledger::default());
        let model = ModelStack::of(Served(protocol)).build(&redactor()).metered(Arc::clone(&ledger) as Arc<dyn Meter>);
        for web_search in [true, false] {
            model.complete(ChatRequest { web_search, ..ask("hi") }).await.unwrap();
        }
        let wanted: Vec<u32> = ledger.wanted.lock().unwrap().iter().map(|wanted| wanted.searches).collect();
        assert_eq!(wanted, [searches, 0], "{protocol:?}");
    }
}

/// Answers through [`ChatModel::complete`] in another way than in parts, and holds what no default does.
struct CustomModel;

impl ChatModel for CustomModel {
    fn name(&self) -> &str {
        "odd"
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits { context_tokens: 7, max_output_tokens: 5, small: true }
    }

    fn prices(&self) -> Option<Prices> {
        Some(prices(3.0))
    }

    fn protocol(&self) -> Option<Protocol> {
        Some(Protocol::Gemini)
    }

    fn address(&self) -> Option<&str> {
        Some("http://odd.example/v1")
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        in_one_part(async move { Ok(ChatResponse::text("odd", format!("streamed {:?}", request.max_output_tokens))) })
    }

    fn complete(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatResponse, ModelError>> {
        Box::pin(async move { Ok(ChatResponse::text("odd", format!("whole {:?}", request.max_output_tokens))) })
    }
}

#[tokio::test]
async fn no_layer_hides_the_model_within() {
    let stacked = || ModelStack::of(CustomModel).throttled(Duration::from_secs(1));
    let limits = ModelLimits { context_tokens: 6, max_output_tokens: 4, small: false };
    let stack = stacked().limited_to(limits).or_else([stacked()]);
    let model = stack.build(&redactor()).metered(Arc::<Ledger>::default()).hooked(Arc::<Watching>::default()).cached_as("key");
    assert_eq!((model.name(), stack.name()), ("odd", "odd"));
    assert_eq!(model.prices().map(|prices| prices.input), Some(3.0));
    assert_eq!((model.protocol(), stack.protocol()), (Some(Protocol::Gemini), Some(Protocol::Gemini)));
    assert_eq!(model.address(), Some("http://odd.example/v1"));
    assert_eq!((model.limits(), stack.limits()), (limits, limits));
    assert_eq!(model.complete(ask("hi")).await.unwrap().content, "whole Some(4)");
    let plain = stacked().build(&redactor());
    let parts: Vec<_> = plain.stream(ask("hi")).collect().await;
    assert!(matches!(&parts[..], [.., Ok(StreamPart::Done(answer))] if answer.content == "streamed None"), "{parts:?}");
    let retried = stacked().retrying(twice()).build(&redactor()).complete(ask("hi")).await.unwrap();
    assert_eq!(retried.content, "streamed None", "the retries watch an answer arrive, so that its deadline is not that of the whole");
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_stack_share_what_was_learnt() {
    let first = ScriptedModel::new("first")
        .on(When::any(), [Reply::error(ModelError::Unreachable { url: "u".into(), setting: None, reason: "r".into() })]);
    let stack = ModelStack::of(first.clone()).or_else([ScriptedModel::new("second").on(When::any(), [Reply::text("hi")]).into()]);
    for _ in 0..4 {
        stack.clone().build(&redactor()).complete(ask("hi")).await.unwrap();
    }
    assert_eq!(first.requests().len(), 1, "it is left out of three requests, whoever builds the model");
}
