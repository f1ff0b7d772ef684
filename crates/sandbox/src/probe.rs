//! Report of the protections that this build and this machine enforce.

use std::path::Path;

use aime_messages::{Message, message};

use crate::{
    Guarantee, Launcher,
    confine::{all_without, can_restrict_to_port, means, unkept_here},
};

/// One protection and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// Name of the protection.
    pub name: &'static str,
    /// True if it is enforced on this machine.
    pub enforced: bool,
    /// Its protection, or the part that is missing.
    pub detail: Message,
}

/// Returns the state of each protection, for a report to the user. Checks for `/proc`, and tries the launcher once.
#[must_use]
pub fn probe(launcher: &Launcher) -> Vec<Protection> {
    let always = [
        ("process groups", if cfg!(windows) { message!("protection-job") } else { message!("protection-process-groups") }),
        ("clean environment", message!("protection-clean-environment")),
        ("confined files", message!("protection-confined-files")),
        ("bounded output", message!("protection-bounded-output")),
    ];
    let mut protections: Vec<_> = always.map(|(name, detail)| Protection { name, enforced: true, detail }).into();
    protections.push(match cfg!(windows) {
        true => Protection { name: "detached processes", enforced: true, detail: message!("protection-job-holds") },
        false => detached(cfg!(target_os = "linux") && Path::new("/proc/self/environ").exists()),
    });
    if cfg!(windows) {
        protections.push(Protection { name: "resource limits", enforced: false, detail: message!("protection-unbounded") });
    }
    protections.push(confinement(&unkept_here()));
    protections.push(hosts(can_restrict_to_port(), launcher.probe()));
    protections
}

/// Reports the guarantees of the kernel.
fn confinement(unkept: &[Guarantee]) -> Protection {
    let detail = if unkept.is_empty() {
        message!("protection-kernel-all", means = means())
    } else {
        message!("protection-kernel-some", means = means(), without = all_without(unkept))
    };
    Protection { name: "kernel confinement", enforced: unkept.is_empty(), detail }
}

/// Reports if a command can be restricted to single hosts.
fn hosts(can_restrict_to_port: bool, tells_machines_apart: Result<(), String>) -> Protection {
    let (enforced, detail) = match (can_restrict_to_port, tells_machines_apart) {
        (true, Ok(())) => (true, message!("protection-hosts-yes")),
        (true, Err(reason)) => (false, message!("protection-hosts-refused", reason)),
        (false, _) => (false, message!("protection-hosts-none")),
    };
    Protection { name: "network per host", enforced, detail }
}

/// Reports if processes that have left their group are found in `/proc`.
fn detached(enforced: bool) -> Protection {
    let detail = if enforced { message!("protection-detached") } else { message!("protection-detached-not") };
    Protection { name: "detached processes", enforced, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 15.5
    #[test]
    fn lists_missing_guarantees() {
        let all = confinement(&[]);
        assert!(all.enforced && all.detail.to_string().contains("from the network"), "{all:?}");
        let some = confinement(&[Guarantee::Signals, Guarantee::Truncation]);
        assert!(
            !some.enforced && some.detail.to_string().contains("may send signals") && some.detail.to_string().contains("may empty files"),
            "{some:?}"
        );
        let protection = probe(&nobody()).into_iter().find(|protection| protection.name == "kernel confinement").unwrap();
        assert_eq!(protection, confinement(&unkept_here()));
    }

    // Requirement: 15.5
    #[test]
    fn single_hosts_are_told() {
        let all = hosts(true, Ok(()));
        assert!(all.enforced && all.detail.to_string().contains("a network namespace of their own"), "{all:?}");
        let old = hosts(false, Ok(()));
        assert!(!old.enforced && old.detail.to_string().contains("Linux 6.7"), "{old:?}");
        let shared = hosts(true, Err("not here".to_owned()));
        assert!(
            !shared.enforced && shared.detail.to_string().contains("not here") && shared.detail.to_string().contains("network-namespace"),
            "{shared:?}"
        );
        assert!(probe(&nobody()).contains(&hosts(can_restrict_to_port(), nobody().probe())));
    }

    /// Returns a launcher whose program does not exist.
    fn nobody() -> Launcher {
        Launcher::new("/nowhere/launcher", [] as [&str; 0])
    }

    #[test]
    fn a_missing_proc_is_told() {
        assert!(detached(true).detail.to_string().contains("ends with its command"));
        assert!(detached(false).detail.to_string().contains("outlives its command"));
    }
}
