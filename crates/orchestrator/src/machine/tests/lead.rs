//! The lead: its wakes, and the effects of its commands.

mod ending;
mod holding;
mod replans;
mod unusable;
mod words;

use aime_actor_factory::LeadRest;
use aime_dynamic_planner::WakeKind;
use aime_progress_management::{
    Conclusion, Criterion, FailureCause, LeadCommand, Origin, Outcome, Owner, PlanChange, PlanMode, ProgressEvent, TaskId, TaskSpec,
    TaskStatus,
};

use super::{
    build::{add, conclusion, id, patch, plan},
    needs::blocked,
    world::World,
};
use crate::{LeadPolicy, LeadWakeOrder, RunEffect, RunFact};

impl World {
    /// Returns a run with a lead, which may work itself.
    fn led() -> Self {
        Self::given(|input| input.lead = Some(LeadPolicy { must_plan: false, mode: None }))
    }

    /// Returns the order of the open wake.
    fn woken(&self) -> LeadWakeOrder {
        let mut orders = self.under_way.values().filter_map(|under_way| match &under_way.effect {
            RunEffect::Lead { order } => Some(order.as_ref().clone()),
            _ => None,
        });
        orders.next_back().unwrap_or_else(|| panic!("the lead sleeps: {}", self.open()))
    }

    fn rests(&mut self, rest: LeadRest) -> &mut Self {
        let order = self.woken();
        let name = format!("lead {:?}", order.wake.kind).to_lowercase();
        let id = self.effect(&name);
        let rest = Box::new(LeadRest { wake: order.wake.number, ..rest });
        self.send(RunFact::LeadRested { id, rest, category: "general".to_owned(), checks: Vec::new(), calls: Vec::new() })
    }

    fn wants(&mut self, commands: Vec<LeadCommand>) -> &mut Self {
        self.rests(LeadRest { commands, ..LeadRest::default() })
    }

    fn submits(&mut self, text: &str) -> &mut Self {
        self.wants(vec![LeadCommand::SubmitPlan { plan: Box::new(plan(text)), mode: PlanMode::Complex, repairs: vec![] }])
    }

    fn changes(&mut self, changes: Vec<PlanChange>) -> &mut Self {
        self.wants(vec![LeadCommand::ChangePlan { patch: patch(changes), handled: vec![], repairs: vec![] }])
    }

    fn lead_answers(&mut self, text: &str) -> &mut Self {
        self.rests(LeadRest { answer: text.to_owned(), ..LeadRest::default() })
    }

    fn concludes(&mut self, conclusion: Conclusion) -> &mut Self {
        self.rests(LeadRest { conclusion: Some(conclusion), ..LeadRest::default() })
    }

    fn lead_reports(&mut self, number: u64, task: Option<&str>) -> &mut Self {
        let task = task.map(id);
        let (call, tool) = (format!("lead/chat/1/{number}"), "append".to_owned());
        let event = ProgressEvent::ToolCallStarted { task, call, tool, parameters: Default::default() };
        self.send(RunFact::LeadReported { call: None, number, event })
    }
}

fn task(name: &str) -> TaskId {
    id(name)
}

#[test]
fn own_work_is_one_task_from_the_first_change_on() {
    let mut world = World::led();
    world.lead_reports(0, None);
    assert_eq!((world.state().version, world.open()), (0, "lead begin".to_owned()));
    world.lead_reports(1, Some("main")).lead_reports(1, Some("main"));
    assert_eq!((world.statuses(), world.events_named("tool_call_started").len()), ("main:running".to_owned(), 2));
    world.stopped().resumed();
    assert_eq!((world.statuses(), world.open()), ("main:running".to_owned(), "lead begin".to_owned()));
    world.concludes(conclusion(Outcome::Success, None, None));
    assert_eq!((world.ended(), world.statuses(), world.events_named("routed").len()), ("completed", "main:completed".to_owned(), 1));
    world.replayed();
}

#[test]
fn a_lead_that_is_out_of_steps_goes_on_with_its_own_work() {
    let mut world = World::led();
    world.lead_reports(1, Some("main"));
    let most = world.machine.input.settings.triggers.max_retries;
    for _ in 0..most {
        world.concludes(conclusion(Outcome::Failure, Some("reached max_steps (2)"), Some(FailureCause::Steps)));
        assert_eq!((world.open(), world.statuses()), ("lead refused".to_owned(), "main:running".to_owned()));
        assert!(world.woken().wake.refused[0].contains("your steps are used up"));
    }
    world.concludes(conclusion(Outcome::Success, None, None));
    assert_eq!(world.ended(), "completed");
    world.replayed();
}

#[test]
fn rules_plan_for_a_lead_that_had_to_plan_and_did_not() {
    let answer = LeadRest { answer: "I will not plan.".to_owned(), ..LeadRest::default() };
    let failure = conclusion(Outcome::Failure, Some("reached max_steps (2)"), Some(FailureCause::Steps));
    let failed = LeadRest { conclusion: Some(failure), ..LeadRest::default() };
    let must_plan = || World::given(|input| input.lead = Some(LeadPolicy { must_plan: true, mode: None }));
    let mut world = must_plan();
    world.concludes(conclusion(Outcome::Failure, Some("there is no such module"), Some(FailureCause::Reported)));
    assert_eq!(
        (world.ended(), world.message().contains("there is no such module")),
        ("goal_not_reached", true),
        "an honest failure ends the run"
    );
    for rest in [answer, failed] {
        let mut world = must_plan();
        world.rests(rest);
        assert_eq!((world.open(), world.events_named("lead_gave_up").len()), ("route".to_owned(), 1));
        world.routed(PlanMode::Direct).done("main");
        assert_eq!((world.ended(), world.statuses().as_str()), ("completed", "main:completed"));
        world.replayed();
    }
}

/// The changes of the lead after a check may change its result.
#[test]
fn the_criteria_are_checked_again_after_work_of_the_lead() {
    for (before, after) in [(false, true), (true, false)] {
        let mut world = World::led();
        let mut plan = plan("a; b");
        plan.strategic.success_criteria = vec![Criterion::text("it is done")];
        world.wants(vec![LeadCommand::SubmitPlan { plan: Box::new(plan), mode: PlanMode::Complex, repairs: vec![] }]);
        world.done("a").done("b").verified(&[("it is done", Some(before))]);
        world.lead_reports(0, Some("main"));
        assert_eq!(world.events_named("tool_call_started").len(), 1, "the call counts, though no task made it");
        world.concludes(conclusion(Outcome::Success, None, None)).verified(&[("it is done", Some(after))]);
        if !after {
            assert_eq!(world.open(), "lead refused");
            assert!(world.woken().wake.refused[0].contains("it is done"), "{:?}", world.woken().wake.refused);
            world.lead_reports(1, Some("main")).concludes(conclusion(Outcome::Success, None, None)).verified(&[("it is done", Some(true))]);
        }
        assert_eq!(world.ended(), "completed");
        world.replayed();
    }
}

/// A task of a plan has the name that the lead's own work has: a module `main.py` is reason enough.
#[test]
fn a_task_of_a_plan_may_be_called_main() {
    let mut world = World::led();
    world.lead_reports(0, None).submits("main; b: main");
    assert_eq!((world.statuses(), world.open()), ("main:running b:pending".to_owned(), "main".to_owned()), "an actor does it");
    world.done("main").done("b");
    assert_eq!((world.woken().wake.kind, world.woken().wake.settled.len()), (WakeKind::Done, 2));
    world.lead_reports(1, Some("main"));
    assert_eq!(world.events_named("tool_call_started").last().map(|event| format!("{event:?}").contains("task: None")), Some(true));
    world.concludes(conclusion(Outcome::Success, None, None));
    assert_eq!((world.ended(), world.statuses().as_str()), ("completed", "main:completed b:completed"));
    world.replayed();
}

#[test]
fn saying_what_was_dealt_with_changes_no_plan() {
    let handled = |ids: &[&str]| {
        let handled = ids.iter().map(|id| id.parse().unwrap()).collect();
        LeadCommand::ChangePlan { patch: patch(vec![]), handled, repairs: vec![] }
    };
    let mut world = World::led();
    world.lead_reports(0, Some("main")).wants(vec![handled(&["note"])]);
    assert_eq!((world.statuses(), world.open()), ("main:running".to_owned(), "lead nothingready".to_owned()));
    let conclusion = Some(conclusion(Outcome::Success, None, None));
    world.rests(LeadRest { commands: vec![handled(&["note"])], conclusion, ..LeadRest::default() });
    assert_eq!((world.ended(), world.state().answer.as_deref()), ("completed", Some("what was done")));
    world.replayed();
}

#[test]
fn a_plan_takes_the_place_of_own_work() {
    let mut world = World::led();
    world.lead_reports(0, Some("main")).submits("a; b");
    assert_eq!(world.statuses(), "main:completed a:running b:running");
    assert_eq!((world.state().version, world.state().mode), (2, Some(PlanMode::Complex)));
    world.done("a").done("b");
    assert_eq!((world.woken().wake.kind, world.woken().wake.settled.len()), (WakeKind::Done, 2));
    world.concludes(conclusion(Outcome::Success, None, None));
    assert_eq!((world.ended(), world.state().answer.as_deref()), ("completed", Some("what was done")));
    world.replayed();
}

#[test]
fn a_change_that_waits_when_the_run_stops_is_made_when_it_goes_on() {
    for crash in [false, true] {
        let mut world = World::led();
        world.submits("a; b; c: a").fails_for_good("b");
        world.acknowledges = false;
        let cancel = PlanChange::CancelTask { id: task("a"), reason: "not needed".to_owned(), by: Owner::Lead };
        world.changes(vec![cancel, add("d", &[])]);
        assert_eq!((world.stopping().as_str(), world.state().decisions.len()), ("a", 0), "the actor is stopped first");
        world.acknowledges = true;
        if crash {
            world.crashed();
        } else {
            world.stopped().resumed();
        }
        assert_eq!(
            (world.status("a"), world.status("d"), world.status("c")),
            (TaskStatus::Skipped, TaskStatus::Running, TaskStatus::Running)
        );
        world.replayed();
    }
}

#[test]
fn what_does_not_fit_comes_back_at_once() {
    let mut world = World::led();
    world.submits("a; b: a; c").fails_for_good("c");
    world.done("a").changes(vec![PlanChange::RemoveTask { id: task("a"), reason: String::new() }, add("d", &["c"])]);
    assert_eq!((world.status("d"), world.woken().wake.kind, world.woken().wake.dropped.len()), (TaskStatus::Running, WakeKind::Refused, 1));
    world.lead_answers("so be it");
    assert_eq!(world.open(), "b d");
    world.replayed();
}

#[test]
fn a_lead_that_submits_the_same_plan_again_and_again_is_not_woken_for_ever() {
    let mut world = World::led();
    world.submits("a").done("a");
    let mut wakes = 0;
    while world.open().starts_with("lead") {
        world.submits("a");
        wakes += 1;
        assert!(wakes < 40, "{}", world.open());
    }
    assert_eq!((wakes, world.statuses()), (12, "a:completed".to_owned()));
    world.replayed();
}

#[test]
fn words_of_a_person_stay_until_the_lead_has_handled_them() {
    let mut world = World::led();
    world.submits("a; b: a");
    world.send(RunFact::PersonSaid { id: "p-1".parse().unwrap(), task: None, text: "no plates".to_owned() });
    assert_eq!((world.woken().wake.kind, world.woken().wake.words.len()), (WakeKind::Person, 1));
    world.lead_answers("I see").done("a").done("b");
    assert_eq!(world.woken().wake.words.len(), 1, "nobody has handled them");
    let handled = vec!["p-1".parse().unwrap()];
    world.wants(vec![LeadCommand::ChangePlan { patch: patch(vec![]), handled, repairs: vec![] }]);
    assert_eq!((world.woken().wake.kind, world.woken().wake.words.len()), (WakeKind::Done, 0));
    world.replayed();
}

/// A run whose lead finds the only criterion, which a person set, to be wrong.
fn refuted() -> World {
    let mut world = World::given(|input| {
        input.lead = Some(LeadPolicy { must_plan: false, mode: None });
        input.settings.checks = vec![Criterion::text("the cups are blue").owned_by(Owner::Person)];
    });
    world.submits("a").done("a").verified(&[("the cups are blue", Some(false))]);
    assert_eq!(world.open(), "lead trouble");
    let (criterion, evidence) = ("the cups are clean".into(), "there are no blue cups".to_owned());
    world.wants(vec![LeadCommand::AmendCriterion { number: 1, criterion, evidence }]);
    assert_eq!(world.open(), "ask-criterion");
    let asked = &world.state().questions[0].question;
    assert!(
        ["the cups are blue", "the cups are clean", "there are no blue cups"].iter().all(|part| asked.to_string().contains(part)),
        "{asked}"
    );
    world
}

// Requirement: 5.1
#[test]
fn a_refuted_criterion_of_a_person_changes_after_a_yes() {
    let mut world = refuted();
    world.deferred("criterion");
    assert_eq!(world.ended(), "waiting_for_human");
    world.resumed().person("yes");
    let criteria = &world.state().strategic.success_criteria;
    assert_eq!((criteria[0].to_string().as_str(), criteria[0].owner), ("the cups are clean", Owner::Person));
    assert!(world.state().amended[0].evidence.ends_with("(a person agreed)"), "{:?}", world.state().amended);
    world.verified(&[("the cups are clean", Some(true))]);
    assert_eq!(world.woken().wake.kind, WakeKind::Done);
    world.concludes(conclusion(Outcome::Success, None, None));
    assert_eq!(world.ended(), "completed");
    world.replayed();
}

// Requirement: 5.1
#[test]
fn a_refuted_criterion_of_a_person_stays_without_a_yes() {
    for (answer, expected) in [("no", "it stays as it is"), ("count the red ones", "count the red ones")] {
        let mut world = refuted();
        world.person(answer);
        assert_eq!((world.state().amended.len(), world.woken().wake.kind), (0, WakeKind::Person), "{answer}");
        let words = &world.woken().wake.words[0].text;
        assert!(words.contains("the cups are blue") && words.ends_with(expected), "{words}");
        world.concludes(conclusion(Outcome::Failure, Some("no cup is blue"), None));
        assert_eq!(world.ended(), "goal_not_reached");
        world.replayed();
    }
}

#[test]
fn a_lead_that_works_itself_goes_on_after_it_amended_a_criterion() {
    let mut world = World::given(|input| {
        input.lead = Some(LeadPolicy { must_plan: false, mode: None });
        input.settings.checks = vec![Criterion::text("the cups are blue").owned_by(Owner::Lead)];
    });
    world.lead_reports(0, Some("main"));
    world.wants(vec![LeadCommand::AmendCriterion { number: 1, criterion: "they are clean".into(), evidence: "none is blue".to_owned() }]);
    assert_eq!((world.statuses(), world.state().amended.len()), ("main:running".to_owned(), 1));
    assert_eq!(world.woken().wake.kind, WakeKind::NothingReady);
    world.replayed();
}

/// Its plan takes the place of its own work and withdraws the question; the end of the run does not withdraw it again.
#[test]
fn a_lead_that_plans_after_all_ends_without_the_answer_about_a_criterion() {
    let mut world = World::given(|input| {
        input.lead = Some(LeadPolicy { must_plan: false, mode: None });
        input.settings.checks = vec![Criterion::text("the cups are blue").owned_by(Owner::Person)];
    });
    world.lead_reports(0, Some("main"));
    world.wants(vec![LeadCommand::AmendCriterion { number: 1, criterion: "they are clean".into(), evidence: "none is blue".to_owned() }]);
    assert_eq!((world.statuses(), world.open()), ("main:blocked".to_owned(), "ask-criterion".to_owned()));
    world.send(RunFact::PersonSaid { id: "p-1".parse().unwrap(), task: None, text: "go on".to_owned() });
    assert_eq!(world.statuses(), "main:running");
    world.submits("a").fails_for_good("a");
    assert_eq!(world.state().questions[0].answer.as_deref(), Some("(withdrawn: the work that asked has come to an end)"));
    world.concludes(conclusion(Outcome::Failure, Some("no cup is blue"), None));
    assert_eq!(world.ended(), "goal_not_reached");
    world.replayed();
}

#[test]
fn a_lead_that_gives_the_goal_up_stops_what_runs() {
    let mut world = World::led();
    world.submits("a; b: a; c").fails_for_good("c");
    world.concludes(conclusion(Outcome::Failure, Some("there is no water"), None));
    assert_eq!((world.ended(), world.message().as_str()), ("goal_not_reached", "there is no water"));
    assert_eq!(world.statuses(), "a:skipped b:skipped c:failed");
    world.replayed();
}

// Requirement: 6.15
#[test]
fn a_change_without_content_is_no_replan() {
    let mut world = World::led();
    world.submits("a; b").fails_for_good("a");
    world.lead_answers("b is enough");
    assert_eq!((world.machine.replans.history().count, world.open()), (0, "b".to_owned()));
    world.done("b");
    assert_eq!(world.woken().wake.kind, WakeKind::Done);
    world.replayed();
}

#[test]
fn a_completed_tool_task_wakes_no_lead() {
    for mode in [PlanMode::Simple, PlanMode::Complex, PlanMode::Emergent] {
        let mut world = World::led();
        let plan = Box::new(plan("a=look; b=look: a; c; d: b c"));
        world.wants(vec![LeadCommand::SubmitPlan { plan, mode, repairs: vec![] }]);
        world.done("a").done("b");
        assert_eq!((world.open(), world.wakes.len()), ("c".to_owned(), 1), "{mode:?}");
        world.replayed();
    }
}

// Requirement: 3.6
#[test]
fn the_end_of_an_emergent_plan_wakes_the_lead_once() {
    for (todos, order) in [("a", &["a"][..]), ("a; b: a; c: b", &["a", "b", "c"][..])] {
        let mut world = World::led();
        world.wants(vec![LeadCommand::SubmitPlan { plan: Box::new(plan(todos)), mode: PlanMode::Emergent, repairs: vec![] }]);
        for todo in order {
            world.done(todo);
        }
        let wake = world.woken().wake;
        assert_eq!((wake.kind, wake.number, wake.guide), (WakeKind::Done, 2, true), "{todos}");
        world.changes(vec![add("d", &[])]);
        assert_eq!(world.open(), "d", "a new TODO is done before the next look: {todos}");
        world.done("d");
        assert_eq!((world.woken().wake.kind, world.woken().wake.number), (WakeKind::Done, 3), "{todos}");
        world.replayed();
    }
}

// Requirement: 3.56
#[test]
fn changes_of_one_turn_keep_the_rules_together() {
    let emergent = |todos: &str, most: u32| {
        let mut world = World::given(|input| {
            input.lead = Some(LeadPolicy { must_plan: true, mode: None });
            input.settings.growth.max_todos = most;
            input.settings.max_parallel = 10;
        });
        world.wants(vec![LeadCommand::SubmitPlan { plan: Box::new(plan(todos)), mode: PlanMode::Emergent, repairs: vec![] }]);
        world
    };
    let change = |changes| LeadCommand::ChangePlan { patch: patch(changes), handled: vec![], repairs: vec![] };
    let refused = |world: &World| {
        let wake = world.woken().wake;
        assert_eq!((wake.kind, world.state().version), (WakeKind::Refused, 1));
        wake.refused.concat()
    };
    // Each of two calls keeps to the cap.
    let mut world = emergent("a", 3);
    world.done("a").wants(vec![change(vec![add("b", &[]), add("c", &[])]), change(vec![add("d", &[]), add("e", &[])])]);
    assert!(refused(&world).contains("there would be 5 TODOs, and at most 3 are allowed"), "{}", refused(&world));
    world.wants(vec![change(vec![add("b", &[])]), change(vec![add("c", &[])])]);
    assert_eq!(world.open(), "b c");
    // A second plan counts the TODOs that are done.
    let mut world = emergent("a; b", 3);
    world.done("a").done("b");
    let again = |mode| LeadCommand::SubmitPlan { plan: Box::new(plan("c; d: c")), mode, repairs: vec![] };
    world.wants(vec![again(PlanMode::Emergent)]);
    assert!(refused(&world).contains("there would be 4 TODOs"), "{}", refused(&world));
    world.wants(vec![again(PlanMode::Complex)]);
    assert_eq!((world.state().mode, world.open()), (Some(PlanMode::Complex), "c".to_owned()), "a complex plan has no cap");
    // Two calls that replace one failed task by the same work, as one.
    let mut world = World::led();
    world.submits("a; b").fails_for_good("a");
    world.changes(vec![PlanChange::AddTask { task: Box::new(TaskSpec::actor(task("c"), "Do a!")), replaces: vec![task("a")] }]);
    assert!(refused(&world).contains("does the same"), "{}", refused(&world));
    assert_eq!(world.machine.replans.history().count, 0, "nothing was changed");
    world.replayed();
}

#[test]
fn a_question_before_the_plan_is_waited_for_and_asked_again() {
    let mut world = World::led();
    let asked = |world: &mut World| {
        let question = "lead-q".parse().unwrap();
        world.send(RunFact::ActorAsked { task: task("main"), question, kind: "question".to_owned(), text: "Which?".to_owned() });
        world.deferred("question");
    };
    asked(&mut world);
    assert_eq!((world.ended(), world.state().questions[0].task.as_ref()), ("waiting_for_human", None));
    world.resumed();
    assert_eq!(world.open(), "lead begin");
    asked(&mut world);
    assert_eq!((world.ended(), world.state().questions.len()), ("waiting_for_human", 1));
    world.replayed();
}

#[test]
fn a_follow_up_wakes_the_lead_of_a_run_that_has_ended_with_the_new_words_alone() {
    let follow_up = |goal: &str| RunFact::Continued { goal: goal.to_owned(), bounds: None };
    let mut world = World::led();
    world.send(follow_up("too early"));
    assert_eq!((world.state().version, world.open()), (0, "lead begin".to_owned()));
    world.lead_reports(0, Some("main")).concludes(conclusion(Outcome::Success, None, None));
    for goal in ["dry them", "put them away"] {
        assert_eq!(world.ended(), "completed");
        world.output = None;
        world.send(follow_up(goal));
        let words: Vec<String> = world.woken().wake.words.into_iter().map(|words| words.text).collect();
        assert_eq!((words, world.woken().wake.kind), (vec![goal.to_owned()], WakeKind::Person));
        // A stopped lead continues with the same wake.
        world.stopped().resumed();
        assert_eq!(world.woken().wake.words.len(), 1);
        world.concludes(conclusion(Outcome::Success, None, None));
    }
    assert_eq!(world.ended(), "completed");
    world.replayed();
}

// Requirement: 14.3
#[test]
fn what_the_lead_has_read_is_an_origin_of_its_plan() {
    let mut world = World::led();
    let command = LeadCommand::SubmitPlan { plan: Box::new(plan("a; b=append; c: a")), mode: PlanMode::Complex, repairs: vec![] };
    let page = Origin::Web("a.example".to_owned());
    world.rests(LeadRest { commands: vec![command], origins: vec![page.clone()], ..LeadRest::default() });
    for task in ["a", "b"] {
        match &world.under_way[&world.effect(task)].effect {
            RunEffect::StartActor { origins, .. } | RunEffect::CallTool { origins, .. } => {
                assert_eq!(origins.as_slice(), std::slice::from_ref(&page), "{task}")
            }
            other => panic!("{other:?}"),
        }
    }
}

// Requirement: 7.2
#[test]
fn a_lead_that_is_blocked_in_its_own_work_waits_and_goes_on() {
    for (answer, words) in [(Some("it is in key.txt"), "it is in key.txt"), (None, "(nothing was said: the run goes on")] {
        let mut world = World::led();
        world.lead_reports(0, Some("main")).concludes(blocked("a key"));
        assert_eq!((world.statuses(), world.open()), ("main:blocked".to_owned(), "ask-blocked".to_owned()));
        world.deferred("blocked");
        assert_eq!((world.ended(), world.message().as_str()), ("waiting_for_human", "what was done\nneeds: a key"));
        world.resumed();
        match answer {
            Some(answer) => world.person(answer),
            None => world.deferred("blocked"),
        };
        let wake = world.woken().wake;
        assert_eq!((wake.kind, wake.words.len()), (WakeKind::Person, 1));
        assert!(wake.words[0].text.starts_with(words), "{wake:?}");
        world.concludes(conclusion(Outcome::Success, None, None));
        assert_eq!((world.ended(), world.statuses()), ("completed", "main:completed".to_owned()));
        world.replayed();
    }
}

#[test]
fn a_blocked_task_wakes_the_lead_which_may_replan() {
    let mut world = World::led();
    world.submits("a; b").ends("a", blocked("a key"));
    assert_eq!(world.open(), "b lead trouble");
    world.changes(vec![add("c", &["a"])]).done("b").done("c").concludes(conclusion(Outcome::Success, None, None));
    assert_eq!((world.ended(), world.state().questions.len()), ("completed", 0));
    world.replayed();
}

#[test]
fn a_run_waits_if_its_lead_finds_no_way_around_a_blocked_task() {
    let gives_up = conclusion(Outcome::Failure, Some("no way"), Some(FailureCause::Reported));
    for ending in [blocked("the key of a"), gives_up] {
        let mut world = World::led();
        world.submits("a; b: a; c").ends("a", blocked("a key")).concludes(ending);
        assert_eq!((world.status("c"), world.open()), (TaskStatus::Running, "c ask-blocked".to_owned()), "the others go on");
        world.deferred("blocked").done("c");
        assert_eq!(world.ended(), "waiting_for_human");
        assert!(world.message().contains("needs: "), "{}", world.message());
        world.resumed().person("it is in key.txt");
        assert_eq!((world.woken().wake.kind, world.woken().wake.words[0].text.as_str()), (WakeKind::Person, "it is in key.txt"));
        world.changes(vec![PlanChange::UnblockTask { id: task("a") }]);
        world.done("a").done("b").concludes(conclusion(Outcome::Success, None, None));
        assert_eq!((world.ended(), world.statuses()), ("completed", "a:completed b:completed c:completed".to_owned()));
        world.replayed();
    }
}

#[test]
fn what_a_lead_lacked_is_not_asked_any_more_once_it_found_a_way() {
    let mut world = World::led();
    world.submits("a; c").ends("a", blocked("a key")).concludes(blocked("a key"));
    world.ends("c", conclusion(Outcome::Failure, Some("it broke"), Some(FailureCause::Reported)));
    assert_eq!(world.open(), "ask-blocked lead trouble");
    world.changes(vec![add("d", &["a", "c"])]);
    assert_eq!(world.open(), "d");
    world.done("d").concludes(conclusion(Outcome::Success, None, None));
    assert_eq!(world.ended(), "completed");
    world.replayed();
}
