use std::{future::pending, sync::Arc};

use futures::future::BoxFuture;

use super::execute_effect;
use crate::{
    EffectContext, EffectId, EffectRunner, FailedEffect, Issue, Reason,
    contract::{LATE, Toy, ToyEffect, ToyFact, World},
};

fn issue(effect: ToyEffect) -> Issue<ToyEffect> {
    Issue { id: EffectId::new("0/0/work"), effect, reissued: false }
}

fn done(value: u64) -> ToyFact {
    ToyFact::Done { id: EffectId::new("0/0/work"), value }
}

#[tokio::test]
async fn an_effect_is_answered() {
    let fact = execute_effect::<Toy, _>(Arc::<World>::default(), issue(ToyEffect::Work(7)), pending(), |_| {}).await;
    assert_eq!(fact, done(7));
}

#[tokio::test]
async fn an_effect_that_is_cancelled_is_answered_once_it_has_ended() {
    let world = Arc::<World>::default();
    let begun = async {
        while world.started().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let fact = execute_effect::<Toy, _>(Arc::clone(&world), issue(ToyEffect::Stubborn), begun, |_| {}).await;
    assert_eq!(fact, done(LATE));
}

#[tokio::test]
async fn an_effect_that_is_cancelled_before_it_begins_does_not_begin() {
    let world = Arc::<World>::default();
    let fact = execute_effect::<Toy, _>(Arc::clone(&world), issue(ToyEffect::Work(7)), async {}, |_| {}).await;
    assert_eq!(fact, ToyFact::Revoked { id: EffectId::new("0/0/work"), why: Reason::Cancelled });
    assert_eq!(world.started(), []);
}

/// Sends two notes, then ends or panics.
struct Talker {
    panics: bool,
}

impl EffectRunner<Toy> for Talker {
    fn run(self: Arc<Self>, issue: Issue<ToyEffect>, context: EffectContext<Toy>) -> BoxFuture<'static, ToyFact> {
        Box::pin(async move {
            for text in ["one", "two"] {
                context.facts.send(ToyFact::Note { text: text.to_owned() });
            }
            assert!(!self.panics, "on purpose");
            ToyFact::Done { id: issue.id, value: 1 }
        })
    }

    fn failed(&self, effect: FailedEffect<'_>) -> ToyFact {
        ToyFact::Done { id: effect.id.clone(), value: 2 }
    }
}

#[tokio::test]
async fn what_is_told_on_the_way_comes_before_the_answer_also_of_one_that_panics() {
    for (panics, answer) in [(false, 1), (true, 2)] {
        let mut notes = Vec::new();
        let fact = execute_effect::<Toy, _>(Arc::new(Talker { panics }), issue(ToyEffect::Wait), pending(), |fact| notes.push(fact)).await;
        assert_eq!(fact, done(answer));
        assert_eq!(notes, ["one", "two"].map(|text| ToyFact::Note { text: text.to_owned() }));
    }
}
