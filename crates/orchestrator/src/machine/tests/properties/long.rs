//! Long runs: a plan grows, is patched, fails, is stopped and continues from its facts, for thousands of steps.

use aime_dynamic_planner::{Adaptive, GrowthSettings};
use aime_progress_management::{
    Edge, EdgeType, Owner, Plan, PlanChange, PlanMode, PlanPatch, ProgressEvent, ProgressState, RunStatus, Significance, Strategic, Task,
    TaskChange, TaskId, TaskKind, TaskSpec, TaskStatus, TimedEvent, Timestamp, fold,
};
use aime_tools::Approval;
use indexmap::IndexMap;
use proptest::prelude::*;

use super::{
    super::{
        build::{id, model_use, patch, plan},
        replans::evidence,
        world::{World, json},
    },
    random::Way,
};
use crate::{Bounds, Planning, Replanning, RunEffect, RunFact, RunResult, RunSettings};

/// Number of steps, spread over as many runs as needed.
const STEPS: usize = 2_500;
/// Minimum number of tasks of a plan before its run may end.
const MAX_TASKS: usize = 60;
/// Maximum number of open tasks before a patch takes some out again.
const MAX_OPEN: usize = 9;

/// Four numbers decide one step.
type Dice = [u16; 4];

fn pick<T: Clone>(among: &[T], die: u16) -> Option<T> {
    (!among.is_empty()).then(|| among[usize::from(die) % among.len()].clone())
}

/// Settings under which only its tasks end a run: no cap on tasks, replans or actors.
fn settings(mode: PlanMode) -> RunSettings {
    let growth = GrowthSettings { max_todos: u32::MAX, update_every: 2, max_failures: 2, stagnant_rounds: u32::MAX, ..Default::default() };
    let mut settings =
        RunSettings { mode: Some(mode), approval: Approval::All, adaptive: Adaptive::Always, growth, ..RunSettings::default() };
    settings.triggers.max_retries = 1;
    (settings.frequency.max_replans_per_plan, settings.frequency.escalation_threshold) = (u32::MAX, u32::MAX);
    settings.frequency.cooldown_seconds = 5;
    settings.bounds = Bounds { max_actors: u32::MAX, max_tool_calls: u64::MAX, ..Bounds::default() };
    settings
}

/// Returns true if enough work is left to continue without a change of the plan.
fn is_busy(state: &ProgressState) -> bool {
    let goes_on = |task: &&Task| matches!(task.status, TaskStatus::Ready | TaskStatus::Running);
    state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group).filter(goes_on).count() > 2
}

/// Returns a patch chosen by the dice: it adds, replaces, merges, modifies, blocks, unblocks, cancels and removes
/// tasks, and draws edges. It may not fit.
fn change(state: &ProgressState, [what, first, second, more]: Dice) -> PlanPatch {
    let within = |wanted: &[TaskStatus]| -> Vec<TaskId> {
        let work = state.tasks.values().filter(|task| task.spec.kind != TaskKind::Group && wanted.contains(&task.status));
        work.map(|task| task.spec.id.clone()).collect()
    };
    let waiting = within(&[TaskStatus::Pending, TaskStatus::Ready, TaskStatus::Blocked]);
    let (running, stuck) = (within(&[TaskStatus::Running]), within(&[TaskStatus::Failed, TaskStatus::Blocked]));
    let before = within(&[TaskStatus::Pending, TaskStatus::Ready, TaskStatus::Running, TaskStatus::Completed]);
    let spec = |number: u16| {
        let tool = number.is_multiple_of(3).then(|| "look".to_owned());
        let kind = if tool.is_some() { TaskKind::Tool } else { TaskKind::Actor };
        let dependencies = [first, second].into_iter().filter_map(|die| pick(&before, die.wrapping_add(number)));
        let dependencies = dependencies.take(usize::from(more % 3)).collect();
        Box::new(TaskSpec { kind, tool, dependencies, ..TaskSpec::actor(id(&format!("t{}-{number}", state.version)), "Do it") })
    };
    let add = |number: u16, replaces: Vec<TaskId>| PlanChange::AddTask { task: spec(number), replaces };
    let edge = |from: TaskId, to: TaskId, kind: EdgeType| {
        let condition = (kind == EdgeType::Conditional).then(|| format!("@{{steps.{from}.status}} == completed"));
        PlanChange::AddEdge { edge: Edge { from, to, kind, condition } }
    };
    let reason = String::new;
    let mut changes: Vec<PlanChange> = Vec::new();
    if waiting.len() + running.len() < MAX_OPEN && state.tasks.len() < MAX_TASKS {
        changes.extend((0..=more % 3).map(|number| add(number, vec![])));
    }
    // Patches that may not fit, and so have no effect, are only for a plan that continues by itself.
    let safe = [0, 1, 11][usize::from(what % 3)];
    match if is_busy(state) { what % 12 } else { safe } {
        0 | 1 => changes.extend((10..).zip(&stuck).map(|(number, stuck)| add(number, vec![stuck.clone()]))),
        2 => changes.extend(pick(&stuck, first).map(|id| PlanChange::UnblockTask { id })),
        3 => changes.extend(pick(&running, first).map(|id| PlanChange::CancelTask { id, reason: reason(), by: Owner::Lead })),
        4 => changes.extend(pick(&waiting, first).map(|id| PlanChange::BlockTask { id, reason: reason() })),
        5 => changes.extend(pick(&waiting, first).map(|id| PlanChange::RemoveTask { id, reason: reason() })),
        6 => {
            let ids: Vec<TaskId> = [pick(&waiting, first), pick(&waiting, first.wrapping_add(1))].into_iter().flatten().collect();
            changes.push(PlanChange::MergeTasks { ids, task: spec(20) });
        }
        7 => {
            let change = TaskChange { description: Some("Do it otherwise".to_owned()), dependencies: Some(vec![]), ..Default::default() };
            changes.extend(pick(&waiting, first).map(|id| PlanChange::ModifyTask { id, change: Box::new(change) }));
        }
        8 | 9 => {
            let kind = [EdgeType::Rollback, EdgeType::Conditional, EdgeType::Dependency][usize::from(second % 3)];
            if let Some(from) = pick(&[running, waiting].concat(), first) {
                changes.extend([add(30, vec![]), edge(from, spec(30).id, kind)]);
            }
        }
        // Sometimes a patch cannot fit, and then none of it is applied.
        10 => changes.push(PlanChange::RemoveTask { id: id("nobody"), reason: reason() }),
        _ => {}
    }
    patch(changes)
}

/// State of a task after the last step.
struct Known {
    status: TaskStatus,
    attempts: u32,
}

/// A run, with the earlier states of its tasks.
struct Long {
    world: World,
    known: IndexMap<TaskId, Known>,
}

impl Long {
    fn begin(mode: PlanMode) -> Self {
        let mut world = World::given(|input| input.settings = settings(mode));
        let strategic = Strategic { success_criteria: vec!["it is good".into()], ..Strategic::default() };
        world.routed(mode).plans(Planning::Planned {
            plan: Box::new(Plan { strategic, ..plan("a; b; c: a") }),
            repairs: vec![],
            refused: vec![],
            fallback: None,
        });
        Self { world, known: IndexMap::new() }
    }

    /// Applies one step.
    fn step(&mut self, dice: Dice) {
        let [what, which, way, more] = dice;
        if self.world.output.is_some() {
            self.world.resumed_with(None);
            return;
        }
        match what % 100 {
            0 => drop(self.world.crashed()),
            1 => drop(self.world.stopped()),
            2 => drop(self.world.later(i64::from(which % 20))),
            3 => self.world.machine = serde_json::from_value(json(&self.world.machine)).unwrap(),
            4..10 => self.report(which, more),
            _ => {
                let all = self.world.under_way.len();
                let chosen = self.world.under_way.get_index(usize::from(which) % all.max(1));
                let Some((id, effect)) = chosen.map(|(id, under_way)| (id.clone(), under_way.effect.clone())) else {
                    panic!("nothing is under way: {}", self.world.statuses())
                };
                let fact = match &effect {
                    RunEffect::Lead { order } if way % 15 == 0 && is_busy(&order.state) => Way::Badly.answer(id, &effect),
                    RunEffect::Lead { .. } if way % 40 == 1 => Way::NoModel.answer(id, &effect),
                    RunEffect::Lead { order } => {
                        let outcome = Replanning::Patched { patch: change(&order.state, [way, which, more, what]), refused: vec![] };
                        RunFact::Replanned { id, outcome, repairs: vec![], calls: vec![model_use("patch", 10)] }
                    }
                    RunEffect::StartActor { .. } | RunEffect::CallTool { .. } => {
                        let ways =
                            [Way::Badly, Way::Badly, Way::Badly, Way::Unmet, Way::Denied, Way::Interrupted, Way::InDoubt, Way::Fault];
                        ways.get(usize::from(way % 20)).unwrap_or(&Way::Well).answer(id, &effect)
                    }
                    // The goal is not reached while the plan may grow, because the next replan adds work.
                    RunEffect::Verify { state } if state.tasks.len() < MAX_TASKS => Way::Badly.answer(id, &effect),
                    RunEffect::Timer { at } => {
                        self.world.now = self.world.now.max(at.as_millis());
                        Way::Well.answer(id, &effect)
                    }
                    _ => Way::Well.answer(id, &effect),
                };
                self.world.send(fact);
            }
        }
    }

    /// Reports a finding of a working actor.
    fn report(&mut self, which: u16, more: u16) {
        let at_work = |task: &&Task| task.status == TaskStatus::Running && task.spec.kind == TaskKind::Actor;
        let at_work: Vec<TaskId> = self.world.state().tasks.values().filter(at_work).map(|task| task.spec.id.clone()).collect();
        let Some(task) = pick(&at_work, which) else { return };
        let significance = [Significance::Low, Significance::Medium, Significance::High, Significance::Critical][usize::from(more % 4)];
        let number = self.world.facts.len() as u64;
        let event = evidence(&format!("e{number}"), task.as_str(), significance);
        self.world.reports(task.as_str(), number, event);
    }

    /// Checks that no task is lost, that settled tasks do not change, and that counters never decrease. The world
    /// checks after each fact that no state is illegal, that every running task has somebody working on it and that
    /// nothing ends without a report.
    fn look(&mut self) {
        let tasks = &self.world.state().tasks;
        for (id, before) in &self.known {
            let Some(now) = tasks.get(id) else { panic!("{id} is lost") };
            assert!(!before.status.is_settled() || (now.status, now.attempts) == (before.status, before.attempts), "{id} was settled");
            assert!(now.attempts >= before.attempts, "{id} has fewer attempts than before");
        }
        let known = |task: &Task| Known { status: task.status, attempts: task.attempts };
        self.known = tasks.iter().map(|(id, task)| (id.clone(), known(task))).collect();
    }
}

/// Returns the result after checking that it reports every unfinished task with a reason, and that a failed run has
/// one.
fn checked_result(world: &World) -> RunResult {
    let output = world.output.as_ref().unwrap();
    let result = RunResult::new(world.input.run.clone(), world.state(), output);
    for task in result.tasks.iter().filter(|task| task.status != TaskStatus::Completed) {
        assert!(task.error.as_ref().is_some_and(|why| !why.is_empty()), "{} is {} in silence", task.id, task.status);
    }
    assert!(!result.answer.is_empty());
    let failure = result.error.as_ref().map(|error| error.message.to_string());
    assert_eq!(result.status == RunStatus::Failed, failure.as_ref().is_some_and(|message| !message.is_empty()), "{failure:?}");
    result
}

/// Checks the end of a run: everything is reported, and a replay of the facts gives the same run.
fn is_whole(world: &mut World) {
    world.end();
    checked_result(world);
    world.replayed();
    let timed = |(at, event): &(i64, ProgressEvent)| TimedEvent { at: Timestamp::from_millis(*at), event: event.clone() };
    let events: Vec<TimedEvent> = world.events.iter().map(timed).collect();
    assert_eq!(&fold(&events).unwrap(), world.state(), "the events are the run");
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 100, ..ProptestConfig::with_cases(2) })]

    // Requirement: 7.19
    #[test]
    fn plans_grow_fail_and_go_on_for_thousands_of_steps_and_lose_nothing(steps in prop::collection::vec(any::<Dice>(), STEPS)) {
        let modes = [PlanMode::Emergent, PlanMode::Complex];
        let (mut long, mut grown, mut runs) = (Long::begin(modes[0]), 0, 0);
        for dice in steps {
            if long.world.machine.is_over() && long.world.output.is_some() {
                is_whole(&mut long.world);
                grown += long.world.state().decisions.len();
                runs += 1;
                long = Long::begin(modes[usize::from(dice[0]) % 2]);
            }
            long.step(dice);
            long.look();
        }
        is_whole(&mut long.world);
        prop_assert!(grown > 10 * runs, "{grown} changes in {runs} plans: too few to show anything");
    }
}
