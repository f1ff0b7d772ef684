//! The permission rules of a run, and their verdict on a call.

use std::{borrow::Cow, path::Path};

use aime_sandbox::{ConfinedFolder, is_protected};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    act::{Act, acts},
    path::{CallPath, clean},
    remember::to_remember,
    rule::PermissionRule,
    sign::MatchCertainty,
};
use crate::Approval;

/// Folder that no redirection may write without consent, just as no file tool may: the folder of the runs.
const RESERVED: &str = ".aime";

/// Rules by tool, command and path, as a user writes them. To decide with them, create [`PermissionRules`] for a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleLists {
    /// Calls that need no consent.
    pub allow: Vec<PermissionRule>,
    /// Calls that need a person's consent.
    pub ask: Vec<PermissionRule>,
    /// Calls that are always denied.
    pub deny: Vec<PermissionRule>,
    /// Rules that people have added for this folder by answering "always". They have the effect of `allow`.
    pub remembered: Vec<PermissionRule>,
}

/// Rules for the calls in one folder, which apply before the mode. `deny` takes precedence, then `ask`.
///
/// The folder is required: otherwise an absolute path in a call would evade a rule for the same file relative to the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "KeptRules")]
pub struct PermissionRules {
    /// Absolute path of the working folder without symbolic links. Paths of calls are resolved from there.
    pub(super) folder: String,
    /// Other absolute paths of the folder, through symbolic links: calls may name its files by these, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(flatten)]
    lists: RuleLists,
}

/// Serialized form of the rules.
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

/// Error for a folder path that rules cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rules need the absolute path of their folder, without `.` and `..`, not {folder:?}")]
pub struct RulesFolderError {
    /// The path.
    pub folder: String,
}

/// Verdict of the rules on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleMatch<'a> {
    /// A deny rule matches.
    Denied(&'a PermissionRule),
    /// A deny rule may match; this cannot be determined before the call runs.
    PerhapsDenied(&'a PermissionRule),
    /// An ask rule matches.
    Asked(&'a PermissionRule),
    /// Allow rules cover all effects of the call.
    Allowed,
    /// No rule applies.
    Silent,
}

impl RuleLists {
    /// Returns true if there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.ask.is_empty() && self.deny.is_empty() && self.remembered.is_empty()
    }
}

impl PermissionRules {
    /// Creates the rules for calls in a folder.
    #[must_use]
    pub fn new(folder: &ConfinedFolder, lists: RuleLists) -> Self {
        let text = |path: &Path| path.display().to_string();
        Self { folder: text(folder.path()), aliases: folder.aliases().iter().map(|path| text(path)).collect(), lists }
    }

    /// Creates the rules for a folder that cannot be opened here. Its path must contain no symbolic links.
    ///
    /// # Errors
    /// [`RulesFolderError`] for a path that is not absolute, or not normalized.
    pub fn at(folder: impl AsRef<Path>, lists: RuleLists) -> Result<Self, RulesFolderError> {
        let folder = folder.as_ref();
        let text = folder.display().to_string();
        if folder.is_absolute() && clean(&text) == text {
            Ok(Self { folder: text, aliases: Vec::new(), lists })
        } else {
            Err(RulesFolderError { folder: text })
        }
    }

    /// Returns the lists.
    #[must_use]
    pub const fn lists(&self) -> &RuleLists {
        &self.lists
    }

    /// Replaces the lists, for the same folder.
    #[must_use]
    pub fn with_lists(self, lists: RuleLists) -> Self {
        Self { lists, ..self }
    }

    /// Adds remembered rules.
    #[must_use]
    pub fn with_remembered<'a>(mut self, more: impl IntoIterator<Item = &'a PermissionRule>) -> Self {
        self.remember(more);
        self
    }

    /// Adds remembered rules, without duplicates.
    pub fn remember<'a>(&mut self, more: impl IntoIterator<Item = &'a PermissionRule>) {
        for rule in more {
            if !self.lists.remembered.contains(rule) {
                self.lists.remembered.push(rule.clone());
            }
        }
    }

    /// Returns the rules restricted to those of `most`: the deny and ask rules of both, and the allow rules of `most`.
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

    /// Returns true if tools that search many files must skip this one, because a rule denies reading it or requires a question. `path` is
    /// relative to the working folder.
    #[must_use]
    pub fn holds_back(&self, path: &str) -> bool {
        let rules = || self.lists.deny.iter().chain(&self.lists.ask);
        rules().next().is_some() && {
            let path = CallPath::new(&self.folder, path);
            rules().any(|rule| rule.holds_back(&path))
        }
    }

    /// Returns the rule that denies a call, if one certainly does.
    #[must_use]
    pub fn denies(&self, tool: &str, parameters: &Map<String, Value>) -> Option<&PermissionRule> {
        if self.lists.deny.is_empty() {
            return None;
        }
        strongest(&self.lists.deny, &self.acts(tool, parameters)).filter(|(_, fit)| *fit == MatchCertainty::Certain).map(|(rule, _)| rule)
    }

    /// Returns the verdict on a call under a mode. The mode matters for redirections: it allows those into files that the file tools may
    /// write.
    pub(crate) fn evaluate(&self, approval: Approval, tool: &str, parameters: &Map<String, Value>) -> RuleMatch<'_> {
        if self.lists.is_empty() {
            return RuleMatch::Silent;
        }
        let acts = self.acts(tool, parameters);
        if let Some((rule, fit)) = strongest(&self.lists.deny, &acts) {
            return if fit == MatchCertainty::Certain { RuleMatch::Denied(rule) } else { RuleMatch::PerhapsDenied(rule) };
        }
        if let Some((rule, _)) = strongest(&self.lists.ask, &acts) {
            return RuleMatch::Asked(rule);
        }
        if self.allows(approval, &acts) { RuleMatch::Allowed } else { RuleMatch::Silent }
    }

    /// Returns the rules that would allow a call from now on; empty if no rule could without allowing much more.
    pub(crate) fn to_remember(&self, approval: Approval, tool: &str, parameters: &Map<String, Value>) -> Vec<PermissionRule> {
        to_remember(tool, parameters, |act| self.allows_act(approval, act), &self.acts(tool, parameters))
    }

    /// Returns all effects of a call, with paths through aliases of the folder converted to its real path.
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

    /// Returns true if every effect of a call is allowed.
    fn allows(&self, approval: Approval, acts: &[Act]) -> bool {
        let tool = acts.iter().find(|act| matches!(act, Act::Call { .. }));
        if tool.is_some_and(|tool| self.allowing().any(|rule| rule.fit(tool, false) == MatchCertainty::Certain)) {
            return true;
        }
        let parts = || acts.iter().filter(|act| !matches!(act, Act::Call { .. }));
        parts().next().is_some() && parts().all(|act| self.allows_act(approval, act))
    }

    fn allows_act(&self, approval: Approval, act: &Act) -> bool {
        let by_rule = || self.allowing().any(|rule| rule.fit(act, false) == MatchCertainty::Certain);
        match act {
            Act::Call { .. } | Act::Host(_) | Act::Text { .. } => by_rule(),
            Act::Command(command) => !command.sets && (command.transparent || command.words.is_empty() || by_rule()),
            Act::Unknown => false,
            // A command rule covers what the program does with its arguments, and reading needs no rule, not even as a part of a tool that
            // writes.
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

/// Replaces the alias of the folder in a text by its real path.
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

/// Returns the first rule that certainly matches an effect of a call, or else the first that may match.
fn strongest<'a>(rules: &'a [PermissionRule], acts: &[Act]) -> Option<(&'a PermissionRule, MatchCertainty)> {
    let fits = rules.iter().map(|rule| (rule, acts.iter().map(|act| rule.fit(act, true)).max().unwrap_or(MatchCertainty::Never)));
    // The first of the strongest.
    fits.filter(|(_, fit)| *fit != MatchCertainty::Never).rev().max_by_key(|(_, fit)| *fit)
}
