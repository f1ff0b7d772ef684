//! Input of tidy: the packages and text files of a workspace, read once.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::rust::Source;

/// Folders with generated content. `.git` is a file in a linked worktree.
const SKIPPED: [&str; 5] = ["target", ".git", ".aime", "book", "node_modules"];

/// Size above which a file counts as data, in bytes.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// Packages and text files of a workspace.
pub(super) struct Codebase {
    /// Members of the workspace, by folder, without excluded ones.
    pub(super) packages: Vec<Package>,
    /// All text files, by path.
    pub(super) files: Vec<TextFile>,
    /// Other files, such as pictures, by path.
    pub(super) data: Vec<String>,
    /// Manifest of the workspace.
    pub(super) manifest: Table,
}

/// Member of the workspace.
pub(super) struct Package {
    pub(super) name: String,
    /// Its folder, relative to the workspace, with `/`.
    pub(super) folder: String,
    pub(super) manifest: Table,
}

/// Text file.
pub(super) struct TextFile {
    /// Its path, relative to the workspace, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// Parsed source, for a Rust file.
    pub(super) rust: Option<Source>,
}

impl Codebase {
    /// Reads the workspace in a folder.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let (mut files, mut data) = (Vec::new(), Vec::new());
        walk(root, "", &mut files, &mut data)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        mark_test_modules(&mut files);
        let manifest = fs::read_to_string(root.join("Cargo.toml")).with_context(|| format!("no Cargo.toml in {}", root.display()))?;
        let manifest: Table = manifest.parse().context("Cargo.toml is not TOML")?;
        let excluded = manifest.get("workspace").and_then(|workspace| workspace.get("exclude")).and_then(Value::as_array);
        let excluded: Vec<String> = excluded.into_iter().flatten().filter_map(|folder| Some(format!("{}/", folder.as_str()?))).collect();
        let is_member = |path: &str| !excluded.iter().any(|folder| path.starts_with(folder.as_str()));
        let manifests = files.iter().filter(|file| file.path.ends_with("/Cargo.toml") && is_member(&file.path));
        let mut packages = Vec::new();
        for file in manifests {
            let manifest: Table = file.text.parse().with_context(|| format!("{} is not TOML", file.path))?;
            let Some(name) = text_at(&manifest, &["package", "name"]) else { continue };
            let folder = file.path.trim_end_matches("/Cargo.toml").to_owned();
            packages.push(Package { name: name.to_owned(), folder, manifest });
        }
        Ok(Self { packages, files, data, manifest })
    }

    /// Returns the file with this path.
    pub(super) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Iterates over the Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&TextFile, &Source)> {
        self.files.iter().filter_map(|file| Some((file, file.rust.as_ref()?)))
    }
}

impl Package {
    /// Returns the path of its manifest.
    pub(super) fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// Returns the dependencies of a kind (`dependencies`, `dev-dependencies`, `build-dependencies`), on every platform.
    pub(super) fn dependencies(&self, kind: &str) -> Vec<(&str, &Value)> {
        let platforms = self.manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
        let tables = std::iter::once(&self.manifest).chain(platforms.filter_map(Value::as_table));
        let tables = tables.filter_map(|table| table.get(kind)?.as_table());
        tables.flatten().map(|(name, value)| (name.as_str(), value)).collect()
    }
}

impl TextFile {
    /// Returns the first line, counted from 1, that starts with a text; 1 if there is none.
    pub(super) fn line_starting(&self, start: &str) -> usize {
        self.text.lines().position(|line| line.trim_start().starts_with(start)).map_or(1, |index| index + 1)
    }

    /// Returns true if the path marks the whole file as test code.
    pub(super) fn is_test(&self) -> bool {
        let stem = self.path.trim_end_matches(".rs");
        stem.ends_with("/tests") || ["/tests/", "/benches/", "/examples/"].iter().any(|folder| format!("/{}", self.path).contains(folder))
    }
}

/// Returns the text at a path of keys in a table.
pub(super) fn text_at<'a>(table: &'a Table, keys: &[&str]) -> Option<&'a str> {
    let (last, parents) = keys.split_last()?;
    let mut table = table;
    for key in parents {
        table = table.get(*key)?.as_table()?;
    }
    table.get(*last)?.as_str()
}

fn walk(root: &Path, folder: &str, files: &mut Vec<TextFile>, data: &mut Vec<String>) -> Result<()> {
    let here = root.join(folder);
    for entry in fs::read_dir(&here).with_context(|| format!("could not read {}", here.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        // A link counts as its target, except for a link to a folder, which would be visited twice. Broken links are skipped.
        let link = entry.file_type()?.is_symlink();
        let Ok(entry_is) = (if link { fs::metadata(entry.path()) } else { entry.metadata() }) else { continue };
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if entry_is.is_dir() && !link {
            walk(root, &path, files, data)?;
        } else if entry_is.is_file() && entry_is.len() <= MAX_FILE_BYTES {
            // A file that is not UTF-8 is data. A file that was removed since the listing is no fault.
            let Ok(text) = fs::read_to_string(entry.path()) else {
                data.push(path);
                continue;
            };
            let rust = path.ends_with(".rs").then(|| Source::read(&text));
            files.push(TextFile { path, text, rust });
        }
    }
    Ok(())
}

/// Marks the files of modules that are declared `#[cfg(test)] mod name;` as test code, with their submodules.
fn mark_test_modules(files: &mut [TextFile]) {
    let mut modules = Vec::new();
    for file in files.iter() {
        let Some(rust) = &file.rust else { continue };
        let (parent, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let stem = name.trim_end_matches(".rs");
        let below = if ["mod", "lib", "main"].contains(&stem) { parent.to_owned() } else { format!("{parent}/{stem}") };
        modules.extend(rust.test_modules.iter().map(|module| format!("{below}/{module}")));
    }
    for file in files.iter_mut() {
        let test = file.is_test()
            || modules.iter().any(|module| file.path == format!("{module}.rs") || file.path.starts_with(&format!("{module}/")));
        if let (true, Some(rust)) = (test, &mut file.rust) {
            rust.mark_all_test();
        }
    }
}
