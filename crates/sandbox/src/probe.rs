//! Report of the protections that this build and this machine enforce.

use std::{borrow::Cow, path::Path};

use crate::{
    Guarantee, Launcher,
    confine::{keeps_to_a_port, means, unkept_here},
};

/// One protection and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// Name of the protection.
    pub name: &'static str,
    /// True if it is enforced on this machine.
    pub enforced: bool,
    /// A sentence on what it protects, or on what is missing.
    pub detail: Cow<'static, str>,
}

/// Description of process groups.
const GROUP: &str = "a command and all it started in its group end at its time limit, when it is cancelled, and with the run";
const JOB: &str = "a command and all it started are in a job object, which ends at its time limit, when it is cancelled, and with the run";
const JOB_HOLDS: &str = "nothing that a command started leaves its job object: all of it ends with its command, and when aime is killed";
const UNBOUNDED: &str = "the processes, the memory and the files of a command are not bounded on Windows";

/// Returns the state of each protection, for a report to the user. Checks for `/proc`, and tries the launcher once.
#[must_use]
pub fn probe(launcher: &Launcher) -> Vec<Protection> {
    let standing = [
        ("process groups", if cfg!(windows) { JOB } else { GROUP }),
        ("clean environment", "commands see listed variables only, and none that looks like a secret"),
        ("confined files", "file tools cannot leave the working folder, by `..`, by absolute paths or by links"),
        ("bounded output", "what a command prints is kept up to a limit and counted beyond it"),
    ];
    let mut protections: Vec<_> = standing.map(|(name, detail)| Protection { name, enforced: true, detail: detail.into() }).into();
    protections.push(match cfg!(windows) {
        true => Protection { name: "detached processes", enforced: true, detail: JOB_HOLDS.into() },
        false => detached(cfg!(target_os = "linux") && Path::new("/proc/self/environ").exists()),
    });
    if cfg!(windows) {
        protections.push(Protection { name: "resource limits", enforced: false, detail: UNBOUNDED.into() });
    }
    protections.push(confinement(&unkept_here()));
    protections.push(hosts(keeps_to_a_port(), launcher.works()));
    protections
}

/// Reports the guarantees of the kernel.
fn confinement(unkept: &[Guarantee]) -> Protection {
    let detail = if unkept.is_empty() {
        format!("{} can keep commands to their folder, off the network, and away from keys and other processes", means())
    } else {
        let without: Vec<&str> = unkept.iter().map(|guarantee| guarantee.without()).collect();
        format!("{} is all there is: {}", means(), without.join("; "))
    };
    Protection { name: "kernel confinement", enforced: unkept.is_empty(), detail: detail.into() }
}

/// Reports if a command can be restricted to single hosts.
fn hosts(keeps_to_a_port: bool, tells_machines_apart: Result<(), String>) -> Protection {
    let (enforced, detail) = match (keeps_to_a_port, tells_machines_apart) {
        (true, Ok(())) => {
            (true, "commands can be kept to single hosts: they reach a proxy, in a network of their own, and nothing else".into())
        }
        (true, Err(reason)) => (
            false,
            format!(
                "commands that are to reach single hosts are refused: {reason}; the user can go without by name: sandbox.allow_missing = \
                 [\"network-namespace\"]"
            )
            .into(),
        ),
        (false, _) => (
            false,
            "commands reach all of the network or nothing: single hosts need Linux 6.7 with Landlock and seccomp, and are refused".into(),
        ),
    };
    Protection { name: "network per host", enforced, detail }
}

/// Reports if processes that have left their group are found in `/proc`.
fn detached(enforced: bool) -> Protection {
    let detail = if enforced {
        "what leaves its group, as by `setsid`, ends with its command too, and when aime is killed; one that overwrites its environment and loses \
         its parents is not found"
    } else {
        "there is no /proc here: what leaves its group, as by `setsid`, outlives its command, and what runs when aime is killed goes on"
    };
    Protection { name: "detached processes", enforced, detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 15.5
    #[test]
    fn says_what_is_missing() {
        let all = confinement(&[]);
        assert!(all.enforced && all.detail.contains("off the network"), "{all:?}");
        let some = confinement(&[Guarantee::Signals, Guarantee::Truncation]);
        assert!(!some.enforced && some.detail.contains("may send signals") && some.detail.contains("may empty files"), "{some:?}");
        let told = probe(&nobody()).into_iter().find(|protection| protection.name == "kernel confinement").unwrap();
        assert_eq!(told, confinement(&unkept_here()));
    }

    // Requirement: 15.5
    #[test]
    fn single_hosts_are_told() {
        let all = hosts(true, Ok(()));
        assert!(all.enforced && all.detail.contains("a network of their own"), "{all:?}");
        let old = hosts(false, Ok(()));
        assert!(!old.enforced && old.detail.contains("Linux 6.7"), "{old:?}");
        let shared = hosts(true, Err("not here".to_owned()));
        assert!(!shared.enforced && shared.detail.contains("not here") && shared.detail.contains("network-namespace"), "{shared:?}");
        assert!(probe(&nobody()).contains(&hosts(keeps_to_a_port(), nobody().works())));
    }

    /// Returns a launcher whose program does not exist.
    fn nobody() -> Launcher {
        Launcher::new("/nowhere/launcher", [] as [&str; 0])
    }

    #[test]
    fn a_missing_proc_is_told() {
        assert!(detached(true).detail.contains("ends with its command"));
        assert!(detached(false).detail.contains("outlives its command"));
    }
}
