use std::fs;

use super::*;
use crate::Suite;

const PRINTED: &str = r#"{"schema":"aime.event/v1","time":"2026-11-24T00:20:27.257Z","type":"routed","mode":"simple"}
{"schema":"aime.event/v1","type":"plan_created","plan":{},"fallback":"no plan fits"}
{"schema":"aime.event/v1","type":"question_asked"}
not json
{"schema":"aime.result/v1","status":"completed","answer":"42","replans":2,"usage":{"requests":3,"input_tokens":100,"cached_input_tokens":40,"output_tokens":9,"cost_usd":0.5},"error":null}
"#;

fn outcome(printed: &str, code: Option<i32>, reached: bool) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("suite.toml"), "[[task]]\nname = \"t\"\ngoal = \"g\"\ncheck = \"true\"\n").unwrap();
    let suite = Suite::read(folder.path()).unwrap();
    let variant = Variant::default();
    let trial = Trial { task: suite.tasks.first().unwrap(), variant: &variant, repeat: 1 };
    Outcome::new(&trial, printed, code, 7).0.checked(reached)
}

#[test]
fn a_result_is_read_from_what_a_run_printed() {
    let outcome = outcome(PRINTED, Some(0), true);
    assert_eq!((outcome.requests, outcome.input_tokens, outcome.cached_input_tokens, outcome.output_tokens), (3, Some(100), 40, Some(9)));
    assert_eq!((outcome.replans, outcome.interventions, outcome.mode.as_deref(), outcome.answer.as_str()), (2, 1, Some("simple"), "42"));
    assert_eq!(outcome.fallback.as_deref(), Some("no plan fits"));
    assert_eq!(outcome.begun.as_deref(), Some("2026-11-24T00:20:27.257Z"));
    assert!(outcome.reached && outcome.claimed && outcome.failure.is_none(), "{outcome:?}");
}

// Requirement: 17.1
#[test]
fn what_counts_is_the_check() {
    for (printed, code, failure) in [
        (PRINTED, Some(0), Failure::FalseClaim),
        (PRINTED, Some(1), Failure::GivenUp),
        ("", Some(2), Failure::Usage),
        ("", Some(3), Failure::Model),
        (PRINTED, Some(4), Failure::Bound),
        (PRINTED, Some(5), Failure::Waiting),
        ("", Some(6), Failure::Fault),
        ("", Some(0), Failure::Fault),
        ("", None, Failure::Fault),
    ] {
        assert_eq!(outcome(printed, code, false).failure, Some(failure), "{code:?}");
    }
    let unknowing = outcome(PRINTED, Some(1), true);
    assert!(unknowing.reached && !unknowing.claimed && unknowing.failure.is_none());
}

// Requirement: 17.3
#[test]
fn a_log_is_gone_on_with_and_a_torn_line_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trials.jsonl");
    let mut log = OutcomeLog::open(&path).unwrap();
    log.add(outcome(PRINTED, Some(0), true)).unwrap();
    log.add(Outcome { repeat: 2, ..outcome(PRINTED, Some(0), true) }).unwrap();
    drop(log);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let mut log = OutcomeLog::open(&path).unwrap();
    assert_eq!(log.outcomes().iter().map(|outcome| outcome.repeat).collect::<Vec<_>>(), [1]);
    log.add(Outcome { repeat: 2, ..outcome(PRINTED, Some(0), true) }).unwrap();
    drop(log);
    assert_eq!(fs::read(&path).unwrap(), whole);
    fs::write(&path, [b"{}\n", whole.as_slice()].concat()).unwrap();
    assert!(OutcomeLog::open(&path).unwrap_err().to_string().contains("line 1"));
}

#[test]
fn a_long_answer_is_cut_between_letters() {
    assert_eq!(cut(&"é".repeat(KEPT)).chars().count(), KEPT / 2);
    assert_eq!(cut("short"), "short");
}
