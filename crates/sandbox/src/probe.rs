//! What this build enforces, told honestly.

use std::path::Path;

/// One protection, and whether it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// What it is called.
    pub name: &'static str,
    /// Whether it is enforced here and now.
    pub enforced: bool,
    /// What it keeps, or what is missing, in a sentence.
    pub detail: &'static str,
}

/// Says which protections hold, for a report to the user. Looks whether `/proc` is there.
#[must_use]
pub fn probe() -> Vec<Protection> {
    let standing = [
        ("process groups", "a command and all it started in its group end at its time limit, when it is cancelled, and with the run"),
        ("clean environment", "commands see listed variables only, and none that looks like a secret"),
        ("confined files", "file tools cannot leave the working folder, by `..`, by absolute paths or by links"),
        ("bounded output", "what a command prints is kept up to a limit and counted beyond it"),
    ];
    let mut protections: Vec<_> = standing.map(|(name, detail)| Protection { name, enforced: true, detail }).into();
    protections.push(detached(cfg!(target_os = "linux") && Path::new("/proc/self/environ").exists()));
    protections.push(Protection {
        name: "kernel confinement",
        enforced: false,
        detail: "no kernel confinement yet: a command may read, write and reach what its user may; use `--approve ask`, or run in a container",
    });
    protections
}

/// What has left its group is found in `/proc`.
fn detached(enforced: bool) -> Protection {
    let detail = if enforced {
        "what leaves its group, as by `setsid`, ends with its command too, and when aime is killed; one that overwrites its environment and loses \
         its parents is not found"
    } else {
        "there is no /proc here: what leaves its group, as by `setsid`, outlives its command, and what runs when aime is killed goes on"
    };
    Protection { name: "detached processes", enforced, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_missing() {
        let missing: Vec<_> = probe().into_iter().filter(|protection| !protection.enforced).map(|protection| protection.name).collect();
        let expected: &[&str] =
            if cfg!(target_os = "linux") { &["kernel confinement"] } else { &["detached processes", "kernel confinement"] };
        assert_eq!(missing, expected);
    }

    #[test]
    fn a_missing_proc_is_told() {
        assert!(detached(true).detail.contains("ends with its command"));
        assert!(detached(false).detail.contains("outlives its command"));
    }
}
