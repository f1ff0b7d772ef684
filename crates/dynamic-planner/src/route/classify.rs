//! Stage 1 of the classifier: rules that read a goal without a model.

use super::words::{
    BEFORE_VERB, CONDITIONAL, EXPLORATORY, HOST_ENDINGS, MANY_FILES, MULTI_STEP, NOT_FILES, NOUNS_ZH, PARALLEL, VERBS, VERBS_ZH, found,
    is_dense,
};

/// What stage 1 makes of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage1Verdict {
    /// A score of −1 or less.
    Simple,
    /// A score of 2 or more.
    Complex,
    /// Exploratory, open-ended or creative, whatever the score.
    Exploratory,
    /// Between the two: a model is asked.
    Unsure,
}

/// What the rules see in a goal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signals {
    /// Its length in characters, where a character of a dense script (Chinese, Japanese, Korean) counts 3.
    pub length: usize,
    /// Words that put one step after another, and numbered or dashed lines.
    pub multi_step: Vec<String>,
    /// Words that make a step hang on something.
    pub conditional: Vec<String>,
    /// Words that put steps beside each other.
    pub parallel: Vec<String>,
    /// Verbs that name an action.
    pub verbs: Vec<String>,
    /// Words of an open end.
    pub exploratory: Vec<String>,
    /// Files that are named.
    pub files: Vec<String>,
    /// Whether words such as `all`, `folder`, `项目` say that more than the named files are meant.
    pub many_files: bool,
}

impl Signals {
    /// Whether the goal works on one named file and nothing else.
    #[must_use]
    pub fn is_single_file(&self) -> bool {
        self.files.len() == 1 && !self.many_files
    }
}

/// The answer of stage 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage1 {
    /// The sum of the points.
    pub score: i32,
    /// What was seen.
    pub signals: Signals,
    /// What follows.
    pub verdict: Stage1Verdict,
    /// Each rule that gave points, in words.
    pub reasons: Vec<String>,
}

impl Stage1 {
    /// Whether several steps or an exploration were found, so that the goal must be planned.
    #[must_use]
    pub fn needs_plan(&self) -> bool {
        matches!(self.verdict, Stage1Verdict::Complex | Stage1Verdict::Exploratory)
            || !self.signals.multi_step.is_empty()
            || !self.signals.parallel.is_empty()
            || self.signals.verbs.len() >= 3
    }
}

/// Reads a goal by rules, in English and Chinese.
///
/// Points: length below 30 −2, below 60 −1, above 120 +1, above 200 +2; one multi-step marker +1, two or more +3;
/// a condition +2; parallel work +2; up to one action verb −1, two +1, three or more +2.
#[must_use]
pub fn classify(goal: &str) -> Stage1 {
    let signals = read(goal);
    let mut score = 0;
    let mut reasons = Vec::new();
    let mut count = |points: i32, reason: String| {
        if points != 0 {
            score += points;
            reasons.push(format!("{reason} ({points:+})"));
        }
    };
    let length = signals.length;
    let points = match length {
        0..30 => -2,
        30..60 => -1,
        60..=120 => 0,
        121..=200 => 1,
        _ => 2,
    };
    count(points, format!("length {length}"));
    let points = match signals.multi_step.len() {
        0 => 0,
        1 => 1,
        _ => 3,
    };
    count(points, format!("several steps: {}", signals.multi_step.join(", ")));
    count(if signals.conditional.is_empty() { 0 } else { 2 }, format!("a condition: {}", signals.conditional.join(", ")));
    count(if signals.parallel.is_empty() { 0 } else { 2 }, format!("parallel work: {}", signals.parallel.join(", ")));
    let (points, verbs) = match signals.verbs.len() {
        0 => (-1, "no action verb".to_owned()),
        1 => (-1, format!("one action: {}", signals.verbs.join(", "))),
        2 => (1, format!("two actions: {}", signals.verbs.join(", "))),
        _ => (2, format!("many actions: {}", signals.verbs.join(", "))),
    };
    count(points, verbs);
    let verdict = if signals.exploratory.is_empty() {
        match score {
            ..=-1 => Stage1Verdict::Simple,
            2.. => Stage1Verdict::Complex,
            _ => Stage1Verdict::Unsure,
        }
    } else {
        reasons.push(format!("an open end: {}", signals.exploratory.join(", ")));
        Stage1Verdict::Exploratory
    };
    Stage1 { score, signals, verdict, reasons }
}

fn read(goal: &str) -> Signals {
    let text = goal.to_lowercase();
    let owned = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut multi_step = owned(found(&text, MULTI_STEP));
    if text.contains('先') && text.split_once('先').is_some_and(|(_, rest)| rest.contains('再')) {
        multi_step.push("先…再".to_owned());
    }
    let items = text.lines().filter(|line| is_list_item(line)).count();
    if items >= 2 {
        multi_step.push(format!("a list of {items}"));
        multi_step.push("list items".to_owned());
    }
    let files = files(goal);
    // The `count` of `count.txt` is no action. Longer names first: one may hold another.
    let mut by_length: Vec<&String> = files.iter().collect();
    by_length.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let without_files = by_length.into_iter().fold(text.clone(), |text, name| text.replace(&name.to_lowercase(), "file"));
    let mut verbs = english_verbs(&without_files);
    verbs.extend(chinese_verbs(&without_files));
    Signals {
        length: goal.trim().chars().map(|c| if is_dense(c) { 3 } else { 1 }).sum(),
        multi_step,
        conditional: owned(found(&text, CONDITIONAL)),
        parallel: owned(found(&text, PARALLEL)),
        verbs,
        exploratory: owned(found(&text, EXPLORATORY)),
        files,
        many_files: !found(&text, MANY_FILES).is_empty() || text.contains('*'),
    }
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = rest.len() < line.len() && rest.starts_with(['.', ')', '、']);
    numbered || line.starts_with("- ") || line.starts_with("* ")
}

/// Verbs that stand where a clause begins: elsewhere `test`, `report` or `list` are nouns.
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

/// Distinct Chinese verbs, the longest reading first; nouns made of verbs do not count.
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

/// Names of files: a stem and an ending that begins with a letter. Addresses, host names and versions are none.
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
