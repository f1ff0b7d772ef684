//! Servers whose HTTP responses carry no answer, and servers that refuse the initialization.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use axum::{
    Json, Router,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::post,
};

use super::*;

/// Starts a server over HTTP that has the tools `t` and `echo`, and responds to each call of `t` with `fail`. Returns its address, and the
/// number of its initializations.
async fn start(fail: fn() -> Response) -> (String, Arc<AtomicUsize>) {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&begun);
    let handle = move |Json(request): Json<Value>| async move {
        let Some(id) = request.get("id") else { return StatusCode::ACCEPTED.into_response() };
        let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
        let result = match request["method"].as_str().unwrap() {
            "initialize" => {
                count.fetch_add(1, Ordering::Relaxed);
                let capabilities = json!({"tools": {}, "resources": {}});
                json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": "raw", "version": "1"}})
            }
            "tools/list" => json!({"tools": [tool("t"), tool("echo")]}),
            "tools/call" if request["params"]["name"] == "t" => return fail(),
            "resources/list" => return fail(),
            _ => json!({"content": [{"type": "text", "text": "heard"}]}),
        };
        Json(json!({"jsonrpc": "2.0", "id": id, "result": result})).into_response()
    };
    (serve(Router::new().route("/mcp", post(handle))).await, begun)
}

async fn serve(routes: Router) -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

fn at(url: &str) -> McpTransport {
    McpTransport::Http { url: url.to_owned(), bearer: None, login: None, headers: BTreeMap::new() }
}

const REFUSED: &str = "the MCP server `raw` refused the request: ";
const FAILED: &str = "the MCP server `raw` failed: ";

// Requirement: 8.9
#[tokio::test]
async fn a_failed_response_loses_no_server() {
    type Fail = fn() -> Response;
    let table: [(Fail, &str, &str); 8] = [
        (
            || (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "30")]).into_response(),
            REFUSED,
            "HTTP 429, retry after 30 s. Nothing was done",
        ),
        (
            || (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], "slow down").into_response(),
            REFUSED,
            "HTTP 429, retry after Wed, 21 Oct 2026 07:28:00 GMT. Nothing was done",
        ),
        (|| StatusCode::TOO_MANY_REQUESTS.into_response(), REFUSED, "HTTP 429. Nothing was done"),
        (|| (StatusCode::BAD_REQUEST, "no such branch").into_response(), REFUSED, "HTTP 400 Bad Request: no such branch. Nothing was done"),
        (|| (StatusCode::BAD_GATEWAY, "<html>").into_response(), FAILED, "HTTP 502. Whether it did what it was asked is not known"),
        (
            || (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "5")], Json(json!({"error": "busy"}))).into_response(),
            FAILED,
            "HTTP 503, retry after 5 s. Whether",
        ),
        (|| (StatusCode::OK, "done").into_response(), FAILED, "Unexpected content type"),
        (|| Json(json!({"odd": 1})).into_response(), FAILED, "could not parse JSON response"),
    ];
    for (fail, beginning, part) in table {
        let (url, begun) = start(fail).await;
        let world = World::of(McpSettings::new(vec![McpServerSettings::new("raw", at(&url))])).await;
        for _ in 0..6 {
            let fault = world.fault("mcp__raw__t", json!({})).await;
            assert!(fault.starts_with(beginning) && fault.contains(part), "{part}: {fault}");
        }
        assert_eq!(world.text("mcp__raw__echo", json!({})).await, "heard");
        assert_eq!(begun.load(Ordering::Relaxed), 1, "{part}: the session goes on");
    }
}

/// Servers must answer a request of an unknown session with 404, but some do not.
// Requirement: 8.9
#[tokio::test]
async fn a_lost_session_is_replaced() {
    type Fail = fn() -> Response;
    let table: [(Fail, &str); 3] = [
        (
            || (StatusCode::BAD_REQUEST, "Bad Request: No valid session ID provided").into_response(),
            "HTTP 400 Bad Request: Bad Request: No valid session ID provided. Nothing was done",
        ),
        (
            || (StatusCode::BAD_REQUEST, "Server Not Initialized").into_response(),
            "HTTP 400 Bad Request: Server Not Initialized. Nothing was done",
        ),
        (|| (StatusCode::UNAUTHORIZED, "who is it").into_response(), "HTTP 401 Unauthorized: who is it. Nothing was done"),
    ];
    for (fail, part) in table {
        let (url, begun) = start(fail).await;
        let world = World::of(McpSettings::new(vec![McpServerSettings::new("raw", at(&url))])).await;
        for _ in 0..6 {
            let before = begun.load(Ordering::Relaxed);
            let fault = world.fault("mcp__raw__t", json!({})).await;
            assert!(fault.starts_with(REFUSED) && fault.contains(part), "{part}: {fault}");
            assert_eq!(world.text("mcp__raw__echo", json!({})).await, "heard");
            assert_eq!(begun.load(Ordering::Relaxed), before + 1, "{part}: the next call opens a session");
        }
    }
}

#[tokio::test]
async fn a_broken_server_hides_no_lists_of_others() {
    let (broken, _) = start(|| StatusCode::BAD_GATEWAY.into_response()).await;
    let (sound, _) =
        start(|| Json(json!({"jsonrpc": "2.0", "id": 0, "error": {"code": -32000, "message": "none today"}})).into_response()).await;
    let odd = McpServerSettings::new("odd", stdio(&[]));
    let all = [("raw", broken), ("said", sound)].map(|(name, url)| McpServerSettings::new(name, at(&url)));
    let mut settings: Vec<_> = all.into_iter().chain([odd]).collect();
    settings.iter_mut().for_each(|server| server.call_limit = Duration::from_secs(3));
    let world = World::of(McpSettings::new(settings)).await;
    let listed = world.text("mcp_list", json!({"kind": "resources"})).await;
    assert!(listed.starts_with("raw:\n  [not listed: the MCP server `raw` failed: HTTP 502."), "{listed}");
    assert!(listed.contains("\nsaid:\n  [not listed: ") && listed.ends_with("\nodd:\n  memo://one  memo"), "{listed}");
    let fault = world.fault("mcp_list", json!({"kind": "resources", "server": "raw"})).await;
    assert!(fault.starts_with("the MCP server `raw` failed: HTTP 502."), "{fault}");
}

/// Returns the error of a test of a server.
async fn refusal(transport: McpTransport) -> String {
    let place = McpPlace { working_folder: "/".into(), environment: Arc::new(environment()) };
    let servers = McpServers::new(McpSettings::new(vec![McpServerSettings::new("odd", transport)]), &place, BTreeMap::new());
    servers.test("odd", &CancellationToken::new()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_refused_initialization_tells_why() {
    let expected = "it refuses the initialization: Invalid API key";
    let handle = |Json(request): Json<Value>| async move {
        Json(json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32001, "message": "Invalid API key"}}))
    };
    let fault = refusal(at(&serve(Router::new().route("/mcp", post(handle))).await)).await;
    assert!(fault.contains(expected), "{fault}");

    let script = r#"read -r line; echo 'set ODD_KEY' >&2
id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Invalid API key"}}\n' "$id"; cat > /dev/null"#;
    let arguments = vec!["-c".into(), script.into()];
    let confinement = Confinement::off();
    let fault = refusal(McpTransport::Stdio { program: "sh".into(), arguments, environment: BTreeMap::new(), confinement }).await;
    assert!(fault.contains(expected) && fault.ends_with("its output:\nset ODD_KEY"), "{fault}");
}
