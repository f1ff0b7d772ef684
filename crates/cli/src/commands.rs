//! Commands, one file each.

mod acp;
mod action_listener;
mod check;
mod check_run;
mod config;
mod doctor;
#[cfg(feature = "temporal")]
mod engine;
mod evaluate;
mod input;
mod man;
mod mcp;
mod memory;
mod models;
mod models_in_use;
mod opening;
mod outcome;
mod permissions;
mod plan;
mod profiles;
mod report;
mod resume;
mod review;
mod run;
mod run_display;
mod runs;
mod schema;
mod serve;
mod settings;
mod stats;
mod steering;
mod tools;
mod undo;
mod watch;

use aime_messages::Language;
#[cfg(feature = "temporal")]
use aime_messages::message;
#[cfg(feature = "temporal")]
use aime_runs::engine::EngineRuns;
use aime_runs::{Environment, RunService, Runs, Setup};
use clap::CommandFactory;

use self::opening::{opener, setup_of};
use crate::{
    args::{Cli, Command, ConfigCommand, Global, LazyArgs, McpCommand, as_typed, language_in},
    failure::Failure,
    i18n::{self, LanguageChoice},
};

/// Runs the command and returns the exit code.
pub(crate) fn run(cli: Cli, environment: Environment) -> Result<u8, Failure> {
    let Cli { global, command } = cli;
    if global.quiet {
        crate::output::set_quiet();
    }
    match command {
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "aime", &mut text);
            crate::output::result(String::from_utf8_lossy(&text).trim_end());
            return Ok(0);
        }
        Command::Man { output_folder } => return man::man(output_folder.as_deref()),
        Command::Schema { format } => return schema::schema(format),
        Command::Config { command } => return config::config(command.map(LazyArgs::into_inner), &global, environment),
        // An editor starts its agent with this in a terminal.
        Command::Acp { init: true } => return config::config(Some(ConfigCommand::Init), &global, environment),
        _ => {}
    }
    let setup = setup_of(&global, environment)?;
    if is_read_by_programs(&command) {
        i18n::speak(Language::English);
    }
    crate::output::keep_secret(setup.redactor());
    // These commands first print the model in use.
    if matches!(command, Command::Run(_) | Command::Plan(_) | Command::Resume(_) | Command::Continue(_)) {
        crate::output::hold_notes();
    }
    setup.report_notes();
    #[cfg(feature = "temporal")]
    if let (None, false, Some(option)) = (&global.engine.engine, matches!(command, Command::Worker(_)), global.engine.any()) {
        return Err(Failure::usage(message!("engine-without", option)).hint(message!("engine-without-hint")));
    }
    #[cfg(feature = "temporal")]
    if global.engine.engine.is_some() && !works_on_engine(&command) {
        return Err(Failure::usage(message!("engine-not-yet")).hint(message!("engine-not-yet-hint")));
    }
    match command {
        Command::Run(LazyArgs(args)) => on_runs(setup, async |runs| run::run(args, &global, runs).await),
        Command::Plan(LazyArgs(args)) => on_runs(setup, async |runs| plan::plan(args, runs).await),
        Command::Check { plan_file, format } => on_runtime(setup.with_servers(async { check::check(&plan_file, format, &setup) })),
        Command::Resume(LazyArgs(args)) => on_runs(setup, async |runs| resume::resume(args, &global, runs).await),
        Command::Continue(LazyArgs(args)) => on_runs(setup, async |runs| resume::continue_run(args, &global, runs).await),
        Command::Runs { command, output } => {
            on_service(setup, &global, async |runs| runs::runs(command.map(LazyArgs::into_inner), output, &global, runs).await)
        }
        Command::Tell { run, task, text } => {
            on_service(setup, &global, async |runs| steering::message(&run, task.as_deref(), &text.join(" "), runs).await)
        }
        Command::Pause { run } => on_service(setup, &global, async |runs| steering::pause(&run, runs).await),
        Command::Answer { run, text } => on_service(setup, &global, async |runs| steering::answer(&run, text.join(" "), runs).await),
        Command::Cancel { run, task } => on_service(setup, &global, async |runs| steering::cancel(&run, task.as_deref(), runs).await),
        #[cfg(feature = "temporal")]
        Command::Worker(LazyArgs(args)) => on_runtime(engine::worker(args, &global, &setup.without_agents())),
        Command::Eval(LazyArgs(args)) => on_runtime(evaluate::evaluate(args, &global, &setup)),
        Command::Serve { port, folder } => on_runtime(serve::serve(port, &folder, setup)),
        Command::Tools { command } => on_runtime(setup.with_servers(tools::tools(command.map(LazyArgs::into_inner), &setup))),
        Command::Acp { .. } => on_runtime(acp::acp(setup)),
        Command::Mcp { command } => on_runtime(mcp::mcp(command.map(LazyArgs::into_inner), setup)),
        Command::Profiles { command } => profiles::profiles(command.map(LazyArgs::into_inner), &setup),
        Command::Memory { command, output } => memory::memory(command.map(LazyArgs::into_inner), output, &setup),
        Command::Permissions { command, output } => permissions::permissions(command.map(LazyArgs::into_inner), output, &setup),
        Command::Models { command } => on_runtime(models::models(command.map(LazyArgs::into_inner), &setup)),
        Command::Doctor => on_runtime(doctor::doctor(&setup)),
        Command::Completions { .. } | Command::Man { .. } | Command::Schema { .. } | Command::Config { .. } => Ok(0),
    }
}

/// Runs an asynchronous command. Tasks that are still running when it ends get one second, then they are stopped.
fn on_runtime(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::internal)?;
    let result = runtime.block_on(work);
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    result
}

/// Runs a command on the runs of a folder, and ends everything that it started for them.
fn on_runs(setup: Setup, command: impl AsyncFnOnce(&Runs) -> Result<u8, Failure>) -> Result<u8, Failure> {
    let runs = Runs::new(setup);
    on_runtime(async {
        let done = command(&runs).await;
        runs.end().await;
        done
    })
}

/// Runs a command on the runs of a folder, or on those of the engine that the arguments name.
#[cfg_attr(not(feature = "temporal"), expect(unused_variables, reason = "only an engine has options"))]
fn on_service(setup: Setup, global: &Global, command: impl AsyncFnOnce(&RunService<'_>) -> Result<u8, Failure>) -> Result<u8, Failure> {
    on_runs(setup, async |runs| {
        #[cfg(feature = "temporal")]
        if let Some(on) = &global.engine.engine {
            let options = global.engine.options(on);
            return command(&RunService::Engine(EngineRuns::new(&options, runs))).await;
        }
        command(&RunService::Folder(runs)).await
    })
}

/// Returns true if the command works on the runs of an engine.
#[cfg(feature = "temporal")]
const fn works_on_engine(command: &Command) -> bool {
    use Command::{Answer, Cancel, Pause, Resume, Run, Runs, Tell, Worker};
    matches!(command, Worker(_) | Run(_) | Resume(_) | Runs { .. } | Tell { .. } | Pause { .. } | Answer { .. } | Cancel { .. })
}

/// Returns the language for someone whose arguments do not parse: from `--lang`, else the settings, else the locale.
pub(crate) fn language_of_nothing(environment: &Environment) -> Language {
    let flag = language_in(as_typed());
    let settings = || opener(environment.clone(), None).open(None).map(|setup| setup.config.messages.language.into());
    LanguageChoice::language(flag, if flag.is_none() { settings().unwrap_or_default() } else { LanguageChoice::Auto }, environment)
}

/// Returns true if another program (an editor, an agent, a browser) reads the output of the command.
const fn is_read_by_programs(command: &Command) -> bool {
    matches!(command, Command::Acp { .. } | Command::Serve { .. } | Command::Mcp { command: Some(LazyArgs(McpCommand::Serve)) })
}
