//! Selects the queue of an effect by the capability that the worker needs, and by the place of the working folder.

use std::{fmt, time::Duration};

use aime_orchestrator::RunEffect;
use aime_tools::{Executor, Source, ToolScope, ToolSpec};
use serde::{Deserialize, Serialize};

/// Capability of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Drive the machines of runs and actors. Needs neither models nor tools nor the working folder.
    Runs,
    /// Ask the models of actors. Needs keys, and no working folder.
    Llm,
    /// Plan, make actors, look at criteria, write answers. Needs models and the working folder.
    Planner,
    /// Tools that touch files, or nothing.
    Files,
    /// Tools that start processes.
    Shell,
    /// Tools that reach the network.
    Web,
    /// Tools of MCP servers.
    Mcp,
}

impl Capability {
    /// Each of them.
    pub const ALL: [Self; 7] = [Self::Runs, Self::Llm, Self::Planner, Self::Files, Self::Shell, Self::Web, Self::Mcp];

    /// Returns its word in the names of queues.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Llm => "llm",
            Self::Planner => "planner",
            Self::Files => "tools.files",
            Self::Shell => "tools.shell",
            Self::Web => "tools.web",
            Self::Mcp => "tools.mcp",
        }
    }

    /// Returns the capability of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| capability.word() == word)
    }

    /// Returns true if it is bound to the host with the working folder.
    #[must_use]
    pub const fn is_bound(self) -> bool {
        matches!(self, Self::Planner | Self::Files | Self::Shell | Self::Web | Self::Mcp)
    }

    /// Returns the capability that a tool needs.
    #[must_use]
    pub fn of_tool(spec: Option<&ToolSpec>) -> Self {
        let Some(spec) = spec.filter(|spec| spec.handled_by == Executor::Runtime) else { return Self::Files };
        match (&spec.source, spec.touches) {
            (Source::Touched, ToolScope::Nothing | ToolScope::Files | ToolScope::People | ToolScope::Anything) => Self::Files,
            (Source::Touched, ToolScope::Processes) => Self::Shell,
            (Source::Touched, ToolScope::Network) => Self::Web,
            _ => Self::Mcp,
        }
    }

    /// Returns the capability that an effect of a run needs; `spec` finds tools by their names.
    #[must_use]
    pub fn of_effect<'a>(effect: &RunEffect, spec: impl FnOnce(&str) -> Option<&'a ToolSpec>) -> Self {
        match effect {
            RunEffect::CallTool { call, .. } => Self::of_tool(spec(call.tool())),
            _ => Self::Planner,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The names of the queues of a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// Common prefix of the queue names.
    pub prefix: String,
    /// Name of the working folder, which its workers share. If absent, all workers have the same folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Time in seconds without a worker of the place after which its host counts as lost; 600 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after_s: Option<u64>,
}

/// Default time to wait for a worker of a place.
const LOST_AFTER: Duration = Duration::from_secs(600);
/// The place of folders that go from host to host: any that checks them out.
const ANYWHERE: &str = "*";

impl Default for Queues {
    fn default() -> Self {
        Self { prefix: "aime".to_owned(), place: None, lost_after_s: None }
    }
}

impl Queues {
    /// Returns the same for working folders that move between hosts: only workers that check them out serve these
    /// queues.
    #[must_use]
    pub fn for_moving_workspaces(self) -> Self {
        Self { place: Some(ANYWHERE.to_owned()), ..self }
    }

    /// Returns the time that an effect waits for a worker if it is bound to one place. Effects for any worker wait
    /// without limit.
    #[must_use]
    pub fn schedule_to_start_timeout(&self, capability: Capability) -> Option<Duration> {
        let one_place = self.place.as_deref().is_some_and(|place| place != ANYWHERE) && capability.is_bound();
        one_place.then(|| self.lost_after_s.map_or(LOST_AFTER, |seconds| Duration::from_secs(seconds.max(1))))
    }

    /// Returns the name of a capability's queue.
    #[must_use]
    pub fn name(&self, capability: Capability) -> String {
        let place = self.place.as_deref().filter(|_| capability.is_bound()).map(|place| format!("@{place}")).unwrap_or_default();
        format!("{}.{capability}{place}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 18.6
    #[test]
    fn tools_go_to_workers_that_can() {
        let tools = aime_tools::builtin();
        let of = |name: &str| Capability::of_tool(tools.get(name).map(|tool| tool.spec().as_ref()));
        let cases = [("read_file", Capability::Files), ("write_file", Capability::Files), ("bash", Capability::Shell)];
        for (tool, capability) in cases {
            assert_eq!(of(tool), capability, "{tool}");
        }
        let bash = tools.get("bash").unwrap().spec();
        let with = |touches, source| {
            let mut spec = ToolSpec::clone(bash);
            (spec.touches, spec.source) = (touches, source);
            Capability::of_tool(Some(&spec))
        };
        assert_eq!(with(ToolScope::Network, Source::Touched), Capability::Web);
        // A tool of a server is called on the host of the server, independently of what it touches.
        for touches in [ToolScope::Nothing, ToolScope::Processes, ToolScope::Network] {
            let of_one = Source::Server { name: "clock".to_owned(), trusted: true, network: false };
            assert_eq!(with(touches, of_one), Capability::Mcp, "{touches:?}");
            assert_eq!(with(touches, Source::Servers { trusted: Vec::new(), all: false }), Capability::Mcp, "{touches:?}");
        }
        // The worker that answers `Unknown tool` may be any.
        assert_eq!(of("no_such_tool"), Capability::Files);
    }

    // Requirement: 18.6
    #[test]
    fn only_what_needs_the_folder_is_bound_to_its_host() {
        let queues = Queues { place: Some("build-7".to_owned()), ..Queues::default() };
        let names: Vec<String> = Capability::ALL.into_iter().map(|capability| queues.name(capability)).collect();
        let expected = [
            "aime.runs",
            "aime.llm",
            "aime.planner@build-7",
            "aime.tools.files@build-7",
            "aime.tools.shell@build-7",
            "aime.tools.web@build-7",
            "aime.tools.mcp@build-7",
        ];
        assert_eq!(names, expected);
        assert_eq!(Queues::default().name(Capability::Shell), "aime.tools.shell");
        assert_eq!(Queues::default().for_moving_workspaces().name(Capability::Shell), "aime.tools.shell@*");
    }

    #[test]
    fn only_what_one_host_can_do_is_given_up() {
        let placed = Queues { place: Some("build-7".to_owned()), ..Queues::default() };
        let quick = Queues { lost_after_s: Some(0), ..placed.clone() };
        let cases = [
            (&placed, Capability::Shell, Some(600)),
            (&quick, Capability::Shell, Some(1)),
            (&placed, Capability::Llm, None),
            (&placed, Capability::Runs, None),
            (&Queues::default(), Capability::Shell, None),
            (&Queues::default().for_moving_workspaces(), Capability::Shell, None),
        ];
        for (queues, capability, seconds) in cases {
            assert_eq!(queues.schedule_to_start_timeout(capability), seconds.map(Duration::from_secs), "{queues:?} {capability}");
        }
    }

    #[test]
    fn words_are_read_back() {
        for capability in Capability::ALL {
            assert_eq!(Capability::of_word(capability.word()), Some(capability));
        }
        assert_eq!(Capability::of_word("tools"), None);
    }
}
