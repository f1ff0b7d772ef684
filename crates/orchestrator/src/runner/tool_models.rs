//! Access of tools to the run's models: within the budget, and counted.

use std::{future::pending, sync::Arc};

use aime_llm::{ChatModel, ModelError};
use aime_tools::AskModel;
use tokio::time::Instant;

use super::{RunRunner, hooks::HookCaller, in_run, millis_since, on_bound_of};
use crate::{
    ModelUse, RunFact,
    models::{RunMeter, spent},
};

impl RunRunner {
    /// Returns the function with which a tool call asks models. The role is the purpose of the request.
    pub(super) fn model_for_tools(&self, asking: &HookCaller) -> Option<AskModel> {
        let (models, redactor) = (self.parts.models.clone()?, self.parts.redactor.clone());
        let (budget, clock) = (Arc::clone(&self.budget), Arc::clone(&self.parts.clock));
        let (run, asking) = (self.run.clone(), asking.clone());
        Some(AskModel::new(move |role, request| {
            let on_bound = on_bound_of(asking.facts().clone());
            let meter = RunMeter { budget: Arc::clone(&budget), on_bound, clock: Arc::clone(&clock) };
            let model = in_run(models.role(role).build(&redactor), meter, &run, asking.clone());
            let (purpose, asking) = (role.to_owned(), asking.clone());
            Box::pin(async move {
                let begun = Instant::now();
                let response = match model.complete(request).await {
                    // The run was told and revokes the call.
                    Err(error) if matches!(error.root(), ModelError::OutOfBudget { .. }) => pending().await,
                    answer => answer?,
                };
                let used = ModelUse {
                    purpose,
                    model: model.name().to_owned(),
                    spent: spent(&response),
                    duration_ms: millis_since(begun),
                    finish: response.finish.word(),
                };
                // Sending fails only if the run is gone, and then nobody needs the report.
                let _gone = asking.facts().send(RunFact::ToolAskedModel { task: asking.task().cloned(), used });
                Ok(response)
            })
        }))
    }
}
