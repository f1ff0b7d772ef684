//! A run that has ended is forgotten by the engine, with its actors.

use aime_messages::message;
use aime_progress_management::RunId;
use futures::TryStreamExt as _;
use temporalio_client::{
    NamespacedClient as _, WorkflowDescribeOptions, WorkflowExecutionStatus, WorkflowListOptions,
    errors::{ClientError, WorkflowInteractionError},
    grpc::WorkflowService,
    tonic::{Code, Request},
};
use temporalio_common::protos::temporal::api::{common::v1::WorkflowExecution, workflowservice::v1::DeleteWorkflowExecutionRequest};

use super::{EngineError, RunsClient};
use crate::run_workflow;

impl RunsClient {
    /// Deletes a run that has ended or was suspended, with all its histories and those of its actors. The engine removes
    /// them soon after this returns. Blobs are kept, because other runs may have the same.
    ///
    /// # Errors
    /// [`EngineError::NotEnded`], [`EngineError::NoSuchRun`], and errors of the engine. The call can be repeated to
    /// delete the rest: the run itself is deleted last.
    pub async fn delete(&self, run: &RunId) -> Result<(), EngineError> {
        let described = self.handle(run).describe(WorkflowDescribeOptions::default()).await.map_err(|error| match error {
            WorkflowInteractionError::NotFound(_) => EngineError::NoSuchRun { run: run.to_string() },
            error => refused(&error),
        })?;
        let is_open = matches!(described.status(), WorkflowExecutionStatus::Running | WorkflowExecutionStatus::Paused);
        // A run that was left waits in its workflow, which the engine ends before it forgets it.
        if is_open && !self.watch(run, usize::MAX).await.is_ok_and(|seen| seen.result.is_some()) {
            return Err(EngineError::NotEnded { run: run.to_string() });
        }
        let workflow = run_workflow(run.as_str());
        let within = format!("{workflow}/");
        let query = format!("WorkflowId = '{workflow}' OR WorkflowId STARTS_WITH '{within}'");
        let listed = self.client.list_workflows(query, WorkflowListOptions::default());
        let mut histories: Vec<(String, String)> = listed
            .map_ok(|execution| (execution.id().to_owned(), execution.run_id().to_owned()))
            .try_collect()
            .await
            .map_err(|error: ClientError| refused(&error))?;
        let last = (workflow.clone(), described.run_id().to_owned());
        histories.retain(|history| *history != last && (history.0 == workflow || history.0.starts_with(&within)));
        // Actors are deleted first, because the deletion can be repeated as long as the run exists.
        histories.sort_by_key(|(name, _)| *name == workflow);
        histories.push(last);
        for (workflow_id, run_id) in histories {
            let workflow_execution = Some(WorkflowExecution { workflow_id, run_id });
            let request = DeleteWorkflowExecutionRequest { namespace: self.client.namespace(), workflow_execution };
            match WorkflowService::delete_workflow_execution(&mut self.client.clone(), Request::new(request)).await {
                Err(status) if status.code() != Code::NotFound => return Err(refused(&status)),
                _ => {}
            }
        }
        Ok(())
    }
}

fn refused(error: &dyn std::error::Error) -> EngineError {
    EngineError::refused(message!("engine-to-delete"), error)
}
