//! Compares the local model in the process with llama.cpp's server, with the same file on the same cores.

use std::process::Command;

use anyhow::Result;

use crate::model::{Name, Server, setup};
use xtask::workspace::{root, run};

/// Builds, downloads, serves, and prints the table.
pub(super) fn measure(rounds: u32) -> Result<()> {
    let name = Name::Qwen1b5;
    let ready = setup(name)?;
    let example = ["--release", "--package", "aime-local-model", "--example", "measure"];
    // Compiling must end before the measurement starts.
    run(Command::new("cargo").arg("build").args(example).current_dir(root()))?;
    let server = Server::start(name, &ready, Server::free_port()?)?;
    let mut measure = Command::new("cargo");
    measure.args(["run", "--quiet"]).args(example).arg("--").arg(&ready.model).args([&rounds.to_string(), &server.base_url()]);
    run(measure.current_dir(root()))
}
