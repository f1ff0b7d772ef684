//! The hooks that are in force.

use std::{sync::Arc, time::Duration};

use aime_orchestrator::{CommandHook, CommandHookSettings, Hook, Hooks};

use super::Setup;
use crate::{
    config::HookConfig,
    failure::{Failure, code},
};

impl Setup {
    /// Every hook of the settings as a command in the working folder, with the clean environment that tools have.
    pub(crate) fn hooks(&self) -> Result<Hooks, Failure> {
        if self.config.hooks.all().next().is_none() {
            return Ok(Hooks::default());
        }
        let context = self.tool_context()?;
        let made = self.config.hooks.all().map(|(point, hook)| {
            let HookConfig { name, command, tools, timeout_seconds, required, from } = hook.clone();
            let time_limit = Duration::from_secs(timeout_seconds);
            let settings = CommandHookSettings { name, point, command, tools, time_limit, required };
            let made = CommandHook::new(settings, context.working_folder(), Arc::clone(&context.environment));
            made.map(|hook| Arc::new(hook) as Arc<dyn Hook>)
                .map_err(|error| Failure::caused(code::USAGE, &error).hint(format!("mend it in {from}")))
        });
        made.collect()
    }
}
