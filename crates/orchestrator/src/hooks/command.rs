//! Commands as hooks: the event as JSON on standard input, the exit code decides.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use aime_sandbox::{Confinement, ConfinementSettings, ProcessEnd, ProcessRequest, run};
use aime_tools::{nearest_tool, tool_names};
use futures::future::BoxFuture;
use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Hook, HookAnswer, HookError, HookEvent, HookPoint};

/// Bytes kept of each stream. An answer that is longer is none.
const OUTPUT_LIMIT: usize = 256 * 1024;
/// The exit code that blocks.
const BLOCKS: i32 = 2;
/// How long a command that is stopped has to end, beyond its time.
const GRACE: Duration = Duration::from_secs(3);
/// How much of what a command printed is told, in characters.
const TOLD_CHARS: usize = 1_000;
/// What the names of tools of MCP servers begin with.
const OF_SERVERS: &str = "mcp__";
/// The longest name that is made of a command, in characters.
const NAME_CHARS: usize = 40;

/// What a command hook cannot be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookSettingsError {
    /// Nothing to run.
    #[error("the command of a hook is empty: write what is to be run, or take the hook out")]
    EmptyCommand,
    /// A pattern for names of tools that is none.
    #[error("{pattern:?} is no pattern for the names of tools ({reason}): write a name, or one with * and ?, such as \"write_*\"")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A pattern that no tool can ever fit.
    #[error("{pattern:?} names no tool, so the hook would never be asked{}", near.map_or_else(|| ": `aime tools` lists them".to_owned(), |near| format!(": did you mean `{near}`?")))]
    UnknownTool {
        /// The pattern.
        pattern: String,
        /// The tool with the nearest name.
        near: Option<&'static str>,
    },
}

/// Patterns for the names of tools: `bash`, `write_*`. None fit every tool.
#[derive(Debug, Clone, Default)]
pub struct ToolPatterns(Option<GlobSet>);

impl ToolPatterns {
    /// From patterns with `*`, `?`, `[…]` and `{…,…}`.
    ///
    /// # Errors
    /// [`HookSettingsError::Pattern`] for the first that is none.
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

    /// Checks that each pattern is about a tool: a built-in one, or one that an MCP server may have.
    ///
    /// # Errors
    /// [`HookSettingsError`] for the first that is not.
    pub fn check_names<P: AsRef<str>>(patterns: &[P]) -> Result<(), HookSettingsError> {
        for pattern in patterns.iter().map(AsRef::as_ref) {
            let of_this = Self::new(&[pattern])?;
            if !may_be_of_servers(pattern) && !tool_names().any(|name| of_this.fit(Some(name))) {
                return Err(HookSettingsError::UnknownTool { pattern: pattern.to_owned(), near: nearest_tool(pattern) });
            }
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

/// Whether the name of a tool of some MCP server may fit a pattern. Which servers there will be nobody knows here.
fn may_be_of_servers(pattern: &str) -> bool {
    let beginning = pattern.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
    beginning.starts_with(OF_SERVERS) || (beginning.len() < pattern.len() && OF_SERVERS.starts_with(beginning))
}

/// A command as a hook, as settings have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHookSettings {
    /// Its name, for people; the command's beginning when absent.
    pub name: Option<String>,
    /// When it is asked.
    pub point: HookPoint,
    /// A line for `sh -c`.
    pub command: String,
    /// For which tools; for all when empty.
    pub tools: Vec<String>,
    /// How long it may take.
    pub time_limit: Duration,
    /// Whether nothing goes on when it fails.
    pub required: bool,
}

/// A command as a hook.
///
/// It reads the event as one JSON object on standard input. Exit code 0 goes on: with nothing printed as things are, with `{"change": …}`
/// changed, with `{"block": "reason"}` blocked. Exit code 2 blocks, with standard error as the reason. Everything else has failed.
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
    /// From its settings, the folder that it runs in, and its whole environment, which must be clean of secrets. It is confined to the folder.
    ///
    /// # Errors
    /// [`HookSettingsError`].
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

    /// The same confined in another way, or not.
    #[must_use]
    pub fn with_confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    async fn run(&self, event: &HookEvent) -> Result<HookAnswer, HookError> {
        let input = serde_json::to_vec(event).map_err(|error| HookError(error.to_string()))?;
        let request = ProcessRequest {
            program: "sh".into(),
            arguments: vec!["-c".into(), self.command.as_str().into()],
            working_folder: self.folder.clone(),
            environment: self.environment.as_ref().clone(),
            input,
            time_limit: self.time_limit,
            output_limit: OUTPUT_LIMIT,
            confinement: self.confinement.clone(),
        };
        // Who stops waiting drops this future, and that ends the process.
        let outcome = run(request, &CancellationToken::new()).await.map_err(|error| HookError(error.to_string()))?;
        let said = outcome.stderr.text();
        let explained = self.confinement.explain(&said, &outcome.refused).map(|explained| format!("\n{explained}")).unwrap_or_default();
        let told = match said.trim() {
            "" => String::new(),
            said => format!(": {}{explained}", shortened(said, TOLD_CHARS)),
        };
        match outcome.end {
            ProcessEnd::Exited(0) if outcome.stdout.total > OUTPUT_LIMIT as u64 => {
                Err(HookError(format!("it printed {} bytes, and an answer has at most {OUTPUT_LIMIT}", outcome.stdout.total)))
            }
            ProcessEnd::Exited(0) => answer(outcome.stdout.text().trim()),
            ProcessEnd::Exited(BLOCKS) => {
                let reason = if told.is_empty() { "it gave no reason".to_owned() } else { shortened(said.trim(), TOLD_CHARS) };
                Ok(HookAnswer::Block { reason })
            }
            ProcessEnd::Exited(code) => Err(HookError(format!("it ended with exit code {code}{told}"))),
            ProcessEnd::Signalled(signal) => Err(HookError(format!("it was ended by signal {signal}{told}"))),
            ProcessEnd::Exceeded(bound) => Err(HookError(format!("it took {bound} and was stopped{told}"))),
            ProcessEnd::TimedOut | ProcessEnd::Cancelled => {
                Err(HookError(format!("it took longer than {} s and was stopped{told}", self.time_limit.as_secs())))
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
        self.tools.fit(event.tool())
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

/// What was printed, as an answer.
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
        (1, None, Some(Value::String(reason))) => Ok(HookAnswer::Block { reason: shortened(&reason, TOLD_CHARS) }),
        _ => Err(wrong()),
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
