//! The strategic part of a plan.

use aime_progress_management::{Confidence, Phase, Risk, Strategic, StrategicChange};
use serde_json::Value;

use super::{
    coerce::{Members, Notes, text},
    criterion::criteria,
};
use crate::PlanFault;

/// Parses the strategic part from its own member, or from members beside the tasks.
pub(super) fn read(members: &mut Members<'_>, notes: &mut Notes, faults: &mut Vec<PlanFault>) -> Strategic {
    let mut strategic = Strategic::default();
    if let Some(value) = members.take("strategic", &["strategy", "strategic_plan"], notes) {
        fill(&mut strategic, change_from_value(value, "strategic", notes, faults));
    }
    fill(&mut strategic, change(members, "", notes, faults));
    strategic
}

/// Parses a patch's changes of the strategic part. Members that it does not name stay.
pub(super) fn change_from_value(value: &Value, place: &str, notes: &mut Notes, faults: &mut Vec<PlanFault>) -> StrategicChange {
    match value {
        Value::Object(object) => change(&mut Members::of(object), place, notes, faults),
        other => StrategicChange { approach: text(other), ..StrategicChange::default() },
    }
}

fn change(members: &mut Members<'_>, place: &str, notes: &mut Notes, faults: &mut Vec<PlanFault>) -> StrategicChange {
    let phase = |(name, objective)| Phase { name, objective };
    let risk = |(description, mitigation)| Risk { description, mitigation };
    let phases = |value| pairs(value, "name", "objective").into_iter().map(phase).collect();
    let risks = |value| pairs(value, "description", "mitigation").into_iter().map(risk).collect();
    let place = if place.is_empty() { "success_criteria".to_owned() } else { format!("{place}.success_criteria") };
    let success_criteria = members.take("success_criteria", &["success_criterion", "criteria", "acceptance_criteria"], notes);
    StrategicChange {
        approach: members.take_where("approach", &["summary", "overview"], notes, Value::is_string).and_then(text),
        phases: members.take("phases", &["stages"], notes).map(phases),
        risks: members.take("risks", &[], notes).map(risks),
        success_criteria: success_criteria.map(|value| criteria(value, &place, notes, faults)),
        confidence: members.take("confidence", &[], notes).and_then(confidence),
    }
}

/// Returns a confidence, given from 0 to 1 or in percent. Anything else says nothing.
fn confidence(value: &Value) -> Option<Confidence> {
    let text = value.as_str().map(|text| text.trim().trim_end_matches('%').trim_end());
    let number = value.as_f64().or_else(|| text?.parse().ok())?;
    Confidence::try_from(if number > 1.0 { number / 100.0 } else { number }).ok()
}

/// Adds the parsed changes to the strategic part.
fn fill(strategic: &mut Strategic, read: StrategicChange) {
    let StrategicChange { approach, phases, risks, success_criteria, confidence } = read;
    if strategic.approach.is_empty() {
        strategic.approach = approach.unwrap_or_default();
    }
    strategic.phases.extend(phases.into_iter().flatten());
    strategic.risks.extend(risks.into_iter().flatten());
    strategic.success_criteria.extend(success_criteria.into_iter().flatten());
    strategic.confidence = strategic.confidence.or(confidence);
}

/// Returns pairs of texts from a list of objects or of texts; leaves out entries without a first text.
fn pairs(value: &Value, first: &str, second: &str) -> Vec<(String, String)> {
    match value {
        Value::Array(items) => items.iter().flat_map(|item| pairs(item, first, second)).collect(),
        Value::Object(object) => {
            let other_names = ["name", "title", "phase", "risk", "description"];
            let a = std::iter::once(&first).chain(&other_names).find_map(|key| object.get(*key).and_then(text));
            let other_names = ["goal", "description", "response"];
            let b = object.get(second).and_then(text);
            // A member that may mean both counts as the first.
            let other = || other_names.iter().find_map(|key| object.get(*key).and_then(text)).filter(|b| a.as_ref() != Some(b));
            let b = b.or_else(other).unwrap_or_default();
            a.into_iter().filter(|a| !a.is_empty()).map(|a| (a, b.clone())).collect()
        }
        other => text(other).filter(|text| !text.is_empty()).map(|text| (text, String::new())).into_iter().collect(),
    }
}
