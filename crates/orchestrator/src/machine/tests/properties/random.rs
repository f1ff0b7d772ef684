//! Generators of random runs: their inputs and their happenings.

use std::sync::Arc;

use aime_dynamic_planner::{Adaptive, GrowthSettings};
use aime_progress_management::{
    Criterion, Edge, EdgeType, Owner, Plan, PlanChange, PlanMode, PlanPatch, ProgressEvent, ProgressReport, ProgressState, QuestionId,
    Significance, TaskChange, TaskId, TaskKind, TaskSpec, TaskStatus,
};
use aime_tools::Approval;
use proptest::{prelude::*, sample::Index};
use serde_json::json;

use super::super::{
    build::{id, parameters, patch, plan},
    replans::evidence,
};
use crate::{LeadPolicy, RunInput, RunSettings};

const NAMES: [&str; 9] = ["a", "b", "c", "d", "e", "g", "n0", "n1", "n2"];

/// Input of a run.
#[derive(Debug, Clone)]
pub(super) struct Given {
    plan: Option<Plan>,
    can_plan: bool,
    led: bool,
    has_memory: bool,
    settings: RunSettings,
}

/// A single happening.
#[derive(Debug, Clone)]
pub(super) enum Happening {
    /// An open effect gets an answer of this kind; a replan often gets a patch of some kind for some task.
    Answer(Index, Way, (Index, Index)),
    /// The tool of an open call has answered, successfully or not, and the criteria of its task are still to be checked.
    Called(Index, bool),
    /// A revoked effect is acknowledged.
    Late(Index),
    Reported(TaskId, u32, u64, ProgressEvent),
    Asked(TaskId, QuestionId),
    Person(String),
    Bound,
    Stop,
    Cancel(Option<TaskId>),
    Says(u8, Option<TaskId>),
    Crash,
    Later(i64),
    /// The machine is serialized and read again.
    Sleeps,
}

/// Kind of answer to an effect.
#[derive(Debug, Clone)]
pub(super) enum Way {
    Well,
    Badly,
    Unmet,
    Denied,
    Blocked,
    NoModel,
    Interrupted,
    InDoubt,
    Fault,
    /// The lead cancels a task.
    Cancels,
    /// The lead submits another plan.
    Again,
    Plans(Plan),
    Patches(PlanPatch),
}

impl Given {
    pub(super) fn apply_to(&self, input: &mut RunInput) {
        input.plan.clone_from(&self.plan);
        input.can_plan = self.can_plan;
        input.has_memory = self.has_memory;
        input.settings = self.settings.clone();
        input.lead = LeadPolicy::of(&self.settings).filter(|_| self.led);
    }
}

fn name() -> impl Strategy<Value = TaskId> {
    prop::sample::select(&NAMES[..]).prop_map(id)
}

fn names() -> impl Strategy<Value = Vec<TaskId>> {
    prop::collection::vec(name(), 0..3)
}

fn edge() -> impl Strategy<Value = Edge> {
    (0..4_usize, 1..5_usize, 0..3_u8).prop_map(|(from, to, kind)| {
        let (from, to) = (id(NAMES[from]), id(NAMES[(from + to).min(4)]));
        let condition = (kind == 1).then(|| format!("@{{steps.{from}.status}} == completed"));
        let kind = [EdgeType::Rollback, EdgeType::Conditional, EdgeType::Dependency][usize::from(kind)];
        Edge { from, to, kind, condition }
    })
}

fn task(name: impl Strategy<Value = TaskId>) -> impl Strategy<Value = TaskSpec> {
    let tool = prop::sample::select(&["look", "append", "shell", "nothing"][..]);
    let parent = prop::option::weighted(0.2, Just(id("g")));
    let refers = prop::option::weighted(0.2, self::name());
    (name, names(), parent, prop::option::weighted(0.5, tool), refers).prop_map(|(id, dependencies, parent, tool, refers)| {
        let kind = if tool.is_some() { TaskKind::Tool } else { TaskKind::Actor };
        let refers = refers.filter(|_| tool.is_some()).map(|of| parameters(json!({"x": format!("@{{steps.{of}.result}}")})));
        let description = if tool.is_some() { "" } else { "Do it" };
        TaskSpec {
            kind,
            dependencies,
            parent,
            tool: tool.map(str::to_owned),
            parameters: refers.unwrap_or_default(),
            ..TaskSpec::actor(id, description)
        }
    })
}

fn change() -> impl Strategy<Value = PlanChange> {
    let new = || prop::sample::select(&["n0", "n1", "n2"][..]).prop_map(id);
    let reason = String::new;
    prop_oneof![
        4 => (task(new()), names()).prop_map(|(task, replaces)| PlanChange::AddTask { task: Box::new(task), replaces }),
        1 => (task(new()), names()).prop_map(|(task, ids)| PlanChange::MergeTasks { ids, task: Box::new(task) }),
        1 => (name(), prop::option::of(names())).prop_map(|(id, dependencies)| PlanChange::ModifyTask {
            id,
            change: Box::new(TaskChange { dependencies, parameters: Some(parameters(json!({"x": 2}))), ..TaskChange::default() })
        }),
        1 => name().prop_map(move |id| PlanChange::RemoveTask { id, reason: reason() }),
        1 => name().prop_map(move |id| PlanChange::BlockTask { id, reason: reason() }),
        1 => name().prop_map(|id| PlanChange::UnblockTask { id }),
        3 => name().prop_map(move |id| PlanChange::CancelTask { id, reason: reason(), by: Owner::Lead }),
        1 => edge().prop_map(|edge| PlanChange::AddEdge { edge }),
    ]
}

/// Generates plans in which a task mostly depends on earlier ones, so that many of them are valid.
fn any_plan() -> impl Strategy<Value = Plan> {
    let tasks: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().map(|name| task(Just(id(name)))).collect();
    (tasks, prop::collection::vec(edge(), 0..2), any::<bool>()).prop_map(|(mut tasks, edges, criteria)| {
        let names: Vec<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
        for (at, task) in tasks.iter_mut().enumerate() {
            task.dependencies.retain(|dependency| names[..at].contains(dependency));
            if task.parameters.values().any(|value| !names[..at].iter().any(|name| value.to_string().contains(&format!("steps.{name}.")))) {
                task.parameters.clear();
            }
        }
        let mut plan = Plan { tasks: tasks.into_iter().map(Arc::new).collect(), edges, ..plan("g/") };
        if plan.tasks.iter().any(|task| task.parent.is_some()) {
            plan.tasks.push(Arc::new(super::super::build::spec("g/")));
        }
        if criteria {
            plan.strategic.success_criteria = vec!["it is good".into()];
        }
        plan
    })
}

fn settings() -> impl Strategy<Value = RunSettings> {
    let approval = prop_oneof![Just(Approval::Edits), Just(Approval::All), Just(Approval::Ask), Just(Approval::ReadOnly)];
    let adaptive = prop_oneof![Just(Adaptive::Never), Just(Adaptive::Evidence), Just(Adaptive::Always)];
    let growth = (1..4_u32, 1..4_u32, 0..4_u32).prop_map(|(update_every, max_failures, stagnant_rounds)| GrowthSettings {
        update_every,
        max_failures,
        stagnant_rounds,
        ..GrowthSettings::default()
    });
    (1..4_u32, 0..3_u32, 0..4_u32, any::<[bool; 4]>(), (approval, adaptive, growth)).prop_map(
        |(max_parallel, max_retries, max_replans, [unattended, plan_approved, when_idle, timed], (approval, adaptive, growth))| {
            let mut settings =
                RunSettings { max_parallel, unattended, plan_approved, approval, adaptive, growth, ..RunSettings::default() };
            settings.triggers.max_retries = max_retries;
            settings.frequency.max_replans_per_plan = max_replans;
            settings.frequency.cooldown_when_idle = when_idle;
            settings.bounds.max_seconds = timed.then_some(400);
            settings.checks = when_idle.then(|| Criterion::text("it is good").owned_by(Owner::Person)).into_iter().collect();
            settings.bounds.max_actors = if timed { 5 } else { 100 };
            settings
        },
    )
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        8 => Just(Way::Well),
        4 => Just(Way::Badly),
        1 => Just(Way::Unmet),
        1 => Just(Way::Denied),
        1 => Just(Way::Blocked),
        1 => Just(Way::NoModel),
        1 => Just(Way::Interrupted),
        1 => Just(Way::InDoubt),
        1 => Just(Way::Fault),
        1 => Just(Way::Cancels),
        1 => Just(Way::Again),
        1 => any_plan().prop_map(Way::Plans),
        3 => prop::collection::vec(change(), 0..3).prop_map(|changes| Way::Patches(patch(changes))),
    ]
}

fn event() -> impl Strategy<Value = ProgressEvent> {
    let significance =
        prop_oneof![Just(Significance::Low), Just(Significance::Medium), Just(Significance::High), Just(Significance::Critical)];
    prop_oneof![
        (name(), 0..30_u8, significance).prop_map(|(task, number, significance)| evidence(
            &format!("e{number}"),
            task.as_str(),
            significance
        )),
        name().prop_map(|task| ProgressEvent::ToolCallStarted {
            task: Some(task),
            call: "1".into(),
            tool: "look".into(),
            parameters: parameters(json!({}))
        }),
        name().prop_map(|task| ProgressEvent::ProgressReported {
            task: Some(task),
            report: ProgressReport { status: "busy".into(), message: "on it".into() }
        }),
        Just(ProgressEvent::Answered { text: "done".into() }),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        24 => (any::<Index>(), way(), any::<(Index, Index)>()).prop_map(|(pick, way, patch)| Happening::Answer(pick, way, patch)),
        6 => (any::<Index>(), prop::bool::weighted(0.8)).prop_map(|(pick, succeeds)| Happening::Called(pick, succeeds)),
        8 => any::<Index>().prop_map(Happening::Late),
        4 => event().prop_flat_map(|event| {
            let task = match &event {
                ProgressEvent::EvidenceAdded { evidence } => evidence.task.clone().unwrap(),
                ProgressEvent::ToolCallStarted { task, .. } | ProgressEvent::ProgressReported { task, .. } => task.clone().unwrap(),
                _ => id("a"),
            };
            (prop_oneof![4 => Just(1_u32), 1 => 2..4_u32], 0..30_u64).prop_map(move |(execution, number)| Happening::Reported(task.clone(), execution, number, event.clone()))
        }),
        2 => (name(), 0..4_u8).prop_map(|(task, number)| Happening::Asked(task, format!("q{number}").parse().unwrap())),
        2 => prop::sample::select(&["yes", "no", "continue", "stop", "try the tunnel"][..]).prop_map(|text| Happening::Person(text.into())),
        1 => Just(Happening::Bound),
        1 => Just(Happening::Stop),
        1 => prop::option::weighted(0.8, name()).prop_map(Happening::Cancel),
        1 => (0..4_u8, prop::option::of(name())).prop_map(|(number, task)| Happening::Says(number, task)),
        1 => Just(Happening::Crash),
        2 => (0..400_i64).prop_map(Happening::Later),
        1 => Just(Happening::Sleeps),
    ]
}

/// Returns a patch of some kind that is likely to fit the state.
pub(super) fn fitting(state: &ProgressState, kind: &Index, pick: &Index) -> PlanPatch {
    let in_status = |wanted: &[TaskStatus]| {
        let tasks = state.tasks.values().filter(|task| wanted.contains(&task.status));
        tasks.map(|task| task.spec.id.clone()).collect::<Vec<_>>()
    };
    let one = |wanted: &[TaskStatus]| {
        let tasks = in_status(wanted);
        (!tasks.is_empty()).then(|| pick.get(&tasks).clone())
    };
    let new = |number: usize| TaskSpec::actor(id(&format!("new-{}-{number}", state.version)), "Do it otherwise");
    let reason = String::new;
    let waiting = [TaskStatus::Pending, TaskStatus::Ready, TaskStatus::Blocked];
    let changes = match kind.index(8) {
        0 | 1 => {
            let failed = in_status(&[TaskStatus::Failed, TaskStatus::Blocked]).into_iter().enumerate();
            failed.map(|(number, failed)| PlanChange::AddTask { task: Box::new(new(number)), replaces: vec![failed] }).collect()
        }
        2 => one(&[TaskStatus::Running]).into_iter().map(|id| PlanChange::CancelTask { id, reason: reason(), by: Owner::Lead }).collect(),
        3 => {
            let running = in_status(&[TaskStatus::Running]).into_iter();
            running.map(|id| PlanChange::CancelTask { id, reason: reason(), by: Owner::Lead }).collect()
        }
        4 => one(&waiting).into_iter().map(|id| PlanChange::BlockTask { id, reason: reason() }).collect(),
        5 => one(&[TaskStatus::Failed, TaskStatus::Blocked]).into_iter().map(|id| PlanChange::UnblockTask { id }).collect(),
        6 => one(&waiting).into_iter().map(|id| PlanChange::RemoveTask { id, reason: reason() }).collect(),
        _ => {
            let after = one(&[TaskStatus::Running, TaskStatus::Completed]);
            let task = TaskSpec { dependencies: after.into_iter().collect(), ..new(9) };
            vec![PlanChange::AddTask { task: Box::new(task), replaces: vec![] }]
        }
    };
    patch(changes)
}

pub(super) fn runs() -> impl Strategy<Value = (Given, Vec<Happening>)> {
    let mode = prop::option::weighted(0.5, prop_oneof![3 => Just(PlanMode::Emergent), 1 => Just(PlanMode::Complex)]);
    let given = (prop::option::weighted(0.6, any_plan()), (prop::bool::weighted(0.8), any::<bool>(), any::<bool>()), settings(), mode)
        .prop_map(|(plan, (can_plan, has_memory, led), settings, mode)| {
            // A mode matters only if the plan is not given.
            let plan = plan.filter(|_| mode.is_none());
            Given { plan, can_plan, led: led && can_plan, has_memory, settings: RunSettings { mode, ..settings } }
        });
    (given, prop::collection::vec(happening(), 0..70))
}
