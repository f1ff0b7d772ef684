use std::collections::VecDeque;
use std::sync::Mutex;

use super::*;
use crate::{FinishReason, Usage};

fn retrying(model: &Arc<Model>, settings: RetrySettings) -> Retrying {
    Retrying { inner: Arc::clone(model) as Arc<dyn ChatModel>, settings }
}

/// One attempt: its duration until it fails or answers, and the result.
#[derive(Debug, Clone)]
enum Step {
    Fails(ModelError),
    FailsAfterText(ModelError),
    Answers,
    Hangs,
    HangsAfterText,
}

struct Model {
    steps: Mutex<VecDeque<Step>>,
    asked: Mutex<u32>,
}

impl Model {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: Mutex::new(steps.into_iter().collect()), asked: Mutex::new(0) }
    }
}

fn answer() -> StreamPart {
    StreamPart::Done(Box::new(ChatResponse {
        content: "hi".into(),
        reasoning: String::new(),
        tool_calls: Vec::new(),
        native: None,
        citations: Vec::new(),
        finish: FinishReason::Stop,
        usage: Usage::default(),
        usage_estimated: false,
        model: "m".into(),
        effort: None,
        cost_usd: 0.0,
    }))
}

impl ChatModel for Model {
    fn name(&self) -> &str {
        "m"
    }

    fn stream(&self, _: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        *self.asked.lock().unwrap() += 1;
        let text = || Ok(StreamPart::Text("h".into()));
        let step = self.steps.lock().unwrap().pop_front().unwrap_or(Step::Answers);
        match step {
            Step::Fails(error) => stream::iter(vec![Err(error)]).boxed(),
            Step::FailsAfterText(error) => stream::iter(vec![text(), Err(error)]).boxed(),
            Step::Answers => stream::iter(vec![text(), Ok(answer())]).boxed(),
            Step::Hangs => stream::pending().boxed(),
            Step::HangsAfterText => stream::iter(vec![text()]).chain(stream::pending()).boxed(),
        }
    }
}

fn down() -> ModelError {
    ModelError::Server { model: "m".into(), status: 500, message: "down".into(), retry_after: None }
}

fn limited(seconds: u64) -> ModelError {
    ModelError::RateLimited { model: "m".into(), message: "slow".into(), retry_after: Some(Duration::from_secs(seconds)) }
}

fn cut() -> ModelError {
    ModelError::Cut { model: "m".into() }
}

fn refused() -> ModelError {
    ModelError::Refused { model: "m".into(), status: 400, message: "no".into() }
}

/// Returns the outcome, the attempts, and the waits in seconds.
async fn complete(steps: Vec<Step>, settings: RetrySettings) -> (Result<String, String>, u32, Vec<f64>) {
    let waits: Arc<Mutex<Vec<f64>>> = Arc::default();
    let seen = Arc::clone(&waits);
    let observer: Arc<dyn RetryObserver> = Arc::new(move |retry: &Retry| seen.lock().unwrap().push(retry.wait.as_secs_f64()));
    let model = Arc::new(Model::new(steps));
    let settings = RetrySettings { jitter_seed: Some(42), observer: Some(observer), ..settings };
    let outcome = retrying(&model, settings).complete(ChatRequest::default()).await;
    let asked = *model.asked.lock().unwrap();
    let waits = waits.lock().unwrap().clone();
    (outcome.map(|answer| answer.content).map_err(|error| error.to_string()), asked, waits)
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_tried_again() {
    let cases = [
        (vec![], Ok("hi"), 1),
        (vec![Step::Fails(down()), Step::Fails(limited(1)), Step::Fails(cut())], Ok("hi"), 4),
        (vec![Step::FailsAfterText(cut())], Ok("hi"), 2),
        (vec![Step::Fails(refused())], Err("m refused the request (400): no"), 1),
        (vec![Step::Fails(down()), Step::Fails(refused())], Err("m refused the request (400): no"), 2),
        (vec![Step::Fails(down()); 9], Err("the server of m failed (500): down (gave up after 5 attempts)"), 5),
    ];
    for (steps, expected, attempts) in cases {
        let (outcome, asked, waits) = complete(steps.clone(), RetrySettings::default()).await;
        assert_eq!(outcome.as_deref().map_err(String::as_str), expected, "{steps:?}");
        assert_eq!((asked, waits.len()), (attempts, attempts as usize - 1), "{steps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn waits_grow_and_are_drawn_anew() {
    let settings = RetrySettings { max_retries: 9, deadline: Duration::from_secs(3600), ..RetrySettings::default() };
    let (_, _, waits) = complete(vec![Step::Fails(down()); 9], settings.clone()).await;
    let longest = [0.5, 3.0, 18.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0];
    assert!(waits.iter().zip(longest).all(|(wait, longest)| (0.75 * longest..=longest).contains(wait)), "{waits:?}");
    assert!(waits.windows(2).skip(3).all(|pair| pair[0] != pair[1]), "{waits:?}");
    let (_, _, again) = complete(vec![Step::Fails(down()); 9], settings).await;
    assert_eq!(waits, again, "one seed, one course");
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_a_minute_is_survived() {
    for seed in 0..50 {
        let start = Instant::now();
        let model = Arc::new(Model::new(vec![Step::Fails(down()); 4]));
        let settings = RetrySettings { jitter_seed: Some(seed), ..RetrySettings::default() };
        assert!(retrying(&model, settings).complete(ChatRequest::default()).await.is_ok());
        let seconds = start.elapsed().as_secs();
        assert!((60..82).contains(&seconds), "{seed}: {seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_says_how_long() {
    let steps = vec![Step::Fails(limited(7)), Step::Fails(limited(0)), Step::Fails(limited(300))];
    let (outcome, _, waits) = complete(steps, RetrySettings::default()).await;
    assert_eq!(outcome.unwrap(), "hi");
    assert_eq!((waits[0], waits[2]), (7.0, 60.0), "no more than a minute");
    assert!((2.25..=3.0).contains(&waits[1]), "a wait of nothing is the usual one: {waits:?}");

    // A longer wait is a quota that is used up: the caller decides.
    let (outcome, asked, waits) = complete(vec![Step::Fails(limited(7)), Step::Fails(limited(86_400))], RetrySettings::default()).await;
    assert_eq!((outcome.unwrap_err().as_str(), asked, waits), ("m refuses more requests for now: slow", 2, vec![7.0]));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds() {
    let start = Instant::now();
    let settings = RetrySettings { deadline: Duration::from_secs(100), max_retries: 50, ..RetrySettings::default() };
    let (outcome, asked, _) = complete(vec![Step::Fails(limited(60)); 50], settings.clone()).await;
    assert_eq!(outcome.unwrap_err(), "m refuses more requests for now: slow (gave up after 2 attempts)");
    assert_eq!((asked, start.elapsed().as_secs()), (2, 60), "a wait beyond it is not begun");

    // An attempt is left to the timeouts of the model itself, whether its answer has begun or not.
    for step in [Step::Hangs, Step::HangsAfterText] {
        let model = retrying(&Arc::new(Model::new([step])), settings.clone());
        let request = model.complete(ChatRequest::default());
        assert!(tokio::time::timeout(Duration::from_secs(1_000), request).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_tried_again_until_something_was_handed_on() {
    let cases = [
        (vec![Step::Fails(down()), Step::Fails(down())], vec!["text", "done"], 3),
        (vec![Step::FailsAfterText(cut())], vec!["text", "error"], 1),
        (vec![Step::Fails(down()), Step::FailsAfterText(cut())], vec!["text", "error"], 2),
        (vec![Step::Fails(refused())], vec!["error"], 1),
    ];
    for (steps, expected, attempts) in cases {
        let model = Arc::new(Model::new(steps.clone()));
        let retrying = retrying(&model, RetrySettings::default());
        let parts = retrying.stream(ChatRequest::default()).map(|part| match part {
            Ok(StreamPart::Done(_)) => "done",
            Ok(_) => "text",
            Err(_) => "error",
        });
        assert_eq!(parts.collect::<Vec<_>>().await, expected, "{steps:?}");
        assert_eq!(*model.asked.lock().unwrap(), attempts);
    }
}

#[test]
fn jitter_is_even() {
    let mut jitter = Jitter(7);
    let drawn: Vec<f64> = std::iter::repeat_with(|| jitter.next_fraction()).take(10_000).collect();
    assert!(drawn.iter().all(|fraction| (0.0..1.0).contains(fraction)));
    let mean = drawn.iter().sum::<f64>() / 10_000.0;
    assert!((0.48..0.52).contains(&mean), "{mean}");
}
