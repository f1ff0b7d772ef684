//! `cargo xtask COMMAND`: a first run and the tests at once, and every other task by `xtask-tools`.
#![expect(clippy::disallowed_methods, reason = "a task starts aime and cargo")]
#![expect(clippy::print_stderr, reason = "a task talks to a person at a terminal")]

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use xtask::workspace::{build_aime, cargo};
use xtask::{CommandLine, run_tests, use_local_model};

/// Features of the first build. A run of a goal needs no editor protocol, no MCP and no telemetry, which take a tenth of the time.
const FIRST_RUN: [&str; 3] = ["--no-default-features", "--features", "local-model,web"];

fn main() -> ExitCode {
    carry_out(env::args_os().skip(1).collect()).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn carry_out(words: Vec<OsString>) -> Result<ExitCode> {
    match CommandLine::read(&words) {
        CommandLine::Run { goal_run, model } => {
            let mut aime = Command::new(build_aime(&FIRST_RUN)?);
            if let Some(model) = model {
                use_local_model(&mut aime, &model);
            }
            goal_run.start(aime)
        }
        CommandLine::Test => run_tests().map(|()| ExitCode::SUCCESS),
        CommandLine::Tools => {
            let mut tools = cargo(["run", "--package", "xtask-tools", "--bin", "xtask-tools", "--"]);
            // The caller's folder: paths on the command line are relative to it.
            let status = tools.current_dir(env::current_dir()?).args(words).status().context("could not start cargo")?;
            Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(130), ExitCode::from))
        }
    }
}
