//! Files of an archive: the binary, documents, shell completions and manual pages.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use xtask::workspace::root;

/// Documents beside the binary.
pub(super) const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Folder of the shell completions.
pub(super) const COMPLETIONS: &str = "completions";

/// Shells, each with the name under which it looks for the completions of aime.
pub(super) const SHELLS: [(&str, &str); 5] =
    [("bash", "aime.bash"), ("zsh", "_aime"), ("fish", "aime.fish"), ("powershell", "_aime.ps1"), ("elvish", "aime.elv")];

/// Folder of the manual pages. `man` finds them if `man` is in the `MANPATH`.
pub(super) const MANUAL: &str = "man/man1";

/// Creates the folder of an archive. `program` is stored as `name`; `writer`, an aime that this machine can start, writes the completions
/// and manual pages.
pub(super) fn fill(folder: &Path, program: &Path, name: &str, writer: &Path) -> Result<()> {
    let (completions, manual) = (folder.join(COMPLETIONS), folder.join(MANUAL));
    for folder in [&completions, &manual] {
        fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    }
    fs::copy(program, folder.join(name)).with_context(|| format!("could not copy {}", program.display()))?;
    for document in DOCUMENTS {
        fs::copy(root().join(document), folder.join(document)).with_context(|| format!("could not copy {document}"))?;
    }
    for (shell, file) in SHELLS {
        fs::write(completions.join(file), output(Command::new(writer).args(["completions", shell]))?)?;
    }
    output(Command::new(writer).args(["man", "-o"]).arg(&manual)).map(drop)
}

/// Returns the output of a command, which must succeed.
fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("could not start {}", command.get_program().display()))?;
    ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    Ok(output.stdout)
}
