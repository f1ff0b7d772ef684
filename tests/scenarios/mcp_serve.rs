//! aime as an MCP server: a client of the official library drives the built binary, as another agent would.

use std::{
    collections::VecDeque,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use aime_scripted_server::{Reply, Script, When};
use rmcp::{
    ClientHandler, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest, ContentBlock,
        ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, Implementation, ProgressNotificationParam,
    },
    service::{NotificationContext, PeerRequestOptions, RequestContext, RequestHandle, RunningService, serve_client},
    transport::async_rw::AsyncRwTransport,
};
use serde_json::{Value, json};
use tokio::{process::Child, runtime::Runtime, time::timeout};

use crate::harness::{World, actor, bash, done, messages_text, plan, tool, wait_until};

/// What must happen happens within this time.
const PATIENCE: Duration = Duration::from_secs(90);

/// What a client hears, and whether somebody is behind it who answers.
#[derive(Clone)]
struct Ear {
    news: Arc<Mutex<Vec<(f64, String)>>>,
    asked: Arc<Mutex<Vec<String>>>,
    answers: Option<Arc<Mutex<VecDeque<&'static str>>>>,
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.answers {
            Some(_) => ClientCapabilities::builder().enable_elicitation().build(),
            None => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("another agent", "1"))
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else { panic!("no form") };
        self.asked.lock().unwrap().push(message);
        let answer = self.answers.as_ref().and_then(|answers| answers.lock().unwrap().pop_front());
        Ok(answer.map_or_else(
            || ElicitResult::new(ElicitationAction::Decline),
            |answer| ElicitResult::new(ElicitationAction::Accept).with_content(json!({"answer": answer})),
        ))
    }

    async fn on_progress(&self, news: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.news.lock().unwrap().push((news.progress, news.message.unwrap_or_default()));
    }
}

/// A client, and the server that it has started.
pub(crate) struct Client {
    runtime: Runtime,
    running: RunningService<RoleClient, Ear>,
    child: Child,
    ear: Ear,
}

impl Client {
    /// Without anybody behind it.
    pub(crate) fn of(world: &World) -> Self {
        Self::with(world, None)
    }

    fn with(world: &World, answers: Option<&[&'static str]>) -> Self {
        let answers = answers.map(|answers| Arc::new(Mutex::new(answers.iter().copied().collect())));
        let ear = Ear { news: Arc::default(), asked: Arc::default(), answers };
        let runtime = Runtime::new().unwrap();
        let (running, child) = runtime.block_on(async {
            let mut command = world.command();
            command.args(["mcp", "serve"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            command.stderr(std::fs::File::create(world.root().join("served.log")).unwrap());
            let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
            let transport = AsyncRwTransport::new_client(child.stdout.take().unwrap(), child.stdin.take().unwrap());
            (timeout(PATIENCE, serve_client(ear.clone(), transport)).await.unwrap().unwrap(), child)
        });
        Self { runtime, running, child, ear }
    }

    /// Waits for what must happen.
    fn within<T>(&self, what: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { timeout(PATIENCE, what).await.expect("it takes too long") })
    }

    fn try_call(&self, tool: &'static str, parameters: Value) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(tool).with_arguments(parameters.as_object().cloned().unwrap());
        self.within(self.running.peer().call_tool(params))
    }

    /// Calls a tool: its text, its structure, and whether it is an error.
    pub(crate) fn call(&self, tool: &'static str, parameters: Value) -> ToolAnswer {
        let result = self.try_call(tool, parameters).unwrap();
        let text = result.content.iter().map(|block| match block {
            ContentBlock::Text(text) => text.text.clone(),
            other => panic!("no text: {other:?}"),
        });
        ToolAnswer { text: text.collect(), value: result.structured_content.unwrap_or_default(), error: result.is_error == Some(true) }
    }

    /// Begins a call.
    fn begin(&self, tool: &'static str, parameters: Value) -> RequestHandle<RoleClient> {
        let params = CallToolRequestParams::new(tool).with_arguments(parameters.as_object().cloned().unwrap());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.running.peer().send_cancellable_request(request, PeerRequestOptions::no_options());
        self.within(sent).unwrap()
    }

    /// What was told while it worked, once `last` is among it. The client hears each in a task of its own: the server's numbers tell the order.
    fn news(&self, last: &str) -> Vec<String> {
        let mut news = Vec::new();
        for _ in 0..6_000 {
            news.clone_from(&self.ear.news.lock().unwrap());
            if news.iter().any(|(_, text)| text.contains(last)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        news.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        news.into_iter().map(|(_, text)| text).collect()
    }

    /// Closes the server's input: it must end by itself, and well.
    pub(crate) fn close(self) {
        let Self { runtime, running, mut child, .. } = self;
        runtime.block_on(async {
            running.cancel().await.unwrap();
            let status = timeout(PATIENCE, child.wait()).await.expect("the server ends").unwrap();
            assert_eq!(status.code(), Some(0));
        });
    }
}

pub(crate) struct ToolAnswer {
    text: String,
    value: Value,
    error: bool,
}

impl ToolAnswer {
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert!(!self.error, "{}", self.text);
        self
    }

    #[track_caller]
    fn fault(self, part: &str) {
        assert!(self.error && self.text.contains(part), "{part}: {}", self.text);
    }
}

/// Whether a process lives that was started in this world. Each knows its home.
fn somebody_lives(world: &World) -> bool {
    let home = world.root().display().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&home)
    })
}

fn free(script: Script) -> World {
    let mut world = World::with(script);
    world.user_settings("[permissions]\napprove = \"all\"\n");
    world
}

// Requirement: 8.18
#[test]
fn another_agent_plans_and_runs() {
    let made = plan(&[actor("wash", "WASH", &[]), actor("dry", "DRY", &["wash"])]);
    let world = World::with(
        Script::new()
            .on(When::schema("aime_plan"), [Reply::json(made)])
            .on(When::tools(), [done("done")])
            .on(When::plain(), [Reply::text("The dishes are done.")]),
    );
    let client = Client::of(&world);
    let server = client.running.peer().peer_info().unwrap();
    assert!(server.server_info.as_ref().is_some_and(|server| server.name == "aime"), "{server:?}");
    let tools = client.within(client.running.peer().list_all_tools()).unwrap();
    let reads = |tool: &rmcp::model::Tool| tool.annotations.as_ref().and_then(|known| known.read_only_hint) == Some(true);
    let listed: Vec<_> = tools.iter().map(|tool| (tool.name.as_ref(), reads(tool))).collect();
    let expected = [("plan", false), ("run", false), ("progress", true), ("answer", false), ("stop", false), ("runs", true)];
    assert_eq!(listed, expected);

    let planned = client.call("plan", json!({"goal": "do the dishes", "mode": "complex"})).good().value;
    world.plan("plan.json", &planned);
    world.aime(["check", "plan.json"]).must(0);
    assert!(!world.exists(".aime/aime.db") || client.call("runs", json!({})).value["runs"] == json!([]), "nothing was run");

    let ran = client.call("run", json!({"plan": planned})).good();
    assert_eq!((&ran.value["status"], &ran.value["answer"]), (&json!("completed"), &json!("The dishes are done.")), "{}", ran.text);
    assert!(ran.text.contains("2 of 2 tasks") && ran.text.contains("The dishes are done."), "{}", ran.text);
    let news = client.news("run     completed");
    let at = |text: &str| news.iter().position(|news_text| news_text.contains(text)).unwrap_or_else(|| panic!("{text}: {news:?}"));
    assert!(at("done    wash") < at("start   dry") && at("start   dry") < at("done    dry"), "{news:?}");

    let run = ran.value["run_id"].as_str().unwrap();
    let progress = client.call("progress", json!({"run_id": run})).good();
    assert_eq!((&progress.value["status"], &progress.value["tasks"][1]["status"]), (&json!("completed"), &json!("completed")));
    assert!(progress.text.contains("- [x]"), "{}", progress.text);
    assert_eq!(client.call("runs", json!({"limit": 1})).good().value["runs"][0]["run_id"], run);
    // It is kept as all runs are.
    assert!(world.aime(["runs", "show", run]).must(0).stdout.contains("completed"));
    client.close();
}

/// An actor that asks for a colour, and paints with it.
fn painter() -> World {
    free(
        Script::new()
            .on(When::tools().and_turn(0), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
            .on(When::tools().and_contains("blue"), [done("painted blue")]),
    )
}

// Requirement: 8.18
#[test]
fn a_question_is_handed_to_the_client_and_its_answer_goes_on() {
    let world = painter();
    let client = Client::of(&world);
    let left = client.call("run", json!({"goal": "paint the wall", "mode": "direct"})).good();
    assert_eq!(left.value["status"], "waiting_for_human");
    assert!(left.text.contains("Which colour?") && left.text.contains("`answer`"), "{}", left.text);
    let run = left.value["run_id"].as_str().unwrap();
    let progress = client.call("progress", json!({"run_id": run})).good();
    assert_eq!((&progress.value["status"], &progress.value["asks"][0]["question"]), (&json!("waiting_for_human"), &json!("Which colour?")));
    let ended = client.call("answer", json!({"run_id": run, "text": "blue"})).good();
    assert_eq!((&ended.value["status"], &ended.value["answer"]), (&json!("completed"), &json!("painted blue")));
    client.call("answer", json!({"run_id": run, "text": "red"})).fault("asks nothing");
    client.close();
}

// Requirement: 8.18
#[test]
fn a_client_with_somebody_behind_it_is_asked_at_once() {
    let world = painter();
    let client = Client::with(&world, Some(&["blue"]));
    let ended = client.call("run", json!({"goal": "paint the wall", "mode": "direct"})).good();
    assert_eq!(ended.value["answer"], "painted blue", "{}", ended.text);
    assert_eq!(*client.ear.asked.lock().unwrap(), ["Which colour?"]);
    // Who declines leaves the run waiting.
    let left = client.call("run", json!({"goal": "paint the door", "mode": "direct"})).good();
    assert_eq!(left.value["status"], "waiting_for_human", "{}", left.text);
    client.close();
}

// Requirement: 8.18
#[test]
fn a_plan_of_another_agent_has_no_more_rights_than_a_run() {
    let world = World::with(Script::new());
    let client = Client::with(&world, Some(&["no"]));
    let plan = plan(&[tool("look", "bash", json!({"command": "touch made.txt"}), &[])]);
    let asked = client.call("run", json!({"plan": plan})).good();
    assert_ne!(asked.value["status"], "completed", "{}", asked.text);
    let questions = client.ear.asked.lock().unwrap().clone();
    assert!(questions[0].contains("touch made.txt") && questions[0].ends_with("Answer yes, always or no."), "{questions:?}");
    assert!(!world.exists("made.txt"));
    client.close();
}

// Requirement: 8.18
#[test]
fn a_cancelled_request_stops_the_run_so_that_it_can_go_on() {
    let world = free(Script::new().once(When::tools(), [Reply::hang()]).on(When::tools(), [done("done at last")]));
    let client = Client::of(&world);
    let begun = client.begin("run", json!({"goal": "wait", "mode": "direct"}));
    world.wait_for_requests(1);
    client.within(begun.cancel(Some("no longer wanted".to_owned()))).unwrap();
    let status = || client.call("progress", json!({"run_id": "last"})).good().value["status"].clone();
    wait_until("the run is stopped", || status() == "interrupted");
    let run = client.call("runs", json!({})).good().value["runs"][0]["run_id"].clone();
    let ended = client.call("run", json!({"run_id": run})).good();
    assert_eq!((&ended.value["status"], &ended.value["answer"]), (&json!("completed"), &json!("done at last")));
    client.close();
}

#[test]
fn a_run_that_reached_a_bound_goes_on_with_a_higher_one() {
    let world = free(Script::new().on(When::tools(), [done("done at last")]));
    let client = Client::of(&world);
    let stopped = client.call("run", json!({"goal": "wait", "mode": "direct", "max_tokens": 10})).good();
    assert_eq!(stopped.value["error"]["code"], "bound_reached", "{}", stopped.text);
    let run = &stopped.value["run_id"];
    let again = client.call("run", json!({"run_id": run})).good();
    assert_eq!(again.value["error"]["code"], "bound_reached", "{}", again.text);
    let ended = client.call("run", json!({"run_id": run, "max_tokens": 100_000})).good();
    assert_eq!((&ended.value["status"], &ended.value["answer"]), (&json!("completed"), &json!("done at last")));
    client.close();
}

#[test]
fn a_run_that_is_not_waited_for_is_looked_at_and_stopped() {
    let world = free(Script::new().once(When::tools(), [Reply::hang()]).on(When::tools(), [done("done at last")]));
    let client = Client::of(&world);
    let begun = client.call("run", json!({"goal": "wait", "mode": "direct", "wait": false})).good();
    assert_eq!(begun.value["status"], "under_way");
    let run = begun.value["run_id"].as_str().unwrap();
    world.wait_for_requests(1);
    let status = || client.call("progress", json!({"run_id": run})).good().value["status"].clone();
    assert_eq!(status(), "under_way");
    client.call("stop", json!({"run_id": run})).good();
    wait_until("the run is stopped", || status() == "interrupted");
    client.call("stop", json!({"run_id": run})).fault("no process works on run");
    client.close();
}

#[test]
fn what_is_wrong_is_said() {
    let world = World::with(Script::new());
    let client = Client::of(&world);
    let unknown = client.try_call("walk", json!({})).unwrap_err().to_string();
    assert!(unknown.contains("Unknown tool: walk") && unknown.contains("`plan`"), "{unknown}");
    let faults = [
        ("plan", json!({"goal": " "}), "`goal` is empty"),
        ("plan", json!({"gaol": "escape"}), "`gaol`"),
        ("plan", json!({"goal": "x", "mode": "sideways"}), "`mode`"),
        ("plan", json!({"goal": "x", "mode": "complex", "max_tokens": 10}), "the bound on tokens was reached"),
        ("run", json!({}), "One of `goal`, `plan` and `run_id` is needed"),
        ("run", json!({"run_id": "r", "goal": "x", "mode": "simple"}), "leave out `plan`, `mode` and `unattended`"),
        ("run", json!({"run_id": "r", "unattended": true}), "leave out `plan`, `mode` and `unattended`"),
        ("run", json!({"run_id": "nowhere", "goal": "x"}), "there is no run \"nowhere\""),
        ("run", json!({"goal": "x", "max_seconds": 0}), "`max_seconds`"),
        ("run", json!({"goal": "x", "max_cost_usd": -1}), "`max_cost_usd`"),
        ("run", json!({"goal": "x".repeat(100_001)}), "longer than 100000 bytes"),
        ("run", json!({"plan": {"tasks": [tool("a", "no_such_tool", json!({}), &["b"])]}}), "no_such_tool"),
        ("run", json!({"run_id": "nowhere"}), "there is no run \"nowhere\""),
        ("progress", json!({"run_id": "nowhere"}), "there is no run \"nowhere\""),
        ("answer", json!({"run_id": "nowhere", "text": "yes"}), "there is no run \"nowhere\""),
        ("answer", json!({"run_id": "nowhere"}), "`text`"),
    ];
    for (tool, parameters, part) in faults {
        client.call(tool, parameters).fault(part);
    }
    client.close();
}

// Requirement: 8.18
#[test]
fn two_clients_do_not_disturb_each_other() {
    let world = World::with(Script::new().on(When::tools().and_contains("LEFT"), [done("left")]).on(When::tools(), [done("right")]));
    let clients = [("LEFT", "left"), ("RIGHT", "right")].map(|(goal, answer)| (Client::of(&world), goal, answer));
    let begun = clients.each_ref().map(|(client, goal, _)| client.begin("run", json!({"goal": goal, "mode": "direct"})));
    for ((client, _, answer), handle) in clients.iter().zip(begun) {
        let result = client.within(handle.await_response()).unwrap();
        let result = serde_json::to_value(result).unwrap();
        assert_eq!(result["structuredContent"]["answer"], *answer, "{result}");
    }
    for (client, ..) in clients {
        assert_eq!(client.call("runs", json!({})).good().value["runs"].as_array().unwrap().len(), 2);
        client.close();
    }
}

// Requirement: 8.18
#[test]
fn closing_its_input_ends_the_server_and_all_it_started() {
    let world = free(Script::new().on(When::tools().and_turn(0), [bash("echo begun > begun.txt; sleep 600")]));
    let client = Client::of(&world);
    client.call("run", json!({"goal": "sleep", "mode": "direct", "wait": false})).good();
    world.wait_for_file("begun.txt");
    client.close();
    wait_until("no process is left", || !somebody_lives(&world));
    let listed = world.aime(["runs", "list", "--output", "json"]).must(0).json();
    assert_eq!(listed[0]["status"], "interrupted", "{listed}");
}

// Requirement: 8.18
#[test]
fn standard_output_carries_the_protocol_alone() {
    let world = World::with(Script::new());
    let input = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ];
    let input: String = input.iter().map(|line| format!("{line}\n")).collect();
    let ended = world.aime_reading(["-vv", "mcp", "serve"], &input).must(0);
    let lines = ended.lines();
    assert!(lines.iter().all(|line| line["jsonrpc"] == "2.0"), "{ended}");
    assert_eq!(lines.iter().map(|line| line["id"].clone()).collect::<Vec<_>>(), [json!(1), json!(2)], "{ended}");
    world.aime_reading(["mcp", "serve"], "").must(0);
    let early = world.aime_reading(["mcp", "serve"], "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}\n").must(0);
    assert_eq!(early.lines()[0]["error"]["code"], -32602, "{early}");
}

// Requirement: 8.18
#[test]
fn aime_is_a_client_of_aime() {
    let mut world = World::with(
        Script::new()
            .on(
                When::tools().and_contains("OUTER").and_turn(0),
                [Reply::call("mcp__other__run", json!({"goal": "the INNER goal", "mode": "direct"}))],
            )
            .on(When::tools().and_contains("OUTER"), [done("the other did it")])
            .on(When::tools().and_contains("INNER"), [done("done within")]),
    );
    let program = env!("CARGO_BIN_EXE_aime");
    world.user_settings(&format!(
        "[permissions]\napprove = \"all\"\n[mcp.servers.other]\ncommand = {program:?}\nargs = [\"mcp\", \"serve\"]\nconfined = false\ntrusted = true\n\
         env_vars = [\"OPENAI_BASE_URL\", \"AIME_OFFLINE\", \"XDG_CONFIG_HOME\"]\n"
    ));
    // An address is no secret, though the inner one is handed it.
    world.aime(["run", "the OUTER goal", "--mode", "direct"]).must(0).stderr_contains(&["gpt-5.6-terra at http://127.0.0.1:"]);
    let requests = world.server().requests();
    assert!(messages_text(&requests[2]).contains("done within"), "{:#}", requests[2]);
    // The inner one has the same settings, and does not start itself again.
    let offered = |request: &Value| request["tools"].to_string().contains("mcp__other__run");
    assert_eq!(requests.iter().map(offered).collect::<Vec<_>>(), [true, false, true]);
    wait_until("no process is left", || !somebody_lives(&world));
}

// Requirement: 1.10
#[test]
fn a_run_that_has_ended_goes_on_with_a_further_goal() {
    let world = World::led(Script::new().on(When::tools(), [done("Clean."), done("Dry.")]));
    let client = Client::of(&world);
    let first = client.call("run", json!({"goal": "wash them"})).good();
    let id = first.value["run_id"].clone();
    client.call("run", json!({"run_id": id, "goal": "dry them", "mode": "simple"})).fault("leave out");
    client.call("run", json!({"run_id": id, "goal": " "})).fault("is empty");
    let then = client.call("run", json!({"run_id": id, "goal": "dry them"})).good();
    assert_eq!((&then.value["run_id"], &then.value["answer"]), (&id, &json!("Dry.")));
    crate::lead::grows_only_at_its_end(&world.server().requests());
    client.close();
}
