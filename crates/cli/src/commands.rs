//! Commands, one file each.

mod acp;
mod check;
mod check_run;
mod config;
mod doctor;
#[cfg(feature = "temporal")]
mod engine;
mod evaluate;
mod man;
mod mcp;
mod memory;
mod models;
mod permissions;
mod plan;
mod profiles;
mod report;
mod resume;
mod review;
mod run;
mod runs;
mod schema;
mod serve;
mod showing;
mod stats;
mod steering;
mod tools;
mod undo;
mod viewing;
mod watch;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use aime_llm::Image;
use aime_orchestrator::MAX_GOAL_IMAGES;
use aime_runs::{Environment, Runs, Setup, SetupBuilder};
use aime_sandbox::Launcher;
use clap::CommandFactory;

pub(crate) use run::{interrupted, model_line};

use crate::{
    args::{Cli, Command, Global, McpCommand, as_typed, language_in},
    failure::Failure,
    i18n::{self, Language, LanguageChoice, msg},
    notices::NoticePrinter,
};

/// Runs the command and returns the exit code.
pub(crate) fn run(cli: Cli, environment: Environment) -> Result<u8, Failure> {
    let Cli { global, command } = cli;
    if global.quiet {
        crate::output::hush();
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
        Command::Config { command } => return config::config(command, &global, environment),
        _ => {}
    }
    let setup = setup_of(&global, environment)?;
    if is_read_by_programs(&command) {
        i18n::speak(Language::English);
    }
    crate::output::keep_secret(setup.redactor());
    match command {
        // These commands first print the model in use.
        Command::Run(_) | Command::Resume(_) | Command::Continue(_) => {}
        _ => setup.tell_notes(),
    }
    #[cfg(feature = "temporal")]
    if let (None, false, Some(option)) = (&global.engine.on, matches!(command, Command::Worker(_)), global.engine.any()) {
        return Err(Failure::usage(format!("{option} is for runs on an engine")).hint("name the engine by --on, or leave it out"));
    }
    #[cfg(feature = "temporal")]
    if global.engine.on.is_some() {
        return on_runs(setup, async |runs| engine::command(command, &global, runs).await);
    }
    match command {
        Command::Run(args) => on_runs(setup, async |runs| run::run(args, &global, runs).await),
        Command::Plan(args) => on_runs(setup, async |runs| {
            runs.ready().await?;
            plan::plan(args, runs).await
        }),
        Command::Check { plan_file, format } => on_runtime(setup.with_servers(async { check::check(&plan_file, format, &setup) })),
        Command::Resume(args) => on_runs(setup, async |runs| resume::resume(args, &global, runs).await),
        Command::Continue(args) => on_runs(setup, async |runs| resume::continue_run(args, &global, runs).await),
        Command::Runs { command, output } => on_runs(setup, async |runs| runs::runs(command, output, &global, runs).await),
        Command::Tell { run, task, text } => {
            on_runs(setup, async |runs| steering::tell(&run, task.as_deref(), &text.join(" "), runs).await)
        }
        Command::Pause { run } => on_runs(setup, async |runs| steering::pause(&run, runs).await),
        Command::Answer { run, text } => on_runs(setup, async |runs| steering::answer(&run, text.join(" "), runs).await),
        Command::Cancel { run, task } => on_runs(setup, async |runs| steering::cancel(&run, task.as_deref(), runs).await),
        #[cfg(feature = "temporal")]
        Command::Worker(args) => on_runtime(engine::worker(args, &global, &setup)),
        Command::Eval(args) => on_runtime(evaluate::evaluate(args, &global, &setup)),
        Command::Serve { port, folder } => on_runtime(serve::serve(port, &folder, setup)),
        Command::Tools { command } => on_runtime(setup.with_servers(tools::tools(command, &setup))),
        Command::Acp => on_runtime(acp::acp(setup)),
        Command::Mcp { command } => on_runtime(mcp::mcp(command, setup)),
        Command::Profiles { command } => profiles::profiles(command, &setup),
        Command::Memory { command, output } => memory::memory(command, output, &setup),
        Command::Permissions { command, output } => permissions::permissions(command, output, &setup),
        Command::Models { command } => on_runtime(models::models(command, &setup)),
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

/// Reads a file, or standard input for `-`; `what` names the file in errors.
fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&i18n::said("standard input"), &error))?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(what, &error))
}

/// Reads the images of a goal. Each is named by its path as given.
fn read_images(paths: &[PathBuf]) -> Result<Vec<Image>, Failure> {
    if paths.len() > MAX_GOAL_IMAGES {
        return Err(Failure::usage(format!("{} images were given; a goal takes at most {MAX_GOAL_IMAGES}", paths.len())));
    }
    let image = |path: &PathBuf| {
        let bytes = std::fs::read(path).map_err(|error| unreadable(&msg!("image-of-file", file = path.display()), &error))?;
        Image::new(path.display().to_string(), &bytes).map_err(Failure::usage)
    };
    paths.iter().map(image).collect()
}

fn unreadable(what: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::InvalidData => Failure::usage(format!("{what} is not text in UTF-8")).hint("is it the right file?"),
        io::ErrorKind::NotFound => {
            Failure::usage(format!("{what} was not found")).hint("check the path: it is relative to the current folder, not to -C")
        }
        _ => Failure::usage(format!("{what} cannot be read: {error}")),
    }
}

/// Returns the goal from the command line, or from standard input for `-`.
fn read_goal(goal: &str) -> Result<String, Failure> {
    let text = if goal == "-" { read_text(Path::new("-"), "goal")? } else { goal.to_owned() };
    let text = text.trim();
    if text.is_empty() { Err(Failure::usage("the goal is empty").hint("write the goal: aime run \"…\"")) } else { Ok(text.to_owned()) }
}

/// Opens the working folder with its configuration, and sets the language that they ask for.
fn setup_of(global: &Global, environment: Environment) -> Result<Setup, Failure> {
    let setup = opener(environment, global.config.clone()).open(global.directory.as_deref())?;
    i18n::speak(Language::of(global.lang, setup.config.messages.language.into(), &setup.environment));
    Ok(setup)
}

/// Returns a builder for folders whose notices go to the terminal.
fn opener(environment: Environment, config: Option<PathBuf>) -> SetupBuilder {
    let printer = NoticePrinter::new(environment.text("TERM") == Some("dumb"));
    Setup::builder(environment).config_file(config).caller(Arc::new(printer)).launcher(launcher())
}

/// Returns the launcher that gives a confined command its own network: this program, started again.
fn launcher() -> Launcher {
    Launcher::this_program([crate::LAUNCH])
}

/// Returns the language for someone whose arguments do not parse: from `--lang`, else the settings, else the locale.
pub(crate) fn language_of_nothing(environment: &Environment) -> Language {
    let flag = language_in(as_typed());
    let settings = || opener(environment.clone(), None).open(None).map(|setup| setup.config.messages.language.into());
    Language::of(flag, if flag.is_none() { settings().unwrap_or_default() } else { LanguageChoice::Auto }, environment)
}

/// Returns true if another program (an editor, an agent, a browser) reads the output of the command.
const fn is_read_by_programs(command: &Command) -> bool {
    matches!(command, Command::Acp | Command::Serve { .. } | Command::Mcp { command: Some(McpCommand::Serve) })
}
