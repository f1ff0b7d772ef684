//! Verdicts of an auditor on success criteria.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Executor, ToolError, ToolScope, ToolSpec, typed::spec};

/// Name of the tool by which an auditor ends.
pub const VERDICT: &str = "verdict";

/// Result of the audit of one criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// The auditor saw evidence that it holds.
    Yes,
    /// The auditor saw evidence that it does not hold.
    No,
    /// The auditor found no evidence within its reach.
    CannotTell,
}

/// Verdict on one criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionVerdict {
    /// Number of the criterion, from 1
    pub n: u32,
    /// Your finding
    pub holds: Holds,
    /// A sentence; for `no`, what is missing and where
    pub why: String,
    /// Your evidence: path and line, or the words
    pub evidence: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditParameters {
    /// One verdict for each criterion
    criteria: Vec<CriterionVerdict>,
}

/// Returns the spec of the tool by which an auditor ends: `verdict`, with one verdict for each criterion.
#[must_use]
pub fn audit_spec() -> Arc<ToolSpec> {
    let spec = spec::<AuditParameters>(VERDICT, "End the audit with one verdict for each criterion.");
    Arc::new(ToolSpec { handled_by: Executor::Actor, touches: ToolScope::Nothing, idempotent: true, ..spec })
}

impl CriterionVerdict {
    /// Reads the verdicts on `count` criteria from the parameters of a call, in the order of the criteria.
    ///
    /// # Errors
    /// [`ToolError::InvalidParameters`] if the verdicts cannot be read, one names no criterion, or a criterion has none or two.
    pub fn parse_all(parameters: &Map<String, Value>, count: u32) -> Result<Vec<Self>, ToolError> {
        let invalid = |text: String| ToolError::InvalidParameters(text);
        let read: AuditParameters =
            serde_json::from_value(Value::Object(parameters.clone())).map_err(|error| invalid(error.to_string()))?;
        let mut verdicts = read.criteria;
        verdicts.sort_by_key(|verdict| verdict.n);
        if let Some(other) = verdicts.iter().find(|verdict| !(1..=count).contains(&verdict.n)) {
            return Err(invalid(format!("there is no criterion {}: their numbers are 1 to {count}", other.n)));
        }
        match (1..=count).find(|n| verdicts.iter().filter(|verdict| verdict.n == *n).count() != 1) {
            Some(n) => Err(invalid(format!("criterion {n} needs one verdict; answer `cannot_tell` where nothing shows it"))),
            None => Ok(verdicts),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_criterion_needs_one_verdict() {
        let verdict = |n: u32, holds: &str| json!({"n": n, "holds": holds, "why": "w", "evidence": "e"});
        let cases = [
            (json!({"criteria": [verdict(2, "no"), verdict(1, "cannot_tell")]}), Ok(vec![Holds::CannotTell, Holds::No])),
            (json!({"criteria": [verdict(1, "yes")]}), Err("criterion 2 needs one verdict")),
            (json!({"criteria": [verdict(1, "yes"), verdict(1, "no"), verdict(2, "no")]}), Err("criterion 1 needs one verdict")),
            (json!({"criteria": [verdict(1, "yes"), verdict(3, "no")]}), Err("there is no criterion 3")),
            (json!({"criteria": [verdict(1, "perhaps"), verdict(2, "no")]}), Err("perhaps")),
            (json!({}), Err("criteria")),
            (json!({"verdicts": [verdict(1, "yes"), verdict(2, "no")]}), Err("verdicts")),
        ];
        for (parameters, expected) in cases {
            let read = CriterionVerdict::parse_all(parameters.as_object().unwrap(), 2);
            match (read, expected) {
                (Ok(verdicts), Ok(expected)) => {
                    assert_eq!(verdicts.iter().map(|verdict| verdict.holds).collect::<Vec<_>>(), expected, "{parameters}");
                }
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (read, expected) => panic!("{parameters}: {read:?} instead of {expected:?}"),
            }
        }
    }

    // Other programs rely on this definition: its names are part of the contract.
    #[test]
    fn the_definition_of_the_tool() {
        let spec = audit_spec();
        let schema = &spec.definition.parameters;
        let of_one = ["n", "holds", "why", "evidence"];
        assert_eq!((spec.name(), &schema["required"]), ("verdict", &json!(["criteria"])), "{schema}");
        let text = schema.to_string();
        assert!(of_one.iter().all(|name| text.contains(&format!("\"{name}\":"))), "{text}");
        assert!(["yes", "no", "cannot_tell"].iter().all(|holds| text.contains(&format!("\"{holds}\""))), "{text}");
    }
}
