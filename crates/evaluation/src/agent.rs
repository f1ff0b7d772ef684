//! Other agents that are tried on the same tasks, to compare with.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
    str::FromStr,
    time::Duration,
};

use aime_sandbox::{Confinement, ConfinementSettings, Network, ProcessRequest};

use crate::{Task, Variant};

/// Another agent: a script of bash, run in the folder of a trial. `$GOAL_FILE` names the file with the goal, `$TIMEOUT_SECONDS` and `$MAX_TOKENS`
/// its bounds, `$AIME_MODEL` the model where one is asked for. It tells what came of it as a run does: by its exit code, and by a last line that is
/// an `aime.result/v1`, of which `answer` and `usage` are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// What it is called in tables: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The script.
    pub command: String,
}

/// A text is no `NAME=COMMAND`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not NAME=COMMAND: write a name of letters, digits, -, _ and ., then =, then what bash is to run")]
pub struct NoAgent(String);

impl FromStr for Agent {
    type Err = NoAgent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |name: &str| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
        match text.split_once('=') {
            Some((name, command)) if named(name) && !command.trim().is_empty() => {
                Ok(Self { name: name.to_owned(), command: command.to_owned() })
            }
            _ => Err(NoAgent(text.to_owned())),
        }
    }
}

/// How an agent is started on a task. It is confined as commands are, but for the network, where its model is.
pub(crate) fn request(
    command: &str,
    (task, variant): (&Task, &Variant),
    (work, goal): (&Path, &Path),
    environment: &BTreeMap<OsString, OsString>,
) -> ProcessRequest {
    let mut environment = environment.clone();
    environment.insert("GOAL_FILE".into(), goal.into());
    environment.insert("TIMEOUT_SECONDS".into(), task.bounds.seconds.to_string().into());
    // What happens to be set in this process is no bound of the task.
    environment.remove(OsStr::new("MAX_TOKENS"));
    environment.extend(task.bounds.tokens.map(|tokens| ("MAX_TOKENS".into(), tokens.to_string().into())));
    environment.extend(variant.model.as_ref().map(|model| ("AIME_MODEL".into(), model.into())));
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
        confinement: Confinement::or_refuse(confinement),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_a_name_and_a_command() {
        let agent: Agent = "plan-act=python3 act.py --mode=plan".parse().unwrap();
        assert_eq!((agent.name.as_str(), agent.command.as_str()), ("plan-act", "python3 act.py --mode=plan"));
        for bad in ["", "python3 act.py", "=python3", "my agent=python3", "name= "] {
            assert!(bad.parse::<Agent>().unwrap_err().to_string().contains("NAME=COMMAND"), "{bad}");
        }
    }
}
