//! Telemetry: the built binary sends what runs were to a receiver of OTLP, which reads it with the protocol's own types.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use aime_scripted_server::{Reply, Script, When};
use opentelemetry_proto::tonic::{
    collector::{logs::v1::ExportLogsServiceRequest, metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{KeyValue, any_value::Value as Any},
    logs::v1::LogRecord,
    trace::v1::Span,
};
use prost::Message;
use serde_json::json;

use crate::harness::{World, actor, bash, done, plan, tool};

/// What was posted: the path, and the body.
type Posted = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Where a receiver listens, and what it gets.
fn receiver() -> (String, Posted) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (url, posted) = (format!("http://{}", listener.local_addr().unwrap()), Posted::default());
    let got = Arc::clone(&posted);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let got = Arc::clone(&got);
            thread::spawn(move || receive(&stream, &got));
        }
    });
    (url, posted)
}

/// Takes one request after the other, until the other end is closed.
fn receive(mut stream: &TcpStream, got: &Posted) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        got.lock().unwrap().push((first.split(' ').nth(1)?.to_owned(), body));
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()?;
    }
}

fn of<M: Message + Default>(posted: &Posted, path: &str) -> Vec<M> {
    posted.lock().unwrap().iter().filter(|(to, _)| to == path).map(|(_, body)| M::decode(body.as_slice()).unwrap()).collect()
}

fn spans(posted: &Posted) -> Vec<Span> {
    let requests: Vec<ExportTraceServiceRequest> = of(posted, "/v1/traces");
    let resources = requests.into_iter().flat_map(|request| request.resource_spans);
    resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
}

fn records(posted: &Posted) -> Vec<LogRecord> {
    let requests: Vec<ExportLogsServiceRequest> = of(posted, "/v1/logs");
    let resources = requests.into_iter().flat_map(|request| request.resource_logs);
    resources.flat_map(|resource| resource.scope_logs).flat_map(|scope| scope.log_records).collect()
}

/// The attributes that are texts.
fn texts(attributes: &[KeyValue]) -> Vec<(&str, &str)> {
    attributes.iter().filter_map(text_of).collect()
}

fn text_of(attribute: &KeyValue) -> Option<(&str, &str)> {
    match attribute.value.as_ref()?.value.as_ref()? {
        Any::StringValue(value) => Some((attribute.key.as_str(), value.as_str())),
        _ => None,
    }
}

fn world() -> World {
    let made = plan(&[actor("wash", "WASH", &[]), actor("dry", "DRY", &["wash"])]);
    World::with(
        Script::new()
            .on(When::schema("aime_plan"), [Reply::json(made)])
            .on(When::tools().and_contains("WASH").and_turn(0), [bash("echo $OTEL_EXPORTER_OTLP_HEADERS a-token-that-nobody-sees")])
            .on(When::tools(), [done("done")])
            .on(When::plain(), [Reply::text("The dishes are done.")]),
    )
}

const GOAL: [&str; 7] = ["run", "do the dishes", "--mode", "complex", "--approve", "all", "--quiet"];

/// The planner, the actors and the final answer ask for it.
// Requirement: 8.27
#[test]
fn each_chat_span_has_the_effort() {
    let (url, posted) = receiver();
    let mut world = world();
    world.user_settings("[models.default]\neffort = \"low\"\n");
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    world.aime(GOAL).must(0);
    let all = spans(&posted);
    let chats: Vec<&Span> = all.iter().filter(|span| span.name.starts_with("chat ")).collect();
    assert_eq!(chats.len(), 5, "a plan, three turns of actors, and the answer");
    assert!(chats.iter().all(|span| texts(&span.attributes).contains(&("gen_ai.request.reasoning.level", "low"))), "{chats:?}");
}

// Requirement: 8.27
#[test]
fn a_receiver_is_told_what_a_run_was_and_not_what_was_said() {
    let (url, posted) = receiver();
    let mut world = world();
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    world.set("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a-token-that-nobody-sees");
    world.set("OTEL_SERVICE_NAME", "kitchen");
    assert_eq!(world.aime(GOAL).must(0).stdout.trim(), "The dishes are done.");
    let all = spans(&posted);
    let named = |name: &str| all.iter().filter(|span| span.name.starts_with(name)).count();
    let counts = ["invoke_workflow aime", "plan", "task", "invoke_agent", "execute_tool bash", "chat"].map(named);
    // The plan, two turns of the first actor, one of the second, and the answer.
    assert_eq!(counts, [1, 1, 2, 2, 1, 5], "{:?}", all.iter().map(|span| &span.name).collect::<Vec<_>>());
    let orphans =
        all.iter().filter(|span| !span.parent_span_id.is_empty() && !all.iter().any(|above| above.span_id == span.parent_span_id));
    assert_eq!(orphans.count(), 0);
    for word in ["dishes are done", "a-token-that-nobody-sees"] {
        assert!(!posted.lock().unwrap().iter().any(|(_, body)| String::from_utf8_lossy(body).contains(word)), "{word}");
    }
    let requests: Vec<ExportTraceServiceRequest> = of(&posted, "/v1/traces");
    let resource = requests[0].resource_spans[0].resource.as_ref().unwrap();
    assert_eq!(texts(&resource.attributes), [("service.name", "kitchen")]);
    let metrics: Vec<ExportMetricsServiceRequest> = of(&posted, "/v1/metrics");
    let names: Vec<&str> =
        metrics.last().unwrap().resource_metrics[0].scope_metrics[0].metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "gen_ai.client.inference.operation.input_tokens",
            "gen_ai.client.inference.operation.output_tokens",
            "gen_ai.client.inference.duration",
            "aime.tool.duration"
        ]
    );
    // Each answer of an actor, and the last one, say why the model stopped.
    let finish = |span: &&Span| span.attributes.iter().any(|attribute| attribute.key == "gen_ai.response.finish_reasons");
    assert_eq!(all.iter().filter(finish).count(), 4);
    let records = records(&posted);
    let events = |name: &str| records.iter().filter(|record| record.event_name == name).count();
    assert_eq!(
        ["aime.run.started", "aime.plan.created", "aime.answered", "gen_ai.client.inference.operation.details"].map(events),
        [1, 1, 1, 5]
    );
    let known: Vec<&[u8]> = all.iter().map(|span| span.span_id.as_slice()).collect();
    assert!(records.iter().all(|record| record.body.is_none() && known.contains(&record.span_id.as_slice())), "each stands at a span");
    // The key of the receiver is nobody else's: not of commands, not of the journal.
    let journal = world.aime(["runs", "events", "last"]).must(0).stdout;
    assert!(!journal.contains("a-token-that-nobody-sees") && journal.contains("tool_call_finished"));
}

// Requirement: 8.27
#[test]
fn what_was_said_is_sent_where_it_is_wanted() {
    let (url, posted) = receiver();
    let mut world = world();
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    world.set("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true");
    std::fs::write(world.path("a.gif"), b"GIF89a\x05\0\x03\0\0\0\0").unwrap();
    world.aime(GOAL.into_iter().chain(["--image", "a.gif"])).must(0);
    let all = spans(&posted);
    let root = all.iter().find(|span| span.name == "invoke_workflow aime").unwrap();
    let answer = json!([{"role": "assistant", "parts": [{"type": "text", "content": "The dishes are done."}]}]).to_string();
    assert!(texts(&root.attributes).contains(&("gen_ai.output.messages", answer.as_str())), "{root:?}");
    let answered = records(&posted).into_iter().find(|record| record.event_name == "aime.answered").unwrap();
    assert_eq!(answered.body.unwrap().value, Some(Any::StringValue("The dishes are done.".to_owned())));
    let sends_images = world.server().received().iter().any(|asked| asked.body.to_string().contains("R0lGODlh"));
    let is_exported = posted.lock().unwrap().iter().any(|(_, body)| String::from_utf8_lossy(body).contains("R0lGODlh"));
    assert_eq!((sends_images, is_exported), (true, false), "the data of an image goes to the model alone");
}

/// Each span and each series names the provider of its model.
// Requirement: 8.27
#[test]
fn providers_have_the_names_of_the_conventions() {
    for (provider, name) in [("mistral", "mistral_ai"), ("openai", "openai"), ("deepseek", "deepseek")] {
        let (url, posted) = receiver();
        let mut world = world();
        let server = world.server().url();
        world.file(
            "aime.toml",
            &format!("[models.default]\nprovider = \"{provider}\"\nmodel = \"m\"\nbase_url = \"{server}\"\nprotocol = \"chat\"\n"),
        );
        world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
        world.aime(GOAL).must(0);
        let all = spans(&posted);
        let named: Vec<_> = all.iter().flat_map(|span| texts(&span.attributes)).filter(|(key, _)| *key == "gen_ai.provider.name").collect();
        assert_eq!(named, [("gen_ai.provider.name", name); 5], "{provider}");
    }
}

// Requirement: 8.27
#[test]
fn a_receiver_that_is_not_there_costs_no_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut world = world();
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{}", listener.local_addr().unwrap()));
    drop(listener);
    let goal: Vec<&str> = GOAL.into_iter().filter(|word| *word != "--quiet").collect();
    let ended = world.aime(goal).must(0);
    assert_eq!(ended.stderr.matches("of telemetry could not be sent").count(), 1, "{ended}");
    world.set("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let goal: Vec<&str> = GOAL.into_iter().filter(|word| *word != "--quiet").collect();
    world.aime(goal).must(0).stderr_contains(&["no traces are sent", "only http/protobuf is spoken"]);
}

/// The calls of an actor and of a tool task name their own spans.
// Requirement: 8.27
#[test]
fn a_server_is_told_the_span_of_its_call() {
    let script = Script::new()
        .on(When::tools().and_turn(0), [Reply::call("mcp__clock__clock_read", json!({"place": "Paris"}))])
        .on(When::tools(), [done("it is noon")])
        .on(When::plain(), [Reply::text("Noon.")]);
    let mut world = World::with(script);
    world.file("clock.sh", crate::mcp::CLOCK);
    world.user_settings("[mcp.servers.clock]\ncommand = \"sh\"\nargs = [\"clock.sh\"]\n");
    world.plan("plan.json", &plan(&[tool("t", "mcp__clock__clock_read", json!({"place": "Oslo"}), &[]), actor("a", "ASK", &["t"])]));
    let run = ["run", "--plan", "plan.json", "--approve", "all"];
    let parents = |world: &World| -> Vec<Option<String>> {
        let calls = world.read("calls.txt");
        let parent = |line| serde_json::from_str::<serde_json::Value>(line).unwrap().pointer("/params/_meta/traceparent").cloned();
        calls.lines().map(|line| Some(parent(line)?.as_str()?.to_owned())).collect()
    };
    world.aime(run).must(0);
    assert_eq!(parents(&world), [None, None], "without a receiver there is no trace");
    let (url, posted) = receiver();
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    world.aime(run).must(0);
    let all = spans(&posted);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let of = |span: &Span| Some(format!("00-{}-{}-01", hex(&span.trace_id), hex(&span.span_id)));
    let calls = all.iter().filter(|span| span.name == "execute_tool mcp__clock__clock_read");
    let (mut received, mut sent) = (parents(&world)[2..].to_vec(), calls.map(of).collect::<Vec<_>>());
    received.sort();
    sent.sort();
    assert_eq!((received.len(), received), (2, sent));
}
