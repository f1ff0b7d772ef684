//! Confinement on macOS: a profile for `sandbox-exec`. Written from Apple's profiles and tried by nobody yet.

use std::path::{Path, PathBuf};

use super::{Network, rules::Rules};

/// Where macOS keeps it.
#[cfg(target_os = "macos")]
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// What every program there needs beside the files of the rules.
const BASE: &str = "(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))
(allow file-read-metadata)
(allow file-read* (literal \"/\") (subpath \"/System\") (subpath \"/Library/Apple\") (subpath \"/Library/Developer\") (subpath \"/private/var/db/dyld\"))
";

/// The profile for these rules.
pub(crate) fn profile(rules: &Rules, network: Network) -> String {
    let mut profile = BASE.to_owned();
    let mut allow = |what: &str, paths: &[PathBuf]| {
        for path in paths {
            profile.push_str(&format!("(allow {what} (subpath {}))\n", quoted(path)));
        }
    };
    allow("file-read*", &rules.read);
    allow("file-read* file-write*", &rules.write);
    allow("file-read* file-write-data", &rules.devices);
    if network == Network::All {
        profile.push_str("(allow network-outbound (remote ip))\n(allow network-inbound (local ip))\n(allow system-socket)\n");
    }
    profile
}

fn quoted(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_what_is_allowed_and_nothing_else() {
        let rules = Rules::of(&["/usr"], &["/no such/\"work\""]);
        let text = profile(&rules, Network::None);
        assert!(text.starts_with("(version 1)\n(deny default)\n"), "{text}");
        assert!(text.contains("(allow file-read* (subpath \"/usr\"))"), "{text}");
        assert!(text.contains(r#"(allow file-read* file-write* (subpath "/no such/\"work\""))"#), "{text}");
        assert!(!text.contains("network"), "{text}");
        assert!(profile(&rules, Network::All).contains("network-outbound"));
    }
}
