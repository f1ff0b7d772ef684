//! Git settings that can neither run code nor redirect data.

use std::collections::BTreeMap;

/// Sections in which every setting is harmless.
const SECTIONS: &[&str] = &["advice", "color", "column", "status", "pull", "rerere", "versionsort"];
/// Harmless settings without a subsection.
const SETTINGS: &[&str] = &[
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.quotepath",
    "core.longpaths",
    "core.abbrev",
    "core.whitespace",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.untrackedcache",
    "core.preloadindex",
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "init.defaultbranch",
    "push.default",
    "push.autosetupremote",
    "push.followtags",
    "fetch.prune",
    "fetch.prunetags",
    "merge.ff",
    "merge.conflictstyle",
    "rebase.autostash",
    "rebase.autosquash",
    "diff.renames",
    "diff.algorithm",
    "diff.colormoved",
    "commit.gpgsign",
    "tag.gpgsign",
    "tag.sort",
    "branch.autosetuprebase",
    "branch.autosetupmerge",
    "branch.sort",
    "gc.auto",
    "maintenance.auto",
    "maintenance.strategy",
    "extensions.objectformat",
    "extensions.refstorage",
    "extensions.partialclone",
    "extensions.worktreeconfig",
    "submodule.recurse",
    "submodule.active",
    "lfs.repositoryformatversion",
];
/// Harmless settings with a subsection.
const OF_SUBSECTIONS: &[&str] = &[
    "remote.url",
    "remote.fetch",
    "remote.tagopt",
    "remote.prune",
    "remote.promisor",
    "remote.partialclonefilter",
    "branch.remote",
    "branch.merge",
    "branch.rebase",
    "branch.description",
    "submodule.url",
    "submodule.active",
    "submodule.branch",
    "submodule.path",
    "submodule.ignore",
    "submodule.shallow",
    "submodule.fetchrecursesubmodules",
];

/// Returns true if a setting such as `user.name` can neither run code nor send data to a place that no person has named.
pub(crate) fn is_harmless_setting(key: &str, value: &str) -> bool {
    let Some((section, rest)) = key.split_once('.') else { return false };
    let section = section.to_lowercase();
    let (name, known) = match rest.rsplit_once('.') {
        Some((_, name)) => (name.to_lowercase(), OF_SUBSECTIONS),
        None => (rest.to_lowercase(), SETTINGS),
    };
    let unusual = value.contains(['\\', '"', '#', ';', '\n', '\r', '\0']);
    // `ext::command` is a URL too, and a branch may have a URL in the place of a remote's name.
    let runs = value.contains("::") || value.starts_with('-');
    let address =
        section == "branch" && name == "remote" && (value.contains([':', '\\']) || value.starts_with(['/', '~', '.']) && value != ".");
    !unusual && !runs && !address && (SECTIONS.contains(&section.as_str()) || known.contains(&format!("{section}.{name}").as_str()))
}

/// Returns true if a settings file differs from an earlier version by harmless changes only: other settings are the same in both, and no
/// URL of a remote was redirected.
pub(crate) fn changed_harmlessly(before: &str, after: &str) -> bool {
    let (before, after) = (Settings::read(before), Settings::read(after));
    let turned = before.addresses.iter().any(|(name, known)| after.addresses.get(name).is_some_and(|now| now != known));
    before.others == after.others && !turned
}

/// Parsed parts of a settings file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Settings {
    /// Settings that are not known to be harmless, each with its section.
    others: Vec<String>,
    /// URLs of each remote, by `remote.NAME.url`.
    addresses: BTreeMap<String, Vec<String>>,
}

impl Settings {
    fn read(text: &str) -> Self {
        let mut settings = Self::default();
        // Continued lines are not parsed; the whole text counts as unknown.
        if text.contains("\\\n") || text.contains("\\\r") || text.contains('\0') {
            settings.others.push(text.to_owned());
            return settings;
        }
        let mut section = String::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
            let mut rest = line;
            while let Some(inner) = rest.strip_prefix('[') {
                match header(inner) {
                    Some((name, after)) => (section, rest) = (name, after.trim_start()),
                    None => {
                        settings.others.push(format!("{section} {line}"));
                        rest = "";
                    }
                }
            }
            if rest.is_empty() || rest.starts_with(['#', ';']) {
                continue;
            }
            let (key, value) = rest.split_once('=').map_or((rest, ""), |(key, value)| (key.trim(), value.trim()));
            let key = format!("{section}.{key}");
            if !is_harmless_setting(&key, value) {
                settings.others.push(format!("{key}={value}"));
            } else if key.to_lowercase().starts_with("remote.") && key.to_lowercase().ends_with(".url") {
                settings.addresses.entry(key).or_default().push(value.to_owned());
            }
        }
        settings
    }
}

/// Returns the name in `[section "sub"]`, as `section.sub`, and the rest of the line.
fn header(text: &str) -> Option<(String, &str)> {
    let (name, rest) = match text.split_once('"') {
        Some((name, rest)) if !name.contains(']') => {
            let (sub, rest) = rest.split_once('"')?;
            if sub.contains('\\') {
                return None;
            }
            (format!("{}.{sub}", name.trim().to_lowercase()), rest.trim_start().strip_prefix(']')?)
        }
        _ => {
            let (name, rest) = text.split_once(']')?;
            (name.trim().to_lowercase(), rest)
        }
    };
    Some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_settings_are_known_one_by_one() {
        for (key, value) in [
            ("user.name", "A B"),
            ("User.Email", "a@b"),
            ("remote.origin.url", "https://host/x.git"),
            ("remote.a.b.url", "git@host:x"),
            ("branch.main.merge", "refs/heads/main"),
            ("branch.a.b/c.remote", "origin"),
            ("branch.main.remote", "."),
            ("color.ui", "auto"),
        ] {
            assert!(is_harmless_setting(key, value), "{key}");
        }
        for (key, value) in [
            ("core.hooksPath", "x"),
            ("core.fsmonitor", "x"),
            ("core.sshCommand", "x"),
            ("core.worktree", ".."),
            ("alias.st", "!x"),
            ("filter.x.clean", "x"),
            ("include.path", "../x"),
            ("url.https://evil/.insteadOf", "https://"),
            ("remote.origin.url", "ext::sh -c x"),
            ("remote.origin.uploadpack", "x"),
            ("remote.origin.pushurl", "https://evil"),
            ("branch.main.remote", "https://evil"),
            ("branch.main.remote", "../evil"),
            ("submodule.x.update", "!x"),
            ("user.name", "a\n[core]hooksPath=x"),
            ("credential.helper", "x"),
            ("name", "x"),
        ] {
            assert!(!is_harmless_setting(key, value), "{key}");
        }
    }

    #[test]
    fn changes_of_settings_are_told_apart() {
        let before = "[core]\n\tbare = false\n\thooksPath = .husky\n[remote \"origin\"]\n\turl = https://host/x\n";
        for (change, harmless) in [
            ("", true),
            ("[user]\n\tname = A\n", true),
            ("[remote \"other\"]\n\turl = https://host/y\n\tfetch = +refs/heads/*:refs/remotes/other/*\n", true),
            ("[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n", true),
            ("# a note\n", true),
            ("[core]\n\tfsmonitor = x\n", false),
            ("[user] name = A\n[core] pager = x\n", false),
            ("[user][core]pager=x\n", false),
            ("[user]\n\tname = \"a\\\nb\"\n", false),
            ("[alias]\n\tst = !x\n", false),
            ("[remote \"origin\"]\n\turl = https://evil/x\n", false),
            ("[core]\n\thooksPath\n", false),
        ] {
            assert_eq!(changed_harmlessly(before, &format!("{before}{change}")), harmless, "{change}");
        }
        assert!(!changed_harmlessly(before, &before.replace(".husky", "x")));
        assert!(!changed_harmlessly(before, &before.replace("\thooksPath = .husky\n", "")), "what guards a commit is not taken away");
        assert!(!changed_harmlessly(before, &before.replace("host", "evil")));
        assert!(changed_harmlessly("", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"));
        assert!(!changed_harmlessly("", "[core]\n\tpager = x\n"));
    }
}
