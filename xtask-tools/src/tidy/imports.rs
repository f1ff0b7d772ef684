//! Rules for imports: names reserved for one crate, and names forbidden in pure code.
//!
//! These are the third and fourth invariants in the book's architecture part. Test code is exempt.

use super::Fault;
use super::codebase::Codebase;

/// Name that only some packages may use.
struct Reserved {
    paths: &'static [&'static str],
    owners: &'static [&'static str],
    hint: &'static str,
}

const RESERVED: [Reserved; 7] = [
    Reserved { paths: &["async_openai"], owners: &["crates/llm"], hint: "speak to models through `aime_llm::ModelStack`" },
    Reserved { paths: &["rmcp"], owners: &["crates/tools"], hint: "speak to MCP servers through `aime_tools`" },
    Reserved {
        paths: &["process_wrap", "process::Command", "tokio::process"],
        owners: &["crates/sandbox", "xtask", "xtask-tools"],
        hint: "start processes through `aime_sandbox`",
    },
    Reserved {
        paths: &["temporalio_client", "temporalio_common", "temporalio_macros", "temporalio_sdk", "temporalio_workflow"],
        owners: &["crates/temporal"],
        hint: "speak to an engine through `aime_temporal`",
    },
    Reserved {
        paths: &["aime_temporal"],
        owners: &["crates/temporal", "crates/runs"],
        hint: "only `aime-runs` knows where runs are carried out: a machine is driven through `aime_durable::Host`",
    },
    Reserved { paths: &["rusqlite"], owners: &["crates/durable", "crates/memory"], hint: "store through `aime_durable`" },
    Reserved {
        paths: &[
            "env::var",
            "env::var_os",
            "env::vars",
            "env::vars_os",
            "env::set_var",
            "env::remove_var",
            "env::home_dir",
            "env::temp_dir",
            "env::current_dir",
            "env::set_current_dir",
            "env::current_exe",
        ],
        owners: &["crates/cli", "crates/runs", "xtask", "xtask-tools"],
        hint: "take it as a setting: only the command and `aime-runs` read the environment",
    },
];

/// Path prefixes of the pure code.
const PURE: [&str; 7] = [
    "crates/progress-management/src/",
    "crates/replan-triggers/src/",
    "crates/dynamic-planner/src/route",
    "crates/dynamic-planner/src/parse",
    "crates/dynamic-planner/src/validate",
    "crates/actor-factory/src/machine",
    "crates/orchestrator/src/machine",
];

/// Declared exceptions to [`PURE`]: snapshots are files.
const IMPURE: [&str; 2] = ["crates/progress-management/src/snapshot.rs", "crates/progress-management/src/snapshot/"];

/// Names that pure code must not use.
const FORBIDDEN: [&str; 9] = ["SystemTime", "Instant", "std::fs", "std::env", "std::net", "std::thread", "rand", "fastrand", "tokio"];

/// Returns the faults in the names that files use.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (file, rust) in codebase.rust() {
        let within = |beginnings: &[&str]| beginnings.iter().any(|beginning| file.path.starts_with(beginning));
        let pure = within(&PURE) && !within(&IMPURE);
        for (line, path) in rust.paths() {
            let shown = path.join("::");
            for reserved in RESERVED.iter().filter(|reserved| !within(reserved.owners)) {
                if reserved.paths.iter().any(|name| names(&path, name)) {
                    let what = format!("{shown} outside of {}", reserved.owners.join(" and "));
                    faults.push(Fault::new(&file.path, line, what, reserved.hint));
                }
            }
            if pure && FORBIDDEN.iter().any(|name| names(&path, name)) {
                faults.push(Fault::new(&file.path, line, format!("{shown} in pure code"), "let ids, times and contents come in as values"));
            }
        }
        for line in if pure { rust.places(&["async", "fn"]) } else { Vec::new() } {
            faults.push(Fault::new(&file.path, line, "async in pure code", "decide here, wait in the host"));
        }
    }
    faults
}

/// Returns true if a path contains a name's segments in sequence.
fn names(path: &[&str], name: &str) -> bool {
    let name: Vec<&str> = name.split("::").collect();
    path.windows(name.len()).any(|window| window == name)
}
