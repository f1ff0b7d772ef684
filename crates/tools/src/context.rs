//! What a tool call is given beside its parameters.

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
    AskModel, AskPerson, BackgroundProcesses, Diagnostics, ModelClasses, PermissionRules, ProtectedPlaces, RuleLists, Surroundings,
    TellProgress, UndoTask, WriteGuard,
    cut::{MAX_SHOWN_CHARS, cut_output},
};

/// Where, with what and under whose control a call runs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The working folder, which file tools cannot leave.
    pub folder: ConfinedFolder,
    /// The whole environment of child processes, clean of secrets.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// What child processes may read, write, reach and take.
    pub confinement: Confinement,
    /// Rules of which those that deny hold for every call, and those for reading also for what is found in folders.
    pub rules: Arc<PermissionRules>,
    /// Nothing may be changed, whoever allowed it.
    pub read_only: bool,
    /// How many characters of a result are shown, for a model; nothing where the result goes to another task and must be whole.
    pub text_limit: Option<usize>,
    /// How many characters of files `read_file` shows, where results are cut.
    pub file_limit: usize,
    /// `read_file` numbers the lines that it shows.
    pub line_numbers: bool,
    /// What each class of models is shown.
    pub classes: ModelClasses,
    /// The commands that go on beside the calls; none where nobody would end them.
    pub background: Option<BackgroundProcesses>,
    /// Where the whole of a result is kept that was cut. It is made when it is needed.
    pub output_folder: Option<PathBuf>,
    /// Cancelled when the call is no longer wanted.
    pub cancel: CancellationToken,
    /// Whom a call may ask something itself, where somebody is there.
    pub person: Option<AskPerson>,
    /// Who wants to know how far a call has come.
    pub progress: Option<TellProgress>,
    /// Keeps what runs later as it is.
    pub protected: ProtectedPlaces,
    /// Who takes back what a task of the run did to files, where that is kept.
    pub undo: Option<UndoTask>,
    /// Whom a call may ask that needs a model of the run.
    pub model: Option<AskModel>,
    /// The commands that check files after an edit.
    pub diagnostics: Diagnostics,
    /// The facts that prompts tell of the folder and the machine; without them they are read anew for each actor.
    pub surroundings: Option<Arc<Surroundings>>,
    /// What the actor of the call knows of files, where an actor makes it: nothing else is overwritten.
    pub guard: Option<WriteGuard>,
    /// Takes secrets out of results before anybody sees them. What tools write to files goes by it.
    pub redactor: Redactor,
}

impl ToolContext {
    /// A context for an actor's calls: results are cut at 10,000 characters, and the rest is kept nowhere. Processes are confined to the
    /// folder, as [`ConfinementSettings::new`] says; where that cannot be had they are refused.
    #[must_use]
    pub fn new(folder: ConfinedFolder, environment: BTreeMap<OsString, OsString>) -> Self {
        Self {
            confinement: Confinement::or_refuse(ConfinementSettings::new(folder.path(), &environment)),
            rules: Arc::new(PermissionRules::new(&folder, RuleLists::default())),
            folder,
            read_only: false,
            environment: Arc::new(environment),
            text_limit: Some(MAX_SHOWN_CHARS),
            file_limit: MAX_SHOWN_CHARS,
            line_numbers: false,
            classes: ModelClasses::default(),
            background: Some(BackgroundProcesses::default()),
            output_folder: None,
            cancel: CancellationToken::new(),
            person: None,
            progress: None,
            protected: ProtectedPlaces::default(),
            undo: None,
            model: None,
            diagnostics: Diagnostics::default(),
            surroundings: None,
            guard: None,
            redactor: Redactor::default(),
        }
    }

    /// [`ToolContext::new`] for this folder. Child processes get an empty environment.
    ///
    /// # Errors
    /// [`FileError`] if the folder cannot be opened.
    pub fn in_folder(folder: impl AsRef<Path>) -> Result<Self, FileError> {
        Ok(Self::new(ConfinedFolder::open(folder)?, BTreeMap::new()))
    }

    /// The same for a tool task of a plan, whose result other tasks refer to: nothing is cut.
    #[must_use]
    pub fn with_whole_results(mut self) -> Self {
        self.text_limit = None;
        self
    }

    /// The same for an actor with a model of these limits: how much it is shown, and how.
    #[must_use]
    pub fn for_model(mut self, model: ModelLimits) -> Self {
        let class = self.classes.of(model);
        self.text_limit = self.text_limit.map(|_| class.output_limit(model));
        self.file_limit = class.file_limit(model);
        self.line_numbers = class.line_numbers;
        self
    }

    /// How many characters of a tool's result are shown; nothing where it is not cut.
    pub(crate) fn limit_of(&self, tool: &str) -> Option<usize> {
        self.text_limit.map(|limit| if tool == "read_file" { limit.max(self.file_limit) } else { limit })
    }

    /// The same with facts of the folder that are given and not read, for folders that only the program knows.
    #[must_use]
    pub fn with_surroundings(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = Some(Arc::new(surroundings));
        self
    }

    /// The same with processes confined in another way, or not.
    #[must_use]
    pub fn with_confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = confinement;
        self
    }

    /// The same under rules, which hold for its folder.
    #[must_use]
    pub fn with_rules(mut self, rules: RuleLists) -> Self {
        self.rules = Arc::new(PermissionRules::new(&self.folder, rules));
        self
    }

    /// The same with a folder for the whole of results that are cut.
    #[must_use]
    pub fn with_output_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.output_folder = Some(folder.into());
        self
    }

    /// The same under another control.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same for a call that may ask a person something itself.
    #[must_use]
    pub fn with_person(mut self, person: AskPerson) -> Self {
        self.person = Some(person);
        self
    }

    /// The same for a call that tells how far it has come.
    #[must_use]
    pub fn with_progress(mut self, progress: TellProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// The same for a call that may take back what a task did to files.
    #[must_use]
    pub fn with_undo(mut self, undo: UndoTask) -> Self {
        self.undo = Some(undo);
        self
    }

    /// The same for a call that may ask a model of the run.
    #[must_use]
    pub fn with_model(mut self, model: AskModel) -> Self {
        self.model = Some(model);
        self
    }

    /// The same for a call of an actor, which overwrites no change that it has not seen.
    #[must_use]
    pub fn with_guard(mut self, guard: WriteGuard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// The same with results that hold none of these secrets.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// The working folder, absolute and without links.
    #[must_use]
    pub fn working_folder(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts a result to what is shown, and keeps the whole in the output folder.
    pub(crate) fn shown(&self, tool: &str, text: String) -> String {
        let Some(limit) = self.limit_of(tool) else {
            return text;
        };
        if text.is_empty() {
            return "(empty)".to_owned();
        }
        if let Cow::Borrowed(_) = cut_output(&text, limit, None) {
            return text;
        }
        let place = self.output_folder.as_ref().and_then(|folder| match keep(folder, tool, &text) {
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
fn keep(folder: &Path, tool: &str, text: &str) -> io::Result<PathBuf> {
    /// Goes on where other calls of this process were; files of an earlier process are stepped over.
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
