//! Tests of calls and their results.

use aime_tools::ToolScope;

use super::*;

// Requirement: 8.9
#[tokio::test]
async fn tools_are_called_over_both_transports() {
    let http = Http::start(Path::new("/"), &["--token", "open-sesame"]).await;
    for transport in [stdio(&["--noise"]), http.transport(Some("open-sesame"))] {
        let world = World::of(McpSettings::new(vec![McpServerSettings::new("odd", transport)])).await;
        assert_eq!(world.text("mcp__odd__echo", json!({"text": "hello\nworld"})).await, "hello\nworld");
        let sum = world.call("mcp__odd__sum", json!({"a": "2", "b": 3})).await.unwrap();
        assert_eq!((sum.text.as_str(), &sum.value), ("{\"sum\":5}", &json!({"sum": 5})), "what was meant is taken");
        assert_eq!(world.fault("mcp__odd__fails", json!({})).await, "it is Tuesday");
        assert!(world.fault("mcp__odd__sum", json!({"a": 1})).await.contains("`b` is missing (an integer)"));
        assert!(world.fault("mcp__odd__nothing", json!({})).await.starts_with("Unknown tool: mcp__odd__nothing."));
    }
}

#[tokio::test]
async fn a_server_that_wants_a_token_is_told_apart() {
    let http = Http::start(Path::new("/"), &["--token", "open-sesame"]).await;
    for bearer in [None, Some("wrong")] {
        let settings = McpSettings::new(vec![McpServerSettings::new("odd", http.transport(bearer))]);
        let place = McpPlace { working_folder: "/".into(), environment: Arc::new(environment()) };
        let fault = McpServers::new(settings, &place, BTreeMap::new()).test("odd", &CancellationToken::new()).await.unwrap_err();
        assert!(matches!(fault, aime_tools::McpError::Unauthorized { .. }), "{fault}");
    }
}

// Requirement: 8.9
#[tokio::test]
async fn odd_names_lead_to_their_tools() {
    let world = World::odd(|_| ()).await;
    let long = format!("long_{}", "x".repeat(90));
    for tool in ["files/read.all", "files.read/all", "読む", &long] {
        let name = world.servers.tool_name("odd", tool).unwrap();
        assert!(name.len() <= 64 && name.starts_with("mcp__odd__") && name.is_ascii(), "{name}");
        assert_eq!(world.text(&name, json!({})).await, format!("this is {tool}"));
    }
    let (one, two) = (world.servers.tool_name("odd", "files/read.all"), world.servers.tool_name("odd", "files.read/all"));
    assert_ne!(one, two);
    assert_eq!(world.servers.tool_name("odd", "elsewhere"), None);
    let notes = &world.servers.offers()["odd"].notes;
    assert_eq!(notes, &["without the tool \"elsewhere\": its schema refers to what is elsewhere"]);
}

#[tokio::test]
async fn a_server_is_given_its_folder_its_variables_and_no_others() {
    let world = World::odd(|settings| {
        let McpTransport::Stdio { environment, .. } = &mut settings.transport else { return };
        environment.insert("ODD_TOKEN".into(), "t0k".into());
    })
    .await;
    let folder = world.folder.path().canonicalize().unwrap().display().to_string();
    assert_eq!(world.text("mcp__odd__environment", json!({"name": "ODD_TOKEN"})).await, format!("t0k in {folder}"));
    assert_eq!(world.text("mcp__odd__environment", json!({"name": "CARGO"})).await, format!("(unset) in {folder}"));
}

#[tokio::test]
async fn no_tool_is_read_only_unless_the_user_says_so() {
    let world = World::odd(|settings| settings.read_only = aime_tools::NamePatterns::new(["ec*"]).unwrap()).await;
    let spec = |name: &str| world.tools.get(name).unwrap().spec().clone();
    assert!(spec("mcp__odd__echo").read_only && !spec("mcp__odd__pid").read_only);
    assert_eq!(spec("mcp__odd__pid").touches, ToolScope::Processes);
    assert!(!spec("mcp_read_resource").read_only);
}

#[tokio::test]
async fn resources_and_prompts_are_listed_and_read() {
    let world = World::odd(|_| ()).await;
    assert_eq!(world.text("mcp_list", json!({"kind": "resources"})).await, "odd:\n  memo://one  memo");
    assert_eq!(world.text("mcp_list", json!({"kind": "prompts", "server": "odd"})).await, "odd:\n  greet(name)  Greet somebody");
    assert_eq!(world.text("mcp_read_resource", json!({"server": "odd", "uri": "memo://one"})).await, "buy milk");
    let fault = world.fault("mcp_read_resource", json!({"server": "odd", "uri": "memo://two"})).await;
    assert_eq!(fault, "the MCP server `odd` says: no resource memo://two");
    assert_eq!(
        world.text("mcp_get_prompt", json!({"server": "odd", "name": "greet", "arguments": {"name": "Ada"}})).await,
        "user: Say hello to Ada."
    );
    assert_eq!(
        world.fault("mcp_get_prompt", json!({"server": "even", "name": "greet"})).await,
        "there is no MCP server `even`; configured: odd"
    );
}

// Requirement: 8.9
#[tokio::test]
async fn an_endless_call_is_cancelled_and_the_server_is_told() {
    let http_folder = tempfile::tempdir().unwrap();
    let http = Http::start(http_folder.path(), &[]).await;
    for transport in [stdio(&[]), http.transport(None)] {
        let over_http = matches!(transport, McpTransport::Http { .. });
        let world = World::of(McpSettings::new(vec![McpServerSettings::new("odd", transport)])).await;
        let file = if over_http { http_folder.path() } else { world.folder.path() }.join("endless.txt");
        let read = || fs::read_to_string(&file).unwrap_or_default();
        let cancel = CancellationToken::new();
        let context = world.context.clone().with_cancel(cancel.clone());
        let call = world.tools.call_with_consent("mcp__odd__endless", Map::new(), &context);
        let stop = async {
            until("the call has begun", || read() == "begun\n").await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(call, stop);
        assert_eq!(ended.unwrap_err(), ToolError::Cancelled);
        until("the server knows", || read() == "cancelled\n").await;
        assert_eq!(world.text("mcp__odd__echo", json!({"text": "still here"})).await, "still here");
    }
}

#[tokio::test]
async fn a_call_without_progress_is_cancelled_in_time() {
    let world = World::odd(|settings| settings.call_limit = Duration::from_millis(200)).await;
    let fault = world.fault("mcp__odd__endless", json!({})).await;
    assert_eq!(fault, "the MCP server `odd` told of no progress for 0.2 s; the call was cancelled");
    until("the server knows", || fs::read_to_string(world.folder.path().join("endless.txt")).is_ok_and(|text| text == "cancelled\n")).await;
}
