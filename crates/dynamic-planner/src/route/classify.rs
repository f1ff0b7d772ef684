//! Stage 1 of the classifier: rules that classify a goal without a model.

use aime_messages::{Message, message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keywords::{
    BEFORE_VERB, CONDITIONAL, EXPLORATORY, HOST_ENDINGS, MANY_FILES, MULTI_STEP, NOT_FILES, NOUNS_ZH, PARALLEL, VERBS, VERBS_ZH, is_dense,
    matching_keywords,
};

/// Points and thresholds of stage 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClassifierSettings {
    /// Lengths below which a goal gets points, each with its points; the shortest that applies counts.
    pub shorter_than: Vec<(usize, i32)>,
    /// Lengths above which a goal gets points, each with its points; the longest that applies counts.
    pub longer_than: Vec<(usize, i32)>,
    /// Points for one word that puts a step after another, and for several of them.
    pub multi_step: [i32; 2],
    /// Points for a condition.
    pub conditional: i32,
    /// Points for parallel work.
    pub parallel: i32,
    /// Points for up to one action verb, for two, and for more.
    pub verbs: [i32; 3],
    /// Highest score of a simple goal.
    pub max_simple_score: i32,
    /// Lowest score of a complex goal.
    pub min_complex_score: i32,
    /// Weight of a character of a dense script (Chinese, Japanese, Korean) in a length.
    pub cjk_weight: usize,
}

impl Default for ClassifierSettings {
    fn default() -> Self {
        Self {
            shorter_than: vec![(30, -2), (60, -1)],
            longer_than: vec![(120, 1), (200, 2)],
            multi_step: [1, 3],
            conditional: 2,
            parallel: 2,
            verbs: [-1, 1, 2],
            max_simple_score: -1,
            min_complex_score: 2,
            cjk_weight: 3,
        }
    }
}

/// Verdict of stage 1 on a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage1Verdict {
    /// A low score.
    Simple,
    /// A high score.
    Complex,
    /// Exploratory, open-ended or creative, for any score.
    Exploratory,
    /// Between simple and complex: a model is asked.
    Unsure,
}

/// Signals that the rules found in a goal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signals {
    /// Its length in characters, where a character of a dense script (Chinese, Japanese, Korean) counts more than one.
    pub length: usize,
    /// Words that sequence steps, and numbered or dashed lines.
    pub multi_step: Vec<String>,
    /// Words that make a step conditional.
    pub conditional: Vec<String>,
    /// Words that make steps parallel.
    pub parallel: Vec<String>,
    /// Verbs that name an action.
    pub verbs: Vec<String>,
    /// Words of an open-ended goal.
    pub exploratory: Vec<String>,
    /// Names of files.
    pub files: Vec<String>,
    /// True if words such as `all`, `folder`, `项目` indicate more than the named files.
    pub many_files: bool,
}

impl Signals {
    /// Returns true if the goal works on one named file and nothing else.
    #[must_use]
    pub fn is_single_file(&self) -> bool {
        self.files.len() == 1 && !self.many_files
    }
}

/// Result of stage 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage1 {
    /// The sum of the points.
    pub score: i32,
    /// The signals.
    pub signals: Signals,
    /// The verdict.
    pub verdict: Stage1Verdict,
    /// Description of each rule that gave points.
    pub reasons: Vec<Message>,
}

impl Stage1 {
    /// Returns true if several steps or an exploration were found, so that the goal must be planned.
    #[must_use]
    pub fn needs_plan(&self) -> bool {
        matches!(self.verdict, Stage1Verdict::Complex | Stage1Verdict::Exploratory)
            || !self.signals.multi_step.is_empty()
            || !self.signals.parallel.is_empty()
            || self.signals.verbs.len() >= 3
    }
}

/// Classifies a goal by rules, in English and Chinese.
///
/// Points by default: length below 30 −2, below 60 −1, above 120 +1, above 200 +2; one multi-step marker +1, two or
/// more +3; a condition +2; parallel work +2; up to one action verb −1, two +1, three or more +2. Up to −1 a goal is
/// simple, from 2 on it is complex.
#[must_use]
pub fn classify(goal: &str, settings: &ClassifierSettings) -> Stage1 {
    let signals = read(goal, settings.cjk_weight);
    let mut score = 0;
    let mut reasons = Vec::new();
    let mut count = |points: i32, reason: Message| {
        if points != 0 {
            score += points;
            reasons.push(message!("route-points", reason, points = format!("{points:+}")));
        }
    };
    let length = signals.length;
    let shorter = settings.shorter_than.iter().filter(|(below, _)| length < *below).min();
    let longer = settings.longer_than.iter().filter(|(above, _)| length > *above).max();
    let points = [shorter, longer].into_iter().flatten().map(|(_, points)| points).sum();
    count(points, message!("route-length", length = length.to_string()));
    let [one, more] = settings.multi_step;
    let points = match signals.multi_step.len() {
        0 => 0,
        1 => one,
        _ => more,
    };
    count(points, message!("route-steps", words = signals.multi_step.join(", ")));
    let if_any = |found: &[String], points: i32| if found.is_empty() { 0 } else { points };
    count(if_any(&signals.conditional, settings.conditional), message!("route-condition", words = signals.conditional.join(", ")));
    count(if_any(&signals.parallel, settings.parallel), message!("route-parallel", words = signals.parallel.join(", ")));
    let [one, two, more] = settings.verbs;
    let (points, verbs) = match signals.verbs.len() {
        0 => (one, message!("route-no-verb")),
        1 => (one, message!("route-one", words = signals.verbs.join(", "))),
        2 => (two, message!("route-two", words = signals.verbs.join(", "))),
        _ => (more, message!("route-many", words = signals.verbs.join(", "))),
    };
    count(points, verbs);
    let verdict = if signals.exploratory.is_empty() {
        match score {
            score if score <= settings.max_simple_score => Stage1Verdict::Simple,
            score if score >= settings.min_complex_score => Stage1Verdict::Complex,
            _ => Stage1Verdict::Unsure,
        }
    } else {
        reasons.push(message!("route-open", words = signals.exploratory.join(", ")));
        Stage1Verdict::Exploratory
    };
    Stage1 { score, signals, verdict, reasons }
}

fn read(goal: &str, dense: usize) -> Signals {
    let text = goal.to_lowercase();
    let owned = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut multi_step = owned(matching_keywords(&text, MULTI_STEP));
    if text.contains('先') && text.split_once('先').is_some_and(|(_, rest)| rest.contains('再')) {
        multi_step.push("先…再".to_owned());
    }
    let items = text.lines().filter(|line| is_list_item(line)).count();
    if items >= 2 {
        multi_step.push(format!("a list of {items}"));
        multi_step.push("list items".to_owned());
    }
    let files = files(goal);
    // The `count` of `count.txt` is no action. Longer names come first, because they may contain others.
    let mut by_length: Vec<&String> = files.iter().collect();
    by_length.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let without_files = by_length.into_iter().fold(text.clone(), |text, name| text.replace(&name.to_lowercase(), "file"));
    let mut verbs = english_verbs(&without_files);
    verbs.extend(chinese_verbs(&without_files));
    Signals {
        length: goal.trim().chars().map(|c| if is_dense(c) { dense } else { 1 }).sum(),
        multi_step,
        conditional: owned(matching_keywords(&text, CONDITIONAL)),
        parallel: owned(matching_keywords(&text, PARALLEL)),
        verbs,
        exploratory: owned(matching_keywords(&text, EXPLORATORY)),
        files,
        many_files: !matching_keywords(&text, MANY_FILES).is_empty() || text.contains('*'),
    }
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.len() < line.len() && rest.starts_with(['.', ')', '、']);
    numbered || line.starts_with("- ") || line.starts_with("* ")
}

/// Returns the verbs at the beginning of a clause. Elsewhere `test`, `report` or `list` are nouns.
fn english_verbs(text: &str) -> Vec<String> {
    let mut verbs = Vec::new();
    let mut opens = true;
    for piece in text.split_inclusive(|c: char| c.is_whitespace() || ",;:.!?()，。；：、！？".contains(c) || is_dense(c)) {
        let word = piece.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let ends_clause = piece.chars().next_back().is_some_and(|c| ",;:.!?(，。；：、！？\n".contains(c) || is_dense(c));
        if word.is_empty() {
            opens = opens || ends_clause || piece.contains(['-', '*']);
            continue;
        }
        if opens && VERBS.contains(&word) {
            verbs.push(word.to_owned());
        }
        let leads = BEFORE_VERB.contains(&word) || word.ends_with("ly") || word.bytes().all(|b| b.is_ascii_digit());
        opens = ends_clause || leads;
    }
    verbs
}

/// Returns the distinct Chinese verbs, longest match first. Nouns made of verbs do not count.
fn chinese_verbs(text: &str) -> Vec<String> {
    let mut rest = text.to_owned();
    for noun in NOUNS_ZH {
        rest = rest.replace(noun, "〇");
    }
    let mut verbs = Vec::new();
    for verb in VERBS_ZH {
        let used = rest.match_indices(verb).any(|(at, _)| {
            let before = rest.get(..at).and_then(|t| t.chars().next_back());
            !before.is_some_and(|c| matches!(c, '的' | '个' | '次' | '份'))
        });
        if used {
            verbs.push((*verb).to_owned());
        }
        rest = rest.replace(verb, "〇");
    }
    verbs
}

/// Returns file names: a stem and an extension that begins with a letter. Addresses, host names and versions do not
/// count.
fn files(goal: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for token in goal.split(|c: char| !(c.is_ascii_alphanumeric() || "_./\\-~:@".contains(c))) {
        let token = token.trim_end_matches(['.', ':', '-']);
        if token.contains("://") || token.contains('@') || NOT_FILES.contains(&token.to_lowercase().as_str()) {
            continue;
        }
        let name = token.rsplit(['/', '\\']).next().unwrap_or(token);
        let Some((stem, ending)) = name.rsplit_once('.') else { continue };
        let ending_fits = (1..=8).contains(&ending.len()) && ending.starts_with(|c: char| c.is_ascii_alphabetic()) && ending.is_ascii();
        let host = HOST_ENDINGS.contains(&ending.to_lowercase().as_str()) && !token.contains('/');
        if ending_fits && !host && stem.chars().any(|c| c.is_ascii_alphanumeric()) && !files.iter().any(|f| f == token) {
            files.push(token.to_owned());
        }
    }
    files
}
