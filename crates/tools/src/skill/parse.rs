//! Parser of `SKILL.md`: YAML between two lines of `---`, then Markdown. Pure.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::Skill;

const FENCE: &str = "---";
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1_024;
const MAX_COMPATIBILITY: usize = 500;

/// Reason why a `SKILL.md` is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {fault}", file.display())]
pub struct SkillError {
    /// Path of the file.
    pub file: PathBuf,
    /// Line number, from 1.
    pub line: usize,
    /// Description of the fault, and the correction.
    pub fault: String,
}

pub(super) fn parse(source: &Path, text: &str) -> Result<Skill, SkillError> {
    let fault = |line: usize, fault: String| SkillError { file: source.to_owned(), line, fault };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(FENCE) {
        return Err(fault(1, "a skill begins with a line of `---`, then `name:` and `description:`, then a line of `---`".to_owned()));
    }
    let mut front = String::new();
    let mut ended = false;
    let mut body = String::new();
    for line in lines {
        match () {
            () if ended => body.push_str(line),
            () if line.trim_end() == FENCE => ended = true,
            () => front.push_str(line),
        }
    }
    if !ended {
        return Err(fault(text.lines().count(), "the lines of `name:` and `description:` are not ended: add a line of `---`".to_owned()));
    }
    let keys = read_yaml(&front).map_err(|(line, reason)| fault(line + 1, reason))?;
    let front = Front { keys, text: &front };
    let skill = front.skill(source, body.trim()).map_err(|(line, reason)| fault(line + 1, reason))?;
    Ok(skill)
}

/// A line of the front matter, from 1, and the fault there.
type Fault = (usize, String);

fn read_yaml(front: &str) -> Result<Map<String, Value>, Fault> {
    match serde_saphyr::from_str::<Value>(front) {
        Ok(Value::Object(keys)) => Ok(keys),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err((1, "write `name: NAME` and `description: TEXT`, one to a line".to_owned())),
        Err(error) => {
            let error = error.without_snippet();
            let line = error.location().and_then(|place| usize::try_from(place.line()).ok()).unwrap_or(1);
            let text = error.to_string();
            let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
            Err((line, format!("not YAML: {text}; put a text that holds `: ` or `#` in quotes")))
        }
    }
}

struct Front<'a> {
    keys: Map<String, Value>,
    text: &'a str,
}

impl Front<'_> {
    fn skill(&self, source: &Path, body: &str) -> Result<Skill, Fault> {
        let name = self.needed("name", "the name of its folder")?;
        if !well_named(&name) {
            let hint = format!("use 1 to {MAX_NAME} of a-z 0-9 -, no hyphen at an end and no two in a row");
            return Err((self.line("name"), format!("`name` is {name:?}: {hint}")));
        }
        let folder = source.parent().and_then(Path::file_name).map(|folder| folder.to_string_lossy().into_owned());
        if let Some(folder) = folder.filter(|folder| *folder != name) {
            return Err((self.line("name"), format!("`name` is `{name}` and its folder `{folder}`: give both the same name")));
        }
        let description = self.needed("description", "what the skill does, and when to use it")?;
        if body.is_empty() {
            return Err((
                self.text.lines().count() + 1,
                "nothing stands below the second `---`: say there how the work is done".to_owned(),
            ));
        }
        Ok(Skill {
            name,
            description: self.bounded("description", description, MAX_DESCRIPTION)?,
            license: self.optional("license")?,
            compatibility: match self.optional("compatibility")? {
                Some(text) => Some(self.bounded("compatibility", text, MAX_COMPATIBILITY)?),
                None => None,
            },
            metadata: self.metadata()?,
            allowed_tools: self.allowed_tools()?,
            body: body.to_owned(),
        })
    }

    /// Returns the line of a key, from 1; the first line if the key is missing.
    fn line(&self, key: &str) -> usize {
        let stands = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
        self.text.lines().position(stands).unwrap_or(0) + 1
    }

    fn optional(&self, key: &str) -> Result<Option<String>, Fault> {
        let text = match self.keys.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.trim().to_owned()),
            Some(plain @ (Value::Number(_) | Value::Bool(_))) => Some(plain.to_string()),
            Some(_) => return Err((self.line(key), format!("`{key}` must be a text"))),
        };
        Ok(text.filter(|text| !text.is_empty()))
    }

    fn needed(&self, key: &str, meaning: &str) -> Result<String, Fault> {
        self.optional(key)?.ok_or_else(|| (self.line(key), format!("`{key}` is missing: {meaning}")))
    }

    fn bounded(&self, key: &str, text: String, limit: usize) -> Result<String, Fault> {
        let length = text.chars().count();
        if length > limit {
            return Err((self.line(key), format!("`{key}` has {length} characters, at most {limit} are allowed")));
        }
        Ok(text)
    }

    fn metadata(&self) -> Result<BTreeMap<String, String>, Fault> {
        match self.keys.get("metadata") {
            None | Some(Value::Null) => Ok(BTreeMap::new()),
            Some(Value::Object(pairs)) => Ok(pairs.iter().map(|(key, value)| (key.clone(), plain(value))).collect()),
            Some(_) => Err((self.line("metadata"), "`metadata` must be pairs of a key and a text".to_owned())),
        }
    }

    /// Parses the allowed tools: names separated by blanks, as the format defines, or a list, which some authors write.
    fn allowed_tools(&self) -> Result<Vec<String>, Fault> {
        match self.keys.get("allowed-tools") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(names)) => Ok(names.split_whitespace().map(str::to_owned).collect()),
            Some(Value::Array(names)) => Ok(names.iter().map(plain).collect()),
            Some(_) => Err((self.line("allowed-tools"), "`allowed-tools` must be names with blanks between them".to_owned())),
        }
    }
}

fn well_named(name: &str) -> bool {
    let letters = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (1..=MAX_NAME).contains(&name.len()) && letters && !name.starts_with('-') && !name.ends_with('-') && !name.contains("--")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
