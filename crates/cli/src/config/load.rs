//! Reading and merging: defaults < user < project < `--config` < environment. Flags come later, in each command.

use std::{fmt, path::Path};

use config::{FileFormat, FileSourceString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Config, Environment, Places};

/// What is wrong with a configuration, where, and the mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigFault {
    /// The file or variable, with line and column where they are known.
    pub(crate) place: String,
    /// What is wrong.
    pub(crate) message: String,
    /// The mend.
    pub(crate) hint: Option<String>,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for ConfigFault {}

/// The settings in force.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// The settings.
    pub(crate) config: Config,
    /// What was read, lowest first.
    pub(crate) sources: Vec<String>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
}

/// Sections that decide safety: a project's file has no say in them.
const SAFETY: [&str; 2] = ["permissions", "sandbox"];

/// Reads every place and merges them.
pub(crate) fn load(places: &Places, environment: &Environment) -> Result<Loaded, ConfigFault> {
    let mut builder = config::Config::builder();
    let mut sources = vec!["defaults".to_owned()];
    let mut notes = Vec::new();
    for (path, project) in files(places) {
        let required = places.flag.as_deref() == Some(path);
        let Some(text) = read(path, required)? else { continue };
        let mut document = parse(path, &text)?;
        if project {
            notes.extend(drop_safety(&mut document, path));
        }
        builder = builder.add_source(config::File::<FileSourceString, FileFormat>::from_str(&to_toml(&document, path)?, FileFormat::Toml));
        sources.push(path.display().to_string());
    }
    for (name, value) in environment.settings() {
        let key = name.trim_start_matches("AIME__").to_lowercase().replace("__", ".");
        check_variable(name, &key, value)?;
        builder = builder.set_override(&key, scalar(value)).map_err(|error| fault(name, &error.to_string()))?;
        sources.push(name.to_owned());
    }
    let merged = builder.build().map_err(|error| fault("configuration", &error.to_string()))?;
    let config = merged.try_deserialize().map_err(|error| fault("configuration", &error.to_string()))?;
    Ok(Loaded { config, sources, notes })
}

/// Checks every file by itself, and gives all faults.
pub(crate) fn check_files(places: &Places) -> Vec<ConfigFault> {
    files(places)
        .filter_map(|(path, _)| match read(path, places.flag.as_deref() == Some(path)) {
            Ok(Some(text)) => parse(path, &text).err(),
            Ok(None) => None,
            Err(fault) => Some(fault),
        })
        .collect()
}

fn files(places: &Places) -> impl Iterator<Item = (&Path, bool)> {
    let user = places.user.as_deref().map(|path| (path, false));
    let flag = places.flag.as_deref().map(|path| (path, false));
    user.into_iter().chain([(places.project.as_path(), true)]).chain(flag)
}

fn read(path: &Path, required: bool) -> Result<Option<String>, ConfigFault> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => Ok(None),
        Err(error) => Err(ConfigFault {
            place: path.display().to_string(),
            message: format!("cannot be read: {error}"),
            hint: Some("mend the path or the rights of the file".to_owned()),
        }),
    }
}

/// Parses one file on its own first: only so are file, line and column known.
fn parse(path: &Path, text: &str) -> Result<Value, ConfigFault> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => {
            typed(path, serde_json::from_str::<Config>(text), |error| Some((error.line(), error.column())))?;
            serde_json::from_str(text).map_err(|error| fault(&path.display().to_string(), &error.to_string()))
        }
        Some("yaml" | "yml") => {
            typed(path, serde_saphyr::from_str::<Config>(text), |_| None)?;
            serde_saphyr::from_str(text).map_err(|error| fault(&path.display().to_string(), &error.to_string()))
        }
        _ => {
            typed(path, toml::from_str::<Config>(text), |error| error.span().map(|span| position(text, span.start)))?;
            toml::from_str(text).map_err(|error| fault(&path.display().to_string(), &error.to_string()))
        }
    }
}

fn typed<E: fmt::Display>(path: &Path, read: Result<Config, E>, place: impl Fn(&E) -> Option<(usize, usize)>) -> Result<(), ConfigFault> {
    let Err(error) = read else { return Ok(()) };
    let place = match place(&error) {
        Some((line, column)) => format!("{}:{line}:{column}", path.display()),
        None => path.display().to_string(),
    };
    let text = error.to_string();
    Err(fault(&place, text.trim_end()))
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

fn to_toml(document: &Value, path: &Path) -> Result<String, ConfigFault> {
    toml::to_string(document).map_err(|error| fault(&path.display().to_string(), &error.to_string()))
}

/// A project's file may not decide what is safe: those sections are left out, and that is said.
fn drop_safety(document: &mut Value, path: &Path) -> Vec<String> {
    let Some(members) = document.as_object_mut() else { return Vec::new() };
    let dropped = SAFETY.iter().filter(|section| members.shift_remove(**section).is_some());
    dropped
        .map(|section| {
            format!("[{section}] in {} is left out: put it into your own configuration, or name the file with --config", path.display())
        })
        .collect()
}

/// The value of a variable: a number or a truth value where it is one and nothing else, text otherwise.
fn scalar(value: &str) -> config::Value {
    match value {
        "true" => true.into(),
        "false" => false.into(),
        _ => match (value.parse::<i64>(), value.parse::<f64>()) {
            (Ok(number), _) if number.to_string() == value => number.into(),
            (_, Ok(number)) if value.contains('.') && number.is_finite() => number.into(),
            _ => value.into(),
        },
    }
}

/// Reads one variable as if it stood alone in a file, so that its fault can name it.
fn check_variable(name: &str, key: &str, value: &str) -> Result<(), ConfigFault> {
    let scalar = match scalar(value).kind {
        config::ValueKind::Boolean(truth) => Value::from(truth),
        config::ValueKind::I64(number) => Value::from(number),
        config::ValueKind::Float(number) => Value::from(number),
        _ => Value::from(value),
    };
    let document = key.rsplit('.').fold(scalar, |inner, part| Value::Object([(part.to_owned(), inner)].into_iter().collect()));
    strict::<Config>(document).map(|_| ()).map_err(|message| fault(name, &message))
}

fn strict<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

/// A fault with a hint made from the reader's own words: the nearest known key.
fn fault(place: &str, message: &str) -> ConfigFault {
    ConfigFault { place: place.to_owned(), message: message.to_owned(), hint: nearest_key(message) }
}

/// From "unknown field `x`, expected one of `a`, `b`": the one that looks most like `x`.
fn nearest_key(message: &str) -> Option<String> {
    let after = message.split("unknown field `").nth(1).or_else(|| message.split("unknown variant `").nth(1))?;
    let (unknown, rest) = after.split_once('`')?;
    let known = rest.split('`').skip(1).step_by(2);
    let nearest = known.map(|key| (strsim::damerau_levenshtein(unknown, key), key)).min()?;
    Some(if nearest.0 <= unknown.len().div_ceil(2) {
        format!("did you mean `{}`?", nearest.1)
    } else {
        "see `aime config show` for the keys".to_owned()
    })
}
