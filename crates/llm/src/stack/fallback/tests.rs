use super::*;
use crate::scripted::{Reply, ScriptedModel, When};

fn down(model: &str) -> ModelError {
    ModelError::GaveUp {
        attempts: 5,
        error: Box::new(ModelError::Server { model: model.into(), status: 500, message: "down".into(), retry_after: None }),
    }
}

fn refused(model: &str) -> ModelError {
    ModelError::Refused { model: model.into(), status: 400, message: "no".into() }
}

fn scripted(name: &str, replies: impl IntoIterator<Item = Reply>) -> ScriptedModel {
    ScriptedModel::new(name).on(When::any(), replies)
}

fn slot(model: impl ChatModel + 'static) -> Slot {
    Slot { model: Arc::new(model), pause: Arc::default() }
}

fn with_fallback(primary: &ScriptedModel, other: &ScriptedModel) -> Fallback {
    Fallback::new(slot(primary.clone()), vec![slot(other.clone())])
}

async fn answer_text(model: &Fallback) -> String {
    match model.complete(ChatRequest::default()).await {
        Ok(answer) => answer.content,
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn only_faults_of_the_model_fall_back() {
    let m = || "a".to_owned();
    let cases = [
        (ModelError::Unreachable { url: "u".into(), setting: None, reason: "refused".into() }, true),
        (ModelError::Timeout { model: m(), after: std::time::Duration::from_secs(1) }, true),
        (ModelError::RateLimited { model: m(), message: String::new(), retry_after: None }, true),
        (down("a"), true),
        (ModelError::NoSuchModel { url: "u".into(), model: m(), message: String::new() }, true),
        (ModelError::Unauthorized { url: "u".into(), status: 401, message: String::new() }, true),
        (ModelError::Cut { model: m() }, true),
        (refused("a"), false),
        (ModelError::ContextOverflow { model: m(), message: String::new() }, false),
        (ModelError::NotRecorded { model: m(), reason: String::new() }, false),
        (ModelError::OutOfBudget { model: m(), bound: "tokens".into(), detail: "".into() }, false),
    ];
    for (error, falls) in cases {
        let (a, b) = (scripted("a", [Reply::error(error.clone())]), scripted("b", [Reply::text("from b")]));
        let answer = answer_text(&with_fallback(&a, &b)).await;
        assert_eq!(answer == "from b", falls, "{error:?}: {answer}");
    }
}

#[tokio::test]
async fn nobody_stays_with_the_fallback() {
    let a = scripted("a", [Reply::error(down("a")), Reply::text("from a")]);
    let b = scripted("b", [Reply::text("from b")]);
    let model = with_fallback(&a, &b);
    let mut answers = Vec::new();
    for _ in 0..6 {
        answers.push(answer_text(&model).await);
    }
    assert_eq!(answers, ["from b", "from b", "from b", "from b", "from a", "from a"], "left out of three requests");
    assert_eq!((a.requests().len(), b.requests().len()), (3, 4));
}

#[tokio::test]
async fn the_pause_grows_while_it_keeps_failing() {
    let a = scripted("a", [Reply::error(down("a"))]);
    let b = scripted("b", [Reply::text("from b")]);
    let model = with_fallback(&a, &b);
    let mut tried_at = Vec::new();
    for request in 0..100 {
        let before = a.requests().len();
        answer_text(&model).await;
        if a.requests().len() > before {
            tried_at.push(request);
        }
    }
    assert_eq!(tried_at, [0, 4, 11, 24, 49, 98]);
}

#[tokio::test]
async fn all_failures_are_told_together() {
    let a = scripted("a", [Reply::error(down("a"))]);
    let b = scripted("b", [Reply::error(refused("b"))]);
    let model = with_fallback(&a, &b);
    let error = model.complete(ChatRequest::default()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no model answered: (1) the server of a failed (500): down (gave up after 5 attempts); (2) b refused the request (400): no"
    );
    assert!(matches!(error.root(), ModelError::Refused { .. }));
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn an_overflow_is_told_alone() {
    let overflow = ModelError::ContextOverflow { model: "b".into(), message: "too long".into() };
    let (a, b) = (scripted("a", [Reply::error(down("a"))]), scripted("b", [Reply::error(overflow)]));
    let error = with_fallback(&a, &b).complete(ChatRequest::default()).await.unwrap_err();
    assert!(matches!(error, ModelError::ContextOverflow { .. }), "the caller compacts and asks again: {error}");
}

#[tokio::test]
async fn in_its_pause_a_model_is_still_the_last_hope() {
    let a = scripted("a", [Reply::error(down("a")), Reply::text("from a")]);
    let b = scripted("b", [Reply::text("from b"), Reply::error(down("b"))]);
    let model = with_fallback(&a, &b);
    assert_eq!(answer_text(&model).await, "from b");
    assert_eq!(answer_text(&model).await, "from a", "b failed, so a was tried before its time");
    assert_eq!(answer_text(&model).await, "from a");
}

#[tokio::test]
async fn a_stream_falls_back_before_its_first_part() {
    let a = scripted("a", [Reply::error(down("a"))]);
    let b = scripted("b", [Reply::text("from b")]);
    let parts: Vec<_> = with_fallback(&a, &b).stream(ChatRequest::default()).collect().await;
    assert!(parts.iter().all(Result::is_ok), "{parts:?}");
    assert!(matches!(parts.last(), Some(Ok(StreamPart::Done(answer))) if answer.content == "from b"));
}

/// Model that fails or answers on command of the test.
struct Commanded {
    answers: std::sync::atomic::AtomicBool,
    asked: std::sync::atomic::AtomicU32,
    go: tokio::sync::Semaphore,
}

impl ChatModel for Commanded {
    fn name(&self) -> &str {
        "a"
    }

    fn stream(&self, _: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        use std::sync::atomic::Ordering::SeqCst;
        crate::in_one_part(async {
            self.asked.fetch_add(1, SeqCst);
            self.go.acquire().await.unwrap().forget();
            if self.answers.load(SeqCst) {
                Ok(ScriptedModel::new("a").on(When::any(), [Reply::text("from a")]).complete(ChatRequest::default()).await?)
            } else {
                Err(down("a"))
            }
        })
    }
}

// Requirement: 16.7
#[tokio::test]
async fn of_many_requests_one_finds_out_whether_a_model_answers_again() {
    use std::sync::atomic::Ordering::SeqCst;
    let a = Arc::new(Commanded { answers: false.into(), asked: 0.into(), go: tokio::sync::Semaphore::new(1) });
    let b = scripted("b", [Reply::text("from b")]);
    let model = Fallback::new(slot(Arc::clone(&a)), vec![slot(b)]);
    assert_eq!(answer_text(&model).await, "from b", "it fails");
    for _ in 0..FIRST_PAUSE {
        assert_eq!(answer_text(&model).await, "from b", "it is left out");
    }
    // Five at once: one asks it, which takes a while; the others do not wait for that.
    let probe = answer_text(&model);
    tokio::pin!(probe);
    assert!(futures::poll!(&mut probe).is_pending());
    for _ in 0..4 {
        assert_eq!(answer_text(&model).await, "from b");
    }
    assert_eq!(a.asked.load(SeqCst), 2);
    // A dropped probe blocks no other request: the next request is the probe.
    probe.set(answer_text(&model));
    assert!(futures::poll!(&mut probe).is_pending());
    assert_eq!(a.asked.load(SeqCst), 3);
    a.answers.store(true, SeqCst);
    a.go.add_permits(10);
    assert_eq!(probe.await, "from a");
    assert_eq!(futures::future::join_all((0..3).map(|_| answer_text(&model))).await, ["from a"; 3], "all come back");
}

#[tokio::test]
async fn the_first_quota_to_be_renewed_counts() {
    let quota = |seconds| {
        let retry_after = Some(std::time::Duration::from_secs(seconds));
        ModelError::RateLimited { model: "m".into(), message: String::new(), retry_after }
    };
    let cases = [
        (quota(7200), quota(3600), Some(3600)),
        (quota(3600), quota(7200), Some(3600)),
        (quota(7200), down("b"), Some(7200)),
        (down("a"), quota(7200), Some(7200)),
        (quota(300), quota(7200), Some(7200)),
        (quota(300), down("b"), None),
    ];
    for (first, second, expect) in cases {
        let (a, b) = (scripted("a", [Reply::error(first.clone())]), scripted("b", [Reply::error(second.clone())]));
        let error = with_fallback(&a, &b).complete(ChatRequest::default()).await.unwrap_err();
        assert_eq!(error.quota_wait().map(|wait| wait.as_secs()), expect, "{first:?}, {second:?}");
    }
}
