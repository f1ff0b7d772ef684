//! A scripted world around the machine, in place of `drive` and a host.

use std::collections::{BTreeMap, BTreeSet};

use aime_durable::{EffectId, Machine, Order, Outbox, Reason};
use aime_dynamic_planner::{Wake, WakeKind};
use aime_progress_management::{Conclusion, Outcome, PlanChange, PlanMode, ProgressEvent, ProgressState, TaskKind, TaskStatus};
use indexmap::IndexMap;
use serde_json::Value;

use super::{
    super::RunMachine,
    build::{check, conclusion, id, input, model_use, patch, plan},
};
use crate::{
    Bounds, ChosenRoute, LeadWakeOrder, NextStep, Planning, RefusedAnswer, Replanning, RunEffect, RunFact, RunInput, RunOutput, RunSettings,
};

/// An effect that has no answer yet.
#[derive(Clone)]
pub(super) struct UnderWay {
    pub(super) effect: RunEffect,
    pub(super) revoked: Option<Reason>,
}

/// The machine with its events and open effects.
#[derive(Clone)]
pub(super) struct World {
    pub(super) input: RunInput,
    pub(super) machine: RunMachine,
    pub(super) now: i64,
    pub(super) under_way: IndexMap<EffectId, UnderWay>,
    pub(super) issued: Vec<EffectId>,
    pub(super) facts: Vec<(i64, RunFact)>,
    pub(super) events: Vec<(i64, ProgressEvent)>,
    pub(super) output: Option<RunOutput>,
    /// The wakes of the lead, each as it was last ordered.
    pub(super) wakes: IndexMap<u32, Wake>,
    /// Executions of tool tasks whose tool has answered.
    called: BTreeSet<String>,
    /// True if revoked effects are acknowledged at once.
    pub(super) acknowledges: bool,
}

/// Returns the execution in the name of an attempt: `task/execution/attempt`.
fn execution_of(id: &EffectId) -> &str {
    id.as_str().rsplit_once('/').map_or("", |(execution, _)| execution)
}

impl World {
    /// Returns a run that first asks for its route.
    pub(super) fn new() -> Self {
        Self::given(|_| {})
    }

    /// Returns a run with a handed-over plan.
    pub(super) fn of(text: &str) -> Self {
        Self::given(|input| input.plan = Some(plan(text)))
    }

    /// Returns a run with a handed-over plan and changed settings.
    pub(super) fn with(text: &str, change: impl FnOnce(&mut RunSettings)) -> Self {
        Self::given(|input| {
            input.plan = Some(plan(text));
            change(&mut input.settings);
        })
    }

    pub(super) fn given(change: impl FnOnce(&mut RunInput)) -> Self {
        let mut input = input();
        change(&mut input);
        let mut out = Outbox::default();
        let machine = RunMachine::start(0, &input, &mut out);
        let mut world = Self {
            input,
            machine,
            now: 0,
            under_way: IndexMap::new(),
            issued: Vec::new(),
            facts: Vec::new(),
            events: Vec::new(),
            output: None,
            wakes: IndexMap::new(),
            called: BTreeSet::new(),
            acknowledges: true,
        };
        world.collect(&mut out);
        world.acknowledge();
        world
    }

    fn collect(&mut self, out: &mut Outbox<RunMachine>) {
        let (orders, events) = out.take();
        self.events.extend(events.into_iter().map(|event| (self.now, event)));
        for order in orders {
            match order {
                Order::Issue(id, effect) => {
                    assert!(!self.issued.contains(&id), "the effect {id} was issued twice");
                    let calls = matches!(effect, RunEffect::CallTool { result: None, .. });
                    assert!(!calls || !self.called.contains(execution_of(&id)), "the tool of {id} is called again, though it has answered");
                    self.issued.push(id.clone());
                    if let RunEffect::Lead { order } = &effect {
                        self.wakes.insert(order.wake.number, order.wake.clone());
                    }
                    self.under_way.insert(id, UnderWay { effect, revoked: None });
                }
                Order::Revoke(id, why) => {
                    if let Some(under_way) = self.under_way.get_mut(&id) {
                        under_way.revoked.get_or_insert(why);
                    }
                }
            }
        }
    }

    /// Gives the machine a fact, as `drive` would.
    pub(super) fn send(&mut self, mut fact: RunFact) -> &mut Self {
        if let Some(id) = RunMachine::answers(&fact).cloned() {
            let answered = self.under_way.shift_remove(&id).unwrap_or_else(|| panic!("the effect {id} is not under way"));
            if let Some(why) = answered.revoked {
                fact = RunMachine::revoked(&id, &why);
            }
        }
        self.apply(fact);
        self.acknowledge();
        self
    }

    fn apply(&mut self, fact: RunFact) {
        assert!(self.output.is_none(), "the run was left: {:?}", self.output);
        let mut out = Outbox::default();
        if let RunFact::ToolCalled { id, .. } = &fact
            && self.machine.effects.task_of(id).is_some()
        {
            self.called.insert(execution_of(id).to_owned());
        }
        self.output = self.machine.apply(self.now, &fact, &mut out);
        self.facts.push((self.now, fact));
        self.collect(&mut out);
        self.check();
    }

    /// Acknowledges the revoked effects as configured.
    fn acknowledge(&mut self) {
        if self.acknowledges {
            self.acknowledge_all();
        }
    }

    /// Acknowledges all revoked effects.
    pub(super) fn acknowledge_all(&mut self) {
        while self.output.is_none() && self.acknowledge_one() {}
    }

    /// Returns the tasks that are being stopped.
    pub(super) fn stopping(&self) -> String {
        let stopping = self.under_way.values().filter(|under_way| under_way.revoked.is_some()).map(|under_way| names(&under_way.effect));
        stopping.filter(|name| name != "timer").collect::<Vec<_>>().join(" ")
    }

    /// Acknowledges the oldest revoked effect, if there is one.
    pub(super) fn acknowledge_one(&mut self) -> bool {
        let Some((id, why)) = self.under_way.iter().find_map(|(id, under_way)| Some((id.clone(), under_way.revoked.clone()?))) else {
            return false;
        };
        self.under_way.shift_remove(&id);
        self.apply(RunMachine::revoked(&id, &why));
        true
    }

    /// Checks the invariants that hold after every fact.
    fn check(&self) {
        let fault = self.output.as_ref().and_then(|output| output.error.as_ref());
        assert!(fault.is_none_or(|fault| fault.next != Some(NextStep::Report {})), "{fault:?}");
        assert_eq!(self.state().inconsistencies(), []);
        assert!(self.machine.state.index_is_consistent());
        for id in self.machine.effects.ids() {
            assert!(self.under_way.contains_key(id), "the machine waits for {id}, which was answered");
        }
        for (id, under_way) in &self.under_way {
            assert!(self.machine.effects.contains(id) || under_way.revoked.is_some(), "the machine has forgotten {id}");
            let may_go_on = matches!(under_way.effect, RunEffect::Timer { .. } | RunEffect::Remember { .. });
            let leaving = self.machine.stopping.is_suspending() && !may_go_on;
            assert!(!leaving || under_way.revoked.is_some(), "the run is being left, and {id} holds it up");
        }
        for task in self.state().tasks.values().filter(|task| task.status == TaskStatus::Running && task.spec.kind != TaskKind::Group) {
            let name = &task.spec.id;
            let works = |open: &str| open == name.as_str() || (self.machine.is_main(name) && open.starts_with("lead "));
            let worked_on = self.under_way.values().any(|under_way| works(&names(&under_way.effect)));
            let asked = self.state().questions.iter().any(|question| question.answer.is_none() && question.task.as_ref() == Some(name));
            let cancelled = self.machine.cancellations.is_stopping(name);
            assert!(worked_on || asked || cancelled, "nobody works on {name}");
            assert!(self.output.is_none(), "{name} is left running");
        }
        if let Some(output) = &self.output {
            assert!(self.under_way.values().all(|under_way| under_way.revoked.is_some()), "left with effects under way: {}", self.open());
            assert_eq!(self.state().status, output.status);
        }
    }

    pub(super) fn state(&self) -> &ProgressState {
        self.machine.state()
    }

    /// Returns the open effects in the order of issue, without timers.
    pub(super) fn open(&self) -> String {
        let open = self.under_way.values().map(|under_way| names(&under_way.effect));
        open.filter(|name| name != "timer").collect::<Vec<_>>().join(" ")
    }

    pub(super) fn effect(&self, name: &str) -> EffectId {
        let found = self.under_way.iter().find(|(_, under_way)| names(&under_way.effect) == name);
        found.map(|(id, _)| id.clone()).unwrap_or_else(|| panic!("{name} is not under way, but: {}", self.open()))
    }

    /// Returns the open order for the lead.
    pub(super) fn order(&self, name: &str) -> &LeadWakeOrder {
        let RunEffect::Lead { order } = &self.under_way[&self.effect(name)].effect else { panic!("{name} is not for the lead") };
        order
    }

    pub(super) fn statuses(&self) -> String {
        self.state().tasks.values().map(|task| format!("{}:{}", task.spec.id, task.status)).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn status(&self, task: &str) -> TaskStatus {
        self.state().tasks[&id(task)].status
    }

    /// Returns the events of a kind.
    pub(super) fn events_named(&self, name: &str) -> Vec<&ProgressEvent> {
        self.events.iter().map(|(_, event)| event).filter(|event| event.name() == name).collect()
    }

    /// Returns the code of the failure, or the status.
    pub(super) fn ended(&self) -> &'static str {
        let output = self.output.as_ref().unwrap_or_else(|| panic!("the run goes on: {} {}", self.statuses(), self.open()));
        output.error.as_ref().map_or(output.status.word(), |error| error.code.word())
    }

    pub(super) fn message(&self) -> String {
        self.output.as_ref().unwrap().error.as_ref().unwrap().message.to_string()
    }

    pub(super) fn routed(&mut self, mode: PlanMode) -> &mut Self {
        let id = self.effect("route");
        let route = ChosenRoute {
            mode,
            by: "rules".to_owned(),
            score: Some(1),
            category: "general".to_owned(),
            profile: None,
            reasons: vec!["because".into()],
        };
        self.send(RunFact::Routed { id, route, calls: Vec::new() })
    }

    pub(super) fn planned(&mut self, text: &str) -> &mut Self {
        self.plans(Planning::Planned { plan: Box::new(plan(text)), repairs: Vec::new(), refused: Vec::new(), fallback: None })
    }

    pub(super) fn plans(&mut self, outcome: Planning) -> &mut Self {
        let id = self.effect("plan");
        self.send(RunFact::Planned { id, outcome, calls: vec![model_use("plan", 10)] })
    }

    pub(super) fn replans(&mut self, outcome: Replanning) -> &mut Self {
        self.replans_repaired(outcome, &[])
    }

    pub(super) fn replans_repaired(&mut self, outcome: Replanning, repairs: &[&str]) -> &mut Self {
        let id = self.effect("replan");
        let repairs = repairs.iter().map(|repair| (*repair).into()).collect();
        self.send(RunFact::Replanned { id, outcome, repairs, calls: vec![model_use("patch", 10)] })
    }

    pub(super) fn patched(&mut self, changes: Vec<PlanChange>) -> &mut Self {
        self.replans(Replanning::Patched { patch: patch(changes), refused: Vec::new() })
    }

    pub(super) fn no_patch(&mut self) -> &mut Self {
        let refused = vec![RefusedAnswer { attempt: 1, faults: vec!["no JSON".into()] }];
        self.replans(Replanning::NoPatch { message: "the model had no idea".into(), refused })
    }

    pub(super) fn ends(&mut self, task: &str, conclusion: Conclusion) -> &mut Self {
        let id = self.effect(task);
        self.send(RunFact::TaskEnded { id, conclusion, checks: Vec::new(), calls: Vec::new(), conflicts: Vec::new(), duration_ms: 5 })
    }

    pub(super) fn done(&mut self, task: &str) -> &mut Self {
        self.ends(task, conclusion(Outcome::Success, None, None))
    }

    /// Ends the call of a tool task. Its criteria are still to be checked.
    pub(super) fn called(&mut self, task: &str) -> &mut Self {
        let id = self.effect(task);
        let RunEffect::CallTool { call, .. } = &self.under_way[&id].effect else { panic!("{id} calls no tool") };
        let (call, conclusion) = (call.clone(), Box::new(conclusion(Outcome::Success, None, None)));
        self.send(RunFact::ToolCalled { id, call, conclusion, duration_ms: 3 })
    }

    pub(super) fn fails(&mut self, task: &str) -> &mut Self {
        self.ends(task, conclusion(Outcome::Failure, Some("it broke"), None))
    }

    /// Fails every attempt at a task.
    pub(super) fn fails_for_good(&mut self, task: &str) -> &mut Self {
        while !self.state().tasks[&id(task)].failed_for_good && self.status(task) == TaskStatus::Running {
            self.fails(task);
        }
        self
    }

    pub(super) fn verified(&mut self, checks: &[(&str, Option<bool>)]) -> &mut Self {
        let id = self.effect("verify");
        let checks = checks.iter().map(|(criterion, passed)| check(criterion, *passed)).collect();
        self.send(RunFact::Verified { id, checks, again: BTreeMap::new(), calls: Vec::new() })
    }

    pub(super) fn answers(&mut self, text: &str) -> &mut Self {
        let id = self.effect("answer");
        self.send(RunFact::AnswerWritten { id, text: Some(text.to_owned()), calls: Vec::new() })
    }

    pub(super) fn reports(&mut self, task: &str, number: u64, event: ProgressEvent) -> &mut Self {
        let task = id(task);
        let execution = self.machine.executions.of(&task);
        self.send(RunFact::ActorReported { task, execution, call: None, number, event })
    }

    pub(super) fn person(&mut self, text: &str) -> &mut Self {
        self.send(RunFact::PersonAnswered { question: None, text: text.to_owned() })
    }

    /// Answers a question with the absence of any person.
    pub(super) fn deferred(&mut self, kind: &str) -> &mut Self {
        let id = self.effect(&format!("ask-{kind}"));
        self.send(RunFact::Deferred { id })
    }

    pub(super) fn stopped(&mut self) -> &mut Self {
        self.send(RunFact::StopRequested { reason: "stopped by a person".into() })
    }

    pub(super) fn resumed(&mut self) -> &mut Self {
        self.resumed_with(None)
    }

    pub(super) fn resumed_with(&mut self, bounds: Option<Bounds>) -> &mut Self {
        assert!(!self.machine.is_over(), "the run is over");
        self.output = None;
        self.send(RunFact::Resumed { bounds })
    }

    /// Kills the process and continues from the facts. Effects in progress are not handed to a host again.
    pub(super) fn crashed(&mut self) -> &mut Self {
        self.machine = self.replayed();
        let lost: Vec<EffectId> = self.under_way.keys().cloned().collect();
        self.output = None;
        self.apply(RunFact::Resumed { bounds: None });
        for id in &lost {
            assert!(self.under_way[id].revoked.is_some(), "{id} is neither answered nor revoked");
        }
        // `drive` itself acknowledges effects that no host has started.
        for id in lost {
            if self.output.is_none() {
                self.under_way.shift_remove(&id);
                self.apply(RunMachine::revoked(&id, &Reason::Stopped));
            }
        }
        self.acknowledge();
        self
    }

    /// Lets time pass and timers fire.
    pub(super) fn later(&mut self, seconds: i64) -> &mut Self {
        self.now += seconds * 1_000;
        while self.output.is_none() {
            let due = self.under_way.iter().find(|(_, under_way)| match under_way.effect {
                RunEffect::Timer { at } => at.as_millis() <= self.now,
                _ => false,
            });
            let Some(id) = due.map(|(id, _)| id.clone()) else { break };
            self.send(RunFact::TimerFired { id });
        }
        self
    }

    /// Returns the machine replayed from the facts, after comparing it with the live one byte for byte.
    pub(super) fn replayed(&self) -> RunMachine {
        let mut out = Outbox::default();
        let mut machine = RunMachine::start(0, &self.input, &mut out);
        for (at, fact) in &self.facts {
            machine.apply(*at, fact, &mut out);
        }
        let events: Vec<&ProgressEvent> = self.events.iter().map(|(_, event)| event).collect();
        assert_eq!(out.events().iter().collect::<Vec<_>>(), events, "a replay tells the same events");
        assert_eq!(json(&machine), json(&self.machine), "a replay makes the same machine");
        machine
    }
}

pub(super) fn json(machine: &RunMachine) -> Value {
    serde_json::to_value(machine).unwrap()
}

/// Returns the name of an effect in the tests: its purpose, or its task.
pub(super) fn names(effect: &RunEffect) -> String {
    match effect {
        RunEffect::Recall => "recall".to_owned(),
        RunEffect::Remember { .. } => "remember".to_owned(),
        RunEffect::Route => "route".to_owned(),
        RunEffect::Lead { order } if order.has_conversation() => format!("lead {:?}", order.wake.kind).to_lowercase(),
        RunEffect::Lead { order } if order.wake.kind == WakeKind::Begin => "plan".to_owned(),
        RunEffect::Lead { .. } => "replan".to_owned(),
        RunEffect::StartActor { task, .. } => task.to_string(),
        RunEffect::CallTool { spec, .. } => spec.id.to_string(),
        RunEffect::Verify { .. } => "verify".to_owned(),
        RunEffect::Answer { .. } => "answer".to_owned(),
        RunEffect::Ask { kind, .. } => format!("ask-{kind}"),
        RunEffect::Timer { .. } => "timer".to_owned(),
    }
}
