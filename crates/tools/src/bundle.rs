//! Tool bundles: named sets of tools that belong together.

use aime_messages::nearest_first;

use crate::names::quoted;

/// A set of tools that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundle {
    /// Name of the bundle.
    pub name: &'static str,
    /// Purpose of the bundle in one phrase, for planners.
    pub description: &'static str,
    /// Names of the tools in the bundle.
    pub tools: &'static [&'static str],
}

/// All bundles.
pub const BUNDLES: &[Bundle] = &[
    Bundle {
        name: "files",
        description: "read, search and change files",
        tools: &["read_file", "write_file", "edit_file", "apply_patch", "list_dir", "glob", "grep"],
    },
    Bundle { name: "files_read", description: "read and search files", tools: &["read_file", "list_dir", "glob", "grep"] },
    Bundle { name: "undo", description: "put back what a task did to files", tools: &["undo_task"] },
    Bundle { name: "shell", description: "run shell commands", tools: &["bash", "bash_output", "bash_kill"] },
    Bundle {
        name: "code",
        description: "change files, run commands and Python",
        tools: &[
            "read_file",
            "write_file",
            "edit_file",
            "apply_patch",
            "list_dir",
            "glob",
            "grep",
            "bash",
            "bash_output",
            "bash_kill",
            "python",
        ],
    },
    Bundle { name: "web", description: "read pages of the web, and search it", tools: &["web_fetch", "web_search"] },
    Bundle {
        name: "coordination",
        description: "keep a TODO list, report, ask a person, end the task",
        tools: &["terminate", "ask_human", "todo", "update_progress", "report_evidence"],
    },
    Bundle { name: "delegation", description: "hand a part of the work to another actor", tools: &["delegate_task"] },
];

/// An ability of an actor, which it has with any of some tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// Name, as profiles list it.
    pub name: &'static str,
    /// Bundle that gives the capability and little else.
    pub bundle: &'static str,
    /// Tools, each of which gives the capability.
    pub tools: &'static [&'static str],
}

/// Capabilities that tools give.
pub const CAPABILITIES: &[Capability] = &[
    Capability { name: "search", bundle: "files_read", tools: &["read_file", "list_dir", "glob", "grep"] },
    Capability { name: "write", bundle: "files", tools: &["write_file", "edit_file", "apply_patch"] },
    Capability { name: "execute", bundle: "shell", tools: &["bash", "python"] },
    Capability { name: "web", bundle: "web", tools: &["web_fetch", "web_search"] },
];

/// Returns the capabilities that a bundle gives.
pub fn capabilities_of(bundle: &str) -> impl Iterator<Item = &'static Capability> {
    let tools = self::bundle(bundle).map_or(&[][..], |bundle| bundle.tools);
    CAPABILITIES.iter().filter(move |capability| capability.tools.iter().any(|tool| tools.contains(tool)))
}

/// Error for an unknown bundle name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Unknown bundle: {name}. The bundles are: {}", quoted(self.known.iter().copied()))]
pub struct UnknownBundle {
    /// The unknown name.
    pub name: String,
    /// Names of all bundles, the most similar first.
    pub known: Vec<&'static str>,
}

/// Returns the bundle with a name.
///
/// # Errors
/// [`UnknownBundle`] with the names that exist.
pub fn bundle(name: &str) -> Result<&'static Bundle, UnknownBundle> {
    BUNDLES
        .iter()
        .find(|bundle| bundle.name == name)
        .ok_or_else(|| UnknownBundle { name: name.to_owned(), known: nearest_first(name, BUNDLES.iter().map(|bundle| bundle.name)) })
}

/// Returns the tools of several bundles in order, without duplicates.
///
/// # Errors
/// [`UnknownBundle`] for the first unknown name.
pub fn tools_of<N: AsRef<str>>(bundles: impl IntoIterator<Item = N>) -> Result<Vec<&'static str>, UnknownBundle> {
    let mut tools = Vec::new();
    for name in bundles {
        for tool in bundle(name.as_ref())?.tools {
            if !tools.contains(tool) {
                tools.push(*tool);
            }
        }
    }
    Ok(tools)
}

/// Returns true if a bundle contains the tool. Tools outside of bundles come from MCP servers, skills or the embedding program; every actor
/// gets them.
#[must_use]
pub fn is_in_a_bundle(tool: &str) -> bool {
    BUNDLES.iter().any(|bundle| bundle.tools.contains(&tool))
}

/// Returns true for a tool of an MCP server, and for the tools that search and call tools of servers.
#[must_use]
pub fn is_of_servers(tool: &str) -> bool {
    tool.starts_with("mcp_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    // Requirement: 8.10
    #[test]
    fn bundles_hold_tools_that_exist_and_every_tool_is_in_one() {
        let registry = builtin();
        // The tools of bundle `web` depend on a feature and on the settings.
        for tool in tools_of(BUNDLES.iter().map(|bundle| bundle.name).filter(|name| *name != "web")).unwrap() {
            assert!(registry.get(tool).is_some(), "{tool}");
        }
        for name in registry.names() {
            assert!(BUNDLES.iter().any(|bundle| bundle.tools.contains(&name)), "{name}");
        }
    }

    // Requirement: 3.39
    #[test]
    fn a_bundle_gives_capabilities() {
        let table = [
            ("files_read", "search"),
            ("files", "search write"),
            ("code", "search write execute"),
            ("shell", "execute"),
            ("web", "web"),
            ("delegation", ""),
            ("unknown", ""),
        ];
        for (bundle, expected) in table {
            assert_eq!(capabilities_of(bundle).map(|capability| capability.name).collect::<Vec<_>>().join(" "), expected, "{bundle}");
        }
        for capability in CAPABILITIES {
            assert!(capabilities_of(capability.bundle).any(|given| given == capability));
        }
    }

    // Requirement: 8.10
    #[test]
    fn files_read_changes_nothing() {
        let registry = builtin();
        assert!(bundle("files_read").unwrap().tools.iter().all(|tool| registry.get(tool).unwrap().spec().read_only));
    }

    // Requirement: 4.2, 8.10, 8.11
    #[test]
    fn tools_come_once_and_in_order() {
        assert_eq!(
            tools_of(["shell", "files_read", "shell"]).unwrap(),
            ["bash", "bash_output", "bash_kill", "read_file", "list_dir", "glob", "grep"]
        );
        let unknown = tools_of(["shell", "file"]).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "Unknown bundle: file. The bundles are: `files`, `files_read`, `code`, `shell`, `delegation`, `coordination`, `undo`, `web`"
        );
    }
}
