//! Processes that have outlived their run.

use std::fs;
use std::path::Path;

/// The processes of this program that are there, by number. Only Linux tells.
pub(super) fn processes(program: &Path) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|number| fs::read_link(format!("/proc/{number}/exe")).is_ok_and(|exe| exe == program)).collect()
}
