//! Paths of a private copy, which its actors know by the path of the original folder.

use std::borrow::Cow;

use serde_json::Value;

use crate::{ToolContext, ToolError, ToolOutput};

impl ToolContext {
    /// Replaces the path of the original folder by that of the working folder, if the working folder is a copy. Leaves the folder of the
    /// runs alone, in which copies lie.
    pub(crate) fn in_copy<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(copy) = self.working_folder().to_str() else { return text.into() };
        let originals = self.originals.iter().filter_map(|original| original.to_str());
        originals.fold(Cow::from(text), |text, original| replaced(text, original, copy, |rest| begins_with_name(rest, "/.aime/runs")))
    }

    /// Replaces the path of the working folder by that of the original folder, if the working folder is a copy.
    #[must_use]
    pub fn as_original<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let paths = self.originals.first().and_then(|original| Some((self.working_folder().to_str()?, original.to_str()?)));
        let text = text.into();
        match paths {
            Some((copy, original)) => replaced(text, copy, original, |_| false),
            None => text,
        }
    }

    /// Makes paths in the original folder and in the working folder relative, if the working folder is a copy. Leaves the folder of the runs
    /// alone. The result suits a program that was started in the copy: the paths lead into the copy, and none names it.
    #[must_use]
    pub fn as_relative<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(copy) = self.working_folder().to_str().filter(|_| !self.originals.is_empty()) else { return text.into() };
        let originals = self.originals.iter().filter_map(|original| original.to_str());
        // The copy lies in the original folder, so its path comes first.
        let folders = std::iter::once(copy).chain(originals);
        folders.fold(Cow::from(text), |text, folder| relative(text, folder))
    }

    /// Replaces the path of the working folder by that of the original folder in a result, if the working folder is a copy.
    pub(crate) fn result_as_original(&self, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        if self.originals.is_empty() {
            return result;
        }
        let mut output = result.map_err(|error| error.map_text(|text| self.as_original(text).into_owned()))?;
        output.text = self.as_original(output.text).into_owned();
        output.references = output.references.into_iter().map(|reference| self.as_original(reference).into_owned()).collect();
        self.value_as_original(&mut output.value);
        Ok(output)
    }

    /// Replaces the path of the working folder by that of the original folder in all texts of a value, if the working folder is a copy.
    pub fn value_as_original(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.as_original(std::mem::take(text)).into_owned(),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value_as_original(value)),
            Value::Object(members) => members.values_mut().for_each(|value| self.value_as_original(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Replaces a path in a text, also as the beginning of other paths, unless `keep` holds for the text behind it.
fn replaced<'a>(text: Cow<'a, str>, from: &str, to: &str, keep: impl Fn(&str) -> bool) -> Cow<'a, str> {
    rewritten(text, from, |rest| if keep(rest) { None } else { Some((to, 0)) })
}

/// Makes the paths in `folder` relative, except those of the folder of the runs.
fn relative<'a>(text: Cow<'a, str>, folder: &str) -> Cow<'a, str> {
    rewritten(text, folder, |rest| match rest.strip_prefix('/') {
        _ if begins_with_name(rest, "/.aime/runs") => None,
        Some(inside) if inside.starts_with(is_of_name) => Some(("", 1)),
        Some(_) => Some(("./", 1)),
        // A dot may end the sentence.
        None if rest.starts_with('.') => Some(("./", 0)),
        None => Some((".", 0)),
    })
}

/// Rewrites a path in a text, also as the beginning of other paths. `rewrite` gets the text behind the path. It returns the text that
/// replaces the path and the number of bytes behind the path that are left out, or `None` if the path stays.
fn rewritten<'a, 'b>(text: Cow<'a, str>, from: &str, rewrite: impl Fn(&str) -> Option<(&'b str, usize)>) -> Cow<'a, str> {
    let mut new = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices(from) {
        let (before, rest) = (text.get(..at).unwrap_or_default(), text.get(at + from.len()..).unwrap_or_default());
        if before.ends_with(is_of_name) || before.ends_with('/') || !begins_with_name(rest, "") {
            continue;
        }
        let Some((to, left_out)) = rewrite(rest) else { continue };
        new.push_str(text.get(done..at).unwrap_or_default());
        new.push_str(to);
        done = at + from.len() + left_out;
    }
    if done == 0 {
        return text;
    }
    new.push_str(text.get(done..).unwrap_or_default());
    new.into()
}

/// Returns whether a text begins with `name`, and the name ends there.
fn begins_with_name(text: &str, name: &str) -> bool {
    let Some(rest) = text.strip_prefix(name) else { return false };
    // A dot may end a sentence.
    let rest = rest.strip_prefix('.').filter(|rest| !rest.starts_with(is_of_name)).unwrap_or(rest);
    !rest.starts_with(is_of_name)
}

/// Returns whether a character continues the name of a file.
fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '+' | '@' | '~')
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_a_copy_read_as_those_of_the_original() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (original, copy) = (root.join("work"), root.join("work/.aime/runs/r/private/a-1/folder"));
        std::fs::create_dir_all(&copy).unwrap();
        let mut context = ToolContext::in_folder(&copy).unwrap();
        context.originals = vec![original.clone()];
        let (original, copy) = (original.to_str().unwrap(), copy.to_str().unwrap());
        for text in ["cat W/a.txt", "cd 'W' && ls", "W", "see W.", "a=W:W/b", "cat W/.aime/a/bash-1.txt", "ls W/.aime/runsies"] {
            let (known, real) = (text.replace('W', original), text.replace('W', copy));
            assert_eq!(context.in_copy(&known), real, "{text}");
            assert_eq!(context.as_original(real), known, "{text}");
        }
        for text in ["cat W2/a", "cat W.txt", "cat /mntW/a", "cat W-old", "ls W/.aime/runs/r", "cat a.txt"] {
            let text = text.replace('W', original);
            assert_eq!(context.in_copy(&text), text);
        }
        let output = ToolOutput { text: format!("{copy}/a"), value: json!({"a": [copy, 1]}), ..ToolOutput::default() };
        let output = context.result_as_original(Ok(output)).unwrap();
        assert_eq!((output.text, output.value), (format!("{original}/a"), json!({"a": [original, 1]})));
        let error = context.result_as_original(Err(ToolError::Exited { code: 1, printed: format!("{copy}: no") })).unwrap_err();
        assert_eq!(error, ToolError::Exited { code: 1, printed: format!("{original}: no") });
        for (text, expected) in [
            ("edit W/src/a.rs, see W.", "edit src/a.rs, see ./."),
            ("cd 'C' && ls C/b W/.aime/a", "cd '.' && ls b .aime/a"),
            ("ls W/ W2/a C/\n", "ls ./ W2/a ./\n"),
            ("compare W/.aime/runs/r/private/a-1/own/t", "compare W/.aime/runs/r/private/a-1/own/t"),
        ] {
            let [text, expected] = [text, expected].map(|text| text.replace('C', "\0").replace('W', original).replace('\0', copy));
            assert_eq!(context.as_relative(&text), expected);
        }
        // Nothing is replaced in a folder that is no copy.
        context.originals = Vec::new();
        assert_eq!((context.as_original(copy), context.as_relative(copy)), (copy.into(), copy.into()));
    }
}
