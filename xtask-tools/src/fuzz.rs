//! `cargo xtask fuzz`: fuzzes the parsers with libFuzzer, each for a while.

use anyhow::{Result, bail};
use clap::Args;

use xtask::workspace::{cargo, root, run};

/// Fuzz targets, in order; each has a file in `fuzz/fuzz_targets`.
const TARGETS: [&str; 7] = ["json", "sse", "calls", "plan", "patch", "journal", "config"];

#[derive(Args)]
pub(crate) struct FuzzArguments {
    /// The target; all of them, one after the other, where it is left out
    target: Option<String>,
    /// Time for each target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Seeds the targets from the corpora and fuzzes them with a nightly compiler. Fails at the first finding, which is stored in
/// `fuzz/artifacts`.
pub(crate) fn fuzz(arguments: &FuzzArguments) -> Result<()> {
    let targets: Vec<&str> = match &arguments.target {
        None => TARGETS.to_vec(),
        Some(name) if TARGETS.contains(&name.as_str()) => vec![name],
        Some(name) => bail!("there is no target {name}: there are {}", TARGETS.join(", ")),
    };
    // While a task runs, `cargo` is the toolchain's own; only rustup's `cargo` supports +nightly.
    let rustup = |words: &[&str]| {
        let mut command = std::process::Command::new("rustup");
        command.current_dir(root()).args(["run", "nightly"]).args(words).env_remove("RUSTUP_TOOLCHAIN");
        command
    };
    let there = |words: &[&str]| rustup(words).output().is_ok_and(|output| output.status.success());
    if !there(&["rustc", "--version"]) {
        bail!("libFuzzer needs a nightly compiler: rustup toolchain install nightly --profile minimal");
    }
    if !there(&["cargo", "fuzz", "--version"]) {
        bail!("cargo fuzz is not there: cargo install cargo-fuzz --locked");
    }
    run(&mut cargo(["run", "--package", "aime-fuzz-entries", "--example", "fuzz_seeds", "--", "write", "fuzz/corpus"]))?;
    // There is no sanitizer: none of our code is unsafe, and without one the fuzzer tries many times as many inputs.
    for target in targets {
        let seconds = format!("-max_total_time={}", arguments.seconds);
        run(&mut rustup(&[
            "cargo",
            "fuzz",
            "run",
            "--sanitizer",
            "none",
            target,
            "--",
            &seconds,
            "-print_final_stats=1",
            "-timeout=20",
            "-rss_limit_mb=4096",
        ]))?;
    }
    Ok(())
}
