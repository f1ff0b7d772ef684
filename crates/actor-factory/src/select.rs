//! Selection of the profile for a task: scores by the task's words, with reasons.

use std::{collections::BTreeSet, ops::Bound};

use aime_progress_management::{Check, Criterion, FileFact, TaskSpec};
use aime_tools::{CAPABILITIES, capabilities_of};

use crate::{Complexity, Profile, ProfileCatalog};

/// Profile chosen for a task, with the reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Name of the profile.
    pub profile: String,
    /// Reasons for the choice, in short sentences for people.
    pub reasons: Vec<String>,
    /// Score of every profile, highest first.
    pub scores: Vec<(String, i32)>,
}

const CATEGORY: i32 = 2;
const DOMAIN: i32 = 2;
const MAX_DOMAINS: usize = 3;
const CAPABILITY: i32 = 2;
const COMPLEXITY: i32 = 1;
const BUNDLE: i32 = 1;
const UNFIT: i32 = -100;

/// Words that imply a capability. Latin words match whole or by their stem, words of dense scripts as a part of the text.
const NEEDS: [(&str, &[&str]); 4] = [
    ("search", &["find", "search", "locate", "where", "grep", "list", "look", "查找", "搜索", "定位"]),
    ("execute", &["run", "execute", "command", "build", "compile", "test", "install", "benchmark", "执行", "运行", "测试", "安装"]),
    ("web", &["web", "internet", "online", "url", "website", "download", "http", "https", "网页", "网络", "下载"]),
    ("advise", &["advise", "advice", "recommend", "review", "evaluate", "assess", "judge", "opinion", "建议", "评审", "评估"]),
];

const WRITING: &[&str] = &[
    "write",
    "create",
    "save",
    "edit",
    "modify",
    "update",
    "add",
    "append",
    "insert",
    "implement",
    "fix",
    "repair",
    "refactor",
    "delete",
    "remove",
    "rename",
    "move",
    "copy",
    "generate",
    "produce",
    "replace",
    "change",
    "convert",
    "make",
    "build",
    "set",
    "configure",
    "prepare",
    "install",
    "rewrite",
    "migrate",
    "upgrade",
    "draft",
    "store",
    "export",
    "put",
    "apply",
    "clean",
    "merge",
    "format",
    "translate",
    "improve",
    "optimise",
    "optimize",
    "download",
    "init",
    "写",
    "创建",
    "修改",
    "保存",
    "生成",
    "删除",
    "添加",
    "实现",
    "修复",
    "制作",
    "配置",
    "安装",
    "翻译",
    "优化",
];

const FILES: [&str; 13] =
    ["file", "folder", "directory", "report", "script", "program", "module", "project", "code", "文件", "目录", "报告", "代码"];

/// Chooses the profile for a task.
///
/// The task's own profile wins if it exists. Otherwise each profile scores by the words of the task (`domains`, `capabilities`), by the
/// apparent difficulty, by the category of the goal and by the bundles that the task names; the default profile wins a tie. A task whose
/// words imply writing gets a read-only profile only if it names one. Words do not prove that a task only reads, so a read-only profile
/// with the most points is replaced by the default one, unless all bundles of the task read, or `has_simple_tools` returns true for the
/// profile: its actors have a small model.
#[must_use]
pub(crate) fn select(catalog: &ProfileCatalog, task: &TaskSpec, category: &str, has_simple_tools: impl Fn(&Profile) -> bool) -> Selection {
    let words = TaskWords::of(task);
    let needs = needs(&words);
    let mut reasons = Vec::new();
    let fallback = catalog.fallback();
    let mut scored: Vec<(&Profile, i32, Vec<String>)> = catalog
        .iter()
        .map(|profile| {
            let (score, why) = score(profile, task, category, &words, &needs);
            (profile, score, why)
        })
        .collect();
    // The sort is stable: of equal scores the default comes first, then the order of the catalog.
    scored.sort_by_key(|(profile, score, _)| (-score, fallback.is_none_or(|f| f.name != profile.name)));
    let scores = scored.iter().map(|(profile, score, _)| (profile.name.clone(), *score)).collect();

    if let Some(asked) = &task.profile {
        match catalog.get(asked) {
            Some(profile) => {
                reasons.push(format!("the plan asks for `{asked}`"));
                let lacks: Vec<&str> = needs.iter().copied().filter(|need| !profile.can(need)).collect();
                if !lacks.is_empty() {
                    reasons.push(format!("by its words the task needs what `{asked}` cannot do: {}", lacks.join(", ")));
                }
                return Selection { profile: profile.name.clone(), reasons, scores };
            }
            None => {
                let hint = catalog.nearest(asked).map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
                reasons.push(format!("the plan asks for `{asked}`, which does not exist{hint}"));
            }
        }
    }
    let is_guess = |profile: &Profile| profile.read_only() && !has_simple_tools(profile) && !only_reads(task);
    let best = scored.into_iter().next();
    let profile = match (best, fallback) {
        (Some((best, ..)), Some(fallback)) if is_guess(best) && best.name != fallback.name => {
            let (best, fallback) = (&best.name, &fallback.name);
            reasons.push(format!("`{fallback}` does it: `{best}` fits the words but is read-only, and the plan does not name it"));
            fallback.clone()
        }
        (Some((profile, _, why)), _) => {
            if why.is_empty() {
                reasons.push(format!("`{}` is the default: nothing in the task speaks for another", profile.name));
            }
            reasons.extend(why);
            profile.name.clone()
        }
        (None, _) => crate::profile::DEFAULT_PROFILE.to_owned(),
    };
    Selection { profile, reasons, scores }
}

/// Returns true if the bundles of a task give tools that read, and no others.
fn only_reads(task: &TaskSpec) -> bool {
    let mut given = task.bundles.iter().flat_map(|bundle| capabilities_of(bundle)).peekable();
    given.peek().is_some() && given.all(|capability| capability.name == "search")
}

/// Returns the bundles for the capabilities that the task's words imply and that the profile has.
pub(crate) fn needed_bundles(profile: &Profile, task: &TaskSpec) -> Vec<&'static str> {
    let needs = needs(&TaskWords::of(task));
    CAPABILITIES
        .iter()
        .filter(|needed| needs.contains(&needed.name) && profile.capabilities.iter().any(|known| known == needed.name))
        .map(|needed| needed.bundle)
        .collect()
}

/// Returns true if a task asks to write or change a file, so that an answer in words alone cannot complete it.
pub(crate) fn must_write_files(task: &TaskSpec) -> bool {
    let words = TaskWords::of(task);
    words.ask_to_write() && (words.any(&FILES) || words.names_a_file)
}

/// Words of tasks that may remove a file.
const REMOVING: &[&str] = &["delete", "remove", "rename", "move", "clean", "删除", "移除", "移动", "清理"];

/// Returns the files that a task names if it asks for a file: lower-case names without folders, each once. Returns none if the task removes
/// files, because a reminder of a file that must stay or is gone would do harm.
pub(crate) fn named_files(task: &TaskSpec) -> Vec<String> {
    if !must_write_files(task) || TaskWords::of(task).any(REMOVING) {
        return Vec::new();
    }
    let text = task.description.to_lowercase();
    let names = text.split_whitespace().filter(|word| is_file_name(word) && !word.contains("://"));
    let bare = |word: &str| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        name.trim_matches(|c: char| !c.is_alphanumeric() && c != '.' && c != '_').trim_end_matches('.').to_owned()
    };
    let mut seen = BTreeSet::new();
    names.map(bare).filter(|name| seen.insert(name.clone())).collect()
}

fn needs(words: &TaskWords) -> BTreeSet<&'static str> {
    let mut needs: BTreeSet<_> = NEEDS.iter().filter(|(_, asks)| words.any(asks)).map(|(need, _)| *need).collect();
    if words.ask_to_write() {
        needs.insert("write");
    }
    needs
}

fn score(profile: &Profile, task: &TaskSpec, category: &str, words: &TaskWords, needs: &BTreeSet<&str>) -> (i32, Vec<String>) {
    let mut score = 0;
    let mut why = Vec::new();
    if needs.contains("write") && profile.read_only() {
        return (UNFIT, vec![format!("`{}` is read-only and the task has to write", profile.name)]);
    }
    let hits: Vec<&str> = profile.domains.iter().map(String::as_str).filter(|domain| words.has(domain)).take(MAX_DOMAINS).collect();
    if !hits.is_empty() {
        let points = DOMAIN * i32::try_from(hits.len()).unwrap_or(i32::MAX);
        score += points;
        why.push(format!("made for {} (+{points})", hits.join(", ")));
        // Category and difficulty count only if the words already favour a profile: by themselves they are too weak.
        if !category.is_empty() && profile.category == category {
            score += CATEGORY;
            why.push(format!("category {category} (+{CATEGORY})"));
        }
        let looks = estimate_complexity(task, words);
        if profile.complexity == looks {
            score += COMPLEXITY;
            why.push(format!("the task looks {} (+{COMPLEXITY})", name(looks)));
        }
    }
    for need in needs {
        if profile.can(need) {
            score += CAPABILITY;
            why.push(format!("can {need} (+{CAPABILITY})"));
        } else {
            score -= 2 * CAPABILITY;
            why.push(format!("cannot {need} (-{})", 2 * CAPABILITY));
        }
    }
    let bundles = task.bundles.iter().filter(|bundle| profile.bundles.contains(bundle)).count();
    if bundles > 0 {
        let points = BUNDLE * i32::try_from(bundles).unwrap_or(i32::MAX);
        score += points;
        why.push(format!("has {bundles} of the task's bundles (+{points})"));
    }
    (score, why)
}

/// Estimates the difficulty of a task by its length and the number of its criteria.
fn estimate_complexity(task: &TaskSpec, words: &TaskWords) -> Complexity {
    let size = words.length + 8 * task.completion_criteria.len();
    match size {
        0..=12 => Complexity::Low,
        13..=60 => Complexity::Medium,
        _ => Complexity::High,
    }
}

const fn name(complexity: Complexity) -> &'static str {
    match complexity {
        Complexity::Any => "like any other",
        Complexity::Low => "easy",
        Complexity::Medium => "medium",
        Complexity::High => "hard",
    }
}

/// Words of a task, in lower case.
struct TaskWords {
    words: BTreeSet<String>,
    text: String,
    /// Length in words; a character of a dense script counts as one.
    length: usize,
    names_a_file: bool,
    criteria_name_a_file: bool,
}

/// Returns true if a criterion is about a file that the work creates or changes. A command may only read the files that it names.
fn names_a_file_to_write(criterion: &Criterion) -> bool {
    match &criterion.check {
        Check::Command(_) => false,
        Check::File(file) => matches!(file.fact, FileFact::Exists | FileFact::Contains(_) | FileFact::Matches(_)),
        Check::Text(text) => text.split_whitespace().any(is_file_name),
    }
}

impl TaskWords {
    fn of(task: &TaskSpec) -> Self {
        let mut text = format!("{}\n{}", task.name, task.description).to_lowercase();
        for criterion in &task.completion_criteria {
            text.push('\n');
            text.push_str(&criterion.to_string().to_lowercase());
        }
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect();
        let dense = text.chars().filter(|c| dense(*c)).count();
        let length = text.split_whitespace().count() + dense;
        let names_a_file = text.split_whitespace().any(is_file_name);
        let criteria_name_a_file = task.completion_criteria.iter().any(names_a_file_to_write);
        Self { words, text, length, names_a_file, criteria_name_a_file }
    }

    fn ask_to_write(&self) -> bool {
        self.any(WRITING) || self.criteria_name_a_file
    }

    fn any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word))
    }

    fn has(&self, word: &str) -> bool {
        if word.chars().any(dense) {
            return self.text.contains(word);
        }
        // A form may differ from the word in its last letter, so all forms stand where the words with the other letters begin.
        let start = word.char_indices().next_back().map_or(word, |(at, _)| word.get(..at).unwrap_or_default());
        let mut forms = self.words.range::<str, _>((Bound::Included(start), Bound::Unbounded)).take_while(|form| form.starts_with(start));
        forms.any(|form| is_form(form, word))
    }
}

/// Returns true for a word and its inflected forms: `write` → `writing`, `move` → `moved`, `run` → `running`, `copy` → `copies`.
fn is_form(form: &str, word: &str) -> bool {
    let Some((at, last)) = word.char_indices().next_back() else { return form.is_empty() };
    let ends = |begins: &str, endings: &[&str]| form.strip_prefix(begins).is_some_and(|ending| endings.contains(&ending));
    let start = word.get(..at).unwrap_or_default();
    ends(word, &["", "s", "es", "ed", "ing"])
        || match last {
            'e' => ends(start, &["ing", "ed", "es"]),
            'y' => ends(start, &["ies", "ied", "ying"]),
            _ => {
                let doubled = form.strip_prefix(word).and_then(|rest| rest.strip_prefix(last));
                doubled.is_some_and(|ending| ["ing", "ed", "er"].contains(&ending))
            }
        }
}

fn dense(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// Returns true for a word such as `report.md` or `src/main.rs`.
fn is_file_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '.');
    word.trim_end_matches('.').rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && !extension.chars().all(|c| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests;
