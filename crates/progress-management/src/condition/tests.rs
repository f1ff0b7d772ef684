use serde_json::json;

use super::*;
use crate::{TaskStatus, testing::*};

fn known() -> ProgressState {
    let mut state = state_of(specs("a\nb\nc\nd\nundo"), vec![edge("d", "undo", crate::EdgeType::Rollback)]);
    state.conclude("a", done("TODO in two files", json!({"count": 2, "name": "x y", "tags": ["red", 5], "ok": true, "ratio": "0.5"})));
    state.conclude("b", done(" 12 ", Value::Null));
    state.failed("c", true);
    state.failed("d", true).complete("undo");
    state
}

// Requirement: 3.12
#[test]
fn conditions_hold_or_not() {
    let state = known();
    assert_eq!(state.status("c"), TaskStatus::Failed);
    let cases = [
        ("@{steps.a.result.count} > 0", true),
        ("@{steps.a.result.count} >= 2", true),
        ("@{steps.a.result.count} < 2", false),
        ("@{steps.a.result.count} <= 2", true),
        ("@{steps.a.result.count} == 2.0", true),
        ("@{steps.a.result.count} = 2", true),
        ("@{steps.a.result.count} == '2'", true),
        ("@{steps.a.result.count} != 2", false),
        ("@{steps.a.result.count} > -1", true),
        ("@{steps.a.result.ratio} < 1", true),
        ("1 < @{steps.a.result.count}", true),
        ("@{steps.b.result} == 12", true),
        ("@{steps.b.result} > 9", true),
        ("@{steps.a.status} == completed", true),
        ("@{steps.a.status} == 'completed'", true),
        ("@{steps.c.status} == failed", true),
        ("@{steps.c.status} != completed", true),
        ("@{steps.a.status} == Completed", true),
        ("@{steps.a.status} == 'SUCCESS'", true),
        ("done == @{steps.a.status}", true),
        ("@{steps.a.status} != succeeded", false),
        ("@{steps.a.status} == failure", false),
        ("@{steps.c.status} == error", true),
        ("@{steps.c.status} contains fail", true),
        ("@{steps.d.status} == failed", true),
        ("@{steps.d.status} != failed", false),
        ("@{steps.d.status} == 'rolled back'", true),
        ("@{steps.c.status} == rolled_back", false),
        ("@{steps.zz.status} == failed", false),
        ("@{steps.zz.status} != failed", true),
        ("@{steps.a.result.name} == \"x y\"", true),
        ("@{steps.a.result.ok}", true),
        ("@{steps.a.result.ok} == true", true),
        ("not @{steps.a.result.ok}", false),
        ("!@{steps.a.result.ok}", false),
        ("@{steps.a.result.missing}", false),
        ("@{steps.a.result.missing} == null", true),
        ("@{steps.a.result.missing} > 0", false),
        ("@{steps.zz.result} == null", true),
        ("@{steps.a.result.tags} contains red", true),
        ("@{steps.a.result.tags} contains 5", true),
        ("@{steps.a.result.tags} contains re", false),
        ("@{steps.a.result.tags} not contains blue", true),
        ("@{steps.a.result.name} contains 'x'", true),
        ("@{steps.a.result} contains count", true),
        ("@{steps.a.result} contains TODO", true),
        ("@{steps.a.result} contains nothing-like-it", false),
        ("@{steps.b.result} contains '12'", true),
        ("@{steps.a.result.count} > 0 and @{steps.b.result} == 13", false),
        ("@{steps.a.result.count} > 0 AND @{steps.b.result} == 12", true),
        ("@{steps.a.result.count} > 5 or @{steps.b.result} == 12", true),
        ("@{steps.a.result.count} > 5 || @{steps.b.result} == 12 && false", false),
        ("not (@{steps.a.result.count} > 5 or @{steps.b.result} == 13)", true),
        ("(@{steps.a.result.count} > 0) and (true)", true),
        ("@{steps.a.result.count}>1", true),
        ("true", true),
        ("0", false),
        ("''", false),
    ];
    for (text, expected) in cases {
        let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(condition.holds(&state), expected, "{text}");
        assert_eq!(condition.to_string(), text);
    }
}

#[test]
fn bad_conditions_say_what_is_wrong() {
    let deep = format!("{}true", "not ".repeat(40));
    let cases = [
        ("", "a value is missing at the end"),
        ("@{steps.a.result} >", "a value is missing at the end"),
        ("> 3", "a value is missing before an operator"),
        ("(@{steps.a.result} > 3", "a `)` is missing"),
        ("@{steps.a.result} > 3)", "`)` is unexpected there"),
        ("@{steps.a.result} 3", "`3` is unexpected there"),
        ("@{steps.a.result} > 'x", "the quote in `'x` is not closed"),
        ("@{steps.a.output} > 3", "`@{steps.a.output}` is not a reference"),
        ("@@{x} > 3", "`@@{` has no meaning here"),
        ("@{steps.a.result} & 3", "`&` has no meaning here"),
        ("@{steps.a.result} not 3", "`not` stands after a value; write `not contains`"),
        ("1 < 2 < 3", "an operator is unexpected there"),
        (deep.as_str(), "it is nested more than 32 deep"),
    ];
    for (text, expected) in cases {
        assert_eq!(Condition::parse(text).unwrap_err().problem, expected, "{text}");
    }
}

#[test]
fn a_condition_says_what_it_is_about() {
    let condition = Condition::parse("@{steps.a.status} == failed or @{steps.b.result.x} > 1").unwrap();
    let tasks: Vec<&str> = condition.references().iter().map(|reference| reference.task.as_str()).collect();
    assert_eq!(tasks, ["a", "b"]);
    assert!(condition.asks_status_of(&id("a")));
    assert!(!condition.asks_status_of(&id("b")));
}
