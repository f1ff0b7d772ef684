//! Tests of starts, ends and restarts.

use super::*;

fn servers(folder: &Path, transport: McpTransport, known: BTreeMap<String, aime_tools::McpAbilities>) -> McpServers {
    let place = McpPlace { working_folder: folder.to_path_buf(), environment: Arc::new(environment()) };
    let mut settings = McpServerSettings::new("odd", transport);
    settings.start_limit = Duration::from_secs(if folder.ends_with("mute") { 1 } else { 60 });
    settings.first_wait = Duration::from_millis(5);
    McpServers::new(McpSettings::new(vec![settings]), &place, known)
}

#[tokio::test]
async fn a_server_that_is_known_starts_when_it_is_called() {
    let world = World::odd(|_| ()).await;
    let known = world.servers.offers();
    // A program that cannot be started is noticed at the start.
    let nothing = McpTransport::Stdio {
        program: "no_such_server_here".into(),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
        confinement: Confinement::off(),
    };
    let later = servers(world.folder.path(), nothing, known.clone());
    assert!(later.learn(&CancellationToken::new()).await.is_empty(), "nothing is asked of what is known");
    let tools: ToolRegistry = later.tools().into_iter().collect();
    assert_eq!(tools.names().collect::<Vec<_>>(), world.tools.names().collect::<Vec<_>>());
    let fault = tools.call_with_consent("mcp__odd__echo", object(json!({"text": "x"})), &world.context).await.unwrap_err().to_string();
    assert!(fault.contains("`odd` could not be started: the program `no_such_server_here` was not found"), "{fault}");

    let there = servers(world.folder.path(), stdio(&[]), known);
    let tools: ToolRegistry = there.tools().into_iter().collect();
    assert_eq!(tools.call_with_consent("mcp__odd__echo", object(json!({"text": "x"})), &world.context).await.unwrap().text, "x");
}

/// A server that offered nothing may have more by now.
#[tokio::test]
async fn an_empty_offer_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    for (resources, is_asked) in [(false, true), (true, false)] {
        let known = aime_tools::McpAbilities { resources, ..Default::default() };
        let servers = servers(folder.path(), stdio(&[]), BTreeMap::from([("odd".to_owned(), known)]));
        assert!(servers.learn(&CancellationToken::new()).await.is_empty());
        assert_eq!(servers.tool_name("odd", "echo").is_some(), is_asked);
        servers.end().await;
    }
}

/// The error names the other tools as a model calls them.
#[tokio::test]
async fn a_lost_tool_names_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let tool = aime_tools::McpTool { name: "gone".to_owned(), description: String::new(), parameters: json!({}) };
    let known = aime_tools::McpAbilities { tools: vec![tool], ..Default::default() };
    let servers = servers(folder.path(), stdio(&[]), BTreeMap::from([("odd".to_owned(), known)]));
    let tools: ToolRegistry = servers.tools().into_iter().collect();
    let context = ToolContext::new(ConfinedFolder::open(folder.path()).unwrap(), environment());
    let fault = tools.call_with_consent("mcp__odd__gone", Map::new(), &context).await.unwrap_err().to_string();
    let expected = "the MCP server `odd` no longer has the tool \"gone\"; it has: mcp__odd__echo, mcp__odd__sum, ";
    assert!(fault.starts_with(expected), "{fault}");
}

#[tokio::test]
async fn what_is_known_is_checked_like_what_is_told() {
    let mut offer = aime_tools::McpAbilities::default();
    let tool = |name: &str, parameters: Value| aime_tools::McpTool { name: name.to_owned(), description: String::new(), parameters };
    offer.tools = vec![tool("good", json!({})), tool("bad", json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}))];
    let folder = tempfile::tempdir().unwrap();
    let servers = servers(folder.path(), stdio(&[]), BTreeMap::from([("odd".to_owned(), offer)]));
    assert_eq!(servers.tools().iter().map(|tool| tool.spec().name().to_owned()).collect::<Vec<_>>(), ["mcp__odd__good"]);
}

// Requirement: 8.9
#[tokio::test]
async fn one_behind_an_address_that_is_lost_in_mid_call_is_told_and_reached_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = Http::start(folder.path(), &[]).await;
    let port = first.url.rsplit(':').next().unwrap().trim_end_matches("/mcp").to_owned();
    let mut settings = McpServerSettings::new("odd", first.transport(None));
    settings.first_wait = Duration::from_millis(5);
    let world = World::of(McpSettings::new(vec![settings])).await;
    let lost = async {
        until("the call is under way", || folder.path().join("endless.txt").exists()).await;
        first.service.end(Duration::ZERO).await.unwrap();
        Http::start(folder.path(), &["--port", &port]).await
    };
    let (fault, _second) = tokio::join!(world.fault("mcp__odd__endless", json!({})), lost);
    assert!(fault.starts_with("the MCP server `odd` ended, or was lost, in the middle of the call"), "{fault}");
    assert_eq!(world.text("mcp__odd__echo", json!({"text": "again"})).await, "again");
}

// Requirement: 8.9
#[tokio::test]
async fn one_killed_in_mid_call_is_told_and_started_again() {
    let world = World::odd(|_| ()).await;
    let pid = world.text("mcp__odd__pid", json!({})).await;
    let fault = world.fault("mcp__odd__die", json!({})).await;
    assert!(fault.starts_with("the MCP server `odd` ended, or was lost, in the middle of the call"), "{fault}");
    let other = world.text("mcp__odd__pid", json!({})).await;
    assert_ne!(pid, other);

    // A kill from outside has the same effect.
    let call = world.call("mcp__odd__endless", json!({}));
    let kill = async {
        until("the call has begun", || world.folder.path().join("endless.txt").exists()).await;
        let pid = rustix::process::Pid::from_raw(other.parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    let (ended, ()) = tokio::join!(call, kill);
    assert!(ended.unwrap_err().to_string().contains("in the middle of the call"));
    assert_eq!(world.text("mcp__odd__echo", json!({"text": "again"})).await, "again");
}

#[tokio::test]
async fn one_over_http_that_came_back_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let http = Http::start(folder.path(), &[]).await;
    let port = http.url.rsplit_once(':').unwrap().1.split('/').next().unwrap().to_owned();
    let world = World::of(McpSettings::new(vec![McpServerSettings::new("odd", http.transport(None))])).await;
    assert_eq!(world.text("mcp__odd__echo", json!({"text": "one"})).await, "one");
    http.service.end(Duration::ZERO).await.unwrap();
    let fault = world.fault("mcp__odd__echo", json!({"text": "two"})).await;
    assert!(fault.contains("in the middle of the call"), "{fault}");
    let _again = Http::start(folder.path(), &["--port", &port]).await;
    assert_eq!(world.text("mcp__odd__echo", json!({"text": "three"})).await, "three");
}

#[tokio::test]
async fn one_that_always_fails_is_left_alone_longer_each_time_and_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let dying = servers(folder.path(), stdio(&["--die", "no licence found"]), BTreeMap::new());
    let begun = tokio::time::Instant::now();
    let mut faults = Vec::new();
    for _ in 0..6 {
        faults.push(dying.test("odd", &CancellationToken::new()).await.unwrap_err().to_string());
    }
    assert!(faults[..5].iter().all(|fault| fault.contains("could not be reached")), "{faults:?}");
    assert!(faults[0].ends_with("its output:\nno licence found"), "{}", faults[0]);
    assert!(
        faults[5].starts_with("the MCP server `odd` failed 5 times in a row, so aime does not start it again in this run"),
        "{}",
        faults[5]
    );
    assert!(begun.elapsed() >= Duration::from_millis(5 + 10 + 20 + 40), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn one_that_says_nothing_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("mute");
    fs::create_dir(&place).unwrap();
    let mute = servers(&place, stdio(&["--mute"]), BTreeMap::new());
    let fault = mute.test("odd", &CancellationToken::new()).await.unwrap_err().to_string();
    assert_eq!(fault, "the MCP server `odd` was not ready within 1 s");
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(matches!(mute.test("odd", &cancel).await, Err(aime_tools::McpError::Cancelled { .. })));
}

#[tokio::test]
async fn all_that_a_server_started_ends_with_it() {
    for politely in [true, false] {
        let world = World::odd(|_| ()).await;
        let pids = [world.text("mcp__odd__pid", json!({})).await, world.text("mcp__odd__starts", json!({})).await];
        assert!(pids.iter().all(|pid| alive(pid)));
        if politely {
            world.servers.end().await;
        }
        drop(world);
        for pid in pids {
            until("the process is dead", || !alive(&pid)).await;
        }
    }
}
