//! `aime mcp`.

#[cfg(feature = "mcp")]
mod serve;

use aime_messages::message;
use aime_runs::Setup;

#[cfg(feature = "mcp")]
use crate::i18n::{msg, print};
use crate::{args::McpCommand, failure::Failure};

#[cfg(not(feature = "mcp"))]
pub(super) async fn mcp(command: Option<McpCommand>, _: Setup) -> Result<u8, Failure> {
    let what = match command {
        Some(McpCommand::Test { name }) => format!("it cannot test {name}"),
        Some(McpCommand::Login { name } | McpCommand::Logout { name }) => format!("it cannot reach {name}"),
        Some(McpCommand::List) | None => "it has no servers".to_owned(),
        Some(McpCommand::Serve) => "it can be none".to_owned(),
    };
    Err(Failure::usage(message!("mcp-without", reason = aime_messages::Message::text(what))).hint(message!("mcp-build")))
}

#[cfg(feature = "mcp")]
pub(super) async fn mcp(command: Option<McpCommand>, setup: Setup) -> Result<u8, Failure> {
    match command.unwrap_or(McpCommand::List) {
        McpCommand::List => list(&setup),
        McpCommand::Test { name } => test(&name, &setup).await,
        McpCommand::Login { name } => log_in(&name, &setup).await,
        McpCommand::Logout { name } => log_out(&name, &setup),
        McpCommand::Serve => serve::serve(setup).await,
    }
}

/// Lists the configured servers without starting any.
#[cfg(feature = "mcp")]
fn list(setup: &Setup) -> Result<u8, Failure> {
    use crate::{
        output::{self, BOLD, DIM, count},
        screen::column,
    };
    use aime_runs::Servers;

    let servers = Servers::of(setup)?;
    let head = |name: &str| column(&format!("{BOLD}{name}{BOLD:#}"), 17);
    for (server, offer) in servers.all.configured() {
        let known = match offer {
            Some(offer) => format!("{} {}", count(offer.tools.len(), "tool"), software(&offer)),
            None => msg!("mcp-not-asked"),
        };
        let known = if servers.all.is_logged_in(&server.name) { msg!("mcp-logged-in", known) } else { known };
        let how = column(&server.transport.describe(), 41);
        output::result(&format!("{}{how}{DIM}{}{DIM:#}", head(&server.name), output::plain(&known)));
    }
    for (name, _) in setup.config.mcp.servers.iter().filter(|(_, server)| !server.enabled) {
        output::result(&format!("{}{DIM}{}{DIM:#}", head(name), msg!("mcp-off")));
    }
    if setup.config.mcp.servers.is_empty() {
        output::note(&msg!("mcp-none"));
    }
    Ok(0)
}

/// Starts one server and prints its tools.
#[cfg(feature = "mcp")]
async fn test(name: &str, setup: &Setup) -> Result<u8, Failure> {
    use crate::output::{self, BOLD, GREEN, count};
    use aime_runs::Servers;

    let servers = Servers::of(setup)?;
    let tested = servers.all.test(name, &tokio_util::sync::CancellationToken::new()).await;
    let offer = tested.map_err(|error| failure(&error))?;
    for tool in &offer.tools {
        let known = servers.all.tool_name(name, &tool.name).unwrap_or_default();
        let line = tool.description.lines().next().unwrap_or_default();
        output::result(&format!("{BOLD}{known}{BOLD:#} {}", output::plain(line)));
    }
    offer.notes.iter().for_each(|note| output::note(&output::plain(&print(note))));
    let beside = match (offer.resources, offer.prompts) {
        (false, false) => String::new(),
        (true, false) => msg!("mcp-beside-resources"),
        (false, true) => msg!("mcp-beside-prompts"),
        (true, true) => msg!("mcp-beside-both"),
    };
    let good = format!("{GREEN}{}{GREEN:#}", msg!("mcp-good"));
    output::note(&format!("{good} {}{beside} {}", count(offer.tools.len(), "tool"), output::plain(&software(&offer))));
    servers.store(setup);
    servers.all.end().await;
    Ok(0)
}

/// Logs in to one server. The address is the result, so that a program may open it.
#[cfg(feature = "mcp")]
async fn log_in(name: &str, setup: &Setup) -> Result<u8, Failure> {
    use crate::output;
    use aime_runs::Servers;

    let servers = Servers::of(setup)?;
    let announce = |address: &str| {
        output::note(&msg!("mcp-open"));
        output::result(address);
    };
    servers.all.log_in(name, announce).await.map_err(|error| failure(&error))?;
    output::note(&msg!("mcp-logged-in-text", server = name, again = name));
    Ok(0)
}

#[cfg(feature = "mcp")]
fn log_out(name: &str, setup: &Setup) -> Result<u8, Failure> {
    use crate::output;
    use aime_runs::Servers;

    let was_there = Servers::of(setup)?.all.log_out(name).map_err(|error| failure(&error))?;
    output::note(&if was_there { msg!("mcp-forgotten", server = name) } else { msg!("mcp-nobody", server = name) });
    Ok(0)
}

/// Converts the fault of a server.
#[cfg(feature = "mcp")]
pub(super) fn failure(error: &aime_tools::McpError) -> Failure {
    use std::error::Error as _;

    use aime_messages::Describe as _;
    use aime_tools::McpError as E;

    use crate::failure::code;

    let caused = |code| Failure::new(code, aime_runs::with_causes(error.describe(), error.source()));
    match error {
        E::NoSuchServer { .. } => caused(code::USAGE).hint(message!("mcp-list")),
        E::Settings { .. } => caused(code::USAGE),
        _ => match aime_runs::Hint::for_server(error) {
            Some(hint) => caused(code::NOT_REACHED).hint(crate::hints::hint(&hint)),
            None => caused(code::NOT_REACHED),
        },
    }
}

/// Returns the name and version that a server reports.
#[cfg(feature = "mcp")]
pub(super) fn software(offer: &aime_tools::McpAbilities) -> String {
    if offer.software.is_empty() { String::new() } else { format!("({})", offer.software) }
}
