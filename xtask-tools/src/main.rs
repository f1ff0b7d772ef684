//! Tasks of this workspace: `cargo xtask COMMAND`.
//!
//! Each command is a separate file. `cargo xtask --help` lists them.
#![expect(clippy::disallowed_methods, reason = "a task starts cargo and the model server, and reads the caller's settings")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to a person at a terminal")]

mod acp;
mod agents;
mod bench;
mod browser;
mod ci;
mod coverage;
mod dist;
mod documents;
mod evaluate;
mod fuzz;
mod goals;
mod install;
mod instructions;
mod mcp;
mod model;
mod models;
mod packages;
mod profiles;
mod reliability;
mod run;
mod scenario;
mod services;
mod size;
mod telemetry;
mod temporal;
mod test;
mod tidy;
mod trial;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, checks and tries out aime.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build aime and run a goal, on a small model in the same process if none is configured
    Run(run::RunArguments),
    /// Build everything and run every test, doc tests included; `temporal` fetches a Temporal server and runs the tests against it
    Test(test::TestArguments),
    /// Run every check that a change must pass: format, lints, tidy, documentation, tests
    Ci,
    /// Measure the test coverage of the pure crates and fail below 90 % of the lines; needs cargo-llvm-cov
    Coverage,
    /// Fuzz the parsers of untrusted input with libFuzzer; needs a nightly compiler and cargo-fuzz
    Fuzz(fuzz::FuzzArguments),
    /// Check the rules of the codebase that no compiler checks
    Tidy,
    /// Regenerate the list of the tests of each requirement from the marks above the tests
    Requirements,
    /// Fetch and serve a real model behind an OpenAI-compatible server on this machine
    #[command(subcommand)]
    Model(model::ModelTask),
    /// Regenerate the catalog of models from the table of the Python package litellm, which is fetched
    Models(models::ModelsArguments),
    /// Build aime and run its scenarios against a scripted server; `local-model` and `modes` run on a real model, `mcp` drives real servers,
    /// `acp` is driven by an editor of the official library, `telemetry` tells a real collector, `temporal` kills the processes of an engine,
    /// `documents` types what the documents show
    Scenario(scenario::ScenarioArguments),
    /// Evaluate aime and its peers on the same tasks with the same model; takes hours with a local one
    Evaluate(evaluate::EvaluateArguments),
    /// Count how many small goals a real model reaches; takes 15 minutes or more
    Goals(goals::GoalsArguments),
    /// Run the same graphs on aime, on its peers and on bare tokio, and print a table; the peers are fetched
    Bench(bench::BenchArguments),
    /// Count the instructions of inner loops and fail if they grow faster than the work; needs valgrind
    Instructions(instructions::InstructionsArguments),
    /// Build the release with several profiles, and print the time, the size and the instructions of each; takes an hour, needs valgrind
    Profiles(profiles::ProfilesArguments),
    /// Test reliability: random simulated runs, runs that are cut off, and processes that are killed
    Reliability(reliability::ReliabilityArguments),
    /// Fetch the development server of Temporal and serve on this machine until Ctrl-C
    Services(services::ServicesArguments),
    /// Build and pack the release binary of one target with its checksum; takes about ten minutes
    Dist(dist::DistArguments),
    /// Do a dry run of publishing every crate, and compare public APIs with the last release; needs cargo's index and many minutes
    Packages(packages::PackagesArguments),
    /// Build the release binary and check its size and start-up cost; takes about ten minutes
    Size(size::SizeArguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Task::Run(arguments) => run::run(&arguments),
        Task::Test(arguments) => test::test(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Ci => ci::ci().map(|()| ExitCode::SUCCESS),
        Task::Coverage => coverage::coverage().map(|()| ExitCode::SUCCESS),
        Task::Fuzz(arguments) => fuzz::fuzz(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Tidy => tidy::tidy().map(|()| ExitCode::SUCCESS),
        Task::Requirements => tidy::requirements().map(|()| ExitCode::SUCCESS),
        Task::Model(task) => model::model(task).map(|()| ExitCode::SUCCESS),
        Task::Models(arguments) => models::models(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Evaluate(arguments) => evaluate::evaluate(arguments),
        Task::Goals(arguments) => goals::try_goals(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Bench(arguments) => bench::bench(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Instructions(arguments) => instructions::instructions(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Dist(arguments) => dist::dist(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Packages(arguments) => packages::packages(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Size(arguments) => size::size(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Profiles(arguments) => profiles::profiles(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Reliability(arguments) => reliability::reliability(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Services(arguments) => services::services(&arguments).map(|()| ExitCode::SUCCESS),
        Task::Scenario(arguments) => scenario::scenario(&arguments).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use clap::Parser as _;

    use super::Arguments;
    use crate::documents::documents;

    /// Splits a line into words like a shell.
    fn words(line: &str) -> Vec<String> {
        let output = Command::new("bash").args(["-c", &format!("set -f; printf '%s\\n' {line}")]).output().unwrap();
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn every_task_that_the_documents_name_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut seen = 0;
        for document in documents(root) {
            let text = fs::read_to_string(&document).unwrap();
            let lines = text.lines().filter(|line| line.starts_with("cargo xtask "));
            // Arguments in brackets are optional.
            let inline = text.split('`').filter(|piece| piece.starts_with("cargo xtask ") && !piece.contains(['[', '\n', '…']));
            for line in lines.chain(inline) {
                seen += 1;
                let words = words(line).into_iter().skip(1);
                if let Err(error) = Arguments::try_parse_from(words) {
                    panic!("{}: {line}\n{error}", document.display());
                }
            }
        }
        assert!(seen > 60, "{seen}");
    }
}
