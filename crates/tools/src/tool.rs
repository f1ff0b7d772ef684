//! Interface of a tool: its spec, its call, its result.

use std::{borrow::Cow, sync::Arc, time::Duration};

use aime_llm::{Image, ToolDefinition};
use aime_messages::nearest_first;
use aime_sandbox::FileError;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{SeenFile, Source, ToolContext, ValidatedCall, names::quoted, schema::SchemaCheck};

/// Resources that a call may touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolScope {
    /// Nothing outside the run.
    Nothing,
    /// Files of the working folder, through [`ToolContext::folder`](crate::ToolContext::folder). Changes made in any other way are not
    /// recorded and cannot be undone.
    Files,
    /// Anything that a process may touch.
    Processes,
    /// The network.
    Network,
    /// A person's attention.
    People,
    /// Undeclared: the call counts as a write, and needs consent.
    #[default]
    Anything,
}

/// Component that answers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executor {
    /// The runtime, through [`Tool::call`].
    Runtime,
    /// The actor itself: the call changes the actor's own state (`todo`, `terminate`, …) or asks its host for something that no tool can do
    /// (`ask_human`, `delegate_task`). No tool runs.
    Actor,
    /// The run that the actor leads: the call changes the plan or asks for a result (`submit_plan`, `read_result`, …). No tool runs.
    Run,
}

impl Executor {
    /// Returns true if a call never leaves aime: no tool runs.
    #[must_use]
    pub const fn is_inside(self) -> bool {
        matches!(self, Self::Actor | Self::Run)
    }
}

/// Static description of a tool. Actors' journals contain it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name, description, and JSON Schema of the parameters.
    pub definition: ToolDefinition,
    /// If true, a call changes nothing.
    pub read_only: bool,
    /// If true, a second identical call changes nothing more.
    pub idempotent: bool,
    /// Resources that a call may touch.
    pub touches: ToolScope,
    /// Component that answers a call.
    pub handled_by: Executor,
    /// Time limit of a call.
    pub time_limit: Duration,
    /// Tools to use instead when this one fails, for the router's hint.
    pub alternatives: Vec<String>,
    /// Patterns for the hosts that the tool reads without consent, if it reads the URL in its parameter `url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Origin of the tool's results.
    #[serde(default, skip_serializing_if = "is_touched")]
    pub source: Source,
    /// Tools that change nothing, of those that a call may name in its parameter `name` to have them called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Simpler definition, for the models whose class asks for it, if any.
    #[serde(skip)]
    pub(crate) simple: Option<Arc<ToolDefinition>>,
    /// Groups of parameters; a call needs at least one of each group. Providers reject schemas that express this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Vec<String>>,
    /// Compiled check of parameters.
    #[serde(skip)]
    pub(crate) checker: SchemaCheck,
}

fn is_touched(source: &Source) -> bool {
    *source == Source::Touched
}

impl ToolSpec {
    /// Creates the spec with the most cautious defaults: a call may change anything, is not idempotent, and takes at most 30 seconds.
    #[must_use]
    pub fn new(definition: ToolDefinition) -> Self {
        Self {
            definition,
            read_only: false,
            idempotent: false,
            touches: ToolScope::Anything,
            handled_by: Executor::Runtime,
            time_limit: Duration::from_secs(30),
            alternatives: Vec::new(),
            hosts: None,
            source: Source::Touched,
            reads: Vec::new(),
            simple: None,
            needs: Vec::new(),
            checker: SchemaCheck::default(),
        }
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns the spec with the simpler definition, if it has one and `simple` is true.
    #[must_use]
    pub fn for_model(self: &Arc<Self>, simple: bool) -> Arc<Self> {
        let Some(short) = &self.simple else { return Arc::clone(self) };
        let spec = Self { simple: None, ..Self::clone(self) };
        Arc::new(if simple { Self { definition: ToolDefinition::clone(short), needs: Vec::new(), ..spec } } else { spec })
    }

    /// Returns the spec with another description of a parameter, for descriptions that only the creator of the actor can write.
    #[must_use]
    pub fn with_parameter_text(&self, parameter: &str, text: &str) -> Self {
        let mut spec = self.clone();
        let place = format!("/properties/{parameter}");
        if let Some(schema) = Arc::make_mut(&mut spec.definition.parameters).pointer_mut(&place).and_then(Value::as_object_mut) {
            schema.insert("description".to_owned(), Value::from(text));
        }
        spec
    }

    /// Returns the spec without these optional parameters, for actors to which they mean nothing.
    #[must_use]
    pub fn without_parameters(&self, parameters: &[&str]) -> Self {
        let mut spec = self.clone();
        if let Some(properties) = Arc::make_mut(&mut spec.definition.parameters).get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !parameters.contains(&name.as_str()));
        }
        spec
    }

    /// Returns the spec that decides on a call with these parameters: a call that has another tool called is as read-only as that tool.
    #[must_use]
    pub fn for_call(&self, parameters: &Map<String, Value>) -> Cow<'_, Self> {
        let named = parameters.get("name").and_then(Value::as_str);
        if named.is_some_and(|named| self.reads.iter().any(|known| known == named)) {
            return Cow::Owned(Self { read_only: true, idempotent: true, ..self.clone() });
        }
        Cow::Borrowed(self)
    }

    /// Returns true if a call with unknown outcome may be repeated.
    #[must_use]
    pub const fn repeatable(&self) -> bool {
        self.read_only || self.idempotent
    }
}

/// Result of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// Text for the model. [`ToolRegistry::call`](crate::ToolRegistry::call) cuts it for an actor and leaves it whole for a plan's task.
    pub text: String,
    /// Structured form of the result, if there is one. Other tasks refer to its parts by path.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
    /// Paths or URLs that were created or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Images that the model sees besides the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Versions of files that the caller has seen through this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<SeenFile>,
}

impl ToolOutput {
    /// Creates an output that consists of a text only.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Error of a call. The model sees its text after `Error: `, except for [`Exited`](Self::Exited) and [`Stopped`](Self::Stopped).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// No such tool exists.
    #[error(transparent)]
    Unknown(#[from] UnknownTool),
    /// The parameters do not match the schema.
    #[error("{0}")]
    InvalidParameters(String),
    /// The tool ran and failed.
    #[error("{0}")]
    Failed(String),
    /// A program ended with an exit code other than 0. The text gives the output, then the code on a line of its own. This is a result,
    /// not an error of the tool.
    #[error("{}", exited(*code, printed))]
    Exited {
        /// Exit code.
        code: i32,
        /// Complete output.
        printed: String,
    },
    /// A program was stopped before its end. The text gives the output, then the reason on a line of its own.
    #[error("{}", with_end(printed, reason))]
    Stopped {
        /// What stopped it.
        reason: String,
        /// Complete output.
        printed: String,
        /// True if it exceeded its time limit.
        timed_out: bool,
    },
    /// The call could not be begun, so it did nothing and its result is unknown.
    #[error("{0}")]
    NotBegun(String),
    /// The call is not allowed.
    #[error("{0}")]
    Denied(String),
    /// The call exceeded its time limit.
    #[error("{0}")]
    TimedOut(String),
    /// The call was cancelled.
    #[error("cancelled before it ended")]
    Cancelled,
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        let text = error.to_string();
        match error {
            FileError::Outside { .. } | FileError::LinkOutside { .. } | FileError::Reserved { .. } | FileError::Protected { .. } => {
                Self::Denied(text)
            }
            _ => Self::Failed(text),
        }
    }
}

impl ToolError {
    /// Applies `map` to the text of the error, if it has one.
    pub(crate) fn map_text(self, map: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::InvalidParameters(text) => Self::InvalidParameters(map(text)),
            Self::Failed(text) => Self::Failed(map(text)),
            Self::NotBegun(text) => Self::NotBegun(map(text)),
            Self::Denied(text) => Self::Denied(map(text)),
            Self::TimedOut(text) => Self::TimedOut(map(text)),
            Self::Exited { code, printed } => Self::Exited { code, printed: map(printed) },
            Self::Stopped { reason, printed, timed_out } => Self::Stopped { reason, printed: map(printed), timed_out },
            Self::Unknown(_) | Self::Cancelled => self,
        }
    }
}

fn exited(code: i32, printed: &str) -> String {
    let nothing = if printed.is_empty() { ", nothing printed" } else { "" };
    with_end(printed, &format!("exit code {code}{nothing}"))
}

/// Returns the output of a program, with a last line in brackets on how it ended.
fn with_end(printed: &str, end: &str) -> String {
    let between = if printed.is_empty() || printed.ends_with('\n') { "" } else { "\n" };
    format!("{printed}{between}[{end}]")
}

/// Error for an unknown tool name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Unknown tool: {name}. The tools are: {}", quoted(self.known.iter().map(String::as_str)))]
pub struct UnknownTool {
    /// The unknown name.
    pub name: String,
    /// Names that exist, the most similar first.
    pub known: Vec<String>,
}

impl UnknownTool {
    /// Creates the error from the unknown name and the names that exist.
    #[must_use]
    pub fn new<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { name: name.to_owned(), known: nearest_first(name, known).into_iter().map(str::to_owned).collect() }
    }
}

/// A tool: its spec and its call.
pub trait Tool: Send + Sync {
    /// Returns the static description of the tool.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// Returns the time limit of a call with these parameters. Default: that of the spec.
    fn time_limit(&self, parameters: &Map<String, Value>) -> Duration {
        let _ = parameters;
        self.spec().time_limit
    }

    /// Makes one call, whose parameters match the schema. Stops soon after `context.cancel` is cancelled.
    fn call<'a>(&'a self, call: ValidatedCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn spec(&self) -> &Arc<ToolSpec> {
        (**self).spec()
    }

    fn time_limit(&self, parameters: &Map<String, Value>) -> Duration {
        (**self).time_limit(parameters)
    }

    fn call<'a>(&'a self, call: ValidatedCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (**self).call(call, context)
    }
}
