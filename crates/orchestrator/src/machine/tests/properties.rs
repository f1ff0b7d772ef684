//! Invariants over random runs. For any plans, outcomes, patches, stops and crashes in any order: the machine never
//! faults, no state is illegal, a replay equals the live run, and every run ends without losing a task.

mod long;
mod random;

use aime_actor_factory::LeadRest;
use aime_durable::{Machine, Order, Outbox};
use aime_dynamic_planner::{Wake, WakeKind};
use aime_progress_management::{
    Decision, FailureCause, LeadCommand, Outcome, Owner, PlanChange, PlanMode, PlanPatch, ProgressEvent, RunStatus, TaskStatus,
};
use proptest::{prelude::*, sample::Index};

use super::{
    build::{check, conclusion, model_use},
    world::{World, json},
};
use crate::{
    Bounds, ChosenRoute, KnownContext, LeadWakeOrder, Planning, Replanning, RunEffect, RunFact,
    machine::{RunMachine, lead::changes_of},
};
use random::{Given, Happening, Way};

/// Maximum number of facts that a run of this size needs to end.
const MAX_FACTS: usize = 600;

impl World {
    /// Applies one happening, if possible.
    fn happens(&mut self, happening: &Happening) {
        if self.machine.is_over() && self.output.is_some() {
            return;
        }
        if let (true, Happening::Cancel(None)) = (self.output.is_some(), happening) {
            self.output = None;
            self.cancel(None);
            return;
        }
        if self.output.is_some() {
            let bounds = matches!(happening, Happening::Bound).then(Bounds::default);
            self.resumed_with(bounds);
            return;
        }
        match happening {
            Happening::Answer(pick, way, (kind, task)) => {
                if let Some((id, effect)) = self.pick(pick, false) {
                    let patch = match (&effect, way) {
                        (RunEffect::Lead { order }, Way::Well | Way::Fault) if order.has_conversation() && order.state.version > 0 => {
                            Some(random::fitting(&order.state, kind, task))
                        }
                        (RunEffect::Lead { order }, Way::Well | Way::Unmet | Way::InDoubt)
                            if !order.has_conversation() && order.wake.kind != WakeKind::Begin =>
                        {
                            Some(random::fitting(&order.state, kind, task))
                        }
                        _ => None,
                    };
                    let mut fact = patch.map(Way::Patches).unwrap_or(way.clone()).answer(id, &effect);
                    if let (RunFact::Routed { route, .. }, Some(mode)) = (&mut fact, self.input.settings.mode) {
                        route.mode = mode;
                    }
                    self.send(fact);
                }
            }
            Happening::Called(pick, succeeds) => {
                let calls = self.under_way.iter().filter_map(|(id, under_way)| match &under_way.effect {
                    RunEffect::CallTool { call, result: None, .. } => Some((id.clone(), call.clone())),
                    _ => None,
                });
                let calls: Vec<_> = calls.collect();
                if !calls.is_empty() {
                    let (id, call) = pick.get(&calls).clone();
                    let outcome = if *succeeds { Outcome::Success } else { Outcome::Failure };
                    let conclusion = Box::new(conclusion(outcome, (!succeeds).then_some("it broke"), None));
                    self.send(RunFact::ToolCalled { id, call, conclusion, duration_ms: 1 });
                }
            }
            Happening::Late(pick) => {
                if let Some((id, _)) = self.pick(pick, true) {
                    // `drive` turns any outcome into the acknowledgement.
                    self.send(RunFact::EffectFailed { id, message: "too late".into() });
                }
            }
            Happening::Reported(task, execution, number, event) => {
                let (task, execution, number) = (task.clone(), *execution, *number);
                self.send(RunFact::ActorReported { task, execution, call: None, number, event: event.clone() });
            }
            Happening::Asked(task, question) => {
                let (task, question) = (task.clone(), question.clone());
                self.send(RunFact::ActorAsked { task, question, kind: "question".to_owned(), text: "Which?".to_owned() });
            }
            Happening::Person(text) => {
                self.person(text);
            }
            Happening::Bound => {
                self.send(RunFact::BoundReached { bound: "tokens".to_owned(), detail: "all".into() });
            }
            Happening::Stop => {
                self.stopped();
            }
            Happening::Cancel(task) => self.cancel(task.clone()),
            Happening::Says(number, task) => {
                let id = format!("person-{number}").parse().unwrap();
                self.send(RunFact::PersonSaid { id, task: task.clone(), text: "slowly".to_owned() });
            }
            Happening::Crash => {
                self.crashed();
            }
            Happening::Later(seconds) => {
                self.later(*seconds);
            }
            Happening::Sleeps => self.machine = serde_json::from_value(json(&self.machine)).unwrap(),
        }
    }

    fn cancel(&mut self, task: Option<aime_progress_management::TaskId>) {
        self.send(RunFact::CancelRequested { task, reason: "cancelled by a person".into(), message: None });
    }

    fn pick(&self, pick: &Index, revoked: bool) -> Option<(aime_durable::EffectId, RunEffect)> {
        let among = self.under_way.iter().filter(|(_, under_way)| under_way.revoked.is_some() == revoked);
        let among: Vec<_> = among.map(|(id, under_way)| (id.clone(), under_way.effect.clone())).collect();
        (!among.is_empty()).then(|| pick.get(&among).clone())
    }

    /// Answers every effect, so that the run must end.
    fn end(&mut self) {
        self.acknowledges = true;
        let until = self.facts.len() + MAX_FACTS;
        while !(self.machine.is_over() && self.output.is_some()) {
            assert!(self.facts.len() < until, "the run does not end: {} {}", self.statuses(), self.open());
            if self.output.is_some() {
                self.resumed_with(Some(Bounds::default()));
            }
            self.acknowledge_all();
            if self.output.is_some() {
                continue;
            }
            let next = self.under_way.iter().find(|(_, under_way)| !matches!(under_way.effect, RunEffect::Timer { .. }));
            let next = next.or(self.under_way.first()).map(|(id, under_way)| (id.clone(), under_way.effect.clone()));
            let Some((id, effect)) = next else { panic!("nothing is under way, and the run goes on: {}", self.statuses()) };
            if let RunEffect::Timer { at } = effect {
                self.now = self.now.max(at.as_millis());
            }
            self.send(Way::Well.answer(id, &effect));
        }
    }
}

impl Way {
    /// Returns commands of the lead, independent of the wake.
    fn rest(&self, order: &LeadWakeOrder) -> LeadRest {
        let wake = order.wake.number;
        let running = || order.state.tasks.values().find(|task| task.status == TaskStatus::Running).map(|task| task.spec.id.clone());
        let held = || order.state.tasks.values().find(|task| task.held).map(|task| task.spec.id.clone());
        let submit = |plan| LeadCommand::SubmitPlan { plan: Box::new(plan), mode: PlanMode::Complex, repairs: vec![] };
        let commands = match self {
            Self::Plans(plan) => vec![submit(plan.clone())],
            Self::Well if order.state.version == 0 => vec![submit(super::build::plan("a; b: a"))],
            Self::Patches(patch) if order.state.version > 0 => {
                vec![LeadCommand::ChangePlan { patch: patch.clone(), handled: order.wake.evidence.clone(), repairs: vec![] }]
            }
            Self::InDoubt => running().map(|task| LeadCommand::HoldTask { task }).into_iter().collect(),
            Self::Denied => held().map(|task| LeadCommand::ReleaseTask { task }).into_iter().collect(),
            // A person is asked about a criterion that is theirs.
            Self::Blocked if !order.state.strategic.success_criteria.is_empty() => {
                let criterion = format!("good enough in version {}", order.state.version).as_str().into();
                vec![LeadCommand::AmendCriterion { number: 1, criterion, evidence: "it cannot be good".to_owned() }]
            }
            Self::Cancels => running().map(|task| LeadCommand::CancelTask { task, reason: "not needed".to_owned() }).into_iter().collect(),
            Self::Again if order.state.version > 0 => {
                let version = order.state.version;
                vec![submit(super::build::plan(&format!("again-{version}; next-{version}: again-{version}")))]
            }
            Self::Unmet => running().map(|task| LeadCommand::TellTask { task, text: "slowly".to_owned() }).into_iter().collect(),
            _ => vec![],
        };
        let concluded = |outcome, cause| Some(conclusion(outcome, (outcome != Outcome::Success).then_some("it broke"), cause));
        let ends = match self {
            Self::Well if commands.is_empty() => concluded(Outcome::Success, None),
            Self::Badly => concluded(Outcome::Failure, None),
            Self::NoModel => concluded(Outcome::Failure, Some(FailureCause::Model)),
            Self::Blocked => concluded(Outcome::Failure, Some(FailureCause::Blocked)),
            _ => None,
        };
        LeadRest {
            wake,
            commands,
            conclusion: ends,
            answer: "so be it".to_owned(),
            gave_up: matches!(self, Self::Interrupted),
            origins: Vec::new(),
        }
    }

    fn answer(&self, id: aime_durable::EffectId, effect: &RunEffect) -> RunFact {
        if matches!(self, Self::Fault) {
            return RunFact::EffectFailed { id, message: "it panicked".into() };
        }
        match effect {
            RunEffect::Recall => {
                let faults = if matches!(self, Self::Badly) { vec!["the memory is damaged".to_owned()] } else { vec![] };
                RunFact::Recalled { id, known: KnownContext { text: "It rains there.".to_owned(), faults, ..KnownContext::default() } }
            }
            RunEffect::Remember { .. } => {
                RunFact::Remembered { id, fault: matches!(self, Self::Badly).then(|| "the memory is damaged".to_owned()) }
            }
            RunEffect::Route => {
                let mode = if matches!(self, Self::Badly) { PlanMode::Direct } else { PlanMode::Complex };
                let route =
                    ChosenRoute { mode, by: "rules".into(), score: None, category: "general".into(), profile: None, reasons: vec![] };
                RunFact::Routed { id, route, calls: vec![model_use("route", 10)] }
            }
            RunEffect::Lead { order } if !order.has_conversation() && order.wake.kind == WakeKind::Begin => {
                let outcome = match self {
                    Self::Plans(plan) => {
                        Planning::Planned { plan: Box::new(plan.clone()), repairs: vec![], refused: vec![], fallback: None }
                    }
                    Self::Well => Planning::Planned {
                        plan: Box::new(super::build::plan("a; b: a")),
                        repairs: vec![],
                        refused: vec![],
                        fallback: None,
                    },
                    Self::Badly => Planning::NoPlan { message: "no idea".into(), refused: vec![] },
                    _ => Planning::ModelFailed { message: "nobody listens".into(), hint: None },
                };
                RunFact::Planned { id, outcome, calls: vec![] }
            }
            RunEffect::Lead { order } if !order.has_conversation() => {
                let outcome = match self {
                    Self::Patches(patch) => Replanning::Patched { patch: patch.clone(), refused: vec![] },
                    Self::NoModel => Replanning::ModelFailed { message: "nobody listens".into(), hint: None },
                    _ => Replanning::NoPatch { message: "no idea".into(), refused: vec![] },
                };
                RunFact::Replanned { id, outcome, repairs: vec![], calls: vec![model_use("patch", 10)] }
            }
            RunEffect::Lead { order } => RunFact::LeadRested {
                id,
                rest: Box::new(self.rest(order)),
                category: "general".to_owned(),
                checks: Vec::new(),
                calls: Vec::new(),
            },
            RunEffect::StartActor { .. } | RunEffect::CallTool { .. } => {
                let ended = |outcome, cause| conclusion(outcome, (outcome != Outcome::Success).then_some("it broke"), cause);
                let conclusion = match self {
                    Self::Badly => ended(Outcome::Failure, None),
                    Self::Denied => ended(Outcome::Failure, Some(FailureCause::Denied)),
                    Self::Blocked => ended(Outcome::Failure, Some(FailureCause::Blocked)),
                    Self::NoModel => ended(Outcome::Failure, Some(FailureCause::Model)),
                    Self::Interrupted => ended(Outcome::Interrupted, None),
                    Self::InDoubt => ended(Outcome::InDoubt, None),
                    _ => ended(Outcome::Success, None),
                };
                let checks = if matches!(self, Self::Unmet) { vec![check("x exists", Some(false))] } else { vec![] };
                RunFact::TaskEnded { id, conclusion, checks, calls: Vec::new(), conflicts: Vec::new(), duration_ms: 1 }
            }
            RunEffect::Verify { .. } => {
                let passed = !matches!(self, Self::Badly | Self::Unmet);
                RunFact::Verified {
                    id,
                    checks: vec![check("it is good", Some(passed))],
                    again: std::collections::BTreeMap::new(),
                    calls: vec![],
                }
            }
            RunEffect::Answer { .. } => {
                RunFact::AnswerWritten { id, text: matches!(self, Self::Well).then(|| "done".into()), calls: vec![] }
            }
            RunEffect::Ask { .. } => match self {
                Self::Well => RunFact::Answered { id, text: "stop".into() },
                Self::Badly => RunFact::Answered { id, text: "no".into() },
                Self::Unmet => RunFact::Answered { id, text: "yes".into() },
                _ => RunFact::Deferred { id },
            },
            // A timer may fire early, because it follows the clock of the host.
            RunEffect::Timer { .. } => RunFact::TimerFired { id },
        }
    }
}

/// The events and the wakes of the lead that followed from one fact.
#[derive(Default)]
struct Step {
    decisions: Vec<Decision>,
    wakes: Vec<Wake>,
    /// The version of the plan before the fact.
    version: u32,
}

/// Returns what followed from each fact of a run.
fn steps(world: &World) -> Vec<Step> {
    let mut out = Outbox::default();
    let mut machine = RunMachine::start(0, &world.input, &mut out);
    out.take();
    let mut steps = Vec::new();
    for (at, fact) in &world.facts {
        let version = machine.state().version;
        machine.apply(*at, fact, &mut out);
        let (orders, events) = out.take();
        let decisions = events.into_iter().filter_map(|event| match event {
            ProgressEvent::PlanChanged { decision } => Some(decision),
            _ => None,
        });
        let wakes = orders.into_iter().filter_map(|order| match order {
            Order::Issue(_, RunEffect::Lead { order }) => Some(order.wake),
            _ => None,
        });
        steps.push(Step { decisions: decisions.collect(), wakes: wakes.collect(), version });
    }
    steps
}

/// Returns the changes of the plan that a command of the lead makes.
fn changes(command: &LeadCommand, version: u32) -> Vec<PlanChange> {
    match command {
        LeadCommand::ChangePlan { patch, .. } => patch.changes.clone(),
        LeadCommand::CancelTask { task, reason } => PlanPatch::cancelling(task, reason, Owner::Lead).changes,
        LeadCommand::SubmitPlan { plan, .. } if version > 0 => changes_of(plan.as_ref().clone()),
        _ => Vec::new(),
    }
}

/// Checks that each change that the lead made is in the plan, or that the lead was told why not. Changes that neither a
/// decision nor a wake follows may stay undecided, because the run ended.
fn no_change_is_lost(world: &World) {
    let steps = steps(world);
    for (at, (_, fact)) in world.facts.iter().enumerate() {
        let RunFact::LeadRested { rest, .. } = fact else { continue };
        // A lead that sleeps is not heard.
        if rest.gave_up || !steps[..at].iter().any(|step| step.wakes.iter().any(|wake| wake.number == rest.wake)) {
            continue;
        }
        let decisions: Vec<&Decision> = steps[at..].iter().flat_map(|step| &step.decisions).collect();
        let wakes: Vec<&Wake> = steps[at..].iter().flat_map(|step| &step.wakes).filter(|wake| wake.number > rest.wake).collect();
        if decisions.is_empty() && wakes.is_empty() {
            continue;
        }
        // Nothing of a change fitted, or it broke a rule. The next wake says so.
        let refused = |why: &String| why.contains("moved on") || why.contains("no change of the plan was made");
        let refused = wakes.iter().any(|wake| wake.number == rest.wake + 1 && wake.refused.iter().any(refused));
        for change in rest.commands.iter().flat_map(|command| changes(command, steps[at].version)) {
            let applied = decisions.iter().any(|decision| decision.patch.changes.contains(&change));
            let dropped = decisions.iter().flat_map(|decision| &decision.dropped).any(|dropped| dropped.change == change);
            let returned = wakes.iter().flat_map(|wake| &wake.dropped).any(|dropped| dropped.change == change);
            assert!(applied || dropped || returned || refused, "lost after wake {}: {change:?}", rest.wake);
        }
    }
}

fn run(given: &Given, happenings: &[Happening]) -> World {
    let mut world = World::given(|input| given.apply_to(input));
    world.acknowledges = false;
    for happening in happenings {
        world.happens(happening);
    }
    world.end();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4_000, ..ProptestConfig::with_cases(3_000) })]

    // Requirement: 1.7, 3.24
    #[test]
    fn every_run_is_sound_and_comes_to_its_end((given, happenings) in random::runs()) {
        let world = run(&given, &happenings);
        // The machine and the world were compared after each fact; this checks the end.
        prop_assert!(matches!(world.state().status, RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled), "{}", world.state().status);
        for task in world.state().tasks.values() {
            prop_assert!(!task.status.is_open(), "{} is left {}", task.spec.id, task.status);
        }
        prop_assert!(world.state().answer.as_deref().is_some_and(|answer| !answer.is_empty()));
        prop_assert!(world.state().questions.iter().all(|question| question.answer.is_some()), "no question is left open");
        no_change_is_lost(&world);
        world.replayed();
        let answered: Vec<_> = world.facts.iter().filter_map(|(_, fact)| RunMachine::answers(fact)).collect();
        for id in &world.issued {
            let answers = answered.iter().filter(|answered| **answered == id).count();
            let revoked = world.under_way.get(id).is_some_and(|under_way| under_way.revoked.is_some());
            prop_assert!(answers == 1 || (answers == 0 && revoked), "{id} has {answers} answers");
        }
    }
}
