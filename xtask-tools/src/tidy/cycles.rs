//! Rule for modules: the commands of the command line do not import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::codebase::Codebase;

/// Module whose children are checked, by its folder, and the path of its crate's names for it.
const CHECKED: (&str, &str) = ("crates/cli/src/commands/", "commands");

/// Imports between modules: from each module to the modules that it names, with the file and the line.
type Imports = BTreeMap<String, BTreeMap<String, (String, usize)>>;

/// Returns one fault for each circle of imports.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let imports = imports(codebase);
    let mut faults = Vec::new();
    let mut reported = BTreeSet::new();
    for module in imports.keys() {
        let Some(circle) = circle_from(module, &imports) else { continue };
        if circle.iter().any(|module| reported.contains(module)) {
            continue;
        }
        let next = circle.get(1).or(circle.first());
        let place = next.and_then(|next| imports.get(module)?.get(next));
        let Some((file, line)) = place else { continue };
        let shown = format!("{} → {module}", circle.join(" → "));
        faults.push(Fault::new(
            file,
            *line,
            format!("commands import in a circle: {shown}"),
            "move what both need into a module of its own",
        ));
        reported.extend(circle);
    }
    faults
}

/// Reads the imports between the children of the checked module. A file in a child's folder belongs to the child.
fn imports(codebase: &Codebase) -> Imports {
    let (folder, name) = CHECKED;
    let child_of = |path: &str| {
        let inside = path.strip_prefix(folder)?;
        Some(inside.split('/').next()?.trim_end_matches(".rs").to_owned())
    };
    let children: BTreeSet<String> = codebase.rust().filter_map(|(file, _)| child_of(&file.path)).collect();
    let mut imports: Imports = children.iter().map(|child| (child.clone(), BTreeMap::new())).collect();
    for (file, rust) in codebase.rust().filter(|(file, _)| !file.is_test()) {
        let Some(child) = child_of(&file.path) else { continue };
        // The file of a child reaches its siblings by one `super`, a file below it by one more for each folder.
        let depth = file.path.matches('/').count() - folder.matches('/').count() + 1;
        for (line, path) in rust.paths() {
            let other = match path.as_slice() {
                ["crate", module, other, ..] if *module == name => other,
                path if path.len() > depth && path.iter().take(depth).all(|word| *word == "super") => path.get(depth).unwrap_or(&""),
                _ => continue,
            };
            if *other != child && children.contains(*other) {
                let found = imports.entry(child.clone()).or_default();
                found.entry((*other).to_owned()).or_insert_with(|| (file.path.clone(), line));
            }
        }
    }
    imports
}

/// Returns the modules of a shortest circle through a module, which comes first.
fn circle_from(start: &str, imports: &Imports) -> Option<Vec<String>> {
    let (mut ways, mut seen) = (vec![vec![start.to_owned()]], BTreeSet::new());
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in way.last().and_then(|last| imports.get(last)).into_iter().flat_map(BTreeMap::keys) {
                if next == start {
                    return Some(way);
                }
                if seen.insert(next.clone()) {
                    longer.push(way.iter().chain([next]).cloned().collect());
                }
            }
        }
        ways = longer;
    }
    None
}
