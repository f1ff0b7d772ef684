//! Hooks in force.

use std::{sync::Arc, time::Duration};

use aime_messages::message;
use aime_orchestrator::{CommandHook, CommandHookSettings, Hook, Hooks};

use aime_sandbox::Confinement;

use super::Setup;
use crate::{
    config::HookConfig,
    error::{ErrorKind, RunsError},
};

impl Setup {
    /// Returns every configured hook as a command in the working folder, with the clean environment and the sandbox of tools.
    pub fn hooks(&self) -> Result<Hooks, RunsError> {
        if self.config.hooks.all().next().is_none() {
            return Ok(Hooks::default());
        }
        let context = self.tool_context()?;
        let made = self.config.hooks.all().map(|(point, hook)| {
            let HookConfig { name, command, tools, timeout_seconds, required, confined, from } = hook.clone();
            let time_limit = Duration::from_secs(timeout_seconds);
            let settings = CommandHookSettings { name, point, command, tools, time_limit, required };
            let confinement = if confined { context.confinement.clone() } else { Confinement::off() };
            let made = CommandHook::new(settings, context.working_folder(), Arc::clone(&context.environment));
            made.map(|hook| Arc::new(hook.with_confinement(confinement)) as Arc<dyn Hook>)
                .map_err(|error| RunsError::caused(ErrorKind::Usage, error).hint(message!("hint-in", place = from)))
        });
        made.collect()
    }
}
