//! Runs the same graphs and rounds on adk-rust, without checkpoints or telemetry: `graph GRAPH.json REPEATS` or `rounds SERVER ROUNDS`;
//! each prints a line of JSON.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adk_agent::LlmAgentBuilder;
use adk_core::{Content, RunConfig, Tool, ToolContext};
use adk_graph::{END, ExecutionConfig, NodeOutput, START, State, StateGraph, StateSchema};
use adk_model::openai::OpenAIClient;
use adk_runner::Runner;
use adk_session::{CreateRequest, InMemorySessionService, SessionService};
use async_trait::async_trait;
use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Deserialize)]
struct Graph {
    name: String,
    slots: usize,
    tasks: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    id: String,
    ms: u64,
    after: Vec<String>,
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["graph", file, repeats] => {
            let graph: Graph = serde_json::from_slice(&fs::read(file)?)?;
            for _ in 0..repeats.parse()? {
                println!("{}", json!({"graph": graph.name, "ms": run(&graph).await?}));
            }
            Ok(())
        }
        ["rounds", server, count] => {
            // Exclude one-time work of the first request from the measurement.
            rounds(&format!("{server}/warm/1/v1"), 1).await?;
            let ms = rounds(&format!("{server}/rounds/{count}/v1"), count.parse()?).await?;
            println!("{}", json!({"ms": ms}));
            Ok(())
        }
        _ => Err("graph GRAPH.json REPEATS, or rounds SERVER ROUNDS".into()),
    }
}

/// Returns the milliseconds for all tasks of a graph.
async fn run(graph: &Graph) -> Outcome<f64> {
    let mut builder = StateGraph::new(StateSchema::builder().counter_channel("done").build());
    let joined: HashSet<&str> =
        graph.tasks.iter().filter(|task| task.after.len() > 1).flat_map(|task| &task.after).map(String::as_str).collect();
    let mut last: HashMap<&str, bool> = graph.tasks.iter().map(|task| (task.id.as_str(), true)).collect();
    for task in &graph.tasks {
        // For a node that writes no output under its own name, a join stores the whole state, including that of all joins before it.
        let own = joined.contains(task.id.as_str()).then(|| task.id.clone());
        let ms = task.ms;
        builder = builder.add_node_fn(&task.id, move |_| {
            let done = NodeOutput::new().with_update("done", json!(1));
            let output = match &own {
                Some(own) => done.with_update(own, json!(1)),
                None => done,
            };
            async move {
                if ms > 0 {
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                }
                Ok(output)
            }
        });
        if task.after.is_empty() {
            builder = builder.add_edge(START, &task.id);
        }
        // A node with several edges waits for all of them.
        for before in &task.after {
            builder = builder.add_edge(before, &task.id);
            last.insert(before, false);
        }
    }
    for (task, _) in last.iter().filter(|(_, last)| **last) {
        builder = builder.add_edge(task, END);
    }
    let app = builder.compile()?.with_max_concurrency(graph.slots);
    let started = Instant::now();
    let state = app.invoke(State::new(), ExecutionConfig::new("bench").with_recursion_limit(100_000)).await?;
    let took = started.elapsed();
    let done = state.get("done").and_then(Value::as_f64);
    if done != Some(graph.tasks.len() as f64) {
        return Err(format!("{done:?} tasks of {} were done", graph.tasks.len()).into());
    }
    Ok(took.as_secs_f64() * 1_000.0)
}

/// Tool that returns a page.
struct Look;

#[async_trait]
impl Tool for Look {
    fn name(&self) -> &str {
        "look"
    }

    fn description(&self) -> &str {
        "Gives a page of the part."
    }

    fn parameters_schema(&self) -> Option<Value> {
        Some(json!({"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}))
    }

    async fn execute(&self, _: Arc<dyn ToolContext>, given: Value) -> adk_core::Result<Value> {
        let words = format!("page {} ", given["page"]);
        Ok(json!(words.repeat(400 / words.len())))
    }
}

/// Returns the milliseconds of one agent with its OpenAI client and its session in memory, for this many rounds with one call each.
async fn rounds(base_url: &str, rounds: usize) -> Outcome<f64> {
    let agent = LlmAgentBuilder::new("looker")
        .model(Arc::new(OpenAIClient::compatible("none", base_url, "scripted")?))
        .instruction("Look at every page.")
        .tool(Arc::new(Look))
        .max_iterations(u32::MAX)
        .build()?;
    let sessions = Arc::new(InMemorySessionService::new());
    let (app_name, user_id, session_id) = ("bench".to_owned(), "user".to_owned(), Some("session".to_owned()));
    sessions.create(CreateRequest { app_name, user_id, session_id, state: HashMap::new() }).await?;
    let runner =
        Runner::builder().app_name("bench").agent(Arc::new(agent)).session_service(sessions).run_config(RunConfig::default()).build()?;
    let started = Instant::now();
    let mut events = runner.run("user".try_into()?, "session".try_into()?, Content::new("user").with_text("Look")).await?;
    let mut count = 0;
    while let Some(event) = events.next().await {
        event?;
        count += 1;
    }
    let took = started.elapsed();
    if count < 2 * rounds {
        return Err(format!("{count} events in {rounds} rounds").into());
    }
    Ok(took.as_secs_f64() * 1_000.0)
}
