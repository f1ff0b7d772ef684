//! Tests the answers to calls whose file changes were rejected.

use super::*;

#[test]
fn a_call_whose_changes_are_left_out_failed_and_one_in_doubt_stays_so() {
    for (outcome, lost, stays, expected) in [
        (CallOutcome::Ok, false, true, CallOutcome::Error),
        (CallOutcome::Ok, true, true, CallOutcome::Error),
        (CallOutcome::Error, true, true, CallOutcome::Error),
        (CallOutcome::InDoubt, true, true, CallOutcome::InDoubt),
        (CallOutcome::InDoubt, false, true, CallOutcome::InDoubt),
        // A history from before that version.
        (CallOutcome::InDoubt, true, false, CallOutcome::Error),
    ] {
        let why = if lost { LeftOut::Lost("gone".to_owned()) } else { LeftOut::Conflict("gone".to_owned()) };
        let fact = left_out(ended(EffectId::new("a/1"), outcome, "said"), why, || stays);
        let ActorFact::ToolEnded { outcome: told, text, .. } = fact else { panic!() };
        assert_eq!((told, text.as_str()), (expected, "said\n\ngone"), "{outcome:?} {lost}");
    }
}
