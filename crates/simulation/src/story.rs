//! Story: a run over all its lives.

use std::sync::{Arc, atomic::Ordering};

use aime_durable::{Journal, RUN_STREAM};
use aime_orchestrator::{Bounds, InboxMessage, OrchestratorError, RunMachine, RunView, run_status, view};
use aime_progress_management::{RunStatus, TaskStatus};
use futures::FutureExt;

use crate::{
    Cut, Moment, Scenario, Stage, check,
    life::{Left, LifeStart, RUN, live, run_id},
    people::{answer, put},
    world::{Tally, World, WorldDisk},
};

/// Maximum number of lives: every death, stop, question and bound ends one.
const MAX_LIVES: u32 = 60;
/// Number of times that a bound is raised before the run is left.
const RAISED: u32 = 3;
/// Probability of a snapshot before a run is resumed, per 1,000 cases.
const SNAPSHOTS: u32 = 500;
/// Number of times that an unavailable model is retried.
const TRIED: u32 = 2;

/// Result of a run over all its lives.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// Seed of the scenario.
    pub seed: u64,
    /// Violated invariants; empty unless aime has a bug.
    pub faults: Vec<String>,
    /// Final status, or the code of the failure.
    pub end: String,
    /// Answer of the run.
    pub answer: String,
    /// Tasks with their final states.
    pub tasks: Vec<(String, TaskStatus)>,
    /// Every moment at which the run could have been cut, in order.
    pub moments: Vec<Moment>,
    /// Number of processes that executed it.
    pub lives: u32,
    /// Number of processes that died.
    pub deaths: u64,
    /// Number of facts in its journal, without those of its actors.
    pub events: usize,
    /// Number of lives that began with a snapshot.
    pub snapshots: u32,
    /// Number of calls that were reported to be in doubt.
    pub in_doubt: usize,
    /// Events in its journal.
    pub record: Vec<String>,
    pub(crate) effects: Vec<(String, Tally)>,
}

/// Plays a run to its end, with as many processes as necessary. `cut` ends one of them at a chosen moment.
#[must_use]
pub fn play(stage: &Stage, scenario: Scenario, cut: Option<Cut>) -> Story {
    let world = Arc::new(World::new(scenario, cut));
    stage.slot.set(Some(Arc::clone(&world)));
    let story = match Journal::simulated(Arc::new(WorldDisk(Arc::clone(&world)))) {
        Ok(journal) => play_lives(stage, &world, &journal),
        Err(error) => Story { faults: vec![error.to_string()], ..Story::default() },
    };
    stage.slot.set(None);
    story
}

fn play_lives(stage: &Stage, world: &Arc<World>, journal: &Journal) -> Story {
    let mut story = Story { seed: world.scenario.seed, ..Story::default() };
    let mut goes_on = ContinuationCounts::default();
    let mut beginning = Some(LifeStart::Fresh);
    while let Some(next) = beginning.take() {
        story.lives += 1;
        if story.lives > MAX_LIVES {
            world.fault(format!("it has not ended after {MAX_LIVES} lives"));
            break;
        }
        if matches!(next, LifeStart::Resumed(_)) && world.chances.happens(&format!("snapshot/{}", story.lives), SNAPSHOTS) {
            story.snapshots += u32::from(snapshot(world, journal));
        }
        let left = live(stage, world, journal, next);
        let seen = match view(journal, &run_id()) {
            Ok(seen) => Some(seen),
            Err(OrchestratorError::NoSuchRun { .. }) => None,
            Err(error) => {
                world.fault(format!("its journal cannot be read: {error}"));
                break;
            }
        };
        if let Some(seen) = &seen {
            check::journal(world, journal, seen);
        }
        match left {
            Left::Endless => world.fault("a life does not end".to_owned()),
            Left::Failed(OrchestratorError::Journal(_)) | Left::Died => {}
            Left::Failed(error) => {
                world.fault(format!("it cannot be carried on: {error}"));
                break;
            }
            Left::Carried(result) => {
                check::left(world, &result);
                story.end = result.error.map_or_else(|| result.status.to_string(), |error| error.code.to_string());
                story.answer = result.answer;
            }
        }
        beginning = match seen {
            None => Some(LifeStart::Fresh),
            Some(seen) if seen.is_over && !story.end.is_empty() => {
                check::ended(world, journal, &seen, &mut story);
                None
            }
            Some(seen) => goes_on.after(&story.end, world, journal, &seen),
        };
        if beginning.is_some() {
            story.end.clear();
        }
    }
    story.deaths = world.deaths();
    story.moments = world.trace();
    story.effects = world.effects().into_iter().collect();
    story.faults = world.take_faults();
    story
}

/// Takes a snapshot of the run, and checks that it equals the state from all its facts. Returns false if
/// no snapshot can be taken, as for a run that was just left.
fn snapshot(world: &World, journal: &Journal) -> bool {
    let Ok(Some(taken)) = journal.take_snapshot::<RunMachine>(RUN, RUN_STREAM) else { return false };
    world.aside(true);
    let kept = journal.keep_snapshot(taken).now_or_never();
    world.aside(false);
    let wrong = match (run_status(journal, &run_id()), view(journal, &run_id())) {
        _ if !matches!(kept, Some(Ok(()))) => Some("it was not kept".to_owned()),
        (Ok(loaded), Ok(seen)) => {
            let whole = (&loaded.state, &loaded.bounds, loaded.actors, loaded.is_over, loaded.events, loaded.replayed);
            let expected = (&seen.state, &seen.bounds, seen.actors, seen.is_over, seen.events.len(), 0);
            (whole != expected || !loaded.unused.is_empty())
                .then(|| format!("{whole:?} {:?}, where all facts make {expected:?}", loaded.unused))
        }
        (loaded, seen) => Some(format!("{:?} {:?}", loaded.err(), seen.err())),
    };
    let checked = journal.check_snapshots::<RunMachine>(RUN, RUN_STREAM);
    let wrong = wrong.or_else(|| match checked {
        Ok(wrong) => wrong.first().map(|(_, why)| why.clone()),
        Err(error) => Some(error.to_string()),
    });
    if let Some(wrong) = wrong {
        world.fault(format!("a snapshot is not what the facts make: {wrong}"));
    }
    true
}

/// Counts of the ways in which a run that was left was continued.
#[derive(Default)]
struct ContinuationCounts {
    raised: u32,
    tried: u32,
    answered: u64,
}

impl ContinuationCounts {
    /// Returns the beginning of the next life; `None` if the run stays as it is, which is an end with a name, too.
    fn after(&mut self, end: &str, world: &World, journal: &Journal, seen: &RunView) -> Option<LifeStart> {
        match end {
            "bound_reached" => {
                self.raised += 1;
                check::bounds(world, seen);
                let bounds = Bounds { max_actors: 400, max_tool_calls: 4_000, max_steps: Some(40), ..Bounds::default() };
                (self.raised <= RAISED).then_some(LifeStart::Resumed(Some(bounds)))
            }
            "model_unavailable" => {
                self.tried += 1;
                (self.tried <= TRIED).then_some(LifeStart::Resumed(None))
            }
            "waiting_for_human" => {
                if seen.state.status != RunStatus::WaitingForHuman {
                    world.fault(format!("it waits for a person and stands as {}", seen.state.status));
                }
                let open: Vec<_> = seen.state.questions.iter().filter(|question| question.answer.is_none()).collect();
                if open.is_empty() {
                    world.fault("it waits for a person, and nothing is asked".to_owned());
                    return None;
                }
                for question in open {
                    self.answered += 1;
                    let mut rng = world.chances.of(&format!("later/{}/{}", question.id, self.answered));
                    let text = if self.answered > 20 { "stop".to_owned() } else { answer(&mut rng) };
                    let message = InboxMessage::Answer { question: question.id.clone(), text };
                    // A disk that dies during the write never answers.
                    let _answer = put(journal, &message).now_or_never();
                }
                Some(LifeStart::Resumed(None))
            }
            _ => Some(LifeStart::Resumed(None)),
        }
    }
}

impl Story {
    /// Returns the command that plays it again.
    #[must_use]
    pub fn command(&self) -> String {
        format!("cargo xtask reliability --seed {}", self.seed)
    }
}

impl World {
    /// Returns true if a call is running.
    pub(crate) fn is_busy(&self) -> bool {
        self.at_work.load(Ordering::Relaxed) > 0
    }
}
