//! Failures of the server and of the network.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aime_scripted_server::{Reply, Script, ScriptedServer, When};
use secrecy::SecretString;
use serde_json::json;

use super::{ask, client, line, parts, serve};
use crate::{ChatModel, ModelError, ModelStack, OpenAiSettings, Redactor, Retry, RetrySettings, StreamPart};

const KEY: &str = "sk-very-secret";

#[tokio::test]
async fn refusals_are_told_apart() {
    let error = |message: &str| json!({"error": {"message": message}});
    let cases = [
        (401, error("wrong key sk-very-secret"), "URL refused the key (401): wrong key [key]", 1),
        (403, json!(""), "URL refused the key (403): forbidden", 1),
        (404, error("model `m` not found"), "URL has no model \"m\": model `m` not found", 1),
        (404, json!("<html></html>"), "m refused the request (404): a web page (does base_url URL lack its /v1?)", 1),
        (400, error("maximum context length is 10"), "the request does not fit the context window of m: maximum context length is 10", 1),
        (400, json!({"error": {"message": "no", "code": 17}}), "m refused the request (400): no", 1),
        (429, json!({"error": "slow", "code": 429}), "m refuses more requests for now: slow (gave up after 2 attempts)", 2),
        (500, json!("boom"), "the server of m failed (500): boom (gave up after 2 attempts)", 2),
        (
            529,
            json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}),
            "the server of m failed (529): Overloaded (gave up after 2 attempts)",
            2,
        ),
    ];
    for (status, body, expected, attempts) in cases {
        for streaming in [true, false] {
            let server = serve([Reply::status(status, body.clone(), [])]).await;
            let model = client(&server, |settings| {
                settings.api_key = Some(SecretString::from(KEY));
                settings.retry.max_retries = 1;
                settings.streaming = streaming;
            });
            let failure = model.complete(ask("hello")).await.unwrap_err();
            assert_eq!(failure.to_string().replace(&server.url(), "URL"), expected);
            assert!(!format!("{failure:?}").contains(KEY));
            assert_eq!(server.requests().len(), attempts, "{status}");
            assert_eq!(server.received()[0].headers["authorization"], format!("Bearer {KEY}"));
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let targets = [
        ("https://elsewhere/v1/chat/completions", "https://elsewhere/v1"),
        ("https://user:secret@elsewhere/v1/chat/completions?key=secret", "https://elsewhere/v1"),
        ("/v2/chat/completions?key=secret", "/v2/chat/completions"),
    ];
    for (target, shown) in targets {
        let server = serve([Reply::status(308, json!(""), [("location", target)])]).await;
        let failure = client(&server, |_| {}).complete(ask("hello")).await.unwrap_err().to_string();
        assert!(failure.contains(&format!("redirects to {shown};")) && !failure.contains("secret"), "{failure}");
    }
}

#[tokio::test]
async fn what_passes_is_survived() {
    let ok = || Reply::text("at last");
    for streaming in [true, false] {
        let middle = if streaming { 400 } else { 150 };
        let cases = [
            ("429 that names a wait", Reply::status(429, json!({"error": {"message": "slow"}}), [("retry-after", "0")])),
            ("429 in milliseconds", Reply::status(429, json!("slow"), [("retry-after-ms", "1")])),
            ("500", Reply::status(500, json!("boom"), [])),
            ("503 while loading", Reply::status(503, json!({"error": {"code": 503, "message": "Loading model"}}), [])),
            ("a cut before the first byte", Reply::text("a long enough text to be cut").cut_after(0)),
            ("a cut in the middle", Reply::text("a long enough text to be cut").cut_after(middle)),
            ("an early end", Reply::text("a long enough text to be cut").end_after(middle)),
            ("broken JSON", Reply::raw("data: {\"choices\": [\n\n")),
            ("a broken document", Reply::raw("{\"choices\": [")),
            ("an empty body", Reply::raw("")),
            ("an error inside a good answer", Reply::raw(r#"{"error":{"message":"try again","code":500}}"#)),
            ("broken off", Reply::text("half").finish("insufficient_system_resource")),
            ("silence", Reply::hang()),
            ("silence in the middle", Reply::text("a long enough text to stop in").hang_after(middle)),
        ];
        for (name, reply) in &cases {
            let server = serve([reply.clone(), ok()]).await;
            let retries: Arc<Mutex<Vec<Retry>>> = Arc::default();
            let seen = Arc::clone(&retries);
            let model = client(&server, |settings| {
                settings.streaming = streaming;
                settings.timeouts.idle = Duration::from_secs(1);
                settings.retry.observer = Some(Arc::new(move |retry: &Retry| seen.lock().unwrap().push(retry.clone())));
            });
            let answer = model.complete(ask("hello")).await;
            assert_eq!(line(&answer), r#""at last" stop 100+0/20 by m"#, "{name}, streaming: {streaming}");
            assert_eq!(retries.lock().unwrap().len(), 1, "{name}");
            assert_eq!(server.requests()[0], server.requests()[1], "{name}: the same is asked again");
        }
    }
}

#[tokio::test]
async fn failures_have_their_names() {
    let cases = [
        ("silence", Reply::hang(), "m did not answer within 0.2 s"),
        ("silence in the middle", Reply::text("a long enough text to stop in").hang_after(400), "m did not answer within 0.2 s"),
        ("a cut", Reply::text("a long enough text to be cut").cut_after(400), "the answer of m was cut off"),
        ("an early end", Reply::text("a long enough text to be cut").end_after(400), "the answer of m was cut off"),
    ];
    for (name, reply, expected) in cases {
        let server = serve([reply]).await;
        let model = client(&server, |settings| {
            if name.starts_with("silence") {
                settings.timeouts.idle = Duration::from_millis(200);
            }
            settings.retry.max_retries = 0;
        });
        assert_eq!(model.complete(ask("hello")).await.unwrap_err().to_string(), expected, "{name}");
    }
}

#[tokio::test]
async fn a_total_time_bounds_even_a_busy_stream() {
    let server = serve([Reply::text("on and on").hang_after(300)]).await;
    let model = client(&server, |settings| {
        settings.timeouts.total = Some(Duration::from_millis(200));
        settings.retry.max_retries = 0;
    });
    assert_eq!(model.complete(ask("hello")).await.unwrap_err().to_string(), "m did not answer within 0.2 s");
}

#[tokio::test]
async fn what_was_handed_on_is_not_asked_again() {
    let server = serve([Reply::text("a long enough text to be cut in the middle").cut_after(700), Reply::text("no")]).await;
    let parts = parts(&client(&server, |_| {}), ask("hello")).await;
    assert!(matches!(parts.first(), Some(Ok(StreamPart::Text(_)))), "{parts:?}");
    assert!(matches!(parts.last(), Some(Err(ModelError::Cut { .. }))), "{parts:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_end_without_the_mark_is_not_waited_for() {
    // The finish reason came, the connection stays open: the answer is whole.
    let body = r#"data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#;
    let body = format!("{body}\n\n");
    let server = serve([Reply::raw(body.as_str()).hang_after(body.len())]).await;
    let model = client(&server, |settings| settings.timeouts.idle = Duration::from_secs(1));
    assert_eq!(line(&model.complete(ask("hello")).await), r#""hi" stop estimated by m"#);
}

#[tokio::test]
async fn a_dropped_answer_frees_the_server() {
    let server = serve([Reply::text("on and on").hang_after(300)]).await;
    let model = client(&server, |_| {});
    let waiting = model.complete(ask("one"));
    tokio::select! {
        _ = waiting => panic!("it hangs"),
        () = server.wait_for_requests(1) => {}
    }
    // The same client still works.
    let second = serve([Reply::text("fine")]).await;
    assert_eq!(client(&second, |_| {}).complete(ask("two")).await.unwrap().content, "fine");
}

async fn unreachable(base_url: &str) -> ModelError {
    let mut settings = OpenAiSettings::new("m", base_url);
    settings.retry = RetrySettings { max_retries: 0, ..RetrySettings::default() };
    settings.api_key = Some(SecretString::from(KEY));
    ModelStack::server(settings).unwrap().build(&Redactor::default()).complete(ask("hello")).await.unwrap_err()
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let failure = unreachable(&format!("http://user:{KEY}@127.0.0.1:{port}/v1")).await;
    let ModelError::Unreachable { url, reason, .. } = &failure else { panic!("{failure:?}") };
    let address = format!("http://127.0.0.1:{port}/v1");
    assert_eq!(url, &address);
    assert!(reason.contains("refused"), "{reason}");
    let hint = failure.hint().unwrap().to_string();
    assert_eq!(hint, format!("check that a model server listens at {address}, which base_url sets"));
    assert!(!format!("{failure:?}").contains(KEY));
}

#[tokio::test]
async fn a_server_that_speaks_no_tls() {
    let server = serve([Reply::text("hi")]).await;
    let failure = unreachable(&server.url().replace("http://", "https://")).await;
    assert!(matches!(&failure, ModelError::Unreachable { .. }), "{failure:?}");
    assert!(matches!(failure.hint(), Some(crate::ModelHint::NotTls(_))), "{failure:?}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_name_that_no_resolver_knows() {
    // A label of more than 63 letters is no name: it is refused without asking the network.
    let failure = unreachable(&format!("http://{}.invalid/v1", "a".repeat(64))).await;
    assert!(matches!(&failure, ModelError::Unreachable { .. }), "{failure:?}");
}

#[tokio::test]
async fn requests_run_at_once() {
    let server = ScriptedServer::start(Script::new().on(When::any(), [Reply::text("hi").after_waiting(3)])).await;
    let model = client(&server, |_| {});
    let answers = tokio::join!(model.complete(ask("a")), model.complete(ask("b")), model.complete(ask("c")));
    assert!(answers.0.is_ok() && answers.1.is_ok() && answers.2.is_ok());
    assert_eq!(server.max_concurrent(), 3);
}
