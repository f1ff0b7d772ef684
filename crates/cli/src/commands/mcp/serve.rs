//! `aime mcp serve`: aime as a server, by which other agents plan and run. Standard output carries only the protocol.

use aime_mcp_server::Texts;
use aime_runs::{Runs, Setup};
use anstream::adapter::strip_str;

use crate::{commands::outcome::summary, failure::Failure, output, screen::line_of, signals::interrupted};

/// Serves one client until it closes its end of the pipe, or this process gets Ctrl-C or TERM.
pub(super) async fn serve(setup: Setup) -> Result<u8, Failure> {
    output::note(&format!("serving MCP for {} on standard input and output; it ends when the input is closed", setup.folder.display()));
    let texts = Texts {
        line: |event| line_of(event).map(|line| strip_str(&line).to_string()),
        summary: |result| strip_str(&summary(result)).to_string(),
    };
    aime_mcp_server::serve(Runs::new(setup), texts, tokio::io::stdin(), tokio::io::stdout(), interrupted()).await?;
    Ok(0)
}
