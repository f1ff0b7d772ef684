//! External agents of the settings.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use aime_actor_factory::Profile;
use aime_agents::{AgentError, AgentLimits, AgentSettings, AgentWork, ExternalAgent};
use aime_llm::ModelStack;
use aime_messages::{Message, message};
use aime_orchestrator::{AgentOrder, ExternalAgents};
use aime_progress_management::{Plan, TaskSpec};
use aime_sandbox::Confinement;

use super::{Setup, reach};
use crate::{config::AgentConfig, error::RunsError, hint::Hint};

/// Agents by the name of their profile. One whose variables are missing has a message instead.
struct Agents(BTreeMap<String, AgentSettings>);

impl ExternalAgents for Agents {
    fn agent(&self, order: AgentOrder<'_>) -> Option<ModelStack> {
        let AgentOrder { spec, context, reads, attended } = order;
        let work = AgentWork {
            context: context.clone(),
            reads: reads.to_vec(),
            approval: spec.approval,
            rules: spec.rules.clone(),
            tools: spec.tools.iter().cloned().collect(),
            attended,
        };
        Some(ModelStack::of(ExternalAgent::new(self.0.get(&spec.profile)?.clone(), work)))
    }
}

impl Setup {
    /// Returns the profiles of external agents that have everything they need. A notice names what others lack.
    pub(super) fn agent_profiles(&self) -> Vec<Profile> {
        if !self.opener.has_agents {
            return Vec::new();
        }
        let profiles = &self.config.profiles;
        let usable = profiles.iter().filter(|(name, profile)| match self.agent_settings(name, &profile.agent) {
            Ok(_) => true,
            Err(missing) => {
                self.note(message!("no-agent-profile", name, reason = missing));
                false
            }
        });
        let of = |(name, config): (&String, &crate::config::ProfileConfig)| {
            let description = match config.description.trim() {
                "" => format!("external agent: {}", config.agent.command),
                description => description.to_owned(),
            };
            Profile::of_agent(name, description)
        };
        usable.map(of).collect()
    }

    /// Checks that no task of a plan is for an external agent, as a run on an engine needs it.
    ///
    /// # Errors
    /// A message that names the first such task.
    pub fn check_without_agents(&self, plan: &Plan) -> Result<(), RunsError> {
        let of_agent = |task: &TaskSpec| task.profile.clone().filter(|profile| self.config.profiles.contains_key(profile));
        let Some((task, profile)) = plan.tasks.iter().find_map(|task| Some((&task.id, of_agent(task)?))) else { return Ok(()) };
        let message = format!("the task {task} is for the profile {profile}, an external agent, and those work in local runs alone");
        Err(RunsError::usage(message).hint(Hint::OtherProfile))
    }

    /// Returns the external agents of the settings.
    pub(super) fn agents(&self) -> Arc<dyn ExternalAgents> {
        let settings = |(name, profile): (&String, &crate::config::ProfileConfig)| {
            Some((name.clone(), self.agent_settings(name, &profile.agent).ok()?))
        };
        Arc::new(Agents(self.config.profiles.iter().filter_map(settings).collect()))
    }

    /// Starts the agent of a profile in the working folder, begins a session, and ends it. Returns name and version of the program.
    ///
    /// # Errors
    /// A description of what is wrong.
    pub async fn try_agent(&self, name: &str) -> Result<String, RunsError> {
        let Some(profile) = self.config.profiles.get(name) else {
            return Err(RunsError::usage(format!("no profile {name} names an agent")));
        };
        let settings = self.agent_settings(name, &profile.agent).map_err(RunsError::usage)?;
        let work = AgentWork::new(&self.tool_context()?, aime_tools::Approval::ReadOnly);
        let tried = ExternalAgent::new(settings, work).probe().await;
        tried.map_err(|error: AgentError| RunsError::usage(Message::text(error)))
    }

    fn agent_settings(&self, name: &str, config: &AgentConfig) -> Result<AgentSettings, Message> {
        let mut environment: BTreeMap<OsString, OsString> =
            config.set.iter().map(|(name, value)| (name.into(), self.environment.expand_home(value.as_ref()).into_os_string())).collect();
        for variable in &config.env {
            let value = self.environment.text(variable).ok_or_else(|| message!("no-variable", variable))?;
            environment.insert(variable.into(), value.into());
        }
        let confinement = self.agent_confinement(name, config);
        let program = self.environment.expand_home(config.command.as_ref()).into_os_string();
        Ok(AgentSettings {
            arguments: config.args.iter().map(OsString::from).collect(),
            environment,
            files: config.files,
            limits: AgentLimits {
                start: Duration::from_secs(config.start_timeout_seconds),
                silence: Duration::from_secs(config.silence_timeout_seconds),
            },
            ..AgentSettings::new(name, program, confinement)
        })
    }

    /// Returns the sandbox of an agent's program: that of commands, with its own hosts and the places that its settings allow.
    fn agent_confinement(&self, name: &str, config: &AgentConfig) -> Confinement {
        if !config.confined {
            return Confinement::off();
        }
        let expanded = |paths: &[PathBuf]| paths.iter().map(|path| self.environment.expand_home(path)).collect::<Vec<_>>();
        self.confinement_with(|settings| {
            settings.read.extend(expanded(&config.read));
            settings.write.extend(expanded(&config.write));
            settings.network = reach::network(&config.network, &format!("profiles.{name}.agent.network"), self.launcher());
        })
    }
}

#[cfg(test)]
mod tests {
    use aime_progress_management::{Plan, TaskSpec};

    use crate::{Environment, Setup};

    /// Nothing is asked of a model or an engine before.
    // Requirement: 4.41
    #[test]
    fn a_plan_for_an_engine_names_no_agent() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["work", "config/aime"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        std::fs::write(path("config/aime/config.toml"), "[profiles.helper.agent]\ncommand = \"my-agent\"\n").unwrap();
        let config = path("config").display().to_string();
        let setup = Setup::builder(Environment::of([("XDG_CONFIG_HOME", config.as_str())])).open(Some(&path("work"))).unwrap();
        let task =
            |profile: &str| TaskSpec { profile: Some(profile.to_owned()), ..TaskSpec::actor("a".parse().unwrap(), "do it".to_owned()) };
        let plan = |profile| Plan::new("", [task(profile)]);
        assert!(setup.check_without_agents(&plan("sisyphus")).is_ok());
        let refused = setup.check_without_agents(&plan("helper")).unwrap_err();
        assert_eq!(
            refused.message.to_string(),
            "the task a is for the profile helper, an external agent, and those work in local runs alone"
        );
        assert!(refused.hint.unwrap().to_string().contains("another profile"));
        let profiles = |setup: &Setup| setup.profiles().unwrap().iter().map(|profile| profile.name.clone()).collect::<Vec<_>>();
        assert!(profiles(&setup).contains(&"helper".to_owned()));
        assert!(!profiles(&setup.without_agents()).contains(&"helper".to_owned()), "the lead on a worker cannot choose it");
    }
}
