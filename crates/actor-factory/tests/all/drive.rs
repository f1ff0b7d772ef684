//! Drives the machine on `aime_durable::drive`, and kills, stops and replays it at every point.

use std::collections::{BTreeMap, VecDeque};

use aime_actor_factory::{ActorContext, ActorEffect, ActorFact, ActorFactory, ActorInput, ActorMachine, ModelAnswer};
use aime_durable::{Commit, EffectId, Ended, Host, Issue, Machine, Reason, Recorded, Resume, drive};
use aime_llm::{ChatResponse, FinishReason, Message, ToolCall, Usage};
use aime_progress_management::{CallOutcome, Outcome, PlanId, ProgressEvent, TaskId, TaskSpec, Timestamp};
use aime_tools::{Approval, PermissionRules, RuleLists};
use serde_json::{Value, json};

pub(crate) fn input() -> ActorInput {
    let tools = aime_tools::builtin();
    let task = TaskSpec::actor(TaskId::new("t").unwrap(), "Write a.txt and run it");
    let rules = PermissionRules::at("/work", RuleLists::default()).unwrap();
    let mut context = ActorContext::new("g", &tools, &rules).of_plan(PlanId::new("p").unwrap(), Timestamp::from_millis(0));
    context.approval = Approval::All;
    ActorFactory::builtin().unwrap().compose(&task, &context).unwrap().input
}

pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.to_string() }
}

fn read(id: &str, path: &str) -> ToolCall {
    call(id, "read_file", &json!({"path": path}))
}

pub(crate) fn answer(content: &str, tool_calls: Vec<ToolCall>) -> ChatResponse {
    ChatResponse {
        content: content.into(),
        reasoning: String::new(),
        tool_calls,
        native: None,
        citations: Vec::new(),
        finish: FinishReason::Stop,
        usage: Usage::default(),
        usage_estimated: true,
        model: "scripted".into(),
        effort: None,
        cost_usd: 0.0,
    }
}

pub(crate) fn tool_ended(id: &EffectId, outcome: CallOutcome, text: &str) -> ActorFact {
    ActorFact::ToolEnded {
        id: id.clone(),
        outcome,
        text: text.into(),
        value: Value::Null,
        references: vec![],
        images: vec![],
        seen: vec![],
        duration_ms: 5,
        origins: vec![],
    }
}

/// Durable facts of a process that may die.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) input: Option<Recorded<ActorInput>>,
    pub(crate) facts: Vec<Recorded<ActorFact>>,
    events: Vec<Recorded<ProgressEvent>>,
    pub(crate) commits: usize,
    /// Number of commits after which the process dies.
    dies_after: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Died;

impl Kept {
    pub(crate) fn until(dies_after: usize) -> Self {
        Self { dies_after: Some(dies_after), ..Self::default() }
    }

    /// Returns the facts as a new process finds them.
    pub(crate) fn reborn(self) -> Self {
        Self { commits: 0, dies_after: None, ..self }
    }

    pub(crate) fn commit(&mut self, commit: &Commit<'_, ActorMachine>) -> Result<(), Died> {
        if self.dies_after == Some(self.commits) {
            return Err(Died);
        }
        self.commits += 1;
        if let Some(input) = commit.input {
            self.input = Some(input.clone());
        }
        self.facts.extend_from_slice(commit.facts);
        self.events.extend_from_slice(&commit.events);
        Ok(())
    }

    /// Returns the journal. Facts pass through their serialized form.
    pub(crate) fn journal(&self, then: Vec<ActorFact>) -> Resume<ActorMachine> {
        let read =
            |r: &Recorded<ActorFact>| Recorded { at: r.at, fact: serde_json::from_str(&serde_json::to_string(&r.fact).unwrap()).unwrap() };
        Resume::Journal {
            input: self.input.clone().unwrap(),
            facts: self.facts.iter().map(read).collect(),
            events: self.events.len(),
            then: then.into_iter().map(|fact| Recorded { at: 4_000, fact }).collect(),
        }
    }
}

/// Scripted outside world of a run.
#[derive(Default)]
struct World {
    kept: Kept,
    ready: VecDeque<Recorded<ActorFact>>,
    /// Number of times that each call was made, and whether it may be repeated.
    made: BTreeMap<String, (u32, bool)>,
    /// Number of commits after which it is stopped.
    stops_after: Option<usize>,
}

impl World {
    /// Returns the script's answer to an effect, the same for every process.
    fn reply(&mut self, issue: &Issue<ActorEffect>) -> ActorFact {
        match &issue.effect {
            ActorEffect::Model(request) => {
                // The script goes by the number of answers, not of requests, because an interrupted request is repeated.
                let answers = request.messages.iter().filter(|m| matches!(m.as_ref(), Message::Assistant { .. })).count();
                let response = match answers {
                    0 => answer("", vec![read("a", "1"), read("b", "2")]),
                    1 => {
                        let write = call("c", "write_file", &json!({"path": "a.txt", "content": "x"}));
                        answer("", vec![write, call("d", "bash", &json!({"command": "x"})), read("e", "3")])
                    }
                    2 => answer("Almost done.", vec![]),
                    _ => answer("", vec![call("end", "terminate", &json!({"status": "success", "message": "all done"}))]),
                };
                let answer = ModelAnswer::Response { response: Box::new(response) };
                ActorFact::ModelAnswered { id: issue.id.clone(), answer, duration_ms: 3 }
            }
            ActorEffect::Delegate { .. } => tool_ended(&issue.id, CallOutcome::Ok, "done by another"),
            ActorEffect::Tool { call, .. } => {
                let repeatable = input().spec.tool(call.tool()).unwrap().repeatable();
                if issue.reissued && !repeatable {
                    return tool_ended(&issue.id, CallOutcome::InDoubt, "");
                }
                self.made.entry(issue.id.to_string()).or_insert((0, repeatable)).0 += 1;
                tool_ended(&issue.id, CallOutcome::Ok, &format!("result of {}", issue.id))
            }
            ActorEffect::Plan { .. } => panic!("only a lead plans"),
            ActorEffect::Ask { .. } => ActorFact::Answered { id: issue.id.clone(), text: "yes".into() },
        }
    }
}

impl Host<ActorMachine> for World {
    type Error = Died;

    fn issue(&mut self, issue: Issue<ActorEffect>) {
        let fact = self.reply(&issue);
        self.ready.push_back(Recorded { at: 2_000, fact });
    }

    fn revoke(&mut self, id: &EffectId, why: Reason) {
        self.ready.push_back(Recorded { at: 3_000, fact: ActorMachine::revoked(id, &why) });
    }

    async fn next(&mut self) -> Result<Vec<Recorded<ActorFact>>, Died> {
        if self.stops_after.is_some_and(|after| self.kept.commits == after) {
            self.stops_after = None;
            return Ok(vec![Recorded { at: 2_500, fact: ActorFact::Stopped { why: Reason::Stopped } }]);
        }
        Ok(self.ready.pop_front().into_iter().collect())
    }

    async fn commit(&mut self, commit: Commit<'_, ActorMachine>) -> Result<(), Died> {
        self.kept.commit(&commit)
    }
}

fn fresh() -> Resume<ActorMachine> {
    Resume::Fresh(Recorded { at: 1_000, fact: input() })
}

fn reborn(world: World) -> World {
    World { kept: world.kept.reborn(), made: world.made, ..World::default() }
}

async fn whole() -> (World, Ended<ActorMachine>) {
    let mut world = World::default();
    let ended = drive(&mut world, fresh()).await.ok().unwrap();
    (world, ended)
}

#[tokio::test]
async fn a_replay_is_the_live_state() {
    let (world, ended) = whole().await;
    assert_eq!(ended.output.clone().ended().unwrap().outcome, Outcome::Success);
    let mut again = World::default();
    let replayed = drive(&mut again, world.kept.journal(vec![])).await.ok().unwrap();
    assert_eq!(replayed.output, ended.output);
    assert_eq!(serde_json::to_string(&replayed.machine).unwrap(), serde_json::to_string(&ended.machine).unwrap());
    assert_eq!(again.kept.commits, 0);
    let read: ActorMachine = serde_json::from_str(&serde_json::to_string(&ended.machine).unwrap()).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), serde_json::to_string(&ended.machine).unwrap());
}

#[tokio::test]
async fn killed_between_any_two_commits_it_ends_the_same_and_repeats_nothing_that_must_not_be() {
    let (world, ended) = whole().await;
    for cut in 1..world.kept.commits {
        let mut first = World { kept: Kept::until(cut), ..World::default() };
        assert!(drive(&mut first, fresh()).await.is_err(), "{cut}");
        let mut second = reborn(first);
        let found = second.kept.journal(vec![ActorFact::Resumed {}]);
        let resumed = drive(&mut second, found).await.ok().unwrap();
        assert_eq!(resumed.output.clone().ended().unwrap().outcome, ended.output.clone().ended().unwrap().outcome, "{cut}");
        for (call, (times, repeatable)) in &second.made {
            assert!(*times <= 1 + u32::from(*repeatable), "killed after {cut} commits, {call} was made {times} times");
        }
    }
}

// Requirement: 7.13
#[tokio::test]
async fn stopped_at_any_point_it_goes_on_and_completed_calls_are_not_made_again() {
    let (world, _) = whole().await;
    for cut in 1..world.kept.commits {
        let mut first = World { stops_after: Some(cut), ..World::default() };
        let stopped = drive(&mut first, fresh()).await.ok().unwrap();
        assert_eq!(stopped.output.clone().ended().unwrap().outcome, Outcome::Interrupted, "{cut}");
        let finished = |events: &[Recorded<ProgressEvent>]| {
            let ok = |e: &Recorded<ProgressEvent>| match &e.fact {
                ProgressEvent::ToolCallFinished { call, outcome: CallOutcome::Ok, .. } => Some(call.clone()),
                _ => None,
            };
            events.iter().filter_map(ok).collect::<Vec<_>>()
        };
        let done = finished(&first.kept.events);
        first.made.clear();
        let mut second = reborn(first);
        let found = second.kept.journal(vec![ActorFact::Resumed {}]);
        let resumed = drive(&mut second, found).await.ok().unwrap();
        assert_eq!(resumed.output.clone().ended().unwrap().outcome, Outcome::Success, "{cut}");
        assert!(done.iter().all(|call| !second.made.contains_key(call)), "{cut}: {done:?} {:?}", second.made);
        let mut again = World::default();
        let replayed = drive(&mut again, second.kept.journal(vec![])).await.ok().unwrap();
        assert_eq!(serde_json::to_string(&replayed.machine).unwrap(), serde_json::to_string(&resumed.machine).unwrap(), "{cut}");
    }
}
