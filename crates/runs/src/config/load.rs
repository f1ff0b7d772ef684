//! Merging: defaults < user < project < `--config` < environment. Commands apply their flags afterwards.

use std::path::{Component, Path, PathBuf};

use aime_messages::{Message, message};

use config::{FileFormat, FileSourceString};
use serde_json::{Map, Value};

use super::{
    Config, ConfigFault, HooksConfig, Places,
    combine::{self, Source, SourcePlace},
    permissions::Permissions,
    places::beside,
    read::{Document, explain, read_file, read_variable, typed},
    redirected::{RedirectedModel, drop_additions, drop_keys, redirected_by},
};
use crate::Environment;

/// Settings in force.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Merged settings.
    pub config: Config,
    /// Files and variables that were read, lowest precedence first.
    pub sources: Vec<String>,
    /// Settings that were left out, with the reasons.
    pub notes: Vec<Message>,
}

/// Sections that decide about safety, about the texts that actors get, and about downloads and resources. A project's file cannot set them
/// unless its folder is trusted. It may only narrow permissions.
const SAFETY: [&str; 11] =
    ["secrets", "sandbox", "hooks", "checks", "diagnostics", "mcp", "profiles", "web", "undo", "extensions", "local"];

/// Reads every source and merges them.
pub fn load(places: &Places, environment: &Environment) -> Result<Loaded, ConfigFault> {
    match load_all(places, environment)? {
        (loaded, faults) if faults.is_empty() => Ok(loaded),
        (_, faults) => Err(first(faults)),
    }
}

/// Reads every source and merges them. Returns the settings with the faults that only their combination has.
fn load_all(places: &Places, environment: &Environment) -> Result<(Loaded, Vec<ConfigFault>), ConfigFault> {
    let mut files_read = Vec::new();
    for file in files(places) {
        if let Some(document) = file.read().map_err(first)? {
            files_read.push((file, document));
        }
    }
    let mut variables = Vec::new();
    for (name, value) in environment.settings() {
        variables.push((name, read_variable(name, value).map_err(first)?));
    }

    let own = files_read.iter().filter(|(file, _)| file.owner != SettingsOwner::Project).map(|(_, document)| &document.value);
    let trusted = own.chain(variables.iter().map(|(_, document)| document)).any(|document| places.is_trusted_by(document, environment));
    let later = files_read.iter().filter(|(file, _)| file.owner == SettingsOwner::Flag).map(|(_, document)| &document.value);
    let later: Vec<Value> = later.chain(variables.iter().map(|(_, document)| document)).cloned().collect();
    let mut sources = vec!["defaults".to_owned()];
    let mut notes = Vec::new();
    let mut redirected: Vec<RedirectedModel> = Vec::new();
    let mut before = Vec::new();
    let mut in_force = Vec::new();
    let mut hooks = HooksConfig::default();
    let mut permissions = Permissions::default();
    let mut builder = config::Config::builder();
    for (file, read) in files_read {
        let mut document = read.value.clone();
        if file.owner == SettingsOwner::Project && !trusted {
            notes.extend(permissions.narrow(&mut document, file.path));
            notes.extend(drop_safety(&mut document, file.path));
            notes.extend(drop_outside(&mut document, file.path, environment));
            notes.extend(drop_keys(&mut document, &before, &later, file.path));
            redirected = redirected_by(&document, &before);
            notes.extend(drop_additions(&mut document, file.path));
        } else {
            redirected.retain(|model| !model.is_ended_by(&document));
        }
        let place = file.path.display().to_string();
        hooks.take(&mut document, &place)?;
        permissions.take(&mut document, environment);
        builder = builder.add_source(source(&document, &place)?);
        sources.push(place);
        in_force.push(Source { value: document.clone(), place: SourcePlace::File(file.path, read) });
        before.push(document);
    }
    for (name, mut document) in variables {
        hooks.take(&mut document, name)?;
        permissions.take(&mut document, environment);
        redirected.retain(|model| !model.is_ended_by(&document));
        builder = builder.add_source(source(&document, name)?);
        sources.push(name.to_owned());
        in_force.push(Source { value: document, place: SourcePlace::Variable(name) });
    }
    builder = builder.add_source(source(&permissions.document(), "rules")?);
    let merged = builder.build().map_err(|error| explain("configuration", &error.to_string()))?;
    let merged: Value = merged.try_deserialize().map_err(|error| explain("configuration", &error.to_string()))?;
    let mut config: Config = typed(&merged).map_err(|problem| explain("configuration", &problem))?;
    config.hooks = hooks;
    for model in redirected {
        notes.extend(model.keep_secrets(&mut config, &places.project));
    }
    let faults = combine::faults(&config, &in_force);
    Ok((Loaded { config, sources, notes }, faults))
}

/// Checks every file and every variable by itself, and returns all faults. If there are none, checks the merged settings.
pub fn check_each(places: &Places, environment: &Environment) -> Vec<ConfigFault> {
    let of_files = files(places).filter_map(|file| file.read().err());
    let of_variables = environment.settings().filter_map(|(name, value)| read_variable(name, value).err());
    let faults: Vec<ConfigFault> = of_files.chain(of_variables).flatten().collect();
    if faults.is_empty() { load_all(places, environment).map_or_else(|fault| vec![fault], |(_, faults)| faults) } else { faults }
}

/// Returns the first fault of a source.
fn first(faults: Vec<ConfigFault>) -> ConfigFault {
    faults.into_iter().next().unwrap_or_else(|| explain("configuration", ""))
}

/// Reads one named file by itself, with its paths made absolute.
pub fn read_alone(path: &Path) -> Result<Value, ConfigFault> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let read = SettingsFile { path: &path, owner: SettingsOwner::Flag, other: None }.read().map_err(first)?;
    Ok(read.map(|document| document.value).unwrap_or_default())
}

/// Owner of a settings file, which decides how far aime trusts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingsOwner {
    User,
    Project,
    Flag,
}

struct SettingsFile<'a> {
    path: &'a Path,
    owner: SettingsOwner,
    /// Second file with the same name in another format. It would be ignored, so `read` refuses it.
    other: Option<PathBuf>,
}

impl SettingsFile<'_> {
    fn read(&self) -> Result<Option<Document>, Vec<ConfigFault>> {
        if let Some(other) = &self.other {
            let message = message!("two-files", other = other.display());
            return Err(vec![ConfigFault::new(self.path.display(), message).hint(message!("two-files-hint"))]);
        }
        let mut document = read_file(self.path, self.owner == SettingsOwner::Flag)?;
        if let Some(document) = &mut document {
            make_absolute(&mut document.value, self.path);
        }
        Ok(document)
    }
}

fn files(places: &Places) -> impl Iterator<Item = SettingsFile<'_>> {
    let is_named = |path: &Path| places.flag.as_ref().is_some_and(|flag| flag.canonicalize().ok() == path.canonicalize().ok());
    let found = move |path, whose| SettingsFile { path, owner: whose, other: beside(path).filter(|other| !is_named(other)) };
    let user = places.user.as_deref().map(|path| found(path, SettingsOwner::User));
    let flag = places.flag.as_deref().map(|path| SettingsFile { path, owner: SettingsOwner::Flag, other: None });
    // A project's file that `--config` names is trusted like the user's own.
    let project = (!is_named(&places.project)).then(|| found(&places.project, SettingsOwner::Project));
    user.into_iter().chain(project).chain(flag)
}

/// Makes paths absolute that are relative to the file which contains them.
fn make_absolute(document: &mut Value, path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folders = document.pointer_mut("/extensions/folders").and_then(Value::as_array_mut);
    let mut entries: Vec<&mut Value> = folders.into_iter().flatten().collect();
    entries.iter_mut().for_each(|entry| join(entry, folder));
    if let Some(knowledge) = document.pointer_mut("/memory/knowledge") {
        join(knowledge, folder);
    }
    for list in ["/sandbox/read", "/sandbox/write"] {
        let entries = document.pointer_mut(list).and_then(Value::as_array_mut);
        entries.into_iter().flatten().for_each(|entry| join(entry, folder));
    }
    let agents = document.get_mut("profiles").and_then(Value::as_object_mut);
    let agents = agents.into_iter().flat_map(Map::values_mut).filter_map(|profile| profile.get_mut("agent"));
    for agent in agents {
        for list in ["read", "write"] {
            let entries = agent.get_mut(list).and_then(Value::as_array_mut);
            entries.into_iter().flatten().for_each(|entry| join(entry, folder));
        }
    }
    let servers = document.pointer_mut("/mcp/servers").and_then(Value::as_object_mut);
    for server in servers.into_iter().flat_map(Map::values_mut) {
        for list in ["read", "write"] {
            let entries = server.get_mut(list).and_then(Value::as_array_mut);
            entries.into_iter().flatten().for_each(|entry| join(entry, folder));
        }
    }
    let models = document.get_mut("models").and_then(Value::as_object_mut);
    entries = models.into_iter().flat_map(Map::values_mut).filter_map(|model| model.get_mut("path")).collect();
    entries.iter_mut().for_each(|entry| join(entry, folder));
}

fn join(entry: &mut Value, folder: &Path) {
    if let Some(text) = entry.as_str().filter(|text| !text.starts_with("~/")) {
        *entry = Value::from(folder.join(text).display().to_string());
    }
}

impl Places {
    /// Returns true if a document of the user trusts the project's folder.
    fn is_trusted_by(&self, document: &Value, environment: &Environment) -> bool {
        let entries = document.pointer("/permissions/trusted_folders").and_then(Value::as_array);
        let Some(project) = self.project.parent().and_then(|folder| folder.canonicalize().ok()) else { return false };
        let folders = entries.into_iter().flatten().filter_map(Value::as_str).map(|entry| environment.expand_home(Path::new(entry)));
        // A relative path would mean another folder in each project.
        folders
            .filter(|folder| folder.is_absolute())
            .filter_map(|folder| folder.canonicalize().ok())
            .any(|folder: PathBuf| project.starts_with(folder))
    }
}

fn source(document: &Value, place: &str) -> Result<config::File<FileSourceString, FileFormat>, ConfigFault> {
    let text = toml::to_string(document).map_err(|error| explain(place, &error.to_string()))?;
    Ok(config::File::from_str(&text, FileFormat::Toml))
}

/// Removes the safety sections from an untrusted project's document, and returns notes about them.
fn drop_safety(document: &mut Value, path: &Path) -> Vec<Message> {
    let Some(members) = document.as_object_mut() else { return Vec::new() };
    let dropped = SAFETY.iter().filter(|section| members.shift_remove(**section).is_some());
    dropped.map(|section| message!("own-configuration", section = section, file = path.display())).collect()
}

/// Removes a knowledge folder outside of an untrusted project: its contents would end up in prompts.
fn drop_outside(document: &mut Value, path: &Path, environment: &Environment) -> Option<Message> {
    let memory = document.get_mut("memory").and_then(Value::as_object_mut)?;
    let folder = environment.expand_home(Path::new(memory.get("knowledge")?.as_str()?));
    let project = path.parent()?;
    let inside = match (folder.canonicalize(), project.canonicalize()) {
        (Ok(folder), Ok(project)) => folder.starts_with(project),
        // A folder that does not exist contains no links that could lead outside.
        _ => folder.starts_with(project) && !folder.components().any(|part| part == Component::ParentDir),
    };
    if inside {
        return None;
    }
    memory.shift_remove("knowledge");
    Some(message!("knowledge-out", file = path.display()))
}
