//! Graphs of tasks with known durations, and lower bounds of their total time.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// A graph that every system runs in the same way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Graph {
    /// Name of the graph.
    pub(crate) name: String,
    /// Maximum number of concurrent tasks.
    pub(crate) slots: usize,
    /// Tasks, each after those that it depends on.
    pub(crate) tasks: Vec<Task>,
}

/// A task that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Id of the task.
    pub(crate) id: String,
    /// Duration in milliseconds; 0 does nothing at all.
    pub(crate) ms: u64,
    /// Ids of its dependencies.
    pub(crate) after: Vec<String>,
}

impl Graph {
    fn new(name: impl Into<String>, slots: usize, tasks: Vec<Task>) -> Self {
        Self { name: name.into(), slots, tasks }
    }

    /// Returns a lower bound of every schedule in milliseconds. Tasks that cannot start before some time and have at least some time of
    /// others behind them must run in between: both times, and their work divided by the slots, are a bound together (Fernandez and
    /// Bussell, 1973). The longest path is another one.
    ///
    /// # Errors
    /// A task whose dependency does not precede it.
    pub(crate) fn lower_bound_ms(&self) -> Result<f64> {
        let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
        for task in &self.tasks {
            let mut start = 0;
            for before in &task.after {
                let end = ends.get(before.as_str()).copied();
                ensure!(end.is_some(), "{}: {} does not stand before {}", self.name, before, task.id);
                start = start.max(end.unwrap_or_default());
            }
            ends.insert(&task.id, start + task.ms);
        }
        // Minimum time after each task.
        let mut tails: BTreeMap<&str, u64> = BTreeMap::new();
        for task in self.tasks.iter().rev() {
            let tail = tails.get(task.id.as_str()).copied().unwrap_or_default();
            for before in &task.after {
                let known = tails.entry(before).or_default();
                *known = (*known).max(tail + task.ms);
            }
        }
        let end = |task: &Task| ends.get(task.id.as_str()).copied().unwrap_or_default();
        let windows: Vec<(u64, u64, u64)> = self
            .tasks
            .iter()
            .map(|task| (end(task) - task.ms, tails.get(task.id.as_str()).copied().unwrap_or_default(), task.ms))
            .collect();
        let heads: BTreeSet<u64> = windows.iter().map(|(head, ..)| *head).collect();
        let behind: BTreeSet<u64> = windows.iter().map(|(_, tail, _)| *tail).collect();
        let mut bound = ends.values().copied().max().unwrap_or_default() as f64;
        for (head, tail) in heads.iter().flat_map(|head| behind.iter().map(move |tail| (*head, *tail))) {
            let work: u64 = windows.iter().filter(|window| window.0 >= head && window.1 >= tail).map(|window| window.2).sum();
            if work > 0 {
                bound = bound.max((head + tail) as f64 + work as f64 / self.slots as f64);
            }
        }
        Ok(bound)
    }
}

fn task(number: usize, ms: u64, after: impl IntoIterator<Item = usize>) -> Task {
    Task { id: name(number), ms, after: after.into_iter().map(name).collect() }
}

fn name(number: usize) -> String {
    format!("t{number}")
}

/// Returns independent tasks that do nothing.
pub(crate) fn independent(count: usize) -> Graph {
    Graph::new(format!("{count} independent"), 64, (0..count).map(|at| task(at, 0, [])).collect())
}

/// Returns a chain of tasks that do nothing.
pub(crate) fn chain(count: usize) -> Graph {
    Graph::new(format!("chain of {count}"), 64, (0..count).map(|at| task(at, 0, at.checked_sub(1))).collect())
}

/// Returns layers of tasks; each task depends on two of the layer before.
fn layered(name: &str, slots: usize, layers: usize, width: usize, mut ms: impl FnMut(usize) -> u64, seed: u64) -> Graph {
    let mut random = Rng::with_seed(seed);
    let mut tasks = Vec::new();
    for layer in 0..layers {
        for at in 0..width {
            let number = layer * width + at;
            let mut before: Vec<usize> = match layer.checked_sub(1) {
                Some(above) => (0..2).map(|_| above * width + random.usize(0..width)).collect(),
                None => Vec::new(),
            };
            before.dedup();
            tasks.push(task(number, ms(number), before));
        }
    }
    Graph::new(name, slots, tasks)
}

/// Returns ten layers of a hundred tasks of 10 ms.
pub(crate) fn even() -> Graph {
    layered("layered, 1000 x 10 ms", 64, 10, 100, |_| 10, 1)
}

/// Returns ten layers of twenty tasks of 2 to 50 ms.
pub(crate) fn uneven() -> Graph {
    let mut random = Rng::with_seed(2);
    layered("uneven, 200 x 2-50 ms", 16, 10, 20, move |_| random.u64(2..=50), 3)
}

/// Returns ten such layers with one task in each that takes ten times as long.
pub(crate) fn stragglers() -> Graph {
    let mut random = Rng::with_seed(4);
    layered("stragglers, 200 x 10 or 100 ms", 16, 10, 20, move |number| if number % 20 == random.usize(0..20) { 100 } else { 10 }, 5)
}

/// Factor on the durations of workflow steps below, which are seconds and minutes in reality.
const LONGER: u64 = 4;

/// Returns a graph with the shape of a scientific workflow, known from the Pegasus gallery, with invented durations.
pub(crate) fn workflow(shape: Shape) -> Graph {
    let mut random = Rng::with_seed(shape as u64 + 10);
    let mut tasks: Vec<Task> = Vec::new();
    let mut add = |ms: u64, after: Vec<usize>| {
        tasks.push(task(tasks.len(), ms * LONGER, after));
        tasks.len() - 1
    };
    let mut around = move |ms: u64| random.u64(ms / 2..=ms * 3 / 2);
    match shape {
        Shape::Montage => {
            let projected: Vec<usize> = (0..24).map(|_| add(around(14), vec![])).collect();
            let differences: Vec<usize> =
                projected.windows(2).flat_map(|pair| [pair.to_vec(), pair.to_vec()]).map(|pair| add(around(10), pair)).collect();
            let fitted = add(30, differences);
            let model = add(40, vec![fitted]);
            let corrected: Vec<usize> = projected.iter().map(|image| add(around(11), vec![*image, model])).collect();
            let table = add(20, corrected);
            let sum = add(50, vec![table]);
            let small = add(15, vec![sum]);
            add(5, vec![small]);
        }
        Shape::Epigenomics => {
            let split = add(30, vec![]);
            let ends: Vec<usize> =
                (0..32).map(|_| [10, 20, 8, 90].into_iter().fold(split, |before, ms| add(around(ms), vec![before]))).collect();
            let merged = add(40, ends);
            let indexed = add(25, vec![merged]);
            add(30, vec![indexed]);
        }
        Shape::Inspiral => {
            let halves: Vec<usize> = (0..4)
                .map(|_| {
                    let inspirals: Vec<usize> = (0..10)
                        .map(|_| {
                            let bank = add(around(18), vec![]);
                            add(around(80), vec![bank])
                        })
                        .collect();
                    add(6, inspirals)
                })
                .collect();
            for half in halves {
                let inspirals: Vec<usize> = (0..10)
                    .map(|_| {
                        let trigger = add(around(6), vec![half]);
                        add(around(60), vec![trigger])
                    })
                    .collect();
                add(6, inspirals);
            }
        }
        Shape::CyberShake => {
            let extracted: Vec<usize> = (0..4).map(|_| add(around(110), vec![])).collect();
            let peaks: Vec<(usize, usize)> = (0..80)
                .map(|at| {
                    let before = extracted.get(at % extracted.len()).copied().unwrap_or_default();
                    let seismogram = add(around(40), vec![before]);
                    (seismogram, add(around(2), vec![seismogram]))
                })
                .collect();
            add(10, peaks.iter().map(|(seismogram, _)| *seismogram).collect());
            add(10, peaks.iter().map(|(_, peak)| *peak).collect());
        }
    }
    Graph::new(format!("workflow {shape:?}"), 16, tasks)
}

/// Shapes of [`workflow`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Mosaic of the sky: a fan-out, pairs of neighbours, a join, another fan-out.
    Montage,
    /// Genome sequences: many pipelines between a split and a merge.
    Epigenomics,
    /// Search for gravitational waves: groups that join twice.
    Inspiral,
    /// Earthquakes: a few long tasks, each before many short ones.
    CyberShake,
}

/// Returns every graph of the table.
pub(crate) fn all() -> Vec<Graph> {
    let workflows = [Shape::Montage, Shape::Epigenomics, Shape::Inspiral, Shape::CyberShake].map(workflow);
    [independent(1_000), chain(200), even(), uneven(), stragglers()].into_iter().chain(workflows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_graph_has_a_lower_bound() {
        for graph in all() {
            let bound = graph.lower_bound_ms().unwrap();
            assert_eq!(bound > 0.0, graph.tasks.iter().any(|task| task.ms > 0), "{}", graph.name);
        }
    }

    #[test]
    fn no_schedule_is_shorter_than_the_longest_path_or_the_work_over_the_slots() {
        let tasks = vec![task(0, 10, []), task(1, 5, [0]), task(2, 3, [])];
        assert_eq!(Graph::new("path", 4, tasks.clone()).lower_bound_ms().unwrap(), 15.0);
        assert_eq!(Graph::new("work", 1, tasks).lower_bound_ms().unwrap(), 18.0);
    }

    #[test]
    fn work_between_a_split_and_a_merge_is_not_spread_over_their_time() {
        let mut tasks = vec![task(0, 10, [])];
        tasks.extend((1..=4).map(|number| task(number, 6, [0])));
        tasks.push(task(5, 10, 1..=4));
        assert_eq!(Graph::new("merge", 2, tasks).lower_bound_ms().unwrap(), 10.0 + 12.0 + 10.0);
    }

    #[test]
    fn a_task_before_its_dependency_is_refused() {
        assert!(Graph::new("bad", 1, vec![task(0, 1, [1]), task(1, 1, [])]).lower_bound_ms().is_err());
    }
}
