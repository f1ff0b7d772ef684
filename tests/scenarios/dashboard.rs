//! The dashboard: the runs of a folder over HTTP.

mod begun;
mod review;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::harness::{Running, World, plan, tool, wait_until};

/// What takes longer has failed.
const DEADLINE: Duration = Duration::from_secs(60);

/// A dashboard that was started, as a program asks it.
pub(crate) struct Asked<'a> {
    serving: Running<'a>,
    host: String,
    token: String,
}

impl<'a> Asked<'a> {
    pub(crate) fn start(world: &'a World) -> Self {
        Self::start_with(world, &[])
    }

    fn start_with(world: &'a World, options: &[&str]) -> Self {
        Self::of(world.start(["serve"].iter().chain(options)))
    }

    fn of(serving: Running<'a>) -> Self {
        serving.shows("token=");
        wait_until("the address is whole", || serving.stdout().ends_with('\n'));
        let address = serving.stdout().trim().strip_prefix("http://").unwrap().to_owned();
        let (host, token) = address.split_once("/?token=").unwrap();
        Self { host: host.to_owned(), token: token.to_owned(), serving }
    }

    fn send(&self, method: &str, path: &str, token: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let (host, length) = (&self.host, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream
    }

    /// The status and the document that are answered.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut answer = String::new();
        self.send(method, path, &self.token, body).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    pub(crate) fn end(self) {
        self.serving.signal("INT");
        self.serving.wait().must(0);
    }
}

/// The events of a stream until one of this type that holds a text.
fn until(stream: &mut TcpStream, text: &str) -> Vec<Value> {
    let (mut all, mut bytes) = (Vec::new(), [0; 4096]);
    let begun = Instant::now();
    loop {
        let read = stream.read(&mut bytes).unwrap();
        assert!(read > 0 && begun.elapsed() < DEADLINE, "no {text} in {}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&bytes[..read]);
        let seen = String::from_utf8_lossy(&all);
        let whole = &seen[..seen.rfind("\n\n").unwrap_or(0)];
        if whole.contains(text) {
            let documents = whole.lines().filter_map(|line| line.strip_prefix("data: "));
            return documents.map(|document| serde_json::from_str(document).unwrap()).collect();
        }
    }
}

// Requirement: 12.10
#[test]
fn a_run_is_watched_as_it_happens() {
    let world = World::alone();
    let wait = "for i in $(seq 1200); do test -e go && break; sleep 0.05; done; test -e go";
    world.plan(
        "plan.json",
        &plan(&[tool("wait", "bash", json!({"command": wait}), &[]), tool("look", "list_dir", json!({"path": "."}), &["wait"])]),
    );
    let dashboard = Asked::start(&world);
    assert_eq!(dashboard.ask("GET", "/api/v1/runs", "").1["runs"], json!([]));
    let run = world.start(["run", "--plan", "plan.json", "--approve", "all", "--run-id", "r"]);
    wait_until("the run is listed and driven", || dashboard.ask("GET", "/api/v1/runs/r", "").1["driven"] == json!(true));
    let mut stream = dashboard.send("GET", "/api/v1/runs/r/events", &dashboard.token, "");
    let begun = until(&mut stream, "tool_call_started");
    world.file("go", "");
    let rest = until(&mut stream, "\"from\":\"executing\",\"to\":\"completed\"");
    run.wait().must(0);
    let numbers: Vec<u64> = begun.iter().chain(&rest).map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "in order and without gaps");
    let (_, seen) = dashboard.ask("GET", "/api/v1/runs/r", "");
    assert_eq!((&seen["over"], &seen["driven"], &seen["result"]["status"]), (&json!(true), &json!(false), &json!("completed")));
    assert_eq!(world.aime(["runs", "events", "r", "--output", "jsonl"]).must(0).lines().len() as u64, seen["seq"].as_u64().unwrap());
    dashboard.end();
}

// Requirement: 12.10
#[test]
fn a_question_is_answered_and_a_run_is_steered_from_it() {
    let world = World::alone();
    world.plan("plan.json", &plan(&[tool("write", "write_file", json!({"path": "a.txt", "content": "a"}), &[])]));
    world.aime(["run", "--plan", "plan.json", "--approve", "ask", "--run-id", "r"]).must(5);
    let dashboard = Asked::start(&world);
    let (status, run) = dashboard.ask("GET", "/api/v1/runs/last", "");
    assert_eq!((status, &run["questions"][0]["kind"], &run["driven"]), (200, &json!("approval"), &json!(false)));
    let (status, reply) = dashboard.ask("POST", "/api/v1/runs/r/answer", r#"{"text": "yes"}"#);
    assert_eq!((status, &reply["message"]), (200, &json!("answered; resume it to go on")));
    let (status, refused) = dashboard.ask("POST", "/api/v1/runs/r/pause", "");
    assert_eq!(status, 409, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("no process works on run r"), "{refused}");
    world.aime(["resume", "r"]).must(0);
    assert_eq!(world.read("a.txt"), "a");
    assert_eq!(dashboard.ask("POST", "/api/v1/runs/r/tell", r#"{"text": "too late"}"#).0, 409);
    assert_eq!(dashboard.ask("GET", "/api/v1/runs/other", "").0, 404);
    dashboard.end();
}

// Requirement: 12.11
#[test]
fn nobody_is_let_in_without_the_token() {
    let world = World::alone();
    let dashboard = Asked::start(&world);
    assert!(dashboard.token.len() >= 64, "{}", dashboard.token);
    for (token, status) in [("", "401"), ("0", "401"), (dashboard.token.as_str(), "200")] {
        let mut answer = String::new();
        dashboard.send("GET", "/api/v1/runs", token, "").read_to_string(&mut answer).unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{answer}");
    }
    world.aime(["serve", "--port", dashboard.host.rsplit(':').next().unwrap()]).must(2).stderr_contains(&["nothing can listen", "hint"]);
    assert!(!world.exists(".aime"), "looking makes nothing");
    dashboard.end();
}
