//! Arbitrary facts in arbitrary order: no panic, no call without its result, no work after the end, and each request is the
//! one before it and an end, unless the history was compacted.

use aime_durable::{EffectId, Reason};
use aime_llm::{ChatRequest, FinishReason, Message};
use aime_progress_management::{CallOutcome, ProgressEvent};
use aime_tools::Approval;
use proptest::prelude::*;
use serde_json::json;

use super::lead::{hold, hold_call, lead, plan_call_read, wake};
use super::support::{Play, answer, call, class, delegate, delegating, person_message, read, terminate, tool_ended, write};
use crate::{ActorEffect, ActorFact, ModelAnswer, ModelFault};

#[derive(Debug, Clone)]
enum Move {
    /// Answer the open effect at this index.
    Answer {
        which: usize,
        how: usize,
    },
    Stop,
    Resume,
    /// The run wakes the lead, with a new message or with the last one.
    Wake {
        again: bool,
    },
    /// A person sends a message, or repeats the last one.
    Tell {
        which: usize,
    },
    Acknowledge {
        which: usize,
    },
    /// Fact that answers no open effect.
    Stray {
        id: &'static str,
        how: usize,
    },
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        8 => (0usize..4, 0usize..14).prop_map(|(which, how)| Move::Answer { which, how }),
        1 => Just(Move::Stop),
        1 => Just(Move::Resume),
        1 => any::<bool>().prop_map(|again| Move::Wake { again }),
        1 => (0usize..3).prop_map(|which| Move::Tell { which }),
        2 => (0usize..4).prop_map(|which| Move::Acknowledge { which }),
        1 => (prop_oneof![Just("t/1/1"), Just("t/1/1/1"), Just("t/1/2/1/ask1"), Just("x")], 0usize..3)
            .prop_map(|(id, how)| Move::Stray { id, how }),
    ];
    proptest::collection::vec(one, 0..60)
}

fn model_answer(how: usize) -> ModelAnswer {
    let mut response = match how {
        0 => answer("", vec![read("a", "1"), read("b", "2")]),
        1 => answer("", vec![write("a", "1"), read("b", "2"), write("c", "3")]),
        2 => answer("words", vec![]),
        3 => answer("", vec![]),
        4 => answer("", vec![call("a", "bash", &json!({"command": "x"})), call("q", "ask_human", &json!({"question": "?"}))]),
        5 => answer("", vec![terminate("success", "done"), write("a", "1")]),
        6 => answer("", vec![call("a", "fly", &json!({})), call("t", "todo", &json!({"items": [{"text": "t"}]}))]),
        7 => answer("```json\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n```", vec![]),
        8 => answer("", vec![read("a", "1")]),
        9 => return ModelAnswer::Error { kind: ModelFault::ContextOverflow, text: "too long".into(), hint: None },
        11 => answer("<function=write_file><parameter=path>a", vec![]),
        10 => answer("", vec![delegate("a", "x"), read("b", "2")]),
        12 => answer("", vec![hold_call("h", "x"), read("b", "2"), hold_call("i", "y")]),
        _ => answer("", vec![write("a", "1")]),
    };
    if how == 8 {
        response.finish = FinishReason::Length;
    }
    ModelAnswer::Response { response: Box::new(response) }
}

fn reply(id: &EffectId, effect: &ActorEffect, how: usize) -> ActorFact {
    let id = id.clone();
    match effect {
        ActorEffect::Model(_) => ActorFact::ModelAnswered { id, answer: model_answer(how), duration_ms: 1 },
        ActorEffect::Tool { .. } | ActorEffect::Delegate { .. } => {
            let outcome = [CallOutcome::Ok, CallOutcome::Error, CallOutcome::InDoubt, CallOutcome::Cancelled][how % 4];
            tool_ended(&id, outcome, &"text ".repeat(how * how * 40))
        }
        ActorEffect::Plan { .. } => match how % 3 {
            0 => plan_call_read(id, Some(hold("x")), None, false),
            1 => plan_call_read(id, None, Some("no"), true),
            _ => plan_call_read(id, None, Some("rows"), false),
        },
        ActorEffect::Ask { .. } => ActorFact::Answered { id, text: ["yes", "no", "always"][how % 3].into() },
    }
}

/// Returns true if a request is the one before it and an end. A message of a person may extend the last message of a
/// request that was interrupted.
fn is_extended(before: &ChatRequest, after: &ChatRequest) -> bool {
    let Some((last, begin)) = before.messages.split_last() else { return true };
    let grown = match (last.as_ref(), after.messages.get(begin.len()).map(AsRef::as_ref)) {
        (Message::User { content, .. }, Some(Message::User { content: more, .. }))
        | (Message::Tool { content, .. }, Some(Message::Tool { content: more, .. })) => more.starts_with(content),
        (last, then) => then == Some(last),
    };
    after.messages.starts_with(begin) && grown
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    // Requirement: 4.10, 4.16, 4.17
    #[test]
    fn any_facts_in_any_order(moves in moves(), approval in prop_oneof![Just(Approval::All), Just(Approval::Ask)], small in any::<bool>(), leads in any::<bool>()) {
        let mut input = if leads { lead(small) } else { delegating() };
        input.spec.approval = approval;
        input.class = class(small);
        if small {
            input.limits.context_tokens = 2_000;
        }
        let mut play = Play::start(input);
        let (mut concluded, mut wakes) = (None, 1);
        for step in moves {
            match step {
                Move::Answer { which, how } => {
                    let Some((id, effect)) = play.open.get(which % play.open.len().max(1)).cloned() else { continue };
                    // Like `drive`: an answer to a revoked effect acknowledges the revocation.
                    if play.revoked.contains(&id) {
                        play.revoked.retain(|r| *r != id);
                        play.fact(ActorFact::Revoked { id, why: Reason::Stopped });
                    } else {
                        play.fact(reply(&id, &effect, how));
                    }
                }
                Move::Stop => {
                    play.fact(ActorFact::Stopped { why: Reason::Stopped });
                }
                Move::Resume => {
                    play.fact(ActorFact::Resumed {});
                }
                Move::Wake { again } => {
                    wakes += u32::from(!again);
                    play.fact(wake(wakes, "news"));
                }
                Move::Tell { which } => {
                    // A stopped actor stays unchanged until it is resumed, and then hears the message.
                    let (left, rest) = (play.output.clone(), play.rest.clone());
                    play.fact(person_message(which, "slowly"));
                    play.output = play.output.take().or(left);
                    play.rest = play.rest.take().or(rest);
                }
                Move::Acknowledge { which } => {
                    if !play.revoked.is_empty() {
                        let id = play.revoked.remove(which % play.revoked.len());
                        play.fact(ActorFact::Revoked { id, why: Reason::Stopped });
                    }
                }
                Move::Stray { id, how } => {
                    let id = EffectId::new(id);
                    if play.open.iter().any(|(open, _)| *open == id) {
                        continue;
                    }
                    let fact = match how {
                        0 => tool_ended(&id, CallOutcome::Ok, "stray"),
                        1 => ActorFact::Answered { id, text: "yes".into() },
                        _ => ActorFact::Revoked { id, why: Reason::Deadline },
                    };
                    play.fact(fact);
                }
            }
            let delivered = play.events.iter().filter(|event| matches!(event, ProgressEvent::MessageDelivered { .. })).count();
            prop_assert!(delivered <= 3, "what was said is heard twice");
            if let Some(rest) = &play.rest {
                prop_assert!(play.open.is_empty(), "something is under way while it rests: {:?}", play.open_ids());
                prop_assert!(rest.wake <= wakes);
            } else if let Some(conclusion) = play.machine.conclusion() {
                prop_assert!(play.open.is_empty(), "something is under way after the end: {:?}", play.open_ids());
                prop_assert!(play.output.as_ref() == Some(conclusion));
                prop_assert!(concluded.is_none_or(|before| before == *conclusion), "the end changed");
                concluded = Some(conclusion.clone());
            } else {
                prop_assert!(!play.open.is_empty() || play.output.is_some(), "it waits for nothing: {:?}", play.machine.status());
            }
        }
        let compacted = play.events.iter().any(|event| matches!(event, ProgressEvent::HistoryCompacted { .. }));
        for pair in play.requests.windows(2) {
            let first = &play.requests[0].tools;
            let narrowed = small && pair[1].tools.iter().all(|tool| first.contains(tool));
            prop_assert!(narrowed || pair[0].tools == pair[1].tools, "the list of tools changes");
            let extended = is_extended(&pair[0], &pair[1]);
            prop_assert!(compacted || extended, "not the request before and an end: {:#?}\n{:#?}", pair[0].messages, pair[1].messages);
        }
    }
}
