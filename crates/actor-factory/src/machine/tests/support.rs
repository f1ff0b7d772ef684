//! Test bench for one actor: takes facts, logs requests and events as text.

use std::{fmt::Write, sync::Arc};

use aime_durable::{EffectId, Machine, Order, Outbox, Reason};
use aime_llm::{ChatRequest, ChatResponse, FinishReason, Message, ModelLimits, ToolCall, ToolChoice, ToolDefinition, Usage};
use aime_progress_management::{ActorId, CallOutcome, Conclusion, EvidenceId, PlanId, ProgressEvent, TaskId, Timestamp};
use aime_tools::{Approval, Executor, ModelClass, ModelClasses, PermissionRules, RuleLists, ToolScope, ToolSpec};
use serde_json::{Value, json};

use crate::{
    ActorEffect, ActorFact, ActorInput, ActorMachine, ActorOutput, ActorSpec, LeadRest, ModelAnswer, PersonMessage, history::tests::paired,
};

pub(super) fn tool_spec(name: &str, read_only: bool, touches: ToolScope, handled_by: Executor, parameters: Value) -> ToolSpec {
    let definition = ToolDefinition { name: name.into(), description: format!("The tool {name}."), parameters: parameters.into() };
    let mut tool_spec = ToolSpec::new(definition);
    (tool_spec.read_only, tool_spec.idempotent, tool_spec.touches, tool_spec.handled_by) = (read_only, read_only, touches, handled_by);
    tool_spec.alternatives = if name == "read_file" { vec!["grep".into()] } else { vec![] };
    tool_spec
}

fn schema(required: &[&str]) -> Value {
    let properties: serde_json::Map<_, _> = required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

pub(super) fn input() -> ActorInput {
    let own = |name: &str, parameters| tool_spec(name, true, ToolScope::Nothing, Executor::Actor, parameters);
    let tools = vec![
        tool_spec("read_file", true, ToolScope::Files, Executor::Runtime, schema(&["path"])),
        tool_spec("grep", true, ToolScope::Files, Executor::Runtime, schema(&["pattern"])),
        tool_spec("write_file", false, ToolScope::Files, Executor::Runtime, schema(&["path", "content"])),
        tool_spec("bash", false, ToolScope::Processes, Executor::Runtime, schema(&["command"])),
        own("todo", json!({"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]})),
        own("update_progress", schema(&["status", "message"])),
        own("report_evidence", schema(&["type", "significance", "content"])),
        own("ask_human", schema(&["question"])),
        own("terminate", schema(&["status", "message"])),
    ];
    ActorInput {
        spec: ActorSpec {
            id: ActorId::new("t-1").unwrap(),
            name: "sisyphus: t".into(),
            description: String::new(),
            profile: "sisyphus".into(),
            tools: tools.into_iter().map(Into::into).collect::<Vec<_>>().into(),
            skills: Vec::new(),
            inline_skills: std::collections::BTreeMap::new(),
            persona: "You work.".into(),
            model: "default".into(),
            effort: None,
            temperature: Some(0.5),
            plan: PlanId::new("p").unwrap(),
            task: TaskId::new("t").unwrap(),
            agent: false,
            max_steps: 20,
            created_at: Timestamp::from_millis(0),
            approval: Approval::All,
            rules: PermissionRules::at("/work", RuleLists::default()).unwrap(),
        },
        execution: 1,
        call: None,
        depth: 0,
        system: "You work.".into(),
        task: "Write a.txt.".into(),
        images: Vec::new(),
        limits: ModelLimits::default(),
        attended: true,
        class: class(false),
        plain_answer_ends: false,
        risks: Vec::new(),
        notes: std::collections::BTreeMap::new(),
        must_write_files: false,
        names_work: false,
        named_files: Vec::new(),
        settings: crate::ActorSettings::default(),
        messages: Vec::new(),
        audits: 0,
        lead: None,
        trust: None,
        origins: Vec::new(),
        marks: false,
    }
}

/// Returns the default settings of a class of models.
pub(super) fn class(small: bool) -> ModelClass {
    ModelClasses::default().of(ModelLimits { small, ..ModelLimits::default() })
}

/// Returns the settings of capable models, with the notes after each step and the refusal of an early failure.
pub(super) fn with_step_notes() -> ModelClass {
    ModelClass { step_notes: true, refuse_early_failure: true, ..class(false) }
}

/// Returns the settings of capable models, with the demand for the conclusion that small models get.
pub(super) fn that_must_conclude() -> ModelClass {
    ModelClass { failures_before_conclusion: class(true).failures_before_conclusion, ..class(false) }
}

/// Returns the input with the tool that delegates.
pub(super) fn delegating() -> ActorInput {
    let mut input = input();
    give(&mut input, tool_spec("delegate_task", false, ToolScope::Nothing, Executor::Actor, schema(&["description"])));
    input
}

/// Adds a tool.
pub(super) fn give(input: &mut ActorInput, tool_spec: ToolSpec) {
    input.spec.tools = [input.spec.tools.to_vec(), vec![tool_spec.into()]].concat().into();
}

pub(super) fn delegate(id: &str, description: &str) -> ToolCall {
    call(id, "delegate_task", &json!({"description": description}))
}

pub(super) fn call(id: &str, name: &str, arguments: &Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.to_string() }
}

pub(super) fn read(id: &str, path: &str) -> ToolCall {
    call(id, "read_file", &json!({"path": path}))
}

pub(super) fn write(id: &str, path: &str) -> ToolCall {
    call(id, "write_file", &json!({"path": path, "content": "x"}))
}

pub(super) fn terminate(status: &str, message: &str) -> ToolCall {
    call("end", "terminate", &json!({"status": status, "message": message}))
}

pub(super) fn answer(content: &str, tool_calls: Vec<ToolCall>) -> ChatResponse {
    let finish = if tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    ChatResponse {
        content: content.into(),
        reasoning: String::new(),
        tool_calls,
        native: None,
        citations: Vec::new(),
        finish,
        usage: Usage { cached_input_tokens: 80, ..Usage::new(100, 10) },
        usage_estimated: true,
        model: "scripted".into(),
        effort: None,
        cost_usd: 0.0,
    }
}

pub(super) fn person_message(number: usize, text: &str) -> ActorFact {
    ActorFact::PersonMessage { message: PersonMessage { id: EvidenceId::new(format!("person-{number}")).unwrap(), text: text.into() } }
}

pub(super) fn tool_ended(id: &EffectId, outcome: CallOutcome, text: &str) -> ActorFact {
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

/// Actor whose every request is checked: calls stay with their results, and each request extends the one before.
pub(super) struct Play {
    pub(super) machine: ActorMachine,
    pub(super) output: Option<Conclusion>,
    /// Last rest of a lead.
    pub(super) rest: Option<LeadRest>,
    /// Issued effects without an answer.
    pub(super) open: Vec<(EffectId, ActorEffect)>,
    pub(super) requests: Vec<ChatRequest>,
    pub(super) events: Vec<ProgressEvent>,
    pub(super) revoked: Vec<EffectId>,
    /// Log of everything, as text.
    pub(super) log: String,
    remembered: Vec<Arc<Message>>,
    at: i64,
}

impl Play {
    pub(super) fn start(input: ActorInput) -> Self {
        let mut out = Outbox::default();
        let machine = ActorMachine::start(1_000, &input, &mut out);
        let mut play = Self {
            machine,
            output: None,
            rest: None,
            open: vec![],
            requests: vec![],
            events: vec![],
            revoked: vec![],
            log: String::new(),
            remembered: vec![],
            at: 1_000,
        };
        play.take(&mut out);
        play
    }

    pub(super) fn fact(&mut self, fact: ActorFact) -> &mut Self {
        let mut out = Outbox::default();
        if let Some(id) = ActorMachine::answers(&fact) {
            self.open.retain(|(open, _)| open != id);
        }
        self.at += 1_000;
        (self.output, self.rest) = match self.machine.apply(self.at, &fact, &mut out) {
            Some(ActorOutput::Ended(conclusion)) => (Some(conclusion), None),
            Some(ActorOutput::Rested(rest)) => (None, Some(rest)),
            None => (None, None),
        };
        self.take(&mut out);
        if let Some(conclusion) = &self.output {
            let _ = writeln!(self.log, "=> {}", serde_json::to_string_pretty(conclusion).unwrap());
        }
        self
    }

    fn take(&mut self, out: &mut Outbox<ActorMachine>) {
        let (orders, events) = out.take();
        let compacted = events.iter().any(|e| matches!(e, ProgressEvent::HistoryCompacted { .. }));
        for event in &events {
            let _ = writeln!(self.log, "event {}", serde_json::to_string(event).unwrap());
        }
        self.events.extend(events);
        for order in orders {
            match order {
                Order::Issue(id, effect) => {
                    if let ActorEffect::Model(request) = &effect {
                        self.check(request, compacted);
                        self.requests.push(request.clone());
                    }
                    let _ = write!(self.log, "{}", shown(&id, &effect));
                    self.open.push((id, effect));
                }
                Order::Revoke(id, why) => {
                    let _ = writeln!(self.log, "revoke {id} ({why:?})");
                    self.revoked.push(id);
                }
            }
        }
    }

    fn check(&mut self, request: &ChatRequest, compacted: bool) {
        assert!(paired(&request.messages), "calls and results are apart: {:#?}", request.messages);
        let history = self.machine.history.messages();
        assert_eq!(request.messages, history, "a request is the history");
        let after_result =
            |pair: &[Arc<Message>]| matches!((pair[0].as_ref(), pair[1].as_ref()), (Message::Tool { .. }, Message::User { .. }));
        assert!(!history.windows(2).any(after_result), "some servers refuse a message of the user after a result");
        if !compacted {
            // Until the model has answered, the last message may grow at its end.
            let answered = history.len() > self.remembered.len();
            let (before, last) = self.remembered.split_at(self.remembered.len().saturating_sub(usize::from(!answered)));
            assert!(history.starts_with(before), "a request grows only at its end");
            let grown = |last: &Arc<Message>, now: &Arc<Message>| match (last.as_ref(), now.as_ref()) {
                (Message::User { content, .. }, Message::User { content: now, .. })
                | (Message::Tool { content, .. }, Message::Tool { content: now, .. }) => now.starts_with(content.as_str()),
                (last, now) => last == now,
            };
            assert!(last.iter().all(|last| grown(last, &history[before.len()])), "a request grows only at its end");
        }
        self.remembered = history.to_vec();
    }

    /// Answers the open model call.
    pub(super) fn model(&mut self, response: ChatResponse) -> &mut Self {
        self.model_says(ModelAnswer::Response { response: Box::new(response) })
    }

    pub(super) fn calls(&mut self, calls: Vec<ToolCall>) -> &mut Self {
        self.model(answer("", calls))
    }

    pub(super) fn model_says(&mut self, answer: ModelAnswer) -> &mut Self {
        let id = self.open.iter().find(|(_, e)| matches!(e, ActorEffect::Model(_))).expect("no model call is open").0.clone();
        self.fact(ActorFact::ModelAnswered { id, answer, duration_ms: 7 })
    }

    pub(super) fn tool(&mut self, id: &str, text: &str) -> &mut Self {
        self.fact(tool_ended(&EffectId::new(id), CallOutcome::Ok, text))
    }

    pub(super) fn tool_error(&mut self, id: &str, text: &str) -> &mut Self {
        self.fact(tool_ended(&EffectId::new(id), CallOutcome::Error, text))
    }

    pub(super) fn person(&mut self, id: &str, text: &str) -> &mut Self {
        self.fact(ActorFact::Answered { id: EffectId::new(id), text: text.into() })
    }

    /// Acknowledges every open revocation.
    pub(super) fn acknowledge(&mut self) -> &mut Self {
        for id in std::mem::take(&mut self.revoked) {
            self.fact(ActorFact::Revoked { id, why: Reason::Stopped });
        }
        self
    }

    pub(super) fn open_ids(&self) -> Vec<&str> {
        self.open.iter().map(|(id, _)| id.as_str()).collect()
    }

    /// Returns the results in the history, in order.
    pub(super) fn results(&self) -> Vec<String> {
        let tool = |m: &Arc<Message>| match m.as_ref() {
            Message::Tool { call_id, content, .. } => Some(format!("{call_id}: {content}")),
            _ => None,
        };
        self.machine.history.messages().iter().filter_map(tool).collect()
    }

    pub(super) fn nudges(&self) -> Vec<&str> {
        let nudge = |e: &'_ ProgressEvent| matches!(e, ProgressEvent::ActorNudged { .. });
        self.events
            .iter()
            .filter(|e| nudge(e))
            .map(|e| match e {
                ProgressEvent::ActorNudged { kind, .. } => kind.as_str(),
                _ => "",
            })
            .collect()
    }

    /// Returns true if the last request demands the conclusion.
    pub(super) fn is_asked_to_conclude(&self) -> bool {
        self.requests.last().is_some_and(|request| request.tools.len() == 1 || matches!(request.tool_choice, ToolChoice::Only(_)))
    }

    /// Returns the text after the last result of the last request.
    pub(super) fn step_note(&self) -> Option<String> {
        self.machine.history.appended_to_last().map(str::to_owned)
    }
}

fn shown(id: &EffectId, effect: &ActorEffect) -> String {
    let mut text = String::new();
    match effect {
        ActorEffect::Model(request) => {
            let tools: Vec<&str> = request.tools.iter().map(|t| t.name.as_str()).collect();
            let _ = writeln!(text, "--- request {id} temperature {:?} tools {}", request.temperature, tools.join(" "));
            for message in &request.messages {
                let _ = match message.as_ref() {
                    Message::System { content } => writeln!(text, "[system] {content}"),
                    Message::User { content, .. } => writeln!(text, "[user] {content}"),
                    Message::Tool { call_id, name, content, .. } => writeln!(text, "[tool {call_id} {name}] {content}"),
                    Message::Assistant { content, tool_calls, .. } => {
                        let calls: Vec<_> = tool_calls.iter().map(|c| format!(" <{} {} {}>", c.id, c.name, c.arguments)).collect();
                        writeln!(text, "[assistant] {content}{}", calls.concat())
                    }
                };
            }
            text.push_str("---\n");
        }
        ActorEffect::Tool { of, call, .. } => {
            let _ = writeln!(text, "tool {id}: {of} {} {}", call.tool(), serde_json::to_string(call.parameters()).unwrap());
        }
        ActorEffect::Delegate { call, request, .. } => {
            let _ = writeln!(text, "delegate {id}: {call} {:?}", request.description);
        }
        ActorEffect::Plan { of, call } => {
            let _ = writeln!(text, "plan {id}: {of} {} {}", call.tool(), serde_json::to_string(call.parameters()).unwrap());
        }
        ActorEffect::Ask { id: question, question: words, kind } => {
            let _ = writeln!(text, "ask {id}: {question} {kind:?} {words:?}");
        }
    }
    text
}
