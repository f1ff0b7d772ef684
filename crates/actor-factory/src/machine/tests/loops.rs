//! Tests that every actor in a loop gets a warning and then ends.

use aime_durable::EffectId;
use aime_llm::ToolChoice;
use aime_progress_management::Outcome;
use proptest::prelude::*;
use serde_json::json;

use super::support::{Play, answer, call, class, input, read, terminate};
use crate::{ABORT_AFTER_REPEATS, ActorEffect, CONCLUDE_AFTER_REPEATS, WARN_AFTER_REPEATS};

/// Plays an actor with the calls of `turn` and the results of `result` until it ends. Returns the number of turns.
fn turns(play: &mut Play, mut turn: impl FnMut(&mut Play, usize), mut result: impl FnMut(usize) -> String) -> usize {
    for number in 0.. {
        if play.output.is_some() {
            return number;
        }
        assert!(number <= 500, "it never ends");
        turn(play, number);
        let calls = |play: &Play| -> Vec<EffectId> {
            play.open.iter().filter(|(_, effect)| matches!(effect, ActorEffect::Tool { .. })).map(|(id, _)| id.clone()).collect()
        };
        for id in calls(play) {
            play.tool(id.as_str(), &result(number));
        }
    }
    unreachable!()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    // Requirement: 4.34
    #[test]
    fn a_circle_of_calls_is_told_then_bound_and_ended(period in 1_usize..6, before in 0_usize..8, changes in any::<bool>(), small in any::<bool>()) {
        let mut input = input();
        input.spec.max_steps = 400;
        input.class = class(small);
        let mut play = Play::start(input);
        let (mut warned_at, mut bound_at) = (None, None);
        let ended = turns(
            &mut play,
            |play, number| {
                if !play.nudges().is_empty() {
                    warned_at.get_or_insert(number);
                }
                if play.is_asked_to_conclude() {
                    bound_at.get_or_insert(number);
                }
                // A few unique calls come first, then the cycle.
                let place = if number < before { format!("way-{number}") } else { format!("place-{}", (number - before) % period) };
                let id = format!("c{number}");
                play.calls(vec![if changes { call(&id, "bash", &json!({"command": place})) } else { read(&id, &place) }]);
            },
            |_| "the same".to_owned(),
        );
        // The first change restarts the count, so the first round does not count.
        let rounds = |count: u32| before + period * (count as usize + usize::from(changes));
        prop_assert!(warned_at.is_some_and(|at| at <= rounds(WARN_AFTER_REPEATS)), "told at {warned_at:?}");
        // A capable model may rightly make a call again and again.
        let is_bound = bound_at.is_some_and(|at| at <= rounds(CONCLUDE_AFTER_REPEATS));
        prop_assert!(if small { is_bound } else { bound_at.is_none() }, "bound at {bound_at:?}");
        prop_assert!(ended <= rounds(ABORT_AFTER_REPEATS), "ended after {ended} turns");
    }

    // Requirement: 4.34
    #[test]
    fn results_that_always_differ_end_with_the_steps(steps in 1_u32..40) {
        let mut input = input();
        input.spec.max_steps = steps;
        let mut play = Play::start(input);
        let ended = turns(&mut play, |play, number| { play.calls(vec![read(&format!("c{number}"), "clock")]); }, |number| number.to_string());
        prop_assert_eq!(ended, steps as usize);
    }

    #[test]
    fn words_without_a_call_are_nudged_no_more_often_than_there_are_steps(words in prop::collection::vec(0_usize..3, 1..40), steps in 1_u32..30) {
        let mut input = input();
        input.spec.max_steps = steps;
        let mut play = Play::start(input);
        let ended = turns(
            &mut play,
            |play, number| {
                match words[number % words.len()] {
                    0 => play.model(answer("I shall.", vec![])),
                    1 => play.model(answer("", vec![])),
                    _ => play.calls(vec![read(&format!("c{number}"), &number.to_string())]),
                };
            },
            |number| number.to_string(),
        );
        prop_assert!(ended <= steps as usize && play.nudges().len() <= ended + 1, "{ended} turns, {:?}", play.nudges());
    }
}

#[test]
fn a_capable_model_may_poll() {
    let mut input = input();
    input.spec.max_steps = 100;
    let mut play = Play::start(input);
    let poll = || vec![call("p", "bash", &json!({"command": "sleep 60; gh run view"}))];
    for step in 1..=12 {
        play.calls(poll()).tool(&format!("t/1/{step}/1"), "in_progress");
        let request = play.requests.last().unwrap();
        assert_eq!((&request.tool_choice, &request.tools), (&ToolChoice::Auto, &play.requests[0].tools), "{step}");
    }
    play.calls(poll()).tool("t/1/13/1", "completed").calls(vec![terminate("success", "the build has passed")]);
    assert_eq!(play.output.unwrap().outcome, Outcome::Success);
}
