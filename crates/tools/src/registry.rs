//! Registry of tools, the only way to call them.

use std::{fmt, pin::pin, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio::{
    select,
    time::{sleep, timeout},
};

use crate::{
    Approval, Permissions, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, UnknownTool, ValidatedCall,
    approval::read_only_denies,
    protected::end_watch,
    secrets::{check_marks, clean, learn_named},
};

/// Time that a cancelled tool has to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// Tools by name, in order of registration. Cheap to clone.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
}

impl ToolRegistry {
    /// Creates an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. Replaces a tool of the same name in its place, and returns the replaced one.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        match self.tools.iter_mut().find(|old| old.spec().name() == tool.spec().name()) {
            Some(old) => Some(std::mem::replace(old, tool)),
            None => {
                self.tools.push(tool);
                None
            }
        }
    }

    /// Returns the tool with a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name() == name)
    }

    /// Returns the names of all tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.spec().name())
    }

    /// Returns the specs of all tools, in order.
    pub fn all_specs(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.tools.iter().map(|tool| tool.spec())
    }

    /// Returns the specs of some tools, in the order of `names`.
    ///
    /// # Errors
    /// [`UnknownTool`] for the first unknown name, with the names that exist.
    pub fn specs<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<Vec<Arc<ToolSpec>>, UnknownTool> {
        names.into_iter().map(|name| Ok(Arc::clone(self.spec(name.as_ref())?))).collect()
    }

    /// Compiles the schema checks of these tools, which otherwise happens at the first call of each. The first check in a process takes
    /// some milliseconds, because each schema is validated against the large meta-schema. Unknown names are ignored.
    pub fn make_ready<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) {
        for tool in names.into_iter().filter_map(|name| self.get(name.as_ref())) {
            let spec = tool.spec();
            spec.checker.make_ready(spec.name(), &spec.definition.parameters);
        }
    }

    /// Returns the spec of a tool.
    ///
    /// # Errors
    /// [`UnknownTool`] with the names that exist.
    pub fn spec(&self, name: &str) -> Result<&Arc<ToolSpec>, UnknownTool> {
        Ok(self.known(name)?.spec())
    }

    /// Makes one call. Enforces the time limit, removes secrets from the result, adds diagnostics of changed files, and cuts the text of
    /// the result or of the error to [`ToolContext::text_limit`]. A tool that is cancelled or out of time is asked to stop, and abandoned
    /// after 3 seconds. The deny rules and the read-only flag of the context apply even to an allowed call.
    ///
    /// # Errors
    /// [`ToolError`]; its text is for the model.
    pub async fn call(&self, call: ValidatedCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let tool = self.known(call.tool())?;
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(ToolError::Failed(format!("`{}` was called outside a tokio runtime", call.tool())));
        }
        let (name, parameters) = (tool.spec().name(), call.parameters());
        if tool.spec().handled_by.is_inside() {
            return Err(ToolError::Failed(format!("`{name}` changes the state of the actor that calls it; it cannot be run by itself")));
        }
        let wall = denied(tool.spec(), parameters, context).map_or_else(|| check_marks(tool.spec(), parameters, context), Err);
        let result = match wall {
            Ok(()) => {
                learn_named(parameters, context);
                let checked = context.diagnostics.before(name, parameters, context).await;
                let watched = context.protected.watch(tool.spec(), parameters, context).await;
                let result = within_limits(tool.as_ref(), call, context).await;
                let result = end_watch(watched, result, context).await;
                with_diagnostics(result, &checked, context).await
            }
            Err(error) => Err(error),
        };
        let shown = match clean(context.result_as_original(result), &context.redactor) {
            Ok(mut output) => {
                output.text = context.limit_output(name, output.text);
                Ok(output)
            }
            Err(error) => Err(error.map_text(|text| if text.is_empty() { text } else { context.limit_output(name, text) })),
        };
        // Text was added that may name a file.
        context.result_as_original(shown)
    }

    /// Makes one call whose requester consents by making the request: a person who typed it, or a client to which the tools are offered. An
    /// agent's calls are made by a [`ToolSession`](crate::ToolSession).
    ///
    /// # Errors
    /// The errors of [`call`](Self::call), and [`ToolError::InvalidParameters`].
    pub async fn call_with_consent(
        &self,
        name: &str,
        parameters: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let spec = self.spec(name)?;
        let permissions = Permissions::new(Approval::All, &context.rules);
        let call = permissions.decide(spec, spec.check(parameters)?).consented()?;
        self.call(call, context).await
    }

    fn known(&self, name: &str) -> Result<&Arc<dyn Tool>, UnknownTool> {
        self.get(name).ok_or_else(|| UnknownTool::new(name, self.names()))
    }
}

/// Adds the new diagnostics for changed files to the result of an edit.
async fn with_diagnostics(
    result: Result<ToolOutput, ToolError>,
    commands: &[&str],
    context: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let mut output = result?;
    if !commands.is_empty()
        && let Some(new) = Box::pin(context.diagnostics.after(commands, context)).await
    {
        output.text.push_str(&new);
    }
    Ok(output)
}

/// Returns an error if the context denies the call. A second check behind the decision.
fn denied(spec: &ToolSpec, parameters: &Map<String, Value>, context: &ToolContext) -> Option<ToolError> {
    let name = spec.name();
    let by_rule = context.rules.denies(name, parameters).map(|rule| format!("`{name}` is denied here by the rule `{rule}`"));
    let by_mode = || read_only_denies(&spec.for_call(parameters), parameters).filter(|_| context.read_only);
    by_rule.or_else(by_mode).map(ToolError::Denied)
}

async fn within_limits(tool: &dyn Tool, call: ValidatedCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    if context.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let limit = tool.time_limit(call.parameters());
    // A child token cancels the tool also on timeout, and when this future is dropped.
    let inner = context.clone().with_cancel(context.cancel.child_token());
    let _guard = inner.cancel.clone().drop_guard();
    let mut call = pin!(tool.call(call, &inner));
    let stopped = select! {
        biased;
        result = &mut call => return result,
        () = context.cancel.cancelled() => ToolError::Cancelled,
        () = sleep(limit) => ToolError::TimedOut(format!("`{}` took longer than {} s and was stopped", tool.spec().name(), limit.as_secs())),
    };
    inner.cancel.cancel();
    match timeout(GRACE, call).await {
        // The tool finished its work in spite of the cancellation.
        Ok(Ok(output)) => Ok(output),
        Ok(Err(_)) | Err(_) => Err(stopped),
    }
}

impl FromIterator<Arc<dyn Tool>> for ToolRegistry {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Tool>>>(tools: I) -> Self {
        let mut registry = Self::new();
        for tool in tools {
            registry.register(tool);
        }
        registry
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
