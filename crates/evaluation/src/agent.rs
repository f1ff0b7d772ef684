//! Other agents, evaluated on the same tasks for comparison.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    str::FromStr,
    time::Duration,
};

use aime_sandbox::{ConfinementSettings, Network, ProcessRequest};

use crate::{Program, Task, Variant};

/// Another agent: a bash script, run in the folder of a trial. `$GOAL_FILE` names the file with the goal, `$TIMEOUT_SECONDS` and
/// `$MAX_TOKENS` its bounds, `$AIME_MODEL`, `$OPENAI_BASE_URL`, `$OPENAI_API_KEY` and `$MAX_OUTPUT_TOKENS` the [model](ModelInUse). It
/// reports its result as a run does: by its exit code, and by an `aime.result/v1` as its last line, of which `answer` and `usage` are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Name in tables: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Bash script.
    pub command: String,
}

/// A model of aime, with the data to use it from outside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelInUse {
    /// Name of the model on its server.
    pub name: String,
    /// URL of its OpenAI-compatible server; `None` if it runs in aime's own process.
    pub base_url: Option<String>,
    /// API key.
    pub key: Option<OsString>,
    /// Maximum number of tokens in one answer, if limited.
    pub max_output_tokens: Option<u32>,
}

impl ModelInUse {
    /// Returns its identity: its name and its server. All servers on this machine count as one.
    pub(crate) fn display_name(&self) -> String {
        let server = self.base_url.as_deref().unwrap_or_default();
        let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        let here = ["127.", "localhost", "[::1]"].iter().any(|here| host.starts_with(here));
        format!("{} at {}", self.name, if here { "this machine" } else { host })
    }
}

/// Error for a text that is not `NAME=COMMAND`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not NAME=COMMAND: write a name of letters, digits, -, _ and ., then =, then what bash is to run")]
pub struct AgentSyntaxError(String);

impl FromStr for Agent {
    type Err = AgentSyntaxError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |name: &str| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
        match text.split_once('=') {
            Some((name, command)) if named(name) && !command.trim().is_empty() => {
                Ok(Self { name: name.to_owned(), command: command.to_owned() })
            }
            _ => Err(AgentSyntaxError(text.to_owned())),
        }
    }
}

/// Returns the process of an agent for a task. It is confined as commands are, except for the network, which it needs for its model.
pub(crate) fn request(
    command: &str,
    (task, variant): (&Task, &Variant),
    (work, goal): (&Path, &Path),
    program: &Program,
) -> ProcessRequest {
    let mut environment = program.environment.clone();
    environment.insert("GOAL_FILE".into(), goal.into());
    environment.insert("TIMEOUT_SECONDS".into(), task.bounds.seconds.to_string().into());
    // A variable of this process must not be mistaken for a bound of the task or the key of the model.
    environment.remove(OsStr::new("MAX_TOKENS"));
    environment.extend(task.bounds.tokens.map(|tokens| ("MAX_TOKENS".into(), tokens.to_string().into())));
    if let Some(model) = program.models.get(&variant.model) {
        for name in ["OPENAI_BASE_URL", "OPENAI_API_KEY", "MAX_OUTPUT_TOKENS"] {
            environment.remove(OsStr::new(name));
        }
        environment.insert("AIME_MODEL".into(), model.name.clone().into());
        environment.extend(model.base_url.as_ref().map(|url| ("OPENAI_BASE_URL".into(), url.into())));
        environment.extend(model.key.as_ref().map(|key| ("OPENAI_API_KEY".into(), key.clone())));
        environment.extend(model.max_output_tokens.map(|most| ("MAX_OUTPUT_TOKENS".into(), most.to_string().into())));
    }
    let mut confinement = ConfinementSettings::new(work, &environment);
    confinement.read.push(goal.to_owned());
    confinement.network = Network::All;
    ProcessRequest {
        program: "bash".into(),
        arguments: vec!["-c".into(), command.into()],
        working_folder: work.to_owned(),
        environment,
        input: Vec::new(),
        time_limit: Duration::from_secs(task.bounds.seconds),
        output_limit: crate::trial::PRINTED,
        confinement: program.scripts.sandbox.confine(confinement),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_this_machine_are_one() {
        let known_as = |url: Option<&str>| {
            ModelInUse { name: "small".into(), base_url: url.map(str::to_owned), ..ModelInUse::default() }.display_name()
        };
        for here in ["http://127.0.0.1:4242/v1", "http://localhost:1", "http://[::1]:9/v1"] {
            assert_eq!(known_as(Some(here)), "small at this machine");
        }
        assert_eq!(known_as(Some("https://models.example/v1?x=1")), "small at models.example");
        assert_eq!(known_as(None), "small at ");
    }

    // Requirement: 17.7
    #[test]
    fn an_agent_is_a_name_and_a_command() {
        let agent: Agent = "plan-act=python3 act.py --mode=plan".parse().unwrap();
        assert_eq!((agent.name.as_str(), agent.command.as_str()), ("plan-act", "python3 act.py --mode=plan"));
        for bad in ["", "python3 act.py", "=python3", "my agent=python3", "name= "] {
            assert!(bad.parse::<Agent>().unwrap_err().to_string().contains("NAME=COMMAND"), "{bad}");
        }
    }
}
