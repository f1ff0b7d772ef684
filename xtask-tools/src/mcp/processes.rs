//! Processes of the servers, as listed by the system.

use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::workspace::run;

/// Returns the running processes whose command lines name something in a folder, with those lines.
pub(crate) fn of(folder: &Path) -> Vec<(u32, String)> {
    let folder = folder.display().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let process_in_folder = |pid: u32| {
        // A zombie has an empty command line.
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(&folder).then_some((pid, line))
    };
    let mut found: Vec<_> = ids.filter_map(process_in_folder).collect();
    found.sort();
    found
}

/// Kills a process like a crash.
pub(crate) fn kill(pid: u32) -> anyhow::Result<()> {
    run(Command::new("kill").args(["-KILL", &pid.to_string()]))
}
