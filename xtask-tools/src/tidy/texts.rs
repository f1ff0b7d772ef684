//! Rules for text files: no traces of a machine, and no broken links.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::codebase::{Codebase, TextFile};

/// Folders of a machine. Paths below them are meaningless elsewhere.
const MACHINE_FOLDERS: [&str; 4] = ["root", "home", "Users", "work"];

/// Hosts of package registries, which the user's settings choose. They are split in halves, so that this file passes its own rule.
const REGISTRY_HOSTS: [(&str, &str); 5] = [
    ("index.", "crates.io"),
    ("static.", "crates.io"),
    ("pypi.", "org/simple"),
    ("files.", "pythonhosted.org"),
    ("registry.", "npmjs.org"),
];

/// Generated files.
const MADE: [&str; 2] = ["Cargo.lock", ".snap"];

/// Returns the faults in the text files.
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

/// Returns a path below a machine's folder in a line, if there is one.
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
        // An example may name a temporary file, but a folder there is someone's working folder.
        let path = below("/tmp/")?;
        line.contains(&format!("{path}/")).then_some(path)
    })
}

/// Link in a Markdown file.
pub(super) struct Link {
    /// Line, from 1.
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) target: String,
}

/// Returns the links of a Markdown text, without those in code.
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

/// Returns every file and folder of the codebase.
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

/// Checks that a link leads to a file or folder, and its anchor to a heading of a Markdown file. If its text is a name in backticks and its
/// target a Rust file, the file must contain the name.
fn check_link(codebase: &Codebase, places: &BTreeSet<&str>, file: &TextFile, link: &Link) -> Option<Fault> {
    let (target, anchor) = link.target.split_once('#').unwrap_or((link.target.as_str(), ""));
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let fault = |what: String| Some(Fault::new(&file.path, link.line, what, "correct the link"));
    let path = if target.is_empty() { Some(file.path.clone()) } else { resolve(&file.path, target) };
    let Some(path) = path.filter(|path| path.is_empty() || places.contains(path.as_str())) else {
        return fault(format!("the link to {target} leads nowhere"));
    };
    let page = codebase.file(&path).filter(|linked| linked.path.ends_with(".md") && !anchor.is_empty());
    if page.is_some_and(|page| !anchors(&page.text).iter().any(|known| known == anchor)) {
        return fault(format!("{path} has no heading #{anchor}"));
    }
    let name = link.text.strip_prefix('`').and_then(|text| text.strip_suffix('`'))?;
    let named = codebase.file(&path).filter(|linked| linked.rust.is_some())?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let found = named.text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    if is_name && !found { fault(format!("{path} has nothing named {name}")) } else { None }
}

/// Returns the anchors of the headings in a Markdown text, without those in code. GitHub and mdBook make an anchor of the letters, digits,
/// `-` and `_` of a heading, with `-` for each space, and number the anchors that repeat.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let heading = line.strip_prefix('#').and_then(|rest| rest.trim_start_matches('#').strip_prefix(' '));
        let Some(heading) = heading.filter(|_| !fenced) else { continue };
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).flat_map(char::to_lowercase);
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let before = uses.entry(anchor.clone()).or_default();
        anchors.push(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

/// Resolves a relative target of a file to a path from the root; none if it leaves the root.
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
