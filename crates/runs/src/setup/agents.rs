//! External agents of the settings.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use aime_actor_factory::Profile;
use aime_agents::{AgentError, AgentLimits, AgentSettings, AgentWork, ExternalAgent};
use aime_llm::ModelStack;
use aime_orchestrator::{AgentOrder, ExternalAgents};
use aime_sandbox::Confinement;

use super::{Setup, reach};
use crate::{config::AgentConfig, error::RunsError};

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
        let profiles = &self.config.profiles;
        let usable = profiles.iter().filter(|(name, profile)| match self.agent_settings(name, &profile.agent) {
            Ok(_) => true,
            Err(missing) => {
                self.note(format!("without the profile {name}: {missing}"));
                false
            }
        });
        let of = |(name, config): (&String, &crate::config::ProfileConfig)| {
            let description = match config.description.trim() {
                "" => format!("external agent: {}", config.agent.command),
                told => told.to_owned(),
            };
            Profile::of_agent(name, description)
        };
        usable.map(of).collect()
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
        tried.map_err(|error: AgentError| RunsError::usage(error.to_string()))
    }

    fn agent_settings(&self, name: &str, config: &AgentConfig) -> Result<AgentSettings, String> {
        let mut environment: BTreeMap<OsString, OsString> =
            config.set.iter().map(|(name, value)| (name.into(), self.environment.expand_home(value.as_ref()).into_os_string())).collect();
        for variable in &config.env {
            let value = self.environment.text(variable).ok_or_else(|| format!("the variable {variable} is not set"))?;
            environment.insert(variable.into(), value.into());
        }
        let confinement = self.agent_confinement(name, config);
        let program = self.environment.expand_home(config.command.as_ref()).into_os_string();
        Ok(AgentSettings {
            arguments: config.args.iter().map(OsString::from).collect(),
            environment,
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
