//! Tools for other agents: their parameters and results.

use std::sync::Arc;
use std::time::Duration;

use aime_orchestrator::{Bounds, RunRequest, RunResult};
use aime_progress_management::{PlanMode, RunId, RunStatus};
use aime_runs::{AnswerReceipt, Drive, RunHandle, RunUpdate, Runs, RunsError, list_document};
use aime_terminal::plain;
use aime_tools::{ToolContext, ToolError, ToolOutput, ToolRegistry, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Texts,
    client::{event_reporter, person},
};

/// Timeout of a tool call. The duration of a goal is unknown, so only the client's cancel limits it.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Longest goal or answer, in bytes.
const MAX_TEXT: usize = 100_000;
/// Number of runs in a list: the default and the maximum.
const USUAL_RUNS: usize = 20;
const MAX_RUNS: usize = 1_000;

/// Mode in which a goal is worked on.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Auto,
    Direct,
    Simple,
    Complex,
    Emergent,
}

impl Mode {
    /// Returns the mode of the plan; none if aime decides.
    const fn chosen(self) -> Option<PlanMode> {
        match self {
            Self::Auto => None,
            Self::Direct => Some(PlanMode::Direct),
            Self::Simple => Some(PlanMode::Simple),
            Self::Complex => Some(PlanMode::Complex),
            Self::Emergent => Some(PlanMode::Emergent),
        }
    }
}

/// Parameters that `plan` and `run` share.
#[derive(Default, Deserialize, JsonSchema)]
struct Choice {
    /// Mode in which the goal is worked on; aime decides if absent
    mode: Option<Mode>,
    /// Name of the model in aime's configuration, or on its server
    model: Option<String>,
    /// Maximum number of tokens, sent and received
    #[schemars(range(min = 1))]
    max_tokens: Option<u64>,
    /// Maximum cost in US dollars
    #[schemars(extend("exclusiveMinimum" = 0))]
    max_cost_usd: Option<f64>,
    /// Maximum seconds of work
    #[schemars(range(min = 1))]
    max_seconds: Option<u64>,
}

impl Choice {
    /// Applies the bounds to those of the settings.
    fn bound(&self, bounds: &mut Bounds) {
        bounds.max_tokens = self.max_tokens.or(bounds.max_tokens);
        bounds.max_cost_usd = self.max_cost_usd.or(bounds.max_cost_usd);
        bounds.max_seconds = self.max_seconds.or(bounds.max_seconds);
    }

    /// Returns the bounds of an earlier run with those that are given here, if they differ from its own.
    fn new_bounds(&self, offered: &RunServer, run: &RunId) -> Result<Option<Bounds>, ToolError> {
        let before = offered.runs.resumable(run).map_err(failed)?.bounds;
        let mut bounds = before.clone();
        self.bound(&mut bounds);
        Ok((bounds != before).then_some(bounds))
    }
}

#[derive(Deserialize, JsonSchema)]
struct PlanParameters {
    /// The goal
    goal: String,
    #[serde(flatten)]
    choice: Choice,
}

#[derive(Default, Deserialize, JsonSchema)]
struct RunParameters {
    /// The goal
    goal: Option<String>,
    /// Plan (`aime.plan/v1`) to carry out instead of making one
    plan: Option<Map<String, Value>>,
    /// Run to continue instead of starting one: unchanged if it was stopped, with `goal` as its next goal if it has ended
    run_id: Option<String>,
    #[serde(flatten)]
    choice: Choice,
    /// True, the default, to wait for the end of the run; false to get its id at once and its state by `progress`
    wait: Option<bool>,
    /// For a new run: true if nobody will answer questions: instead of waiting for an answer the run ends with a report
    unattended: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
struct AnswerParameters {
    /// The run
    run_id: String,
    /// Answer to the run's first open question; `yes`, `always` or `no` if it asks for consent; may be empty if the kind is `blocked` or `escalation`
    text: String,
    /// True, the default, to wait for the end of the run
    wait: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
struct OneRun {
    /// The run: its id, the beginning of the id, or `last`
    run_id: String,
}

#[derive(Deserialize, JsonSchema)]
struct RunsParameters {
    /// Maximum number of runs, the latest first; 20 if absent
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

/// Runs of a folder, with the texts by which they are shown.
pub(crate) struct RunServer {
    pub(crate) runs: Runs,
    pub(crate) texts: Texts,
}

/// All tools.
pub(crate) fn tools(offered: &Arc<RunServer>) -> ToolRegistry {
    /// Defines a tool that acts on the runs.
    macro_rules! tool {
        ($name:literal, $description:literal, $act:path) => {{
            let offered = Arc::clone(offered);
            TypedTool::new($name, $description, move |parameters, context| {
                let offered = Arc::clone(&offered);
                async move { $act(&offered, parameters, context).await }
            })
            .time_limit(NO_LIMIT)
        }};
    }
    let all: [Arc<dyn aime_tools::Tool>; 6] = [
        Arc::new(tool!("plan", "Make a plan for a goal and run nothing. Gives it as `aime.plan/v1`.", plan).idempotent()),
        Arc::new(tool!(
            "run",
            "Carry out a goal, or a plan, in aime's working folder, and give the result (`aime.result/v1`). When it needs a person it is left \
             waiting: the result has the question.",
            run
        )),
        Arc::new(tool!("progress", "Tell where a run stands: its status, its progress list, and what it asks.", progress).read_only()),
        Arc::new(tool!("answer", "Answer what a run asks. One that was left waiting goes on, and its result is given.", answer)),
        Arc::new(tool!("stop", "Stop a run so that `run` with its id goes on later.", stop).idempotent()),
        Arc::new(tool!("runs", "List the runs of the working folder, the latest first.", list).read_only()),
    ];
    all.into_iter().collect()
}

async fn plan(offered: &Arc<RunServer>, parameters: PlanParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let PlanParameters { goal, choice } = parameters;
    let goal = text_of("goal", goal)?;
    let planned = async {
        offered.runs.ready().await?;
        let models = offered.runs.models(choice.model.as_deref(), true).await?.ok_or_else(aime_runs::models::none_configured)?;
        let mut request = offered.runs.request(goal);
        let settings = &mut request.settings;
        settings.mode = choice.mode.map_or(settings.mode, Mode::chosen);
        choice.bound(&mut settings.bounds);
        let planned = offered
            .runs
            .plan(
                request,
                models,
                None,
                person(context.person.clone()),
                CancellationToken::new(),
                event_reporter(offered.texts, context.progress.clone()),
            )
            .await?;
        planned.plan.map_err(RunsError::from)
    };
    let plan = context.cancel.run_until_cancelled(planned).await.ok_or(ToolError::Cancelled)?.map_err(failed)?;
    whole(&plan)
}

async fn run(offered: &Arc<RunServer>, parameters: RunParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    let wait = parameters.wait.unwrap_or(true);
    let begun = async {
        match parameters {
            RunParameters {
                run_id: Some(run_id), goal, plan: None, choice: choice @ Choice { mode: None, .. }, unattended: None, ..
            } => {
                let run = offered.runs.find(&run_id).map_err(failed)?;
                go_on(offered, (&run, goal), choice, &context, wait).await
            }
            RunParameters { run_id: Some(_), .. } => Err(ToolError::InvalidParameters(
                "`run_id` goes on with a run: leave out `plan`, `mode` and `unattended`. `goal` is the next goal of a run that has ended."
                    .to_owned(),
            )),
            RunParameters { goal: None, plan: None, .. } => {
                Err(ToolError::InvalidParameters("One of `goal`, `plan` and `run_id` is needed.".to_owned()))
            }
            new => start(offered, new, &context, wait).await,
        }
    };
    let driven = context.cancel.run_until_cancelled(begun).await.ok_or(ToolError::Cancelled)??;
    settle(offered, driven, &context, wait).await
}

/// Starts a run.
async fn start(offered: &Arc<RunServer>, new: RunParameters, context: &ToolContext, wait: bool) -> Result<RunHandle, ToolError> {
    offered.runs.ready().await.map_err(failed)?;
    let plan = new
        .plan
        .map(|plan| offered.runs.setup().checked_plan(&Value::Object(plan).to_string(), &"the plan".into()))
        .transpose()
        .map_err(failed)?;
    let goal = match (new.goal, &plan) {
        (Some(goal), _) => text_of("goal", goal)?,
        (None, Some(plan)) if !plan.goal.is_empty() => plan.goal.clone(),
        (None, _) => "carry out the plan".to_owned(),
    };
    let mut request = RunRequest { plan, ..offered.runs.request(goal) };
    let settings = &mut request.settings;
    // An agent supplied the plan, not a person, so its tool tasks still need consent.
    settings.plan_approved = false;
    settings.mode = new.choice.mode.map_or(settings.mode, Mode::chosen);
    settings.unattended = new.unattended.unwrap_or(false);
    new.choice.bound(&mut settings.bounds);
    let driven = offered.runs.start(request, drive(new.choice.model, context, wait)).await.map_err(failed)?;
    Ok(forward_events(offered, driven, context, wait))
}

/// Resumes a run that was suspended, or continues one that has ended with a new goal.
async fn go_on(
    offered: &Arc<RunServer>,
    (run, goal): (&RunId, Option<String>),
    choice: Choice,
    context: &ToolContext,
    wait: bool,
) -> Result<RunHandle, ToolError> {
    let bounds = choice.new_bounds(offered, run)?;
    let drive = drive(choice.model, context, wait);
    let driven = match goal {
        Some(goal) => offered.runs.continue_run(run, text_of("goal", goal)?, bounds, drive).await,
        None => offered.runs.resume(run, bounds, drive).await,
    };
    let driven = driven.map_err(failed)?;
    Ok(forward_events(offered, driven, context, wait))
}

/// Drives a run. Without a waiting client nobody answers its questions.
fn drive(model: Option<String>, context: &ToolContext, wait: bool) -> Drive {
    Drive::default().model(model).human(person(if wait { context.person.clone() } else { None }))
}

/// Reports the events of a run to the client, if it waits for the run.
fn forward_events(offered: &Arc<RunServer>, mut driven: RunHandle, context: &ToolContext, wait: bool) -> RunHandle {
    let mut updates = driven.take_updates();
    let report = event_reporter(offered.texts, if wait { context.progress.clone() } else { None });
    let offered = Arc::clone(offered);
    tokio::spawn(async move {
        while let Some(update) = updates.recv().await {
            match update {
                RunUpdate::Event(event) => report(*event),
                RunUpdate::Note(note) => offered.runs.setup().note(note),
            }
        }
    });
    driven
}

/// Waits for the end of a run, or returns its id immediately.
async fn settle(offered: &RunServer, driven: RunHandle, context: &ToolContext, wait: bool) -> Result<ToolOutput, ToolError> {
    let run = driven.id();
    if !wait {
        let text = format!("Run {run} is under way. `progress` tells how far it is.");
        return Ok(ToolOutput { value: json!({"run_id": run, "status": "under_way"}), ..ToolOutput::text(text) });
    }
    let stop = driven.stop().clone();
    let Some(result) = context.cancel.run_until_cancelled(driven.result()).await else {
        stop.cancel();
        return Err(ToolError::Cancelled);
    };
    tool_output(offered.texts, &result.map_err(failed)?)
}

/// Returns the result of a run, as text for a model and as data for a program.
fn tool_output(texts: Texts, result: &RunResult) -> Result<ToolOutput, ToolError> {
    let mut text = (texts.summary)(result);
    if !result.answer.is_empty() {
        text = format!("{text}\n\n{}", result.answer);
    }
    if let Some(error) = &result.error {
        let then = match result.status {
            RunStatus::WaitingForHuman => Some(format!("give the answer with `answer`, run_id {:?}", result.run_id.as_str())),
            RunStatus::Interrupted => Some(format!("`run` with run_id {:?} goes on", result.run_id.as_str())),
            _ => error.hint.as_ref().map(ToString::to_string),
        };
        text = format!("{text}\n\n{}: {}{}", error.code, error.message, then.map(|then| format!("\n({then})")).unwrap_or_default());
    }
    result.notes.iter().for_each(|note| text = format!("{text}\n{note}"));
    Ok(ToolOutput { value: whole(result)?.value, ..ToolOutput::text(text) })
}

async fn progress(offered: &Arc<RunServer>, parameters: OneRun, _: ToolContext) -> Result<ToolOutput, ToolError> {
    let (run, seen) = offered.runs.read(&parameters.run_id).map_err(failed)?;
    let under_way = offered.runs.is_driven(&run);
    let state = &seen.state;
    let asks: Vec<_> = state.questions.iter().filter(|question| question.answer.is_none()).collect();
    let status = match &seen.output {
        _ if under_way => "under_way".to_owned(),
        Some(output) => output.error.as_ref().map_or_else(|| output.status.to_string(), |error| error.code.word().to_owned()),
        None => "interrupted".to_owned(),
    };
    let tasks = state.tasks.values().map(|task| json!({"id": task.spec.id, "name": task.spec.title(), "status": task.status}));
    let value = json!({
        "run_id": run, "status": status, "goal": state.goal, "plan_version": state.version, "tasks": tasks.collect::<Vec<_>>(),
        "asks": asks.iter().map(|asked| json!({"id": asked.id, "kind": asked.kind, "question": asked.question})).collect::<Vec<_>>(),
        "answer": state.answer,
    });
    let mut text = format!("{}\n\nrun {run}: {status}", plain(&state.to_markdown()).trim_end());
    asks.iter().for_each(|asked| text = format!("{text}\nit asks ({}): {}", asked.kind, plain(&asked.question.to_string())));
    Ok(ToolOutput { value, ..ToolOutput::text(text) })
}

async fn answer(offered: &Arc<RunServer>, parameters: AnswerParameters, context: ToolContext) -> Result<ToolOutput, ToolError> {
    // The run knows whether its question needs words.
    let text = if parameters.text.trim().is_empty() { String::new() } else { text_of("text", parameters.text)? };
    let wait = parameters.wait.unwrap_or(true);
    let run = offered.runs.find(&parameters.run_id).map_err(failed)?;
    let AnswerReceipt { question, .. } = offered.runs.answer(&run, None, text).await.map_err(failed)?;
    if offered.runs.is_driven(&run) {
        let text = format!("Answered: {}\nThe run is under way and takes it up.", question.question);
        return Ok(ToolOutput { value: json!({"run_id": run, "status": "under_way"}), ..ToolOutput::text(text) });
    }
    let begun = context.cancel.run_until_cancelled(go_on(offered, (&run, None), Choice::default(), &context, wait)).await;
    settle(offered, begun.ok_or(ToolError::Cancelled)??, &context, wait).await
}

async fn stop(offered: &Arc<RunServer>, parameters: OneRun, _: ToolContext) -> Result<ToolOutput, ToolError> {
    let run = offered.runs.find(&parameters.run_id).map_err(failed)?;
    offered.runs.pause(&run).await.map_err(failed)?;
    Ok(ToolOutput::text("It stops; `run` with its run_id goes on."))
}

async fn list(offered: &Arc<RunServer>, parameters: RunsParameters, _: ToolContext) -> Result<ToolOutput, ToolError> {
    let limit = parameters.limit.unwrap_or(USUAL_RUNS).clamp(1, MAX_RUNS);
    let runs: Vec<Value> = list_document(offered.runs.list().map_err(failed)?).into_iter().take(limit).collect();
    let line = |run: &Value| {
        ["run_id", "status", "created", "goal"].map(|key| run.get(key).and_then(Value::as_str).unwrap_or_default()).join("  ")
    };
    let text = if runs.is_empty() {
        "There are no runs in this folder yet.".to_owned()
    } else {
        runs.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    Ok(ToolOutput { value: json!({"runs": runs}), ..ToolOutput::text(text) })
}

/// Checks that a text is neither missing nor too long.
fn text_of(name: &str, text: String) -> Result<String, ToolError> {
    match text.trim() {
        "" => Err(ToolError::InvalidParameters(format!("`{name}` is empty."))),
        _ if text.len() > MAX_TEXT => Err(ToolError::InvalidParameters(format!("`{name}` is longer than {MAX_TEXT} bytes."))),
        trimmed => Ok(trimmed.to_owned()),
    }
}

/// Returns a document as text and as data.
fn whole<T: Serialize>(document: &T) -> Result<ToolOutput, ToolError> {
    let value = serde_json::to_value(document).map_err(|error| ToolError::Failed(error.to_string()))?;
    let text = serde_json::to_string_pretty(&value).map_err(|error| ToolError::Failed(error.to_string()))?;
    Ok(ToolOutput { value, ..ToolOutput::text(text) })
}

fn failed(error: RunsError) -> ToolError {
    let message = error.with_causes();
    ToolError::Failed(error.hint.map_or_else(|| message.to_string(), |hint| format!("{message}\n({hint})")))
}
