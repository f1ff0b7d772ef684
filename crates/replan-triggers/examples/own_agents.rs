//! Adds progress and triggers to your own agents: three threads work on a plan, one fails, and the plan is changed
//! while the others continue. `cargo run -p aime-replan-triggers --example own_agents`
#![expect(clippy::print_stdout, clippy::indexing_slicing, reason = "it shows what it does, and asks for tasks that it has")]

use std::{error::Error, sync::mpsc, thread};

use aime_progress_management::{
    Conclusion, Decision, Plan, PlanPatch, ProgressEvent, ProgressState, StatusChange, TaskId, TaskSpec, TaskStatus, TimedEvent, Timestamp,
    fold,
};
use aime_replan_triggers::{FrequencyDecision, FrequencySettings, ReplanHistory, TriggerSettings, decide_replan, evaluate};
use serde_json::json;

/// Your agent, of any kind. This one cannot reach the price server.
fn work(task: &TaskSpec) -> Result<String, String> {
    match task.id.as_str() {
        "prices" => Err("the server does not answer".to_owned()),
        _ => Ok(format!("{} is done", task.title())),
    }
}

/// State of a run, and the events that led to it: the content of a journal.
struct Board {
    state: ProgressState,
    events: Vec<TimedEvent>,
}

impl Board {
    /// Takes an event in, and what follows from it. Times are yours to give: here a second passes with each event.
    fn observe(&mut self, event: ProgressEvent) -> Result<(), Box<dyn Error>> {
        let at = self.state.last_progress_at.plus_millis(1_000);
        self.state.apply(at, &event)?;
        let follows = self.state.settle_all(at)?;
        self.events.extend([event].into_iter().chain(follows).map(|event| TimedEvent { at, event }));
        Ok(())
    }

    /// Ends a failed attempt. Here nothing is tried again.
    fn fail(&mut self, task: &TaskId, error: String) -> Result<(), Box<dyn Error>> {
        let at = self.state.last_progress_at.plus_millis(1_000);
        let (_, events) = self.state.fail(at, task, Conclusion::failure(error), 0)?;
        let follows = self.state.settle_all(at)?;
        self.events.extend(events.into_iter().chain(follows).map(|event| TimedEvent { at, event }));
        Ok(())
    }

    fn change(&mut self, change: &StatusChange) -> Result<(), Box<dyn Error>> {
        let event = self.state.status_event(change)?;
        self.observe(event)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let plan: Plan = serde_json::from_value(json!({"tasks": [
        {"id": "prices", "description": "Fetch the prices", "kind": "actor"},
        {"id": "stock", "description": "Count the stock", "kind": "actor"},
        {"id": "photos", "description": "Take photos", "kind": "actor"},
        {"id": "page", "description": "Write the page", "kind": "actor", "dependencies": ["prices", "stock", "photos"]},
    ]}))?;
    let started = ProgressEvent::RunStarted { plan_id: "shop".parse()?, goal: "Open the shop".to_owned(), images: Vec::new() };
    let now = Timestamp::from_millis(0);
    let mut board = Board { state: ProgressState::start(now, &started)?, events: vec![TimedEvent { at: now, event: started }] };
    board.observe(ProgressEvent::PlanCreated { plan, repairs: vec![], fallback: None })?;

    let (send, finished) = mpsc::channel();
    let mut at_work = 0;
    loop {
        // 1. All that is ready starts at once, the longest remaining path first.
        for task in board.state.ready_by_priority() {
            board.change(&StatusChange::new(task.clone(), TaskStatus::Running))?;
            let (spec, send) = (board.state.tasks[&task].spec.clone(), send.clone());
            thread::spawn(move || send.send((task, work(&spec))));
            at_work += 1;
        }
        if at_work == 0 {
            break; // nothing runs, and nothing is ready: it is over
        }
        // 2. Outcomes arrive in the order in which agents finish.
        let (task, outcome) = finished.recv()?;
        at_work -= 1;
        match outcome {
            Ok(summary) => {
                board.observe(ProgressEvent::TaskConcluded { task: task.clone(), conclusion: Conclusion::success(summary) })?;
                board.change(&StatusChange::new(task, TaskStatus::Completed))?;
            }
            Err(error) => board.fail(&task, error)?,
        }

        // 3. Must the plan be looked at? Both questions are pure: state and time in, an answer out.
        let (state, now) = (&board.state, board.state.last_progress_at);
        let history = ReplanHistory { count: u32::try_from(state.decisions.len())?, last_at: state.last_replan_at };
        let triggers = evaluate(state, now, None, &TriggerSettings::default());
        if triggers.is_empty()
            || decide_replan(&triggers, history, now, at_work == 0, &FrequencySettings::default()) != FrequencyDecision::Allow
        {
            continue;
        }
        triggers.iter().for_each(|trigger| println!("trigger: {}", trigger.detail));

        // 4. A patch from any source: a person, rules, a model (`aime-dynamic-planner`). It is applied as a whole or refused.
        let patch: PlanPatch = serde_json::from_value(json!({"reasoning": "yesterday's prices will do", "changes": [
            {"op": "add_task", "task": {"id": "old-prices", "description": "Take yesterday's prices", "kind": "actor"}, "replaces": ["prices"]},
        ]}))?;
        let decision = Decision::next(state, now, triggers, patch);
        board.observe(ProgressEvent::PlanChanged { decision })?;
    }

    println!("\n{}", board.state.to_markdown());
    assert_eq!(board.state.tasks["page"].status, TaskStatus::Completed);
    assert_eq!(board.state.decisions.len(), 1, "what was dealt with does not fire again");
    assert_eq!(fold(&board.events)?, board.state, "the events are the run");
    Ok(())
}

#[test]
fn the_plan_is_changed_while_agents_work() {
    main().unwrap();
}
