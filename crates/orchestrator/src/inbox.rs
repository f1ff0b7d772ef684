//! Turns messages to a run from other processes into facts.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use aime_durable::{FactSender, Journal, Message};
use aime_messages::message;
use aime_progress_management::{EvidenceId, QuestionId, RunId, TaskId};
use serde::{Deserialize, Serialize};

use crate::{RunFact, RunMachine, messages::MessageChannel, questions::Answers};

/// Interval between reads of the inbox.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A message to a run from another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub enum InboxMessage {
    /// A person's answer.
    Answer {
        /// The question.
        question: QuestionId,
        /// The answer.
        text: String,
    },
    /// A person sends an unsolicited message to steer the run.
    Say {
        /// The task whose actor is addressed; if absent, the run itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// Text of the message.
        text: String,
    },
    /// A person pauses the run, so that it can be resumed.
    Pause {},
    /// A person cancels the run, or one of its tasks, for good.
    Cancel {
        /// The task; if absent, the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
    },
}

/// Forwards messages from other processes to the run. A message stays in the inbox until its fact is durable, so a
/// crash loses none. The run has the facts of the messages in `passed_on` already.
pub(crate) async fn read_inbox(
    journal: Journal,
    run: RunId,
    (answers, words): (Arc<Answers>, Arc<MessageChannel>),
    mut passed_on: BTreeSet<i64>,
    facts: FactSender<RunMachine>,
) {
    loop {
        for message in journal.inbox(run.as_str()).unwrap_or_default() {
            let fact = fact_in(&message);
            let dealt_with = match &fact {
                Some(RunFact::PersonAnswered { question: Some(question), .. }) => answers.contains(question),
                Some(RunFact::PersonSaid { id, .. }) => words.contains(id),
                Some(RunFact::CancelRequested { .. }) => words.has_cancelled(message.id),
                // A stop that is lost because the process died has happened anyway.
                Some(RunFact::StopRequested { .. }) => passed_on.contains(&message.id),
                _ => true,
            };
            if dealt_with {
                if journal.inbox_take(message.id).await.is_err() {
                    return;
                }
            } else if let (true, Some(fact)) = (passed_on.insert(message.id), fact)
                && !facts.send(fact)
            {
                return;
            }
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns the fact of a message.
pub(crate) fn fact_in(message: &Message) -> Option<RunFact> {
    Some(match serde_json::from_str(&message.body).ok()? {
        InboxMessage::Answer { question, text } => RunFact::PersonAnswered { question: Some(question), text },
        InboxMessage::Say { task, text } => RunFact::PersonSaid { id: EvidenceId::new(format!("person-{}", message.id)).ok()?, task, text },
        InboxMessage::Cancel { task } => {
            RunFact::CancelRequested { task, reason: message!("cancelled-by-person"), message: Some(message.id) }
        }
        InboxMessage::Pause {} => RunFact::StopRequested { reason: message!("paused-by-person") },
    })
}

#[cfg(test)]
mod tests {
    use aime_durable::{NewRun, fact_channel};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_cancel_of_a_task_stays_until_it_is_durable() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path().join("journal.db")).unwrap();
        journal.create_run(NewRun { id: "run", at: 0, machine_version: 1, title: "", status: "" }).await.unwrap();
        let cancel = InboxMessage::Cancel { task: Some(TaskId::new("a").unwrap()) };
        journal.inbox_put("run", 0, &serde_json::to_string(&cancel).unwrap()).await.unwrap();
        let (words, (sender, mut facts)) = (Arc::new(MessageChannel::default()), fact_channel());
        let shared = (Arc::default(), Arc::clone(&words));
        let reader = read_inbox(journal.clone(), RunId::new("run").unwrap(), shared, BTreeSet::new(), sender);
        let reader = tokio::spawn(reader);
        let fact = facts.next().await.unwrap();
        tokio::time::sleep(POLL_INTERVAL * 4).await;
        assert_eq!(
            (journal.inbox("run").unwrap().len(), facts.ready()),
            (1, None),
            "what is not durable can be lost, and is passed on once"
        );
        words.put(&fact);
        while !journal.inbox("run").unwrap().is_empty() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        assert_eq!(facts.ready(), None);
        reader.abort();
    }
}
