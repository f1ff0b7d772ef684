//! Where hooks are asked: around requests to models, calls of tools, attempts at tasks, and plans.

mod model;
mod plan;
mod task;
mod tool;

use aime_durable::FactSender;
use aime_progress::{RunId, TaskId};

use super::{
    RunRunner,
    kept_files::{KeptFiles, author},
};
use crate::{
    HookPoint, Hooks, RunFact, RunMachine,
    hooks::{Heard, HookEvent, HookPayload},
};

/// Asks the hooks of a run, and tells the run what they did.
#[derive(Clone)]
pub(super) struct Asking {
    hooks: Hooks,
    run: RunId,
    task: Option<TaskId>,
    facts: FactSender<RunMachine>,
    kept_files: KeptFiles,
}

/// An event as the hooks left it.
struct Passed {
    payload: HookPayload,
    /// Who changed it, if anybody did.
    changed_by: Option<String>,
}

impl RunRunner {
    /// For what is done for a task, or for the run as a whole.
    pub(super) fn asking(&self, facts: &FactSender<RunMachine>, task: Option<&TaskId>) -> Asking {
        Asking {
            hooks: self.parts.hooks.clone(),
            run: self.run.clone(),
            task: task.cloned(),
            facts: facts.clone(),
            kept_files: self.kept_files.clone(),
        }
    }
}

impl Asking {
    /// The task that is worked on, if any.
    pub(super) const fn task(&self) -> Option<&TaskId> {
        self.task.as_ref()
    }

    pub(super) const fn facts(&self) -> &FactSender<RunMachine> {
        &self.facts
    }

    /// Whether any hook is asked at this point: what it would be told need not be put together otherwise.
    pub(super) fn at(&self, point: HookPoint) -> bool {
        self.hooks.are_at(point)
    }

    /// Asks the hooks of a point.
    ///
    /// # Errors
    /// The words of the block.
    async fn ask(&self, point: HookPoint, payload: HookPayload) -> Result<Passed, String> {
        let asked = self.hooks.ask(HookEvent::new(point, self.run.clone(), self.task.clone(), payload));
        // What hooks do to files belongs to the call, where it is one.
        let heard = if matches!(point, HookPoint::BeforeTool | HookPoint::AfterTool) || !self.at(point) {
            asked.await
        } else {
            let window = self.kept_files.open(author(self.task.as_ref(), "hook"), &self.facts).await;
            let heard = asked.await;
            self.kept_files.close(window, &self.facts).await;
            heard
        };
        let changed_by = heard.changed_by();
        let Heard { event, acts, blocked } = heard;
        for act in acts {
            // A run that is gone has nobody to be told.
            let _gone = self.facts.send(RunFact::HookActed { act });
        }
        match blocked {
            Some(reason) => Err(reason),
            None => Ok(Passed { payload: event.payload, changed_by }),
        }
    }
}
