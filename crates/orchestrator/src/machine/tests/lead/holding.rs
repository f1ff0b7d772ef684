//! Tasks that the lead holds.

use super::*;

#[test]
fn a_held_task_waits_and_goes_on_in_the_same_execution() {
    let mut world = World::led();
    world.submits("a; b").fails_for_good("b");
    world.wants(vec![LeadCommand::HoldTask { task: task("a") }]);
    assert_eq!(world.status("a"), TaskStatus::Blocked);
    let order = world.woken();
    assert!(!order.wake.settled.contains(&task("a")));
    world.wants(vec![LeadCommand::ReleaseTask { task: task("a") }]);
    assert_eq!((world.status("a"), world.open().contains('a')), (TaskStatus::Running, true));
    world.replayed();
}

#[test]
fn a_held_task_ends_its_call_first() {
    let call = |name: &str, tool: &str| (name.to_owned(), tool.to_owned());
    let started = |(call, tool): (String, String)| ProgressEvent::ToolCallStarted {
        task: Some(task("a")),
        call,
        tool,
        parameters: Default::default(),
    };
    let ended = |(call, tool): (String, String)| {
        let (task, outcome) = (Some(task("a")), aime_progress_management::CallOutcome::Ok);
        ProgressEvent::ToolCallFinished { task, call, tool, outcome, output: String::new(), origin: None, duration_ms: 1 }
    };
    let mut world = World::led();
    world.submits("a; b").fails_for_good("b");
    let (build, look, delegated) = (call("a/1/1/1", "shell"), call("a/1/1/2", "look"), call("a/1/1/3", "delegate_task"));
    for (number, call) in [&build, &look, &delegated].into_iter().enumerate() {
        world.reports("a", number as u64, started(call.clone()));
    }
    world.wants(vec![LeadCommand::HoldTask { task: task("a") }]);
    assert_eq!(world.status("a"), TaskStatus::Running);
    world.reports("a", 3, ended(look));
    assert_eq!(world.status("a"), TaskStatus::Running, "the build is under way");
    world.reports("a", 4, ended(build));
    assert_eq!(world.status("a"), TaskStatus::Blocked, "an actor that waits for another is stopped with it");
    world.replayed();
}

#[test]
fn a_task_that_ends_before_it_is_held_is_told() {
    let mut world = World::led();
    world.submits("a; b").fails_for_good("b");
    let (call, tool) = ("a/1/1/1".to_owned(), "shell".to_owned());
    world.reports("a", 0, ProgressEvent::ToolCallStarted { task: Some(task("a")), call, tool, parameters: Default::default() });
    world.wants(vec![LeadCommand::HoldTask { task: task("a") }]).done("a");
    assert_eq!(world.status("a"), TaskStatus::Completed);
    assert_eq!(world.woken().wake.refused, ["`a` was not held: its work had ended"]);
    world.replayed();
}

#[test]
fn the_call_of_a_tool_task_is_not_held() {
    let mut world = World::led();
    world.submits("a=look; b").fails_for_good("b");
    world.wants(vec![LeadCommand::HoldTask { task: task("a") }]);
    assert_eq!((world.status("a"), world.open().as_str()), (TaskStatus::Running, "a lead refused"));
    assert_eq!(world.woken().wake.refused, ["`a` was not held: its one call is under way"]);
    world.lead_answers("so be it").done("a");
    assert_eq!(world.status("a"), TaskStatus::Completed);
    world.replayed();
}

#[test]
fn a_success_is_refused_while_the_lead_holds_a_task() {
    let mut world = World::led();
    world.submits("a; b; c: a").fails_for_good("b");
    world.wants(vec![LeadCommand::HoldTask { task: task("a") }]);
    world.changes(vec![PlanChange::RemoveTask { id: task("b"), reason: String::new() }]);
    for _ in 0..2 {
        world.concludes(conclusion(Outcome::Success, None, None));
        let wake = world.woken().wake;
        assert_eq!((wake.kind, world.status("a"), world.status("c")), (WakeKind::Refused, TaskStatus::Blocked, TaskStatus::Pending));
        assert!(wake.refused[0].contains("(held by you: `a`; waiting: `c`)"), "{:?}", wake.refused);
    }
    world.wants(vec![LeadCommand::ReleaseTask { task: task("a") }]).done("a");
    assert_eq!(world.status("c"), TaskStatus::Running);
    world.replayed();
}
