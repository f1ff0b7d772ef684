//! One file for each command.

mod acp;
mod cancel;
mod check;
mod check_run;
mod config;
mod doctor;
#[cfg(feature = "temporal")]
mod engine;
mod evaluate;
mod host;
mod look;
mod man;
mod mcp;
mod memory;
mod models;
mod permissions;
mod plan;
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
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use aime_llm::Image;
use aime_orchestrator::MAX_GOAL_IMAGES;
use clap::CommandFactory;

#[cfg(feature = "local-model")]
pub(crate) use run::interrupted;

use crate::{
    args::{Cli, Command, Global, McpCommand, as_typed, language_in},
    config::Environment,
    failure::Failure,
    wiring::Setup,
    words::{self, Language, LanguageChoice, msg},
};

/// Runs what was typed and gives the exit code.
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
        words::speak(Language::English);
    }
    crate::output::keep_secret(setup.redactor());
    match command {
        // Their first line is the model that is used.
        Command::Run(_) | Command::Resume(_) => {}
        _ => setup.tell_notes(),
    }
    #[cfg(feature = "temporal")]
    if let (None, false, Some(option)) = (&global.engine.on, matches!(command, Command::Worker(_)), global.engine.any()) {
        return Err(Failure::usage(format!("{option} is for runs on an engine")).hint("name the engine by --on, or leave it out"));
    }
    #[cfg(feature = "temporal")]
    if global.engine.on.is_some() {
        return on_runtime(engine::command(command, &global, &setup));
    }
    match command {
        Command::Run(args) => on_runtime(setup.with_servers(run::run(args, &global, &setup))),
        Command::Plan(args) => on_runtime(setup.with_servers(plan::plan(args, &setup))),
        Command::Check { plan_file, format } => on_runtime(setup.with_servers(async { check::check(&plan_file, format, &setup) })),
        Command::Resume(args) => on_runtime(setup.with_servers(resume::resume(args, &global, &setup))),
        Command::Runs { command, output } => on_runtime(runs::runs(command, output, &global, &setup)),
        Command::Tell { run, task, text } => on_runtime(steering::tell(&run, task.as_deref(), &text.join(" "), &setup)),
        Command::Pause { run } => on_runtime(steering::pause(&run, &setup)),
        Command::Answer { run, text } => on_runtime(steering::answer(&run, &text.join(" "), &setup)),
        Command::Cancel { run, task } => on_runtime(cancel::cancel(&run, task.as_deref(), &setup)),
        #[cfg(feature = "temporal")]
        Command::Worker(args) => on_runtime(engine::worker(args, &global, &setup)),
        Command::Eval(args) => on_runtime(evaluate::evaluate(args, &global, &setup)),
        Command::Serve { port, folder } => on_runtime(serve::serve(port, &folder, global.config, setup)),
        Command::Tools { command } => on_runtime(setup.with_servers(tools::tools(command, &setup))),
        Command::Acp => on_runtime(acp::acp(setup, global.config)),
        Command::Mcp { command } => on_runtime(mcp::mcp(command, setup)),
        Command::Profiles { command } => look::profiles(command, &setup),
        Command::Memory { command, output } => memory::memory(command, output, &setup),
        Command::Permissions { command, output } => permissions::permissions(command, output, &setup),
        Command::Models { command } => on_runtime(models::models(command, &setup)),
        Command::Doctor => on_runtime(doctor::doctor(&setup)),
        Command::Completions { .. } | Command::Man { .. } | Command::Schema { .. } | Command::Config { .. } => Ok(0),
    }
}

/// Runs a command that waits. What is still running when it ends is stopped, with a second to end by itself.
fn on_runtime(work: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::internal)?;
    let result = runtime.block_on(work);
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    result
}

/// Reads a file, which is called `what`, or standard input for `-`.
fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&words::said("standard input"), &error))?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(what, &error))
}

/// Reads the images of a goal. Each has the path under which it was given as its name.
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
            Failure::usage(format!("{what} is not there")).hint("mend the path; it is relative to where you are, not to -C")
        }
        _ => Failure::usage(format!("{what} cannot be read: {error}")),
    }
}

/// Writes a file whole or not at all. What is no file, such as a pipe, is written as it comes. `replace` says whether a file that is
/// there gives way.
pub(crate) fn write_whole(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    if replace && path.metadata().is_ok_and(|found| !found.is_file()) {
        return std::fs::write(path, text);
    }
    // A link stays one: what it leads to is written.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.prefix(".aime-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    let kept = if replace { file.persist(&path) } else { file.persist_noclobber(&path) };
    kept.map(drop).map_err(|error| error.error)
}

/// A goal from the command line: itself, or standard input for `-`.
fn read_goal(goal: &str) -> Result<String, Failure> {
    let text = if goal == "-" { read_text(Path::new("-"), "goal")? } else { goal.to_owned() };
    let text = text.trim();
    if text.is_empty() {
        Err(Failure::usage("the goal is empty").hint("say what is to be reached: aime run \"…\""))
    } else {
        Ok(text.to_owned())
    }
}

/// The working folder and the configuration of a command. From here on it speaks the language that they say.
fn setup_of(global: &Global, environment: Environment) -> Result<Setup, Failure> {
    let setup = Setup::new(environment, global.directory.as_deref(), global.config.clone())?;
    words::speak(Language::of(global.lang, setup.config.messages.language, &setup.environment));
    Ok(setup)
}

/// The language for somebody whose words were no command: of `--lang`, else of the settings here, else of the locale.
pub(crate) fn language_of_nothing(environment: &Environment) -> Language {
    let flag = language_in(as_typed());
    let settings = || Setup::new(environment.clone(), None, None).map(|setup| setup.config.messages.language);
    Language::of(flag, if flag.is_none() { settings().unwrap_or_default() } else { LanguageChoice::Auto }, environment)
}

/// Whether an editor, another agent or a browser is told what a command says.
const fn is_read_by_programs(command: &Command) -> bool {
    matches!(command, Command::Acp | Command::Serve { .. } | Command::Mcp { command: Some(McpCommand::Serve) })
}
