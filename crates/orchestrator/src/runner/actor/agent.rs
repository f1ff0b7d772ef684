//! External agents that act for actors.

use std::sync::Arc;

use aime_actor_factory::ActorInput;
use aime_llm::Model;
use aime_messages::{Message, message};
use aime_tools::{Approval, ToolContext, WatchedProgram};

use super::Attempt;
use crate::{
    AgentOrder,
    runner::{hooks::report_protected_changes, in_run, private::PrivateWorkspace},
};

/// Guard of the places whose files run later against the process of an agent, which may change files at any time.
pub(super) struct AgentGuard {
    attempt: Arc<Attempt>,
    profile: String,
    context: ToolContext,
    watched: WatchedProgram,
}

impl AgentGuard {
    /// Starts to watch the folder of the context, if an external agent acts.
    pub(super) async fn begin(attempt: &Arc<Attempt>, input: &ActorInput, context: &ToolContext) -> Option<Arc<Self>> {
        if !input.spec.agent {
            return None;
        }
        let mut context = context.clone();
        context.protected = context.protected.for_call(input.spec.approval != Approval::All);
        if input.attended {
            context = context.with_person(attempt.runner.person(&attempt.facts, &attempt.task, attempt.execution));
        }
        let watched = WatchedProgram::begin(&context).await;
        Some(Arc::new(Self { attempt: Arc::clone(attempt), profile: input.spec.profile.clone(), context, watched }))
    }

    /// Puts back what the agent has changed so far without approval.
    pub(super) async fn check(&self) {
        self.watched.check(&self.context).await;
        self.report_protected();
    }

    /// Puts back what the agent has changed without approval, and ends the watch.
    pub(super) async fn end(&self) {
        self.watched.end(&self.context).await;
        self.report_protected();
    }

    fn report_protected(&self) {
        report_protected_changes(&self.attempt.asking(), &self.profile, &self.context);
    }
}

impl Attempt {
    /// Returns the external agent that acts for an actor.
    pub(super) fn agent(&self, input: &ActorInput, context: &ToolContext) -> Result<Model, Message> {
        let reads = self.private.as_ref().map(PrivateWorkspace::reads).unwrap_or_default();
        let order = AgentOrder { spec: &input.spec, context, reads, attended: input.attended };
        let agent = self.runner.parts.agents.as_ref().and_then(|agents| agents.agent(order));
        let agent = agent.ok_or_else(|| message!("no-agent", profile = input.spec.profile))?;
        let meter = self.runner.meter(Arc::clone(&self.on_bound));
        Ok(in_run(agent.build(&self.runner.parts.redactor), meter, &self.runner.run, self.asking()))
    }
}
