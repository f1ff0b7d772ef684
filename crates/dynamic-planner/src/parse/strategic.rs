//! The strategic part of a plan.

use aime_progress::{Phase, Risk, Strategic};
use serde_json::Value;

use super::coerce::{Members, Notes, text, texts};

/// Reads the strategic part from its own member, or from members beside the tasks.
pub(super) fn read(members: &mut Members<'_>, notes: &mut Notes) -> Strategic {
    let mut strategic = Strategic::default();
    match members.take("strategic", &["strategy", "strategic_plan"], notes) {
        Some(Value::Object(object)) => fill(&mut Members::of(object), &mut strategic, notes),
        Some(other) => strategic.approach = text(other).unwrap_or_default(),
        None => {}
    }
    fill(members, &mut strategic, notes);
    strategic
}

/// Reads a strategic part by itself.
pub(super) fn from_value(value: &Value, notes: &mut Notes) -> Strategic {
    let mut strategic = Strategic::default();
    match value {
        Value::Object(object) => fill(&mut Members::of(object), &mut strategic, notes),
        other => strategic.approach = text(other).unwrap_or_default(),
    }
    strategic
}

fn fill(members: &mut Members<'_>, strategic: &mut Strategic, notes: &mut Notes) {
    if let Some(approach) = members.take_where("approach", &["summary", "overview"], notes, Value::is_string).and_then(text)
        && strategic.approach.is_empty()
    {
        strategic.approach = approach;
    }
    let phases = members.take("phases", &["stages"], notes).map(|value| pairs(value, "name", "objective")).unwrap_or_default();
    strategic.phases.extend(phases.into_iter().map(|(name, objective)| Phase { name, objective }));
    let risks = members.take("risks", &[], notes).map(|value| pairs(value, "description", "mitigation")).unwrap_or_default();
    strategic.risks.extend(risks.into_iter().map(|(description, mitigation)| Risk { description, mitigation }));
    let criteria = members.take("success_criteria", &["success_criterion", "criteria", "acceptance_criteria"], notes);
    strategic.success_criteria.extend(criteria.map(texts).unwrap_or_default());
}

/// Pairs of texts from a list of objects or of texts; what has no first text is left out.
fn pairs(value: &Value, first: &str, second: &str) -> Vec<(String, String)> {
    match value {
        Value::Array(items) => items.iter().flat_map(|item| pairs(item, first, second)).collect(),
        Value::Object(object) => {
            let other_names = ["name", "title", "phase", "risk", "description"];
            let a = std::iter::once(&first).chain(&other_names).find_map(|key| object.get(*key).and_then(text));
            let other_names = ["goal", "description", "response"];
            let b = std::iter::once(&second).chain(&other_names).find_map(|key| object.get(*key).and_then(text)).unwrap_or_default();
            a.into_iter().filter(|a| !a.is_empty()).map(|a| (a.clone(), if a == b { String::new() } else { b.clone() })).collect()
        }
        other => text(other).filter(|text| !text.is_empty()).map(|text| (text, String::new())).into_iter().collect(),
    }
}
