use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use aime_durable::{
    EffectId, Issue, Reason, Recorded, UnixMillis,
    contract::{BEGUN, INPUT, LATE, StartedEffect, Toy, ToyEffect, ToyEvent, ToyFact, ToyInput},
};
use futures::{FutureExt as _, future::poll_fn};

use super::{Carrier, CarryOutcome, RunningEffect, carry};
use crate::{MachineStart, PartialJournal, Timestamped};

/// Carrier that runs the effects of toys in place. The order of polls alone decides which result comes first.
struct Here {
    begin: MachineStart<Toy>,
    revoked: Rc<RefCell<BTreeMap<EffectId, Reason>>>,
    time: UnixMillis,
    facts: Vec<Timestamped<ToyFact>>,
    events: Vec<Timestamped<ToyEvent>>,
    /// Leaves after so many facts.
    leave_after: usize,
    /// True to postpone effects without others beside them until the new history.
    puts_off: bool,
    /// Number of `settle` calls that still report unsent reports.
    unsent: usize,
    /// Facts from outside.
    arrives: Vec<ToyFact>,
    begun: Vec<StartedEffect>,
}

impl Here {
    fn new(begin: MachineStart<Toy>) -> Self {
        let journal = begin.journal.clone();
        let facts = journal.map(|journal| journal.facts).unwrap_or_default();
        let replayed = replay(&begin, &facts);
        Self {
            begin,
            revoked: Rc::default(),
            time: facts.last().map_or(BEGUN, |fact| fact.at),
            facts,
            events: replayed,
            leave_after: usize::MAX,
            puts_off: false,
            unsent: 0,
            arrives: Vec::new(),
            begun: Vec::new(),
        }
    }

    fn go(&mut self) -> Option<CarryOutcome<Toy>> {
        let resume = self.begin.clone().resume(self.time);
        let polls = self.unsent + 1;
        let mut carried = Box::pin(carry(resume, self));
        // One poll takes everything that is ready. A toy waits for nothing else, except for unsent reports.
        (0..polls).find_map(|_| match carried.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(carried) => Some(carried.unwrap()),
            Poll::Pending => None,
        })
    }
}

fn replay(begin: &MachineStart<Toy>, facts: &[Timestamped<ToyFact>]) -> Vec<Timestamped<ToyEvent>> {
    let facts: Vec<Recorded<ToyFact>> = facts.iter().cloned().map(Recorded::from).collect();
    if begin.journal.is_none() {
        return Vec::new();
    }
    aime_durable::replay::<Toy>(&begin.input.clone().into(), &facts).events.into_iter().map(Timestamped::from).collect()
}

impl Carrier<Toy> for Here {
    fn now(&self) -> UnixMillis {
        self.time
    }

    fn begin(&mut self, issue: Issue<ToyEffect>) -> RunningEffect<Toy> {
        let issue = Issue { reissued: self.begin.was_begun(&issue), ..issue };
        self.begun.push(StartedEffect { id: issue.id.clone(), reissued: issue.reissued });
        let Issue { id, effect, .. } = issue;
        let revoked = Rc::clone(&self.revoked);
        let facts = async move {
            let value = match effect {
                ToyEffect::Work(value) | ToyEffect::Timer(value) => value,
                ToyEffect::Wait | ToyEffect::Stubborn => {
                    poll_fn(|_| if revoked.borrow().contains_key(&id) { Poll::Ready(()) } else { Poll::Pending }).await;
                    LATE
                }
            };
            vec![ToyFact::Done { id, value }]
        };
        RunningEffect { facts: facts.boxed_local(), holds: matches!(effect, ToyEffect::Wait | ToyEffect::Stubborn) }
    }

    fn revoke(&mut self, id: &EffectId, why: &Reason) {
        self.revoked.borrow_mut().insert(id.clone(), why.clone());
    }

    fn arrived(&mut self, _: &mut Context<'_>) -> Vec<ToyFact> {
        std::mem::take(&mut self.arrives)
    }

    fn settle(&mut self, _: &mut Context<'_>) -> bool {
        let settled = self.unsent == 0;
        self.unsent = self.unsent.saturating_sub(1);
        settled
    }

    fn took(&mut self, facts: &[Recorded<ToyFact>], events: &[Recorded<ToyEvent>]) {
        self.time += 1;
        self.facts.extend(facts.iter().cloned().map(Timestamped::from));
        self.events.extend(events.iter().cloned().map(Timestamped::from));
    }

    fn wants_to_leave(&self) -> bool {
        self.facts.len() >= self.leave_after
    }

    fn puts_off(&self, effect: &ToyEffect) -> bool {
        // Work ends the effects that wait beside it, and a timer has none beside it.
        self.puts_off && self.wants_to_leave() && matches!(effect, ToyEffect::Timer(_))
    }
}

fn fresh() -> MachineStart<Toy> {
    MachineStart::fresh(BEGUN, INPUT)
}

#[test]
fn a_machine_is_carried_to_its_end() {
    let mut here = Here::new(fresh());
    let Some(CarryOutcome::Ended(ended)) = here.go() else { panic!("it has not ended") };
    assert_eq!(ended.output, INPUT.expected());
    let late = |fact: &&Timestamped<ToyFact>| matches!(fact.what, ToyFact::Done { value: LATE, .. });
    assert_eq!(here.facts.iter().find(late), None, "what comes after a revoke acknowledges it");
}

/// Suspends a toy after a number of facts and continues it in a new history. Returns true if it left the old history
/// before its end.
fn left_and_ended(input: ToyInput, leave_after: usize, puts_off: bool) -> bool {
    let fresh = || MachineStart::fresh(BEGUN, input);
    let mut first = Here::new(fresh());
    (first.leave_after, first.puts_off) = (leave_after, puts_off);
    let not_begun = match first.go() {
        Some(CarryOutcome::Continued { not_begun, then }) => {
            assert_eq!(then, [], "nothing came from outside");
            not_begun
        }
        // The effect that kept it there lasted until the end.
        Some(CarryOutcome::Ended(_)) => return false,
        None => panic!("it waits for ever"),
    };
    let journal =
        PartialJournal { facts: first.facts, events: first.events.len(), not_begun: not_begun.into_iter().collect(), then: Vec::new() };
    let mut second = Here::new(MachineStart { journal: Some(journal), ..fresh() });
    let Some(CarryOutcome::Ended(ended)) = second.go() else { panic!("it has not ended") };
    assert_eq!(ended.output, input.expected());
    assert_eq!(second.begun.iter().find(|begun| begun.reissued), None, "left after {leave_after}");
    let again = first.begun.iter().map(|begun| &begun.id).find(|id| second.begun.iter().any(|begun| begun.id == **id));
    assert_eq!(again, None, "left after {leave_after}");
    true
}

/// Returns the number of facts that a toy takes in, and the number after which it left.
fn left(input: ToyInput, puts_off: bool) -> (usize, usize) {
    let mut whole = Here::new(MachineStart::fresh(BEGUN, input));
    whole.go();
    let all = whole.facts.len();
    (all, (1..all).filter(|leave_after| left_and_ended(input, *leave_after, puts_off)).count())
}

// Requirement: 18.4
#[test]
fn whenever_it_leaves_its_history_it_ends_alike_and_repeats_nothing() {
    // A single lane has no effects in progress between its steps.
    let (all, left_at_rest) = left(ToyInput { lanes: 1, ..INPUT }, false);
    assert!(left_at_rest > 0, "of {all} times");
}

#[test]
fn where_something_is_always_under_way_it_leaves_since_what_is_new_is_put_off() {
    let ((_, at_rest), (all, sooner)) = (left(INPUT, false), left(INPUT, true));
    assert_eq!(at_rest, 0, "several lanes never rest at once");
    assert!(sooner > all / 2, "it left {sooner} of {all} times");
}

// Requirement: 18.10
#[test]
fn what_arrives_as_it_leaves_is_not_lost() {
    let mut here = Here::new(fresh());
    let arrived = vec![ToyFact::Done { id: EffectId::new("from outside"), value: LATE }];
    (here.leave_after, here.arrives) = (0, arrived.clone());
    let Some(CarryOutcome::Continued { then, .. }) = here.go() else { panic!("it has not left") };
    assert_eq!(then, arrived);
}

// Requirement: 18.4
#[test]
fn it_leaves_when_all_is_told_and_begins_nothing_meanwhile() {
    let mut whole = Here::new(fresh());
    whole.go();
    for leave_after in 0..whole.facts.len() {
        let mut here = Here::new(fresh());
        (here.leave_after, here.unsent) = (leave_after, 3);
        match here.go() {
            Some(CarryOutcome::Continued { not_begun, .. }) => {
                assert!(here.begun.iter().all(|begun| !not_begun.contains(&begun.id)), "left after {leave_after}");
                assert!(leave_after > 0 || !not_begun.is_empty(), "what it wants first is kept for the new history");
                assert_eq!(here.unsent, 0, "left after {leave_after}");
            }
            // The effect that kept it there lasted until the end.
            Some(CarryOutcome::Ended(_)) => {}
            None => panic!("it waits for ever"),
        }
    }
}
