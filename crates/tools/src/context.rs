//! Context of a tool call: everything that a call receives besides its parameters.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use aime_llm::ModelLimits;
use aime_redact::Redactor;
use aime_sandbox::{ConfinedFolder, Confinement, ConfinementSettings, FileError};
use tokio_util::sync::CancellationToken;

use crate::{
    AskModel, AskPerson, BackgroundProcesses, Diagnostics, ModelClasses, PermissionRules, ProgressReporter, ProtectedPlaces, RuleLists,
    Surroundings, UndoTask, UnfinishedOutput, WriteGuard,
    cut::{MAX_SHOWN_CHARS, cut_output},
};

/// Environment, permissions and limits of a call. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// Working folder. File tools cannot leave it.
    pub folder: ConfinedFolder,
    /// Paths of the folder of which the working folder is a private copy, if it is one. Commands may name the copy by any of them, and
    /// results name it by the first.
    pub originals: Vec<PathBuf>,
    /// Complete environment of child processes, without secrets.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// Sandbox of child processes: files they may read and write, network, resources.
    pub confinement: Confinement,
    /// Permission rules. Their deny rules apply to every call, and their read rules also to files found in folders.
    pub rules: Arc<PermissionRules>,
    /// If true, no call may change anything, even an allowed one.
    pub read_only: bool,
    /// Maximum characters of a result for a model. `None` if the result goes to another task and must stay whole.
    pub text_limit: Option<usize>,
    /// Maximum characters of files that `read_file` shows, if results are cut.
    pub file_limit: usize,
    /// If true, `read_file` numbers the lines.
    pub line_numbers: bool,
    /// Limits for each class of models.
    pub classes: ModelClasses,
    /// Background processes of the run. `None` if nobody would end them.
    pub background: Option<BackgroundProcesses>,
    /// Folder for the whole text of results that were cut. Created on first use.
    pub output_folder: Option<PathBuf>,
    /// File for the output of the call's command while it runs, so that a crash leaves it. Removed when the command ends.
    pub unfinished_output: Option<PathBuf>,
    /// Cancellation of the call.
    pub cancel: CancellationToken,
    /// Channel for questions of the call to a person, if one is present.
    pub person: Option<AskPerson>,
    /// Receiver of progress reports, if any.
    pub progress: Option<ProgressReporter>,
    /// W3C trace context (`traceparent`) of the call, so that servers continue the trace of the run. `None` without telemetry.
    pub trace_parent: Option<String>,
    /// Protection of files that run later outside of the sandbox.
    pub protected: ProtectedPlaces,
    /// Channel to undo a task of the run, if the run records changes.
    pub undo: Option<UndoTask>,
    /// Channel to a model of the run.
    pub model: Option<AskModel>,
    /// Commands that check files after an edit.
    pub diagnostics: Diagnostics,
    /// Facts about the folder and the machine for prompts. With `None` they are read anew for each actor.
    pub surroundings: Option<Arc<Surroundings>>,
    /// File versions that the calling actor has seen, if an actor makes the call. File tools overwrite no other version.
    pub guard: Option<WriteGuard>,
    /// Removes secrets from results. Also applies to text that tools write to files.
    pub redactor: Redactor,
}

impl ToolContext {
    /// Creates a context for an actor's calls. Results are cut at 10,000 characters, and the rest is dropped. Processes are confined to the
    /// folder as [`ConfinementSettings::new`] says, and refused if the machine cannot confine them.
    #[must_use]
    pub fn new(folder: ConfinedFolder, environment: BTreeMap<OsString, OsString>) -> Self {
        Self {
            confinement: Confinement::or_refuse(ConfinementSettings::new(folder.path(), &environment)),
            rules: Arc::new(PermissionRules::new(&folder, RuleLists::default())),
            folder,
            originals: Vec::new(),
            read_only: false,
            environment: Arc::new(environment),
            text_limit: Some(MAX_SHOWN_CHARS),
            file_limit: MAX_SHOWN_CHARS,
            line_numbers: false,
            classes: ModelClasses::default(),
            background: Some(BackgroundProcesses::default()),
            output_folder: None,
            unfinished_output: None,
            cancel: CancellationToken::new(),
            person: None,
            progress: None,
            trace_parent: None,
            protected: ProtectedPlaces::default(),
            undo: None,
            model: None,
            diagnostics: Diagnostics::default(),
            surroundings: None,
            guard: None,
            redactor: Redactor::default(),
        }
    }

    /// Creates a context for this folder with an empty environment for child processes.
    ///
    /// # Errors
    /// [`FileError`] if the folder cannot be opened.
    pub fn in_folder(folder: impl AsRef<Path>) -> Result<Self, FileError> {
        Ok(Self::new(ConfinedFolder::open(folder)?, BTreeMap::new()))
    }

    /// Disables cutting, for a tool task of a plan: other tasks refer to its result.
    #[must_use]
    pub fn with_whole_results(mut self) -> Self {
        self.text_limit = None;
        self
    }

    /// Sets the output limits for an actor with a model of these limits.
    #[must_use]
    pub fn for_model(mut self, model: ModelLimits) -> Self {
        let class = self.classes.of(model);
        self.text_limit = self.text_limit.map(|_| class.output_limit(model));
        self.file_limit = class.file_limit(model);
        self.line_numbers = class.line_numbers;
        self
    }

    /// Returns the maximum characters of a tool's result; `None` if it is not cut.
    pub(crate) fn limit_of(&self, tool: &str) -> Option<usize> {
        self.text_limit.map(|limit| if tool == "read_file" { limit.max(self.file_limit) } else { limit })
    }

    /// Sets the facts about the folder instead of reading them, for folders that only the program can describe.
    #[must_use]
    pub fn with_surroundings(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = Some(Arc::new(surroundings));
        self
    }

    /// Sets the sandbox of child processes.
    #[must_use]
    pub fn with_confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// Sets the permission rules, relative to the context's folder.
    #[must_use]
    pub fn with_rules(mut self, rules: RuleLists) -> Self {
        self.rules = Arc::new(PermissionRules::new(&self.folder, rules));
        self
    }

    /// Sets the folder for the whole text of results that were cut.
    #[must_use]
    pub fn with_output_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.output_folder = Some(folder.into());
        self
    }

    /// Sets the file for the output of a running command: one of the output folder, by the id of the call. Without an output folder there
    /// is none.
    #[must_use]
    pub fn with_unfinished_output(mut self, call: &str) -> Self {
        self.unfinished_output = self.output_folder.as_ref().map(|folder| UnfinishedOutput::place(folder, call));
        self
    }

    /// Sets the cancellation token.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the channel for questions to a person.
    #[must_use]
    pub fn with_person(mut self, person: AskPerson) -> Self {
        self.person = Some(person);
        self
    }

    /// Sets the receiver of progress reports.
    #[must_use]
    pub fn with_progress(mut self, progress: ProgressReporter) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Sets the trace context of the call.
    #[must_use]
    pub fn with_trace_parent(mut self, trace_parent: Option<String>) -> Self {
        self.trace_parent = trace_parent;
        self
    }

    /// Sets the channel to undo a task.
    #[must_use]
    pub fn with_undo(mut self, undo: UndoTask) -> Self {
        self.undo = Some(undo);
        self
    }

    /// Sets the channel to a model of the run.
    #[must_use]
    pub fn with_model(mut self, model: AskModel) -> Self {
        self.model = Some(model);
        self
    }

    /// Sets the write guard of the calling actor: its calls overwrite no change that it has not seen.
    #[must_use]
    pub fn with_guard(mut self, guard: WriteGuard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Sets the redactor that removes secrets from results.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Returns the working folder as an absolute path without symbolic links.
    #[must_use]
    pub fn working_folder(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts a result to the limit, and keeps the whole text in the output folder.
    pub(crate) fn limit_output(&self, tool: &str, text: String) -> String {
        let Some(limit) = self.limit_of(tool) else {
            return text;
        };
        if text.is_empty() {
            return "(empty)".to_owned();
        }
        if let Cow::Borrowed(_) = cut_output(&text, limit, None) {
            return text;
        }
        let place = self.output_folder.as_ref().and_then(|folder| match store_output(folder, tool, &text) {
            Ok(file) => Some(file.strip_prefix(self.working_folder()).unwrap_or(&file).display().to_string()),
            Err(error) => {
                tracing::warn!(%error, folder = %folder.display(), "a long result could not be kept");
                None
            }
        });
        cut_output(&text, limit, place.as_deref()).into_owned()
    }
}

/// Writes a result to a new file.
fn store_output(folder: &Path, tool: &str, text: &str) -> io::Result<PathBuf> {
    /// Numbers continue after earlier calls of this process; files of an earlier process are skipped.
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    fs::create_dir_all(folder)?;
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = folder.join(format!("{tool}-{number}.txt"));
        match OpenOptions::new().write(true).create_new(true).open(&file) {
            Ok(mut open) => return open.write_all(text.as_bytes()).map(|()| file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
