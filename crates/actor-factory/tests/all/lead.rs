//! Drives the lead of a run, and kills it between any two commits.

use std::collections::VecDeque;

use aime_actor_factory::{ActorEffect, ActorFact, ActorInput, ActorMachine, ActorOutput, LeadSettings, LeadWake, ModelAnswer};
use aime_durable::{Commit, EffectId, Host, Issue, Machine, Reason, Recorded, Resume, drive};
use aime_llm::{ChatRequest, ChatResponse, Message, ToolCall, ToolDefinition};
use aime_progress_management::{CallOutcome, LeadCommand};
use aime_tools::{Executor, ToolScope, ToolSpec};
use serde_json::{Value, json};

use crate::drive::{Died, Kept, answer, call, input, tool_ended};

/// Number of times that the run wakes the lead.
const WAKES: u32 = 3;

fn lead() -> ActorInput {
    let mut lead = input();
    lead.lead = Some(LeadSettings { must_plan: false, look_tokens: None });
    let parameters = json!({"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]});
    let definition = ToolDefinition { name: "hold_task".into(), description: "Stop".into(), parameters: parameters.into() };
    let mut hold = ToolSpec::new(definition);
    (hold.handled_by, hold.touches, hold.idempotent) = (Executor::Run, ToolScope::Nothing, true);
    let tools = lead.spec.tools.iter().cloned().chain([hold.into()]);
    lead.spec.tools = tools.collect::<Vec<_>>().into();
    lead
}

/// The surroundings of a lead.
#[derive(Default)]
struct World {
    kept: Kept,
    ready: VecDeque<Recorded<ActorFact>>,
    /// The messages and tools of each request to the model.
    requests: Vec<(Vec<Value>, Value)>,
}

/// Returns the script's answer to a request, the same for every process.
fn reply(request: &ChatRequest) -> ChatResponse {
    let hold = |id: &str, task: &str| call(id, "hold_task", &json!({"task": task}));
    let calls: Vec<ToolCall> = match request.messages.iter().filter(|message| matches!(message.as_ref(), Message::Assistant { .. })).count()
    {
        0 => vec![call("a", "read_file", &json!({"path": "1"})), call("b", "todo", &json!({"items": [{"text": "one"}]}))],
        1 => vec![call("c", "write_file", &json!({"path": "a.txt", "content": "x"}))],
        2 => vec![hold("d", "one"), call("e", "read_file", &json!({"path": "2"})), hold("f", "two")],
        3 => vec![hold("g", "nobody")],
        4 => return answer("It stays as it is.", vec![]),
        5 => vec![call("h", "ask_human", &json!({"question": "Which?"}))],
        _ => vec![call("i", "terminate", &json!({"status": "success", "message": "all done"}))],
    };
    answer("", calls)
}

impl World {
    fn answers(&mut self, issue: &Issue<ActorEffect>) -> ActorFact {
        let id = issue.id.clone();
        match &issue.effect {
            ActorEffect::Model(request) => {
                let message = |message: &_| serde_json::to_value(message).unwrap();
                let messages = request.messages.iter().map(|sent| message(sent.as_ref())).collect();
                self.requests.push((messages, serde_json::to_value(&request.tools).unwrap()));
                let response = Box::new(reply(request));
                ActorFact::ModelAnswered { id, answer: ModelAnswer::Response { response }, duration_ms: 3 }
            }
            ActorEffect::Tool { .. } | ActorEffect::Delegate { .. } => tool_ended(&id, CallOutcome::Ok, &format!("result of {id}")),
            ActorEffect::Ask { .. } => ActorFact::Answered { id, text: "the blue ones".into() },
            ActorEffect::Plan { call, .. } => {
                let task = call.parameters()["task"].as_str().unwrap();
                let command = (task != "nobody").then(|| LeadCommand::HoldTask { task: task.parse().unwrap() });
                let (text, refused) = (command.is_none().then(|| "there is no such task".to_owned()), command.is_none());
                ActorFact::PlanCallRead { id, text, refused, command, origins: Vec::new() }
            }
        }
    }

    /// Wakes the lead until it has answered every wake, as the run does.
    async fn lead(&mut self) -> Result<ActorOutput, Died> {
        let mut resume = match self.kept.input {
            None => Resume::Fresh(Recorded { at: 1_000, fact: lead() }),
            Some(_) => self.go_on(),
        };
        loop {
            let ended = drive(self, resume).await.map_err(|_| Died)?;
            match ended.output {
                ActorOutput::Rested(rest) if rest.wake < WAKES => resume = self.go_on(),
                output => return Ok(output),
            }
        }
    }

    /// Returns the journal with the next wake if the lead rests, and with the current one going on if it does not.
    fn go_on(&self) -> Resume<ActorMachine> {
        let input = self.kept.input.clone().unwrap();
        let replayed = aime_durable::replay::<ActorMachine>(&input, &self.kept.facts);
        match replayed.output {
            Some(ActorOutput::Rested(rest)) if rest.wake < WAKES => {
                let number = rest.wake + 1;
                let text = format!("news number {number}");
                let wake = LeadWake { number, text, may_write: true, works: false, kept: "the goal".into(), origins: vec![] };
                self.kept.journal(vec![ActorFact::Woken { wake }])
            }
            _ => self.kept.journal(vec![ActorFact::Resumed {}]),
        }
    }
}

impl Host<ActorMachine> for World {
    type Error = Died;

    fn issue(&mut self, issue: Issue<ActorEffect>) {
        let fact = self.answers(&issue);
        self.ready.push_back(Recorded { at: 2_000, fact });
    }

    fn revoke(&mut self, id: &EffectId, why: Reason) {
        self.ready.push_back(Recorded { at: 3_000, fact: ActorMachine::revoked(id, &why) });
    }

    async fn next(&mut self) -> Result<Vec<Recorded<ActorFact>>, Died> {
        Ok(self.ready.pop_front().into_iter().collect())
    }

    async fn commit(&mut self, commit: Commit<'_, ActorMachine>) -> Result<(), Died> {
        self.kept.commit(&commit)
    }
}

// Requirement: 7.13
#[tokio::test]
async fn a_lead_killed_between_any_two_commits_makes_the_same_requests() {
    let mut whole = World::default();
    let output = whole.lead().await.unwrap();
    assert!(matches!(&output, ActorOutput::Rested(rest) if rest.wake == WAKES && rest.conclusion.is_some()), "{output:?}");
    assert_eq!(whole.requests.len(), 7);
    for pair in whole.requests.windows(2) {
        let ((before, tools), (after, same)) = (&pair[0], &pair[1]);
        assert!(after.len() > before.len() && after.starts_with(before) && tools == same, "a request grows only at its end");
    }
    for cut in 1..whole.kept.commits {
        let mut first = World { kept: Kept::until(cut), ..World::default() };
        assert!(first.lead().await.is_err(), "{cut}");
        assert!(whole.requests.starts_with(&first.requests), "{cut}");
        let mut second = World { kept: first.kept.reborn(), ..World::default() };
        let resumed = second.lead().await.unwrap();
        assert_eq!(resumed, output, "{cut}");
        assert!(whole.requests.ends_with(&second.requests), "killed after {cut} commits, it makes other requests");
    }
}
