//! A program that can give its commands a network of their own: it calls `launch` first of all when it is started for that, and names itself as the
//! launcher when it makes the gate.
//!
//! `cargo run -p aime-sandbox --example launcher` tells whether that works here. The tests of the crate start it, too.

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
