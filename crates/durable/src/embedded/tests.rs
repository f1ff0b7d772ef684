use std::sync::{
    Mutex,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use futures::future::BoxFuture;

use super::*;
use crate::{
    DriveError, FailedEffect, Journal, JournalError, NewRun, RUN_STREAM, Resume, StreamWriter,
    contract::{self, ContractViolation, Hosts, LATE, StoredToy, Sum, Toy, ToyEffect, ToyFact, ToyInput, World},
    drive,
};

/// Hosts on a journal on disk; each opening has a connection of its own, as another process has.
struct OnDisk(tempfile::TempDir);

impl Hosts for OnDisk {
    type Opened = (EmbeddedHost<Toy, World, StreamWriter>, Option<StoredToy>);

    async fn open(&self, run: &str, world: Arc<World>) -> Result<Self::Opened, ContractViolation> {
        let journal = Journal::open(self.0.path().join("aime.db")).map_err(ContractViolation::because)?;
        if journal.run(run).map_err(ContractViolation::because)?.is_none() {
            let new = NewRun { id: run, at: 1, machine_version: 1, title: "a toy", status: "running" };
            journal.create_run(new).await.map_err(ContractViolation::because)?;
        }
        let writer = journal.stream(run, RUN_STREAM);
        let Some(loaded) = journal.load::<Toy>(run, RUN_STREAM).map_err(ContractViolation::because)? else {
            return Ok((EmbeddedHost::new(world, writer), None));
        };
        let events = journal.events(run, 1, usize::MAX).map_err(ContractViolation::because)?;
        let events = events.into_iter().map(|event| Recorded { at: event.at, fact: serde_json::from_str(&event.body).unwrap() });
        let host = EmbeddedHost::new(world, writer.after(&loaded));
        Ok((host, Some(StoredToy { input: loaded.input, facts: loaded.facts, events: events.collect() })))
    }
}

#[derive(Default)]
struct InMemory(Mutex<HashMap<String, MemoryStream<Toy>>>);

impl Hosts for InMemory {
    type Opened = (EmbeddedHost<Toy, World, MemoryStream<Toy>>, Option<StoredToy>);

    async fn open(&self, run: &str, world: Arc<World>) -> Result<Self::Opened, ContractViolation> {
        let stream = self.0.lock().unwrap().entry(run.to_owned()).or_default().clone();
        let Some(loaded) = stream.load() else {
            return Ok((EmbeddedHost::new(world, stream), None));
        };
        let (events, stream) = (stream.events(), stream.after(&loaded));
        Ok((EmbeddedHost::new(world, stream), Some(StoredToy { input: loaded.input, facts: loaded.facts, events })))
    }
}

// Requirement: 7.10, 18.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_is_kept_on_disk() {
    contract::all(&OnDisk(tempfile::tempdir().unwrap())).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contract_is_kept_in_memory() {
    contract::all(&InMemory::default()).await.unwrap();
}

/// Does every effect by the same function.
struct By<F>(F);

impl<F, A> EffectRunner<Toy> for By<F>
where
    F: Fn(Issue<ToyEffect>, EffectContext<Toy>) -> A + Send + Sync + 'static,
    A: Future<Output = ToyFact> + Send + 'static,
{
    fn run(self: Arc<Self>, issue: Issue<ToyEffect>, context: EffectContext<Toy>) -> BoxFuture<'static, ToyFact> {
        (self.0)(issue, context).boxed()
    }

    fn failed(&self, effect: FailedEffect<'_>) -> ToyFact {
        ToyFact::Done { id: effect.id.clone(), value: u64::try_from(effect.message.len()).unwrap() }
    }
}

fn host<F, A>(run: F) -> EmbeddedHost<Toy, By<F>, MemoryStream<Toy>>
where
    F: Fn(Issue<ToyEffect>, EffectContext<Toy>) -> A + Send + Sync + 'static,
    A: Future<Output = ToyFact> + Send + 'static,
{
    EmbeddedHost::new(Arc::new(By(run)), MemoryStream::new())
}

fn id(text: &str) -> EffectId {
    EffectId::new(text)
}

fn issue(text: &str) -> Issue<ToyEffect> {
    Issue { id: id(text), effect: ToyEffect::Wait, reissued: false }
}

fn facts(recorded: Vec<Recorded<ToyFact>>) -> Vec<ToyFact> {
    recorded.into_iter().map(|recorded| recorded.fact).collect()
}

#[tokio::test]
async fn a_panic_is_answered_by_the_runner() {
    let mut host = host(|issue, _| async move {
        if issue.id.as_str() == "a" {
            panic!("four");
        }
        panic!("number {}", 12)
    });
    host.issue(issue("a"));
    assert_eq!(facts(host.next().await.unwrap()), [ToyFact::Done { id: id("a"), value: 4 }]);
    host.issue(issue("b"));
    assert_eq!(facts(host.next().await.unwrap()), [ToyFact::Done { id: id("b"), value: 9 }]);
}

#[tokio::test]
async fn a_panic_before_the_future_is_made_is_answered_too() {
    struct Early;
    impl EffectRunner<Toy> for Early {
        fn run(self: Arc<Self>, _: Issue<ToyEffect>, _: EffectContext<Toy>) -> BoxFuture<'static, ToyFact> {
            panic!("early")
        }
        fn failed(&self, effect: FailedEffect<'_>) -> ToyFact {
            ToyFact::Done { id: effect.id.clone(), value: 7 }
        }
    }
    let mut host = EmbeddedHost::new(Arc::new(Early), MemoryStream::new());
    host.issue(issue("a"));
    assert_eq!(facts(host.next().await.unwrap()), [ToyFact::Done { id: id("a"), value: 7 }]);
}

#[tokio::test]
async fn a_runner_is_told_of_a_revoke_and_why() {
    let mut host = host(|issue, context| async move {
        context.cancel.cancelled().await;
        ToyFact::Revoked { id: issue.id, why: context.reason().unwrap() }
    });
    host.issue(issue("a"));
    tokio::task::yield_now().await;
    host.revoke(&id("a"), Reason::Deadline);
    host.revoke(&id("a"), Reason::Cancelled);
    let revoked = ToyFact::Revoked { id: id("a"), why: Reason::Deadline };
    assert_eq!(facts(host.next().await.unwrap()), [revoked], "the first reason stays");
    host.revoke(&id("a"), Reason::Cancelled);
    host.revoke(&id("unknown"), Reason::Cancelled);
    assert!(host.next().await.unwrap().is_empty(), "nothing more can come");
}

#[tokio::test]
async fn what_is_revoked_before_it_begins_never_begins() {
    let mut host = host(|issue, _| async move { ToyFact::Done { id: issue.id, value: 1 } });
    host.issue(issue("a"));
    host.revoke(&id("a"), Reason::Cancelled);
    assert_eq!(facts(host.next().await.unwrap()), [ToyFact::Revoked { id: id("a"), why: Reason::Cancelled }]);
}

/// Counts itself out when it is dropped.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns a host whose effects never end, even when they are revoked.
fn deaf(alive: &Arc<AtomicUsize>) -> EmbeddedHost<Toy, impl EffectRunner<Toy>, MemoryStream<Toy>> {
    let alive = Arc::clone(alive);
    host(move |_, _| {
        let alive = Alive::new(&alive);
        async move {
            let _alive = alive;
            std::future::pending().await
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_deaf_runner_is_aborted_at_the_deadline() {
    let alive = Arc::default();
    let mut host = deaf(&alive).with_revoke_deadline(Duration::from_secs(3));
    host.issue(issue("a"));
    tokio::task::yield_now().await;
    assert_eq!(alive.load(Ordering::SeqCst), 1);
    let begun = tokio::time::Instant::now();
    host.revoke(&id("a"), Reason::Cancelled);
    assert_eq!(facts(host.next().await.unwrap()), [ToyFact::Revoked { id: id("a"), why: Reason::Cancelled }]);
    assert_eq!(begun.elapsed().as_secs(), 3, "of the paused clock");
    tokio::task::yield_now().await;
    assert_eq!(alive.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_host_ends_everything() {
    let alive = Arc::default();
    let mut host = deaf(&alive);
    for number in 0..10 {
        host.issue(issue(&number.to_string()));
    }
    tokio::task::yield_now().await;
    host.revoke(&id("3"), Reason::Cancelled);
    let sender = host.sender();
    assert_eq!(alive.load(Ordering::SeqCst), 10);
    drop(host);
    tokio::task::yield_now().await;
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    assert!(!sender.send(ToyFact::Note { text: "too late".to_owned() }));
}

#[tokio::test(start_paused = true)]
async fn closing_gives_effects_time_to_end() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    let mut host = host(move |issue, context| {
        let count = Arc::clone(&count);
        async move {
            context.cancel.cancelled().await;
            assert_eq!(context.reason(), Some(Reason::Stopped));
            sleep(Duration::from_secs(2)).await;
            count.fetch_add(1, Ordering::SeqCst);
            ToyFact::Done { id: issue.id, value: 1 }
        }
    });
    host.issue(issue("a"));
    host.issue(issue("b"));
    tokio::task::yield_now().await;
    host.close().await;
    assert_eq!(ended.load(Ordering::SeqCst), 2);
    let (alive, begun) = (Arc::default(), tokio::time::Instant::now());
    let mut stubborn = deaf(&alive);
    stubborn.issue(issue("a"));
    tokio::task::yield_now().await;
    stubborn.close().await;
    tokio::task::yield_now().await;
    assert_eq!((alive.load(Ordering::SeqCst), begun.elapsed().as_secs()), (0, 10), "of the paused clock");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_waits_for_nothing_ends_idle() {
    let mut host = host(|issue, _| async move { ToyFact::Done { id: issue.id, value: 1 } });
    let outside = host.sender();
    tokio::spawn(async move {
        sleep(Duration::from_secs(60)).await;
        drop(outside);
    });
    // A toy without lanes issues no effect, and ends with the first fact.
    let waiting = timeout(
        Duration::from_secs(3_600),
        drive::<Toy, _>(&mut host, Resume::Fresh(Recorded { at: 0, fact: ToyInput { lanes: 0, steps: 1 } })),
    );
    assert!(matches!(waiting.await, Ok(Err(DriveError::Idle))), "once the outside sender is gone");
}

#[tokio::test]
async fn facts_from_outside_and_on_the_way_reach_the_machine() {
    let mut host = host(|issue, context| async move {
        context.facts.send(ToyFact::Note { text: "on the way".to_owned() });
        ToyFact::Done { id: issue.id, value: 5 }
    });
    assert!(host.sender().send(ToyFact::Note { text: "from outside".to_owned() }));
    let stream = host.sink.clone();
    let input = Recorded { at: 0, fact: ToyInput { lanes: 1, steps: 1 } };
    let ended = drive::<Toy, _>(&mut host, Resume::Fresh(input)).await.unwrap();
    assert_eq!(ended.output, Sum { total: 5, answers: 1 });
    assert_eq!(stream.load().unwrap().facts.len(), 3);
}

#[tokio::test]
async fn a_fact_is_committed_before_its_sender_goes_on() {
    let journal: Arc<OnceLock<MemoryStream<Toy>>> = Arc::default();
    let seen = Arc::clone(&journal);
    let mut host = host(move |issue, context| {
        let journal = Arc::clone(&seen);
        async move {
            let note = ToyFact::Note { text: "the call was made".to_owned() };
            assert!(context.facts.commit(note.clone()).await);
            let facts = journal.get().unwrap().load().unwrap().facts;
            assert_eq!(facts.into_iter().map(|recorded| recorded.fact).collect::<Vec<_>>(), [note]);
            ToyFact::Done { id: issue.id, value: 5 }
        }
    });
    journal.set(host.sink.clone()).ok().unwrap();
    let input = Recorded { at: 0, fact: ToyInput { lanes: 1, steps: 1 } };
    let outside = host.sender();
    assert_eq!(drive::<Toy, _>(&mut host, Resume::Fresh(input)).await.unwrap().output, Sum { total: 5, answers: 1 });
    drop(host);
    assert!(!outside.commit(ToyFact::Note { text: "too late".to_owned() }).await, "the machine is gone");

    let (elsewhere, mut facts) = fact_channel::<Toy>();
    assert!(elsewhere.commit(ToyFact::Note { text: "with the answer".to_owned() }).await, "its host commits later");
    assert!(facts.ready().is_some());
}

#[tokio::test]
async fn time_never_runs_backwards() {
    struct Back(AtomicI64);
    impl Clock for Back {
        fn now(&self) -> UnixMillis {
            self.0.fetch_sub(100, Ordering::SeqCst)
        }
    }
    let mut host = EmbeddedHost::new(Arc::new(World::default()), MemoryStream::new()).with_clock(Arc::new(Back(AtomicI64::new(5_000))));
    let stream = host.sink.clone();
    drive::<Toy, _>(&mut host, Resume::Fresh(Recorded { at: 4_950, fact: ToyInput { lanes: 2, steps: 3 } })).await.unwrap();
    let loaded = stream.load().unwrap();
    assert!(loaded.facts.is_sorted_by_key(|fact| fact.at), "{:?}", loaded.facts);
    assert_eq!(loaded.last_at(), 5_000);
    let mut later = EmbeddedHost::new(Arc::new(World::default()), stream.after(&loaded)).with_clock(Arc::new(Back(AtomicI64::new(10))));
    assert_eq!(later.now(), 5_000, "nor after a resume");
}

#[tokio::test]
async fn what_waits_comes_in_one_batch() {
    let mut host = host(|issue, _| async move { ToyFact::Done { id: issue.id, value: 1 } });
    for number in 0..1_000 {
        host.issue(issue(&number.to_string()));
    }
    let mut batches = Vec::new();
    while batches.iter().sum::<usize>() < 1_000 {
        batches.push(host.next().await.unwrap().len());
        tokio::task::yield_now().await;
    }
    assert!(batches.len() < 100, "{batches:?}");
    assert!(batches.iter().all(|batch| *batch <= BATCH), "a commit is one piece of text: {batches:?}");
}

/// A journal that dies at a commit, before or after it has written it.
struct Dying {
    stream: MemoryStream<Toy>,
    commits_left: usize,
    writes_the_last: bool,
}

impl Sink<Toy> for Dying {
    type Error = JournalError;

    async fn append(&mut self, commit: Commit<'_, Toy>) -> Result<(), JournalError> {
        let dies = self.commits_left == 0;
        self.commits_left = self.commits_left.saturating_sub(1);
        if !dies || self.writes_the_last {
            self.stream.append(commit).await?;
        }
        if dies { Err(JournalError::Closed { path: "memory".into() }) } else { Ok(()) }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_dies_again_and_again_comes_to_its_end() {
    let input = ToyInput { lanes: 5, steps: 6 };
    for commits_left in 1..4 {
        for writes_the_last in [false, true] {
            let stream = MemoryStream::new();
            let sum = loop {
                let (after, resume) = match stream.load() {
                    None => (stream.clone(), Resume::Fresh(Recorded { at: 0, fact: input })),
                    Some(loaded) => (stream.clone().after(&loaded), loaded.resume(Vec::new())),
                };
                let sink = Dying { stream: after, commits_left, writes_the_last };
                let mut host = EmbeddedHost::new(Arc::new(World::repeating()), sink);
                match drive::<Toy, _>(&mut host, resume).await {
                    Ok(ended) => break ended.output,
                    Err(DriveError::Host(JournalError::Closed { .. })) => {}
                    Err(error) => panic!("{error}"),
                }
            };
            assert_eq!(sum, input.expected());
            assert!(sum.total < LATE);
        }
    }
}
