//! Programs of the user, such as their editor: with their terminal and their environment, and unconfined.

use std::{
    ffi::OsStr,
    io::{self, IsTerminal},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    process::{Child, Command},
    time::timeout,
};

/// Time that an asked program has to end.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a command line of the user with one more argument, on their terminal, and waits for its end.
///
/// `sh` parses the line (`cmd` on Windows), as is usual for `$EDITOR`; the argument is passed literally. Never pass text from a model.
/// Nothing that the program prints reaches standard output unless that is the terminal. When `stop` completes, the program is asked to end,
/// and the function returns none within five seconds.
///
/// # Errors
/// The error of starting the shell. Errors of the program itself, also that it does not exist, are in its exit status.
#[expect(clippy::disallowed_methods, reason = "this is the crate that starts processes")]
pub async fn run_at_terminal(line: &str, argument: &OsStr, stop: impl Future<Output = ()>) -> io::Result<Option<ExitStatus>> {
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
    if !io::stdout().is_terminal() {
        command.stdout(screen());
    }
    let mut child = command.spawn()?;
    tokio::select! {
        ended = child.wait() => ended.map(Some),
        () = stop => {
            ask_to_end(&mut child);
            // A program that does not end keeps the terminal, as any other program in the background.
            drop(timeout(END_TIMEOUT, child.wait()).await);
            Ok(None)
        }
    }
}

/// Returns an output for what a program draws while standard output is a file or a pipe: standard error or, if that is no terminal either,
/// the terminal of the process.
fn screen() -> Stdio {
    #[cfg(unix)]
    if !io::stderr().is_terminal()
        && let Ok(terminal) = std::fs::File::options().write(true).open("/dev/tty")
    {
        return terminal.into();
    }
    io::stderr().into()
}

/// Asks a program to end. Editors then keep what was typed, and give the terminal back.
fn ask_to_end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(pid) = child.id().and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?)) {
        // It fails only if the program has ended.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    #[cfg(windows)]
    let _ = child.start_kill();
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn the_line_is_read_and_the_argument_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a $(file); b");
        std::fs::write(&file, "one").unwrap();
        let run = async |line: &str| run_at_terminal(line, file.as_os_str(), pending()).await.unwrap().unwrap();
        assert!(run("f() { printf two >> \"$1\"; }; f").await.success());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "onetwo");
        assert_eq!(run("no-such-editor-here 2>/dev/null").await.code(), Some(127));
    }

    #[tokio::test]
    async fn a_stop_asks_the_program_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let waits = "trap 'echo kept > \"$1\"; exit 1' TERM; touch ready; sleep 5 & wait; true";
        let waits = waits.replace("ready", &folder.path().join("ready").display().to_string());
        let is_ready = async {
            while !folder.path().join("ready").exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        assert!(run_at_terminal(&waits, file.as_os_str(), is_ready).await.unwrap().is_none());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept\n");
        assert!(run_at_terminal("sleep 5; true", file.as_os_str(), ready(())).await.unwrap().is_none());
    }
}
