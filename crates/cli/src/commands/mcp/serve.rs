//! `aime mcp serve`: aime as a server, by which other agents plan and run.
//!
//! Standard output carries only the protocol. Runs belong to the working folder, with its settings, rights and journal.

mod offered;
mod told;

use std::{pin::pin, sync::Arc};

use aime_runs::{Runs, Setup};
use aime_tools::McpService;
use tokio_util::sync::CancellationToken;

use crate::{
    commands::run::interrupted,
    failure::{Failure, code},
    output,
};

/// Serves one client until it closes its end of the pipe, or this process gets Ctrl-C or TERM.
pub(super) async fn serve(setup: Setup) -> Result<u8, Failure> {
    let stop = CancellationToken::new();
    let runs = Arc::new(Runs::new(setup).for_clients());
    let setup = runs.setup();
    let service = McpService {
        tools: offered::tools(&runs),
        instructions: include_str!("serve/instructions.md").trim().to_owned(),
        context: setup.tool_context()?.with_whole_results(),
    };
    output::note(&format!("serving MCP for {} on standard input and output; it ends when the input is closed", setup.folder.display()));
    let mut served = pin!(service.serve(tokio::io::stdin(), tokio::io::stdout(), &stop));
    let served = tokio::select! {
        served = &mut served => served,
        () = interrupted() => {
            stop.cancel();
            served.await
        }
    };
    runs.end().await;
    served.map(|()| 0).map_err(|error| Failure::caused(code::USAGE, &error).hint("its client speaks MCP, one JSON object on each line"))
}
