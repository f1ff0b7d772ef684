//! A small machine that does all that a machine may: many effects at once, timers, revokes, and results that come too late.

use serde::{Deserialize, Serialize};

use crate::{EffectId, Machine, Outbox, Reason, UnixMillis};

/// Lanes that go side by side, each through its steps one after the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Toy {
    steps: u32,
    lanes: Vec<Lane>,
    sum: Sum,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Lane {
    step: u32,
    /// Effects of the step without an answer.
    open: u32,
}

/// Size of the toy.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ToyInput {
    /// Lanes side by side.
    pub lanes: u32,
    /// Steps of each lane.
    pub steps: u32,
}

/// Fact of a toy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum ToyFact {
    /// An effect is done.
    Done {
        /// The effect.
        id: EffectId,
        /// Number that the effect returned.
        value: u64,
    },
    /// An effect was revoked.
    Revoked {
        /// The effect.
        id: EffectId,
        /// Reason of the revocation.
        why: Reason,
    },
    /// Something that answers no effect.
    Note {
        /// Any text.
        text: String,
    },
}

/// Effect of a toy. It is serializable for hosts that pass effects to other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToyEffect {
    /// Give this value.
    Work(u64),
    /// Give this value after a millisecond.
    Timer(u64),
    /// Give nothing until revoked.
    Wait,
    /// Give nothing until revoked, and then a result all the same.
    Stubborn,
}

/// Event of a toy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum ToyEvent {
    /// A step has begun.
    Began {
        /// Lane of the effect.
        lane: u32,
        /// Number of the step.
        step: u32,
    },
    /// A step has ended.
    Ended {
        /// Lane of the effect.
        lane: u32,
        /// Number of the step.
        step: u32,
    },
    /// A note was read.
    Noted {
        /// Text of the note.
        text: String,
    },
}

/// Output of a toy. A fact that is applied twice, or too late, changes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// All that was given, added up.
    pub total: u64,
    /// Number of answers.
    pub answers: u32,
}

/// Value of a late result, which must never be added.
pub const LATE: u64 = 1_000_000_000;

impl ToyInput {
    /// Returns the expected output of a toy of this size.
    #[must_use]
    pub fn expected(self) -> Sum {
        let steps = (0..self.lanes).flat_map(|lane| (0..self.steps).flat_map(move |step| effects(lane, step)));
        steps.fold(Sum::default(), |sum, (_, effect)| match effect {
            ToyEffect::Work(value) | ToyEffect::Timer(value) => Sum { total: sum.total + value, answers: sum.answers + 1 },
            ToyEffect::Wait | ToyEffect::Stubborn => Sum { answers: sum.answers + 1, ..sum },
        })
    }
}

/// Returns the effects of one step, in the order of their issue.
fn effects(lane: u32, step: u32) -> Vec<(EffectId, ToyEffect)> {
    let work = EffectId::new(format!("{lane}/{step}/work"));
    let wait = EffectId::new(format!("{lane}/{step}/wait"));
    let value = u64::from(lane) * 100 + u64::from(step) + 1;
    match (lane + step) % 4 {
        0 => vec![(work, ToyEffect::Work(value))],
        1 => vec![(work, ToyEffect::Timer(value))],
        2 => vec![(work, ToyEffect::Work(value)), (wait, ToyEffect::Wait)],
        _ => vec![(wait, ToyEffect::Stubborn), (work, ToyEffect::Work(value))],
    }
}

/// Lane and step of an effect.
fn place(id: &EffectId) -> Option<(u32, u32)> {
    let mut parts = id.as_str().split('/');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

impl Toy {
    fn begin(&mut self, number: u32, out: &mut Outbox<Self>) {
        let steps = self.steps;
        let Some(lane) = usize::try_from(number).ok().and_then(|at| self.lanes.get_mut(at)) else {
            return;
        };
        if lane.step == steps {
            return;
        }
        out.emit(ToyEvent::Began { lane: number, step: lane.step });
        lane.open = 0;
        for (id, effect) in effects(number, lane.step) {
            out.issue(id, effect);
            lane.open += 1;
        }
    }

    /// Applies an answer: effects of the same step that still wait are revoked, and the step ends with its last
    /// answer.
    fn answered(&mut self, id: &EffectId, out: &mut Outbox<Self>) {
        self.sum.answers += 1;
        let Some((number, step)) = place(id) else {
            return;
        };
        for (other, effect) in effects(number, step) {
            if other != *id && matches!(effect, ToyEffect::Wait | ToyEffect::Stubborn) {
                out.revoke(other, Reason::Cancelled);
            }
        }
        let Some(lane) = usize::try_from(number).ok().and_then(|at| self.lanes.get_mut(at)) else {
            return;
        };
        lane.open = lane.open.saturating_sub(1);
        if lane.open == 0 {
            out.emit(ToyEvent::Ended { lane: number, step });
            lane.step = step + 1;
            self.begin(number, out);
        }
    }
}

impl Machine for Toy {
    const VERSION: u32 = 1;
    const SNAPSHOT: Option<u32> = Some(1);
    type Input = ToyInput;
    type Fact = ToyFact;
    type Effect = ToyEffect;
    type Event = ToyEvent;
    type Output = Sum;

    fn start(_: UnixMillis, input: &ToyInput, out: &mut Outbox<Self>) -> Self {
        let lanes = (0..input.lanes).map(|_| Lane { step: 0, open: 0 }).collect();
        let mut toy = Self { steps: input.steps, lanes, sum: Sum::default() };
        for lane in 0..input.lanes {
            toy.begin(lane, out);
        }
        toy
    }

    fn apply(&mut self, _: UnixMillis, fact: &ToyFact, out: &mut Outbox<Self>) -> Option<Sum> {
        match fact {
            ToyFact::Done { id, value } => {
                self.sum.total += value;
                self.answered(id, out);
            }
            ToyFact::Revoked { id, .. } => self.answered(id, out),
            ToyFact::Note { text } => out.emit(ToyEvent::Noted { text: text.clone() }),
        }
        self.lanes.iter().all(|lane| lane.step == self.steps).then_some(self.sum)
    }

    fn answers(fact: &ToyFact) -> Option<&EffectId> {
        match fact {
            ToyFact::Done { id, .. } | ToyFact::Revoked { id, .. } => Some(id),
            ToyFact::Note { .. } => None,
        }
    }

    fn revoked(id: &EffectId, why: &Reason) -> ToyFact {
        ToyFact::Revoked { id: id.clone(), why: why.clone() }
    }

    fn kind(_: &ToyEffect) -> &'static str {
        "toy"
    }

    fn again(&self, id: &EffectId) -> Option<ToyEffect> {
        let (lane, step) = place(id)?;
        effects(lane, step).into_iter().find_map(|(known, effect)| (known == *id).then_some(effect))
    }
}
