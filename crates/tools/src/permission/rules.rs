//! All rules of a run, and what they say of a call.

use std::{borrow::Cow, path::Path};

use aime_sandbox::{ConfinedFolder, is_protected};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    act::{Act, acts},
    path::{CallPath, clean},
    remember::to_remember,
    rule::PermissionRule,
    sign::Fit,
};
use crate::Approval;

/// Folders in which no redirection writes without consent, as no file tool does: the runs themselves.
const RESERVED: &str = ".aime";

/// Rules by tool, command and path, as a user writes them. They decide nothing by themselves: [`PermissionRules`] hold them for one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleLists {
    /// What may be done without asking.
    pub allow: Vec<PermissionRule>,
    /// What a person is asked before.
    pub ask: Vec<PermissionRule>,
    /// What is never done.
    pub deny: Vec<PermissionRule>,
    /// What people have allowed for good in this folder: as `allow`.
    pub remembered: Vec<PermissionRule>,
}

/// Rules for the calls that are made in one folder: what is denied, asked and allowed before the mode decides. `deny` wins, then `ask`.
///
/// There are none without a folder: an absolute path in a call would otherwise pass the rules for the same file below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "KeptRules")]
pub struct PermissionRules {
    /// The working folder, as an absolute path without links: paths of calls are compared from there.
    pub(super) folder: String,
    /// Other absolute paths of the folder, through links: calls may name its files by these too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(flatten)]
    lists: RuleLists,
}

/// Rules as they are kept.
#[derive(Deserialize)]
struct KeptRules {
    folder: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(flatten)]
    lists: RuleLists,
}

impl TryFrom<KeptRules> for PermissionRules {
    type Error = RulesFolderError;

    fn try_from(KeptRules { folder, aliases, lists }: KeptRules) -> Result<Self, RulesFolderError> {
        Ok(Self { aliases, ..Self::at(folder, lists)? })
    }
}

/// A folder for which there can be no rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rules need the absolute path of their folder, without `.` and `..`, not {folder:?}")]
pub struct RulesFolderError {
    /// The path.
    pub folder: String,
}

/// What the rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict<'a> {
    /// It is denied.
    Denied(&'a PermissionRule),
    /// It may be one that is denied, which nobody can tell before it runs.
    PerhapsDenied(&'a PermissionRule),
    /// A person is asked.
    Asked(&'a PermissionRule),
    /// It is allowed, in all that it does.
    Allowed,
    /// They say nothing.
    Silent,
}

impl RuleLists {
    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.ask.is_empty() && self.deny.is_empty() && self.remembered.is_empty()
    }
}

impl PermissionRules {
    /// Rules for calls that are made in a folder.
    #[must_use]
    pub fn new(folder: &ConfinedFolder, lists: RuleLists) -> Self {
        let text = |path: &Path| path.display().to_string();
        Self { folder: text(folder.path()), aliases: folder.aliases().iter().map(|path| text(path)).collect(), lists }
    }

    /// The same for a folder that cannot be opened here. Its path must hold no links.
    ///
    /// # Errors
    /// [`RulesFolderError`] for a path that is not absolute, or not in its shortest form.
    pub fn at(folder: impl AsRef<Path>, lists: RuleLists) -> Result<Self, RulesFolderError> {
        let folder = folder.as_ref();
        let text = folder.display().to_string();
        if folder.is_absolute() && clean(&text) == text {
            Ok(Self { folder: text, aliases: Vec::new(), lists })
        } else {
            Err(RulesFolderError { folder: text })
        }
    }

    /// The lists.
    #[must_use]
    pub const fn lists(&self) -> &RuleLists {
        &self.lists
    }

    /// Other rules for the same folder.
    #[must_use]
    pub fn with_lists(self, lists: RuleLists) -> Self {
        Self { lists, ..self }
    }

    /// The same with more that people have allowed for good.
    #[must_use]
    pub fn with_remembered<'a>(mut self, more: impl IntoIterator<Item = &'a PermissionRule>) -> Self {
        self.remember(more);
        self
    }

    /// Adds what people have allowed for good, each once.
    pub fn remember<'a>(&mut self, more: impl IntoIterator<Item = &'a PermissionRule>) {
        for rule in more {
            if !self.lists.remembered.contains(rule) {
                self.lists.remembered.push(rule.clone());
            }
        }
    }

    /// What is left where one is told what another may do at most: what both deny and ask, and what `most` allows.
    #[must_use]
    pub fn at_most(&self, most: &Self) -> Self {
        let both = |ours: &[PermissionRule], theirs: &[PermissionRule]| {
            let more = ours.iter().filter(|rule| !theirs.contains(rule));
            theirs.iter().chain(more).cloned().collect()
        };
        let lists =
            RuleLists { ask: both(&self.lists.ask, &most.lists.ask), deny: both(&self.lists.deny, &most.lists.deny), ..most.lists.clone() };
        Self { folder: most.folder.clone(), aliases: most.aliases.clone(), lists }
    }

    /// Whether a file is held back from tools that search many: a rule denies that it is read, or wants a person asked before. `path` is
    /// from the working folder.
    #[must_use]
    pub fn holds_back(&self, path: &str) -> bool {
        let rules = || self.lists.deny.iter().chain(&self.lists.ask);
        rules().next().is_some() && {
            let path = CallPath::new(&self.folder, path);
            rules().any(|rule| rule.holds_back(&path))
        }
    }

    /// The rule that denies a call, if one surely does.
    #[must_use]
    pub fn denies(&self, tool: &str, parameters: &Map<String, Value>) -> Option<&PermissionRule> {
        if self.lists.deny.is_empty() {
            return None;
        }
        strongest(&self.lists.deny, &self.acts(tool, parameters)).filter(|(_, fit)| *fit == Fit::Surely).map(|(rule, _)| rule)
    }

    /// What the rules say of a call, under a mode: it allows a redirection into a file that the file tools may write.
    pub(crate) fn judge(&self, approval: Approval, tool: &str, parameters: &Map<String, Value>) -> Verdict<'_> {
        if self.lists.is_empty() {
            return Verdict::Silent;
        }
        let acts = self.acts(tool, parameters);
        if let Some((rule, fit)) = strongest(&self.lists.deny, &acts) {
            return if fit == Fit::Surely { Verdict::Denied(rule) } else { Verdict::PerhapsDenied(rule) };
        }
        if let Some((rule, _)) = strongest(&self.lists.ask, &acts) {
            return Verdict::Asked(rule);
        }
        if self.allows(approval, &acts) { Verdict::Allowed } else { Verdict::Silent }
    }

    /// The rules that would allow a call for good; none where no rule could without allowing more than this.
    pub(crate) fn to_remember(&self, approval: Approval, tool: &str, parameters: &Map<String, Value>) -> Vec<PermissionRule> {
        to_remember(tool, parameters, |act| self.allows_act(approval, act), &self.acts(tool, parameters))
    }

    /// All that a call does, with every path of the folder below its one path without links.
    pub(super) fn acts(&self, tool: &str, parameters: &Map<String, Value>) -> Vec<Act> {
        let mut parameters = Cow::Borrowed(parameters);
        let named = |text: &str| self.aliases.iter().any(|alias| text.contains(alias.as_str()));
        if parameters.values().any(|value| holds_text(value, &named)) {
            parameters.to_mut().values_mut().for_each(|value| self.rename_folder(value));
        }
        acts(&self.folder, tool, &parameters)
    }

    fn rename_folder(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.aliases.iter().for_each(|alias| *text = with_folder(text, alias, &self.folder)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename_folder(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.rename_folder(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    pub(super) fn allowing(&self) -> impl Iterator<Item = &PermissionRule> {
        self.lists.allow.iter().chain(&self.lists.remembered)
    }

    /// Whether every part of a call is allowed.
    fn allows(&self, approval: Approval, acts: &[Act]) -> bool {
        let tool = acts.iter().find(|act| matches!(act, Act::Call { .. }));
        if tool.is_some_and(|tool| self.allowing().any(|rule| rule.fit(tool, false) == Fit::Surely)) {
            return true;
        }
        let parts = || acts.iter().filter(|act| !matches!(act, Act::Call { .. }));
        parts().next().is_some() && parts().all(|act| self.allows_act(approval, act))
    }

    fn allows_act(&self, approval: Approval, act: &Act) -> bool {
        let by_rule = || self.allowing().any(|rule| rule.fit(act, false) == Fit::Surely);
        match act {
            Act::Call { .. } | Act::Host(_) | Act::Text { .. } => by_rule(),
            Act::Command(command) => !command.sets && (command.transparent || command.words.is_empty() || by_rule()),
            Act::Unknown => false,
            // What a program does with its arguments belongs to it; reading needs no rule. What a tool reads beside writing neither.
            Act::Reads { tool, .. } => *tool != Some("read_file") || by_rule(),
            Act::Writes { tool: None, .. } => true,
            Act::Looks { .. } => false,
            Act::Writes { path, tool: Some("write_file"), .. } => {
                let by_mode = matches!(approval, Approval::Edits | Approval::All)
                    && path.known_inside().is_some_and(|path| {
                        !path.is_empty()
                            && path.split('/').next() != Some(RESERVED)
                            && (approval == Approval::All || !is_protected(Path::new(&path)))
                    });
                by_mode || by_rule()
            }
            Act::Writes { .. } => by_rule(),
        }
    }
}

fn holds_text(value: &Value, wanted: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => wanted(text),
        Value::Array(items) => items.iter().any(|item| holds_text(item, wanted)),
        Value::Object(members) => members.values().any(|member| holds_text(member, wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A text that names the folder by its path wherever it named it by the alias.
fn with_folder(text: &str, alias: &str, folder: &str) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(alias) {
        let whole = |sign: char| !sign.is_alphanumeric() && !matches!(sign, '.' | '-' | '_');
        let starts = before.chars().next_back().is_none_or(|sign| whole(sign) && sign != '/');
        let ends = after.chars().next().is_none_or(whole);
        renamed.push_str(before);
        renamed.push_str(if starts && ends { folder } else { alias });
        rest = after;
    }
    renamed + rest
}

/// The first rule that is about something in a call, before those that only may be.
fn strongest<'a>(rules: &'a [PermissionRule], acts: &[Act]) -> Option<(&'a PermissionRule, Fit)> {
    let fits = rules.iter().map(|rule| (rule, acts.iter().map(|act| rule.fit(act, true)).max().unwrap_or(Fit::No)));
    // The first of the highest.
    fits.filter(|(_, fit)| *fit != Fit::No).rev().max_by_key(|(_, fit)| *fit)
}
