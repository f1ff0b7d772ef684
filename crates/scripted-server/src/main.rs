//! Serves a script from a file: `aime-scripted-server SCRIPT.json [PORT]`. Prints its address as the first line.

use std::io::Write;
use std::process::ExitCode;

use aime_scripted_server::{Script, ScriptedServer};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A failed write has no other place to be reported.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: aime-scripted-server SCRIPT.json [PORT]")?;
    let port = arguments.next().map_or(Ok(0), |port| port.parse())?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let server = ScriptedServer::try_start(Script::from_json(&text)?, port)?;
    writeln!(std::io::stdout(), "{}", server.url())?;
    loop {
        std::thread::park();
    }
}
