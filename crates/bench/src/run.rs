//! One graph, run once: by aime with its journal on disk, and by bare tokio.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use aime_orchestrator::{
    OrchestratorBuilder, PlanRoute, RunControl, RunRequest, RunSettings,
    progress::{Plan, RunStatus},
    tools::{Approval, ToolContext, ToolError, ToolOutput, ToolRegistry, Touches, TypedTool},
};
use anyhow::{Context, Result, ensure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::sleep,
};

use crate::graph::Graph;

/// How long to wait.
#[derive(Deserialize, JsonSchema)]
struct Work {
    /// Milliseconds.
    ms: u64,
}

async fn work(ms: u64) {
    if ms > 0 {
        sleep(Duration::from_millis(ms)).await;
    }
}

/// What the tasks of a graph are to the engine, which do nothing in either case.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// They may be done again, so nothing waits for the disk.
    ReadOnly,
    /// Each is known before it begins.
    ChangesSomething,
}

/// Lets aime carry a graph out, with a journal in a folder of its own. Efforts are declared, as a planner would.
///
/// # Errors
/// A run that is not completed.
pub(crate) async fn by_aime(graph: &Graph, kind: Kind) -> Result<Carried> {
    let folder = tempfile::tempdir()?;
    let tool = TypedTool::new("work", "Waits.", async |given: Work, _: ToolContext| -> Result<ToolOutput, ToolError> {
        work(given.ms).await;
        Ok(ToolOutput::text("done"))
    });
    let mut tools = ToolRegistry::new();
    tools.register(match kind {
        Kind::ReadOnly => Arc::new(tool.read_only()),
        Kind::ChangesSomething => Arc::new(tool.touches(Touches::Nothing)),
    });
    let builder = OrchestratorBuilder::new().tools(tools).undo(None).folder(folder.path());
    let tasks: Vec<_> = graph
        .tasks
        .iter()
        .map(|task| {
            // Seconds are the unit of estimates; only their relations count.
            json!({"id": task.id, "kind": "tool", "tool": "work", "parameters": {"ms": task.ms}, "dependencies": task.after,
                   "effort_seconds": task.ms.max(1)})
        })
        .collect();
    let plan: Plan = serde_json::from_value(json!({ "tasks": tasks }))?;
    let mut settings =
        RunSettings { route: PlanRoute::Rules, approval: Approval::All, unattended: true, plan_approved: true, ..RunSettings::default() };
    settings.max_parallel = u32::try_from(graph.slots)?;
    settings.bounds.max_tool_calls = u64::MAX;
    let request = RunRequest { plan: Some(plan), settings, ..RunRequest::new("bench".parse()?, "Wait") };
    carry_out(builder, request).await.with_context(|| graph.name.clone())
}

/// A run that was completed.
pub(crate) struct Carried {
    /// From the request to the result.
    pub(crate) took: Duration,
    /// How many events it told.
    pub(crate) events: usize,
    /// How many transactions the journal made durable for it.
    pub(crate) commits: u64,
}

/// Carries a run out.
///
/// # Errors
/// That it was not completed.
pub(crate) async fn carry_out(builder: OrchestratorBuilder, request: RunRequest) -> Result<Carried> {
    let orchestrator = builder.build()?;
    let commits = orchestrator.journal().commits();
    let before = *commits.borrow();
    let (control, mut events) = RunControl::new();
    // They are read as they come, as the command does it: what nobody reads would be held to the end.
    let told = tokio::spawn(async move {
        let (mut told, mut batch) = (0, Vec::new());
        while events.recv_many(&mut batch, 256).await > 0 {
            told += batch.len();
            batch.clear();
        }
        told
    });
    let started = Instant::now();
    // Among its own effects, as the command does it.
    let result = tokio::spawn(async move { orchestrator.run_with(request, control).await }).await??;
    let took = started.elapsed();
    ensure!(result.status == RunStatus::Completed, "{} {:?}", result.status, result.error);
    let commits = *commits.borrow() - before;
    Ok(Carried { took, events: told.await?, commits })
}

/// Milliseconds that bare tokio takes: a task each, a channel for each end, a semaphore for the slots, first come first served, no journal.
pub(crate) async fn by_tokio(graph: &Graph) -> Result<f64> {
    let started = Instant::now();
    let slots = Arc::new(Semaphore::new(graph.slots));
    let ends: BTreeMap<&str, watch::Sender<bool>> = graph.tasks.iter().map(|task| (task.id.as_str(), watch::Sender::new(false))).collect();
    let mut running = JoinSet::new();
    for task in &graph.tasks {
        let before: Vec<_> = task.after.iter().filter_map(|id| Some(ends.get(id.as_str())?.subscribe())).collect();
        let (slots, end, ms) = (Arc::clone(&slots), ends.get(task.id.as_str()).context("no such task")?.clone(), task.ms);
        running.spawn(async move {
            for mut end in before {
                end.wait_for(|ended| *ended).await?;
            }
            let slot = slots.acquire_owned().await?;
            work(ms).await;
            drop(slot);
            end.send_replace(true);
            anyhow::Ok(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(milliseconds(started.elapsed()))
}

/// A time in milliseconds, with parts.
pub(crate) fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
