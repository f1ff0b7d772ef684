//! Summary of all trials.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use aime_messages::{Describe, Language, Message, message};
use serde::Serialize;

use crate::{
    Failure, Interval, Outcome, Suite, Task, Variant,
    statistics::{median, wilson},
};

/// Represents an unknown value.
const UNKNOWN: &str = "–";

/// Statistics of the trials of one variant, on all tasks or on some.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Number of trials.
    pub tried: u32,
    /// Number of trials that reached their goal.
    pub reached: u32,
    /// Success rate.
    pub success: Interval,
    /// Number of trials that claimed success without reaching their goal.
    pub false_claims: u32,
    /// Median of the input and output tokens of a trial, among those that report them; `None` if none does.
    pub tokens: Option<u64>,
    /// Total number of tokens; `None` if one trial does not report them.
    pub tokens_in_all: Option<u64>,
    /// Median duration of a trial in seconds.
    pub seconds: u64,
    /// Total cost in US dollars; `None` if one trial does not report it.
    pub cost_usd: Option<f64>,
    /// Total number of plan changes.
    pub replans: u64,
    /// Total number of questions to a person.
    pub interventions: u64,
    /// Number of trials without a plan of the mode, in which the run used a fallback plan.
    pub fallbacks: u32,
    /// Number of failures by kind.
    pub failures: BTreeMap<Failure, u32>,
}

/// Tables of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the suite.
    pub suite: String,
    /// Number of tasks that were tried.
    pub tasks: usize,
    /// Statistics of each variant, in the given order.
    pub variants: Vec<(String, Cell)>,
    /// Statistics of each variant on the tasks on which nothing was tuned, if there are some.
    pub held_out: Vec<(String, Cell)>,
    /// Statistics of each variant by category.
    pub categories: BTreeMap<String, Vec<(String, Cell)>>,
    /// Statistics of each variant by level.
    pub levels: BTreeMap<u8, Vec<(String, Cell)>>,
    /// Number of tasks that at least one variant reached at least once. No choice made beforehand could reach as many, because luck is
    /// included.
    pub reached_once: u32,
    /// Comparison of `auto` and the modes chosen by hand, for each model and settings; empty unless both were tried.
    pub auto: Vec<AutoMode>,
    /// By task, the variants that reached it in every trial.
    pub by_task: BTreeMap<String, Vec<String>>,
}

/// Comparison of choosing the mode by rules and by hand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AutoMode {
    /// Number of tasks on which both were tried.
    pub tasks: u32,
    /// Result of `auto` on these tasks.
    pub auto: OneMode,
    /// The single mode chosen by hand that reached most of these tasks, among those that were tried on all of them; with fewer tokens, if
    /// two did.
    pub best: Option<OneMode>,
    /// Number of these tasks that at least one mode chosen by hand reached at least once. No choice made beforehand could reach as many,
    /// because luck is included.
    pub by_hand_once: u32,
}

/// Result of one mode on some tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OneMode {
    /// Name of the mode, with those of the model and the settings.
    pub way: String,
    /// Expected number of tasks that it reaches if each is tried once: the sum of their success rates, so that a task that was tried more
    /// often has the same weight.
    pub reached: f64,
    /// Median number of tokens of a trial.
    pub tokens: Option<u64>,
}

impl OneMode {
    fn of(way: &Variant, tasks: &[&str], outcomes: &[Outcome]) -> Self {
        let of = |task: &str| outcomes.iter().filter(|outcome| outcome.task == task && outcome.variant == *way).collect::<Vec<_>>();
        let share = |task: &&str| {
            let tried = of(task);
            let count = |outcomes: usize| f64::from(u32::try_from(outcomes).unwrap_or(u32::MAX));
            count(tried.iter().filter(|outcome| outcome.reached).count()) / count(tried.len()).max(1.0)
        };
        Self {
            way: way.name(),
            reached: tasks.iter().map(share).sum(),
            tokens: median(tasks.iter().flat_map(|task| of(task)).filter_map(Outcome::tokens).collect()),
        }
    }

    /// Formats the expected number of tasks.
    fn reached(&self) -> String {
        if self.reached.fract() == 0.0 { format!("{:.0}", self.reached) } else { format!("{:.1}", self.reached) }
    }
}

impl AutoMode {
    fn all(suite: &Suite, variants: &[Variant], outcomes: &[Outcome]) -> Vec<Self> {
        let plain = |variant: &&Variant| variant.agent.is_none() && variant.fault.is_none() && variant.replanning.is_none();
        let of = |variant: &Variant| (variant.model.clone(), variant.settings.clone());
        let mut all: Vec<_> = variants.iter().filter(plain).map(of).collect();
        let mut seen = BTreeSet::new();
        all.retain(|with| seen.insert(with.clone()));
        let among = |with: &(_, _)| variants.iter().filter(plain).filter(|variant| of(variant) == *with).collect::<Vec<_>>();
        all.iter().filter_map(|with| Self::of(suite, &among(with), outcomes)).collect()
    }

    fn of(suite: &Suite, variants: &[&Variant], outcomes: &[Outcome]) -> Option<Self> {
        let (auto, by_hand): (Vec<&Variant>, Vec<&Variant>) =
            variants.iter().copied().filter(|variant| variant.mode.is_some()).partition(|variant| variant.mode.as_deref() == Some("auto"));
        let auto = *auto.first()?;
        let tried = |task: &str, way: &Variant| outcomes.iter().any(|outcome| outcome.task == task && outcome.variant == *way);
        let names = suite.tasks.iter().map(|task| task.name.as_str());
        let tasks: Vec<&str> = names.filter(|task| tried(task, auto) && by_hand.iter().any(|way| tried(task, way))).collect();
        if tasks.is_empty() {
            return None;
        }
        let once =
            |task: &&&str| outcomes.iter().any(|outcome| outcome.task == **task && outcome.reached && by_hand.contains(&&outcome.variant));
        let on_all = by_hand.iter().filter(|way| tasks.iter().all(|task| tried(task, way)));
        let best = on_all.map(|way| OneMode::of(way, &tasks, outcomes));
        let better = |one: &OneMode, other: &OneMode| one.reached.total_cmp(&other.reached).then(other.tokens.cmp(&one.tokens));
        Some(Self {
            tasks: u32::try_from(tasks.len()).unwrap_or(u32::MAX),
            auto: OneMode::of(auto, &tasks, outcomes),
            best: best.max_by(better),
            by_hand_once: u32::try_from(tasks.iter().filter(once).count()).unwrap_or(u32::MAX),
        })
    }

    fn notes(&self) -> Vec<Message> {
        let Self { tasks, auto, best, by_hand_once } = self;
        let values = |mode: &OneMode| (mode.way.clone(), mode.reached(), number(mode.tokens));
        let (name, reached, median) = values(auto);
        let mut notes = vec![message!("table-auto", name, reached, tasks = tasks.to_string(), median)];
        notes.extend(best.as_ref().map(|best| {
            let (name, reached, median) = values(best);
            message!("table-best", name, reached, tasks = tasks.to_string(), median)
        }));
        notes.push(message!("table-by-hand", reached = by_hand_once.to_string(), tasks = tasks.to_string()));
        notes
    }
}

/// Formats a number that may be unknown.
fn number(number: Option<u64>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), |number| number.to_string())
}

impl Cell {
    fn of<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<Self> {
        let outcomes: Vec<&Outcome> = outcomes.into_iter().collect();
        let count =
            |holds: &dyn Fn(&Outcome) -> bool| u32::try_from(outcomes.iter().filter(|outcome| holds(outcome)).count()).unwrap_or(u32::MAX);
        let (tried, reached) = (count(&|_| true), count(&|outcome| outcome.reached));
        let mut failures = BTreeMap::new();
        outcomes.iter().filter_map(|outcome| outcome.failure).for_each(|failure| *failures.entry(failure).or_default() += 1);
        (tried > 0).then(|| Self {
            tried,
            reached,
            success: wilson(reached, tried),
            false_claims: count(&|outcome| outcome.claimed && !outcome.reached),
            tokens: median(outcomes.iter().filter_map(|outcome| outcome.tokens()).collect()),
            tokens_in_all: outcomes.iter().map(|outcome| outcome.tokens()).sum(),
            seconds: median(outcomes.iter().map(|outcome| outcome.seconds).collect()).unwrap_or_default(),
            cost_usd: outcomes.iter().map(|outcome| outcome.cost_usd).sum(),
            replans: outcomes.iter().map(|outcome| outcome.replans).sum(),
            interventions: outcomes.iter().map(|outcome| outcome.interventions).sum(),
            fallbacks: count(&|outcome| outcome.fallback.is_some()),
            failures,
        })
    }

    /// Formats the total cost in US dollars.
    pub(crate) fn cost(&self) -> String {
        self.cost_usd.map_or_else(|| UNKNOWN.to_owned(), |cost| format!("{cost:.2}"))
    }

    /// Formats the median and the total number of tokens.
    pub(crate) fn tokens(&self) -> [String; 2] {
        [self.tokens, self.tokens_in_all].map(number)
    }
}

impl Summary {
    /// Summarizes these outcomes. Skips outcomes of other tasks or variants, and tasks without outcomes.
    #[must_use]
    pub fn new(suite: &Suite, variants: &[Variant], outcomes: &[Outcome]) -> Self {
        let was_tried = |task: &&Task| outcomes.iter().any(|outcome| outcome.task == task.name && variants.contains(&outcome.variant));
        let tried: Vec<&Task> = suite.tasks.iter().filter(was_tried).collect();
        let among = |holds: &dyn Fn(&Outcome) -> bool| -> Vec<(String, Cell)> {
            let of = |variant: &Variant| Cell::of(outcomes.iter().filter(|outcome| outcome.variant == *variant && holds(outcome)));
            variants.iter().filter_map(|variant| Some((variant.name(), of(variant)?))).collect()
        };
        let tasks = |holds: &dyn Fn(&Task) -> bool| -> BTreeSet<&str> {
            tried.iter().filter(|task| holds(task)).map(|task| task.name.as_str()).collect()
        };
        let of_tasks = |names: &BTreeSet<&str>| among(&|outcome| names.contains(outcome.task.as_str()));
        let everything = tasks(&|_| true);
        let categories: BTreeSet<&String> = tried.iter().map(|task| &task.category).collect();
        let levels: BTreeSet<u8> = tried.iter().map(|task| task.level).collect();
        let by_task: BTreeMap<String, Vec<String>> = tried
            .iter()
            .map(|task| {
                let of = |variant: &&Variant| {
                    let mut tried = outcomes.iter().filter(|outcome| outcome.task == task.name && outcome.variant == **variant).peekable();
                    tried.peek().is_some() && tried.all(|outcome| outcome.reached)
                };
                (task.name.clone(), variants.iter().filter(of).map(Variant::name).collect())
            })
            .collect();
        let once =
            |name: &&str| outcomes.iter().any(|outcome| outcome.task == **name && outcome.reached && variants.contains(&outcome.variant));
        Self {
            suite: suite.name.clone(),
            tasks: tried.len(),
            variants: of_tasks(&everything),
            held_out: if tried.iter().all(|task| task.held_out) { Vec::new() } else { of_tasks(&tasks(&|task| task.held_out)) },
            categories: categories
                .into_iter()
                .map(|category| (category.clone(), of_tasks(&tasks(&|task| task.category == *category))))
                .collect(),
            levels: levels.into_iter().map(|level| (level, of_tasks(&tasks(&|task| task.level == level)))).collect(),
            reached_once: u32::try_from(everything.iter().filter(|name| once(name)).count()).unwrap_or(u32::MAX),
            auto: AutoMode::all(suite, variants, outcomes),
            by_task,
        }
    }

    /// Formats the tables as Markdown.
    #[must_use]
    pub fn to_markdown(&self, language: Language) -> String {
        let words = |message: Message| message.render(language);
        let mut text = format!("# {}\n\n{}\n\n", self.suite, words(message!("count-task", number = self.tasks)));
        text.push_str(&table(language, &self.variants));
        if !self.held_out.is_empty() {
            let _ = write!(text, "\n{}\n\n", words(message!("table-held-out")));
            text.push_str(&table(language, &self.held_out));
        }
        let categories = self.categories.iter().map(|(category, cells)| (category.clone(), cells));
        text.push_str(&self.matrix(&words(message!("table-category")), categories));
        let levels = self.levels.iter().map(|(level, cells)| (level.to_string(), cells));
        text.push_str(&self.matrix(&words(message!("table-level")), levels));
        let failures: BTreeSet<Failure> = self.variants.iter().flat_map(|(_, cell)| cell.failures.keys().copied()).collect();
        if !failures.is_empty() {
            let heads: String = failures.iter().map(|failure| format!(" {} |", words(failure.describe()))).collect();
            // Writing to a text cannot fail.
            let _ = write!(text, "\n| {} |{heads}\n|---|{}\n", words(message!("table-way")), "---|".repeat(failures.len()));
            for (name, cell) in &self.variants {
                let counts: String = failures.iter().map(|failure| format!(" {} |", cell.failures.get(failure).unwrap_or(&0))).collect();
                let _ = writeln!(text, "| {name} |{counts}");
            }
        }
        for note in self.notes() {
            let _ = writeln!(text, "\n{}", words(note));
        }
        text
    }

    /// Returns the sentences beside the tables.
    pub(crate) fn notes(&self) -> Vec<Message> {
        let mut notes = Vec::new();
        let fell_back: Vec<_> = self.variants.iter().filter(|(_, cell)| cell.fallbacks > 0).collect();
        if !fell_back.is_empty() {
            let counts = fell_back.iter().map(|(name, cell)| format!("{name} {}", cell.fallbacks)).collect::<Vec<_>>().join("; ");
            notes.push(message!("table-fallbacks", counts));
        }
        if self.variants.len() > 1 {
            notes.push(message!("table-once", reached = self.reached_once.to_string(), tasks = self.tasks.to_string()));
        }
        notes.extend(self.auto.iter().flat_map(AutoMode::notes));
        notes
    }

    fn matrix<'a>(&'a self, head: &str, rows: impl Iterator<Item = (String, &'a Vec<(String, Cell)>)>) -> String {
        let rows: Vec<_> = rows.collect();
        if rows.len() < 2 {
            return String::new();
        }
        let names: Vec<&str> = self.variants.iter().map(|(name, _)| name.as_str()).collect();
        let mut text = format!("\n| {head} | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
        for (row, cells) in rows {
            let found = |name: &&str| {
                cells
                    .iter()
                    .find(|(other, _)| other == *name)
                    .map_or_else(|| UNKNOWN.to_owned(), |(_, cell)| format!("{} of {}", cell.reached, cell.tried))
            };
            let _ = writeln!(text, "| {row} | {} |", names.iter().map(found).collect::<Vec<_>>().join(" | "));
        }
        text
    }
}

/// Returns the headers of a table of variants, without the success rate.
pub(crate) fn heads() -> [Message; 9] {
    [
        message!("table-way"),
        message!("table-reached"),
        message!("table-claimed"),
        message!("table-tokens"),
        message!("table-tokens-in-all"),
        message!("table-seconds"),
        message!("table-cost"),
        message!("table-replans"),
        message!("table-questions"),
    ]
}

fn table(language: Language, cells: &[(String, Cell)]) -> String {
    let mut heads = heads().to_vec();
    heads.insert(2, message!("table-success"));
    let names: Vec<String> = heads.iter().map(|head| head.render(language)).collect();
    let mut text = format!("| {} |\n|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for (name, cell) in cells {
        let Interval { share, low, high } = cell.success;
        let percent = |share: f64| format!("{:.0}", share * 100.0);
        let _ = writeln!(
            text,
            "| {name} | {} of {} | {}% ({}–{}) | {} | {} | {} | {} | {} | {} |",
            cell.reached,
            cell.tried,
            percent(share),
            percent(low),
            percent(high),
            cell.false_claims,
            cell.tokens().join(" | "),
            cell.seconds,
            cell.cost(),
            cell.replans,
            cell.interventions
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Requirement: 17.8
    #[test]
    fn choosing_by_rules_is_set_beside_choosing_by_hand() {
        let mut suite = Suite::core().unwrap();
        suite.tasks.truncate(3);
        let names: Vec<String> = suite.tasks.iter().map(|task| task.name.clone()).collect();
        let way = |mode: &str| Variant { mode: Some(mode.to_owned()), ..Variant::default() };
        let trial = |task: usize, variant: Variant, reached: bool| -> Outcome {
            let line = serde_json::json!({
                "schema": "aime.trial/v1", "task": names[task], "variant": variant, "repeat": 1, "reached": reached, "claimed": true, "seconds": 1,
                "input_tokens": if variant == way("auto") { 30 } else { 20 }, "output_tokens": task,
            });
            serde_json::from_value(line).unwrap()
        };
        let peer = Variant { agent: Some("peer".to_owned()), ..Variant::default() };
        let outcomes = [
            trial(0, way("auto"), true),
            trial(0, way("direct"), true),
            trial(1, way("auto"), false),
            trial(1, way("direct"), false),
            trial(1, way("complex"), true),
            // Only by hand, and by another agent: there is nothing to compare.
            trial(2, way("direct"), true),
            trial(1, peer.clone(), true),
        ];
        let variants = [way("direct"), way("complex"), way("auto"), peer];
        let summary = Summary::new(&suite, &variants, &outcomes);
        // The complex mode was not tried on both.
        let one = |mode: &str, tokens: u64| OneMode { way: mode.to_owned(), reached: 1.0, tokens: Some(tokens) };
        assert_eq!(summary.auto, [AutoMode { tasks: 2, auto: one("auto", 30), best: Some(one("direct", 20)), by_hand_once: 2 }]);
        let expected = "`auto` reached 1 of 2 tasks; the median is 30 tokens.\n\n`direct`, the best single mode chosen by hand, reached 1 of 2 tasks; the median is \
                    20 tokens.\n\nModes chosen by hand reached 2 of these 2 tasks at least once.";
        assert!(summary.to_markdown(Language::English).contains(expected), "{}", summary.to_markdown(Language::English));
        let (by_hand, others) = variants.split_at(2);
        assert_eq!(Summary::new(&suite, by_hand, &outcomes).auto, []);
        let of_others = Summary::new(&suite, others, &outcomes);
        assert_eq!((of_others.tasks, of_others.by_task.len()), (2, 2), "what was not tried is not counted");
        // `auto` with one model is not compared with modes chosen by hand for another model.
        let of = |model: &str, mode: &str| Variant { model: Some(model.to_owned()), ..way(mode) };
        let variants = [of("small", "auto"), of("small", "direct"), of("large", "auto"), of("large", "direct")];
        let [one, two, three, four] = variants.clone();
        let outcomes = [trial(0, one, false), trial(0, two, true), trial(0, three, true), trial(0, four, true)];
        let found: Vec<_> = Summary::new(&suite, &variants, &outcomes).auto.iter().map(|auto| auto.notes()[0].to_string()).collect();
        let [small, large] = ["`auto, small` reached 0 of 1 tasks", "`auto, large` reached 1 of 1 tasks"];
        assert!(found.len() == 2 && found[0].starts_with(small) && found[1].starts_with(large), "{found:?}");
    }

    /// A mode that reaches each task once in many trials is worse than one that always does.
    #[test]
    fn a_mode_counts_by_how_often_it_reaches_a_task() {
        let mut suite = Suite::core().unwrap();
        suite.tasks.truncate(1);
        let way = |mode: &str| Variant { mode: Some(mode.to_owned()), ..Variant::default() };
        let trial = |mode: &str, repeat: u32, reached: bool, tokens: Option<u64>| Outcome {
            schema: "aime.trial/v1".to_owned(),
            task: suite.tasks[0].name.clone(),
            variant: way(mode),
            repeat,
            reached,
            input_tokens: tokens,
            output_tokens: tokens,
            ..Outcome::default()
        };
        let mut outcomes = vec![trial("auto", 1, true, Some(9)), trial("auto", 2, false, None)];
        outcomes.extend((1..=4).map(|repeat| trial("direct", repeat, repeat == 1, Some(1))));
        outcomes.extend((1..=4).map(|repeat| trial("complex", repeat, repeat != 1, None)));
        let variants = [way("auto"), way("direct"), way("complex")];
        let summary = Summary::new(&suite, &variants, &outcomes);
        let markdown = summary.to_markdown(Language::English);
        assert!(markdown.contains("`auto` reached 0.5 of 1 tasks; the median is 18 tokens."), "{markdown}");
        assert!(
            markdown.contains("`complex`, the best single mode chosen by hand, reached 0.8 of 1 tasks; the median is – tokens"),
            "{markdown}"
        );
        for row in [
            "| auto | 1 of 2 | 50% (9–91) | 0 | 18 | – | 0 | – | 0 | 0 |",
            "| direct | 1 of 4 | 25% (5–70) | 0 | 2 | 8 | 0 | – | 0 | 0 |",
            "| complex | 3 of 4 | 75% (30–95) | 0 | – | – | 0 | – | 0 | 0 |",
        ] {
            assert!(markdown.contains(row), "{markdown}");
        }
    }
}
