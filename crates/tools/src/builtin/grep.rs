//! `grep`.

use std::{ops::ControlFlow, path::Path};

use aime_sandbox::{EntryKind, FileError};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{files::blocking, glob::matcher, walk::walk};
use crate::{
    Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool,
    secrets::{admit, learn_private_keys, passed_over},
};

/// Maximum number of matches that are found.
const MAX_MATCHES: usize = 1_000;
/// Maximum characters of a line that are shown.
const MAX_LINE_CHARS: usize = 500;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Grep {
    /// Regular expression
    pattern: String,
    /// File or folder to search; the working folder by default
    path: Option<String>,
    /// Only files with such names, such as *.rs
    glob: Option<String>,
}

pub(super) fn tool() -> impl Tool {
    TypedTool::new("grep", "Search the lines of files.", |parameters: Grep, context: ToolContext| {
        blocking(move || call(&parameters, &context))
    })
    .read_only()
    .touches(ToolScope::Files)
    .alternatives(&["glob", "read_file", "bash"])
}

struct Match {
    path: String,
    line: u64,
    text: String,
}

fn call(parameters: &Grep, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let pattern = &parameters.pattern;
    let regex = RegexMatcher::new_line_matcher(pattern).map_err(|error| {
        ToolError::InvalidParameters(format!(
            "the pattern cannot be read: {error}; put a backslash before ( ) [ ] {{ }} . * + ? | to find the sign itself"
        ))
    })?;
    let wanted = parameters.glob.as_deref().filter(|glob| !glob.trim().is_empty()).map(name_filter).transpose()?;
    let base = context.folder.resolve(parameters.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("."))?;
    let mut search = Search { context, regex, searcher: searcher(), matches: Vec::new(), files: 0, held_back: 0, keys: Vec::new() };
    if context.folder.facts(&base)?.kind == EntryKind::Folder {
        walk(context, &base, |path| {
            let beneath = path.strip_prefix(&base).unwrap_or(path);
            if wanted.as_ref().is_some_and(|wanted| !wanted(beneath)) {
                return Ok(ControlFlow::Continue(()));
            }
            if context.rules.holds_back(&path.to_string_lossy()) {
                search.held_back += 1;
                return Ok(ControlFlow::Continue(()));
            }
            if passed_over(path) {
                search.keys.push(path.to_string_lossy().into_owned());
                return Ok(ControlFlow::Continue(()));
            }
            match search.file(path) {
                Ok(()) if search.matches.len() < MAX_MATCHES => Ok(ControlFlow::Continue(())),
                Ok(()) => Ok(ControlFlow::Break(())),
                // The file vanished or is not readable; search the others.
                Err(error) => {
                    tracing::debug!(%error, file = %path.display(), "not searched");
                    Ok(ControlFlow::Continue(()))
                }
            }
        })?;
    } else {
        admit(context, &context.folder.relative(parameters.path.as_deref().unwrap_or_default())?)?;
        search.file(&base)?;
    }
    let mut output = output(pattern, &search.matches, search.files);
    if let Some(first) = search.keys.first() {
        let files = super::files::counted(search.keys.len(), "file");
        output.text.push_str(&format!("\n[{files} of keys or passwords not searched, such as `{first}`: give one as `path` to search it]"));
    }
    if search.held_back > 0 {
        let files = super::files::counted(search.held_back, "file");
        output.text.push_str(&format!("\n[{files} not searched: a rule holds them back]"));
    }
    Ok(output)
}

fn output(pattern: &str, matches: &[Match], files: usize) -> ToolOutput {
    let mut lines: Vec<_> = matches.iter().map(|Match { path, line, text }| format!("{path}:{line}:{text}")).collect();
    if matches.is_empty() {
        lines.push(format!("No line matches `{pattern}` in {}.", super::files::counted(files, "file")));
    } else if matches.len() >= MAX_MATCHES {
        lines.push(format!("[stopped at {MAX_MATCHES} matches; give a narrower pattern, path or glob]"));
    }
    let found: Vec<Value> = matches.iter().map(|Match { path, line, text }| json!({"path": path, "line": line, "text": text})).collect();
    ToolOutput { text: lines.join("\n"), value: json!({"count": matches.len(), "matches": found}), ..ToolOutput::default() }
}

/// Compiles a file filter with the rules of other search tools: a pattern without `/` matches names at any depth, `!` negates it.
fn name_filter(glob: &str) -> Result<impl Fn(&Path) -> bool, ToolError> {
    let (negative, glob) = glob.strip_prefix('!').map_or((false, glob), |rest| (true, rest));
    let whole = glob.contains('/');
    let matcher = matcher(glob.trim_start_matches("./").trim_start_matches('/'))?;
    Ok(move |path: &Path| {
        let name = if whole { Some(path.as_os_str()) } else { path.file_name() };
        name.is_some_and(|name| matcher.is_match(name)) != negative
    })
}

fn searcher() -> Searcher {
    SearcherBuilder::new().line_number(true).binary_detection(BinaryDetection::quit(0)).build()
}

struct Search<'a> {
    context: &'a ToolContext,
    regex: RegexMatcher,
    searcher: Searcher,
    matches: Vec<Match>,
    files: usize,
    held_back: usize,
    /// Credential files, which are searched only if the call names them.
    keys: Vec<String>,
}

impl Search<'_> {
    fn file(&mut self, path: &Path) -> Result<(), FileError> {
        let Self { context, regex, searcher, matches, files, .. } = self;
        let file = context.folder.open_file(path)?;
        *files += 1;
        let name = path.to_string_lossy();
        let before = matches.len();
        let sink = Lossy(|line, text| {
            matches.push(Match { path: name.to_string(), line, text: display_line(text) });
            Ok(matches.len() < MAX_MATCHES && !context.cancel.is_cancelled())
        });
        searcher.search_file(&*regex, &file, sink).map_err(|source| FileError::Io { path: path.into(), action: "read", source })?;
        if matches.len() > before
            && let Ok(bytes) = context.folder.read(path)
        {
            learn_private_keys(&bytes, &context.redactor);
        }
        Ok(())
    }
}

fn display_line(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    match line.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
