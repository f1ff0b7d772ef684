//! Periods in which tasks ran, and the critical path.

use std::collections::{HashMap, HashSet};

use aime_progress_management::{ProgressEvent, ProgressState, TaskId, TaskKind, TaskStatus, Timestamp};

use super::{
    Bar, Row, Timeline,
    build::{TITLE, Titles},
    spending::for_the_run,
};
use crate::text::Reader;

/// Largest number of rows; below, that of the periods of one row.
const ROWS: usize = 200;
const BARS: usize = 200;
/// Smallest pause that is drawn short, in milliseconds. It must also exceed a quarter of the total running time.
const PAUSE: u64 = 60_000;

/// Periods in which something ran.
pub(crate) struct Times {
    tasks: Vec<(TaskId, Vec<Bar>)>,
    /// Requests of the run as a whole, by purpose.
    planner: Vec<(String, Vec<Bar>)>,
    from: Timestamp,
    to: Timestamp,
}

impl Times {
    pub(crate) fn of(events: &[(Timestamp, &ProgressEvent)]) -> Self {
        let from = events.first().map_or(Timestamp::default(), |(at, _)| *at);
        let to = events.iter().map(|(at, _)| *at).max().unwrap_or(from);
        let mut times = Self { tasks: Vec::new(), planner: Vec::new(), from, to };
        let mut begun: HashMap<&TaskId, Begin> = HashMap::new();
        let mut last = from;
        for (at, event) in events {
            match event {
                ProgressEvent::RunResumed {} | ProgressEvent::RunContinued { .. } => times.resume(&mut begun, last, *at),
                ProgressEvent::TaskStatusChanged { task, from, to, .. } => {
                    match begun.remove(task).filter(|_| *from == TaskStatus::Running) {
                        Some(Begin { at: since, is_resume: true }) if since == *at => times.set_last_status(task, *to),
                        Some(Begin { at: since, .. }) => add(&mut times.tasks, task, Bar { from: since, to: *at, status: *to }),
                        None => {}
                    }
                    if *to == TaskStatus::Running {
                        begun.insert(task, Begin { at: *at, is_resume: false });
                    }
                }
                ProgressEvent::ModelCalled { task: None, purpose, duration_ms, .. } => {
                    let since = Timestamp::from_millis(at.as_millis().saturating_sub(i64::try_from(*duration_ms).unwrap_or(i64::MAX)));
                    let bar = Bar { from: since.max(times.from), to: *at, status: TaskStatus::Completed };
                    add(&mut times.planner, &for_the_run(purpose), bar);
                }
                _ => {}
            }
            last = *at;
        }
        for (task, begin) in sorted(&begun) {
            add(&mut times.tasks, task, Bar { from: begin.at, to, status: TaskStatus::Running });
        }
        times
    }

    /// Ends the open periods at the time of the last event, because nothing ran between a crash and the resume. Groups
    /// stay open; the resume itself changes the status of the other tasks.
    fn resume(&mut self, begun: &mut HashMap<&TaskId, Begin>, last: Timestamp, at: Timestamp) {
        for (task, begin) in sorted(begun) {
            add(&mut self.tasks, task, Bar { from: begin.at, to: last, status: TaskStatus::Running });
        }
        begun.values_mut().for_each(|begin| *begin = Begin { at, is_resume: true });
    }

    fn set_last_status(&mut self, task: &TaskId, status: TaskStatus) {
        if let Some(bar) = self.tasks.iter_mut().find(|(id, _)| id == task).and_then(|(_, bars)| bars.last_mut()) {
            bar.status = status;
        }
    }

    /// Returns the working time of a task, in milliseconds.
    pub(crate) fn worked_ms(&self, task: &TaskId) -> u64 {
        self.bars(task).iter().map(|bar| bar.to.millis_since(bar.from)).sum()
    }

    fn bars(&self, task: &TaskId) -> &[Bar] {
        self.tasks.iter().find(|(id, _)| id == task).map(|(_, bars)| bars.as_slice()).unwrap_or_default()
    }

    fn ended(&self, task: &TaskId) -> Option<Timestamp> {
        self.bars(task).last().map(|bar| bar.to)
    }

    /// Returns the critical path: the task that ended last, then repeatedly the last of those that it waited for. A task that a plan change
    /// added has also waited for the tasks that triggered the change.
    pub(crate) fn critical(&self, state: &ProgressState) -> HashSet<TaskId> {
        let ends: HashMap<&TaskId, Timestamp> = self.tasks.iter().filter_map(|(id, _)| Some((id, self.ended(id)?))).collect();
        let graph = state.graph();
        let mut chain = HashSet::new();
        let worked = |id: &&TaskId| state.tasks.get(*id).is_some_and(|task| task.spec.kind != TaskKind::Group);
        let last = ends.keys().copied().filter(worked).max_by_key(|id| ends.get(*id));
        let mut next = last.cloned();
        while let Some(task) = next.take() {
            let mut before = before(state, &graph, &task);
            before.extend(decided(state, &task));
            next = before
                .into_iter()
                .filter(|id| !chain.contains(id) && *id != task)
                .max_by_key(|id| ends.get(id))
                .filter(|id| ends.contains_key(id));
            chain.insert(task);
        }
        chain
    }

    pub(crate) fn view(&self, critical: &HashSet<TaskId>, titles: &Titles, reader: &Reader<'_>) -> Timeline {
        let row = |task, title, bars: &[Bar], critical| Row { task, title, bars: bars.to_vec(), left_out: 0, critical };
        let planner = self.planner.iter().map(|(title, bars)| row(None, reader.line(title, TITLE), bars, false));
        let tasks = self.tasks.iter().map(|(id, bars)| row(titles.number(id), titles.title(id), bars, critical.contains(id)));
        let mut rows: Vec<Row> = planner.chain(tasks).collect();
        rows.sort_by_key(|row| row.bars.first().map(|bar| bar.from));
        let left_out = rows.len().saturating_sub(ROWS);
        let pauses = pauses(&rows, self.from, self.to);
        rows.truncate(ROWS);
        for row in &mut rows {
            row.left_out = row.bars.len().saturating_sub(BARS);
            row.bars.truncate(BARS);
        }
        Timeline { rows, left_out, from: self.from, to: self.to, pauses }
    }
}

/// Start of a period that has not ended.
#[derive(Clone, Copy)]
struct Begin {
    at: Timestamp,
    /// True if the task ran before a crash, and the run was resumed at this time.
    is_resume: bool,
}

/// Returns the open periods in the order of their tasks.
fn sorted<'a>(begun: &HashMap<&'a TaskId, Begin>) -> Vec<(&'a TaskId, Begin)> {
    let mut begun: Vec<_> = begun.iter().map(|(task, begin)| (*task, *begin)).collect();
    begun.sort_by_key(|(task, _)| *task);
    begun
}

/// Adds a period to those of its row.
fn add<K: PartialEq + Clone>(all: &mut Vec<(K, Vec<Bar>)>, key: &K, bar: Bar) {
    match all.iter_mut().find(|(known, _)| known == key) {
        Some((_, bars)) => bars.push(bar),
        None => all.push((key.clone(), vec![bar])),
    }
}

/// Returns the tasks that a task waits for, directly and through its groups. A group is replaced by its members.
fn before(state: &ProgressState, graph: &aime_progress_management::TaskGraph, task: &TaskId) -> Vec<TaskId> {
    let parent = |id: &TaskId| state.tasks.get(id).and_then(|task| task.spec.parent.clone());
    let around = std::iter::successors(Some(task.clone()), parent).take(state.tasks.len());
    let mut open: Vec<TaskId> = around.flat_map(|id| graph.dependencies(&id).into_iter().cloned().collect::<Vec<_>>()).collect();
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        match state.tasks.get(&id).map(|task| task.spec.kind) {
            Some(TaskKind::Group) => {
                open.extend(state.tasks.iter().filter(|(_, task)| task.spec.parent.as_ref() == Some(&id)).map(|(part, _)| part.clone()));
            }
            Some(_) => found.push(id),
            None => {}
        }
    }
    found
}

/// Returns the tasks that triggered the plan change which added this task.
fn decided<'a>(state: &'a ProgressState, task: &TaskId) -> impl Iterator<Item = TaskId> + 'a {
    let version = state.tasks.get(task).map_or(1, |task| task.version);
    let decision = state.decisions.iter().find(move |decision| decision.version == version);
    decision.into_iter().flat_map(|decision| &decision.triggers).flat_map(|reason| reason.tasks.iter().cloned())
}

/// Returns the long periods in which nothing ran.
fn pauses(rows: &[Row], from: Timestamp, to: Timestamp) -> Vec<(Timestamp, Timestamp)> {
    let mut bars: Vec<(Timestamp, Timestamp)> = rows.iter().flat_map(|row| &row.bars).map(|bar| (bar.from, bar.to)).collect();
    bars.sort();
    bars.push((to, to));
    let (mut until, mut gaps, mut idle) = (from, Vec::new(), 0);
    for (since, end) in bars {
        if since > until {
            gaps.push((until, since));
            idle += since.millis_since(until);
        }
        until = until.max(end);
    }
    let active = to.millis_since(from).saturating_sub(idle);
    gaps.retain(|(since, until)| until.millis_since(*since) > PAUSE.max(active / 4));
    gaps
}
