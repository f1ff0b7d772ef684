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
    /// Run a goal with no set-up: build aime and run it, on a small model in its process if none is configured
    Run(run::RunArguments),
    /// Build everything and run every test, documentation tests included; `temporal` runs those of runs on an engine, which is fetched
    Test(test::TestArguments),
    /// Everything a change must pass: format, lints, tidy, documentation, tests
    Ci,
    /// Count how much of the pure crates their tests reach, and hold it to 90 % of the lines; needs cargo-llvm-cov
    Coverage,
    /// Feed the readers of what others write with whatever libFuzzer finds; needs a nightly compiler and cargo-fuzz
    Fuzz(fuzz::FuzzArguments),
    /// Check the rules of the codebase that no compiler checks
    Tidy,
    /// Write the tests of each requirement into its page, from the marks above the tests
    Requirements,
    /// A real model behind an OpenAI-compatible server on this machine
    #[command(subcommand)]
    Model(model::ModelTask),
    /// Write the catalog of facts on models from the table that the Python package litellm publishes; the package is fetched
    Models(models::ModelsArguments),
    /// Build aime and run its scenarios against a scripted server; `local-model` and `modes` run on a real model, `mcp` drives real servers,
    /// `acp` is driven by an editor of the official library, `telemetry` tells a real collector, `temporal` kills the processes of an engine,
    /// `documents` types what the documents show
    Scenario(scenario::ScenarioArguments),
    /// Try aime and its peers on the same tasks with the same model; hours with a local one
    Evaluate(evaluate::EvaluateArguments),
    /// Count how many small goals a real model reaches; a quarter of an hour or more
    Goals(goals::GoalsArguments),
    /// Run the same graphs on aime, on its peers and on bare tokio, and print a table; the peers are fetched
    Bench(bench::BenchArguments),
    /// Count the instructions of inner loops, and hold them to growing with the work alone; needs valgrind
    Instructions(instructions::InstructionsArguments),
    /// Try what can go wrong, many times, and print what was tried: runs by chance, runs that are cut, processes that are killed
    Reliability(reliability::ReliabilityArguments),
    /// Fetch the development server of Temporal and serve on this machine until Ctrl-C
    Services(services::ServicesArguments),
    /// Build the release binary of one target and pack it as a release has it, with its checksum; some ten minutes
    Dist(dist::DistArguments),
    /// Try to publish every crate and send nothing, and compare public interfaces with the last release; needs cargo's index, and many minutes
    Packages(packages::PackagesArguments),
    /// Build the release binary and hold it to its bounds: bytes, and what a start costs; some ten minutes
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
