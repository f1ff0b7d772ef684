use std::collections::{BTreeMap, VecDeque};

use futures::FutureExt;
use proptest::prelude::*;

use super::*;
use crate::contract::{LATE, Sum, Toy, ToyEffect, ToyEvent, ToyFact, ToyInput};

/// Runs a future to completion; no host here ever waits.
fn block_on<F: Future>(future: F) -> F::Output {
    future.now_or_never().unwrap()
}

fn id(text: &str) -> EffectId {
    EffectId::new(text)
}

fn done(text: &str, value: u64) -> ToyFact {
    ToyFact::Done { id: id(text), value }
}

fn revoked(text: &str) -> ToyFact {
    ToyFact::Revoked { id: id(text), why: Reason::Cancelled }
}

fn at<F>(at: UnixMillis, fact: F) -> Recorded<F> {
    Recorded { at, fact }
}

/// Call that the host received.
#[derive(Debug, PartialEq)]
enum Asked {
    Issue(String, bool),
    Revoke(String),
    Commit { input: bool, facts: Vec<ToyFact>, events: usize },
}

/// Gives batches that were written down beforehand, and writes down what it is asked.
#[derive(Default)]
struct Script {
    batches: VecDeque<Vec<ToyFact>>,
    asked: Vec<Asked>,
    fails_at_commit: Option<usize>,
}

impl Script {
    fn new(batches: impl IntoIterator<Item = Vec<ToyFact>>) -> Self {
        Self { batches: batches.into_iter().collect(), ..Self::default() }
    }

    fn issued(&self) -> Vec<&str> {
        self.asked.iter().filter_map(|asked| if let Asked::Issue(id, _) = asked { Some(id.as_str()) } else { None }).collect()
    }

    fn facts(&self) -> Vec<&ToyFact> {
        self.asked.iter().filter_map(|asked| if let Asked::Commit { facts, .. } = asked { Some(facts) } else { None }).flatten().collect()
    }
}

impl Host<Toy> for Script {
    type Error = &'static str;

    fn issue(&mut self, issue: Issue<ToyEffect>) {
        self.asked.push(Asked::Issue(issue.id.to_string(), issue.reissued));
    }

    fn revoke(&mut self, id: &EffectId, _: Reason) {
        self.asked.push(Asked::Revoke(id.to_string()));
    }

    async fn next(&mut self) -> Result<Vec<Recorded<ToyFact>>, &'static str> {
        Ok(self.batches.pop_front().unwrap_or_default().into_iter().map(|fact| at(5, fact)).collect())
    }

    async fn commit(&mut self, commit: Commit<'_, Toy>) -> Result<(), &'static str> {
        let before = self.asked.iter().filter(|asked| matches!(asked, Asked::Commit { .. })).count();
        let facts = commit.facts.iter().map(|fact| fact.fact.clone()).collect();
        self.asked.push(Asked::Commit { input: commit.input.is_some(), facts, events: commit.events.len() });
        if self.fails_at_commit == Some(before) { Err("the disk is full") } else { Ok(()) }
    }
}

/// One lane of four steps: work, timer, work beside a wait, work beside a stubborn wait.
const ONE: ToyInput = ToyInput { lanes: 1, steps: 4 };

fn fresh() -> Resume<Toy> {
    Resume::Fresh(at(1, ONE))
}

fn journal(facts: Vec<ToyFact>, events: usize, then: Vec<ToyFact>) -> Resume<Toy> {
    let facts = facts.into_iter().map(|fact| at(2, fact)).collect();
    Resume::Journal { input: at(1, ONE), facts, events, then: then.into_iter().map(|fact| at(3, fact)).collect() }
}

fn run(script: &mut Script, resume: Resume<Toy>) -> Result<Sum, DriveError<&'static str>> {
    block_on(drive(script, resume)).map(|ended| ended.output)
}

// Requirement: 1.7, 7.5
#[test]
fn facts_are_committed_before_their_effects_are_issued() {
    let mut script = Script::new([vec![done("0/0/work", 1)]]);
    assert!(matches!(run(&mut script, fresh()), Err(DriveError::Idle)));
    let expected = [
        Asked::Commit { input: true, facts: vec![], events: 1 },
        Asked::Issue("0/0/work".to_owned(), false),
        Asked::Commit { input: false, facts: vec![done("0/0/work", 1)], events: 2 },
        Asked::Issue("0/1/work".to_owned(), false),
    ];
    assert_eq!(script.asked, expected);
}

#[test]
fn nothing_is_issued_when_a_commit_fails() {
    let mut script = Script::new([vec![done("0/0/work", 1)]]);
    script.fails_at_commit = Some(1);
    assert!(matches!(run(&mut script, fresh()), Err(DriveError::Host("the disk is full"))));
    assert_eq!(script.issued(), ["0/0/work"]);
}

#[test]
fn answers_to_nothing_under_way_never_reach_the_machine() {
    let batch = vec![done("0/0/work", 1), done("0/0/work", 1), done("never/issued", 7), ToyFact::Note { text: "kept".to_owned() }];
    let mut script = Script::new([batch, vec![done("0/0/work", 1)], vec![done("0/1/work", 2)]]);
    assert!(matches!(run(&mut script, fresh()), Err(DriveError::Idle)));
    assert_eq!(script.facts(), [&done("0/0/work", 1), &ToyFact::Note { text: "kept".to_owned() }, &done("0/1/work", 2)]);
    let commits = script.asked.iter().filter(|asked| matches!(asked, Asked::Commit { .. })).count();
    assert_eq!(commits, 3, "a batch of duplicates alone is not committed");
}

#[test]
fn a_late_result_becomes_the_acknowledgement_of_the_revoke() {
    let mut script = Script::new([
        vec![done("0/0/work", 1)],
        vec![done("0/1/work", 2)],
        vec![done("0/2/work", 3), done("0/2/wait", LATE)],
        vec![done("0/3/work", 4)],
        vec![done("0/3/wait", LATE)],
    ]);
    assert_eq!(run(&mut script, fresh()).unwrap(), Sum { total: 10, answers: 6 });
    let acknowledged: Vec<_> = script.facts().into_iter().filter(|fact| matches!(fact, ToyFact::Revoked { .. })).collect();
    assert_eq!(acknowledged, [&revoked("0/2/wait"), &revoked("0/3/wait")]);
    let revokes: Vec<_> = script.asked.iter().filter(|asked| matches!(asked, Asked::Revoke(_))).collect();
    assert_eq!(revokes, [&Asked::Revoke("0/3/wait".to_owned())], "what was answered before the commit need not be revoked");
}

#[test]
fn a_resume_issues_only_what_has_no_answer() {
    let mut script = Script::new([vec![done("0/1/work", 2)]]);
    assert!(matches!(run(&mut script, journal(vec![done("0/0/work", 1)], 3, vec![])), Err(DriveError::Idle)));
    let expected = [
        Asked::Issue("0/1/work".to_owned(), true),
        Asked::Commit { input: false, facts: vec![done("0/1/work", 2)], events: 2 },
        Asked::Issue("0/2/work".to_owned(), false),
        Asked::Issue("0/2/wait".to_owned(), false),
    ];
    assert_eq!(script.asked, expected);
}

#[test]
fn a_revoke_that_no_host_has_seen_is_acknowledged_at_once() {
    let facts = vec![done("0/0/work", 1), done("0/1/work", 2), done("0/2/work", 3)];
    let mut script = Script::default();
    assert!(matches!(run(&mut script, journal(facts, 5, vec![])), Err(DriveError::Idle)));
    assert_eq!(script.facts(), [&revoked("0/2/wait")]);
    assert_eq!(script.issued(), ["0/3/wait", "0/3/work"], "and the machine goes on");
}

#[test]
fn new_facts_come_before_all_others_on_a_resume() {
    let mut script = Script::default();
    let then = vec![ToyFact::Note { text: "resumed".to_owned() }];
    assert!(matches!(run(&mut script, journal(vec![done("0/0/work", 1)], 3, then.clone())), Err(DriveError::Idle)));
    assert_eq!(script.asked[0], Asked::Commit { input: false, facts: then, events: 1 });
    assert_eq!(script.asked[1], Asked::Issue("0/1/work".to_owned(), true));
}

#[test]
fn a_machine_that_has_ended_gives_its_output_again_and_does_nothing() {
    let facts = ["0/0/work", "0/1/work", "0/2/work", "0/3/work"].map(|work| done(work, 1));
    let [first, second, third, fourth] = facts;
    let facts = vec![first, second, third, revoked("0/2/wait"), fourth, revoked("0/3/wait")];
    let mut script = Script::default();
    assert_eq!(run(&mut script, journal(facts, 8, vec![])).unwrap(), Sum { total: 4, answers: 6 });
    assert_eq!(script.asked, []);
}

#[test]
fn a_journal_of_another_machine_is_refused() {
    let mut script = Script::default();
    let outcome = run(&mut script, journal(vec![done("0/0/work", 1)], 17, vec![]));
    assert!(matches!(outcome, Err(DriveError::Diverged { recorded: 17, replayed: 3 })));
    assert_eq!(script.asked, []);
}

/// Machine that issues the effects that its facts name.
#[derive(serde::Serialize, serde::Deserialize)]
struct Instructions;

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
enum Instruction {
    Issue(String),
    Revoke(String, Reason),
    Answer(EffectId),
}

impl Machine for Instructions {
    const VERSION: u32 = 1;
    type Input = Vec<Instruction>;
    type Fact = Vec<Instruction>;
    type Effect = String;
    type Event = ();
    type Output = ();

    fn start(_: UnixMillis, input: &Vec<Instruction>, out: &mut Outbox<Self>) -> Self {
        follow(input, out);
        Self
    }

    fn apply(&mut self, _: UnixMillis, fact: &Vec<Instruction>, out: &mut Outbox<Self>) -> Option<()> {
        follow(fact, out);
        None
    }

    fn answers(fact: &Vec<Instruction>) -> Option<&EffectId> {
        fact.iter().find_map(|instruction| if let Instruction::Answer(id) = instruction { Some(id) } else { None })
    }

    fn revoked(id: &EffectId, why: &Reason) -> Vec<Instruction> {
        vec![Instruction::Answer(id.clone()), Instruction::Issue(format!("{id} was revoked: {why:?}"))]
    }

    fn kind(_: &String) -> &'static str {
        "instruction"
    }

    fn is_repeatable(effect: &String) -> bool {
        effect.starts_with("look")
    }
}

fn follow(instructions: &[Instruction], out: &mut Outbox<Instructions>) {
    for instruction in instructions {
        match instruction {
            Instruction::Issue(id) => out.issue(EffectId::new(id.clone()), id.clone()),
            Instruction::Revoke(id, why) => out.revoke(EffectId::new(id.clone()), why.clone()),
            Instruction::Answer(_) => {}
        }
    }
}

#[derive(Default)]
struct Listener {
    batches: VecDeque<Vec<Instruction>>,
    asked: Vec<String>,
}

impl Host<Instructions> for Listener {
    type Error = ();

    fn issue(&mut self, issue: Issue<String>) {
        self.asked.push(format!("issue {}", issue.id));
    }

    fn revoke(&mut self, id: &EffectId, why: Reason) {
        self.asked.push(format!("revoke {id}: {why:?}"));
    }

    async fn next(&mut self) -> Result<Vec<Recorded<Vec<Instruction>>>, ()> {
        Ok(self.batches.pop_front().map(|fact| at(1, fact)).into_iter().collect())
    }

    async fn commit(&mut self, _: Commit<'_, Instructions>) -> Result<(), ()> {
        self.asked.push("commit".to_owned());
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), ()> {
        self.asked.push("flush".to_owned());
        Ok(())
    }
}

#[test]
fn only_what_may_be_repeated_does_not_wait_for_the_disk() {
    let issue = |id: &str| Instruction::Issue(id.to_owned());
    let answer = |of: &str| Instruction::Answer(id(of));
    let batches = [
        vec![answer("look 1"), issue("look 2"), issue("look 3")],
        vec![answer("look 2"), issue("look 4"), issue("change")],
        vec![answer("look 3")],
        vec![answer("change"), issue("look 5"), Instruction::Revoke("look 4".to_owned(), Reason::Cancelled)],
    ];
    let mut host = Listener { batches: batches.into_iter().collect(), asked: Vec::new() };
    assert!(matches!(block_on(drive::<Instructions, _>(&mut host, Resume::Fresh(at(0, vec![issue("look 1")])))), Err(DriveError::Idle)));
    let asked = [
        vec!["commit", "flush", "issue look 1"],
        vec!["commit", "issue look 2", "issue look 3"],
        vec!["commit", "flush", "issue look 4", "issue change"],
        vec!["commit", "flush"],
        vec!["commit", "flush", "issue look 5", "revoke look 4: Cancelled"],
    ];
    assert_eq!(host.asked, asked.concat(), "what a machine starts from, changes, answers alone and revokes are durable first");
}

#[test]
fn an_effect_is_issued_and_revoked_once_and_the_first_reason_counts() {
    let issue = |id: &str| Instruction::Issue(id.to_owned());
    let revoke = |id: &str, why| Instruction::Revoke(id.to_owned(), why);
    let input = vec![issue("a"), issue("a"), issue("b"), revoke("b", Reason::Deadline), revoke("unknown", Reason::Stopped)];
    let batches = [
        vec![issue("a"), revoke("a", Reason::Cancelled), revoke("a", Reason::Stopped)],
        vec![revoke("a", Reason::Deadline), issue("a")],
        vec![Instruction::Answer(id("a"))],
    ];
    let mut host = Listener { batches: batches.into_iter().collect(), asked: Vec::new() };
    assert!(matches!(block_on(drive::<Instructions, _>(&mut host, Resume::Fresh(at(0, input)))), Err(DriveError::Idle)));
    host.asked.retain(|asked| !matches!(asked.as_str(), "commit" | "flush"));
    assert_eq!(host.asked, ["issue a", "issue b was revoked: Deadline", "revoke a: Cancelled", "issue a was revoked: Cancelled"]);
}

/// State that survives a crash.
#[derive(Default)]
struct Disk {
    input: Option<Recorded<ToyInput>>,
    facts: Vec<Recorded<ToyFact>>,
    events: Vec<Recorded<ToyEvent>>,
}

/// Answers in an order that depends on the seed and on what is kept, so that a crash does not change it.
struct Seeded<'a> {
    disk: &'a mut Disk,
    seed: u64,
    duplicates: bool,
    under_way: BTreeMap<EffectId, (ToyEffect, bool)>,
    /// Commits until the crash, and whether the last is written.
    crash: Option<(usize, bool)>,
}

impl Seeded<'_> {
    fn chance(&self, what: &str) -> u64 {
        let mut hash = blake3::Hasher::new();
        hash.update(&self.seed.to_le_bytes()).update(&self.disk.facts.len().to_le_bytes()).update(what.as_bytes());
        u64::from_le_bytes(hash.finalize().as_bytes()[..8].try_into().unwrap())
    }

    fn below(&self, what: &str, bound: usize) -> usize {
        usize::try_from(self.chance(what)).unwrap() % bound
    }
}

impl Host<Toy> for Seeded<'_> {
    type Error = ();

    fn issue(&mut self, issue: Issue<ToyEffect>) {
        assert!(self.under_way.insert(issue.id, (issue.effect, false)).is_none());
    }

    fn revoke(&mut self, id: &EffectId, _: Reason) {
        self.under_way.get_mut(id).unwrap().1 = true;
    }

    async fn next(&mut self) -> Result<Vec<Recorded<ToyFact>>, ()> {
        let mut ready: Vec<_> = self.under_way.iter().filter(|(_, (_, revoked))| *revoked).map(|(id, _)| id.clone()).collect();
        if ready.is_empty() {
            let works = |effect: &ToyEffect| matches!(effect, ToyEffect::Work(_) | ToyEffect::Timer(_));
            ready = self.under_way.iter().filter(|(_, (effect, _))| works(effect)).map(|(id, _)| id.clone()).collect();
            ready.sort_by_cached_key(|id| self.chance(id.as_str()));
            ready.truncate(1 + self.below("batch", 4));
        }
        let mut batch = Vec::new();
        for id in ready {
            let (effect, revoked) = self.under_way.remove(&id).unwrap();
            let fact = match effect {
                ToyEffect::Work(value) | ToyEffect::Timer(value) => ToyFact::Done { id: id.clone(), value },
                ToyEffect::Wait | ToyEffect::Stubborn => ToyFact::Done { id: id.clone(), value: LATE },
            };
            batch.push(if revoked && effect == ToyEffect::Wait { Toy::revoked(&id, &Reason::Stopped) } else { fact });
            if self.duplicates && self.chance("again").is_multiple_of(2) {
                batch.push(batch[self.below("which", batch.len())].clone());
            }
            if self.duplicates && !self.disk.facts.is_empty() {
                batch.insert(self.below("where", batch.len()), self.disk.facts[self.below("old", self.disk.facts.len())].fact.clone());
            }
        }
        Ok(batch.into_iter().map(|fact| at(2, fact)).collect())
    }

    async fn commit(&mut self, commit: Commit<'_, Toy>) -> Result<(), ()> {
        let dies = matches!(self.crash, Some((0, _)));
        if dies && self.crash == Some((0, false)) {
            return Err(());
        }
        self.crash = self.crash.map(|(left, last)| (left.saturating_sub(1), last));
        self.disk.input = self.disk.input.take().or_else(|| commit.input.cloned());
        self.disk.facts.extend_from_slice(commit.facts);
        self.disk.events.extend_from_slice(&commit.events);
        if dies { Err(()) } else { Ok(()) }
    }
}

/// Runs through the crashes to the end.
fn survive(input: ToyInput, seed: u64, duplicates: bool, crashes: Vec<(usize, bool)>) -> (Sum, Disk) {
    let (mut disk, mut crashes) = (Disk::default(), crashes.into_iter());
    loop {
        let resume = match disk.input.clone() {
            None => Resume::Fresh(at(0, input)),
            Some(input) => Resume::Journal { input, facts: disk.facts.clone(), events: disk.events.len(), then: Vec::new() },
        };
        let mut host = Seeded { disk: &mut disk, seed, duplicates, under_way: BTreeMap::new(), crash: crashes.next() };
        match block_on(drive::<Toy, _>(&mut host, resume)) {
            Ok(ended) => return (ended.output, disk),
            Err(DriveError::Host(())) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

proptest! {
    #[test]
    fn crashes_and_duplicates_change_nothing(
        lanes in 1_u32..5,
        steps in 1_u32..7,
        seed: u64,
        crashes in proptest::collection::vec((0_usize..6, any::<bool>()), 0..8),
    ) {
        let input = ToyInput { lanes, steps };
        let (calm, straight) = survive(input, seed, false, Vec::new());
        prop_assert_eq!(calm, input.expected());
        let (sum, disk) = survive(input, seed, true, crashes);
        prop_assert_eq!(sum, calm);
        let values = |disk: &Disk| disk.events.iter().map(|event| event.fact.clone()).collect::<Vec<_>>();
        prop_assert_eq!(values(&disk), values(&straight));
        let answers = |disk: &Disk| disk.facts.iter().map(|fact| Toy::answers(&fact.fact).cloned()).collect::<Vec<_>>();
        prop_assert_eq!(answers(&disk), answers(&straight));
        prop_assert_eq!(replay::<Toy>(&at(0, input), &disk.facts).events, disk.events);
    }
}
