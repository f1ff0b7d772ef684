//! Runs tests as another user.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

/// Returns the name of the current user class.
pub(crate) fn who() -> &'static str {
    if rustix::process::getuid().is_root() { "as root" } else { "as an ordinary user" }
}

/// Runs a test again as `nobody` if this process is root; otherwise the test has already run as an ordinary user.
#[expect(clippy::disallowed_methods, reason = "the test starts itself as another user")]
pub(crate) fn again_as_nobody(test: &str) {
    if !rustix::process::getuid().is_root() {
        println!("skipped: this is an ordinary user already");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("escapes");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let launcher = folder.path().join("launcher");
    fs::copy(crate::launcher_program(), &launcher).unwrap();
    for path in [folder.path(), program.as_path(), launcher.as_path()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let ended = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .args(["--exact", test, "--nocapture"])
        .current_dir("/")
        .env("TMPDIR", "/tmp")
        .output();
    match ended {
        Ok(ended) => {
            let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
            assert!(ended.status.success() && out.contains("as an ordinary user"), "{out}\n{err}");
            out.lines().filter(|line| line.contains("escapes were tried")).for_each(|line| println!("{line}"));
        }
        Err(error) => println!("skipped: setpriv is not here ({error}), and this is root"),
    }
}
