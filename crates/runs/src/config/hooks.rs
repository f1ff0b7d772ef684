//! Settings of hooks.

use aime_messages::message;
use aime_orchestrator::{HookPoint, ToolPatterns};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, Unexpected},
};
use serde_json::Value;

use super::{
    ConfigFault,
    check::ValueFault,
    read::{explain, typed},
};

/// Name for a command in errors; [`explain`] words it.
pub(super) const COMMAND: &str = "a command";

/// Longest timeout of a hook, in seconds.
const MAX_TIMEOUT_SECONDS: u64 = 600;

/// Commands that observe, change or block steps of a run. The hooks of all configuration files run, the user's own first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HooksConfig {
    /// Before a request goes to a model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before_prompt: Vec<HookConfig>,
    /// After an answer of a model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after_prompt: Vec<HookConfig>,
    /// Before the planner is asked for a plan or a patch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before_plan: Vec<HookConfig>,
    /// After a plan or patch passed every check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after_plan: Vec<HookConfig>,
    /// Before an attempt at a task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before_task: Vec<HookConfig>,
    /// After an attempt at a task.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after_task: Vec<HookConfig>,
    /// Before a tool is called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before_tool: Vec<HookConfig>,
    /// After a tool call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after_tool: Vec<HookConfig>,
    /// At the end of a run, or when it is suspended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop: Vec<HookConfig>,
}

/// One hook command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookConfig {
    /// Name of the hook in messages; the beginning of the command if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Line for `sh -c`, run in the working folder.
    #[serde(deserialize_with = "command")]
    pub command: String,
    /// Patterns for the names of the tools that it applies to, such as `bash` and `write_*`; all if absent. For `before_tool` and
    /// `after_tool`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Time limit in seconds.
    #[serde(default = "usual_timeout", deserialize_with = "timeout")]
    pub timeout_seconds: u64,
    /// True if a failure of the hook stops the step.
    #[serde(default)]
    pub required: bool,
    /// True if the hook is confined as the tools are. Otherwise it may do what its user may, such as use the network.
    #[serde(default = "yes")]
    pub confined: bool,
    /// File or variable that defines the hook.
    #[serde(skip)]
    pub from: String,
}

impl HooksConfig {
    /// Iterates over all hooks with their points, in the order in which the hooks of a point run.
    pub fn all(&self) -> impl Iterator<Item = (HookPoint, &HookConfig)> {
        HookPoint::ALL.into_iter().flat_map(|point| self.at(point).iter().map(move |hook| (point, hook)))
    }

    const fn at(&self, point: HookPoint) -> &Vec<HookConfig> {
        match point {
            HookPoint::BeforePrompt => &self.before_prompt,
            HookPoint::AfterPrompt => &self.after_prompt,
            HookPoint::BeforePlan => &self.before_plan,
            HookPoint::AfterPlan => &self.after_plan,
            HookPoint::BeforeTask => &self.before_task,
            HookPoint::AfterTask => &self.after_task,
            HookPoint::BeforeTool => &self.before_tool,
            HookPoint::AfterTool => &self.after_tool,
            HookPoint::Stop => &self.stop,
        }
    }

    const fn at_mut(&mut self, point: HookPoint) -> &mut Vec<HookConfig> {
        match point {
            HookPoint::BeforePrompt => &mut self.before_prompt,
            HookPoint::AfterPrompt => &mut self.after_prompt,
            HookPoint::BeforePlan => &mut self.before_plan,
            HookPoint::AfterPlan => &mut self.after_plan,
            HookPoint::BeforeTask => &mut self.before_task,
            HookPoint::AfterTask => &mut self.after_task,
            HookPoint::BeforeTool => &mut self.before_tool,
            HookPoint::AfterTool => &mut self.after_tool,
            HookPoint::Stop => &mut self.stop,
        }
    }

    /// Moves the hooks of a document behind the known ones: no file can remove the hooks of another one.
    pub(super) fn take(&mut self, document: &mut Value, place: &str) -> Result<(), ConfigFault> {
        let Some(section) = document.as_object_mut().and_then(|members| members.shift_remove("hooks")) else { return Ok(()) };
        let mut found: Self = typed(&section).map_err(|problem| explain(place, &problem))?;
        for point in HookPoint::ALL {
            let of_here = |hook: HookConfig| HookConfig { from: place.to_owned(), ..hook };
            self.at_mut(point).extend(std::mem::take(found.at_mut(point)).into_iter().map(of_here));
        }
        Ok(())
    }

    /// Returns the faults that are visible only in the merged settings.
    pub(super) fn faults(&self) -> impl Iterator<Item = ValueFault> {
        self.all().filter_map(|(point, hook)| {
            let key = format!("hooks.{point}.tools");
            if !point.is_of_tools() && !hook.tools.is_empty() {
                return Some(ValueFault::new(key.clone(), message!("hook-tools", key)));
            }
            let fault = ToolPatterns::check_names(&hook.tools).err()?;
            Some(ValueFault::of(key, &fault))
        })
    }
}

const fn yes() -> bool {
    true
}

const fn usual_timeout() -> u64 {
    30
}

fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let command = String::deserialize(deserializer)?;
    if command.trim().is_empty() { Err(Error::invalid_value(Unexpected::Str(&command), &COMMAND)) } else { Ok(command) }
}

fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let seconds = u64::deserialize(deserializer)?;
    let wanted = format!("1 to {MAX_TIMEOUT_SECONDS}");
    let fault = || Error::invalid_value(Unexpected::Unsigned(seconds), &wanted.as_str());
    (1..=MAX_TIMEOUT_SECONDS).contains(&seconds).then_some(seconds).ok_or_else(fault)
}
