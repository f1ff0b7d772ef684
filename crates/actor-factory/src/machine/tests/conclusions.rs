//! Forms of `terminate` and their effect on the task.

use aime_progress_management::{CommandCheck, FailureCause, Outcome};
use serde_json::json;

use super::support::{Play, call, input, write};

// Requirement: 4.14
#[test]
fn checks_and_needs_are_part_of_the_conclusion() {
    let mut play = Play::start(input());
    let checks = json!([{"command": "make test", "expect": "exit 0"}, {"command": "true"}]);
    play.calls(vec![call("a", "terminate", &json!({"status": "success", "message": "built", "checks": checks}))]);
    let conclusion = play.output.unwrap();
    assert_eq!(conclusion.checks, [CommandCheck::new("make test"), CommandCheck::new("true")]);
    assert_eq!((conclusion.outcome, conclusion.needs, conclusion.cause), (Outcome::Success, None, None));

    let mut play = Play::start(input());
    play.calls(vec![call("a", "terminate", &json!({"status": "blocked", "message": "no key", "needs": "the key of the server"}))]);
    let conclusion = play.output.unwrap();
    assert_eq!(conclusion.needs.as_deref(), Some("the key of the server"));
    assert_eq!(conclusion.error.as_ref().map(ToString::to_string).as_deref(), Some("no key (needs: the key of the server)"));
}

// Requirement: 6.1
#[test]
fn a_reported_failure_says_why_nobody_need_try_again() {
    let table = [
        ("failure", false, false, Some(FailureCause::Reported)),
        ("blocked", false, false, Some(FailureCause::Blocked)),
        ("failure", true, false, None),
        ("blocked", true, false, None),
        ("failure", false, true, Some(FailureCause::Denied)),
        // A person can give what is named as missing, such as a right.
        ("blocked", false, true, Some(FailureCause::Blocked)),
        ("blocked", true, true, Some(FailureCause::Denied)),
    ];
    for (status, retry_reported_failures, denied, expected) in table {
        let mut of_class = input();
        of_class.class.retry_reported_failures = retry_reported_failures;
        if denied {
            of_class.spec.approval = aime_tools::Approval::ReadOnly;
        }
        let mut play = Play::start(of_class);
        if denied {
            play.calls(vec![write("a", "1")]);
        }
        play.calls(vec![call("b", "terminate", &json!({"status": status, "message": "m"}))]);
        let conclusion = play.output.unwrap();
        assert_eq!((conclusion.outcome, conclusion.cause), (Outcome::Failure, expected), "{status} {retry_reported_failures} {denied}");
        assert_eq!(conclusion.cause.is_some_and(FailureCause::is_final), expected.is_some());
    }
}
