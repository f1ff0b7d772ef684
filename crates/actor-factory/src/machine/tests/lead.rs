//! Tests of the lead: it looks around, rests on its plan calls, and continues when the run wakes it.

use aime_durable::{EffectId, Machine, Outbox, Reason};
use aime_llm::{ChatResponse, FinishReason};
use aime_progress_management::{FailureCause, LeadCommand, Outcome, ProgressEvent};
use aime_tools::{Executor, ToolScope};
use serde_json::json;

use super::support::{Play, answer, call, input, read, terminate, tool_spec, write};
use crate::{ActorFact, ActorInput, LeadRest, LeadSettings, LeadWake, machine::ActorStatus};

pub(super) fn lead(must_plan: bool) -> ActorInput {
    let mut input = input();
    input.plain_answer_ends = !must_plan;
    input.lead = Some(LeadSettings { must_plan, look_tokens: None });
    for name in ["hold_task", "read_result"] {
        let parameters = json!({"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]});
        super::support::give(&mut input, tool_spec(name, true, ToolScope::Nothing, Executor::Run, parameters));
    }
    input
}

pub(super) fn wake(number: u32, text: &str) -> ActorFact {
    ActorFact::Woken {
        wake: LeadWake { number, text: text.into(), may_write: false, works: false, kept: "the goal".into(), origins: vec![] },
    }
}

pub(super) fn plan_call_read(id: EffectId, command: Option<LeadCommand>, text: Option<&str>, refused: bool) -> ActorFact {
    ActorFact::PlanCallRead { id, text: text.map(str::to_owned), refused, command, origins: Vec::new() }
}

fn read_call(id: &str, command: Option<LeadCommand>, text: Option<&str>, refused: bool) -> ActorFact {
    plan_call_read(EffectId::new(id), command, text, refused)
}

pub(super) fn hold(task: &str) -> LeadCommand {
    LeadCommand::HoldTask { task: task.parse().unwrap() }
}

pub(super) fn hold_call(id: &str, task: &str) -> aime_llm::ToolCall {
    call(id, "hold_task", &json!({"task": task}))
}

#[test]
fn the_next_wake_is_the_result_of_an_accepted_call() {
    let mut play = Play::start(lead(true));
    play.calls(vec![read("r", "a.txt")]).tool("lead/chat/1/1", "text");
    play.calls(vec![hold_call("h", "one"), hold_call("i", "two")]);
    assert_eq!(play.open_ids(), ["lead/chat/2/1/plan1"], "calls of plan tools go one after the other");
    play.fact(read_call("lead/chat/2/1/plan1", Some(hold("one")), None, false));
    assert!(play.rest.is_none());
    play.fact(read_call("lead/chat/2/2/plan1", Some(hold("two")), None, false));
    let expected = LeadRest { wake: 1, commands: vec![hold("one"), hold("two")], ..LeadRest::default() };
    assert_eq!((play.rest.clone(), play.machine.status(), play.open.len()), (Some(expected), ActorStatus::Resting, 0));
    let requests = play.requests.len();
    play.fact(wake(2, "two tasks are held"));
    assert_eq!(play.results()[1..], ["h: Taken up, together with the call that follows.", "i: two tasks are held"]);
    assert_eq!((play.requests.len(), play.rest.is_some()), (requests + 1, false));
    play.fact(wake(2, "again"));
    assert_eq!(play.requests.len(), requests + 1, "a wake is taken once");
    assert!(play.events.iter().all(|event| !matches!(event, ProgressEvent::ToolCallStarted { task: Some(_), .. })));
}

#[test]
fn an_end_may_follow_an_accepted_call() {
    let mut play = Play::start(lead(true));
    play.calls(vec![hold_call("h", "one"), terminate("success", "done")]);
    assert!(play.rest.is_none());
    play.fact(read_call("lead/chat/1/1/plan1", Some(hold("one")), None, false));
    let rest = play.rest.clone().unwrap();
    assert_eq!((rest.commands, rest.conclusion.map(|end| end.outcome)), (vec![hold("one")], Some(Outcome::Success)));
    play.fact(wake(2, "one is held"));
    assert_eq!((play.results(), play.requests.len()), (vec!["h: one is held".to_owned(), "end: Received.".to_owned()], 2));
}

#[test]
fn looking_has_a_budget_of_tokens_in_each_wake() {
    for (must_plan, may_write, bounded) in [(true, false, true), (true, true, true), (false, false, true), (false, true, false)] {
        let mut input = lead(must_plan);
        input.lead = Some(LeadSettings { must_plan, look_tokens: Some(100) });
        let mut play = Play::start(input);
        play.calls(vec![hold_call("h", "one")]).fact(read_call("lead/chat/1/1/plan1", Some(hold("one")), None, false));
        let wake = LeadWake { number: 2, text: "look".into(), may_write, works: false, kept: String::new(), origins: vec![] };
        play.fact(ActorFact::Woken { wake });
        play.calls(vec![read("a", "a.txt")]).tool("lead/chat/2/1", &"many words ".repeat(50));
        play.calls(vec![read("b", "b.txt")]);
        assert_eq!(!play.open_ids().contains(&"lead/chat/3/1"), bounded, "{must_plan} {may_write}: {:?}", play.results());
        if bounded {
            let last = play.results().last().cloned().unwrap_or_default();
            assert_eq!(
                last,
                "b: Error: not run: the budget of this wake for looking, 100 tokens of results, is used up. Decide now with what you know"
            );
            let tools = |at: usize| play.requests[at].tools.clone();
            assert_eq!(tools(0), tools(play.requests.len() - 1), "the list of tools stays the same");
        }
    }
}

#[test]
fn a_refusal_goes_on_in_the_same_conversation_and_three_end_the_planning() {
    let mut play = Play::start(lead(true));
    for turn in 1..=3 {
        assert_eq!(play.requests.len(), turn);
        play.calls(vec![hold_call(&format!("h{turn}"), "no")]);
        play.fact(read_call(&format!("lead/chat/{turn}/1/plan1"), None, Some("there is no task `no`"), true));
    }
    assert_eq!(play.results()[0], "h1: Error: there is no task `no`");
    assert!(play.rest.as_ref().is_some_and(|rest| rest.gave_up && rest.commands.is_empty()), "{:?}", play.rest);
}

#[test]
fn three_unreadable_calls_end_the_planning() {
    let malformed = |id: &str| aime_llm::ToolCall { arguments: "task one, please".to_owned(), ..hold_call(id, "one") };
    let mut play = Play::start(lead(true));
    play.calls(vec![malformed("h1")]);
    play.calls(vec![hold_call("h2", "no")]);
    play.fact(read_call("lead/chat/2/1/plan1", None, Some("there is no task `no`"), true));
    assert!(play.rest.is_none(), "two in a row");
    play.calls(vec![malformed("h3")]);
    assert!(play.rest.as_ref().is_some_and(|rest| rest.gave_up && rest.commands.is_empty()), "{:?}", play.rest);
    let mut play = Play::start(lead(true));
    for turn in 1..=3 {
        play.calls(vec![call(&format!("r{turn}"), "read_file", &json!({}))]);
    }
    assert!(play.rest.is_none(), "only calls of plan tools count");
    play.calls(vec![hold_call("h", "one"), malformed("h1"), malformed("h2"), malformed("h3")]);
    play.fact(read_call("lead/chat/4/1/plan1", Some(hold("one")), None, false));
    let rest = play.rest.as_ref().unwrap();
    assert_eq!((rest.gave_up, rest.commands.clone()), (false, vec![hold("one")]), "an accepted call is not lost");
}

#[test]
fn several_refusals_in_one_turn_count_once() {
    let malformed = |id: &str| aime_llm::ToolCall { arguments: "task one, please".to_owned(), ..hold_call(id, "one") };
    let refused = |play: &mut Play, turn: usize, call: usize| {
        play.fact(read_call(&format!("lead/chat/{turn}/{call}/plan1"), None, Some("the task has settled"), true));
    };
    let mut play = Play::start(lead(true));
    play.calls(["a", "b", "c"].map(|id| hold_call(id, id)).to_vec());
    (1..=3).for_each(|call| refused(&mut play, 1, call));
    assert_eq!((play.rest.is_none(), play.open_ids()), (true, vec!["lead/chat/2"]), "the model sees the refusals");
    assert_eq!(play.results()[2], "c: Error: the task has settled");
    play.calls(["d", "e", "f"].map(malformed).to_vec());
    assert_eq!((play.rest.is_none(), play.open_ids()), (true, vec!["lead/chat/3"]), "the same for calls that cannot be read");
    // An answered query among refused calls is no refusal.
    play.calls(vec![hold_call("g", "one"), call("q", "read_result", &json!({"task": "one"}))]);
    refused(&mut play, 3, 1);
    play.fact(read_call("lead/chat/3/2/plan1", None, Some("sixty rows"), false));
    for turn in 4..=6 {
        assert!(play.rest.is_none(), "{turn}");
        play.calls(vec![hold_call(&format!("h{turn}"), "one"), malformed(&format!("m{turn}"))]);
        refused(&mut play, turn, 1);
    }
    assert!(play.rest.as_ref().is_some_and(|rest| rest.gave_up && rest.commands.is_empty()), "{:?}", play.rest);
}

// Requirement: 4.26
#[test]
fn the_todo_list_is_there_after_a_follow_up() {
    let lists = |play: &Play| {
        let lists = play.events.iter().filter_map(|event| match event {
            ProgressEvent::TodosChanged { items, .. } => Some(items.iter().map(|item| item.text.clone()).collect::<Vec<_>>()),
            _ => None,
        });
        lists.collect::<Vec<_>>()
    };
    let mut play = Play::start(lead(false));
    play.calls(vec![call("t", "todo", &json!({"items": [{"text": "wash"}, {"text": "dry"}]}))]);
    play.calls(vec![write("w", "a.txt")]).tool("lead/chat/2/1", "written");
    play.calls(vec![terminate("success", "washed")]);
    assert_eq!(lists(&play), [["wash", "dry"]]);
    let mut follow_up =
        LeadWake { number: 2, text: "and now dry".into(), may_write: true, works: false, kept: String::new(), origins: vec![] };
    play.fact(ActorFact::Woken { wake: follow_up.clone() });
    play.calls(vec![write("v", "b.txt")]).tool("lead/chat/4/1", "written");
    assert_eq!(lists(&play), [["wash", "dry"], ["wash", "dry"]], "its own work begins with the list");
    assert_eq!(play.machine.todos.len(), 2);
    play.calls(vec![terminate("success", "dried")]);
    follow_up.number = 3;
    play.fact(ActorFact::Woken { wake: follow_up });
    assert_eq!(play.machine.todos.len(), 2);
}

#[test]
fn words_end_the_first_wake_and_rest_in_later_ones() {
    let mut play = Play::start(lead(false));
    play.model(answer("Forty-two.", vec![]));
    let rest = play.rest.clone().unwrap();
    assert_eq!(rest.conclusion.as_ref().map(|end| (end.outcome, end.summary.as_str())), Some((Outcome::Success, "Forty-two.")));
    play.fact(wake(2, "and now?"));
    play.model(answer("Nothing to change.", vec![]));
    assert_eq!(play.rest, Some(LeadRest { wake: 2, answer: "Nothing to change.".into(), ..LeadRest::default() }));
}

#[test]
fn a_lead_that_must_plan_is_nudged_once() {
    let mut play = Play::start(lead(true));
    play.model(answer("I would do it so.", vec![]));
    assert_eq!((play.nudges(), play.rest.is_some()), (vec!["no_tool_call"], false));
    play.model(answer("I would do it so.", vec![]));
    assert_eq!(play.rest.as_ref().map(|rest| rest.answer.as_str()), Some("I would do it so."));
}

// An unusable answer of a worker is an end: `answers_that_are_none_end_in_a_failure`.
#[test]
fn an_unusable_answer_lets_the_lead_continue() {
    let with = |finish: FinishReason, content: &str| ChatResponse { finish, ..answer(content, vec![]) };
    let unread = || with(FinishReason::Stop, "<tool_call>");
    let cases = [
        (vec![with(FinishReason::ContentFilter, "")], "content filter"),
        (vec![with(FinishReason::ContentFilter, "<tool_call>")], "content filter"),
        (vec![with(FinishReason::Length, "a"), with(FinishReason::Length, "b")], "cut by the length limit"),
        (vec![unread(), with(FinishReason::Length, "<tool_call>")], "cut by the length limit"),
        (vec![with(FinishReason::Stop, ""), with(FinishReason::Stop, " ")], "empty answer twice"),
        (vec![unread(), unread()], "cannot be read"),
    ];
    for ((answers, expected), is_begun) in cases.iter().flat_map(|case| [(case, false), (case, true)]) {
        let mut play = Play::start(lead(true));
        let number = if is_begun { 2 } else { 1 };
        if is_begun {
            play.calls(vec![hold_call("h", "one")]).fact(read_call("lead/chat/1/1/plan1", Some(hold("one")), None, false));
            play.fact(wake(2, "two tasks run"));
        }
        for answer in answers {
            assert!(play.rest.is_none(), "{expected}");
            play.model(answer.clone());
        }
        let end = play.rest.clone().unwrap().conclusion.unwrap();
        assert!(end.can_continue() && end.error.as_ref().is_some_and(|error| error.to_string().contains(expected)), "{end:?}");
        assert_eq!((end.cause, play.machine.status(), play.open.len()), (Some(FailureCause::Model), ActorStatus::Resting, 0));
        let requests = play.requests.len();
        play.fact(wake(number + 1, "and now?"));
        assert_eq!((play.rest.is_none(), play.requests.len()), (true, requests + 1), "{expected}: the next wake continues it");
        play.calls(vec![terminate("success", "done")]);
        assert_eq!(play.rest.clone().unwrap().conclusion.map(|end| (end.outcome, end.text)), Some((Outcome::Success, None)), "{expected}");
    }
}

#[test]
fn it_works_for_main_from_its_first_change_on_and_not_while_tasks_run() {
    let mut play = Play::start(lead(false));
    play.calls(vec![write("w", "a.txt")]).tool("lead/chat/1/1", "written");
    let named = |event: &ProgressEvent| matches!(event, ProgressEvent::ToolCallStarted { task: Some(_), .. });
    assert!(play.events.iter().any(named));
    play.calls(vec![terminate("success", "done")]);
    assert!(play.rest.as_ref().is_some_and(|rest| rest.conclusion.is_some()));
    play.fact(wake(2, "more"));
    play.calls(vec![write("v", "b.txt")]);
    assert!(play.results().last().unwrap().starts_with("v: Error: not run: tasks of the plan are under way"), "{:?}", play.results());
}

#[test]
fn a_stop_before_a_plan_call_was_read_hands_it_on_again() {
    let mut play = Play::start(lead(true));
    play.calls(vec![hold_call("h", "one")]);
    play.fact(ActorFact::Stopped { why: Reason::Stopped }).acknowledge();
    assert_eq!(play.output.as_ref().map(|end| end.outcome), Some(Outcome::Interrupted));
    play.fact(ActorFact::Resumed {});
    assert_eq!(play.open_ids(), ["lead/chat/1/1/plan2"]);
    play.fact(read_call("lead/chat/1/1/plan2", Some(hold("one")), None, false));
    assert!(play.rest.is_some());
    play.fact(ActorFact::Stopped { why: Reason::Stopped });
    assert_eq!(play.output.as_ref().map(|end| end.outcome), Some(Outcome::Interrupted), "a stopped lead is no resting one");
    play.fact(ActorFact::Resumed {});
    assert_eq!(play.rest.as_ref().map(|rest| rest.commands.len()), Some(1));
}

#[test]
fn a_repeated_answer_changes_nothing() {
    let mut play = Play::start(lead(true));
    play.calls(vec![hold_call("h", "one")]);
    let fact = read_call("lead/chat/1/1/plan1", Some(hold("one")), None, false);
    play.fact(fact.clone());
    let before = serde_json::to_value(&play.machine).unwrap();
    let mut out = Outbox::default();
    play.machine.apply(9_000, &fact, &mut out);
    assert_eq!(serde_json::to_value(&play.machine).unwrap(), before);
    assert!(out.take().0.is_empty());
}

#[test]
fn read_results_are_answered_at_once() {
    let mut play = Play::start(lead(true));
    play.calls(vec![call("q", "read_result", &json!({"task": "one"}))]);
    play.fact(read_call("lead/chat/1/1/plan1", None, Some("sixty rows"), false));
    assert_eq!((play.results().last().unwrap().as_str(), play.requests.len()), ("q: sixty rows", 2));
}
