//! Confinement on macOS by a profile for `sandbox-exec`, written after Apple's profiles. The code compiles there and the profile's text is
//! tested here, but it was never run.

use std::path::{Path, PathBuf};

use super::{Reach, rules::Rules};

/// Path of the program on macOS.
#[cfg(target_os = "macos")]
pub(crate) const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Rules that every program needs besides the files.
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

/// Returns the profile for these rules.
pub(crate) fn profile(rules: &Rules, reach: Reach) -> String {
    let mut profile = BASE.to_owned();
    let mut allow = |what: &str, paths: &[PathBuf]| {
        for path in paths {
            profile.push_str(&format!("(allow {what} (subpath {}))\n", quoted(path)));
        }
    };
    allow("file-read*", &rules.read);
    allow("file-read* file-write*", &rules.write);
    allow("file-read* file-write-data", &rules.devices);
    match reach {
        Reach::Nothing => {}
        Reach::Port(port) => {
            profile.push_str(&format!("(allow network-outbound (remote tcp \"localhost:{port}\"))\n(allow system-socket)\n"));
        }
        Reach::Everything => {
            profile.push_str("(allow network-outbound (remote ip))\n(allow network-inbound (local ip))\n(allow system-socket)\n");
        }
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

    // Requirement: 15.7
    #[test]
    fn a_profile_names_what_is_allowed_and_nothing_else() {
        let rules = Rules::of(&["/usr"], &["/no such/\"work\""]);
        let text = profile(&rules, Reach::Nothing);
        assert!(text.starts_with("(version 1)\n(deny default)\n"), "{text}");
        assert!(text.contains("(allow file-read* (subpath \"/usr\"))"), "{text}");
        assert!(text.contains(r#"(allow file-read* file-write* (subpath "/no such/\"work\""))"#), "{text}");
        assert!(!text.contains("network"), "{text}");
        let hostile = profile(&Rules::of(&[], &["/no such/x\"))\n(allow default)\n; \\"]), Reach::Nothing);
        assert!(hostile.contains(r#"(subpath "/no such/x\"))"#) && hostile.ends_with("; \\\\\"))\n"), "a name closes nothing: {hostile}");
        let one = profile(&rules, Reach::Port(4711));
        assert!(one.contains("(allow network-outbound (remote tcp \"localhost:4711\"))\n"), "{one}");
        assert_eq!(one.matches("network").count(), 1, "{one}");
        assert!(profile(&rules, Reach::Everything).contains("(allow network-outbound (remote ip))"));
    }
}
