//! What travels between workflows and workers. Each form is read by every later version: new fields have defaults.

use aime_actors::{ActorFact, ActorInput, ActorMachine, Told};
use aime_durable::{EffectId, Machine};
use aime_orchestrator::{ActorOrder, Bounds, CallRecord, MadeActor, MadeBelow, RunContext, RunEffect, RunFact, RunMachine, RunResult};
use aime_progress::{Conclusion, Origin, ProgressEvent, QuestionId, TaskId, TaskSpec};
use aime_tools::DelegateTask;
use serde::{Deserialize, Serialize};

/// The input of a run.
pub(crate) type RunInput = <RunMachine as Machine>::Input;

use crate::{Back, Begin, Dated, EffectOrder, Queues, SoFar, Tree};

/// What the workflow of a run starts from.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunBegin {
    /// The run: its input, or its journal so far.
    pub begin: Begin<RunMachine>,
    /// Where its effects are carried out.
    #[serde(default)]
    pub queues: Queues,
    /// The journals of actors that were stopped before their end, by their names.
    #[serde(default)]
    pub stopped: Vec<(String, StoppedActor)>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
    /// Whether a worker does what is done at the end of a run: none did for runs of versions that did not say so.
    #[serde(default)]
    pub ends: bool,
    /// Whether it stands until somebody wants it to go on, as a fork does.
    #[serde(default)]
    pub stands: bool,
}

/// The end of a run for good, or of a part of it, for a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndOrder {
    /// What it came to.
    pub result: RunResult,
    /// Whether it has ended for good.
    pub over: bool,
    /// The run so far.
    pub so_far: RunContext,
    /// The state of the working folder, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
}

/// An actor that was stopped and may go on, or that has ended and whose run has not taken its end in yet.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoppedActor {
    /// Where it goes on.
    pub begin: Begin<ActorMachine>,
    /// How many reports it has made, the one that it was made among them.
    pub reports: u64,
    /// What it came to, where it has ended: it is judged again where the attempt was stopped meanwhile, and not done again.
    #[serde(default)]
    pub ended: Option<Conclusion>,
    /// How much of that the one is told that has called it, where another one has.
    #[serde(default)]
    pub text_limit: Option<usize>,
}

/// What the workflow of an actor starts from.
#[derive(Clone, Serialize, Deserialize)]
pub struct ActorBegin {
    /// The actor: its input, or its journal so far.
    pub begin: Begin<ActorMachine>,
    /// The workflow of its run, which hears of all that it does.
    pub run: String,
    /// What its run started from.
    pub input: RunInput,
    /// Its run, as it stood when the actor began.
    pub so_far: RunContext,
    /// Where its effects are carried out.
    #[serde(default)]
    pub queues: Queues,
    /// How many reports were made before.
    #[serde(default)]
    pub reports: u64,
    /// The first report, that it was made, where it has not been heard yet.
    #[serde(default)]
    pub created: Option<ProgressEvent>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
    /// What the actor that works for the plan was made for: those that it has called are made by that too.
    #[serde(default)]
    pub order: Option<ActorOrder>,
    /// Actors below it that were stopped before their end, by their names.
    #[serde(default)]
    pub stopped: Vec<(String, StoppedActor)>,
    /// How much of what it comes to the one is told that has called it, where another one has.
    #[serde(default)]
    pub text_limit: Option<usize>,
}

/// What the workflow of an actor comes to.
#[derive(Clone, Serialize, Deserialize)]
pub struct ActorEnd {
    /// The actor's conclusion.
    pub conclusion: Conclusion,
    /// Its journal: it may go on, where it was stopped or its result is not accepted.
    #[serde(default)]
    pub journal: Option<SoFar<ActorMachine>>,
    /// How many reports it has made.
    pub reports: u64,
    /// What the working folder has come to, where it goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
    /// Actors below it that were stopped before their end, by their names.
    #[serde(default)]
    pub below: Vec<(String, StoppedActor)>,
}

/// An effect of a run, for a worker. What the run started from travels beside it, as an argument of its own: it is the same for all, and
/// stored once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunOrder {
    /// The run so far.
    pub so_far: RunContext,
    /// The effect.
    pub order: EffectOrder<RunEffect>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
}

/// An actor that is to be made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MakeOrder {
    /// The run so far.
    pub so_far: RunContext,
    /// The effect that wants it.
    pub id: EffectId,
    /// For which task.
    pub order: ActorOrder,
    /// What people have said to it.
    #[serde(default)]
    pub said: Vec<Told>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
}

/// What came of making one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "making", rename_all = "snake_case")]
pub enum Making {
    /// It is there.
    Made {
        /// The actor.
        actor: Box<MadeActor>,
    },
    /// The attempt has ended before it began.
    Ended {
        /// How.
        fact: Box<RunFact>,
    },
}

/// An actor that is to do a part of the work of another one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DelegateOrder {
    /// The run so far.
    pub so_far: RunContext,
    /// The workflow of the run.
    pub run: String,
    /// What the actor that works for the plan was made for.
    pub order: ActorOrder,
    /// Whose work it is.
    pub by: ActorInput,
    /// The call by which it is handed on.
    pub call: String,
    /// What is to be done.
    pub request: DelegateTask,
    /// Where the texts come from that the other one has read and nobody vouches for.
    pub origins: Vec<Origin>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
}

/// What came of making one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "making", rename_all = "snake_case")]
pub enum MakingBelow {
    /// It is there.
    Made {
        /// The actor.
        made: Box<MadeBelow>,
    },
    /// There is none.
    Refused {
        /// Why, for the one that has called.
        why: String,
    },
}

/// An attempt whose criteria are to be looked at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgeOrder {
    /// The run so far.
    pub so_far: RunContext,
    /// The effect that began it.
    pub id: EffectId,
    /// The task.
    pub spec: TaskSpec,
    /// What it came to.
    pub conclusion: Conclusion,
    /// The calls in this attempt and those before it.
    pub calls: CallRecord,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
}

/// An effect of an actor, for a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActOrder {
    /// The run so far, with what the actor itself has spent since.
    pub so_far: RunContext,
    /// The workflow of the run, which hears what happens on the way.
    pub run: String,
    /// The effect.
    pub order: EffectOrder<aime_actors::ActorEffect>,
    /// The state of the working folder that it begins from, where the folder goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
}

/// The answer to a call, and what the folder came to by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worked<T> {
    /// The answer.
    pub fact: T,
    /// The folder.
    pub back: Back,
}

/// Two states of a folder that are to be one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JoinOrder {
    /// What stands.
    pub ours: Tree,
    /// What is to be taken in.
    pub theirs: Tree,
}

/// The answer to a question of an actor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answered {
    /// The question.
    pub question: QuestionId,
    /// The answer.
    pub text: String,
}

/// What somebody who watches a run is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Watched {
    /// Events from the one that was asked for, each with its time.
    pub events: Vec<Dated<ProgressEvent>>,
    /// How many events there are by now.
    pub all: usize,
    /// What the run came to, once it has ended or is left.
    pub result: Option<RunResult>,
    /// Whether it has ended for good.
    pub over: bool,
    /// The bounds in force.
    #[serde(default)]
    pub bounds: Option<Bounds>,
    /// What the working folder has come to, where it goes from host to host.
    #[serde(default)]
    pub tree: Option<Tree>,
}

/// A part of a run's journal.
#[derive(Clone, Serialize, Deserialize)]
pub struct Journaled {
    /// What the run started from; none before it has begun.
    pub input: Option<Dated<RunInput>>,
    /// Facts from the one that was asked for.
    pub facts: Vec<Dated<RunFact>>,
    /// How many facts there are by now.
    pub all: usize,
}

/// What an actor began with, and a part of its journal.
#[derive(Clone, Serialize, Deserialize)]
pub struct ActorJournaled {
    /// What it started from.
    pub input: Dated<ActorInput>,
    /// Its first report, that it was made, unless the run has heard it before this history.
    pub created: Option<ProgressEvent>,
    /// The number of its first report after that: more than one where it began anew, and what it told before stays told.
    #[serde(default = "one")]
    pub first: u64,
    /// How much of what it comes to the one is told that has called it.
    pub text_limit: Option<usize>,
    /// Facts from the one that was asked for.
    pub facts: Vec<Dated<ActorFact>>,
    /// How many facts there are by now.
    pub all: usize,
}

/// The number of the first report of an actor after that it was made.
const fn one() -> u64 {
    1
}

/// The workflow of a run, by the run's name.
#[must_use]
pub fn run_workflow(run: &str) -> String {
    format!("aime-run-{run}")
}

/// The workflow of an actor.
#[must_use]
pub fn actor_workflow(run: &str, task: &TaskId, execution: u32) -> String {
    format!("{run}/{task}/{execution}")
}

/// Whether a fact makes a run go on that is left: somebody resumes or ends it, or, where it `waits` for a person, answers it or takes a task out of
/// its plan. In a run that was paused or is out of bounds what was said so waits until somebody resumes it, as in a folder.
#[must_use]
pub const fn moves_on(fact: &RunFact, waits: bool) -> bool {
    match fact {
        RunFact::Resumed { .. } | RunFact::CancelRequested { task: None, .. } => true,
        RunFact::PersonAnswered { .. } | RunFact::CancelRequested { .. } => waits,
        _ => false,
    }
}
