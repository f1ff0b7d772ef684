//! Progress of a build, from the messages of `cargo build --message-format json`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Weight of a package of this workspace beside one of a registry: it takes about that much longer to compile.
const OWN_WEIGHT: u32 = 8;

/// Shortest time between two lines.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Packages that were built, of all.
pub(crate) struct Progress {
    /// Number and weight of all packages; zero if they are unknown.
    all: (usize, u32),
    /// Identifiers of the finished packages.
    seen: BTreeSet<String>,
    /// Weight of all finished packages, and of those among them that were compiled now.
    weight: u32,
    compiled: u32,
    begun: Instant,
    last_line: Instant,
}

impl Progress {
    /// Begins a build of the packages in the output of `cargo tree`.
    pub(crate) fn new(tree: &str, now: Instant) -> Self {
        let packages: BTreeSet<_> = tree.lines().filter_map(package).collect();
        let weight = packages.iter().map(|(.., weight)| weight).sum();
        Self { all: (packages.len(), weight), seen: BTreeSet::new(), weight: 0, compiled: 0, begun: now, last_line: now }
    }

    /// Counts a message, and returns a line to print if one is due.
    pub(crate) fn take(&mut self, message: &str, now: Instant) -> Option<String> {
        if field(message, "reason")? != "compiler-artifact" || is_build_script(message) || !self.seen.insert(field(message, "package_id")?)
        {
            return None;
        }
        let id = field(message, "package_id")?;
        let weight = if id.starts_with("path+") { OWN_WEIGHT } else { 1 };
        self.weight += weight;
        if message.contains(r#""fresh":true"#) {
            return None;
        }
        self.compiled += weight;
        if now.duration_since(self.last_line) < BETWEEN_LINES {
            return None;
        }
        self.last_line = now;
        let (done, (all, all_weight)) = (self.seen.len(), self.all);
        if all < done {
            return Some(format!("{done} crates are built"));
        }
        let left = now.duration_since(self.begun) * all_weight.saturating_sub(self.weight) / self.compiled;
        Some(format!("{done} of {all} crates are built, about {} left", spoken(left)))
    }
}

/// Returns the name, version and weight of the package in a line such as `name v1.0.0 (/folder) (*)`.
fn package(line: &str) -> Option<(&str, &str, u32)> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?);
    // Only a package of this workspace has a folder.
    let is_own = words.any(|word| word.starts_with('(') && !["(proc-macro)", "(*)"].contains(&word));
    Some((name, version, if is_own { OWN_WEIGHT } else { 1 }))
}

/// Returns true for the compiled build script of a package, which comes before its library.
fn is_build_script(message: &str) -> bool {
    message.contains(r#""kind":["custom-build"]"#)
}

fn spoken(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{} s", seconds.div_ceil(10) * 10),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

/// Returns the text of the first member `name` of a JSON message, at any depth.
pub(crate) fn field(message: &str, name: &str) -> Option<String> {
    let (_, value) = message.split_once(&format!("\"{name}\":\""))?;
    let mut text = String::new();
    let mut characters = value.chars();
    loop {
        match characters.next()? {
            '"' => return Some(text),
            // Paths have no other escapes: cargo writes them as UTF-8.
            '\\' => text.push(characters.next()?),
            character => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "own v0.1.0 (/w/own)\nserde v1.0.0\nserde_derive v1.0.0 (proc-macro)\nserde v1.0.0 (*)\nlast v2.0.0\n";

    fn artifact(id: &str, kind: &str, fresh: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"{id}","target":{{"kind":["{kind}"],"name":"x"}},"executable":null,"fresh":{fresh}}}"#
        )
    }

    #[test]
    fn progress_counts_packages_once() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut progress = Progress::new(TREE, begun);
        assert_eq!(progress.all, (4, OWN_WEIGHT + 3));
        assert_eq!(progress.take(&artifact("registry+x#serde@1.0.0", "lib", false), at(1)), None, "too soon");
        assert_eq!(progress.take(&artifact("registry+x#last@2.0.0", "custom-build", false), at(11)), None, "not yet its library");
        assert_eq!(progress.take(r#"{"reason":"build-script-executed","package_id":"registry+x#last@2.0.0"}"#, at(12)), None);
        let line = progress.take(&artifact("registry+x#last@2.0.0", "lib", false), at(20));
        assert_eq!(line.as_deref(), Some("2 of 4 crates are built, about 2 min left"));
        assert_eq!(progress.take(&artifact("registry+x#last@2.0.0", "lib", false), at(40)), None, "counted before");
        assert_eq!(progress.take(&artifact("registry+x#serde_derive@1.0.0", "proc-macro", true), at(41)), None, "nothing was compiled");
        let line = progress.take(&artifact("path+file:///w/own#0.1.0", "bin", false), at(60));
        assert_eq!(line.as_deref(), Some("4 of 4 crates are built, about 0 s left"));
    }

    #[test]
    fn unknown_packages_are_counted_alone() {
        let begun = Instant::now();
        let mut progress = Progress::new("", begun);
        let line = progress.take(&artifact("registry+x#serde@1.0.0", "lib", false), begun + BETWEEN_LINES);
        assert_eq!(line.as_deref(), Some("1 crates are built"));
    }

    #[test]
    fn texts_of_messages_are_read() {
        for (message, expected) in [
            (r#"{"executable":"/t/debug/aime","fresh":true}"#, Some("/t/debug/aime")),
            (r#"{"executable":"C:\\t\\aime.exe"}"#, Some(r"C:\t\aime.exe")),
            (r#"{"executable":null}"#, None),
            ("", None),
        ] {
            assert_eq!(field(message, "executable").as_deref(), expected, "{message}");
        }
    }
}
