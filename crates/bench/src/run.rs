//! Runs one graph once: with aime and its journal on disk, and with bare tokio.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use aime_orchestrator::{
    OrchestratorBuilder, PlanRoute, RunControl, RunRequest, RunSettings,
    progress::{Plan, RunStatus, TaskId, TaskSpec},
    tools::{Approval, ToolContext, ToolError, ToolOutput, ToolRegistry, ToolScope, TypedTool},
};
use anyhow::{Context, Result, ensure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Map;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::sleep,
};

use crate::graph::Graph;

/// Parameters of the waiting tool.
#[derive(Deserialize, JsonSchema)]
struct Work {
    /// Time to wait, in milliseconds.
    ms: u64,
}

async fn work(ms: u64) {
    if ms > 0 {
        sleep(Duration::from_millis(ms)).await;
    }
}

/// Effects of the tasks as declared to the engine; they do nothing in either case.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// Tasks may be repeated, so nothing waits for the disk.
    ReadOnly,
    /// Each task is recorded before it begins.
    ChangesSomething,
}

/// Runs a graph with aime, with a journal in a folder of its own. Efforts are declared, as by a planner.
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
        Kind::ChangesSomething => Arc::new(tool.touches(ToolScope::Nothing)),
    });
    let builder = OrchestratorBuilder::new().tools(tools).undo(None).folder(folder.path());
    let tasks = graph.tasks.iter().map(|task| {
        let parameters = Map::from_iter([("ms".to_owned(), task.ms.into())]);
        let spec = TaskSpec::tool(task.id.parse()?, "work", parameters);
        let after = task.after.iter().map(|id| id.parse()).collect::<Result<Vec<TaskId>, _>>()?;
        // Estimates are in seconds; only their proportions matter.
        Ok(TaskSpec { effort_seconds: Some(u32::try_from(task.ms.max(1))?), ..spec.after(after) })
    });
    let plan = Plan::new("", tasks.collect::<Result<Vec<_>>>()?);
    let mut settings =
        RunSettings { route: PlanRoute::Rules, approval: Approval::All, unattended: true, plan_approved: true, ..RunSettings::default() };
    settings.max_parallel = u32::try_from(graph.slots)?;
    settings.bounds.max_tool_calls = u64::MAX;
    let request = RunRequest { plan: Some(plan), settings, ..RunRequest::new("bench".parse()?, "Wait") };
    carry_out(builder, request).await.with_context(|| graph.name.clone())
}

/// A completed run.
pub(crate) struct Carried {
    /// Time from the request to the result.
    pub(crate) took: Duration,
    /// Number of events.
    pub(crate) events: usize,
    /// Number of durable transactions in the journal.
    pub(crate) commits: u64,
}

/// Executes a run.
///
/// # Errors
/// A run that is not completed.
pub(crate) async fn carry_out(builder: OrchestratorBuilder, request: RunRequest) -> Result<Carried> {
    let orchestrator = builder.build()?;
    let commits = orchestrator.journal().commits();
    let before = *commits.borrow();
    let (control, mut events) = RunControl::new();
    // Read the events as they arrive, as the command does; unread ones would be kept to the end.
    let counting = tokio::spawn(async move {
        let (mut count, mut batch) = (0, Vec::new());
        while events.recv_many(&mut batch, 256).await > 0 {
            count += batch.len();
            batch.clear();
        }
        count
    });
    let started = Instant::now();
    // Spawned on its own task, as the command does.
    let result = tokio::spawn(async move { orchestrator.run_with(request, control).await }).await??;
    let took = started.elapsed();
    ensure!(result.status == RunStatus::Completed, "{} {:?}", result.status, result.error);
    let commits = *commits.borrow() - before;
    Ok(Carried { took, events: counting.await?, commits })
}

/// Returns the milliseconds with bare tokio: a task each, a channel for each end, a semaphore for the slots, first come first served, no
/// journal.
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

/// Converts a duration to milliseconds with fractions.
pub(crate) fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
