//! Page of requirements: the text of each one, and the tests that carry its number in a mark such as `// Requirement: 3.4`.
//!
//! Only the page contains the texts. `cargo xtask requirements` writes its column of tests; `cargo xtask tidy` refuses a column that
//! differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result};

use super::Fault;
use super::codebase::{Codebase, TextFile};
use xtask::workspace;

/// Path of the page. A row of its tables is `| 3.4 | the requirement | the tests |`.
const PAGE: &str = "docs/src/reference/requirements.md";

/// Prefix of a mark, on a line above the attributes of a test.
const MARK: &str = "// Requirement: ";

/// Last cell of a requirement without tests.
const OPEN: &str = "not shown by a test yet";

/// Number of a requirement: section and row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Number(u32, u32);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Number {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (section, row) = text.split_once('.').ok_or(())?;
        Ok(Self(section.parse().map_err(|_| ())?, row.parse().map_err(|_| ())?))
    }
}

/// Tests of each requirement, by the folder of their package.
type Tests<'a> = BTreeMap<Number, BTreeMap<&'a str, BTreeSet<&'a str>>>;

/// Writes the column of tests.
pub(crate) fn requirements() -> Result<()> {
    let root = workspace::root();
    let codebase = Codebase::read(&root)?;
    let page = codebase.file(PAGE).with_context(|| format!("there is no {PAGE}"))?;
    let (tests, _) = marks(&codebase);
    std::fs::write(root.join(PAGE), rendered(&page.text, &tests)).with_context(|| format!("could not write {PAGE}"))
}

/// Returns the faults of the page and of the marks.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let Some(page) = codebase.file(PAGE) else {
        return vec![Fault::new(PAGE, 1, "the page is missing", "write a table of `| 3.4 | the requirement | the tests |`")];
    };
    let (tests, mut faults) = marks(codebase);
    let mut known = BTreeSet::new();
    for (index, line) in page.text.lines().enumerate() {
        if let Some((number, _)) = row(line).filter(|(number, _)| !known.insert(*number)) {
            faults.push(Fault::new(PAGE, index + 1, format!("requirement {number} is there twice"), "give one of them a new number"));
        }
    }
    for (file, line, number) in marked(codebase) {
        if number.is_ok_and(|number| !known.contains(&number)) {
            faults.push(Fault::new(&file.path, line, "a mark of an unknown requirement", format!("take a number of {PAGE}")));
        }
    }
    let made = rendered(&page.text, &tests);
    if let Some((index, _)) = page.text.lines().zip(made.lines()).enumerate().find(|(_, (is, ought))| is != ought) {
        faults.push(Fault::new(PAGE, index + 1, "the tests of this row differ from the marks", "run `cargo xtask requirements`"));
    }
    faults
}

/// Returns the number and the text of a row of the page.
fn row(line: &str) -> Option<(Number, &str)> {
    let (number, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
    let (text, _) = rest.strip_suffix('|')?.rsplit_once(" |")?;
    Some((number.parse().ok()?, text))
}

/// Renders the page with the tests that the marks name.
fn rendered(page: &str, tests: &Tests<'_>) -> String {
    let line = |line: &str| match row(line) {
        Some((number, text)) => format!("| {number} | {text} | {} |\n", cell(tests.get(&number))),
        None => format!("{line}\n"),
    };
    page.lines().map(line).collect()
}

/// Renders the last cell of a row: `` `orchestrator`: `a_test`, `another` ``.
fn cell(tests: Option<&BTreeMap<&str, BTreeSet<&str>>>) -> String {
    let named = |names: &BTreeSet<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let packages = tests.into_iter().flatten().map(|(package, names)| format!("`{package}`: {}", named(names)));
    let cell = packages.collect::<Vec<_>>().join("; ");
    if cell.is_empty() { OPEN.to_owned() } else { cell }
}

/// Iterates over the marks of all files, with their lines and numbers, or the text that is not a number.
fn marked(codebase: &Codebase) -> impl Iterator<Item = (&TextFile, usize, Result<Number, &str>)> {
    codebase.rust().flat_map(|(file, _)| {
        let lines = file.text.lines().enumerate();
        let marks = lines.filter_map(|(index, line)| Some((index + 1, line.trim_start().strip_prefix(MARK)?)));
        marks.flat_map(move |(line, list)| list.split(", ").map(move |text| (file, line, text.parse().map_err(|()| text))))
    })
}

/// Returns the tests with marks, and the marks without a test.
fn marks(codebase: &Codebase) -> (Tests<'_>, Vec<Fault>) {
    let (mut tests, mut faults) = (Tests::new(), Vec::new());
    for (file, line, number) in marked(codebase) {
        let test = file.rust.as_ref().and_then(|rust| rust.test_below(line));
        match (number, test) {
            (Ok(number), Some(test)) => {
                let packages = tests.entry(number).or_default();
                packages.entry(package(codebase, file)).or_default().insert(test);
            }
            (Err(text), _) => {
                let hint = "write `// Requirement: 3.4`, or several numbers with `, ` between them";
                faults.push(Fault::new(&file.path, line, format!("{text} is no number of a requirement"), hint));
            }
            (_, None) => {
                faults.push(Fault::new(&file.path, line, "a mark without a test below it", "put it above the attributes of a test"))
            }
        }
    }
    (tests, faults)
}

/// Returns the folder of a file's package, without `crates/`, or the first folder of a file outside of all packages.
fn package<'a>(codebase: &'a Codebase, file: &'a TextFile) -> &'a str {
    let folders = codebase.packages.iter().map(|package| package.folder.as_str());
    let folder =
        folders.filter(|folder| file.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))).max_by_key(|folder| folder.len());
    let folder = folder.or_else(|| file.path.split('/').next()).unwrap_or_default();
    folder.strip_prefix("crates/").unwrap_or(folder)
}
