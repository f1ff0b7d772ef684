//! Tests the answers to calls whose file changes are left out.

use super::*;

#[test]
fn a_call_whose_changes_are_left_out_failed_and_one_in_doubt_stays_so() {
    for (outcome, expected) in
        [(CallOutcome::Ok, CallOutcome::Error), (CallOutcome::Error, CallOutcome::Error), (CallOutcome::InDoubt, CallOutcome::InDoubt)]
    {
        let fact = omit(ended(EffectId::new("a/1"), outcome, &"said".into()), &"gone".into());
        let ActorFact::ToolEnded { outcome: reported, text, .. } = fact else { panic!() };
        assert_eq!((reported, text.as_str()), (expected, "said\n\ngone"), "{outcome:?}");
    }
}
