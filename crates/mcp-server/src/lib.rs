#![doc = include_str!("../README.md")]

mod client;
mod run_server;

use std::{future::Future, pin::pin, sync::Arc};

use aime_orchestrator::{PublishedEvent, RunResult};
use aime_runs::{ErrorKind, Runs, RunsError};
use aime_tools::McpService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::run_server::RunServer;

/// Texts that clients get beside the documents, without colours.
#[derive(Debug, Clone, Copy)]
pub struct Texts {
    /// Formats an event as a progress message; none if it needs no message.
    pub line: fn(&PublishedEvent) -> Option<String>,
    /// Formats the outcome and the cost of a run.
    pub summary: fn(&RunResult) -> String,
}

/// Serves one client until it closes its end, or `stopped` is ready. Then stops the runs resumably.
///
/// # Errors
/// A client that violates the protocol, or a folder in which no tool can work.
pub async fn serve<R, W>(runs: Runs, texts: Texts, input: R, output: W, stopped: impl Future<Output = ()>) -> Result<(), RunsError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (stop, offered) = (CancellationToken::new(), Arc::new(RunServer { runs: runs.for_clients(), texts }));
    let service = McpService {
        tools: run_server::tools(&offered),
        instructions: include_str!("instructions.md").trim().to_owned(),
        context: offered.runs.setup().tool_context()?.with_whole_results(),
    };
    let mut served = pin!(service.serve(input, output, &stop));
    let served = tokio::select! {
        served = &mut served => served,
        () = stopped => {
            stop.cancel();
            served.await
        }
    };
    offered.runs.end().await;
    served.map_err(|error| RunsError::caused(ErrorKind::Usage, error).hint("its client speaks MCP, one JSON object on each line"))
}
