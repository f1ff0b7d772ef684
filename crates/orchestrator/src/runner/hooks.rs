//! Calls of hooks: around requests to models, calls of tools, attempts at tasks, and plans.

mod model;
mod plan;
mod task;
mod tool;

use aime_durable::FactSender;
use aime_progress_management::{RunId, TaskId};
use aime_tools::ToolContext;

use super::{
    RunRunner,
    kept_files::{KeptFiles, author},
};
use crate::{
    HookPoint, Hooks, RunFact, RunMachine,
    hooks::{HookEvent, HookFolder, HookPayload, HookResponse},
};

pub(super) use tool::report_protected_changes;

/// Calls the hooks of a run, and reports their actions to the run.
#[derive(Clone)]
pub(super) struct HookCaller {
    hooks: Hooks,
    run: RunId,
    task: Option<TaskId>,
    facts: FactSender<RunMachine>,
    kept_files: KeptFiles,
    /// Runs the command of a check: its changes of files are recorded as those of a check, whatever the tool.
    checks: bool,
    /// Private folder in which the call works, if it is not the working folder.
    private: Option<HookFolder>,
}

/// An event after the changes of the hooks.
struct HookedEvent {
    payload: HookPayload,
    /// Names of the hooks that changed it, if any did.
    changed_by: Option<String>,
}

impl RunRunner {
    /// Returns the caller of hooks for a task, or for the run as a whole.
    pub(super) fn asking(&self, facts: &FactSender<RunMachine>, task: Option<&TaskId>) -> HookCaller {
        HookCaller {
            hooks: self.parts.hooks.clone(),
            run: self.run.clone(),
            task: task.cloned(),
            facts: facts.clone(),
            kept_files: self.kept_files.clone(),
            checks: false,
            private: None,
        }
    }
}

impl HookCaller {
    /// Returns the task that the action is for, if any.
    pub(super) const fn task(&self) -> Option<&TaskId> {
        self.task.as_ref()
    }

    /// Returns the same for the command of a check.
    pub(super) fn of_check(self) -> Self {
        Self { checks: true, ..self }
    }

    /// Returns the same for a call that works in the private folder of `context`.
    fn in_private_folder(&self, context: &ToolContext) -> Self {
        let private = HookFolder { path: context.working_folder().to_owned(), reads: context.confinement.reads().to_vec() };
        Self { private: Some(private), ..self.clone() }
    }

    pub(super) const fn facts(&self) -> &FactSender<RunMachine> {
        &self.facts
    }

    /// Returns true if any hook is called at this point. Otherwise its event need not be built.
    pub(super) fn at(&self, point: HookPoint) -> bool {
        self.hooks.are_at(point)
    }

    /// Calls the hooks of a point.
    ///
    /// # Errors
    ///
    /// The reason of the block.
    async fn ask(&self, point: HookPoint, payload: HookPayload) -> Result<HookedEvent, String> {
        let event = HookEvent::new(point, self.run.clone(), self.task.clone(), payload);
        let asked = self.hooks.ask(HookEvent { folder: self.private.clone(), ..event });
        // File changes by hooks around a tool call are part of that call.
        let response = if matches!(point, HookPoint::BeforeTool | HookPoint::AfterTool) || !self.at(point) {
            asked.await
        } else {
            let window = self.kept_files.open(author(self.task.as_ref(), "hook"), &self.facts).await;
            let response = asked.await;
            self.kept_files.close(window, &self.facts).await;
            response
        };
        let changed_by = response.changed_by();
        let HookResponse { event, acts, blocked } = response;
        for act in acts {
            // Sending fails only if the run is gone, and then nobody needs the report.
            let _gone = self.facts.send(RunFact::HookActed { act });
        }
        match blocked {
            Some(reason) => Err(reason),
            None => Ok(HookedEvent { payload: event.payload, changed_by }),
        }
    }
}
