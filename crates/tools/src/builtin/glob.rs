//! `glob`.

use std::{
    ops::ControlFlow,
    path::{Component, Path},
};

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    files::{blocking, counted},
    walk::walk,
};
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolScope, TypedTool};

/// Maximum number of paths that are found.
const MAX_PATHS: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Glob {
    /// Such as **/*.rs or src/*.{ts,tsx}
    pattern: String,
    /// Folder to search; the working folder by default
    path: Option<String>,
}

pub(super) fn tool() -> impl Tool {
    TypedTool::new("glob", "Find files by name.", |parameters: Glob, context: ToolContext| blocking(move || call(&parameters, &context)))
        .read_only()
        .touches(ToolScope::Files)
        .alternatives(&["list_dir", "grep", "bash"])
}

fn call(parameters: &Glob, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let base = context.folder.resolve(parameters.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("."))?;
    if context.folder.facts(&base)?.kind != aime_sandbox::EntryKind::Folder {
        return Err(ToolError::Failed(format!("`{}` is a file, not a folder", base.display())));
    }
    let pattern = inside(context, &parameters.pattern)?;
    let matcher = matcher(&pattern)?;
    let deep = matcher_deep(&pattern);
    let mut paths = Vec::new();
    let mut deeper = 0_usize;
    walk(context, &base, |path| {
        let beneath = path.strip_prefix(&base).unwrap_or(path);
        if matcher.is_match(beneath) {
            paths.push(path.to_string_lossy().into_owned());
        } else if deep.as_ref().is_some_and(|deep| deep.is_match(beneath)) {
            deeper += 1;
        }
        Ok(if paths.len() < MAX_PATHS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    paths.sort_unstable();
    let text = if paths.is_empty() {
        let elsewhere = if deeper > 0 { format!(" `**/{pattern}` finds {}.", counted(deeper, "file")) } else { String::new() };
        format!("No file matches `{pattern}`.{elsewhere}")
    } else if paths.len() == MAX_PATHS {
        format!("{}\n[stopped at {MAX_PATHS} files; give a narrower pattern]", paths.join("\n"))
    } else {
        paths.join("\n")
    };
    Ok(ToolOutput { text, value: json!({"count": paths.len(), "paths": paths}), ..ToolOutput::default() })
}

/// Returns a pattern relative to the searched folder. Accepts an absolute pattern inside the working folder.
fn inside(context: &ToolContext, pattern: &str) -> Result<String, ToolError> {
    let climbs = Path::new(pattern).components().any(|component| component == Component::ParentDir);
    match context.folder.relative(pattern) {
        Ok(relative) if !climbs => Ok(relative.to_string_lossy().into_owned()),
        _ => Err(ToolError::Denied(format!("the pattern `{pattern}` leads out of the working folder; use one inside it"))),
    }
}

/// Compiles a pattern. `*` stays within one folder, `**` does not.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    Ok(glob.map_err(|error| ToolError::InvalidParameters(format!("the pattern cannot be read: {error}")))?.compile_matcher())
}

/// Returns a pattern for the same name at any depth, for a hint.
fn matcher_deep(pattern: &str) -> Option<GlobMatcher> {
    (!pattern.contains('/')).then(|| matcher(&format!("**/{pattern}")).ok())?
}
