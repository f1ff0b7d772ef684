use aime_durable::Recorded;
use aime_orchestrator::{RunMachine, RunOutput, RunRequest, view_from_facts};
use aime_progress_management::{CostByRole, ModelCost, ProgressEvent, RunStatus, Timestamp};
use aime_tools::{Approval, PermissionRules, RuleLists};

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

/// Returns the effect of a prompt that answers a question of this kind.
fn answer(kind: &str) -> Next {
    Next::Answer { question: QuestionId::new("q").unwrap(), kind: kind.to_owned() }
}

/// Returns a run that was suspended by a bound, with this next step.
fn bounded(next: NextStep) -> RunView {
    let mut seen = left(None, false, None);
    let error = Some(RunFailure::new(FailureCode::BoundReached, "", Some(next)));
    seen.output = Some(RunOutput { status: RunStatus::Executing, error });
    seen
}

// Requirement: 8.26
#[test]
fn a_prompt_begins_answers_or_goes_on() {
    use FailureCode as C;

    let answer = answer("question");
    let mut unended = left(None, false, None);
    unended.output = None;
    for (last, expected) in [
        (None, Next::Start),
        (Some(left(None, true, None)), Next::Start),
        (Some(left(Some(C::GoalNotReached), true, None)), Next::Start),
        (Some(left(Some(C::BoundReached), false, None)), Next::Start),
        (Some(bounded(NextStep::RaiseBound { bound: "tokens".to_owned(), run: None })), Next::Start),
        (Some(bounded(NextStep::AwaitQuota { run: None })), Next::Say),
        (Some(left(Some(C::WaitingForHuman), false, Some("q"))), answer),
        (Some(left(Some(C::WaitingForHuman), false, None)), Next::Say),
        (Some(left(Some(C::Interrupted), false, None)), Next::Say),
        // It was stopped while a question was open: the prompt is no answer to it, and it is asked again.
        (Some(left(Some(C::Interrupted), false, Some("q"))), Next::Say),
        (Some(left(Some(C::ModelUnavailable), false, None)), Next::Say),
        (Some(unended), Next::Say),
    ] {
        assert_eq!(next(last.as_ref(), SessionChoices::default()), expected, "{:?}", last.and_then(|last| last.output));
        // A resumed run keeps the approval mode that it began with.
        let stricter = SessionChoices { approval: Approval::ReadOnly, ..SessionChoices::default() };
        assert_eq!(next(last.as_ref(), stricter), Next::Start, "{expected:?}");
    }
}

/// A stricter mode must hold for what follows; a freer one holds from the next run on.
#[test]
fn a_freer_mode_leaves_an_answer_to_its_question() {
    let answer = answer("question");
    let mut waiting = left(Some(FailureCode::WaitingForHuman), false, Some("q"));
    for (approval, expected) in
        [(Approval::Edits, answer.clone()), (Approval::All, answer), (Approval::Ask, Next::Start), (Approval::ReadOnly, Next::Start)]
    {
        assert_eq!(next(Some(&waiting), SessionChoices { approval, mode: None }), expected, "{approval:?}");
    }
    waiting.is_over = true;
    assert_eq!(next(Some(&waiting), SessionChoices { approval: Approval::All, mode: None }), Next::Start);
}

#[test]
fn only_an_answer_may_be_empty() {
    for (next, takes) in [
        (Next::Start, false),
        (Next::Continue, false),
        (Next::Say, false),
        (answer("question"), false),
        (answer("approval"), false),
        (answer("criterion"), false),
        (answer("blocked"), true),
        (answer("escalation"), true),
    ] {
        let prompt = Prompt { text: String::new(), images: Vec::new() };
        assert_eq!(next.clone().with(prompt, SessionChoices::default()).is_ok(), takes, "{next:?}");
    }
}

/// The journal keeps images of goals only.
#[test]
fn only_a_goal_takes_images() {
    let image = || aime_llm::Image::from_base64("a", "R0lGODlhBQADAAAAAA==").unwrap();
    let answer = answer("question");
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
    let result = |code: Option<FailureCode>, next: Option<NextStep>| RunResult {
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
        error: code.map(|code| RunFailure { hint: Some("do this".into()), ..RunFailure::new(code, "so it is", next) }),
        notes: Vec::new(),
    };
    let message = |text: &str| Some(text.to_owned());
    let raise = |bound: &str| Some(NextStep::RaiseBound { bound: bound.to_owned(), run: None });
    for (code, next, expected) in [
        (None, None, Ending::Stop(StopReason::EndTurn, None)),
        (Some(FailureCode::WaitingForHuman), None, Ending::Stop(StopReason::EndTurn, None)),
        (Some(FailureCode::Interrupted), None, Ending::Stop(StopReason::Cancelled, None)),
        (Some(FailureCode::Cancelled), None, Ending::Stop(StopReason::Cancelled, None)),
        (Some(FailureCode::BoundReached), raise("tokens"), Ending::Stop(StopReason::MaxTokens, message("so it is"))),
        (Some(FailureCode::BoundReached), raise("tool_calls"), Ending::Stop(StopReason::MaxTurnRequests, message("so it is"))),
        (Some(FailureCode::BoundReached), raise("actors"), Ending::Stop(StopReason::MaxTurnRequests, message("so it is"))),
        (Some(FailureCode::BoundReached), Some(NextStep::AllowSteps {}), Ending::Stop(StopReason::MaxTurnRequests, message("so it is"))),
        (Some(FailureCode::BoundReached), raise("money"), Ending::Stop(StopReason::EndTurn, message("so it is"))),
        (Some(FailureCode::BoundReached), raise("time"), Ending::Stop(StopReason::EndTurn, message("so it is"))),
        (
            Some(FailureCode::BoundReached),
            Some(NextStep::AwaitQuota { run: None }),
            Ending::Stop(StopReason::EndTurn, message("so it is\n(do this)")),
        ),
        (Some(FailureCode::GoalNotReached), None, Ending::Stop(StopReason::EndTurn, message("so it is\n(do this)"))),
        (Some(FailureCode::ModelUnavailable), None, Ending::Fault("so it is\n(do this)".to_owned())),
        (Some(FailureCode::Internal), None, Ending::Fault("so it is\n(do this)".to_owned())),
    ] {
        assert_eq!(ending(&result(code, next.clone())), expected, "{code:?} {next:?}");
    }
}

#[test]
fn a_session_knows_its_runs_by_their_names() {
    let session = RunId::new("release").unwrap();
    let known = |run: &str| KnownRun { run: RunId::new(run).unwrap(), goal: String::new(), updated: String::new() };
    let others = ["rel", "release2", "release-2", "release-acp-run-1", "release-acp-run-02", "release-acp-run-x", "x-release-acp-run-2"];
    let own = ["release-acp-run-10", "release-acp-run-2", "release"];
    let runs: Vec<KnownRun> = own.into_iter().chain(others).map(known).collect();
    let found = runs_of(&session, &runs);
    assert_eq!(found.iter().map(RunId::as_str).collect::<Vec<_>>(), ["release", "release-acp-run-2", "release-acp-run-10"]);
    let mut names = Vec::new();
    for number in 1..=20 {
        let name = next_run_name(&session, &names).unwrap();
        assert_eq!(place(&session, &name), Some(number));
        names.push(name);
    }
}

/// Runs of a session can be deleted one by one.
#[test]
fn the_next_run_has_a_name_of_its_own() {
    let session = RunId::new("018f").unwrap();
    for (runs, next) in [
        (vec![], "018f"),
        (vec!["018f"], "018f-acp-run-2"),
        (vec!["018f", "018f-acp-run-3"], "018f-acp-run-4"),
        (vec!["018f-acp-run-2"], "018f-acp-run-3"),
    ] {
        let runs: Vec<RunId> = runs.into_iter().map(|run| RunId::new(run).unwrap()).collect();
        assert_eq!(next_run_name(&session, &runs).unwrap().as_str(), next);
    }
    let long = RunId::new("x".repeat(aime_progress_management::MAX_ID_BYTES)).unwrap();
    assert_eq!(next_run_name(&long, std::slice::from_ref(&long)), None);
}
