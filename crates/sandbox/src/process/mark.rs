//! Mark in the environment of a command and of all that it starts.

use std::{
    ffi::{OsStr, OsString},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// Variable that contains the mark, set for every process that this library starts.
pub const VARIABLE: &str = "AIME_PROCESS";

/// Distinguishes this process from every other, also from an earlier one with the same id.
static SESSION: LazyLock<String> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{:x}-{now:x}", std::process::id())
});
static COMMANDS: AtomicU64 = AtomicU64::new(0);

/// Returns the common prefix of the marks of all commands of this process.
pub(super) fn session() -> String {
    format!("{}.", *SESSION)
}

/// Mark of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark(String);

impl Mark {
    /// Creates a unique mark.
    pub(super) fn new() -> Self {
        Self(format!("{}{}", session(), COMMANDS.fetch_add(1, Ordering::Relaxed)))
    }

    /// Returns the value of [`VARIABLE`]: a command that runs under another command carries both marks, and ends with either.
    pub(super) fn below(&self, outer: Option<&OsStr>) -> OsString {
        let mut value = OsString::new();
        if let Some(outer) = outer.filter(|outer| !outer.is_empty()) {
            value.push(outer);
            value.push("/");
        }
        value.push(&self.0);
        value
    }

    /// Returns true if an environment, as the kernel shows it with a NUL byte after each variable, contains the mark.
    #[cfg_attr(windows, expect(dead_code, reason = "a job object knows its members"))]
    pub(super) fn is_in(&self, environment: &[u8]) -> bool {
        let values = environment.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="));
        values.into_iter().any(|value| value.split(|byte| *byte == b'/').any(|mark| mark == self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_found_whole_and_in_its_variable_only() {
        let mark = Mark("a1-b2.7".into());
        let cases: [(&str, bool); 9] = [
            ("", false),
            ("AIME_PROCESS=a1-b2.7\0", true),
            ("HOME=/\0AIME_PROCESS=a1-b2.7\0X=y\0", true),
            ("AIME_PROCESS=outer.1/a1-b2.7\0", true),
            ("AIME_PROCESS=a1-b2.7/inner.1\0", true),
            ("AIME_PROCESS=a1-b2.70\0", false),
            ("AIME_PROCESS=a1-b2\0", false),
            ("NO_AIME_PROCESS=a1-b2.7\0", false),
            ("AIME_PROCESSES=a1-b2.7\0", false),
        ];
        for (environment, expected) in cases {
            assert_eq!(mark.is_in(environment.as_bytes()), expected, "{environment:?}");
        }
    }

    #[test]
    fn stands_below_that_of_an_outer_command() {
        let (outer, inner) = (Mark::new(), Mark::new());
        assert_ne!(outer, inner);
        let value = inner.below(Some(&outer.below(None)));
        let environment = format!("AIME_PROCESS={}\0", value.to_str().unwrap());
        assert!(outer.is_in(environment.as_bytes()) && inner.is_in(environment.as_bytes()), "{environment}");
        assert_eq!(inner.below(Some(OsStr::new(""))), inner.below(None));
        assert!(environment.contains(&session()));
    }
}
