//! One very long run in real time, with a journal on the disk: it is interrupted in the middle, resumed, and completed.

use std::{
    fmt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use aime_durable::{Journal, JournalError, RUN_STREAM, SnapshotRecord};
use aime_llm::{
    ChatModel, ChatRequest, ChatResponse, FinishReason, Message, ModelError, StreamPart, ToolCall, Usage, estimate_request_tokens,
    in_one_part,
};
use aime_orchestrator::{
    Bounds, BuildError, Isolation, Orchestrator, OrchestratorError, PlanRoute, PublishedEvent, RunControl, RunMachine, RunRequest,
    RunResult, RunSettings, facts_to_next_snapshot, run_status,
};
use aime_progress_management::{Plan, RunStatus, TaskId, TaskSpec};
use aime_tools::{Approval, ToolContext, ToolError, ToolOutput, TypedTool};
use futures::stream::BoxStream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::{
    Stage,
    life::{RUN, run_id},
    memory,
    tools::of_actors,
};

/// Number of parallel chains of tasks.
const LANES: usize = 8;
/// Number of model requests of an actor before it ends.
const TURNS: usize = 3;
/// Number of events of a task besides those of its calls: it becomes ready, runs, concludes and completes, its actor is created, and its
/// model is asked.
const OTHER_EVENTS: usize = 9;
/// Number of events that are read at once.
const PAGE: usize = 10_000;

/// Size of the run.
#[derive(Debug, Clone, Copy)]
pub struct Long {
    /// Number of tasks, each with an actor.
    pub tasks: usize,
    /// Minimum number of events.
    pub events: usize,
}

/// Result of the run.
#[derive(Debug, Clone, Default)]
pub struct LongStory {
    /// Number of completed tasks.
    pub completed: usize,
    /// Number of events in the journal, without gaps.
    pub events: u64,
    /// Total duration of the run in both processes.
    pub took: Duration,
    /// Number of events at the interruption.
    pub cut_after: usize,
    /// Number of facts in the journal when the run was resumed.
    pub facts: usize,
    /// Number of facts that were replayed to resume.
    pub replayed: usize,
    /// Time to resume.
    pub resumed_in: Duration,
    /// Size of the journal in bytes.
    pub journal: u64,
    /// Latest snapshot.
    pub snapshot: Option<SnapshotRecord>,
    /// Maximum memory of the process in bytes, if the system reports it.
    pub peak: Option<u64>,
    /// Violated expectations.
    pub faults: Vec<String>,
}

/// Reason why the run could not be played.
#[derive(Debug, thiserror::Error)]
pub enum LongError {
    /// The stage cannot be set up.
    #[error(transparent)]
    Stage(#[from] crate::StageError),
    /// The system reported an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The orchestrator cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run cannot be executed.
    #[error(transparent)]
    Run(#[from] OrchestratorError),
}

impl fmt::Display for LongStory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { completed, events, took, cut_after, replayed, resumed_in, journal, snapshot, peak, .. } = self;
        writeln!(f, "tasks completed: {completed}, events: {events}, in {:.0} s", took.as_secs_f64())?;
        writeln!(
            f,
            "cut off after {cut_after} events; stands again after {replayed} facts were replayed, in {:.2} s",
            resumed_in.as_secs_f64()
        )?;
        let at = snapshot.map_or_else(|| "none".to_owned(), |snapshot| format!("after fact {}", snapshot.seq));
        writeln!(f, "journal: {} MiB; latest snapshot: {at}", journal >> 20)?;
        match peak {
            Some(peak) => writeln!(f, "peak memory: {} MiB", peak >> 20),
            None => writeln!(f, "peak memory: not told by this system"),
        }
    }
}

/// A scripted model that calls `look` several times, and then ends.
struct Looker {
    calls: usize,
}

impl ChatModel for Looker {
    fn name(&self) -> &'static str {
        "looker"
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        in_one_part(async move { Ok(self.answer(&request)) })
    }
}

impl Looker {
    fn answer(&self, request: &ChatRequest) -> ChatResponse {
        let turn = request.messages.iter().filter(|message| matches!(message.as_ref(), Message::Assistant { .. })).count();
        let look = |number: usize| ("look", json!({"key": format!("{turn}-{number}")}));
        let calls: Vec<(&str, Value)> = match request.tools.is_empty() {
            true => Vec::new(),
            false if turn < TURNS => (0..self.calls).map(look).collect(),
            false => vec![("terminate", json!({"status": "success", "message": "looked at all of it"}))],
        };
        let calls = calls.into_iter().zip(0..).map(|((name, arguments), number)| ToolCall {
            id: format!("c{turn}-{number}"),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        });
        let tool_calls: Vec<ToolCall> = calls.collect();
        let finish = if tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        ChatResponse {
            content: if tool_calls.is_empty() { "All was looked at.".to_owned() } else { String::new() },
            reasoning: String::new(),
            tool_calls,
            native: None,
            citations: Vec::new(),
            finish,
            usage: Usage::new(estimate_request_tokens(request), 20),
            usage_estimated: true,
            model: "looker".to_owned(),
            effort: None,
            cost_usd: 0.001,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Looked {
    /// Key of the item to look at.
    key: String,
}

impl Long {
    /// Plays the run.
    ///
    /// # Errors
    /// [`LongError`] if it could not be played; violated expectations are in the result.
    pub fn play(self) -> Result<LongStory, LongError> {
        let stage = Stage::new()?;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("aime.db");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(self.lives(&stage, &path))
    }

    async fn lives(self, stage: &Stage, path: &Path) -> Result<LongStory, LongError> {
        let (mut story, begun, cut_after) =
            (LongStory { cut_after: self.events / 2, ..LongStory::default() }, Instant::now(), self.events / 2);
        {
            let (control, events) = RunControl::new();
            let orchestrator = self.orchestrator(stage, Journal::open(path)?)?;
            let request =
                RunRequest { plan: Some(self.plan()), settings: self.settings(), ..RunRequest::new(run_id(), "look at all of it") };
            tokio::select! {
                ended = orchestrator.run_with(request, control) => story.faults.push(format!("it ended before it was cut off: {:?}", ended?.status)),
                () = come(events, cut_after) => {}
            }
        }
        // As in a new process: only the files of the one before are left.
        let journal = Journal::open(path)?;
        let resumed = Instant::now();
        let status = run_status(&journal, &run_id())?;
        (story.resumed_in, story.facts, story.replayed) = (resumed.elapsed(), status.facts, status.replayed);
        story.faults.extend(status.unused.into_iter().chain(status.damage));
        let (control, events) = RunControl::new();
        let (run, orchestrator) = (run_id(), self.orchestrator(stage, journal.clone())?);
        let (result, ()) = tokio::join!(orchestrator.resume(&run, None, control), come(events, usize::MAX));
        story.took = begun.elapsed();
        // Measured here, because the following check reads all events at once, which no run does.
        story.peak = memory("VmHWM:");
        self.look(&journal, &result?, &mut story)?;
        story.journal = std::fs::metadata(path)?.len();
        Ok(story)
    }

    fn look(self, journal: &Journal, result: &RunResult, story: &mut LongStory) -> Result<(), LongError> {
        if result.status != RunStatus::Completed {
            story.faults.push(format!("it ended as {}: {:?}", result.status, result.error));
        }
        story.completed = result.tasks.iter().filter(|task| task.status == aime_progress_management::TaskStatus::Completed).count();
        if story.completed != self.tasks {
            story.faults.push(format!("{} of {} tasks are completed", story.completed, self.tasks));
        }
        // Facts that arrive while a snapshot is taken add to those before it.
        let most = 3 * facts_to_next_snapshot(story.facts);
        if story.replayed > most {
            story.faults.push(format!("{} facts were replayed, and {most} at most are meant", story.replayed));
        }
        loop {
            let page = journal.events(RUN, story.events + 1, PAGE)?;
            for event in &page {
                story.events += 1;
                if event.seq != story.events {
                    story.faults.push(format!("event {} stands where {} should be", event.seq, story.events));
                    return Ok(());
                }
            }
            if page.len() < PAGE {
                break;
            }
        }
        if usize::try_from(story.events).is_ok_and(|events| events < self.events) {
            story.faults.push(format!("{} events, where {} were wanted", story.events, self.events));
        }
        story.snapshot = journal.snapshots(RUN, RUN_STREAM)?.first().copied();
        for (snapshot, why) in journal.check_snapshots::<RunMachine>(RUN, RUN_STREAM)? {
            story.faults.push(format!("the snapshot after fact {}: {why}", snapshot.seq));
        }
        Ok(())
    }

    fn orchestrator(self, stage: &Stage, journal: Journal) -> Result<Orchestrator, BuildError> {
        let look = |looked: Looked, _: ToolContext| async move {
            let Looked { key } = looked;
            Ok::<_, ToolError>(ToolOutput {
                text: format!("{key} is as it should be"),
                value: json!({"key": key}),
                ..ToolOutput::default()
            })
        };
        let mut tools = of_actors();
        tools.register(Arc::new(TypedTool::new("look", "Looks at something.", look).read_only()));
        let per_task = self.events.div_ceil(self.tasks.max(1)).saturating_sub(OTHER_EVENTS);
        let model = Looker { calls: per_task.div_ceil(2 * TURNS).max(1) };
        stage.builder.clone().journal(journal, &stage.keep).model(model).tools(tools).build()
    }

    fn plan(self) -> Plan {
        let id = |number: usize| TaskId::new(format!("t{number}")).ok();
        let task = |number: usize| {
            let dependencies = number.checked_sub(LANES).and_then(id).into_iter().collect();
            Some(TaskSpec { dependencies, ..TaskSpec::actor(id(number)?, format!("Look at part {number}")) })
        };
        Plan::new("look at all of it", (0..self.tasks).filter_map(task))
    }

    fn settings(self) -> RunSettings {
        let bounds = Bounds { max_actors: u32::MAX, max_tool_calls: u64::MAX, max_steps: Some(20), ..Bounds::default() };
        let max_parallel = u32::try_from(LANES).unwrap_or(1);
        RunSettings {
            route: PlanRoute::Rules,
            isolation: Isolation::Shared,
            approval: Approval::All,
            max_parallel,
            unattended: true,
            bounds,
            ..RunSettings::default()
        }
    }
}

/// Waits until `count` events have arrived, or the channel is closed.
async fn come(mut events: UnboundedReceiver<PublishedEvent>, count: usize) {
    let mut come = 0;
    while come < count && events.recv().await.is_some() {
        come += 1;
    }
}
