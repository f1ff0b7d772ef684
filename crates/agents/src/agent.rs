//! An external agent as the model of an actor.

use std::collections::BTreeMap;

use aime_llm::{ChatModel, ChatRequest, ChatResponse, Message, ModelError, ModelLimits, StreamPart, in_one_part};
use aime_tools::Approval;
use futures::stream::BoxStream;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{
    AgentError, AgentSettings, AgentWork, agent_limits,
    answer::{calls, conclusion, first_images, first_prompt, session_of, session_report},
    calls::known,
    session::{Next, Session},
};

/// Prompt of a session that goes on after its process has ended.
const GO_ON: &str = "You were interrupted: the program was stopped and started again. Look at what is done already, check calls whose result \
                     you have not seen, and go on with the task.";
/// Beginning of a second session of an agent that cannot load the first.
const KEPT: &str = "You have worked on this task before, in another session. Your changes in the folder are kept.";
const TERMINATE: &str = "terminate";

/// External agent that does one task: a [`ChatModel`] whose answers are the calls that the agent needs.
///
/// The process starts with the first request and is killed when this is dropped.
pub struct ExternalAgent {
    settings: AgentSettings,
    work: AgentWork,
    session: Mutex<Option<Session>>,
}

impl ExternalAgent {
    /// Creates an agent for one task. Starts nothing.
    #[must_use]
    pub fn new(settings: AgentSettings, work: AgentWork) -> Self {
        Self { settings, work, session: Mutex::default() }
    }

    /// Starts the program, opens a session, and ends both. Returns name and version of the program.
    ///
    /// # Errors
    /// [`AgentError`], which says what is wrong.
    pub async fn probe(&self) -> Result<String, AgentError> {
        let (session, _) = Session::begin(&self.settings, &self.work, 1).await?;
        let software = session.software();
        session.end(&self.work).await;
        Ok(software)
    }

    async fn answer(&self, request: ChatRequest) -> ChatResponse {
        let name = self.settings.name.as_str();
        if self.work.approval == Approval::ReadOnly && self.settings.confinement.is_off() {
            return self.gives_up(format!("{name} is not confined, and this run is read-only, so aime has not started it"));
        }
        let mut place = self.session.lock().await;
        let mut given = words(&request.messages);
        if is_last(&request) {
            if let Some(session) = place.take() {
                session.stop(&self.work).await;
            }
            return self.gives_up(format!("{name} repeats itself, so aime has stopped it"));
        }
        if let Some(session) = place.as_mut() {
            for message in new_results(&request.messages) {
                if let Message::Tool { call_id, content, .. } = message {
                    session.settle(call_id, content, &self.work);
                }
            }
            session.queue(self.sent(given));
        } else {
            let (known, sessions) = session_of(&request);
            let mut opened = Err(AgentError::Forgotten { agent: name.to_owned(), reason: String::new() });
            if let Some(id) = &known {
                opened = Session::load(&self.settings, &self.work, id, sessions + 1).await;
                if given.is_empty() {
                    given.push(GO_ON.to_owned());
                }
            }
            let fresh = known.is_none() || (matches!(opened, Err(AgentError::Forgotten { .. })) && given.iter().all(|word| word != GO_ON));
            if fresh {
                let begun = Session::begin(&self.settings, &self.work, sessions + 1).await;
                let (mut session, id) = match begun {
                    Ok(begun) => begun,
                    Err(error) => return self.gives_up(error.to_string()),
                };
                let mut prompt = vec![first_prompt(&request.messages)];
                if known.is_some() {
                    prompt.push(KEPT.to_owned());
                    prompt.append(&mut given);
                }
                session.queue(self.sent(vec![prompt.join("\n\n")]));
                session.show(first_images(&request.messages));
                let report = session.call("update_progress", &session_report(&id));
                *place = Some(session);
                // The journal holds the session before the agent gets its prompt.
                return calls(name, vec![report]);
            }
            match opened {
                Ok(mut session) => {
                    session.keep_answers(answers(&request.messages));
                    session.queue(self.sent(given));
                    *place = Some(session);
                }
                Err(AgentError::Forgotten { reason, .. }) => {
                    return self.gives_up(format!(
                        "In doubt: {name} was at work when aime stopped, and it cannot load its session. Its changes in the folder are kept: \
                         check what it did before the task is done again\nReason: {reason}"
                    ));
                }
                Err(error) => return self.gives_up(error.to_string()),
            }
        }
        let Some(session) = place.as_mut() else { return self.gives_up(format!("{name} has no session")) };
        match session.next(&self.work, self.settings.limits.silence).await {
            Next::Calls(asked) => {
                let asked = asked.into_iter().map(|call| known(call, &self.work));
                session.with_usage(calls(name, asked.collect()))
            }
            Next::Ended(ended, text) => {
                let end = session.call(TERMINATE, &conclusion(name, &ended, &text));
                let answer = session.with_usage(calls(name, vec![known(end, &self.work)]));
                if let Some(session) = place.take() {
                    session.end(&self.work).await;
                }
                answer
            }
            Next::TimedOut => {
                let seconds = self.settings.limits.silence.as_secs();
                if let Some(session) = place.take() {
                    session.stop(&self.work).await;
                }
                self.gives_up(format!("{name} has sent nothing for {seconds} s, so aime has stopped it"))
            }
        }
    }

    /// Returns an answer that ends the actor without success.
    fn gives_up(&self, why: String) -> ChatResponse {
        let call = aime_llm::ToolCall {
            id: String::new(),
            name: TERMINATE.to_owned(),
            arguments: json!({"status": "failure", "message": why}).to_string(),
        };
        calls(&self.settings.name, vec![known(call, &self.work)])
    }

    /// Returns texts as the agent gets them: with paths relative to its folder, so that they hold in a private copy, too.
    fn sent(&self, texts: Vec<String>) -> Vec<String> {
        texts.into_iter().map(|text| self.work.context.as_relative(&text).into_owned()).collect()
    }
}

impl ChatModel for ExternalAgent {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn limits(&self) -> ModelLimits {
        agent_limits()
    }

    fn stream(&self, request: ChatRequest) -> BoxStream<'_, Result<StreamPart, ModelError>> {
        in_one_part(async { Ok(self.answer(request).await) })
    }
}

/// Returns true if the actor asks for the conclusion only.
fn is_last(request: &ChatRequest) -> bool {
    matches!(request.tools.as_ref(), [only] if only.name == TERMINATE)
}

/// Returns the results and words after the last answer.
fn new_results<M: AsRef<Message>>(messages: &[M]) -> impl Iterator<Item = &Message> {
    let is_answer = |message: &M| matches!(message.as_ref(), Message::Assistant { .. });
    let after = messages.iter().rposition(is_answer).map_or(messages.len(), |at| at + 1);
    messages.get(after..).unwrap_or_default().iter().map(AsRef::as_ref)
}

/// Returns the answers of people after the last answer of the agent, by their questions.
fn answers<M: AsRef<Message>>(messages: &[M]) -> BTreeMap<String, String> {
    let mut last = messages.iter().rev().map(AsRef::as_ref);
    let asked = last.find_map(|message| if let Message::Assistant { tool_calls, .. } = message { Some(tool_calls) } else { None });
    let question = |id: &str| {
        let call = asked?.iter().find(|call| call.id == id)?;
        let parameters: Value = serde_json::from_str(&call.arguments).ok()?;
        parameters.get("question").and_then(Value::as_str).map(str::to_owned)
    };
    let results = new_results(messages).filter_map(|message| match message {
        Message::Tool { call_id, name, content, .. } if name == "ask_human" => Some((question(call_id)?, content.clone())),
        _ => None,
    });
    results.collect()
}

/// Returns the texts for the agent after the last answer: messages of users, and notes after the results of calls that the agent did not
/// ask for. aime always puts such a call last.
fn words<M: AsRef<Message>>(messages: &[M]) -> Vec<String> {
    let mut words = Vec::new();
    for message in new_results(messages) {
        let text = match message {
            Message::User { content, .. } => content.as_str(),
            Message::Tool { name, content, .. } if name == TERMINATE => content.strip_prefix("Received.").unwrap_or(content),
            Message::Tool { name, content, .. } if name == "update_progress" => content.strip_prefix("Reported.").unwrap_or_default(),
            Message::Tool { name, content, .. } if name == "todo" => content.split_once("completed)").map_or("", |(_, rest)| rest),
            _ => "",
        };
        if !text.trim().is_empty() {
            words.push(text.trim().to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use aime_llm::{Message, ToolCall};

    use super::{answers, words};

    #[test]
    fn answers_belong_to_their_questions() {
        let call =
            |id: &str, name: &str, arguments: &str| ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
        let asks =
            vec![call("1", "ask_human", r#"{"question": "May I?"}"#), call("2", "update_progress", r#"{"status": "s", "message": "m"}"#)];
        let asked = Message::Assistant { content: String::new(), tool_calls: asks, native: None };
        let result = |id: &str, name: &str, content: &str| Message::Tool {
            call_id: id.to_owned(),
            name: name.to_owned(),
            content: content.to_owned(),
            is_error: false,
            images: Vec::new(),
        };
        let messages =
            [asked.clone(), result("1", "ask_human", "yes"), result("2", "update_progress", "Reported.")].map(std::sync::Arc::new);
        assert_eq!(answers(&messages), [("May I?".to_owned(), "yes".to_owned())].into());
        assert!(answers(&[asked].map(std::sync::Arc::new)).is_empty(), "it is not answered yet");
    }

    #[test]
    fn notes_and_words_reach_the_agent() {
        let result = |name: &str, content: &str| Message::Tool {
            call_id: "c".to_owned(),
            name: name.to_owned(),
            content: content.to_owned(),
            is_error: false,
            images: Vec::new(),
        };
        let answer = || Message::Assistant { content: String::new(), tool_calls: Vec::new(), native: None };
        let of = |messages: Vec<Message>| words(&messages.into_iter().map(std::sync::Arc::new).collect::<Vec<_>>());
        assert!(of(vec![Message::user("the task")]).is_empty(), "the first prompt is built from all");
        assert!(of(vec![answer(), result("bash", "exit code 1"), result("update_progress", "Reported.")]).is_empty());
        assert_eq!(of(vec![answer(), result("update_progress", "Reported.\n\nA person says: hurry")]), ["A person says: hurry"]);
        assert_eq!(of(vec![answer(), result("todo", "[ ] #1: a\n\n(0/1 completed)\n\nhurry")]), ["hurry"]);
        assert_eq!(of(vec![answer(), result("terminate", "Received.\n\nnot accepted yet")]), ["not accepted yet"]);
        assert_eq!(of(vec![answer(), result("terminate", "Error: not ended")]), ["Error: not ended"]);
    }
}
