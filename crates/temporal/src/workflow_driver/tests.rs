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

use super::{DriveOutcome, RunningEffect, WorkflowDriver, drive_workflow};
use crate::{JournalResume, MachineStart, Timestamped};

/// Driver that runs the effects of toys in place. The order of polls alone decides which result comes first.
struct Here {
    begin: MachineStart<Toy>,
    revoked: Rc<RefCell<BTreeMap<EffectId, Reason>>>,
    time: UnixMillis,
    facts: Vec<Timestamped<ToyFact>>,
    events: Vec<Timestamped<ToyEvent>>,
    /// Leaves after so many facts.
    continue_after: usize,
    /// True to postpone effects without others beside them until the new history.
    defers: bool,
    /// Number of `flush_reports` calls that still report unsent reports.
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
            continue_after: usize::MAX,
            defers: false,
            unsent: 0,
            arrives: Vec::new(),
            begun: Vec::new(),
        }
    }

    fn go(&mut self) -> Option<DriveOutcome<Toy>> {
        let resume = self.begin.clone().resume(self.time);
        let polls = self.unsent + 1;
        let mut driven = Box::pin(drive_workflow(resume, self));
        // One poll takes everything that is ready. A toy waits for nothing else, except for unsent reports.
        (0..polls).find_map(|_| match driven.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(driven) => Some(driven.unwrap()),
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

impl WorkflowDriver<Toy> for Here {
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
        RunningEffect { facts: facts.boxed_local(), blocks_continuation: matches!(effect, ToyEffect::Wait | ToyEffect::Stubborn) }
    }

    fn revoke(&mut self, id: &EffectId, why: &Reason) {
        self.revoked.borrow_mut().insert(id.clone(), why.clone());
    }

    fn external_facts(&mut self, _: &mut Context<'_>) -> Vec<ToyFact> {
        std::mem::take(&mut self.arrives)
    }

    fn flush_reports(&mut self, _: &mut Context<'_>) -> bool {
        let settled = self.unsent == 0;
        self.unsent = self.unsent.saturating_sub(1);
        settled
    }

    fn observe(&mut self, facts: &[Recorded<ToyFact>], events: &[Recorded<ToyEvent>]) {
        self.time += 1;
        self.facts.extend(facts.iter().cloned().map(Timestamped::from));
        self.events.extend(events.iter().cloned().map(Timestamped::from));
    }

    fn should_continue_as_new(&self) -> bool {
        self.facts.len() >= self.continue_after
    }

    fn defers(&self, effect: &ToyEffect) -> bool {
        // Work ends the effects that wait beside it, and a timer has none beside it.
        self.defers && self.should_continue_as_new() && matches!(effect, ToyEffect::Timer(_))
    }
}

fn fresh() -> MachineStart<Toy> {
    MachineStart::fresh(BEGUN, INPUT)
}

#[test]
fn a_machine_is_carried_to_its_end() {
    let mut here = Here::new(fresh());
    let Some(DriveOutcome::Ended(ended)) = here.go() else { panic!("it has not ended") };
    assert_eq!(ended.output, INPUT.expected());
    let late = |fact: &&Timestamped<ToyFact>| matches!(fact.what, ToyFact::Done { value: LATE, .. });
    assert_eq!(here.facts.iter().find(late), None, "what comes after a revoke acknowledges it");
}

/// Suspends a toy after a number of facts and continues it in a new history. Returns true if it left the old history
/// before its end.
fn left_and_ended(input: ToyInput, continue_after: usize, defers: bool) -> bool {
    let fresh = || MachineStart::fresh(BEGUN, input);
    let mut first = Here::new(fresh());
    (first.continue_after, first.defers) = (continue_after, defers);
    let not_begun = match first.go() {
        Some(DriveOutcome::Continued { not_begun, then }) => {
            assert_eq!(then, [], "nothing came from outside");
            not_begun
        }
        // The effect that kept it there lasted until the end.
        Some(DriveOutcome::Ended(_)) => return false,
        None => panic!("it waits for ever"),
    };
    let journal =
        JournalResume { facts: first.facts, events: first.events.len(), not_begun: not_begun.into_iter().collect(), then: Vec::new() };
    let mut second = Here::new(MachineStart { journal: Some(journal), ..fresh() });
    let Some(DriveOutcome::Ended(ended)) = second.go() else { panic!("it has not ended") };
    assert_eq!(ended.output, input.expected());
    assert_eq!(second.begun.iter().find(|begun| begun.reissued), None, "left after {continue_after}");
    let again = first.begun.iter().map(|begun| &begun.id).find(|id| second.begun.iter().any(|begun| begun.id == **id));
    assert_eq!(again, None, "left after {continue_after}");
    true
}

/// Returns the number of facts that a toy takes in, and the number after which it left.
fn left(input: ToyInput, defers: bool) -> (usize, usize) {
    let mut whole = Here::new(MachineStart::fresh(BEGUN, input));
    whole.go();
    let all = whole.facts.len();
    (all, (1..all).filter(|continue_after| left_and_ended(input, *continue_after, defers)).count())
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
    (here.continue_after, here.arrives) = (0, arrived.clone());
    let Some(DriveOutcome::Continued { then, .. }) = here.go() else { panic!("it has not left") };
    assert_eq!(then, arrived);
}

// Requirement: 18.4
#[test]
fn it_leaves_when_all_is_told_and_begins_nothing_meanwhile() {
    let mut whole = Here::new(fresh());
    whole.go();
    for continue_after in 0..whole.facts.len() {
        let mut here = Here::new(fresh());
        (here.continue_after, here.unsent) = (continue_after, 3);
        match here.go() {
            Some(DriveOutcome::Continued { not_begun, .. }) => {
                assert!(here.begun.iter().all(|begun| !not_begun.contains(&begun.id)), "left after {continue_after}");
                assert!(continue_after > 0 || !not_begun.is_empty(), "what it wants first is kept for the new history");
                assert_eq!(here.unsent, 0, "left after {continue_after}");
            }
            // The effect that kept it there lasted until the end.
            Some(DriveOutcome::Ended(_)) => {}
            None => panic!("it waits for ever"),
        }
    }
}
