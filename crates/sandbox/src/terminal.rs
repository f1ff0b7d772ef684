//! Programs of the user, such as their editor: with their terminal and their environment, and unconfined.

use std::{ffi::OsStr, io, process::ExitStatus};

use tokio::process::Command;

/// Runs a command line of the user with one more argument, on their terminal, and waits for its end.
///
/// `sh` parses the line (`cmd` on Windows), as is usual for `$EDITOR`; the argument is passed literally. Never pass text from a model.
///
/// # Errors
/// The error of starting the shell. Errors of the program itself, also that it does not exist, are in its exit status.
#[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
pub async fn run_at_terminal(line: &str, argument: &OsStr) -> io::Result<ExitStatus> {
    #[cfg(unix)]
    let mut command = {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{line} \"$1\"")).arg("sh").arg(argument);
        command
    };
    #[cfg(windows)]
    let mut command = {
        let mut command = Command::new("cmd");
        // A file name cannot contain quotes on Windows, and nothing else is special between quotes.
        command.args(["/D", "/S", "/C"]).raw_arg(format!("\"{line} \"{}\"\"", argument.to_string_lossy()));
        command
    };
    command.status().await
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_line_is_read_and_the_argument_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a $(file); b");
        std::fs::write(&file, "one").unwrap();
        let status = run_at_terminal("f() { printf two >> \"$1\"; }; f", file.as_os_str()).await.unwrap();
        assert!(status.success());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "onetwo");
        assert_eq!(run_at_terminal("no-such-editor-here 2>/dev/null", file.as_os_str()).await.unwrap().code(), Some(127));
    }
}
