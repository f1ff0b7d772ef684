//! Time and tokens of a run, by what used them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{ModelCost, ProgressEvent, QuestionId, Timestamp};

/// Tools whose time belongs to others: to an actor with calls of its own, and to a person.
const WAITING_TOOLS: [&str; 2] = ["delegate_task", "ask_human"];

/// Time and tokens of a run, or of several, by what used them.
///
/// The parts are sums over everything that ran, so tasks that run at once make them exceed the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TimeUse {
    /// Milliseconds from the beginning to the end, without the time during which no process carried the run.
    pub total_ms: u64,
    /// Answers of models, verdicts excepted.
    pub models: PartUse,
    /// Tool calls, with the tokens of models that tools ask.
    pub tools: PartUse,
    /// Checks of criteria: commands, files and verdicts of models.
    pub checks: PartUse,
    /// Milliseconds of merging the private folders of tasks into the working folder.
    pub merging_ms: u64,
    /// Milliseconds in which nothing ran and a question to a person was open.
    pub people_ms: u64,
    /// Milliseconds in which aime alone worked.
    pub aime_ms: u64,
}

/// Time and tokens of one part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PartUse {
    /// Milliseconds.
    pub ms: u64,
    /// Requests to models, tokens and cost.
    #[serde(flatten)]
    pub spent: ModelCost,
}

impl PartUse {
    fn add(&mut self, other: &Self) {
        self.ms = self.ms.saturating_add(other.ms);
        self.spent.add(&other.spent);
    }
}

impl TimeUse {
    /// Computes the use from the events of a run.
    pub fn of<'a>(events: impl IntoIterator<Item = (Timestamp, &'a ProgressEvent)>) -> Self {
        let mut counter = TimeUseCounter::default();
        events.into_iter().for_each(|(at, event)| counter.record(at, event));
        counter.finish()
    }

    /// Adds the use of another run.
    pub fn add(&mut self, other: &Self) {
        self.models.add(&other.models);
        self.tools.add(&other.tools);
        self.checks.add(&other.checks);
        for (own, other) in [
            (&mut self.total_ms, other.total_ms),
            (&mut self.merging_ms, other.merging_ms),
            (&mut self.people_ms, other.people_ms),
            (&mut self.aime_ms, other.aime_ms),
        ] {
            *own = own.saturating_add(other);
        }
    }
}

/// Collects the use of a run, event by event.
#[derive(Debug, Clone, Default)]
pub struct TimeUseCounter {
    used: TimeUse,
    /// Begin of the present session: the time since the start or the last resume.
    session: Option<i64>,
    /// Time of the last event.
    last: i64,
    /// Intervals in which something other than aime ran, as milliseconds.
    busy: Vec<(i64, i64)>,
    /// Intervals in which a question was open.
    question_spans: Vec<(i64, i64)>,
    open: BTreeMap<QuestionId, i64>,
    /// Time of a fact that reported several durations, and the begin of the earliest. They followed each other.
    stacked: Option<(i64, i64)>,
}

impl TimeUseCounter {
    /// Takes the next event.
    pub fn record(&mut self, at: Timestamp, event: &ProgressEvent) {
        let at = at.as_millis();
        if matches!(event, ProgressEvent::RunResumed {} | ProgressEvent::RunContinued { .. }) {
            self.end_session();
            self.session = Some(at);
            self.open.values_mut().for_each(|since| *since = at);
        }
        self.session.get_or_insert(at);
        self.last = at;
        match event {
            ProgressEvent::ModelCalled { purpose, spent, duration_ms, .. } => match purpose.as_str() {
                // The call of the tool has the time.
                "search" => self.used.tools.spent.add(spent),
                "verdict" => {
                    self.used.checks.add(&PartUse { ms: *duration_ms, spent: *spent });
                    self.ran_before_others(at, *duration_ms);
                }
                "act" | "lead" => {
                    self.used.models.add(&PartUse { ms: *duration_ms, spent: *spent });
                    self.ran(at, *duration_ms);
                }
                _ => {
                    self.used.models.add(&PartUse { ms: *duration_ms, spent: *spent });
                    self.ran_before_others(at, *duration_ms);
                }
            },
            ProgressEvent::ToolCallFinished { tool, duration_ms, .. } if !WAITING_TOOLS.contains(&tool.as_str()) => {
                self.used.tools.ms = self.used.tools.ms.saturating_add(*duration_ms);
                self.ran(at, *duration_ms);
            }
            ProgressEvent::CriterionChecked { duration_ms, .. } => {
                self.used.checks.ms = self.used.checks.ms.saturating_add(*duration_ms);
                self.ran_before_others(at, *duration_ms);
            }
            ProgressEvent::ChangesMerged { duration_ms, .. } => {
                self.used.merging_ms = self.used.merging_ms.saturating_add(*duration_ms);
                self.ran(at, *duration_ms);
            }
            ProgressEvent::QuestionAsked { id, .. } => {
                self.open.insert(id.clone(), at);
            }
            ProgressEvent::QuestionAnswered { id, .. } => self.question_spans.extend(self.open.remove(id).map(|since| (since, at))),
            _ => {}
        }
    }

    /// Returns the use up to the last event.
    #[must_use]
    pub fn finish(mut self) -> TimeUse {
        self.end_session();
        let busy = length(&mut self.busy);
        self.busy.append(&mut self.question_spans);
        let either = length(&mut self.busy);
        self.used.people_ms = either.saturating_sub(busy);
        self.used.aime_ms = self.used.total_ms.saturating_sub(either);
        self.used
    }

    fn end_session(&mut self) {
        let Some(since) = self.session.take() else { return };
        self.used.total_ms = self.used.total_ms.saturating_add(millis(since, self.last));
        let last = self.last;
        self.question_spans.extend(self.open.values().map(|since| (*since, last)));
    }

    /// Notes that something ran for this long until `end`.
    fn ran(&mut self, end: i64, duration_ms: u64) -> i64 {
        let begin = end.saturating_sub(i64::try_from(duration_ms).unwrap_or(i64::MAX)).max(self.session.unwrap_or(end));
        if begin < end {
            self.busy.push((begin, end));
        }
        begin
    }

    /// Notes a duration of a fact that is recorded once several have ended, one after the other.
    fn ran_before_others(&mut self, at: i64, duration_ms: u64) {
        let end = self.stacked.filter(|(known, _)| *known == at).map_or(at, |(_, begin)| begin);
        let begin = self.ran(end, duration_ms);
        self.stacked = Some((at, begin.min(end)));
    }
}

fn millis(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or_default()
}

/// Returns the length of the union of intervals, which it sorts.
fn length(intervals: &mut [(i64, i64)]) -> u64 {
    intervals.sort_unstable();
    let (mut length, mut until) = (0, i64::MIN);
    for (begin, end) in intervals.iter() {
        length += millis((*begin).max(until), *end);
        until = until.max(*end);
    }
    length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Returns total, models, tools, checks, merging, people and aime, in milliseconds.
    fn used(events: &[(i64, serde_json::Value)]) -> [u64; 7] {
        let events: Vec<(Timestamp, ProgressEvent)> =
            events.iter().map(|(at, event)| (Timestamp::from_millis(*at), serde_json::from_value(event.clone()).unwrap())).collect();
        let TimeUse { total_ms, models, tools, checks, merging_ms, people_ms, aime_ms } =
            TimeUse::of(events.iter().map(|(at, event)| (*at, event)));
        [total_ms, models.ms, tools.ms, checks.ms, merging_ms, people_ms, aime_ms]
    }

    fn started() -> serde_json::Value {
        json!({"type": "run_started", "plan_id": "p", "goal": "g"})
    }

    fn model(purpose: &str, duration_ms: u64) -> serde_json::Value {
        json!({"type": "model_called", "purpose": purpose, "model": "m", "spent": {"requests": 1, "input_tokens": 5}, "duration_ms": duration_ms})
    }

    fn tool(name: &str, duration_ms: u64) -> serde_json::Value {
        json!({"type": "tool_call_finished", "call": "c", "tool": name, "outcome": "ok", "output": "", "duration_ms": duration_ms})
    }

    fn check(duration_ms: u64) -> serde_json::Value {
        json!({"type": "criterion_checked", "criterion": "c", "passed": true, "reason": "", "duration_ms": duration_ms})
    }

    fn answered() -> serde_json::Value {
        json!({"type": "answered", "text": "done"})
    }

    // Requirement: 3.52
    #[test]
    fn each_millisecond_has_its_user() {
        let asked = json!({"type": "question_asked", "id": "q", "kind": "question", "question": "?"});
        let answer = json!({"type": "question_answered", "id": "q", "answer": "yes"});
        let merged = json!({"type": "changes_merged", "task": "a", "duration_ms": 30, "files": 0});
        let cases = [
            ("nothing", vec![], [0; 7]),
            ("aime alone", vec![(100, started()), (150, answered())], [50, 0, 0, 0, 0, 0, 50]),
            (
                "one after the other",
                vec![(0, started()), (100, model("plan", 90)), (200, tool("bash", 60)), (300, merged), (320, answered())],
                [320, 90, 60, 0, 30, 0, 140],
            ),
            ("at once", vec![(0, started()), (100, model("act", 100)), (110, tool("bash", 100))], [110, 100, 100, 0, 0, 0, 0]),
            (
                "checks of one fact",
                vec![(0, started()), (100, check(20)), (100, check(30)), (100, model("verdict", 40))],
                [100, 0, 0, 90, 0, 0, 10],
            ),
            (
                "a search is part of its call",
                vec![(0, started()), (90, model("search", 50)), (100, tool("web_search", 80))],
                [100, 0, 80, 0, 0, 0, 20],
            ),
            (
                "delegated work counts once",
                vec![(0, started()), (90, model("act", 50)), (100, tool("delegate_task", 80))],
                [100, 50, 0, 0, 0, 0, 50],
            ),
            (
                "a person",
                vec![(0, started()), (10, asked.clone()), (40, tool("bash", 20)), (60, answer.clone())],
                [60, 0, 20, 0, 0, 30, 10],
            ),
            (
                "the pause before a resume",
                vec![
                    (0, started()),
                    (10, asked),
                    (20, model("act", 5)),
                    (9_000, json!({"type": "run_resumed"})),
                    (9_010, answer),
                    (9_020, answered()),
                ],
                [40, 5, 0, 0, 0, 15, 20],
            ),
        ];
        for (name, events, expected) in cases {
            assert_eq!(used(&events), expected, "{name}");
        }
    }

    // Requirement: 3.52
    #[test]
    fn tokens_go_where_the_time_goes() {
        let events =
            ["act", "plan", "verdict", "search"].map(|purpose| serde_json::from_value::<ProgressEvent>(model(purpose, 1)).unwrap());
        let used = TimeUse::of(events.iter().map(|event| (Timestamp::from_millis(9), event)));
        assert_eq!(
            [used.models, used.checks, used.tools].map(|part| (part.spent.requests, part.spent.input_tokens)),
            [(2, 10), (1, 5), (1, 5)]
        );
        let mut twice = used;
        twice.add(&used);
        assert_eq!((twice.models.ms, twice.models.spent.requests), (4, 4));
    }

    proptest! {
        #[test]
        fn no_time_is_invented(durations in proptest::collection::vec((0..4usize, 0..500u64, 0..300i64), 0..40)) {
            let (mut at, mut events) = (0, vec![(0, started())]);
            for (kind, duration, step) in durations {
                at += step;
                events.push((at, [model("act", duration), model("plan", duration), tool("bash", duration), check(duration)][kind].clone()));
            }
            let [total, models, tools, checks, _, people, aime] = used(&events);
            prop_assert_eq!(total, u64::try_from(at).unwrap());
            prop_assert!(aime + people <= total);
            prop_assert!(total <= aime + models + tools + checks);
        }
    }
}
