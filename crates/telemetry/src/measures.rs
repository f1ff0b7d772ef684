//! Histograms of the usage and duration of models and tools.

use std::collections::BTreeMap;

use aime_orchestrator::PublishedEvent;
use aime_progress_management::{CallOutcome, ProgressEvent};
use opentelemetry_proto::tonic::{
    common::v1::KeyValue,
    metrics::v1::{AggregationTemporality, Histogram, HistogramDataPoint, Metric, metric::Data},
};

use crate::{
    Providers,
    attributes::{self as known, text},
    ids::nanos,
};

/// The bounds of the conventions for numbers of tokens.
const TOKENS: [f64; 14] =
    [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0, 4_194_304.0, 16_777_216.0, 67_108_864.0];
/// Bounds for seconds.
const SECONDS: [f64; 14] = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// Measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Quantity {
    InputTokens,
    OutputTokens,
    Request,
    Tool,
}

impl Quantity {
    const fn metric(self) -> (&'static str, &'static str, &'static str, &'static [f64]) {
        match self {
            Self::InputTokens => ("gen_ai.client.inference.operation.input_tokens", "Input tokens of model calls", "{token}", &TOKENS),
            Self::OutputTokens => ("gen_ai.client.inference.operation.output_tokens", "Output tokens of model calls", "{token}", &TOKENS),
            Self::Request => ("gen_ai.client.inference.duration", "Time of model calls", "s", &SECONDS),
            Self::Tool => ("aime.tool.duration", "Time of tool calls", "s", &SECONDS),
        }
    }
}

/// Attributes that distinguish the series of a metric.
type Labels = Vec<(&'static str, String)>;

/// Measurements of all runs since its creation. Pure.
#[derive(Debug, Default)]
pub struct Measures {
    providers: Providers,
    since: u64,
    last: u64,
    points: BTreeMap<(Quantity, Labels), HistogramDataPoint>,
}

impl Measures {
    /// Creates measures for models of these providers.
    #[must_use]
    pub fn new(providers: impl Into<Providers>) -> Self {
        Self { providers: providers.into(), ..Self::default() }
    }

    /// Observes an event of a run.
    pub fn observe(&mut self, published: &PublishedEvent) {
        self.last = self.last.max(nanos(published.at));
        self.since = if self.since == 0 { nanos(published.at) } else { self.since.min(nanos(published.at)) };
        match &published.event {
            ProgressEvent::ModelCalled { model, spent, duration_ms, .. } => {
                let provider = self.providers.of(model).to_owned();
                let labels =
                    vec![(known::OPERATION, "chat".to_owned()), (known::PROVIDER, provider), (known::REQUEST_MODEL, model.clone())];
                self.add(Quantity::InputTokens, labels.clone(), number(spent.input_tokens));
                self.add(Quantity::OutputTokens, labels.clone(), number(spent.output_tokens));
                self.add(Quantity::Request, labels, seconds(*duration_ms));
            }
            ProgressEvent::ToolCallFinished { tool, outcome, duration_ms, .. } => {
                let mut attributes = vec![(known::TOOL_NAME, tool.clone())];
                if *outcome != CallOutcome::Ok {
                    attributes.push((known::ERROR_TYPE, "tool_error".to_owned()));
                }
                self.add(Quantity::Tool, attributes, seconds(*duration_ms));
            }
            _ => {}
        }
    }

    /// Returns all metrics, cumulative.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics: BTreeMap<Quantity, Vec<HistogramDataPoint>> = BTreeMap::new();
        for ((what, _), point) in &self.points {
            let point = HistogramDataPoint { start_time_unix_nano: self.since, time_unix_nano: self.last, ..point.clone() };
            metrics.entry(*what).or_default().push(point);
        }
        let metric = |(what, data_points): (Quantity, Vec<HistogramDataPoint>)| {
            let (name, description, unit, _) = what.metric();
            let histogram = Histogram { data_points, aggregation_temporality: AggregationTemporality::Cumulative.into() };
            let (name, description, unit) = (name.to_owned(), description.to_owned(), unit.to_owned());
            Metric { name, description, unit, data: Some(Data::Histogram(histogram)), ..Metric::default() }
        };
        metrics.into_iter().map(metric).collect()
    }

    fn add(&mut self, what: Quantity, attributes: Labels, value: f64) {
        let bounds = what.metric().3;
        let of = |attributes: &[(&'static str, String)]| {
            attributes.iter().map(|(key, value)| text(key, value.as_str())).collect::<Vec<KeyValue>>()
        };
        let empty = || HistogramDataPoint {
            attributes: of(&attributes),
            explicit_bounds: bounds.to_vec(),
            bucket_counts: vec![0; bounds.len() + 1],
            ..HistogramDataPoint::default()
        };
        let point = self.points.entry((what, attributes.clone())).or_insert_with(empty);
        point.count += 1;
        point.sum = Some(point.sum.unwrap_or(0.0) + value);
        point.min = Some(point.min.map_or(value, |least| least.min(value)));
        point.max = Some(point.max.map_or(value, |most| most.max(value)));
        let bucket = bounds.iter().take_while(|bound| value > **bound).count();
        if let Some(bucket) = point.bucket_counts.get_mut(bucket) {
            *bucket += 1;
        }
    }
}

fn seconds(millis: u64) -> f64 {
    number(millis) / 1000.0
}

/// Tokens and milliseconds are far below what a float cannot count.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use aime_progress_management::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_models_and_tools_took_is_counted() {
        let mut measures = Measures::new("openai");
        let model = |tokens: u64, millis: u64| json!({"type": "model_called", "purpose": "act", "model": "m", "spent": {"input_tokens": tokens, "output_tokens": 3}, "duration_ms": millis});
        let tool = |outcome: &str| json!({"type": "tool_call_finished", "task": "a", "call": "1", "tool": "bash", "outcome": outcome, "output": "", "duration_ms": 20});
        for (seq, event) in (1..).zip([model(100, 1_500), model(4, 40), tool("ok"), tool("error"), tool("ok")]) {
            let event = serde_json::from_value(event).unwrap();
            measures.observe(&PublishedEvent { seq, at: Timestamp::from_millis(i64::try_from(seq).unwrap()), event });
        }
        let mut counted = Vec::new();
        for metric in measures.metrics() {
            let Some(Data::Histogram(histogram)) = metric.data else { panic!() };
            for point in histogram.data_points {
                assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
                assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (1_000_000, 5_000_000));
                let filled: Vec<usize> = (0..point.bucket_counts.len()).filter(|bucket| point.bucket_counts[*bucket] > 0).collect();
                counted.push((metric.name.clone(), point.count, point.sum.unwrap(), filled));
            }
        }
        let expected = [
            ("gen_ai.client.inference.operation.input_tokens", 2, 104.0, vec![1, 4]),
            ("gen_ai.client.inference.operation.output_tokens", 2, 6.0, vec![1]),
            ("gen_ai.client.inference.duration", 2, 1.54, vec![2, 8]),
            ("aime.tool.duration", 2, 0.04, vec![1]),
            ("aime.tool.duration", 1, 0.02, vec![1]),
        ];
        assert_eq!(counted, expected.map(|(name, count, sum, filled)| (name.to_owned(), count, sum, filled)));
    }
}
