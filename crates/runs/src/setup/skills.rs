//! Skills of the user and of the project.

use std::{
    fs,
    path::{Path, PathBuf},
};

use aime_messages::{Message, message};
use aime_sandbox::ConfinedFolder;
use aime_tools::{InstalledSkill, Skill, SkillCatalog};

/// Largest `SKILL.md`, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Largest number of files of a skill in the list, and, below, the largest depth at which they are found.
const MAX_FILES: usize = 200;
const MAX_DEPTH: usize = 4;

/// Skills that were found, with notes.
#[derive(Debug, Default)]
pub struct FoundSkills {
    /// The skills.
    pub catalog: SkillCatalog,
    /// Notes on skills that were left out or replaced.
    pub notes: Vec<Message>,
}

/// Reads the skills of these folders; a later folder replaces skills of the same name. Faulty skills are left out with a note. So are
/// skills behind a link that leads out of the folder's project, if it has one, because their text enters prompts.
pub(super) fn find<'a>(folders: impl IntoIterator<Item = (PathBuf, Option<&'a Path>)>) -> FoundSkills {
    let mut found = FoundSkills::default();
    for (folder, project) in folders {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => continue,
            Err(error) => {
                found.notes.push(message!("no-skills", folder = folder.display(), error));
                continue;
            }
        };
        let mut places: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        places.retain(|place| place.join("SKILL.md").is_file());
        places.sort();
        for place in places {
            match read(&place, project) {
                Ok(skill) => {
                    let name = skill.name.clone();
                    let files = files_of(&place);
                    if let Some(other) = found.catalog.add(InstalledSkill { skill, folder: place.clone(), files }) {
                        let (place, other) = (place.display(), other.folder.display());
                        found.notes.push(message!("skill-taken", name = name, place = place, other = other));
                    }
                }
                Err(fault) => found.notes.push(message!("no-skill", why = fault)),
            }
        }
    }
    found
}

fn read(place: &Path, project: Option<&Path>) -> Result<Skill, Message> {
    let file = place.join("SKILL.md");
    let unreadable = |error: &dyn std::fmt::Display| message!("unreadable", what = file.display(), reason = Message::text(error));
    let size = fs::metadata(&file).map_err(|error| unreadable(&error))?.len();
    if size > MAX_FILE_BYTES {
        return Err(message!("long-skill", file = file.display(), size, most = MAX_FILE_BYTES));
    }
    let bytes = match project {
        Some(project) => ConfinedFolder::open(project).and_then(|folder| folder.read(&file)).map_err(|error| unreadable(&error))?,
        None => fs::read(&file).map_err(|error| unreadable(&error))?,
    };
    let text = String::from_utf8(bytes).map_err(|error| unreadable(&error))?;
    Skill::parse(&file, &text).map_err(Message::text)
}

/// Returns the files beside `SKILL.md`, in order. Links and hidden files are skipped.
fn files_of(place: &Path) -> Vec<String> {
    let mut files = Vec::new();
    collect(place, place, MAX_DEPTH, &mut files);
    files.sort();
    files
}

fn collect(place: &Path, folder: &Path, depth: usize, files: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type());
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if hidden || files.len() >= MAX_FILES {
            continue;
        }
        match kind {
            Ok(kind) if kind.is_dir() && depth > 1 => collect(place, &path, depth - 1, files),
            Ok(kind) if kind.is_file() => {
                let name = path.strip_prefix(place).unwrap_or(&path).to_string_lossy().into_owned();
                files.extend((name != "SKILL.md").then_some(name));
            }
            _ => {}
        }
    }
}
