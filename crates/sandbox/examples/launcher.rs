//! A program that runs its commands in network namespaces of their own. It calls `launch` first if it was started for that, and passes
//! itself as the launcher to the gate.
//!
//! `cargo run -p aime-sandbox --example launcher` prints whether this works on your machine. The tests of the crate start it, too.

#![expect(clippy::print_stdout, reason = "it is a program that tells something")]

use aime_sandbox::{Launcher, probe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(target_os = "linux")]
    if std::env::args().nth(1).as_deref() == Some("launch") {
        return Ok(aime_sandbox::launch()?);
    }
    for protection in probe(&Launcher::this_program(["launch"])) {
        println!("{}: {}", protection.name, protection.detail);
    }
    Ok(())
}
