//! Invariants over random runs. For any patches and outcomes: no state has a cycle, a dangling dependency or an illegal
//! transition; a refused event changes nothing; folding the events again gives the same state; and a run never gets
//! stuck with open tasks.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Owner, testing::*, todo::MAX_TODOS, *};

/// One step of a run. Numbers select among the existing objects at that time.
#[derive(Debug, Clone)]
enum Step {
    Settle,
    Close,
    Start(usize),
    End(usize, Ending),
    Retry(usize),
    Patch(Vec<PlanChange>),
    /// A change of status that may be illegal.
    Force(usize, TaskStatus),
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Done,
    Failed,
    FailedForGood,
    Interrupted,
    HeldBack,
}

const NAMES: [&str; 10] = ["a", "b", "c", "d", "e", "g", "h", "n0", "n1", "n2"];

fn name() -> impl Strategy<Value = TaskId> {
    prop::sample::select(&NAMES[..]).prop_map(id)
}

fn names() -> impl Strategy<Value = Vec<TaskId>> {
    prop::collection::vec(name(), 0..3)
}

fn condition() -> impl Strategy<Value = String> {
    (name(), prop::sample::select(&["status} == completed", "result.n} > 0", "result} contains x", "status} == failed"][..]))
        .prop_map(|(task, rest)| format!("@{{steps.{task}.{rest}"))
}

fn any_edge() -> impl Strategy<Value = Edge> {
    (name(), name(), prop::option::of(condition()), any::<bool>()).prop_map(|(from, to, condition, rollback)| {
        let kind = match (&condition, rollback) {
            (Some(_), _) => EdgeType::Conditional,
            (None, true) => EdgeType::Rollback,
            (None, false) => EdgeType::Dependency,
        };
        Edge { from, to, kind, condition }
    })
}

fn task(name: impl Strategy<Value = TaskId>) -> impl Strategy<Value = TaskSpec> {
    let parent = prop::option::weighted(0.3, prop::sample::select(&["g", "h"][..]).prop_map(id));
    let kind = prop_oneof![6 => Just(TaskKind::Actor), 2 => Just(TaskKind::Tool), 1 => Just(TaskKind::Group)];
    (name, names(), parent, kind, prop::option::weighted(0.2, name_in_parameters())).prop_map(
        |(id, dependencies, parent, kind, reference)| TaskSpec {
            kind,
            dependencies,
            parent,
            tool: (kind == TaskKind::Tool).then(|| "bash".to_owned()),
            parameters: reference.map(|reference| parameters(json!({ "x": reference }))).unwrap_or_default(),
            ..TaskSpec::actor(id, "Do it")
        },
    )
}

fn name_in_parameters() -> impl Strategy<Value = String> {
    name().prop_map(|task| format!("@{{steps.{task}.result}}"))
}

fn change() -> impl Strategy<Value = PlanChange> {
    let new = || prop::sample::select(&["n0", "n1", "n2"][..]).prop_map(id);
    let reason = String::new;
    prop_oneof![
        3 => (task(new()), names()).prop_map(|(task, replaces)| PlanChange::AddTask { task: Box::new(task), replaces }),
        1 => (task(new()), names()).prop_map(|(task, ids)| PlanChange::MergeTasks { ids, task: Box::new(task) }),
        2 => (name(), prop::option::of(names())).prop_map(|(id, dependencies)| PlanChange::ModifyTask {
            id,
            change: Box::new(TaskChange { dependencies, ..TaskChange::default() })
        }),
        1 => name().prop_map(move |id| PlanChange::RemoveTask { id, reason: reason() }),
        1 => name().prop_map(move |id| PlanChange::BlockTask { id, reason: reason() }),
        1 => name().prop_map(|id| PlanChange::UnblockTask { id }),
        1 => name().prop_map(move |id| PlanChange::CancelTask { id, reason: reason(), by: Owner::Lead }),
        1 => any_edge().prop_map(|edge| PlanChange::AddEdge { edge }),
        1 => (name(), name()).prop_map(|(from, to)| PlanChange::RemoveEdge { from, to }),
    ]
}

fn ending() -> impl Strategy<Value = Ending> {
    use Ending::{Done, Failed, FailedForGood, HeldBack, Interrupted};
    prop_oneof![4 => Just(Done), 1 => Just(Failed), 2 => Just(FailedForGood), 1 => Just(Interrupted), 1 => Just(HeldBack)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Settle),
        1 => Just(Step::Close),
        4 => (0..9_usize).prop_map(Step::Start),
        4 => (0..9_usize, ending()).prop_map(|(at, ending)| Step::End(at, ending)),
        1 => (0..9_usize).prop_map(Step::Retry),
        3 => prop::collection::vec(change(), 1..4).prop_map(Step::Patch),
        1 => (0..9_usize, prop::sample::select(&TaskStatus::ALL[..])).prop_map(|(at, to)| Step::Force(at, to)),
    ]
}

/// Generates plans in which a task mostly depends on earlier ones, so that many of them are valid.
fn plan() -> impl Strategy<Value = Plan> {
    let dependencies = prop::collection::vec(prop::collection::vec(0..6_usize, 0..3), 6);
    let in_group = prop::collection::vec(prop::option::weighted(0.4, any::<bool>()), 6);
    (dependencies, in_group, prop::collection::vec(any_edge(), 0..3)).prop_map(|(dependencies, in_group, edges)| {
        let actors = ["a", "b", "c", "d", "e", "f"];
        let mut tasks: Vec<TaskSpec> = Vec::new();
        for (at, name) in actors.iter().enumerate() {
            let parent = in_group[at].map(|nested| id(if nested { "h" } else { "g" }));
            let dependencies = dependencies[at].iter().filter(|earlier| **earlier < at).map(|earlier| id(actors[*earlier])).collect();
            tasks.push(TaskSpec { dependencies, parent, ..TaskSpec::actor(id(name), "Do it") });
        }
        let used = |group: &str| tasks.iter().any(|task| task.parent == Some(id(group)));
        let (g, h) = (used("g"), used("h"));
        if g || h {
            tasks.push(spec("g/"));
        }
        if h {
            tasks.push(spec("g/h/"));
        }
        plan_of(tasks, edges)
    })
}

/// A run with the journal of its events.
struct Run {
    state: ProgressState,
    /// Index of the due changes, updated with each event.
    schedule_index: ScheduleIndex,
    trigger_index: TriggerIndex,
    events: Vec<TimedEvent>,
}

impl Run {
    fn new(plan: Plan) -> Option<Self> {
        let started = ProgressEvent::RunStarted { plan_id: "p".parse().unwrap(), goal: "g".into(), images: Vec::new() };
        let state = ProgressState::start(at(0), &started).unwrap();
        let mut run = Self {
            schedule_index: ScheduleIndex::new(&state),
            trigger_index: TriggerIndex::new(&state),
            state,
            events: vec![TimedEvent { at: at(0), event: started }],
        };
        let valid = plan.check().is_ok();
        let taken = run.apply(ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None });
        assert_eq!(taken, valid, "the check and the fold agree");
        valid.then_some(run)
    }

    /// Applies an event. A refused one must change nothing.
    fn apply(&mut self, event: ProgressEvent) -> bool {
        let before = self.state.clone();
        let now = at(i64::try_from(self.events.len()).unwrap());
        match self.state.apply(now, &event) {
            Ok(()) => {
                assert_legal(&before, &self.state);
                assert_eq!(self.state.inconsistencies(), [], "after {event:?}");
                self.schedule_index.follow(&self.state, &event);
                assert_eq!(self.schedule_index.next_changes(&self.state), self.state.next_changes(), "after {event:?}");
                assert_eq!(
                    self.schedule_index.ready(&self.state, usize::MAX, std::collections::BTreeSet::new),
                    self.state.ready_by_priority(),
                    "after {event:?}"
                );
                self.trigger_index.follow(&self.state, &event);
                assert_eq!(self.trigger_index, TriggerIndex::new(&self.state), "after {event:?}");
                self.events.push(TimedEvent { at: now, event });
                true
            }
            Err(_) => {
                assert_eq!(self.state, before, "a refused event changes nothing");
                false
            }
        }
    }

    fn change(&mut self, change: &StatusChange) {
        let event = self.state.status_event(change).unwrap_or_else(|error| panic!("{change:?}: {error}"));
        assert!(self.apply(event), "{change:?}");
    }

    fn changes(&mut self, next: fn(&ProgressState) -> Vec<StatusChange>) -> bool {
        let changes = next(&self.state);
        changes.iter().for_each(|change| self.change(change));
        !changes.is_empty()
    }

    fn settle(&mut self) {
        let rounds = (0..100).take_while(|_| self.changes(ProgressState::next_changes)).count();
        assert!(rounds < 100, "it never settles: {}", self.state.statuses());
    }

    fn pick(&self, at: usize, status: TaskStatus) -> Option<TaskId> {
        let fits = |task: &&Task| task.status == status && task.spec.kind != TaskKind::Group;
        let found: Vec<&Task> = self.state.tasks.values().filter(fits).collect();
        found.get(at % found.len().max(1)).map(|task| task.spec.id.clone())
    }

    fn go(&mut self, task: TaskId, to: TaskStatus, for_good: bool) {
        self.change(&StatusChange { task, to, for_good, reason: None });
    }

    fn end(&mut self, task: TaskId, ending: Ending) {
        let from = |number: usize| if number.is_multiple_of(2) { Origin::Files } else { Origin::Web(format!("h{}", number % 5)) };
        let origins = (0..self.events.len() % 3).map(|more| from(self.events.len() + more)).collect();
        let conclusion = match ending {
            Ending::Done => Conclusion { origins, ..done("x", json!({"n": 1})) },
            _ => conclusion(Outcome::Failure, "not done", Some("it broke")),
        };
        assert!(self.apply(ProgressEvent::TaskConcluded { task: task.clone(), conclusion }));
        match ending {
            Ending::Done => self.go(task, TaskStatus::Completed, false),
            Ending::Failed => self.go(task, TaskStatus::Failed, false),
            Ending::FailedForGood => self.go(task, TaskStatus::Failed, true),
            Ending::Interrupted => self.go(task, TaskStatus::Pending, false),
            Ending::HeldBack => self.go(task, TaskStatus::Blocked, false),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Settle => self.settle(),
            Step::Close => drop(self.changes(ProgressState::closing_changes)),
            Step::Start(at) => {
                self.settle();
                self.pick(at, TaskStatus::Ready).into_iter().for_each(|task| self.go(task, TaskStatus::Running, false));
            }
            Step::End(at, ending) => self.pick(at, TaskStatus::Running).into_iter().for_each(|task| self.end(task, ending)),
            // Only a patch retries a task that failed for good.
            Step::Retry(at) => {
                let task = self.pick(at, TaskStatus::Failed).filter(|task| !self.state.tasks[task].failed_for_good);
                task.into_iter().for_each(|task| self.go(task, TaskStatus::Pending, false));
            }
            Step::Patch(changes) => {
                let patch = patch_of(changes);
                let valid = self.state.check_patch(&patch).is_ok();
                let decision = Decision {
                    version: self.state.version + 1,
                    at: at(0),
                    triggers: vec![],
                    patch,
                    evidence: vec![],
                    lowered: vec![],
                    dropped: vec![],
                };
                assert_eq!(self.apply(ProgressEvent::PlanChanged { decision }), valid, "the check and the fold agree");
            }
            Step::Force(at, to) => {
                let Some((_, task)) = self.state.tasks.get_index(at % self.state.tasks.len()) else { return };
                let (from, attempt) = (task.status, task.attempts);
                let legal = from.can_become(to);
                let event =
                    ProgressEvent::TaskStatusChanged { task: task.spec.id.clone(), from, to, attempt, for_good: false, reason: None };
                // Only illegal changes are forced: a legal one that the graph does not allow is a mistake of the
                // caller.
                if !legal {
                    assert!(!self.apply(event));
                }
            }
        }
    }
}

/// Checks that every change of status is in the table. A patch may change one task twice, so two rows are allowed for
/// it.
fn assert_legal(before: &ProgressState, after: &ProgressState) {
    for (id, task) in &after.tasks {
        let Some(former) = before.tasks.get(id) else { continue };
        let (from, to) = (former.status, task.status);
        let direct = from == to || from.can_become(to);
        let by_patch =
            after.version > before.version && TaskStatus::ALL.into_iter().any(|middle| from.can_become(middle) && middle.can_become(to));
        assert!(direct || by_patch, "{id}: {from} to {to}");
    }
}

/// Returns whether `whole` is made of all of `one` and all of `other`, each in its order. Equal items may come from either.
fn interleaves<T: PartialEq>(whole: &[T], one: &[T], other: &[T]) -> bool {
    match whole.split_first() {
        None => one.is_empty() && other.is_empty(),
        Some((first, rest)) => {
            one.split_first().is_some_and(|(next, one)| next == first && interleaves(rest, one, other))
                || other.split_first().is_some_and(|(next, other)| next == first && interleaves(rest, one, other))
        }
    }
}

#[test]
fn equal_items_may_come_from_either_part() {
    // The input that a greedy comparison refused: the second `x` was dropped.
    assert!(interleaves(&["x", "y", "x"], &["x", "y"], &["x"]));
    assert!(interleaves(&["x", "y", "x"], &["y", "x"], &["x"]));
    assert!(!interleaves(&["x", "y", "x"], &["y", "x"], &["y"]));
    assert!(!interleaves(&["x", "y"], &["x"], &[]));
    assert!(!interleaves(&["x"], &["x"], &["x"]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    // Requirement: 7.5
    #[test]
    fn every_reachable_state_keeps_the_rules(plan in plan(), steps in prop::collection::vec(step(), 1..40)) {
        let Some(mut run) = Run::new(plan) else { return Ok(()) };
        steps.into_iter().for_each(|step| run.step(step));
        let again = fold(&run.events).unwrap();
        prop_assert_eq!(&again, &run.state);
        prop_assert_eq!(fold(&run.events).unwrap(), again);
        let written = serde_json::to_string(&run.state).unwrap();
        prop_assert_eq!(serde_json::from_str::<ProgressState>(&written).unwrap(), run.state);
    }

    // Requirement: 3.62
    #[test]
    fn a_rebased_patch_fits_and_loses_nothing(plan in plan(), steps in prop::collection::vec(step(), 0..25), changes in prop::collection::vec(change(), 1..6)) {
        let Some(mut run) = Run::new(plan) else { return Ok(()) };
        steps.into_iter().for_each(|step| run.step(step));
        let patch = patch_of(changes);
        match run.state.rebase(&patch) {
            Ok(rebased) => {
                prop_assert!(run.state.check_patch(&rebased.patch).is_ok());
                prop_assert_eq!(rebased.dropped.is_empty(), rebased.patch == patch);
                // Both parts keep the order of the patch, and together they contain all of it.
                let dropped: Vec<PlanChange> = rebased.dropped.iter().map(|dropped| dropped.change.clone()).collect();
                prop_assert!(interleaves(&patch.changes, &rebased.patch.changes, &dropped), "{:?} of {:?}", rebased, patch);
                let before = run.state.version;
                run.step(Step::Patch(rebased.patch.changes));
                prop_assert_eq!(run.state.version, before + 1);
            }
            Err(faults) => prop_assert!(!faults.faults.is_empty()),
        }
    }

    // Requirement: 3.24
    #[test]
    fn a_run_never_gets_stuck(plan in plan(), steps in prop::collection::vec(step(), 0..20), endings in prop::collection::vec(ending(), 1..8)) {
        let Some(mut run) = Run::new(plan) else { return Ok(()) };
        steps.into_iter().for_each(|step| run.step(step));
        // After a while every failure is for good, so that the run must end.
        let mut endings = endings.iter().copied().cycle().take(40);
        loop {
            run.settle();
            if let Some(task) = run.pick(0, TaskStatus::Running) {
                run.end(task, endings.next().unwrap_or(Ending::FailedForGood));
            } else if let Some(task) = run.pick(0, TaskStatus::Ready) {
                run.go(task, TaskStatus::Running, false);
            } else if let Some(task) = run.state.tasks.values().find(|task| task.status == TaskStatus::Failed && !task.failed_for_good) {
                let task = task.spec.id.clone();
                run.go(task, TaskStatus::Pending, false);
            } else if !run.changes(ProgressState::closing_changes) {
                break;
            }
        }
        let open: Vec<&TaskId> = run.state.tasks.values().filter(|task| task.status.is_open()).map(|task| &task.spec.id).collect();
        prop_assert!(open.is_empty(), "left open: {:?} in {}", open, run.state.statuses());
    }

    #[test]
    fn reading_references_never_fails_and_loses_nothing(text in "[@{}a-z.\\[\\]0-9\"' ]{0,40}") {
        let state = empty_state();
        let _ = expand_text(&text, &state);
        let _ = Condition::parse(&text).map(|condition| condition.holds(&state));
        let literal = text.replace("@{", "@@{");
        prop_assert_eq!(expand_text(&literal, &state).unwrap(), text, "{}", literal);
    }

    // Requirement: 4.23
    #[test]
    fn todo_lists_keep_their_rules(items in prop::collection::vec((any::<bool>(), prop::sample::select(&["pending", "In_Progress", "COMPLETED", "odd"][..]), ".{0,5}"), 0..25)) {
        let items: Vec<Value> = items.into_iter().map(|(status, word, text)| {
            if status { json!({"text": text, "status": word}) } else { json!({"text": text}) }
        }).collect();
        if let Ok(list) = TodoList::from_parameters(&parameters(json!({ "items": items }))) {
            prop_assert!(list.items().len() <= MAX_TODOS);
            prop_assert!(list.items().iter().filter(|item| item.status == TodoStatus::InProgress).count() <= 1);
            prop_assert!(list.items().iter().all(|item| !item.text.is_empty()));
            let again = TodoList::from_parameters(&parameters(json!({ "items": list.items() }))).unwrap();
            prop_assert_eq!(again, list);
        }
    }
}
