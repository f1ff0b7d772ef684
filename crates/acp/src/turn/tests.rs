use std::collections::BTreeSet;

use aime_durable::Recorded;
use aime_orchestrator::{RunFailure, RunMachine, RunOutput, RunRequest, view_from_facts};
use aime_progress_management::{CostByRole, ModelCost, ProgressEvent, RunStatus, Timestamp};
use aime_tools::{PermissionRules, RuleLists};

use super::*;

/// Returns a run that was suspended in this state.
fn left(code: Option<FailureCode>, over: bool, question: Option<&str>) -> RunView {
    let request = RunRequest::new(RunId::new("run").unwrap(), "goal");
    let input = RunMachine::input(request, Vec::new(), PermissionRules::at("/work", RuleLists::default()).unwrap());
    let mut seen = view_from_facts(Recorded { at: 0, fact: input }, &[]);
    let state = &mut seen.state;
    if let Some(question) = question {
        let id = QuestionId::new(question).unwrap();
        let asked = ProgressEvent::QuestionAsked { id, task: None, kind: "question".to_owned(), question: "Which?".into() };
        state.apply(Timestamp::from_millis(1), &asked).unwrap();
    }
    let error = code.map(|code| RunFailure::new(code, "", None));
    (seen.output, seen.is_over) = (Some(RunOutput { status: RunStatus::Executing, error }), over);
    seen
}

// Requirement: 8.26
#[test]
fn a_prompt_begins_answers_or_goes_on() {
    use FailureCode as C;

    let answer = Next::Answer(QuestionId::new("q").unwrap());
    let mut unended = left(None, false, None);
    unended.output = None;
    for (last, expected) in [
        (None, Next::Start),
        (Some(left(None, true, None)), Next::Start),
        (Some(left(Some(C::GoalNotReached), true, None)), Next::Start),
        (Some(left(Some(C::BoundReached), false, None)), Next::Start),
        (Some(left(Some(C::WaitingForHuman), false, Some("q"))), answer),
        (Some(left(Some(C::WaitingForHuman), false, None)), Next::Say),
        (Some(left(Some(C::Interrupted), false, None)), Next::Say),
        // It was stopped while a question was open: the prompt is no answer to it, and it is asked again.
        (Some(left(Some(C::Interrupted), false, Some("q"))), Next::Say),
        (Some(left(Some(C::ModelUnavailable), false, None)), Next::Say),
        (Some(unended), Next::Say),
    ] {
        assert_eq!(next(last.as_ref(), SessionChoices::default()), expected, "{:?}", last.and_then(|last| last.output));
    }
}

/// The journal keeps images of goals only.
#[test]
fn only_a_goal_takes_images() {
    let image = || aime_llm::Image::from_base64("a", "R0lGODlhBQADAAAAAA==").unwrap();
    let answer = Next::Answer(QuestionId::new("q").unwrap());
    for (next, takes) in [(Next::Start, true), (Next::Continue, false), (answer, false), (Next::Say, false)] {
        let prompt = Prompt { text: "what is it?".to_owned(), images: vec![image()] };
        assert_eq!(next.clone().with(prompt, SessionChoices::default()).is_ok(), takes, "{next:?}");
    }
}

// Requirement: 1.10
#[test]
fn a_prompt_goes_on_with_a_run_that_has_ended_where_its_lead_remembers() {
    let ended = |takes_follow_up, led| {
        let mut seen = left(None, true, None);
        (seen.takes_follow_up, seen.led) = (takes_follow_up, led);
        seen
    };
    let began_with = SessionChoices { approval: ended(true, true).settings().approval, mode: ended(true, true).settings().mode };
    let other = SessionChoices { mode: Some(aime_progress_management::PlanMode::Complex), ..began_with };
    for (last, chosen, expected) in [
        (ended(true, true), began_with, Next::Continue),
        // The next run is to be worked on in another way than this one.
        (ended(true, true), other, Next::Start),
        (ended(true, false), began_with, Next::Start),
        (ended(false, true), began_with, Next::Start),
    ] {
        assert_eq!(next(Some(&last), chosen), expected, "{chosen:?} {} {}", last.takes_follow_up, last.led);
    }
}

#[test]
fn a_turn_ends_in_the_words_of_the_protocol() {
    let result = |code: Option<FailureCode>| RunResult {
        schema: String::new(),
        run_id: RunId::new("run").unwrap(),
        status: RunStatus::Completed,
        answer: String::new(),
        plan_version: 1,
        plan: None,
        tasks: Vec::new(),
        criteria: Vec::new(),
        amended: Vec::new(),
        conflicts: Vec::new(),
        replans: 0,
        usage: ModelCost::default(),
        usage_by: CostByRole::default(),
        duration_ms: 0,
        error: code.map(|code| RunFailure { hint: Some("do this".into()), ..RunFailure::new(code, "so it is", None) }),
        notes: Vec::new(),
    };
    let message = |text: &str| Some(text.to_owned());
    for (code, bound, expected) in [
        (None, None, Ending::Stop(StopReason::EndTurn, None)),
        (Some(FailureCode::WaitingForHuman), None, Ending::Stop(StopReason::EndTurn, None)),
        (Some(FailureCode::Interrupted), None, Ending::Stop(StopReason::Cancelled, None)),
        (Some(FailureCode::Cancelled), None, Ending::Stop(StopReason::Cancelled, None)),
        (Some(FailureCode::BoundReached), Some("tokens"), Ending::Stop(StopReason::MaxTokens, message("so it is"))),
        (Some(FailureCode::BoundReached), Some("steps"), Ending::Stop(StopReason::MaxTurnRequests, message("so it is"))),
        (Some(FailureCode::BoundReached), Some("money"), Ending::Stop(StopReason::EndTurn, message("so it is"))),
        (Some(FailureCode::GoalNotReached), None, Ending::Stop(StopReason::EndTurn, message("so it is\n(do this)"))),
        (Some(FailureCode::ModelUnavailable), None, Ending::Fault("so it is\n(do this)".to_owned())),
        (Some(FailureCode::Internal), None, Ending::Fault("so it is\n(do this)".to_owned())),
    ] {
        assert_eq!(ending(&result(code), bound), expected, "{code:?}");
    }
}

#[test]
fn a_session_knows_its_runs_by_their_names() {
    let session = RunId::new("018f").unwrap();
    let known = |run: &str| KnownRun { run: RunId::new(run).unwrap(), goal: String::new(), updated: String::new() };
    let others = ["018", "018f2", "018f-1", "018f-02", "018f-x", "018f--2", "x-018f"];
    let runs: Vec<KnownRun> = ["018f-10", "018f-2", "018f"].into_iter().chain(others).map(known).collect();
    let found = runs_of(&session, &runs);
    assert_eq!(found.iter().map(RunId::as_str).collect::<Vec<_>>(), ["018f", "018f-2", "018f-10"]);
    let names: BTreeSet<_> = (1..=20).map(|number| run_name(&session, number).unwrap()).collect();
    assert_eq!(names.len(), 20);
    for (number, name) in (1..=20).map(|number| (number, run_name(&session, number).unwrap())) {
        assert_eq!(place(&session, &name), Some(number));
    }
}
