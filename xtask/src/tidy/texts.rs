//! Text files: no traces of a machine, and links that lead somewhere.

use std::collections::BTreeSet;

use super::Fault;
use super::codebase::{Codebase, TextFile};

/// Folders of a machine: a path below one of them means nothing elsewhere.
const MACHINE_FOLDERS: [&str; 4] = ["root", "home", "Users", "work"];

/// Hosts of package registries: which one is used is the user's setting. Written in halves, so that this file is in order too.
const REGISTRY_HOSTS: [(&str, &str); 5] = [
    ("index.", "crates.io"),
    ("static.", "crates.io"),
    ("pypi.", "org/simple"),
    ("files.", "pythonhosted.org"),
    ("registry.", "npmjs.org"),
];

/// Files that are made by tools.
const MADE: [&str; 2] = ["Cargo.lock", ".snap"];

/// The faults in the text files.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in codebase.files.iter().filter(|file| !MADE.iter().any(|made| file.path.ends_with(made))) {
        for (index, text) in file.text.lines().enumerate() {
            let line = index + 1;
            let test = || file.is_test() || file.rust.as_ref().is_some_and(|rust| rust.is_test_line(line));
            if let Some(path) = machine_path(text).filter(|_| !test()) {
                faults.push(Fault::new(&file.path, line, format!("{path} is a path of one machine"), "name it by what it is for"));
            }
            for (first, second) in REGISTRY_HOSTS {
                if text.contains(&format!("{first}{second}")) {
                    faults.push(Fault::new(&file.path, line, "the host of a registry", "leave the choice to the user's settings"));
                }
            }
        }
    }
    let places = places(codebase);
    for file in codebase.files.iter().filter(|file| file.path.ends_with(".md")) {
        for link in links(&file.text) {
            faults.extend(check_link(codebase, &places, file, &link));
        }
    }
    faults
}

/// A path below a machine's folder, if a line has one.
fn machine_path(line: &str) -> Option<String> {
    let starts = |at: usize| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "_.-~".contains(c))
    };
    let below = |folder: &str| {
        let found = line.match_indices(folder).filter(|(at, _)| starts(*at));
        let rest = found.filter_map(|(at, _)| line.get(at + folder.len()..));
        let name = rest.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && !"_-.".contains(c)).next().unwrap_or_default());
        name.filter(|name| !name.is_empty()).map(|name| format!("{folder}{name}")).next()
    };
    MACHINE_FOLDERS.iter().find_map(|folder| below(&format!("/{folder}/"))).or_else(|| {
        // A temporary file may be named in an example; a folder of one is somebody's work place.
        let path = below("/tmp/")?;
        line.contains(&format!("{path}/")).then_some(path)
    })
}

/// A link in a Markdown file.
pub(super) struct Link {
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) target: String,
}

/// The links of a Markdown text, without those in code.
pub(super) fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("](").filter(|_| !fenced) {
            let label = before.rsplit_once('[').map_or("", |(_, label)| label);
            let target = after.split(')').next().unwrap_or_default();
            let in_code = before.rsplit_once('[').is_some_and(|(outside, _)| outside.matches('`').count() % 2 == 1);
            if !in_code {
                links.push(Link { line: index + 1, text: label.to_owned(), target: target.to_owned() });
            }
            rest = after;
        }
    }
    links
}

/// Every file and folder of the codebase.
fn places(codebase: &Codebase) -> BTreeSet<&str> {
    let mut places = BTreeSet::new();
    for mut path in codebase.files.iter().map(|file| file.path.as_str()).chain(codebase.data.iter().map(String::as_str)) {
        places.insert(path);
        while let Some((parent, _)) = path.rsplit_once('/') {
            places.insert(parent);
            path = parent;
        }
    }
    places
}

/// A link leads to a file or folder; a link to a Rust file with a name in backticks as its text, to that name in it.
fn check_link(codebase: &Codebase, places: &BTreeSet<&str>, file: &TextFile, link: &Link) -> Option<Fault> {
    let target = link.target.split('#').next().unwrap_or_default();
    let elsewhere = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
    if elsewhere {
        return None;
    }
    let fault = |what: String| Some(Fault::new(&file.path, link.line, what, "mend the link"));
    let Some(path) = resolve(&file.path, target).filter(|path| path.is_empty() || places.contains(path.as_str())) else {
        return fault(format!("the link to {target} leads nowhere"));
    };
    let name = link.text.strip_prefix('`').and_then(|text| text.strip_suffix('`'))?;
    let named = codebase.file(&path).filter(|linked| linked.rust.is_some())?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let found = named.text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    if is_name && !found { fault(format!("{path} has nothing named {name}")) } else { None }
}

/// A relative target, seen from a file, as a path from the root; nothing if it leaves the root.
pub(super) fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
