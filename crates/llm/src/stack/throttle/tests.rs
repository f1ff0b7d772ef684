//! Tests how the number of requests falls and rises.

use proptest::prelude::*;

use super::*;

fn begin(allowance: &mut Allowance, now: Instant) -> u64 {
    match allowance.enter(now) {
        Entry::Begin(round) => round,
        other => panic!("{other:?} of {allowance:?}"),
    }
}

fn allowance(most: u32) -> Allowance {
    Allowance::new(most, Duration::from_secs(60))
}

#[test]
fn a_refusal_halves_once_a_round_and_answers_raise_by_one() {
    let (mut given, now) = (allowance(64), Instant::now());
    let rounds: Vec<u64> = (0..8).map(|_| begin(&mut given, now)).collect();
    // All eight are refused at once, which counts as one refusal.
    for round in rounds {
        given.leave(round, Outcome::Refused(None), now);
    }
    assert_eq!(given.allowed, 4, "half of the eight that were too many");
    let mut raised = Vec::new();
    for _ in 0..15 {
        let round = begin(&mut given, now);
        given.leave(round, Outcome::Answered, now);
        raised.push(given.allowed);
    }
    assert_eq!(raised, [4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7]);
}

#[test]
fn no_more_begin_than_are_allowed_and_one_always_may() {
    let (mut given, now) = (allowance(2), Instant::now());
    let rounds = [begin(&mut given, now), begin(&mut given, now)];
    assert_eq!(given.enter(now), Entry::AfterAnother);
    given.leave(rounds[0], Outcome::Refused(None), now);
    assert_eq!(given.enter(now), Entry::AfterAnother, "one is allowed, and one is under way");
    given.leave(rounds[1], Outcome::Other, now);
    let round = begin(&mut given, now);
    given.leave(round, Outcome::Refused(None), now);
    assert_eq!(given.allowed, 1, "never fewer than one");
}

#[test]
fn a_silence_that_the_server_asks_for_is_kept_by_all_and_is_bounded() {
    let (mut given, now) = (allowance(8), Instant::now());
    let round = begin(&mut given, now);
    given.leave(round, Outcome::Refused(Some(Duration::from_secs(7))), now);
    let until = now + Duration::from_secs(7);
    assert_eq!(given.enter(now + Duration::from_secs(6)), Entry::At(until));
    let round = begin(&mut given, until);
    given.leave(round, Outcome::Refused(Some(Duration::from_secs(86_400))), until);
    assert_eq!(given.enter(until), Entry::At(until + Duration::from_secs(60)));
}

proptest! {
    // Requirement: 16.6
    #[test]
    fn whatever_happens_it_stays_in_its_bounds_and_comes_back(
        most in 1_u32..20,
        steps in prop::collection::vec((any::<bool>(), 0_usize..20, 0_u8..4, 0_u64..3), 0..200),
    ) {
        let mut given = allowance(most);
        let mut now = Instant::now();
        let mut under_way: Vec<u64> = Vec::new();
        for (enters, which, how, passes) in steps {
            now += Duration::from_secs(passes);
            if enters {
                if let Entry::Begin(round) = given.enter(now) {
                    under_way.push(round);
                }
            } else if !under_way.is_empty() {
                let round = under_way.swap_remove(which % under_way.len());
                let outcome = [Outcome::Answered, Outcome::Refused(None), Outcome::Refused(Some(Duration::from_secs(2))), Outcome::Other][usize::from(how)];
                given.leave(round, outcome, now);
            }
            prop_assert_eq!(given.active as usize, under_way.len());
            prop_assert!((1..=most).contains(&given.allowed), "{:?}", given);
        }
        // The requests in progress end, and from then on the server answers.
        for round in under_way {
            given.leave(round, Outcome::Other, now);
        }
        now += Duration::from_secs(61);
        for _ in 0..most * most {
            let round = begin(&mut given, now);
            given.leave(round, Outcome::Answered, now);
        }
        prop_assert_eq!(given.allowed, most);
    }
}
