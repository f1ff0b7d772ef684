//! Arguments of the commands on existing runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ShowFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs of this folder
    List,
    /// Show one run: its plan, its tasks and its decisions
    Show {
        /// The run
        run: String,
        /// Show the run as it was when its plan reached this version
        #[arg(long, value_name = "V", value_parser = super::whole::<u32>(1, u64::MAX))]
        at: Option<u32>,
        /// The form of the text: for a terminal, or the progress list that the planner reads
        #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
        format: ShowFormat,
    },
    /// Show the changes of the plan between two of its versions
    Diff {
        /// The run
        run: String,
        /// The first version
        #[arg(value_parser = super::whole::<u32>(1, u64::MAX))]
        from: u32,
        /// The second version
        #[arg(value_parser = super::whole::<u32>(1, u64::MAX))]
        to: u32,
    },
    /// Start a new run from a version of this run's plan; files stay as they are now
    Fork {
        /// The run
        run: String,
        /// The version
        #[arg(long, value_name = "V", value_parser = super::whole::<u32>(1, u64::MAX))]
        at: u32,
        /// The name of the new run
        #[arg(long, value_name = "ID")]
        run_id: Option<String>,
    },
    /// Watch one run live, also one of another process; on a terminal in full screen
    Watch {
        /// The run
        run: String,
    },
    /// Print the journal of one run
    Events {
        /// The run
        run: String,
    },
    /// Write a report of one run as an HTML page
    Report {
        /// The run
        run: String,
        /// Write it to this file; - for standard output. By default the report goes into the run's folder, and its path is printed
        #[arg(short, value_name = "F.html")]
        output_file: Option<PathBuf>,
    },
    /// Check that the stored parts of one run agree: its journal, those of its actors, its snapshot, its entry in the list
    Check {
        /// The run
        run: String,
        /// Repair it: cut a damaged journal after its last good record, and rewrite what follows from it
        #[arg(long)]
        repair: bool,
    },
    /// Time, tokens and plans: over all runs of this folder, or of one, what the time and the tokens went to, how often a plan was made and how often it reached its goal
    Stats {
        /// The run; all runs by default
        run: Option<String>,
    },
    /// Put files back as they were before a run, or one of its tasks, changed them
    Undo {
        #[command(flatten)]
        args: UndoArgs,
        /// The task; without one all that the run did
        task: Option<String>,
    },
    /// Take back the last undo of a run
    Redo {
        #[command(flatten)]
        args: UndoArgs,
    },
    /// Delete a run and everything it stored
    Delete {
        /// The run
        run: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The run
    pub(crate) run: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Also revert files that were changed after the run
    #[arg(long)]
    pub(crate) force: bool,
}
