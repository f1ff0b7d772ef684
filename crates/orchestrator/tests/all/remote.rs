//! Effects carried out one at a time, as by hosts that drive the machines elsewhere.

use std::{collections::VecDeque, future::pending, sync::Arc};

use aime_actor_factory::{ActorEffect, ActorFact, ActorInput, ActorMachine, ActorOutput};
use aime_durable::{EffectId, Issue, Machine, Order, Outbox, Recorded};
use aime_llm::scripted::{Reply, ScriptedModel, When};
use aime_orchestrator::{
    ActorOrder, CallRecord, EndedAttempt, FoundConflict, LeadWakeOrder, PlanRoute, PreparedLeadWake, RemoteEffects, RunContext, RunEffect,
    RunFact, RunMachine, RunRequest, RunResult,
};
use aime_progress_management::{
    CallOutcome, CheckMethod, Conclusion, ConflictKind, MergeConflict, Outcome, PlanMode, ProgressEvent, ProgressState,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, done, four_lines, plan};

/// Returns a value as it arrives after serialization.
fn sent<T: Serialize + DeserializeOwned>(what: &T) -> T {
    serde_json::from_str(&serde_json::to_string(what).unwrap()).unwrap()
}

fn dated<T>(at: i64, what: Vec<T>) -> Vec<Recorded<T>> {
    what.into_iter().map(|fact| Recorded { at, fact }).collect()
}

fn issue<E: Serialize + DeserializeOwned>(id: &EffectId, effect: &E, reissued: bool) -> Issue<E> {
    Issue { id: id.clone(), effect: sent(effect), reissued }
}

/// A run whose machines are driven here and whose effects are each carried out separately.
struct Driven<'a> {
    bench: &'a Bench,
    request: RunRequest,
    run_context: RunContext,
    calls: CallRecord,
    facts: VecDeque<RunFact>,
    /// State of the run.
    state: Option<ProgressState>,
    lead: Option<Lead>,
}

/// The lead: its input, the facts of its conversation so far, and the number of events that the run was told.
struct Lead {
    input: ActorInput,
    facts: Vec<ActorFact>,
    reported: usize,
}

impl Driven<'_> {
    /// Simulates another process for each effect.
    fn apart(&self) -> RemoteEffects {
        self.bench.orchestrator().remote_effects(sent(&self.input()), &sent(&self.run_context))
    }

    fn input(&self) -> <RunMachine as Machine>::Input {
        let orchestrator = self.bench.orchestrator();
        let input = orchestrator.input(self.request.clone()).unwrap();
        let lead = orchestrator.lead_policy(input.settings());
        input.led_by(lead)
    }

    async fn go(mut self) -> RunResult {
        let input = self.input();
        let mut out = Outbox::default();
        let mut run = RunMachine::start(0, &input, &mut out);
        let mut open: VecDeque<(EffectId, RunEffect)> = VecDeque::new();
        for at in 1.. {
            let (orders, events) = out.take();
            self.run_context.observe(&[], &dated(at, events));
            self.state = Some(sent(run.state()));
            for order in orders {
                match order {
                    Order::Issue(id, effect) => open.push_back((id, effect)),
                    Order::Revoke(id, why) => {
                        open.retain(|(known, _)| *known != id);
                        self.facts.push_back(RunMachine::revoked(&id, &why));
                    }
                }
            }
            let fact = match self.facts.pop_front() {
                Some(fact) => fact,
                None => {
                    let next = open.iter().position(|(_, effect)| !matches!(effect, RunEffect::Timer { .. }));
                    let (id, effect) = open.remove(next.expect("only timers are left")).unwrap();
                    let answer = self.carry_out(id, effect).await;
                    self.facts.push_back(answer);
                    self.facts.pop_front().unwrap()
                }
            };
            self.run_context.observe(&dated(at, vec![fact.clone()]), &[]);
            if let Some(output) = run.apply(at, &sent(&fact), &mut out) {
                return RunResult::new(input.run().clone(), run.state(), &output);
            }
        }
        unreachable!("it goes on until it ends")
    }

    async fn carry_out(&mut self, id: EffectId, effect: RunEffect) -> RunFact {
        if let RunEffect::Lead { order } = sent(&effect) {
            return self.wake(id, *order).await;
        }
        let effects = self.apart();
        let mut reports = Vec::new();
        let RunEffect::StartActor { brief, task, execution, origins, known } = sent(&effect) else {
            let fact = effects.run(issue(&id, &effect, false), pending(), |fact| reports.push(fact)).await;
            self.facts.extend(reports);
            return fact;
        };
        let order = ActorOrder { brief: *brief, task, execution, origins, known };
        let spec = order.brief.spec.clone();
        let state = || sent(self.state.as_ref().unwrap());
        let effects = effects.with_progress(state());
        let made =
            effects.make_actor(id.clone(), sent(&order), Vec::new(), CancellationToken::new(), |fact| reports.push(fact)).await.unwrap();
        let judges = self.apart().with_progress(state());
        self.facts.extend(reports);
        self.report(&order, 0, made.created);
        let conclusion = self.act(&order, sent(&made.input)).await;
        let attempted = EndedAttempt { id, spec: &spec, conclusion, calls: sent(&self.calls), conflicts: Vec::new(), duration_ms: 1 };
        judges.judge(attempted, CancellationToken::new(), |_| {}).await
    }

    /// Wakes the lead. Its machine is made anew from its facts before each of its steps, as after the loss of a process.
    async fn wake(&mut self, id: EffectId, order: LeadWakeOrder) -> RunFact {
        let woken = self.apart().wake_lead(&order, self.lead.is_none()).await.unwrap();
        let PreparedLeadWake { wake, lead: new } = sent(&woken);
        if let Some(new) = new {
            self.facts.push_back(RunFact::LeadReported { call: None, number: 0, event: new.created });
            self.lead = Some(Lead { input: new.input, facts: Vec::new(), reported: 0 });
        } else {
            self.lead.as_mut().unwrap().facts.push(ActorFact::Woken { wake });
        }
        loop {
            let (state, effects) = (sent(self.state.as_ref().unwrap()), self.apart());
            let Lead { input, facts, reported } = self.lead.as_mut().unwrap();
            let mut out = Outbox::default();
            let mut machine = ActorMachine::start(0, input, &mut out);
            let mut output = None;
            for (at, fact) in (1..).zip(facts.iter()) {
                output = machine.apply(at, &sent(fact), &mut out);
            }
            let (orders, events) = out.take();
            for event in events.into_iter().skip(*reported) {
                *reported += 1;
                self.facts.push_back(RunFact::LeadReported { call: None, number: u64::try_from(*reported).unwrap(), event });
            }
            if let Some(output) = output {
                let ActorOutput::Rested(rest) = output else { panic!("{output:?}") };
                return effects.lead_rested(id, rest, state, CancellationToken::new(), |_| {}).await;
            }
            let is_open = |id: &EffectId| !facts.iter().any(|fact| ActorMachine::answers(fact) == Some(id));
            let open = orders.into_iter().find_map(|order| match order {
                Order::Issue(id, effect) if is_open(&id) => Some((id, effect)),
                _ => None,
            });
            let (next, effect) = open.expect("nothing is open");
            let acting = effects.with_progress(state);
            let fact = acting.act(input.clone(), (issue(&next, &effect, false), None), CancellationToken::new(), |_| {}).await;
            facts.push(fact);
        }
    }

    fn report(&mut self, order: &ActorOrder, number: u64, event: ProgressEvent) {
        self.calls.observe(&event);
        let (task, execution) = (order.task.clone(), order.execution);
        self.facts.push_back(RunFact::ActorReported { task, execution, call: None, number, event });
    }

    async fn act(&mut self, order: &ActorOrder, input: ActorInput) -> Conclusion {
        let mut out = Outbox::default();
        let mut actor = ActorMachine::start(0, &input, &mut out);
        let (mut number, mut open) = (0, VecDeque::new());
        for at in 1.. {
            let (orders, events) = out.take();
            for event in events {
                number += 1;
                self.report(order, number, event);
            }
            open.extend(orders.into_iter().map(|order| match order {
                Order::Issue(id, effect) => (id, effect),
                Order::Revoke(id, _) => panic!("{id} is revoked"),
            }));
            let (id, effect) = open.pop_front().unwrap();
            let fact = self.apart().act(input.clone(), (issue(&id, &effect, false), None), CancellationToken::new(), |_| {}).await;
            if let Some(conclusion) = actor.apply(at, &sent(&fact), &mut out) {
                for event in out.take().1 {
                    number += 1;
                    self.report(order, number, event);
                }
                return conclusion.ended().unwrap();
            }
        }
        unreachable!("it goes on until it ends")
    }
}

fn driven<'a>(bench: &'a Bench, goal: &str, plan: aime_progress_management::Plan) -> Driven<'a> {
    driven_by(bench, bench.request(goal, Some(plan)))
}

fn driven_by(bench: &Bench, request: RunRequest) -> Driven<'_> {
    let run_context = RunContext::new(&bench.orchestrator().input(request.clone()).unwrap());
    Driven { bench, request, run_context, calls: CallRecord::default(), facts: VecDeque::new(), state: None, lead: None }
}

/// The two runs have different clocks.
fn without_times(result: &mut RunResult) {
    result.duration_ms = 0;
    if let Some(plan) = &mut result.plan {
        (plan.created_at, plan.updated_at) = Default::default();
    }
}

// Requirement: 18.2
#[tokio::test]
async fn a_run_whose_effects_are_carried_out_apart_comes_to_the_same() {
    let (model, plan) = four_lines();
    let here = Bench::new(model);
    let mut expected = here.run("Four lines", Some(plan)).await;
    let (model, plan) = four_lines();
    let there = Bench::new(model);
    let mut found = driven(&there, "Four lines", plan).go().await;
    [&mut expected, &mut found].into_iter().for_each(without_times);
    assert_eq!(found, expected);
    assert_eq!(there.log(), here.log());
}

/// Criteria are checked before the work, and an auditor looks for itself, as in a run of one process.
// Requirement: 5.2
#[tokio::test]
async fn criteria_are_tried_and_audited_apart() {
    let audits = || When::tools().and_contains("You audit work");
    let verdict = json!({"criteria": [{"n": 1, "holds": "yes", "why": "one line", "evidence": "log:1"}]});
    let model = ScriptedModel::new("m")
        .on(audits().and_turn(0), [Reply::call("read_file", json!({"path": "log"}))])
        .on(audits().and_turn(1), [Reply::call("verdict", verdict)])
        .on(When::tools().and_turn(0), [Reply::call("bash", json!({"command": "echo one > log"}))])
        .on(When::tools().and_turn(1), [done("it is written")]);
    let plan = plan(json!([{"id": "write", "kind": "actor", "description": "Write a line", "bundles": ["shell"],
                            "completion_criteria": ["the log is tidy", {"command": "grep one log"}]}]));
    let bench = Bench { undo: true, ..Bench::new(model) };
    let mut run = driven(&bench, "One line", plan);
    run.request.settings.route = PlanRoute::Auto;
    let result = run.go().await;
    let found: Vec<_> = result.criteria.iter().map(|known| (known.how, known.holds, known.held_before)).collect();
    assert_eq!(found, [(CheckMethod::Audited, Some(true), None), (CheckMethod::Executed, Some(true), Some(false))], "{result:?}");
    assert_eq!((result.criteria[0].evidence.to_string().as_str(), result.usage_by.checks.requests), ("one line (log:1)", 2));
    let asked = bench.model.requests().iter().map(|request| format!("{request:?}")).find(|asked| asked.contains("You audit work")).unwrap();
    assert!(asked.contains("log (created): +1 -0"), "it sees what was changed: {asked}");
    assert!(bench.journal.streams(crate::bench::run_id().as_str()).unwrap().is_empty(), "nothing is kept here");
}

/// A run that is driven elsewhere reports the resolution of a conflict as one in a folder does.
// Requirement: 9.2
#[tokio::test]
async fn a_resolved_conflict_is_a_passed_check_apart() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let spec = plan.tasks.get(1).unwrap().clone();
    let conflict = MergeConflict { task: spec.id.clone(), path: "log".to_owned(), kind: ConflictKind::Text, kept: None, resolved: true };
    let conflicts = vec![FoundConflict { conflict, hunks: String::new() }];
    let (id, calls) = (EffectId::new("middle/1/1"), CallRecord::default());
    let attempted = EndedAttempt { id, spec: &spec, conclusion: Conclusion::success("done"), calls, conflicts, duration_ms: 1 };
    let fact = driven(&bench, "Four lines", plan.clone()).apart().judge(attempted, CancellationToken::new(), |_| {}).await;
    let RunFact::TaskEnded { checks, conflicts, .. } = fact else { panic!("{fact:?}") };
    let found: Vec<_> = checks.iter().map(|check| (check.passed, check.reason.to_string())).collect();
    assert_eq!((found, conflicts.len()), (vec![(Some(true), "the conflicts were resolved".to_owned())], 1));
}

/// The lead looks, plans, changes its plan after a failure, and ends the run.
fn led() -> ScriptedModel {
    let task =
        |id: &str, tool: &str, parameters: serde_json::Value| json!({"id": id, "kind": "tool", "tool": tool, "parameters": parameters});
    let look = json!({"id": "look", "kind": "tool", "tool": "read_file", "parameters": {"path": "nowhere"}, "dependencies": ["one"]});
    let plan = json!({"mode": "complex", "tasks": [task("one", "append", json!({"line": "one"})), look]});
    let change = json!({"reasoning": "it is elsewhere", "changes": [
        {"op": "add_task", "task": task("two", "append", json!({"line": "two"})), "replaces": ["look"]},
    ]});
    let lead = |turn| When::tool("submit_plan").and_turn(turn);
    ScriptedModel::new("m")
        .on(lead(0), [Reply::call("list_dir", json!({"path": "."}))])
        .on(lead(1), [Reply::call("submit_plan", plan)])
        .on(lead(2), [Reply::call("change_plan", change)])
        .on(lead(3), [done("two lines are written")])
}

/// The conversation of the lead lives in its facts: each request is the one of a run in one process, whatever process makes it.
// Requirement: 18.2
#[tokio::test]
async fn a_lead_whose_effects_are_carried_out_apart_asks_the_same() {
    let request = |bench: &Bench| {
        let mut request = bench.request("Two lines", None);
        (request.settings.route, request.settings.mode) = (PlanRoute::Auto, Some(PlanMode::Complex));
        request.settings.triggers.max_retries = 0;
        request
    };
    let here = Bench::new(led());
    let mut expected = here.orchestrator().run(request(&here)).await.unwrap();
    assert_eq!(expected.answer, "two lines are written");
    let there = Bench::new(led());
    let mut found = driven_by(&there, request(&there)).go().await;
    [&mut expected, &mut found].into_iter().for_each(without_times);
    assert_eq!(found, expected);
    assert_eq!((there.log(), here.log()), (vec!["one".to_owned(), "two".to_owned()], vec!["one".to_owned(), "two".to_owned()]));
    let requests = |bench: &Bench| bench.model.requests().into_iter().map(|request| (request.messages, request.tools)).collect::<Vec<_>>();
    let (wanted, asked) = (requests(&here), requests(&there));
    assert_eq!(wanted.len(), 4);
    assert_eq!(asked, wanted);
}

// Requirement: 18.3
#[tokio::test]
async fn a_call_that_was_begun_elsewhere_is_in_doubt_unless_it_may_be_repeated() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    std::fs::write(bench.path("note.txt"), "a note").unwrap();
    let effects = driven(&bench, "Four lines", plan.clone()).apart();
    let id = EffectId::new("first/1/1");
    let call = |tool: &str, parameters: serde_json::Value| RunEffect::CallTool {
        spec: Arc::clone(plan.tasks.first().unwrap()),
        call: bench.call(tool, parameters),
        read_only: false,
        origins: Vec::new(),
        handed_over: false,
        result: None,
    };
    let outcome = async |effect: RunEffect| match effects.run(issue(&id, &effect, true), pending(), |_| {}).await {
        RunFact::TaskEnded { conclusion, .. } => conclusion.outcome,
        other => panic!("{other:?}"),
    };
    assert_eq!(outcome(call("append", json!({"line": "one"}))).await, Outcome::InDoubt);
    assert_eq!(bench.log(), Vec::<String>::new(), "it is not made again");
    assert_eq!(outcome(call("read_file", json!({"path": "note.txt"}))).await, Outcome::Success);
}

// Requirement: 18.3
#[tokio::test]
async fn an_actors_call_that_was_begun_elsewhere_is_in_doubt() {
    let (model, plan) = four_lines();
    let bench = Bench::new(model);
    let driven = driven(&bench, "Four lines", plan.clone());
    let input = bench.orchestrator().input(driven.request.clone()).unwrap();
    let mut out = Outbox::default();
    let run = RunMachine::start(0, &input, &mut out);
    let task = plan.tasks.get(1).unwrap().id.clone();
    let brief = aime_orchestrator::ActorBrief::new(run.state(), &run.state().graph(), &task, false).unwrap();
    let order = ActorOrder { brief, task, execution: 1, origins: Vec::new(), known: String::new() };
    let id = EffectId::new("middle/1/1");
    let made = driven.apart().make_actor(id, order, Vec::new(), CancellationToken::new(), |_| {}).await.unwrap();
    let id = EffectId::new("middle/1/1/1");
    let call = bench.call("append", json!({"line": "two"}));
    let (seen, origins) = (std::collections::BTreeMap::new(), Vec::new());
    let effect = ActorEffect::Tool { of: "c".to_owned(), call, read_only: false, seen, origins };
    let fact = driven.apart().act(made.input, (issue(&id, &effect, true), Some(0)), CancellationToken::new(), |_| {}).await;
    let ActorFact::ToolEnded { outcome: CallOutcome::InDoubt, text, .. } = &fact else { panic!("{fact:?}") };
    assert!(text.contains("It was begun") && text.contains("Its output is lost"), "its actor learns what is known of it: {text}");
    assert_eq!(bench.log(), Vec::<String>::new(), "it is not made again");
}
