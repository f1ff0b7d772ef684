//! Questions: who asks, who waits, and the effect of an answer.

use std::sync::Arc;

use aime_progress_management::{
    Conclusion, Origin, Outcome, Owner, PlanChange, ProgressEvent, QuestionId, RunId, Significance, TaskChange, TriggerKind,
};
use aime_tools::Approval;
use serde_json::json;

use super::{
    build::{add, conclusion, id, parameters, plan},
    replans::evidence,
    world::World,
};
use crate::{KnownContext, NextStep, RunFact, RunInput, RunResult};

fn asks(world: &mut World, task: &str, question: &str) {
    let fact = RunFact::ActorAsked {
        task: id(task),
        question: question.parse().unwrap(),
        kind: "question".to_owned(),
        text: "Which one?".to_owned(),
    };
    world.send(fact);
}

fn answer(world: &World, question: &str) -> Option<String> {
    let id = QuestionId::new(question).unwrap();
    world.state().questions.iter().find(|known| known.id == id).unwrap().answer.clone()
}

#[test]
fn a_question_is_asked_and_answered_while_others_work() {
    let mut world = World::of("a; b");
    asks(&mut world, "a", "a-1-1-1");
    assert_eq!(world.open(), "a b ask-question");
    let fact = RunFact::Answered { id: world.effect("ask-question"), text: "the red one".to_owned() };
    world.send(fact);
    assert_eq!(answer(&world, "a-1-1-1").as_deref(), Some("the red one"));
    world.done("a").done("b").answers("done");
    assert_eq!(world.ended(), "completed");
}

// Requirement: 7.2
#[test]
fn without_a_person_the_run_goes_on_as_far_as_it_can_and_waits() {
    let mut world = World::of("a; b");
    asks(&mut world, "a", "a-1-1-1");
    world.deferred("question");
    assert_eq!(world.open(), "a b", "b is not held up");
    world.done("b");
    assert_eq!(world.ended(), "waiting_for_human");
    let error = world.output.as_ref().unwrap().error.as_ref().unwrap();
    assert_eq!(
        (error.message.to_string().as_str(), error.hint.as_ref().map(ToString::to_string).as_deref(), &error.next),
        ("Which one?", Some("answer, then resume the run"), &Some(NextStep::Answer { run: RunId::new("run").unwrap() }))
    );
    assert_eq!(world.statuses(), "a:pending b:completed");
    world.resumed().person("the red one");
    assert_eq!((world.open().as_str(), world.effect("a").as_str()), ("a", "a/1/2"), "the same actor goes on");
    asks(&mut world, "a", "a-1-1-1");
    assert_eq!(world.open(), "a", "it was answered");
    world.done("a").answers("done");
    assert_eq!(world.ended(), "completed");
}

/// The run is not left to wait for an answer to a call that must not be repeated. Stopping the call puts it in doubt
/// and withdraws its question, so an answer would be of no use.
#[test]
fn a_run_does_not_wait_for_an_answer_to_a_call_that_cannot_be_made_again() {
    let mut world = World::of("a=append");
    asks(&mut world, "a", "q");
    world.deferred("question");
    assert!(world.output.is_none(), "{:?}", world.output);
    assert_eq!((world.statuses().as_str(), world.open().as_str()), ("a:failed", "replan"), "the planner hears of the doubt");
    world.patched(vec![add("b", &["a"])]).done("b");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn who_stops_a_run_that_is_about_to_wait_has_stopped_it() {
    let mut world = World::of("a=append; b: a");
    world.acknowledges = false;
    asks(&mut world, "a", "q");
    world.deferred("question");
    world.stopped();
    world.send(RunFact::CancelRequested { task: Some(id("b")), reason: "cancelled by a person".into(), message: None });
    world.acknowledge_all();
    assert_eq!(world.ended(), "interrupted");
    world.acknowledges = true;
    world.resumed();
    assert_eq!(world.statuses(), "a:failed b:skipped");
    // Nobody can change this plan, so the run ends.
    let mut world = World::given(|input| {
        input.plan = Some(plan("a=append"));
        input.can_plan = false;
    });
    asks(&mut world, "a", "q");
    world.deferred("question");
    assert_eq!(world.ended(), "goal_not_reached");
}

#[test]
fn the_same_question_is_asked_once_and_answered_once() {
    let mut world = World::of("a");
    asks(&mut world, "a", "q");
    asks(&mut world, "a", "q");
    assert_eq!(world.open(), "a ask-question");
    world.person("one").person("two");
    assert_eq!(answer(&world, "q").as_deref(), Some("one"));
    world.send(RunFact::PersonAnswered { question: Some("nobody-asked".parse().unwrap()), text: "x".to_owned() });
    assert_eq!(world.state().questions.len(), 1);
}

#[test]
fn an_answer_is_for_the_oldest_open_question_or_the_one_it_names() {
    let mut world = World::of("a; b; c");
    for task in ["a", "b", "c"] {
        asks(&mut world, task, &format!("{task}-q"));
    }
    world.send(RunFact::PersonAnswered { question: Some("b-q".parse().unwrap()), text: "for b".to_owned() });
    world.person("for a").person("for c");
    for task in ["a", "b", "c"] {
        assert_eq!(answer(&world, &format!("{task}-q")), Some(format!("for {task}")));
    }
    assert_eq!(world.open(), "a b c", "nobody is asked any more");
}

#[test]
fn only_an_actor_that_runs_asks_and_only_for_itself() {
    let mut world = World::of("a; b: a");
    asks(&mut world, "b", "q1");
    asks(&mut world, "nobody", "q2");
    asks(&mut world, "a", "q3");
    let escalates =
        RunFact::ActorAsked { task: id("a"), question: "q4".parse().unwrap(), kind: "escalation".to_owned(), text: "stop?".to_owned() };
    world.send(escalates);
    assert_eq!(world.state().questions.iter().map(|question| question.id.as_str()).collect::<Vec<_>>(), ["q3"]);
    world.done("a");
    asks(&mut world, "b", "q3");
    assert_eq!(world.open(), "b", "the question of another");
}

#[test]
fn a_task_that_waits_for_the_folder_waits_for_the_person_too() {
    for is_over in [false, true] {
        let mut world = World::of("a; b");
        world.send(RunFact::FolderAwaited { task: id("b"), is_over: false });
        if is_over {
            world.send(RunFact::FolderAwaited { task: id("b"), is_over });
        }
        asks(&mut world, "a", "q");
        world.deferred("question");
        assert_eq!(world.open(), if is_over { "a b" } else { "" });
        if !is_over {
            assert_eq!(world.ended(), "waiting_for_human");
            world.resumed();
            assert_eq!(world.open(), "ask-question a b", "both begin again");
            world.replayed();
        }
    }
}

#[test]
fn a_question_ends_with_its_task() {
    // The actor concludes despite its open question.
    let mut world = World::of("a");
    asks(&mut world, "a", "q");
    world.done("a");
    assert_eq!(world.ended(), "completed", "nobody waits for the answer");
    assert!(answer(&world, "q").unwrap().contains("withdrawn"));

    // The task fails and is retried by another actor.
    let mut world = World::of("a; b");
    asks(&mut world, "a", "q");
    world.deferred("question").fails("a");
    assert_eq!(world.open(), "b a");
    assert!(answer(&world, "q").unwrap().contains("withdrawn"));

    // The plan cancels it.
    let mut world = World::of("a; b");
    asks(&mut world, "a", "q");
    world.reports("b", 0, evidence("e", "b", Significance::High));
    world.patched(vec![PlanChange::CancelTask { id: id("a"), reason: String::new(), by: Owner::Lead }]);
    assert_eq!(world.open(), "b");
    world.done("b");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn a_question_asked_while_the_run_is_stopped_does_not_hold_it_up() {
    let mut world = World::of("a");
    world.acknowledges = false;
    world.stopped();
    asks(&mut world, "a", "q");
    assert_eq!(world.open(), "a", "nobody is asked now");
    world.acknowledge_all();
    assert_eq!(world.ended(), "interrupted");
    world.acknowledges = true;
    world.resumed();
    assert_eq!(world.open(), "ask-question a", "now somebody is");
}

fn asking(plan_text: &str) -> impl FnOnce(&mut RunInput) {
    let mut plan = plan(plan_text);
    Arc::make_mut(&mut plan.tasks[0]).parameters = parameters(json!({"command": "make"}));
    |input| {
        input.plan = Some(plan);
        input.settings.approval = Approval::Edits;
    }
}

#[test]
fn a_tool_task_waits_for_consent() {
    for (text, goes_on) in [("yes", true), ("Y", true), ("好", true), ("no", false), ("yes, but later", false), ("", false)] {
        let mut world = World::given(asking("a=shell; b"));
        assert_eq!(world.open(), "b ask-approval");
        assert!(world.state().questions[0].question.to_string().contains("make"));
        world.person(text);
        if goes_on {
            assert_eq!(world.open(), "b a", "{text}");
            assert_eq!(world.events_named("tool_call_started").len(), 1);
        } else {
            assert_eq!(world.statuses(), "a:failed b:running", "{text}");
            assert!(world.events_named("tool_call_started").is_empty());
        }
    }
}

#[test]
fn a_tool_task_waits_for_consent_over_stops_and_crashes() {
    let mut world = World::given(asking("a=shell; b"));
    world.deferred("approval").done("b");
    assert_eq!(world.ended(), "waiting_for_human");
    world.resumed();
    assert_eq!(world.open(), "ask-approval");
    world.stopped().resumed();
    world.crashed();
    assert_eq!(world.open(), "ask-approval");
    assert_eq!(world.state().questions.len(), 1, "it is one question");
    world.person("yes").done("a").answers("done");
    assert_eq!(world.ended(), "completed");
}

/// A call that an "always" for another call has allowed does not wait for its own question, and the run is not left for
/// it.
#[test]
fn a_question_that_a_wider_consent_has_answered_is_taken_back() {
    let mut world = World::given(|input| {
        let mut two = plan("a=shell; b=shell");
        two.tasks.iter_mut().for_each(|task| Arc::make_mut(task).parameters = parameters(json!({"command": "make"})));
        input.plan = Some(two);
        input.settings.approval = Approval::Edits;
    });
    let second = world.state().questions[1].id.clone();
    world.send(RunFact::PersonAnswered { question: Some(second), text: "always".to_owned() });
    assert_eq!(world.events_named("consent_given").len(), 1);
    world.crashed();
    assert_eq!(world.open().split(' ').filter(|open| *open == "a").count(), 1, "{}", world.open());
    assert!(world.state().questions.iter().all(|question| question.answer.is_some()), "{:?}", world.state().questions);
}

#[test]
fn consent_is_for_one_call_and_one_execution() {
    // A retry asks again.
    let mut world = World::given(asking("a=shell"));
    world.person("yes").fails("a");
    assert_eq!((world.open().as_str(), world.state().questions.len()), ("ask-approval", 2));

    // So does another call that replaces it.
    let mut world = World::given(|input| {
        asking("a=shell; b; c: a")(input);
        input.settings.max_parallel = 1;
    });
    assert_eq!(world.open(), "ask-approval b");
    world.person("yes").reports("b", 0, evidence("e", "b", Significance::High));
    assert_eq!((world.open().as_str(), world.status("a").word()), ("b replan", "ready"), "allowed, and waits for its turn");
    let change = TaskChange { parameters: Some(parameters(json!({"command": "rm"}))), ..TaskChange::default() };
    world.patched(vec![PlanChange::ModifyTask { id: id("a"), change: Box::new(change) }]).done("b");
    assert_eq!(world.open(), "ask-approval");
    assert!(world.state().questions.last().unwrap().question.to_string().contains("rm"));
}

#[test]
fn modes_of_approval_hold_for_tool_tasks() {
    // mode, unattended, plan approved; the fate of look, append and shell
    let table = [
        (Approval::Ask, false, false, "runs asks asks"),
        (Approval::Edits, false, false, "runs runs asks"),
        (Approval::All, false, false, "runs runs runs"),
        (Approval::ReadOnly, false, false, "runs fails fails"),
        (Approval::Ask, true, false, "runs fails fails"),
        (Approval::Ask, false, true, "runs runs runs"),
        (Approval::Edits, true, true, "runs runs runs"),
        (Approval::ReadOnly, false, true, "runs fails fails"),
    ];
    for (approval, unattended, plan_approved, expected) in table {
        let fates = ["look", "append", "shell"].map(|tool| {
            let world = World::with(&format!("a={tool}; other"), |settings| {
                settings.approval = approval;
                settings.unattended = unattended;
                settings.plan_approved = plan_approved;
            });
            match world.status("a").word() {
                "failed" => "fails",
                _ if world.open().contains("ask-approval") => "asks",
                _ => "runs",
            }
        });
        assert_eq!(fates.join(" "), expected, "{approval:?}, unattended {unattended}, approved {plan_approved}");
    }
}

#[test]
fn a_refusal_says_who_refused() {
    let world = World::with("a=shell; b", |settings| settings.unattended = true);
    let error = world.state().tasks[&id("a")].conclusion.clone().unwrap().error.unwrap();
    assert!(error.to_string().starts_with("not allowed: nobody is there to answer"), "{error}");
    let mut world = World::given(asking("a=shell; b"));
    world.person("no");
    assert_eq!(
        world.state().tasks[&id("a")].conclusion.clone().unwrap().error.as_ref().map(ToString::to_string).as_deref(),
        Some("a person refused the call")
    );
}

#[test]
fn an_approved_plan_says_nothing_of_what_a_model_adds() {
    let mut world = World::with("a=shell; b", |settings| settings.plan_approved = true);
    assert_eq!(world.open(), "b a");
    world.reports("b", 0, evidence("e", "b", Significance::High));
    world.patched(vec![add("n=shell", &[])]);
    assert_eq!(world.open(), "b a ask-approval", "n was seen by nobody");
    let mut world = World::with("b; a=shell: b", |settings| settings.plan_approved = true);
    world.reports("b", 0, evidence("e", "b", Significance::High));
    let change = TaskChange { parameters: Some(parameters(json!({"command": "rm"}))), ..TaskChange::default() };
    world.patched(vec![PlanChange::ModifyTask { id: id("a"), change: Box::new(change) }]);
    world.done("b");
    assert_eq!(world.open(), "ask-approval");
}

/// A person who hands over a plan has not seen the text of others that a result puts into a command.
#[test]
fn a_call_with_text_of_others_was_not_handed_over() {
    let table = [
        // Columns: origins of the result, command, effect that follows.
        (vec![Origin::Files], "echo @{steps.a.result}", "ask-approval"),
        (Vec::new(), "echo @{steps.a.result}", "b"),
        (vec![Origin::Files], "echo @{steps.a.status}", "b"),
        (vec![Origin::Files], "ls", "b"),
    ];
    for (origins, command, expected) in table {
        let mut refers = plan("a; b=shell: a");
        Arc::make_mut(&mut refers.tasks[1]).parameters = parameters(json!({"command": command}));
        let mut world = World::given(|input| {
            input.plan = Some(refers);
            input.settings.plan_approved = true;
        });
        world.ends("a", Conclusion { origins, ..conclusion(Outcome::Success, None, None) });
        assert_eq!(world.open(), expected, "{command}");
    }
}

// Requirement: 12.1
#[test]
fn what_a_person_says_unasked_changes_the_plan_at_once() {
    let mut world = World::with("a; b: a", |settings| {
        settings.frequency.max_replans_per_plan = 0;
        settings.triggers.evidence_significance = Significance::Critical;
    });
    let message = |id: &str| RunFact::PersonSaid { id: id.parse().unwrap(), task: None, text: "not by train".to_owned() };
    world.send(message("person-1"));
    let reasons = &world.order("replan").wake.reasons;
    assert_eq!((reasons[0].kind, reasons[0].detail.to_string().as_str()), (TriggerKind::Person, "a person says: not by train"));
    assert_eq!(world.open(), "a replan", "what runs goes on");
    world.send(message("person-1"));
    assert_eq!(world.state().evidence.len(), 1, "what was heard is not heard twice");
    world.patched(vec![add("c", &["b"])]);
    assert!(world.state().evidence[0].processed);
    world.done("a").done("c").answers("by boat");
    assert_eq!(world.ended(), "completed");
}

#[test]
fn what_is_said_before_there_is_a_plan_is_kept_for_it() {
    let mut world = World::new();
    world.routed(aime_progress_management::PlanMode::Complex);
    world.send(RunFact::PersonSaid { id: "person-1".parse().unwrap(), task: None, text: "not by train".to_owned() });
    assert_eq!(world.open(), "plan");
    world.planned("a");
    assert_eq!(world.open(), "a replan");
}

#[test]
fn what_answers_an_escalation_and_what_is_said_unasked_keep_apart() {
    let mut world = World::with("a", |settings| settings.frequency.max_replans_per_plan = 0);
    world.fails_for_good("a").person("try the tunnel");
    world.send(RunFact::PersonSaid { id: "person-1".parse().unwrap(), task: None, text: "not by train".to_owned() });
    let evidence: Vec<&str> = world.state().evidence.iter().map(|evidence| evidence.id.as_str()).collect();
    assert_eq!(evidence, ["answer-escalation-1", "person-1"]);
}

#[test]
fn what_is_said_to_one_actor_waits_for_it_and_asks_for_no_replan() {
    let mut world = World::of("a; b: a");
    let message = |name: &str, task: &str| {
        let (evidence, task) = (name.parse().unwrap(), Some(id(task)));
        RunFact::PersonSaid { id: evidence, task, text: "slowly".to_owned() }
    };
    world.send(message("person-1", "a"));
    assert_eq!(world.open(), "a");
    let evidence = &world.state().evidence[0];
    assert_eq!((evidence.task.as_ref().unwrap().as_str(), evidence.significance, evidence.processed), ("a", Significance::Low, false));
    world.reports("a", 0, ProgressEvent::MessageDelivered { task: Some(id("a")), evidence: "person-1".parse().unwrap() });
    assert!(world.state().evidence[0].processed);
    world.send(message("person-2", "nobody"));
    assert_eq!(world.open(), "a replan", "what is said to nobody is said to the run");
}

#[test]
fn what_nobody_read_is_told_at_the_end() {
    let mut world = World::given(|input| {
        input.has_memory = true;
        input.plan = Some(plan("a"));
    });
    let said = |name: &str, task: Option<&str>, text: &str| RunFact::PersonSaid {
        id: name.parse().unwrap(),
        task: task.map(id),
        text: text.to_owned(),
    };
    let recall = world.effect("recall");
    world.send(RunFact::Recalled { id: recall, known: KnownContext::default() });
    world.send(said("person-1", Some("a"), "slowly")).done("a");
    assert_eq!((world.machine.is_over(), world.open()), (true, "remember".to_owned()), "the run has ended and is remembered");
    world.send(said("person-2", None, "by boat"));
    let remember = world.effect("remember");
    world.send(RunFact::Remembered { id: remember, fault: None });
    assert_eq!(world.ended(), "completed");
    let result = RunResult::new("r1".parse().unwrap(), world.state(), world.output.as_ref().unwrap());
    assert_eq!(result.notes, ["not read by the actor of the task a: slowly", "changed nothing in the plan: by boat"]);
    world.replayed();
}
