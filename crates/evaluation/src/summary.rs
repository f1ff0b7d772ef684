//! What all trials together tell.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use serde::Serialize;

use crate::{
    Failure, Interval, Outcome, Suite, Task, Variant,
    statistics::{median, wilson},
};

/// Trials of one way, on all tasks or on some.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// How many there were.
    pub tried: u32,
    /// How many reached their goal.
    pub reached: u32,
    /// The share of these.
    pub success: Interval,
    /// How many said that they reached it and did not.
    pub false_claims: u32,
    /// Tokens in and out of one trial, in the middle.
    pub tokens: u64,
    /// Seconds of one trial, in the middle.
    pub seconds: u64,
    /// Dollars of all of them.
    pub cost_usd: f64,
    /// Changes of plans in all of them.
    pub replans: u64,
    /// Questions to a person in all of them.
    pub interventions: u64,
    /// In how many no plan of the mode came about, and the run fell back to another.
    pub fallbacks: u32,
    /// Failures by kind.
    pub failures: BTreeMap<Failure, u32>,
}

/// The tables of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The suite.
    pub suite: String,
    /// How many of its tasks were tried.
    pub tasks: usize,
    /// Each way, in the order in which they were given.
    pub variants: Vec<(String, Cell)>,
    /// Each way on the tasks that nothing was tuned on, where some of them are such.
    pub held_out: Vec<(String, Cell)>,
    /// Each way by category.
    pub categories: BTreeMap<String, Vec<(String, Cell)>>,
    /// Each way by level.
    pub levels: BTreeMap<u8, Vec<(String, Cell)>>,
    /// How many of these at least one way reached at least once.
    pub best_by_hand: u32,
    /// For each model and settings, on how many tasks `auto` reached the goal, and on how many of the same at least one mode that was chosen by hand
    /// did; nothing where not both were tried.
    pub auto: Vec<AutoMode>,
    /// By task, the ways that reached it each time it was tried.
    pub by_task: BTreeMap<String, Vec<String>>,
}

/// What choosing the mode by rules gave, beside choosing it by hand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AutoMode {
    /// The model and the settings, where they have names.
    pub with: String,
    /// Tasks that both were tried on.
    pub tasks: u32,
    /// Of these, those that `auto` reached at least once.
    pub reached: u32,
    /// Of these, those that at least one mode chosen by hand reached at least once. Whoever chose so would have to know it before.
    pub by_hand: u32,
    /// Tokens of one trial of `auto` on these tasks, in the middle.
    pub tokens: u64,
    /// The one mode by hand that reached most of these tasks, of those that were tried on all of them: with fewer tokens, where two did.
    pub best: Option<BestMode>,
}

/// The mode that is best where one is chosen by hand for all tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BestMode {
    /// Its name.
    pub mode: String,
    /// Tasks that it reached at least once.
    pub reached: u32,
    /// Tokens of one trial, in the middle.
    pub tokens: u64,
}

impl AutoMode {
    fn all(suite: &Suite, variants: &[Variant], outcomes: &[Outcome]) -> Vec<Self> {
        let plain = |variant: &&Variant| variant.agent.is_none() && variant.fault.is_none() && variant.replanning.is_none();
        let of = |variant: &Variant| (variant.model.clone(), variant.settings.clone());
        let mut all: Vec<_> = variants.iter().filter(plain).map(of).collect();
        let mut seen = BTreeSet::new();
        all.retain(|with| seen.insert(with.clone()));
        let among = |with: &(_, _)| variants.iter().filter(plain).filter(|variant| of(variant) == *with).collect::<Vec<_>>();
        all.iter()
            .filter_map(|with| {
                let name = [&with.0, &with.1].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
                Self::of(name, suite, &among(with), outcomes)
            })
            .collect()
    }

    fn of(with: String, suite: &Suite, variants: &[&Variant], outcomes: &[Outcome]) -> Option<Self> {
        let (auto, by_hand): (Vec<&Variant>, Vec<&Variant>) =
            variants.iter().copied().filter(|variant| variant.mode.is_some()).partition(|variant| variant.mode.as_deref() == Some("auto"));
        let of = |task: &str, ways: &[&Variant]| -> Vec<&Outcome> {
            outcomes.iter().filter(|outcome| outcome.task == task && ways.contains(&&outcome.variant)).collect()
        };
        let names = suite.tasks.iter().map(|task| task.name.as_str());
        let tasks: Vec<&str> = names.filter(|task| !of(task, &auto).is_empty() && !of(task, &by_hand).is_empty()).collect();
        let reached = |ways: &[&Variant]| -> u32 {
            let reached = tasks.iter().filter(|task| of(task, ways).iter().any(|outcome| outcome.reached));
            u32::try_from(reached.count()).unwrap_or(u32::MAX)
        };
        let tokens = |ways: &[&Variant]| median(tasks.iter().flat_map(|task| of(task, ways)).map(Outcome::tokens).collect());
        let on_all = by_hand.iter().filter(|way| tasks.iter().all(|task| !of(task, &[**way]).is_empty()));
        let best = on_all.map(|way| BestMode { mode: way.name(), reached: reached(&[*way]), tokens: tokens(&[*way]) });
        (!tasks.is_empty()).then(|| Self {
            with,
            tasks: u32::try_from(tasks.len()).unwrap_or(u32::MAX),
            reached: reached(&auto),
            by_hand: reached(&by_hand),
            tokens: tokens(&auto),
            best: best.max_by_key(|best| (best.reached, Reverse(best.tokens))),
        })
    }

    fn words(&self) -> String {
        let Self { with, tasks, reached, by_hand, tokens, best } = self;
        let with = if with.is_empty() { String::new() } else { format!("With {with}: ") };
        let best = best.as_ref().map(|BestMode { mode, reached, tokens }| {
            format!(" `{mode}`, the best mode for all of them by hand, reached {reached} with {tokens}.")
        });
        format!(
            "{with}Of {tasks} tasks `auto` reached {reached}, with {tokens} tokens in the middle.{} {by_hand} were reached by at least one of the modes that were \
             chosen by hand.",
            best.unwrap_or_default()
        )
    }
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
            tokens: median(outcomes.iter().map(|outcome| outcome.tokens()).collect()),
            seconds: median(outcomes.iter().map(|outcome| outcome.seconds).collect()),
            cost_usd: outcomes.iter().map(|outcome| outcome.cost_usd).sum(),
            replans: outcomes.iter().map(|outcome| outcome.replans).sum(),
            interventions: outcomes.iter().map(|outcome| outcome.interventions).sum(),
            fallbacks: count(&|outcome| outcome.fallback.is_some()),
            failures,
        })
    }
}

impl Summary {
    /// Of these outcomes; those of tasks or ways that are not asked for are left out, and so are tasks that were not tried.
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
            best_by_hand: u32::try_from(everything.iter().filter(|name| once(name)).count()).unwrap_or(u32::MAX),
            auto: AutoMode::all(suite, variants, outcomes),
            by_task,
        }
    }

    /// The tables as Markdown.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n\n{} tasks\n\n", self.suite, self.tasks);
        text.push_str(&table("way", &self.variants));
        if !self.held_out.is_empty() {
            text.push_str("\nOn the tasks that were held out:\n\n");
            text.push_str(&table("way", &self.held_out));
        }
        text.push_str(&self.matrix("category", self.categories.iter().map(|(category, cells)| (category.clone(), cells))));
        text.push_str(&self.matrix("level", self.levels.iter().map(|(level, cells)| (level.to_string(), cells))));
        let failures: BTreeSet<Failure> = self.variants.iter().flat_map(|(_, cell)| cell.failures.keys().copied()).collect();
        if !failures.is_empty() {
            let heads: String = failures.iter().map(|failure| format!(" {} |", failure.words())).collect();
            // Writing to a text cannot fail.
            let _ = write!(text, "\n| way |{heads}\n|---|{}\n", "---|".repeat(failures.len()));
            for (name, cell) in &self.variants {
                let counts: String = failures.iter().map(|failure| format!(" {} |", cell.failures.get(failure).unwrap_or(&0))).collect();
                let _ = writeln!(text, "| {name} |{counts}");
            }
        }
        for note in self.notes() {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }

    /// What is told beside the tables, in sentences.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let fell_back: Vec<_> = self.variants.iter().filter(|(_, cell)| cell.fallbacks > 0).collect();
        if !fell_back.is_empty() {
            let counts = fell_back.iter().map(|(name, cell)| format!("{name} {}", cell.fallbacks)).collect::<Vec<_>>().join("; ");
            notes.push(format!("Trials in which no plan of the mode came about, and the run fell back to another: {counts}."));
        }
        if self.variants.len() > 1 {
            notes.push(format!(
                "{} of {} tasks were reached by at least one way: what the best way chosen by hand for each could reach.",
                self.best_by_hand, self.tasks
            ));
        }
        notes.extend(self.auto.iter().map(AutoMode::words));
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
                    .map_or_else(|| "–".to_owned(), |(_, cell)| format!("{} of {}", cell.reached, cell.tried))
            };
            let _ = writeln!(text, "| {row} | {} |", names.iter().map(found).collect::<Vec<_>>().join(" | "));
        }
        text
    }
}

fn table(head: &str, cells: &[(String, Cell)]) -> String {
    let mut text = format!(
        "| {head} | reached | success (95%) | claimed, not reached | tokens | seconds | cost, $ | replans | questions |\n|---|---|---|---|---|---|---|---|---|\n"
    );
    for (name, cell) in cells {
        let Interval { share, low, high } = cell.success;
        let percent = |share: f64| format!("{:.0}", share * 100.0);
        let _ = writeln!(
            text,
            "| {name} | {} of {} | {}% ({}–{}) | {} | {} | {} | {:.2} | {} | {} |",
            cell.reached,
            cell.tried,
            percent(share),
            percent(low),
            percent(high),
            cell.false_claims,
            cell.tokens,
            cell.seconds,
            cell.cost_usd,
            cell.replans,
            cell.interventions
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
            // By hand alone, and by another agent: nothing to set beside it.
            trial(2, way("direct"), true),
            trial(1, peer.clone(), true),
        ];
        let variants = [way("direct"), way("complex"), way("auto"), peer];
        let summary = Summary::new(&suite, &variants, &outcomes);
        // The complex mode was not tried on both.
        let best = Some(BestMode { mode: "direct".to_owned(), reached: 1, tokens: 20 });
        assert_eq!(summary.auto, [AutoMode { with: String::new(), tasks: 2, reached: 1, by_hand: 2, tokens: 30, best }]);
        let told = "Of 2 tasks `auto` reached 1, with 30 tokens in the middle. `direct`, the best mode for all of them by hand, reached 1 with 20. \
                    2 were reached by at least one of the modes";
        assert!(summary.to_markdown().contains(told), "{}", summary.to_markdown());
        let (by_hand, others) = variants.split_at(2);
        assert_eq!(Summary::new(&suite, by_hand, &outcomes).auto, []);
        let of_others = Summary::new(&suite, others, &outcomes);
        assert_eq!((of_others.tasks, of_others.by_task.len()), (2, 2), "what was not tried is not counted");
        // What one model reaches by `auto` is not set beside what another reaches by hand.
        let of = |model: &str, mode: &str| Variant { model: Some(model.to_owned()), ..way(mode) };
        let variants = [of("small", "auto"), of("small", "direct"), of("large", "auto"), of("large", "direct")];
        let [one, two, three, four] = variants.clone();
        let outcomes = [trial(0, one, false), trial(0, two, true), trial(0, three, true), trial(0, four, true)];
        let found: Vec<_> = Summary::new(&suite, &variants, &outcomes).auto.into_iter().map(|auto| (auto.with, auto.reached)).collect();
        assert_eq!(found, [("small".to_owned(), 0), ("large".to_owned(), 1)]);
    }
}
