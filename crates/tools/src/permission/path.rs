//! Paths for permission rules: relative to the working folder, without `.` and `..`. The normalization is lexical and follows no symbolic
//! links.

use super::sign::{MatchCertainty, Piece, Sign, fit, known_signs, text_of};

/// A path of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallPath {
    /// Path relative to the working folder; empty for the folder itself, `None` outside of it.
    pub(super) inside: Option<Vec<Sign>>,
    /// Absolute path.
    whole: Vec<Sign>,
}

impl CallPath {
    /// Parses a path of a call, relative to the working folder.
    pub(super) fn new(folder: &str, path: &str) -> Self {
        let path = path.trim();
        let whole = if path.starts_with('/') { clean(path) } else { clean(&format!("{folder}/{path}")) };
        let inside = match whole.strip_prefix(folder) {
            Some("") => Some(String::new()),
            Some(rest) => rest.strip_prefix('/').or_else(|| (folder == "/").then_some(rest)).map(str::to_owned),
            None => None,
        };
        Self { inside: inside.as_deref().map(known_signs), whole: known_signs(&whole) }
    }

    /// Returns the paths that a word of a command may name. `from` lists the possible current folders; `None` if they are unknown.
    pub(super) fn of_word(folder: &str, word: &[Sign], from: Option<&[String]>) -> Vec<Self> {
        let from = match from {
            // The folder's path has no symbolic links, so this is the folder itself.
            Some([only]) if only == folder => return vec![Self::from_here(folder, word, false)],
            Some(from) if word.first() != Some(&Sign::Char('/')) => from,
            Some(_) => return vec![Self::from_here(folder, word, false)],
            None => return vec![Self::from_here(folder, word, true)],
        };
        let moved =
            |from: &String| -> Vec<Sign> { known_signs(from).into_iter().chain([Sign::Char('/')]).chain(word.iter().copied()).collect() };
        from.iter()
            .map(|from| Self::from_here(folder, &if word.contains(&Sign::Any) { word.to_vec() } else { moved(from) }, false))
            .collect()
    }

    fn from_here(folder: &str, word: &[Sign], moved: bool) -> Self {
        match text_of(word) {
            Some(path) if path.starts_with('/') || !moved => Self::new(folder, &path),
            Some(path) => {
                let tail = path.rsplit("../").next().unwrap_or_default();
                let tail = clean_relative(tail).filter(|tail| !tail.is_empty() && !path.ends_with(".."));
                Self::unknown(tail.map_or_else(Vec::new, |tail| known_signs(&format!("/{tail}"))))
            }
            None if !moved && only_globs(word) => {
                let absolute = word.first() == Some(&Sign::Char('/'));
                let below: Vec<Sign> = known_signs(folder).into_iter().chain([Sign::Char('/')]).chain(word.iter().copied()).collect();
                let whole = if absolute { word.to_vec() } else { below };
                let start: Vec<Sign> = known_signs(folder).into_iter().chain([Sign::Char('/')]).collect();
                Self { inside: whole.strip_prefix(start.as_slice()).map(<[Sign]>::to_vec), whole }
            }
            None => Self::unknown(Vec::new()),
        }
    }

    fn unknown(end: Vec<Sign>) -> Self {
        let path: Vec<Sign> = std::iter::once(Sign::Any).chain(end).collect();
        Self { inside: Some(path.clone()), whole: path }
    }

    /// Returns a path that covers everything below this one.
    pub(super) fn all_below(&self) -> Self {
        let below = |path: &Vec<Sign>| {
            let slash = (!path.is_empty()).then_some(Sign::Char('/'));
            path.iter().copied().chain(slash).chain([Sign::Any]).collect()
        };
        Self { inside: self.inside.as_ref().map(below), whole: below(&self.whole) }
    }

    /// Appends a name.
    pub(super) fn child(&self, name: &[Sign]) -> Self {
        let below = |path: &Vec<Sign>| {
            let slash = (!path.is_empty()).then_some(Sign::Char('/'));
            path.iter().copied().chain(slash).chain(name.iter().copied()).collect()
        };
        Self { inside: self.inside.as_ref().map(below), whole: below(&self.whole) }
    }

    /// Returns the path relative to the working folder if it is known, or else the absolute path: the folder may have a second name.
    pub(super) fn known_place(&self) -> Option<String> {
        text_of(self.inside.as_deref().unwrap_or(&self.whole))
    }

    /// Returns the text with which a rule matches this path alone, if the path is known. A name without `/` would match in every folder,
    /// and `*` and `?` would match other names.
    pub(super) fn alone_in_rule(&self) -> Option<String> {
        let place = self.known_place()?;
        let text = if place.contains('/') { place } else { text_of(&self.whole)? };
        (!text.contains(['*', '?'])).then_some(text)
    }

    /// Returns the path relative to the working folder, if it is known.
    pub(super) fn known_inside(&self) -> Option<String> {
        self.inside.as_deref().and_then(text_of)
    }
}

/// Treats `*` and `?` as parts of names, unless they may match `..`.
fn only_globs(word: &[Sign]) -> bool {
    let dotted =
        |name: &[Sign]| matches!(name, [] | [Sign::Char('.')] | [Sign::Char('.'), Sign::Char('.')] | [Sign::Char('.'), Sign::Glob, ..]);
    let mut names = word.split(|sign| *sign == Sign::Char('/'));
    let first = names.next().unwrap_or_default();
    !word.iter().any(|sign| matches!(sign, Sign::Any | Sign::Gap)) && (first.is_empty() || !dotted(first)) && !names.any(dotted)
}

/// Normalizes an absolute path: removes `.`, `..` and doubled `/`.
pub(super) fn clean(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    format!("/{}", names.join("/"))
}

/// Normalizes a relative path; `None` if it leaves the folder at which it begins.
fn clean_relative(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// Path pattern of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    /// True for an absolute pattern.
    absolute: bool,
    /// True for a single name, which matches in any folder.
    anywhere: bool,
    /// Alternative patterns.
    forms: Vec<Vec<Piece>>,
}

impl PathPattern {
    /// Parses the path of a rule. The error describes the fault.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let text = text.trim().strip_prefix("./").unwrap_or(text.trim());
        if text.is_empty() || text == "." {
            return Err("the path is empty: write `**` for all files of the folder".to_owned());
        }
        if text.starts_with("~/") || text == "~" {
            return Err("only a setting knows the home folder: write the path from the root".to_owned());
        }
        if text.ends_with('/') {
            return Err(format!("a path of a file does not end with `/`: write `{text}**` for all that is in the folder"));
        }
        if text.split('/').skip(usize::from(text.starts_with('/'))).any(|name| matches!(name, "" | "." | "..")) {
            return Err(
                "a path with `.`, `..` or nothing between two `/` matches nothing: write the path as it is below the folder".to_owned()
            );
        }
        if text.matches("**/").count() > 3 {
            return Err("more than three `**/` are too many".to_owned());
        }
        let mut forms = vec![Vec::new()];
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("**/") {
                // `**/` matches no folder or any number of folders.
                let deep: Vec<Vec<Piece>> =
                    forms.iter().map(|form: &Vec<Piece>| form.iter().copied().chain([Piece::Star, Piece::Char('/')]).collect()).collect();
                forms.extend(deep);
                rest = after;
                continue;
            }
            let (piece, after) = match rest.strip_prefix("**") {
                Some(after) => (Piece::Star, after),
                None => {
                    let piece = match first {
                        '*' => Piece::InName,
                        '?' => Piece::One,
                        other => Piece::Char(other),
                    };
                    (piece, rest.get(first.len_utf8()..).unwrap_or_default())
                }
            };
            forms.iter_mut().for_each(|form| form.push(piece));
            rest = after;
        }
        let anywhere = !text.contains('/');
        if anywhere {
            let deep: Vec<Vec<Piece>> =
                forms.iter().map(|form| [Piece::Star, Piece::Char('/')].into_iter().chain(form.iter().copied()).collect()).collect();
            forms.extend(deep);
        }
        Ok(Self { absolute: text.starts_with('/'), anywhere, forms })
    }

    /// Matches the pattern against a path. With `and_below`, a pattern also matches everything inside a folder that it matches, and a
    /// single name also matches outside of the working folder.
    pub(super) fn fit(&self, path: &CallPath, and_below: bool) -> MatchCertainty {
        let outside = (self.absolute || (self.anywhere && and_below)).then_some(path.whole.as_slice());
        let inside = (!self.absolute).then_some(path.inside.as_deref()).flatten();
        let texts = [outside, inside];
        let all = texts.into_iter().flatten().flat_map(|text| self.forms.iter().map(move |form| fit_below(form, text, and_below)));
        all.max().unwrap_or(MatchCertainty::Never)
    }
}

fn fit_below(form: &[Piece], path: &[Sign], and_below: bool) -> MatchCertainty {
    let itself = fit(form, path);
    if !and_below || itself == MatchCertainty::Certain {
        return itself;
    }
    let below: Vec<Piece> = form.iter().copied().chain([Piece::Char('/'), Piece::Star]).collect();
    itself.max(fit(&below, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, and_below: bool) -> MatchCertainty {
        PathPattern::read(pattern).unwrap().fit(&CallPath::new("/base/it", path), and_below)
    }

    // Requirement: 13.5
    #[test]
    fn a_path_means_what_the_guide_says() {
        let table = [
            // Columns: pattern, path, match in allow, match in ask and deny.
            (".env", ".env", true, true),
            (".env", "./a/../.env", true, true),
            (".env", "/base/it/.env", true, true),
            (".env", "/base/it/../it//.env", true, true),
            (".env", "sub/deep/.env", true, true),
            (".env", ".ENV", false, false),
            (".env", ".env.local", false, false),
            (".env", "/etc/.env", false, true),
            ("docs/**", "docs/a.md", true, true),
            ("docs/**", "docs/a/b.md", true, true),
            ("docs/**", "docs", false, false),
            ("docs/**", "docs/../.env", false, false),
            ("docs/**", "a/docs/b", false, false),
            ("docs/*", "docs/a.md", true, true),
            ("docs/*", "docs/a/b.md", false, true),
            ("docs/**/x.md", "docs/x.md", true, true),
            ("docs/**/x.md", "docs/a/b/x.md", true, true),
            ("docs/**/x.md", "docs/ax.md", false, false),
            ("*.md", "a.md", true, true),
            ("*.md", "a/b.md", true, true),
            ("*.md", "a.mdx", false, false),
            ("secrets", "secrets/key", false, true),
            ("secrets", "a/secrets/key", false, true),
            ("secrets", "secrets2", false, false),
            ("/etc/*", "/etc/passwd", true, true),
            ("/etc/*", "../../etc/passwd", true, true),
            ("/etc/*", "etc/passwd", false, false),
            ("**", "a/b", true, true),
            ("**", "/etc/passwd", false, true),
            ("[id].ts", "[id].ts", true, true),
            ("a?.md", "ab.md", true, true),
        ];
        for (pattern, path, allows, holds) in table {
            let got = [false, true].map(|and_below| check(pattern, path, and_below) == MatchCertainty::Certain);
            assert_eq!(got, [allows, holds], "{pattern} {path}");
        }
    }

    #[test]
    fn what_is_not_known_may_be_the_path() {
        let any = |text: &str| -> Vec<Sign> {
            text.chars()
                .map(|c| {
                    if c == '$' {
                        Sign::Any
                    } else if c == '*' {
                        Sign::Glob
                    } else {
                        Sign::Char(c)
                    }
                })
                .collect()
        };
        let table = [
            (".env", "$", false, MatchCertainty::Possible),
            (".env", ".e*", false, MatchCertainty::Possible),
            (".env", "*.rs", false, MatchCertainty::Never),
            ("src/a", "docs/$", false, MatchCertainty::Possible),
            ("src/a", "docs/*", false, MatchCertainty::Never),
            ("src/a", "docs/../*/a", false, MatchCertainty::Possible),
            ("src/a", "a", true, MatchCertainty::Possible),
            ("src/a.rs", "b.rs", true, MatchCertainty::Possible),
            ("*.rs", "b.md", true, MatchCertainty::Possible),
            ("src/*.rs", "b", false, MatchCertainty::Never),
            ("src/a", "../src/a", true, MatchCertainty::Possible),
            ("src/a", "..", true, MatchCertainty::Possible),
            (".env", ".env", true, MatchCertainty::Certain),
            (".env", "README.md", true, MatchCertainty::Possible),
        ];
        for (pattern, word, moved, expected) in table {
            let here = ["/base/it".to_owned()];
            let paths = CallPath::of_word("/base/it", &any(word), (!moved).then_some(&here));
            let fits = paths.iter().map(|path| PathPattern::read(pattern).unwrap().fit(path, true)).max();
            assert_eq!(fits, Some(expected), "{pattern} {word} {moved}");
        }
    }
}
