//! The tools that there are, and the one way to call them.

use std::{
    fmt,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::{
    select,
    time::{sleep, timeout},
};

use crate::{
    HandledBy, PermissionRules, Tool, ToolContext, ToolError, ToolOutput, ToolSheet, UnknownTool,
    schema::Checker,
    secrets::{check_marks, clean, learn_named},
};

/// How long a tool that was cancelled has to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// Tools by name, in the order they came. Cheap to clone.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    entries: Vec<Arc<Entry>>,
}

struct Entry {
    tool: Arc<dyn Tool>,
    /// Made at the first call: a run uses few of the tools there are.
    checker: OnceLock<Checker>,
}

impl Entry {
    fn name(&self) -> &str {
        self.tool.sheet().name()
    }

    fn checker(&self) -> &Checker {
        self.checker.get_or_init(|| Checker::new(self.name(), &self.tool.sheet().definition.parameters))
    }
}

impl ToolRegistry {
    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. One of the same name gives up its place to it, and is returned.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        let entry = Arc::new(Entry { tool, checker: OnceLock::new() });
        match self.entries.iter_mut().find(|old| old.name() == entry.name()) {
            Some(old) => Some(Arc::clone(&std::mem::replace(old, entry).tool)),
            None => {
                self.entries.push(entry);
                None
            }
        }
    }

    /// The tool of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        Some(&self.entry(name)?.tool)
    }

    /// The names of all tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name())
    }

    /// The sheets of all tools, in order.
    pub fn all_sheets(&self) -> impl Iterator<Item = &Arc<ToolSheet>> {
        self.entries.iter().map(|entry| entry.tool.sheet())
    }

    /// The sheets of some tools, in the order of `names`.
    ///
    /// # Errors
    /// [`UnknownTool`] for the first name that is none, with those that exist.
    pub fn sheets<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<Vec<Arc<ToolSheet>>, UnknownTool> {
        names.into_iter().map(|name| Ok(self.known(name.as_ref())?.tool.sheet().clone())).collect()
    }

    /// Makes ready what checks the calls of these tools, as the first call of each does otherwise. The first of a process takes some milliseconds: a schema
    /// is itself checked by one, which is large. Names of no tools are let pass.
    pub fn make_ready<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) {
        for entry in names.into_iter().filter_map(|name| self.entry(name.as_ref())) {
            entry.checker();
        }
    }

    /// Checks the parameters of a call without making it: what was plainly meant is put right, such as `"5"` for 5.
    ///
    /// # Errors
    /// [`ToolError::Unknown`], and [`ToolError::InvalidParameters`] with every fault.
    pub fn check(&self, name: &str, parameters: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        self.known(name)?.checker().check(parameters).map_err(ToolError::InvalidParameters)
    }

    /// Makes one call: checks the parameters, keeps the time limit, takes secrets out of the result, and cuts the text of the result, or of the error, to
    /// [`ToolContext::text_limit`]. A call that is cancelled or out of time is told to stop, and left behind if it does not within
    /// 3 seconds. What a rule of the context denies is not made, whoever allowed it.
    ///
    /// # Errors
    /// [`ToolError`]; its text is for the model.
    pub async fn call(&self, name: &str, parameters: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let tool = &self.known(name)?.tool;
        if tool.sheet().handled_by == HandledBy::Actor {
            return Err(ToolError::Failed(format!("`{name}` changes the state of the actor that calls it; it cannot be run by itself")));
        }
        let result = match self.check(name, parameters) {
            Ok(parameters) => {
                match denied(&context.rules, name, &parameters).map_or_else(|| check_marks(tool.sheet(), &parameters, context), Err) {
                    Ok(()) => {
                        learn_named(&parameters, context);
                        let watched = context.protected.watch(tool.sheet(), &parameters, context).await;
                        let result = within_limits(tool.as_ref(), parameters, context).await;
                        match watched {
                            Some(watched) => watched.end(result, context).await,
                            None => result,
                        }
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        match clean(result, &context.redactor) {
            Ok(mut output) => {
                output.text = context.shown(name, output.text);
                Ok(output)
            }
            Err(error) => Err(error.map_text(|text| context.shown(name, text))),
        }
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name() == name).map(AsRef::as_ref)
    }

    fn known(&self, name: &str) -> Result<&Entry, UnknownTool> {
        self.entry(name).ok_or_else(|| UnknownTool::new(name, self.names()))
    }
}

/// Whether a rule denies a call, and which: the wall behind all that decide before it.
fn denied(rules: &PermissionRules, name: &str, parameters: &Map<String, Value>) -> Option<ToolError> {
    rules.denies(name, parameters).map(|rule| ToolError::Denied(format!("`{name}` is denied here by the rule `{rule}`")))
}

async fn within_limits(tool: &dyn Tool, parameters: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    if context.cancel.is_cancelled() {
        return Err(ToolError::Cancelled);
    }
    let limit = tool.time_limit(&parameters);
    // Its own token: the tool is told to stop also when its time is over, or when this call is dropped.
    let inner = context.clone().with_cancel(context.cancel.child_token());
    let _guard = inner.cancel.clone().drop_guard();
    let mut call = pin!(tool.call(parameters, &inner));
    let stopped = select! {
        biased;
        result = &mut call => return result,
        () = context.cancel.cancelled() => ToolError::Cancelled,
        () = sleep(limit) => ToolError::TimedOut(format!("`{}` took longer than {} s and was stopped", tool.sheet().name(), limit.as_secs())),
    };
    inner.cancel.cancel();
    match timeout(GRACE, call).await {
        // It took effect all the same.
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
