//! The seam to a tool.

use std::{sync::Arc, time::Duration};

use aime_llm::{Image, ToolDefinition};
use aime_sandbox::FileError;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    SeenFile, Source, ToolContext, ValidatedCall,
    names::{nearest_first, quoted},
    schema::SchemaCheck,
};

/// What a call may touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touches {
    /// Nothing outside the run.
    Nothing,
    /// Files of the working folder, through [`ToolContext::folder`](crate::ToolContext::folder): what a call changes otherwise is not known, and cannot be undone.
    Files,
    /// Whatever a process may.
    Processes,
    /// The network.
    Network,
    /// A person's attention.
    People,
    /// Nobody has said: a call counts as one that writes, and is asked about.
    #[default]
    Anything,
}

/// Who answers a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandledBy {
    /// The runtime, through [`Tool::call`].
    Runtime,
    /// The actor itself: the call changes the actor's own state (`todo`, `terminate`, …) or asks its host for something that no tool can
    /// do (`ask_human`, `delegate_task`), and is never run.
    Actor,
    /// The run that the actor leads: the call changes the plan or asks for a result (`submit_plan`, `read_result`, …), and is never run.
    Run,
}

impl HandledBy {
    /// Returns whether a call never leaves aime: no tool runs.
    #[must_use]
    pub const fn is_inside(self) -> bool {
        matches!(self, Self::Actor | Self::Run)
    }
}

/// What is known of a tool without running it. Kept in an actor's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSheet {
    /// Name, description, JSON Schema of the parameters.
    pub definition: ToolDefinition,
    /// A call changes nothing.
    pub read_only: bool,
    /// A second identical call changes nothing more.
    pub idempotent: bool,
    /// What it may touch.
    pub touches: Touches,
    /// Who answers a call.
    pub handled_by: HandledBy,
    /// How long a call may take.
    pub time_limit: Duration,
    /// Tools that may do instead when this one fails, for the router's hint.
    pub alternatives: Vec<String>,
    /// Of a tool that reads the address in its parameter `url`: patterns for the hosts that it reads without consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    /// Whose words its results are.
    #[serde(default, skip_serializing_if = "is_touched")]
    pub source: Source,
    /// The definition for small models, where theirs is a simpler one.
    #[serde(skip)]
    pub(crate) small: Option<Arc<ToolDefinition>>,
    /// Groups of parameters of which a call needs one each: schemas that providers take cannot say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Vec<String>>,
    /// Checks the parameters of calls.
    #[serde(skip)]
    pub(crate) checker: SchemaCheck,
}

fn is_touched(source: &Source) -> bool {
    *source == Source::Touched
}

impl ToolSheet {
    /// The sheet of a tool of which nothing else is said: it may change anything, a second call may change more, and a call takes at most
    /// 30 seconds.
    #[must_use]
    pub fn new(definition: ToolDefinition) -> Self {
        Self {
            definition,
            read_only: false,
            idempotent: false,
            touches: Touches::Anything,
            handled_by: HandledBy::Runtime,
            time_limit: Duration::from_secs(30),
            alternatives: Vec::new(),
            hosts: None,
            source: Source::Touched,
            small: None,
            needs: Vec::new(),
            checker: SchemaCheck::default(),
        }
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns the sheet as a model of one class is given it.
    #[must_use]
    pub fn for_model(self: &Arc<Self>, small: bool) -> Arc<Self> {
        let Some(simple) = &self.small else { return Arc::clone(self) };
        let sheet = Self { small: None, ..Self::clone(self) };
        Arc::new(if small { Self { definition: ToolDefinition::clone(simple), needs: Vec::new(), ..sheet } } else { sheet })
    }

    /// Returns the sheet with another text on a parameter, where only the maker of an actor knows it.
    #[must_use]
    pub fn with_parameter_text(&self, parameter: &str, text: &str) -> Self {
        let mut sheet = self.clone();
        let place = format!("/properties/{parameter}");
        if let Some(schema) = Arc::make_mut(&mut sheet.definition.parameters).pointer_mut(&place).and_then(Value::as_object_mut) {
            schema.insert("description".to_owned(), Value::from(text));
        }
        sheet
    }

    /// Whether a call whose outcome is unknown may simply be made again.
    #[must_use]
    pub const fn repeatable(&self) -> bool {
        self.read_only || self.idempotent
    }
}

/// What a call came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model sees. [`ToolRegistry::call`](crate::ToolRegistry::call) cuts it for an actor and leaves it whole for a plan's task.
    pub text: String,
    /// The same with structure, where there is one: what other tasks refer to by a path.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
    /// Paths or addresses that were made or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<String>,
    /// Images that the model sees beside the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The versions of files that the caller knows by this call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<SeenFile>,
}

impl ToolOutput {
    /// A text, and nothing else.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Why a call gave no result. The text is what the model sees, after `Error: ` save for [`Exited`](Self::Exited).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// There is no such tool.
    #[error(transparent)]
    Unknown(#[from] UnknownTool),
    /// The parameters do not fit.
    #[error("{0}")]
    InvalidParameters(String),
    /// It was tried and failed.
    #[error("{0}")]
    Failed(String),
    /// A program ended with an exit code other than 0. The code comes first, then what it printed: that is a result, and no error of the tool.
    #[error("{}", exited(*code, printed))]
    Exited {
        /// The exit code.
        code: i32,
        /// All that it printed.
        printed: String,
    },
    /// It is not allowed here.
    #[error("{0}")]
    Denied(String),
    /// It took too long.
    #[error("{0}")]
    TimedOut(String),
    /// It was cancelled.
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
    /// The same with another text, where it has one.
    pub(crate) fn map_text(self, map: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::InvalidParameters(text) => Self::InvalidParameters(map(text)),
            Self::Failed(text) => Self::Failed(map(text)),
            Self::Denied(text) => Self::Denied(map(text)),
            Self::TimedOut(text) => Self::TimedOut(map(text)),
            Self::Exited { code, printed } => Self::Exited { code, printed: map(printed) },
            Self::Unknown(_) | Self::Cancelled => self,
        }
    }
}

fn exited(code: i32, printed: &str) -> String {
    if printed.is_empty() { format!("exit code {code}, nothing printed") } else { format!("exit code {code}\n{printed}") }
}

/// There is no such tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Unknown tool: {name}. The tools are: {}", quoted(self.known.iter().map(String::as_str)))]
pub struct UnknownTool {
    /// As asked for.
    pub name: String,
    /// The names that exist, the nearest first.
    pub known: Vec<String>,
}

impl UnknownTool {
    /// Says so, with the names that exist.
    #[must_use]
    pub fn new<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self { name: name.to_owned(), known: nearest_first(name, known).into_iter().map(str::to_owned).collect() }
    }
}

/// A tool: what it is, and how it is called.
pub trait Tool: Send + Sync {
    /// What is known of it.
    fn sheet(&self) -> &Arc<ToolSheet>;

    /// How long a call with these parameters may take: what the sheet says, unless the caller chooses.
    fn time_limit(&self, parameters: &Map<String, Value>) -> Duration {
        let _ = parameters;
        self.sheet().time_limit
    }

    /// Makes one call, whose parameters fit the schema. Stops soon after `context.cancel` is cancelled.
    fn call<'a>(&'a self, call: ValidatedCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn sheet(&self) -> &Arc<ToolSheet> {
        (**self).sheet()
    }

    fn time_limit(&self, parameters: &Map<String, Value>) -> Duration {
        (**self).time_limit(parameters)
    }

    fn call<'a>(&'a self, call: ValidatedCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (**self).call(call, context)
    }
}
