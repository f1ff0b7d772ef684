//! Commands as hooks: the event as JSON on standard input, the exit code decides.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use aime_messages::{Describe, Message, message, nearest};
use aime_sandbox::{Confinement, ConfinementSettings, ProcessEnd, ProcessRequest, run};
use aime_tools::{runtime_tool_names, tool_names};
use futures::future::BoxFuture;
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Hook, HookAnswer, HookError, HookEvent, HookFolder, HookPoint, event::OF_SERVERS};

/// Maximum number of bytes kept of each stream. A longer answer is invalid.
const OUTPUT_LIMIT: usize = 256 * 1024;
/// The exit code that blocks.
const BLOCKS: i32 = 2;
/// Time that a stopped command has to exit after its time limit.
const GRACE: Duration = Duration::from_secs(3);
/// Maximum number of characters of a command's output in messages.
const OUTPUT_CHARS: usize = 1_000;
/// Environment variable with the path of the working folder, also if the command runs in a private folder.
const WORKING_FOLDER: &str = "AIME_WORKING_FOLDER";
/// Maximum number of characters of a name derived from a command.
const NAME_CHARS: usize = 40;

/// Fault in the settings of a command hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookSettingsError {
    /// The command is empty.
    #[error("{}", self.describe())]
    EmptyCommand,
    /// An invalid pattern for names of tools.
    #[error("{}", self.describe())]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Description of the fault.
        reason: String,
    },
    /// A pattern that cannot match any tool.
    #[error("{}", self.describe())]
    UnknownTool {
        /// The pattern.
        pattern: String,
        /// The tool with the nearest name.
        near: Option<&'static str>,
    },
    /// A pattern that matches only tools whose calls hooks do not see.
    #[error("{}", self.describe())]
    UnseenTool {
        /// The pattern.
        pattern: String,
    },
}

impl Describe for HookSettingsError {
    fn describe(&self) -> Message {
        match self {
            Self::EmptyCommand => message!("hook-empty"),
            Self::Pattern { pattern, reason } => message!("hook-pattern", pattern = format!("{pattern:?}"), reason),
            Self::UnseenTool { pattern } => message!("hook-unseen", pattern = format!("{pattern:?}")),
            Self::UnknownTool { pattern, near } => {
                let hint = near.map_or_else(|| message!("hook-list"), |near| message!("hook-near", near));
                message!("hook-no-tool", pattern = format!("{pattern:?}"), hint)
            }
        }
    }
}

/// Patterns for the names of tools: `bash`, `write_*`. Without patterns every tool matches.
#[derive(Debug, Clone, Default)]
pub struct ToolPatterns(Option<GlobSet>);

impl ToolPatterns {
    /// Compiles patterns with `*`, `?`, `[…]` and `{…,…}`.
    ///
    /// # Errors
    ///
    /// [`HookSettingsError::Pattern`] for the first invalid pattern.
    pub fn new<P: AsRef<str>>(patterns: &[P]) -> Result<Self, HookSettingsError> {
        let fault = |pattern: &str, error: &globset::Error| HookSettingsError::Pattern {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        };
        if patterns.is_empty() {
            return Ok(Self(None));
        }
        let mut set = GlobSetBuilder::new();
        for pattern in patterns.iter().map(AsRef::as_ref) {
            set.add(Glob::new(pattern).map_err(|error| fault(pattern, &error))?);
        }
        set.build().map(|set| Self(Some(set))).map_err(|error| fault("", &error))
    }

    /// Checks that each pattern can match a tool whose calls hooks see: a built-in one, or one of an MCP server.
    ///
    /// # Errors
    ///
    /// [`HookSettingsError`] for the first pattern that cannot.
    pub fn check_names<P: AsRef<str>>(patterns: &[P]) -> Result<(), HookSettingsError> {
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let of_this = Self::new(&[pattern])?;
            let fits = |name: &str| of_this.fit(Some(name));
            if may_be_of_servers(pattern) || runtime_tool_names().any(fits) {
                continue;
            }
            if tool_names().any(fits) {
                return Err(HookSettingsError::UnseenTool { pattern: pattern.to_owned() });
            }
            return Err(HookSettingsError::UnknownTool { pattern: pattern.to_owned(), near: nearest(pattern, runtime_tool_names()) });
        }
        Ok(())
    }

    fn fit(&self, tool: Option<&str>) -> bool {
        match (&self.0, tool) {
            (Some(set), Some(tool)) => set.is_match(tool),
            _ => true,
        }
    }
}

/// Returns true if a pattern may match a tool of some MCP server. The servers of the run are unknown here.
fn may_be_of_servers(pattern: &str) -> bool {
    let beginning = pattern.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
    beginning.starts_with(OF_SERVERS) || (beginning.len() < pattern.len() && OF_SERVERS.starts_with(beginning))
}

/// Settings of a command hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHookSettings {
    /// Name, for people; if absent, the beginning of the command.
    pub name: Option<String>,
    /// The point at which the hook is called.
    pub point: HookPoint,
    /// Command line for `sh -c`.
    pub command: String,
    /// Patterns of the tools that it applies to; all tools if empty.
    pub tools: Vec<String>,
    /// Time limit.
    pub time_limit: Duration,
    /// True if a failure of the hook blocks the action.
    pub required: bool,
}

/// A hook that runs a command.
///
/// The command reads the event as one JSON object on standard input. Exit code 0 continues: unchanged if it prints
/// nothing, changed with `{"change": …}`, blocked with `{"block": "reason"}`. Exit code 2 blocks, with standard error
/// as the reason. Any other exit code is a failure. It runs in the working folder, or in the private folder of the
/// event; `AIME_WORKING_FOLDER` is the path of the working folder.
#[derive(Debug)]
pub struct CommandHook {
    name: String,
    points: [HookPoint; 1],
    command: String,
    tools: ToolPatterns,
    time_limit: Duration,
    required: bool,
    folder: PathBuf,
    environment: Arc<BTreeMap<OsString, OsString>>,
    confinement: Confinement,
}

impl CommandHook {
    /// Creates a hook from its settings, the folder that it runs in, and its whole environment, which must be free of
    /// secrets. The command is confined to the folder.
    ///
    /// # Errors
    ///
    /// [`HookSettingsError`] if the settings are invalid.
    pub fn new(
        settings: CommandHookSettings,
        folder: impl Into<PathBuf>,
        environment: Arc<BTreeMap<OsString, OsString>>,
    ) -> Result<Self, HookSettingsError> {
        let CommandHookSettings { name, point, command, tools, time_limit, required } = settings;
        if command.trim().is_empty() {
            return Err(HookSettingsError::EmptyCommand);
        }
        let name = name.unwrap_or_else(|| shortened(command.lines().next().unwrap_or_default().trim(), NAME_CHARS));
        let tools = ToolPatterns::new(&tools)?;
        let folder = folder.into();
        let confinement = Confinement::or_refuse(ConfinementSettings::new(folder.clone(), &environment));
        Ok(Self { name, points: [point], command, tools, time_limit, required, folder, environment, confinement })
    }

    /// Returns the hook with another confinement, or with none.
    #[must_use]
    pub fn with_confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    async fn run(&self, event: &HookEvent) -> Result<HookAnswer, HookError> {
        let input = serde_json::to_vec(event).map_err(|error| HookError(error.to_string()))?;
        let (folder, confinement) = match &event.folder {
            Some(HookFolder { path, reads }) => {
                // The command may be a script that is not in the private folder.
                let reads: Vec<PathBuf> = reads.iter().chain([&self.folder]).cloned().collect();
                (path, self.confinement.in_folder(path, &reads))
            }
            None => (&self.folder, self.confinement.clone()),
        };
        let mut environment = self.environment.as_ref().clone();
        environment.insert(WORKING_FOLDER.into(), self.folder.clone().into());
        let request = ProcessRequest {
            program: "sh".into(),
            arguments: vec!["-c".into(), self.command.as_str().into()],
            working_folder: folder.clone(),
            environment,
            input,
            time_limit: self.time_limit,
            output_limit: OUTPUT_LIMIT,
            confinement: confinement.clone(),
        };
        // A caller that stops waiting drops this future, which ends the process.
        let outcome = run(request, &CancellationToken::new()).await.map_err(|error| HookError(error.to_string()))?;
        let stderr = outcome.stderr.text();
        let explained = confinement.explain(&stderr, &outcome.refused).map(|explained| format!("\n{explained}")).unwrap_or_default();
        let detail = match stderr.trim() {
            "" => String::new(),
            text => format!(": {}{explained}", shortened(text, OUTPUT_CHARS)),
        };
        match outcome.end {
            ProcessEnd::Exited(0) if outcome.stdout.total > OUTPUT_LIMIT as u64 => {
                Err(HookError(format!("it printed {} bytes, and an answer has at most {OUTPUT_LIMIT}", outcome.stdout.total)))
            }
            ProcessEnd::Exited(0) => answer(outcome.stdout.text().trim()),
            ProcessEnd::Exited(BLOCKS) => {
                let reason = if detail.is_empty() { "it gave no reason".to_owned() } else { shortened(stderr.trim(), OUTPUT_CHARS) };
                Ok(HookAnswer::Block { reason })
            }
            ProcessEnd::Exited(code) => Err(HookError(format!("it ended with exit code {code}{detail}"))),
            ProcessEnd::Signalled(signal) => Err(HookError(format!("it was ended by signal {signal}{detail}"))),
            ProcessEnd::Exceeded(bound) => Err(HookError(format!("it took {bound} and was stopped{detail}"))),
            ProcessEnd::TimedOut | ProcessEnd::Cancelled => {
                Err(HookError(format!("it took longer than {} s and was stopped{detail}", self.time_limit.as_secs())))
            }
        }
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn points(&self) -> &[HookPoint] {
        &self.points
    }

    fn wants(&self, event: &HookEvent) -> bool {
        self.tools.fit(event.tool()) || event.through().is_some_and(|tool| self.tools.fit(Some(tool)))
    }

    fn required(&self) -> bool {
        self.required
    }

    fn time_limit(&self) -> Duration {
        self.time_limit + GRACE
    }

    fn ask<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, Result<HookAnswer, HookError>> {
        Box::pin(self.run(event))
    }
}

/// Parses the printed output as an answer.
fn answer(printed: &str) -> Result<HookAnswer, HookError> {
    if printed.is_empty() {
        return Ok(HookAnswer::Continue);
    }
    let wrong = || {
        let printed = shortened(printed, 200);
        HookError(format!("it printed {printed:?}, and an answer is nothing, {{\"change\": …}} or {{\"block\": \"reason\"}}"))
    };
    let Ok(Value::Object(mut members)) = serde_json::from_str(printed) else { return Err(wrong()) };
    match (members.len(), members.remove("change"), members.remove("block")) {
        (0, ..) => Ok(HookAnswer::Continue),
        (1, Some(change), None) => Ok(HookAnswer::Change(change)),
        (1, None, Some(Value::String(reason))) => Ok(HookAnswer::Block { reason: shortened(&reason, OUTPUT_CHARS) }),
        _ => Err(wrong()),
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
