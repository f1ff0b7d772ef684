//! Runs that ask a person: one who is there, and one who answers from another process.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use aime_durable::Clock;
use aime_llm::{
    ChatModel,
    scripted::{Reply, ScriptedModel, When},
};
use aime_orchestrator::{Bounds, HumanChannel, HumanQuestion, InboxMessage};
use aime_progress_management::{PlanMode, ProgressEvent, QuestionId, RunStatus, TaskId};
use futures::future::BoxFuture;
use serde_json::json;

use crate::bench::{Bench, control, done, plan, run_id, stopped_after_two_calls, wait_for_events};

struct Says(&'static str);

impl HumanChannel for Says {
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move { Some(format!("{} ({})", self.0, question.text)) })
    }
}

/// A person who never answers.
struct Silent;

impl HumanChannel for Silent {
    fn ask(&self, _: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::pending())
    }
}

fn painter() -> (ScriptedModel, aime_progress_management::Plan) {
    let model = ScriptedModel::new("m")
        .on(When::tools().and_turn(0), [Reply::call("ask_human", json!({"question": "Which colour?"}))])
        .on(When::tools().and_contains("red").and_turn(1), [done("painted red")]);
    (model, plan(json!([{"id": "paint", "kind": "actor", "description": "Paint the wall"}])))
}

fn question(bench: &Bench) -> QuestionId {
    let asked = bench.events().into_iter().find_map(|timed| match timed.event {
        ProgressEvent::QuestionAsked { id, .. } => Some(id),
        _ => None,
    });
    asked.unwrap()
}

async fn answer(bench: &Bench, text: &str) {
    put(bench, &InboxMessage::Answer { question: question(bench), text: text.to_owned() }).await;
}

async fn put(bench: &Bench, message: &InboxMessage) {
    bench.journal.inbox_put("trip", 1, &serde_json::to_string(message).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_person_who_is_there_answers_at_once() {
    let (model, plan) = painter();
    let mut bench = Bench::new(model);
    bench.human = Arc::new(Says("red"));
    let result = bench.run("Paint", Some(plan)).await;
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "painted red"), "{result:#?}");
    assert_eq!(bench.state().questions[0].answer.as_deref(), Some("red (Which colour?)"));
}

// Requirement: 12.9
#[tokio::test]
async fn an_answer_from_another_process_is_found_at_the_resume() {
    let (model, plan) = painter();
    let bench = Bench::new(model);
    let result = bench.run("Paint", Some(plan)).await;
    assert_eq!((result.status, result.error.unwrap().message.to_string().as_str()), (RunStatus::WaitingForHuman, "Which colour?"));
    assert_eq!(bench.resume().await.status, RunStatus::WaitingForHuman, "nothing has changed");
    answer(&bench, "red").await;
    let result = bench.resume().await;
    assert_eq!((result.status, result.answer.as_str()), (RunStatus::Completed, "painted red"), "{result:#?}");
    assert_eq!(bench.state().questions.len(), 1);
    assert_eq!(bench.model.requests().len(), 2, "no step is made twice");
}

#[tokio::test]
async fn an_answer_from_another_process_reaches_a_run_under_way() {
    let (model, plan) = painter();
    let mut bench = Bench::new(model);
    bench.human = Arc::new(Silent);
    let ((control, mut events), orchestrator) = (control(), bench.orchestrator());
    let run = orchestrator.run_with(bench.request("Paint", Some(plan)), control);
    let person = async {
        while let Some(event) = events.recv().await {
            if matches!(event.event, ProgressEvent::QuestionAsked { .. }) {
                answer(&bench, "red").await;
                break;
            }
        }
    };
    let (result, ()) = tokio::time::timeout(Duration::from_secs(30), async { tokio::join!(run, person) }).await.unwrap();
    assert_eq!(result.unwrap().answer, "painted red");
}

#[tokio::test]
async fn an_answer_survives_any_crash_after_it_was_given() {
    for event in 1.. {
        let (model, plan) = painter();
        let bench = Bench::new(model);
        assert_eq!(bench.run("Paint", Some(plan)).await.status, RunStatus::WaitingForHuman);
        answer(&bench, "red").await;
        let ((control, events), orchestrator, run) = (control(), bench.orchestrator(), run_id());
        let killed = tokio::select! {
            biased;
            () = wait_for_events(events, event) => true,
            _ = orchestrator.resume(&run, None, control) => false,
        };
        if !killed {
            assert!(event > 3);
            break;
        }
        let result = bench.resume().await;
        assert_eq!(
            (result.status, result.answer.as_str()),
            (RunStatus::Completed, "painted red"),
            "killed after event {event}: {result:#?}"
        );
        assert_eq!(bench.state().questions.len(), 1, "it is not asked again");
    }
}

#[tokio::test]
async fn a_cancel_that_came_after_the_end_does_not_cancel_a_follow_up() {
    let patch = json!({"reasoning": "a further goal", "changes": [{"op": "add_task", "task": {"id": "more", "description": "Write it"}}]});
    let bench =
        Bench::new(ScriptedModel::new("m").on(When::schema("aime_patch"), [Reply::json(patch)]).on(When::tools(), [done("written")]));
    let mut request = bench.request("Write a line", None);
    request.settings.mode = Some(PlanMode::Direct);
    assert_eq!(bench.orchestrator().run(request).await.unwrap().status, RunStatus::Completed);
    put(&bench, &InboxMessage::Cancel { task: None }).await;
    let result = bench.orchestrator().continue_run(&run_id(), "Write another line", None, control().0).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert!(bench.journal.inbox("trip").unwrap().is_empty());
}

#[tokio::test]
async fn a_cancel_of_a_task_is_decided_on_once() {
    let (model, _) = painter();
    let bench = Bench::new(model);
    let plan = plan(json!([
        {"id": "paint", "kind": "actor", "description": "Paint the wall"},
        {"id": "note", "kind": "tool", "tool": "append", "parameters": {"line": "@{steps.paint.result}"}, "dependencies": ["paint"]},
    ]));
    let refused = || bench.events().iter().filter(|timed| matches!(timed.event, ProgressEvent::CancelRefused { .. })).count();
    assert_eq!(bench.run("Paint", Some(plan)).await.status, RunStatus::WaitingForHuman);
    put(&bench, &InboxMessage::Cancel { task: Some(TaskId::new("paint").unwrap()) }).await;
    for _ in 0..2 {
        assert_eq!(bench.resume().await.status, RunStatus::WaitingForHuman);
        assert_eq!((refused(), bench.journal.inbox("trip").unwrap().len()), (1, 0), "the note needs the result, and that is told once");
    }
    answer(&bench, "red").await;
    assert_eq!((bench.resume().await.status, refused()), (RunStatus::Completed, 1));
    assert_eq!(bench.log(), ["painted red"]);
}

#[tokio::test]
async fn a_message_waits_until_a_resume_records_it() {
    let cancels = InboxMessage::Cancel { task: None };
    let says = InboxMessage::Say { task: None, text: "slowly".to_owned() };
    for (message, status) in [(says, RunStatus::Completed), (cancels, RunStatus::Cancelled)] {
        let bench = stopped_after_two_calls().await;
        put(&bench, &message).await;
        // The bound ends this resume before it comes to the message.
        assert_eq!(bench.resume().await.status, RunStatus::Failed);
        assert_eq!(bench.journal.inbox("trip").unwrap().len(), 1, "{message:?}");
        let raised = Bounds { max_tool_calls: 100, ..Bounds::default() };
        let result = bench.orchestrator().resume(&run_id(), Some(raised), control().0).await.unwrap();
        assert_eq!((result.status, bench.journal.inbox("trip").unwrap().len()), (status, 0), "{message:?}: {result:#?}");
        let recorded = bench.state().evidence.iter().any(|evidence| evidence.content == "slowly");
        assert_eq!(recorded, status == RunStatus::Completed, "{message:?}");
    }
}

struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_clock_that_was_set_back_costs_no_time() {
    const HOUR: i64 = 3_600_000;
    let (model, plan) = painter();
    let bench = Bench::new(model);
    let clock = Arc::new(SetClock(AtomicI64::new(10 * HOUR)));
    let orchestrator =
        bench.builder().model(Arc::new(bench.model.clone()) as Arc<dyn ChatModel>).clock(Arc::<SetClock>::clone(&clock)).build().unwrap();
    let mut request = bench.request("Paint", Some(plan));
    request.settings.bounds.max_seconds = Some(60);
    assert_eq!(orchestrator.run(request).await.unwrap().status, RunStatus::WaitingForHuman);
    clock.0.store(7 * HOUR, Ordering::Relaxed);
    answer(&bench, "red").await;
    let result = orchestrator.resume(&run_id(), None, control().0).await.unwrap();
    assert_eq!(result.status, RunStatus::Completed, "{result:#?}");
    assert!(bench.events().is_sorted_by_key(|timed| timed.at));
}
