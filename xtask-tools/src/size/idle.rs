//! Idle memory of `aime`: `aime mcp serve`, after its first answer.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Limit on the private memory of an idle service, in kB.
const MAX_KB: u64 = 15 << 10;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"size","version":"1"}}}"#;

/// Memory of an idle process, in kB.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Idle {
    /// Private memory.
    own: u64,
    /// File-backed pages, nearly all of the program. Other processes share them, and the kernel can reclaim them.
    of_files: u64,
}

impl Idle {
    /// Starts the service in this folder and measures it; none if the system does not report memory.
    pub(super) fn measure(program: &Path, folder: &Path) -> Result<Option<Self>> {
        let mut command = Command::new(program);
        command.args(["mcp", "serve"]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("could not start `aime mcp serve`")?;
        let mut input = child.stdin.take().context("no standard input")?;
        writeln!(input, "{HELLO}").context("`aime mcp serve` does not listen")?;
        let output = child.stdout.take().context("no standard output")?;
        let mut answer = String::new();
        BufReader::new(output).read_line(&mut answer).context("`aime mcp serve` does not answer")?;
        let idle = fs::read_to_string(format!("/proc/{}/status", child.id())).ok().as_deref().and_then(Self::read);
        // The service ends with its input.
        drop(input);
        child.wait().context("could not wait for `aime mcp serve`")?;
        Ok(idle)
    }

    fn read(status: &str) -> Option<Self> {
        let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix("kB")?.trim().parse().ok();
        Some(Self { own: of("RssAnon:")?, of_files: of("RssFile:")? })
    }

    /// Describes an exceeded limit.
    pub(super) fn fault(&self) -> Option<String> {
        let Self { own, .. } = self;
        (*own > MAX_KB).then(|| format!("`aime mcp serve` holds {own} kB while it waits; at most {MAX_KB} are meant"))
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { own, of_files } = self;
        write!(f, "{own} kB of its own while it waits, at most {MAX_KB}; {of_files} kB of files, the program itself with them")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_its_own_is_held_to_the_bound() {
        let idle = Idle::read("Name:\taime\nVmRSS:\t   17712 kB\nRssAnon:\t    1820 kB\nRssFile:\t   15892 kB\n").unwrap();
        assert_eq!(idle, Idle { own: 1_820, of_files: 15_892 });
        assert_eq!(idle.fault(), None);
        assert!(Idle { own: MAX_KB + 1, ..idle }.fault().unwrap().contains("15361 kB"));
        assert_eq!(Idle::read("Name:\taime\n"), None);
    }
}
