//! Specs of the tools that an actor answers itself. [`crate::Terminate`] and its siblings parse their calls.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::{
    DELEGATE_TASK, Executor, Tool, ToolContext, ToolError, ToolOutput, ToolScope, ToolSpec, ValidatedCall,
    coordination::{
        AskHumanParameters, ReportEvidenceParameters, ShortEvidenceParameters, ShortTerminateParameters, TerminateParameters,
        TodoParameters, UpdateProgressParameters,
    },
    delegation::DelegateTaskParameters,
    typed::spec,
};

pub(super) fn tools() -> impl Iterator<Item = Arc<dyn Tool>> {
    let ask_human = ToolSpec {
        touches: ToolScope::People,
        idempotent: false,
        ..own(spec::<AskHumanParameters>("ask_human", "Ask a person. Only when you cannot find out yourself."))
    };
    // Listed in the order of use.
    let specs = [
        own(terminate()),
        ask_human,
        own(spec::<TodoParameters>("todo", "Replace your TODO list, in long tasks.")),
        own(spec::<UpdateProgressParameters>("update_progress", "Say how the work goes, in long tasks.")),
        own(report_evidence()),
        // A second identical call creates a second actor.
        ToolSpec {
            idempotent: false,
            ..own(spec::<DelegateTaskParameters>(
                DELEGATE_TASK,
                "Only for a large part that stands alone: another worker does it and tells you.",
            ))
        },
    ];
    specs.into_iter().map(|spec| Arc::new(ActorTool { spec: Arc::new(spec) }) as Arc<dyn Tool>)
}

fn report_evidence() -> ToolSpec {
    let short =
        spec::<ShortEvidenceParameters>("report_evidence", "Only when the plan itself must change: say what was found. It does no work.");
    let description = "Only when the plan itself must change: report a discovery, an error, an outside change. It does no work.";
    ToolSpec { simple: Some(Arc::new(short.definition)), ..spec::<ReportEvidenceParameters>("report_evidence", description) }
}

fn terminate() -> ToolSpec {
    let short = spec::<ShortTerminateParameters>("terminate", "End your task. Success only if it is done and checked.");
    let description = "End your task. success: it is done and checked. failure: it cannot be done. blocked: you lack something that \
                       others could give, such as a right, a key or a decision.";
    ToolSpec { simple: Some(Arc::new(short.definition)), ..spec::<TerminateParameters>("terminate", description) }
}

/// Returns the spec of `terminate` in words for the lead of a run, whose message goes to the user.
#[must_use]
pub fn terminate_of_lead(spec: &ToolSpec) -> ToolSpec {
    let mut spec = spec
        .with_parameter_text(
            "message",
            "The answer to the user: the result, or what was changed and how it was checked; else what was tried and learnt",
        )
        .with_parameter_text("references", "Files that the user should know")
        .with_parameter_text("needs", "Things that only the user can give, if blocked");
    "End the run with your answer. success: the goal is reached and checked. failure: it cannot be reached. blocked: only the user can \
     give what is missing, such as a right, a key or a decision."
        .clone_into(&mut spec.definition.description);
    spec
}

/// Marks a spec as answered by the actor and idempotent.
fn own(spec: ToolSpec) -> ToolSpec {
    ToolSpec { handled_by: Executor::Actor, touches: ToolScope::Nothing, idempotent: true, ..spec }
}

struct ActorTool {
    spec: Arc<ToolSpec>,
}

impl Tool for ActorTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn call<'a>(&'a self, _: ValidatedCall, _: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let text = format!("`{}` is answered by the actor that calls it", self.spec.name());
        Box::pin(async move { Err(ToolError::Failed(text)) })
    }
}
