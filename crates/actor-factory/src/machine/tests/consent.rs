//! Permission to call: rules, consent of a person, and nobody to ask.

use aime_progress_management::{FailureCause, Outcome, ProgressEvent};
use aime_tools::{Approval, RuleLists};
use serde_json::json;

use super::support::{Play, call, delegating, input, terminate, write};
use crate::ActorInput;

#[test]
fn permission_comes_before_the_call() {
    let cases = [
        (Approval::All, true, vec!["t/1/1/1"], ""),
        (Approval::Edits, true, vec!["t/1/1/1/ask1"], ""),
        (Approval::Edits, false, vec!["t/1/2"], "a: Error: not allowed: nobody is there to answer"),
        (Approval::ReadOnly, true, vec!["t/1/2"], "a: Error: `bash` may change something"),
    ];
    for (approval, attended, open, result) in cases {
        let mut input = ActorInput { attended, ..input() };
        input.spec.approval = approval;
        let mut play = Play::start(input);
        play.calls(vec![call("a", "bash", &json!({"command": "ls"}))]);
        assert_eq!(play.open_ids(), open, "{approval:?} {attended}");
        assert!(play.results().first().is_none_or(|r| r.starts_with(result)), "{:?}", play.results());
    }
}

#[test]
fn only_a_clear_yes_is_consent() {
    let cases = [
        ("yes", true),
        ("Y", true),
        ("OK.", true),
        ("可以", true),
        ("always", true),
        ("no", false),
        ("", false),
        ("yes but not now", false),
    ];
    for (words, runs) in cases {
        let mut asking = input();
        asking.spec.approval = Approval::Ask;
        let mut play = Play::start(asking);
        play.calls(vec![write("a", "1")]).person("t/1/1/1/ask1", words);
        assert_eq!(play.open_ids() == ["t/1/1/1"], runs, "{words}: {:?}", play.open_ids());
        if !runs {
            assert_eq!(play.results(), [format!("a: Error: the user refused: {words}")]);
        }
    }
    let mut asking = input();
    asking.spec.approval = Approval::Ask;
    let mut play = Play::start(asking);
    play.calls(vec![write("a", "1"), write("b", "2")]).person("t/1/1/1/ask1", "always").tool("t/1/1/1", "ok");
    assert_eq!(play.open_ids(), ["t/1/1/2"], "a tool that is always allowed is not asked for again");
}

// Requirement: 13.7
#[test]
fn always_is_for_what_the_question_says_and_is_told() {
    let mut asking = input();
    asking.spec.approval = Approval::Edits;
    let mut play = Play::start(asking);
    let bash = |id: &str, command: &str| call(id, "bash", &json!({"command": command}));
    play.calls(vec![bash("a", "git log -1"), bash("b", "git log -2"), bash("c", "git push")]).person("t/1/1/1/ask1", "always");
    let asked = play
        .events
        .iter()
        .find_map(|event| if let ProgressEvent::QuestionAsked { question, .. } = event { Some(question.to_string()) } else { None });
    assert_eq!(asked.as_deref(), Some("Run this command?\n    git log -1\nAlways allows here: `bash(git log *)`"));
    let given =
        play.events.iter().find_map(|event| if let ProgressEvent::ConsentGiven { rules, .. } = event { Some(rules.clone()) } else { None });
    assert_eq!(given, Some(vec!["bash(git log *)".to_owned()]));
    play.tool("t/1/1/1", "ok").tool("t/1/1/2", "ok");
    assert_eq!(play.open_ids(), ["t/1/1/3/ask1"], "another command is asked for");
}

#[test]
fn rules_deny_and_ask_whatever_a_person_has_allowed() {
    let lists =
        RuleLists { ask: vec!["bash(git push *)".parse().unwrap()], deny: vec!["bash(rm *)".parse().unwrap()], ..RuleLists::default() };
    let mut asking = input();
    (asking.spec.approval, asking.spec.rules) = (Approval::All, asking.spec.rules.with_lists(lists));
    let mut play = Play::start(asking);
    let bash = |id: &str, command: &str| call(id, "bash", &json!({"command": command}));
    play.calls(vec![bash("a", "rm x"), bash("b", "git push"), bash("c", "git push")])
        .person("t/1/1/2/ask1", "always")
        .tool("t/1/1/2", "ok");
    assert_eq!(play.open_ids(), ["t/1/1/3/ask1"], "what a rule asks is asked each time");
    assert!(!play.events.iter().any(|event| matches!(event, ProgressEvent::ConsentGiven { .. })));
    play.person("t/1/1/3/ask1", "no");
    assert_eq!(play.results()[0], "a: Error: `bash` is denied here by the rule `bash(rm *)`");
}

#[test]
fn another_actor_may_be_denied_by_rule() {
    let mut input = delegating();
    let deny = vec!["delegate_task".parse().unwrap()];
    input.spec.rules = input.spec.rules.with_lists(RuleLists { deny, ..RuleLists::default() });
    let mut play = Play::start(input);
    play.calls(vec![call("a", "delegate_task", &json!({"description": "all of it"}))]);
    assert_eq!(play.results(), ["a: Error: `delegate_task` is denied here by the rule `delegate_task`"]);
}

#[test]
fn a_failure_after_a_refusal_says_so() {
    let mut input = input();
    input.spec.approval = Approval::ReadOnly;
    let mut play = Play::start(input);
    play.calls(vec![write("a", "1")]).calls(vec![terminate("failure", "may not write")]);
    let conclusion = play.output.unwrap();
    assert_eq!((conclusion.outcome, conclusion.cause), (Outcome::Failure, Some(FailureCause::Denied)));
}

#[test]
fn nobody_is_asked_when_nobody_is_there() {
    let mut play = Play::start(ActorInput { attended: false, ..input() });
    play.calls(vec![call("a", "ask_human", &json!({"question": "Which?"}))]);
    assert_eq!(play.results(), ["a: Nobody is available to answer. Decide yourself and go on."]);
}
