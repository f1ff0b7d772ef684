//! Tests of the web tools against a local server, which the policy must allow.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use aime_sandbox::ConfinedFolder;
use aime_tools::{HttpSearch, SearchProvider, ToolContext, ToolError, ToolOutput, ToolRegistry, WebPolicy, WebSettings, web_tools};
use axum::{
    Router,
    extract::Request,
    http::StatusCode,
    response::{IntoResponse, Redirect},
    routing::any,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server, and the tools that may read it.
struct World {
    place: String,
    hits: Arc<AtomicUsize>,
    tools: ToolRegistry,
    context: ToolContext,
    _folder: TempDir,
}

/// A PDF of one page, whose cross-reference table the reader rebuilds.
const PAPER: &str = "%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /Contents 4 0 R /Resources <</Font <</F 5 0 R>>>>>> endobj
4 0 obj <</Length 45>> stream
BT /F 12 Tf 72 700 Td (Two spoons.) Tj ET    
endstream endobj
5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding>> endobj
trailer <</Root 1 0 R>>
";

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    place
}

impl World {
    async fn new(change: impl FnOnce(&mut WebSettings)) -> Self {
        let hits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&hits);
        let other = serve(Router::new().fallback(|| async { "the secret of another server" })).await;
        let html = |text: &str| ([("content-type", "text/html; charset=utf-8")], text.to_owned());
        let router = Router::new()
            .route("/page", any(move || async move { html("<title>Tea</title><body><h1>Tea</h1><p>Two spoons.</p></body>") }))
            .route("/plain", any(|| async { "x".repeat(3_000) }))
            .route("/image", any(|| async { ([("content-type", "image/png")], vec![0_u8; 10]) }))
            .route("/binary", any(|| async { ([("content-type", "text/plain")], vec![0_u8; 10]) }))
            .route("/latin", any(|| async { ([("content-type", "text/plain; charset=iso-8859-1")], vec![b'T', 0xe9]) }))
            .route("/paper", any(|| async { ([("content-type", "application/pdf")], PAPER) }))
            .route("/gone", any(|| async { (StatusCode::NOT_FOUND, "no") }))
            .route("/hop", any(|| async { Redirect::temporary("/page") }))
            .route("/round", any(|| async { Redirect::temporary("/round") }))
            .route("/away", any(|| async { Redirect::temporary("http://elsewhere.example/x") }))
            .route("/metadata", any(|| async { Redirect::temporary("http://169.254.169.254/latest/meta-data") }))
            .route("/file", any(|| async { Redirect::temporary("file:///etc/passwd") }))
            .route("/inside", any(move || async move { Redirect::temporary(&format!("http://{other}/")) }))
            .route("/never", any(std::future::pending::<String>))
            .layer(axum::middleware::from_fn(move |request: Request, next: axum::middleware::Next| {
                counted.fetch_add(1, Ordering::Relaxed);
                next.run(request)
            }));
        let place = serve(router).await;
        let mut settings =
            WebSettings { policy: WebPolicy { private: vec![place.clone()], ..WebPolicy::default() }, ..WebSettings::default() };
        change(&mut settings);
        let folder = tempfile::tempdir().unwrap();
        let context = ToolContext::new(ConfinedFolder::open(folder.path()).unwrap(), BTreeMap::new());
        Self { place, hits, tools: web_tools(&settings).unwrap().into_iter().collect(), context, _folder: folder }
    }

    async fn fetch(&self, path: &str) -> Result<ToolOutput, ToolError> {
        self.fetch_url(&format!("http://{}{path}", self.place)).await
    }

    async fn fetch_url(&self, url: &str) -> Result<ToolOutput, ToolError> {
        self.tools.call_with_consent("web_fetch", json!({"url": url}).as_object().cloned().unwrap(), &self.context).await
    }
}

// Requirement: 8.5, 8.11
#[tokio::test]
async fn a_page_is_read_as_markdown_and_kept() {
    let world = World::new(|_| ()).await;
    let page = format!("http://{}/page", world.place);
    for _ in 0..2 {
        let read = world.fetch("/page#part").await.unwrap();
        assert_eq!(read.text, format!("{page}\nTea\n\n# Tea\n\nTwo spoons."));
        assert_eq!(read.value["title"], "Tea");
    }
    assert_eq!(world.hits.load(Ordering::Relaxed), 1, "the second time it was kept");
    assert_eq!(world.fetch("/hop").await.unwrap().text, format!("{page}\nTea\n\n# Tea\n\nTwo spoons."));
    assert!(world.fetch("/latin").await.unwrap().text.ends_with("\n\nTé"));
}

// Requirement: 8.34
#[tokio::test]
async fn a_pdf_is_read_as_text() {
    let world = World::new(|_| ()).await;
    let read = world.fetch("/paper").await.unwrap();
    assert_eq!(read.text, format!("http://{}/paper\n\n[page 1 of 1]\nTwo spoons.", world.place));
    let world = World::new(|settings| settings.most_bytes = 100).await;
    let fault = world.fetch("/paper").await.unwrap_err();
    assert!(matches!(&fault, ToolError::Failed(text) if text.contains("is a PDF of more than the 100 bytes that are read")), "{fault}");
}

#[tokio::test]
async fn what_is_no_text_or_not_there_is_told() {
    let world = World::new(|_| ()).await;
    for (path, part) in [
        ("/image", "is not text but \"image/png\", 10 bytes"),
        ("/binary", "is not text"),
        ("/gone", "answered 404"),
        ("/round", "redirects"),
    ] {
        let fault = world.fetch(path).await.unwrap_err();
        assert!(matches!(&fault, ToolError::Failed(text) if text.contains(part)), "{path}: {fault}");
    }
    assert!(matches!(world.fetch_url("not an address").await, Err(ToolError::InvalidParameters(_))));
}

#[tokio::test]
async fn size_and_time_are_bounded() {
    let world = World::new(|settings| settings.most_bytes = 1_000).await;
    let read = world.fetch("/plain").await.unwrap().text;
    assert!(read.contains("[only the beginning of the page was read]") && read.matches('x').count() == 1_000, "{read}");
    let world = World::new(|settings| settings.time_limit = Duration::from_millis(300)).await;
    assert!(matches!(world.fetch("/never").await, Err(ToolError::TimedOut(_))));
}

// Requirement: 8.5
#[tokio::test]
async fn private_addresses_are_refused_at_every_hop() {
    let world = World::new(|_| ()).await;
    for (path, part) in
        [("/inside", "leads to http://127.0.0.1:"), ("/metadata", "leads to http://169.254.169.254/"), ("/file", "only http and https")]
    {
        let fault = world.fetch(path).await.unwrap_err();
        assert!(matches!(&fault, ToolError::Denied(text) if text.contains(part)), "{path}: {fault}");
    }
    let away = world.fetch("/away").await.unwrap().text;
    assert!(away.contains("leads to another host: http://elsewhere.example/x"), "{away}");

    let closed = World::new(|settings| settings.policy.private.clear()).await;
    let port = closed.place.rsplit_once(':').unwrap().1.to_owned();
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let fault = closed.fetch_url(&format!("http://{host}:{port}/page")).await.unwrap_err();
        assert!(matches!(&fault, ToolError::Denied(text) if text.contains("private network")), "{host}: {fault}");
    }
    assert_eq!(closed.hits.load(Ordering::Relaxed), 0);
}

// Requirement: 8.5
#[tokio::test]
async fn each_provider_is_asked_as_it_wants_to_be() {
    let router = Router::new().fallback(|request: Request| async move {
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let asked = format!("{} {} {}{}", request.method(), request.uri(), header("x-subscription-token"), header("authorization"));
        let result = json!({"title": asked, "url": "https://a.example/", "content": "c", "description": "d"});
        axum::Json(json!({"results": [result], "web": {"results": [result]}})).into_response()
    });
    let url = format!("http://{}", serve(router).await);
    let providers: [(HttpSearch, &str, &str); 3] = [
        (HttpSearch::searxng(&url).unwrap(), "GET /search?q=green+tea&format=json ", "c"),
        (HttpSearch::brave(Some(&url), "k".to_owned().into()).unwrap(), "GET /res/v1/web/search?q=green+tea&count=3 k", "d"),
        (HttpSearch::tavily(Some(&url), "k".to_owned().into()).unwrap(), "POST /search Bearer k", "c"),
    ];
    for (provider, asked, excerpt) in providers {
        let provider: Arc<dyn SearchProvider> = Arc::new(provider);
        let world = World::new(|settings| (settings.search, settings.results) = (Some(provider), 3)).await;
        let query: Value = json!({"query": "green tea"});
        let found = world.tools.call_with_consent("web_search", query.as_object().cloned().unwrap(), &world.context).await.unwrap();
        assert_eq!(found.text, format!("1. {}\n   https://a.example/\n   {excerpt}", asked.trim()));
    }
}

#[tokio::test]
async fn a_search_that_fails_says_why() {
    let url = format!("http://{}", serve(Router::new().fallback(|| async { StatusCode::FORBIDDEN })).await);
    let world = World::new(|_| {}).await;
    let error = HttpSearch::searxng(&url).unwrap().search("x", 1, &world.context).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the search with SearXNG failed: it answered 403 Forbidden; does its settings.yml allow the format json?"
    );
}
