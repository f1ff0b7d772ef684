//! A program that imports this crate alone: a task that fails triggers a replan once its retries are used up.

use aime_replan_triggers::progress::{
    AfterFailure, Conclusion, Plan, ProgressEvent, ProgressState, StatusChange, TaskId, TaskSpec, TaskStatus, Timestamp,
};
use aime_replan_triggers::{TriggerSettings, evaluate};

#[test]
fn a_task_triggers_after_its_retries() -> Result<(), Box<dyn std::error::Error>> {
    let (now, settings, task) = (Timestamp::from_millis(0), TriggerSettings::default(), TaskId::new("prices")?);
    let plan = Plan::new("Open the shop", [TaskSpec::actor(task.clone(), "Fetch the prices")]);
    let mut state = ProgressState::new("shop".parse()?, "Open the shop", now);
    state.apply(now, &ProgressEvent::PlanCreated { plan, repairs: Vec::new(), fallback: None })?;
    let mut attempts = Vec::new();
    for _ in 0..=settings.max_retries {
        state.settle_all(now)?;
        state.advance(now, &StatusChange::new(task.clone(), TaskStatus::Running))?;
        let (after, _) = state.fail(now, &task, Conclusion::failure("no answer"), settings.max_retries)?;
        attempts.push((after, evaluate(&state, now, None, &settings).len()));
    }
    assert_eq!(attempts, [(AfterFailure::Retry, 0), (AfterFailure::Retry, 0), (AfterFailure::ForGood, 1)]);
    Ok(())
}
