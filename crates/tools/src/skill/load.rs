//! `load_skill`.

use std::sync::Arc;

use aime_messages::nearest_first;
use aime_sandbox::ConfinedFolder;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{InstalledSkill, SkillCatalog};
use crate::{
    Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool,
    builtin::{blocking, no_text},
    names::quoted,
};

/// Name of the tool that reads a skill.
pub const LOAD_SKILL: &str = "load_skill";

/// Maximum number of listed files of a skill.
const MAX_FILES: usize = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoadSkill {
    name: String,
    /// One of the skill's files, to read that instead
    file: Option<String>,
}

/// Creates the tool that reads one of these skills, or a file in its folder. The tool can read the folders of the skills, wherever they
/// are, and nothing else.
#[must_use]
pub fn load_skill(skills: SkillCatalog) -> Arc<dyn Tool> {
    let tool = TypedTool::new(LOAD_SKILL, "Read how a kind of work is done.", move |parameters: LoadSkill, context: ToolContext| {
        let skills = skills.clone();
        blocking(move || call(&skills, &parameters, &context))
    });
    Arc::new(tool.read_only().touches(ToolScope::Files))
}

fn call(skills: &SkillCatalog, parameters: &LoadSkill, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let Some(installed) = skills.get(parameters.name.trim()) else {
        let names = nearest_first(&parameters.name, skills.iter().map(|known| known.skill.name.as_str()));
        return Err(ToolError::Failed(format!("Unknown skill: {}. The skills are: {}", parameters.name, quoted(names))));
    };
    let text = match parameters.file.as_deref().map(str::trim).filter(|file| !file.is_empty()) {
        Some(file) => file_of(installed, file)?,
        None => skill_text(installed, context),
    };
    Ok(ToolOutput { text, value: Value::Null, ..ToolOutput::default() })
}

/// Formats the instructions of the skill, and the list of its files.
fn skill_text(installed: &InstalledSkill, context: &ToolContext) -> String {
    let InstalledSkill { skill, folder, files } = installed;
    let mut text = skill.body.clone();
    if !files.is_empty() {
        let place = folder.strip_prefix(context.working_folder()).unwrap_or(folder).display();
        text.push_str(&format!("\n\n[Files of this skill, in {place}; read one with `{LOAD_SKILL}` and `file`]"));
        for file in files.iter().take(MAX_FILES) {
            text.push_str(&format!("\n- {file}"));
        }
        if files.len() > MAX_FILES {
            text.push_str(&format!("\n[{} more]", files.len() - MAX_FILES));
        }
    }
    text
}

fn file_of(installed: &InstalledSkill, file: &str) -> Result<String, ToolError> {
    let bytes = ConfinedFolder::open(&installed.folder)?.read(file).map_err(|error| {
        let error = ToolError::from(error);
        let files: Vec<&str> = nearest_first(file, installed.files.iter().map(String::as_str)).into_iter().take(5).collect();
        let hint = if files.is_empty() { String::new() } else { format!("; its files are: {}", quoted(files)) };
        error.map_text(|text| text + &hint)
    })?;
    match no_text(&bytes) {
        Some(kind) => Err(ToolError::Failed(format!("`{file}` is {kind} of {} bytes; only text can be read", bytes.len()))),
        None => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
