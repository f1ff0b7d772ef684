//! The page that says what aime owes its users: each row is shown by a test, or says plainly that it is not.

use super::Fault;
use super::codebase::Codebase;
use super::texts::{Link, links, resolve};

/// The page. A row is an item of a list in one of its sections.
const PAGE: &str = "docs/requirements.md";

/// What a row says that no test shows, wholly or in part.
const OPEN: [&str; 2] = ["not built yet", "not shown by a test yet"];

/// The faults of the page.
pub(super) fn check(codebase: &Codebase) -> Vec<Fault> {
    let Some(page) = codebase.file(PAGE) else {
        return vec![Fault::new(PAGE, 1, "the page is missing", "say there what aime owes its users, and which tests show it")];
    };
    let (links, rows) = (links(&page.text), rows(&page.text));
    let mut faults = Vec::new();
    if rows.is_empty() {
        faults.push(Fault::new(PAGE, 1, "the page has no rows", "write each as an item of a list"));
    }
    for link in &links {
        if let Some(what) = no_test(codebase, link) {
            faults.push(Fault::new(PAGE, link.line, what, "link the test that shows the row"));
        }
    }
    for row in rows {
        let shown = links.iter().any(|link| row.lines.contains(&link.line) && link.target.ends_with(".rs"));
        if !shown && !OPEN.iter().any(|open| row.text.contains(open)) {
            let mend = format!("link a test, or write \"{}\"", OPEN.join("\" or \""));
            faults.push(Fault::new(PAGE, row.lines.start, "no test shows this row", mend));
        }
    }
    faults
}

/// An item of a list, with the lines that go on with it.
struct Row {
    /// Its lines, counted from 1.
    lines: std::ops::Range<usize>,
    /// All of it in one line.
    text: String,
}

/// The items of all lists. One ends at the next one, at a heading and at an empty line.
fn rows(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let words = line.trim();
        if begins_item(words) {
            rows.push(Row { lines: index + 1..index + 2, text: words.to_owned() });
            open = true;
        } else if words.is_empty() || words.starts_with('#') {
            open = false;
        } else if let Some(row) = rows.last_mut().filter(|_| open) {
            row.lines.end = index + 2;
            row.text = format!("{} {words}", row.text);
        }
    }
    rows
}

/// Whether a line begins with `-`, `*`, or a number and a point.
fn begins_item(line: &str) -> bool {
    let numbered = line.split_once(". ").is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    numbered || line.starts_with("- ") || line.starts_with("* ")
}

/// What is wrong with a link to a Rust file that should name a test in it. Other links are checked with those of all texts.
fn no_test(codebase: &Codebase, link: &Link) -> Option<String> {
    let target = link.target.split('#').next().unwrap_or_default();
    let file = codebase.file(&resolve(PAGE, target)?)?;
    let tests = file.rust.as_ref()?.tests();
    let name = link.text.trim_matches('`');
    (!tests.contains(&name)).then(|| format!("{} has no test named {name}", file.path))
}
