//! Command-line arguments. Each command interprets its own in one place.

mod choices;
#[cfg(feature = "temporal")]
mod engine;
mod evaluate;
mod lazy;
mod permissions;
mod runs;
mod subcommands;
#[cfg(test)]
mod tests;
mod tips;
mod usage_error;

use std::{path::PathBuf, time::Duration};

use aime_messages::{Message, message};
use clap::{Args, Parser, Subcommand, ValueEnum};

#[cfg(feature = "temporal")]
pub(crate) use self::engine::{EngineArgs, WorkerArgs};
use crate::i18n::LanguageChoice;

pub(crate) use self::{
    choices::{ApproveArg, CheckFormat, MemoryFormat, ModeArg, Output, PlanFormat, SchemaName, ShowFormat},
    evaluate::{EvalArgs, EvalFormat},
    lazy::LazyArgs,
    permissions::{PermissionsCommand, PermissionsFormat},
    runs::{RunsCommand, UndoArgs},
    subcommands::{ConfigCommand, McpCommand, MemoryCommand, ModelsCommand, ProfilesCommand, ToolsCommand},
    usage_error::{as_typed, color_in, language_in, print_usage_error, read},
};

/// Help heading of the options that every command has.
const ALL: &str = "Options of all commands";
/// Help heading of the bounds of a run.
const BOUNDS: &str = "Bounds";

const ABOUT: &str = "\
Which model: --model, then AIME_MODEL, then [models.default] of the configuration, then OPENAI_BASE_URL or the key of a provider, such as OPENAI_API_KEY;
with none of these a small one in this process, which is fetched when it is first used.
Exit codes: 0 reached, 1 not reached, 2 wrong use, 3 no model, 4 a bound, 5 waits for a person, 6 a fault in aime, 130 interrupted.";

const RUN_EXAMPLES: &str = "\
Examples:
  aime run \"Find every TODO comment and list them in TODO.md\"
  aime run --goal-file goal.md --model fast --max-cost 0.50
  aime run --plan plan.json --unattended --output json > result.json

The result is on standard output, everything else on standard error. Ctrl-C stops so that `aime resume last` goes on.";

const ACP_EXAMPLE: &str = "\
In the settings of Zed:
  {\"agent_servers\": {\"aime\": {\"type\": \"custom\", \"command\": \"aime\", \"args\": [\"acp\"]}}}

It ends when its standard input is closed. Runs that are under way then are stopped and can be resumed.";

const DASHBOARD_HELP: &str = "\
Prints the address to open; it holds a token, without which nobody is let in. Only this machine can reach it.
A run that is started or resumed in it goes on when the page is closed. Ctrl-C ends it, and stops the runs that it carries out, so that they can
be resumed; it ends no run of another terminal.";

/// Give it a goal; it plans, works, and changes the plan when reality disagrees.
#[derive(Debug, Parser)]
#[command(name = "aime", version, about, long_about = None, propagate_version = true, arg_required_else_help = true, after_help = ABOUT)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Work in this folder; other paths stay relative to where you are
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = ALL)]
    pub(crate) directory: Option<PathBuf>,
    /// Configuration file to read last
    #[arg(long, value_name = "FILE", global = true, help_heading = ALL)]
    pub(crate) config: Option<PathBuf>,
    /// Print only the result
    #[arg(short, long, global = true, help_heading = ALL, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more; twice for everything
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = ALL)]
    pub(crate) verbose: u8,
    /// Show runs as plain lines, also on a terminal: for screen readers, and for logs
    #[arg(long, global = true, help_heading = ALL)]
    pub(crate) plain: bool,
    /// Language of messages; by default that of the settings, then that of LC_ALL, LC_MESSAGES or LANG
    #[arg(long, value_enum, value_name = "LANGUAGE", global = true, help_heading = ALL)]
    pub(crate) lang: Option<LanguageChoice>,
    /// When to use colours; NO_COLOR is honoured
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", global = true, help_heading = ALL)]
    pub(crate) color: ColorChoice,
    #[cfg(feature = "temporal")]
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Work on a goal
    #[command(after_help = RUN_EXAMPLES)]
    Run(LazyArgs<RunArgs>),
    /// Make a plan and run nothing
    Plan(LazyArgs<PlanArgs>),
    /// Check a plan and list all its faults
    Check {
        /// The plan: JSON; - for standard input
        plan_file: PathBuf,
        /// The form of the report
        #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
        format: CheckFormat,
    },
    /// Resume a run after a stop, a crash or an answer
    Resume(LazyArgs<ResumeArgs>),
    /// Continue a run that has ended with another goal
    Continue(LazyArgs<ContinueArgs>),
    /// Show and manage runs
    Runs {
        #[command(subcommand)]
        command: Option<LazyArgs<RunsCommand>>,
        /// The form of the output
        #[arg(long, value_enum, global = true, default_value_t = Output::Text)]
        output: Output,
    },
    /// Answer a question of a run
    Answer {
        /// The run
        run: String,
        /// The answer
        #[arg(required = true, num_args = 1.., allow_negative_numbers = true)]
        text: Vec<String>,
    },
    /// Send a message to a run, which then reviews its plan; in a direct run, its only actor receives it
    Tell {
        /// Say it to the actor of this task alone
        #[arg(long, value_name = "TASK")]
        task: Option<String>,
        /// The run
        run: String,
        /// Words for the run
        #[arg(required = true, num_args = 1.., allow_negative_numbers = true)]
        text: Vec<String>,
    },
    /// Stop a run of another process so that it can be resumed
    Pause {
        /// The run
        run: String,
    },
    /// End a run for good, or cancel one of its tasks; `aime pause` stops a run that is to be resumed
    Cancel {
        /// The run
        run: String,
        /// The task; without one the whole run
        task: Option<String>,
    },
    /// Serve runs of an engine: poll the queues of what this machine can do, and do it
    #[cfg(feature = "temporal")]
    Worker(LazyArgs<WorkerArgs>),
    /// Run a suite of tasks in several modes and models, and report how many succeed
    #[command(after_help = evaluate::EXAMPLES)]
    Eval(LazyArgs<EvalArgs>),
    /// Show the runs of this folder in a browser: start, watch, answer, steer and compare them there
    #[command(after_help = DASHBOARD_HELP)]
    Serve {
        /// The port on 127.0.0.1; any that is free unless given
        #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = whole::<u16>(0, u16::MAX.into()))]
        port: u16,
        /// Show the runs of this folder, too, and let runs be started there; it can be given several times
        #[arg(long, value_name = "DIR")]
        folder: Vec<PathBuf>,
    },
    /// List the tools, or call one
    Tools {
        #[command(subcommand)]
        command: Option<LazyArgs<ToolsCommand>>,
    },
    /// List and test the MCP servers whose tools actors use, or serve aime over MCP
    Mcp {
        #[command(subcommand)]
        command: Option<LazyArgs<McpCommand>>,
    },
    /// Serve an editor as an agent of the Agent Client Protocol over standard input and output
    #[command(after_help = ACP_EXAMPLE)]
    Acp {
        /// Write a commented `aime.toml` into the working folder, with a model that is served on this machine, if there is one
        #[arg(long)]
        init: bool,
    },
    /// List the profiles of actors
    Profiles {
        #[command(subcommand)]
        command: Option<LazyArgs<ProfilesCommand>>,
    },
    /// List the models, or pull (download) a local one
    Models {
        #[command(subcommand)]
        command: Option<LazyArgs<ModelsCommand>>,
    },
    /// List what earlier runs learnt, or forget it
    Memory {
        #[command(subcommand)]
        command: Option<LazyArgs<MemoryCommand>>,
        /// The form of the output
        #[arg(long, value_enum, global = true, default_value_t = MemoryFormat::Text)]
        output: MemoryFormat,
    },
    /// List what actors may do without asking, or forget what the answer "always" allowed
    Permissions {
        #[command(subcommand)]
        command: Option<LazyArgs<PermissionsCommand>>,
        /// The form of the output
        #[arg(long, value_enum, global = true, default_value_t = PermissionsFormat::Text)]
        output: PermissionsFormat,
    },
    /// Show, check or create the configuration
    Config {
        #[command(subcommand)]
        command: Option<LazyArgs<ConfigCommand>>,
    },
    /// Print the JSON Schema of a format
    Schema {
        /// The format; without one, all of them
        #[arg(value_enum)]
        format: Option<SchemaName>,
    },
    /// Report what works here, what does not, and how to fix it
    Doctor,
    /// Print the manual page
    Man {
        /// Write the pages of all commands into this folder instead
        #[arg(short, value_name = "DIR")]
        output_folder: Option<PathBuf>,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The goal; - reads it from standard input
    #[arg(allow_negative_numbers = true)]
    pub(crate) goal: Option<String>,
    /// Read the goal from a file
    #[arg(long, value_name = "F", conflicts_with = "goal")]
    pub(crate) goal_file: Option<PathBuf>,
    /// Image to send with the goal: PNG, JPEG, GIF or WebP; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Run this plan instead of making one; - reads it from standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Open the plan in $EDITOR before it is run
    #[arg(long)]
    pub(crate) review: bool,
    #[command(flatten)]
    pub(crate) choice: ModelChoice,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    /// Calls that actors make without asking: none that change something, edits of files, or all; read-only refuses changes
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) approve: Option<ApproveArg>,
    /// Do not wait for answers: refuse calls that need consent, and stop with exit code 5 if only a person can decide
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Commit the work of each task to a new branch, aime/ID; the current branch stays, and nothing is pushed
    #[arg(long)]
    pub(crate) commit: bool,
    /// Maximum number of tasks that run at once
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u32>(1, 1000))]
    pub(crate) max_parallel: Option<u32>,
    /// The form of standard output: the answer, one JSON object, or each event as a line of JSON and the result last
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// The name of the run, for `aime resume` and `aime runs`
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ModelChoice {
    /// Planning mode; by default aime chooses one and says why
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<ModeArg>,
    /// The model: a name from the configuration, the server's own name for it, or a local one
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BoundArgs {
    /// Maximum number of tokens, sent and received
    #[arg(long, help_heading = BOUNDS, value_name = "N", allow_hyphen_values = true, value_parser = whole::<u64>(1, u64::MAX))]
    pub(crate) max_tokens: Option<u64>,
    /// Maximum cost in US dollars; needs prices for the model
    #[arg(long, help_heading = BOUNDS, value_name = "USD", allow_hyphen_values = true, value_parser = parse_cost)]
    pub(crate) max_cost: Option<f64>,
    /// Maximum working time, such as 90s, 10m, 1h30m
    #[arg(long, help_heading = BOUNDS, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
}

/// Reason why the value of an argument is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
struct ArgumentFault(Message);

/// Returns a parser of whole numbers within bounds.
fn whole<T: TryFrom<u64>>(least: u64, most: u64) -> impl Fn(&str) -> Result<T, ArgumentFault> + Clone {
    move |text| {
        let number = text.trim().parse::<u64>().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match most {
            u64::MAX => ArgumentFault(message!("typed-whole-least", least)),
            most => ArgumentFault(message!("typed-whole", least, most)),
        })
    }
}

/// Parses `90s`, `10m` or `1h30m`; a bare number means seconds.
fn parse_duration(text: &str) -> Result<Duration, ArgumentFault> {
    let time = match text.trim().parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => text.trim().parse::<jiff::SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok()),
    };
    time.filter(|time| !time.is_zero()).ok_or_else(|| ArgumentFault(message!("typed-time")))
}

/// Parses an amount of US dollars, above 0.
fn parse_cost(text: &str) -> Result<f64, ArgumentFault> {
    let cost = text.trim().trim_start_matches('$').parse::<f64>().ok();
    cost.filter(|cost| cost.is_finite() && *cost > 0.0).ok_or_else(|| ArgumentFault(message!("typed-dollars")))
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The goal; - reads it from standard input
    #[arg(allow_negative_numbers = true)]
    pub(crate) goal: String,
    /// Image to send with the goal: PNG, JPEG, GIF or WebP; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) choice: ModelChoice,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    /// The form of the plan
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub(crate) format: PlanFormat,
    /// Write it to a file; - for standard output
    #[arg(short, value_name = "FILE")]
    pub(crate) output_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ContinueArgs {
    #[command(flatten)]
    pub(crate) of: ResumeArgs,
    /// Next goal; - reads it from standard input
    #[arg(allow_negative_numbers = true)]
    pub(crate) goal: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run; `last` for the newest
    pub(crate) run: String,
    /// The model to go on with
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    /// The form of standard output: the answer, one JSON object, or each event as a line of JSON and the result last
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
}
