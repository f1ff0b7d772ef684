//! Test bench: a folder with a journal, a model and tools.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use aime_durable::Journal;
use aime_llm::{
    ChatModel,
    scripted::{Reply, ScriptedModel, When},
};
use aime_orchestrator::{
    HumanChannel, NoHuman, Orchestrator, OrchestratorBuilder, PlanRoute, PublishedEvent, RunControl, RunMemory, RunRequest, RunResult,
    RunSettings, view,
};
use aime_progress_management::{Plan, ProgressEvent, ProgressState, RunId, TaskStatus, TimedEvent, Timestamp, fold};
use aime_sandbox::{ConfinedFolder, clean_environment};
use aime_tools::{Approval, Permissions, ToolContext, ToolOutput, ToolRegistry, ToolScope, TypedTool, ValidatedCall, builtin};
use aime_undo::UndoSettings;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

/// A line for the log.
#[derive(Deserialize, JsonSchema)]
struct Append {
    /// The line.
    line: String,
}

/// A folder with a journal, a model and tools. Orchestrators made from it share no state except their files.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) journal: Journal,
    pub(crate) model: ScriptedModel,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) human: Arc<dyn HumanChannel>,
    pub(crate) memory: Option<Arc<RunMemory>>,
    /// True if changes of files are recorded.
    pub(crate) undo: bool,
    /// The point that the last call of `append` has reached.
    pub(crate) reached: watch::Sender<Point>,
    /// The point at which calls of `append` wait while it is set.
    pub(crate) held: watch::Sender<Option<Point>>,
}

/// A moment in a call of `append`, by its number among all of them, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// The call has started.
    Begun(usize),
    /// The call has written its line, and has not ended.
    Written(usize),
}

impl Point {
    const fn call(self) -> usize {
        match self {
            Self::Begun(call) | Self::Written(call) => call,
        }
    }
}

pub(crate) fn run_id() -> RunId {
    "trip".parse().unwrap()
}

pub(crate) fn plan(tasks: Value) -> Plan {
    serde_json::from_value(json!({ "tasks": tasks })).unwrap()
}

pub(crate) fn append(line: &str) -> Reply {
    Reply::call("append", json!({ "line": line }))
}

pub(crate) fn done(message: &str) -> Reply {
    Reply::call("terminate", json!({"status": "success", "message": message}))
}

impl Bench {
    pub(crate) fn new(model: ScriptedModel) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            journal: Journal::open(folder.path().join(".aime/aime.db")).unwrap(),
            folder,
            model,
            environment: std::iter::once(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())).collect(),
            human: Arc::new(NoHuman),
            memory: None,
            undo: false,
            reached: watch::Sender::new(Point::Written(0)),
            held: watch::Sender::new(None),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes calls of `append` wait at this point until [`Bench::release`]. The returned future waits until a call has
    /// reached it.
    pub(crate) fn hold(&self, point: Point) -> impl Future<Output = ()> + use<> {
        self.held.send_replace(Some(point));
        let mut reached = self.reached.subscribe();
        async move {
            reached.wait_for(|reached| *reached == point).await.unwrap();
        }
    }

    pub(crate) fn release(&self) {
        self.held.send_replace(None);
    }

    /// Returns the lines that `append` has written.
    pub(crate) fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the built-in tools, and a tool whose repetition does harm.
    fn tools(&self) -> ToolRegistry {
        let (reached, held) = (self.reached.clone(), self.held.clone());
        let tool = TypedTool::new("append", "Appends a line to the log.", move |given: Append, context: ToolContext| {
            let (reached, mut held) = (reached.clone(), held.subscribe());
            async move {
                let call = reached.borrow().call() + 1;
                let mut come_to = async |point| {
                    reached.send_replace(point);
                    held.wait_for(|held| *held != Some(point)).await.unwrap();
                };
                come_to(Point::Begun(call)).await;
                let path = context.working_folder().join("log");
                let log = std::fs::read_to_string(&path).unwrap_or_default();
                std::fs::write(&path, format!("{log}{}\n", given.line)).unwrap();
                come_to(Point::Written(call)).await;
                Ok(ToolOutput {
                    text: format!("wrote {}", given.line),
                    value: json!({"line": given.line}),
                    references: vec!["log".to_owned()],
                    ..ToolOutput::default()
                })
            }
        });
        let mut tools = builtin();
        tools.register(Arc::new(tool.touches(ToolScope::Files)));
        tools
    }

    /// Returns a validated call.
    pub(crate) fn call(&self, tool: &str, parameters: Value) -> ValidatedCall {
        let (tools, context) = (self.tools(), self.context());
        let tool_spec = tools.spec(tool).unwrap();
        let checked = tool_spec.check(parameters.as_object().unwrap().clone()).unwrap();
        Permissions::new(Approval::All, &context.rules).decide(tool_spec, checked).unasked().unwrap()
    }

    pub(crate) fn orchestrator(&self) -> Orchestrator {
        self.orchestrator_with(Some(Arc::new(self.model.clone())))
    }

    pub(crate) fn orchestrator_with(&self, model: Option<Arc<dyn ChatModel>>) -> Orchestrator {
        let builder = self.builder();
        model.into_iter().fold(builder, OrchestratorBuilder::model).build().unwrap()
    }

    pub(crate) fn context(&self) -> ToolContext {
        let folder = ConfinedFolder::open(self.folder.path()).unwrap();
        ToolContext::new(folder, clean_environment(self.environment.clone(), &["*"]))
    }

    /// Returns a builder without a model.
    pub(crate) fn builder(&self) -> OrchestratorBuilder {
        let builder = OrchestratorBuilder::new().tool_context(self.context()).journal(self.journal.clone(), self.path(".aime"));
        let builder = builder.tools(self.tools()).human(Arc::clone(&self.human)).undo(self.undo.then(UndoSettings::default));
        self.memory.iter().cloned().fold(builder, OrchestratorBuilder::memory)
    }

    pub(crate) fn request(&self, goal: &str, plan: Option<Plan>) -> RunRequest {
        let settings = RunSettings { route: PlanRoute::Rules, approval: Approval::All, ..RunSettings::default() };
        RunRequest { plan, settings, ..RunRequest::new(run_id(), goal) }
    }

    pub(crate) async fn run(&self, goal: &str, plan: Option<Plan>) -> RunResult {
        self.orchestrator().run(self.request(goal, plan)).await.unwrap()
    }

    pub(crate) async fn resume(&self) -> RunResult {
        self.orchestrator().resume(&run_id(), None, control().0).await.unwrap()
    }

    /// Returns the events of the run from its journal.
    pub(crate) fn events(&self) -> Vec<TimedEvent> {
        let records = self.journal.events(run_id().as_str(), 1, 100_000).unwrap();
        let event = |body: &str| serde_json::from_str::<ProgressEvent>(body).unwrap();
        records.iter().map(|record| TimedEvent { at: Timestamp::from_millis(record.at), event: event(&record.body) }).collect()
    }

    /// Returns the state made from the facts, after comparing it with the state made from the events.
    pub(crate) fn state(&self) -> ProgressState {
        let state = view(&self.journal, &run_id()).unwrap().state;
        assert_eq!(fold(&self.events()).unwrap(), state, "the events fold to the state of the facts");
        assert_eq!(state.inconsistencies(), []);
        state
    }
}

pub(crate) fn control() -> (RunControl, mpsc::UnboundedReceiver<PublishedEvent>) {
    RunControl::new()
}

/// Waits until this many events were published; waits for ever if there are fewer.
pub(crate) async fn wait_for_events(mut events: mpsc::UnboundedReceiver<PublishedEvent>, count: usize) {
    for _ in 0..count {
        if events.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

pub(crate) fn statuses(state: &ProgressState) -> Vec<(&str, TaskStatus)> {
    state.tasks.values().map(|task| (task.spec.id.as_str(), task.status)).collect()
}

/// Four lines: one by the runtime, two by an actor, and another by the runtime.
pub(crate) fn four_lines() -> (ScriptedModel, Plan) {
    let model = ScriptedModel::new("m")
        .on(When::contains("The plan now:"), [Reply::text("I have no idea")])
        .on(When::tool("append").and_turn(0), [append("two")])
        .on(When::tool("append").and_turn(1), [append("three")])
        .on(When::tool("append").and_turn(2), [done("two and three are written")])
        .on(When::plain(), [Reply::text("Four lines are written.")]);
    let plan = plan(json!([
        {"id": "first", "kind": "tool", "tool": "append", "parameters": {"line": "one"}},
        {"id": "middle", "kind": "actor", "description": "Write two lines", "bundles": ["append"], "dependencies": ["first"]},
        {"id": "last", "kind": "tool", "tool": "append", "parameters": {"line": "four"}, "dependencies": ["middle"]},
    ]));
    (model, plan)
}

/// Returns a bench with a run of four lines that a bound of two tool calls has stopped.
pub(crate) async fn stopped_after_two_calls() -> Bench {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let mut request = bench.request("Write four lines", Some(plan));
    request.settings.bounds.max_tool_calls = 2;
    let result = bench.orchestrator().run(request).await.unwrap();
    assert_eq!(result.error.as_ref().map(|error| error.code.word()), Some("bound_reached"), "{result:#?}");
    bench
}
