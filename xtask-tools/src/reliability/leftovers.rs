//! Processes that have outlived their run.

use std::fs;
use std::path::Path;

/// Returns the ids of processes of this program, or with a working folder whose name begins with `folders`. Works only on Linux.
pub(super) fn processes(program: &Path, folders: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let of_folder = |cwd: &Path| cwd.components().any(|part| part.as_os_str().to_string_lossy().starts_with(folders));
    let link = |number: u32, name: &str| fs::read_link(format!("/proc/{number}/{name}")).ok();
    let left =
        |number: &u32| link(*number, "exe").is_some_and(|exe| exe == program) || link(*number, "cwd").is_some_and(|cwd| of_folder(&cwd));
    numbers.filter(left).collect()
}
