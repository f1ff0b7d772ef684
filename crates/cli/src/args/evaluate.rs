//! Arguments of `aime eval`.

use std::path::PathBuf;

use aime_evaluation::{Agent, Fault, Replanning};
use aime_messages::message;
use clap::{Args, ValueEnum, builder::PossibleValue};

use super::{ArgumentFault, ModeArg};

pub(super) const EXAMPLES: &str = "\
Examples:
  aime eval core --verify-checks
  aime eval core --mode direct --mode auto --repeat 3
  aime eval my-suite --model small --model large --jobs 4
  aime eval core --mode auto --agent 'other=python3 other.py $GOAL_FILE'
  aime eval core --mode simple --settings usual= --settings coarse=coarse.toml
  aime eval core --task repair --fault flaky-tools --replanning on --replanning off

Each trial has a folder of its own. What came of it is kept: the same command goes on where it was stopped.";

/// A suite, and the ways in which it is tried.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The suite: a folder, or `core`, which is built in
    #[arg(default_value = "core")]
    pub(crate) suite: String,
    /// Only tasks whose name or category has this in it; may be given more than once
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Vec<String>,
    /// A mode to try; may be given more than once
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Vec<ModeArg>,
    /// A model to try; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Vec<String>,
    /// Settings to try, as `NAME=FILE`, merged over the configuration; `NAME=` uses the configuration alone; may be given more than once
    #[arg(long, value_name = "SETTINGS", value_parser = named_file)]
    pub(crate) settings: Vec<(String, Option<PathBuf>)>,
    /// Another agent to try on the same tasks, as `NAME=COMMAND`; may be given more than once, and alone where no mode is named
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Vec<Agent>,
    /// Fault that is made on purpose; may be given more than once
    #[arg(long, value_enum, value_name = "FAULT")]
    pub(crate) fault: Vec<FaultArg>,
    /// Triggers that may change the plan: all, none, or one alone; may be given more than once
    #[arg(long, value_enum, value_name = "TRIGGER")]
    pub(crate) replanning: Vec<ReplanningArg>,
    /// Number of trials of each task in each way
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::whole::<u32>(1, 1000))]
    pub(crate) repeat: u32,
    /// Number of trials that run at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::whole::<u32>(1, 256))]
    pub(crate) jobs: u32,
    /// Only tasks that nothing was tuned on
    #[arg(long, conflicts_with = "tuned")]
    pub(crate) held_out: bool,
    /// Only tasks that something was tuned on
    #[arg(long)]
    pub(crate) tuned: bool,
    /// Only tasks of this level, 1 (trivial) to 5 (hard); may be given more than once
    #[arg(long, value_name = "N", value_parser = super::whole::<u8>(1, 5))]
    pub(crate) level: Vec<u8>,
    /// Call no model: show that each check passes after the task's solution and fails after nothing
    #[arg(long, conflicts_with = "fresh")]
    pub(crate) verify_checks: bool,
    /// Run at most this many of the tasks, spread evenly over categories and levels, the same ones each time
    #[arg(long, value_name = "N", value_parser = super::whole::<u32>(1, u64::MAX))]
    pub(crate) sample: Option<u32>,
    /// Folder of the evaluation; without it `.aime/evaluations`
    #[arg(short, value_name = "DIR")]
    pub(crate) output_folder: Option<PathBuf>,
    /// Discard earlier results in that folder, and begin anew
    #[arg(long)]
    pub(crate) fresh: bool,
    /// The form of standard output
    #[arg(long, value_enum, default_value_t = EvalFormat::Text)]
    pub(crate) output: EvalFormat,
}

/// Parses `NAME=FILE`, or `NAME=`.
fn named_file(text: &str) -> Result<(String, Option<PathBuf>), ArgumentFault> {
    let (name, file) = text.split_once('=').ok_or_else(|| ArgumentFault(message!("typed-settings")))?;
    if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter)) {
        return Err(ArgumentFault(message!("typed-name")));
    }
    Ok((name.to_owned(), Some(PathBuf::from(file)).filter(|file| !file.as_os_str().is_empty())))
}

/// The form of what an evaluation prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalFormat {
    Text,
    Json,
}

/// Fault that the evaluation injects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultArg {
    None,
    Some(Fault),
}

impl FaultArg {
    pub(crate) const fn wanted(self) -> Option<Fault> {
        match self {
            Self::None => None,
            Self::Some(fault) => Some(fault),
        }
    }
}

impl ValueEnum for FaultArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FaultArg; 1 + Fault::ALL.len()] = {
            let [flaky, late, plan, tasks] = Fault::ALL;
            [FaultArg::None, FaultArg::Some(flaky), FaultArg::Some(late), FaultArg::Some(plan), FaultArg::Some(tasks)]
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::None => PossibleValue::new("none").help("nothing does"),
            Self::Some(Fault::FlakyTools) => {
                PossibleValue::new(Fault::FlakyTools.name()).help("the machine is busy at first: six calls are refused")
            }
            Self::Some(Fault::LateInformation) => {
                PossibleValue::new(Fault::LateInformation.name()).help("files come a minute after the first call")
            }
            Self::Some(Fault::WrongPlan) => PossibleValue::new(Fault::WrongPlan.name()).help("the run begins with the task's wrong plan"),
            Self::Some(Fault::WrongTasks) => {
                PossibleValue::new(Fault::WrongTasks.name()).help("the same plan without its calls of tools: actors get wrong instructions")
            }
        })
    }
}

/// Triggers that may change the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplanningArg(pub(crate) Replanning);

impl ValueEnum for ReplanningArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ReplanningArg; 7] = [
            ReplanningArg(Replanning::On),
            ReplanningArg(Replanning::Off),
            ReplanningArg(Replanning::TaskFailed),
            ReplanningArg(Replanning::Blocked),
            ReplanningArg(Replanning::Evidence),
            ReplanningArg(Replanning::Stalled),
            ReplanningArg(Replanning::TokenBudget),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}
