//! Conditions of conditional edges: comparisons over references.
//!
//! ```text
//! @{steps.find.result.count} > 0
//! @{steps.check.status} == completed and not (@{steps.check.result} contains "error")
//! ```
//! Operators: `== != < <= > >= contains`, `and or not` (also `&& || !`), parentheses. Literals: numbers, quoted text,
//! `true false null`, and bare words, which are text. A path that does not exist is `null`, so a condition always has an answer.

use std::{cmp::Ordering, fmt};

use serde_json::{Number, Value};

use crate::{
    ProgressState, TaskId,
    reference::{Reference, ReferencePart, plain_text},
};

mod parse;

/// Error of a condition that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the condition `{condition}` cannot be read: {problem}; write for example @{{steps.ID.result.count}} > 0")]
pub struct InvalidCondition {
    /// The condition.
    pub condition: String,
    /// The fault and its place.
    pub problem: String,
}

/// A parsed condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    text: String,
    root: Expression,
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Or(Vec<Expression>),
    And(Vec<Expression>),
    Not(Box<Expression>),
    Compare(Operand, Operator, Operand),
    Truth(Operand),
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Literal(Value),
    Reference(Reference),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    ///
    /// [`InvalidCondition`] with the place of the fault.
    pub fn parse(text: &str) -> Result<Self, InvalidCondition> {
        parse::parse(text)
            .map(|root| Self { text: text.to_owned(), root })
            .map_err(|problem| InvalidCondition { condition: text.to_owned(), problem })
    }

    /// Returns every reference in it, in order.
    #[must_use]
    pub fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.root.references(&mut found);
        found
    }

    /// Returns true if it reads the status of `task`, so that it can be evaluated even if the task did not complete.
    #[must_use]
    pub fn asks_status_of(&self, task: &TaskId) -> bool {
        self.references().into_iter().any(|reference| reference.task == *task && reference.part == ReferencePart::Status)
    }

    /// Evaluates the condition now. A value that does not exist is `null`.
    #[must_use]
    pub fn holds(&self, state: &ProgressState) -> bool {
        self.root.holds(state)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expression {
    fn references<'a>(&'a self, found: &mut Vec<&'a Reference>) {
        let mut operand = |operand: &'a Operand| {
            if let Operand::Reference(reference) = operand {
                found.push(reference);
            }
        };
        match self {
            Self::Or(parts) | Self::And(parts) => parts.iter().for_each(|part| part.references(found)),
            Self::Not(part) => part.references(found),
            Self::Compare(left, _, right) => [left, right].into_iter().for_each(operand),
            Self::Truth(value) => operand(value),
        }
    }

    fn holds(&self, state: &ProgressState) -> bool {
        match self {
            Self::Or(parts) => parts.iter().any(|part| part.holds(state)),
            Self::And(parts) => parts.iter().all(|part| part.holds(state)),
            Self::Not(part) => !part.holds(state),
            Self::Compare(left, Operator::Contains, right) => contains(left, &right.value(state), state),
            Self::Compare(left, operator, right) => compare(&left.value(state), *operator, &right.value(state)),
            Self::Truth(operand) => match operand.value(state) {
                Value::Null => false,
                Value::Bool(truth) => truth,
                Value::Number(number) => number.as_f64() != Some(0.0),
                Value::String(text) => !matches!(text.trim().to_ascii_lowercase().as_str(), "" | "false"),
                Value::Array(items) => !items.is_empty(),
                Value::Object(members) => !members.is_empty(),
            },
        }
    }
}

impl Operand {
    fn value(&self, state: &ProgressState) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Reference(reference) => reference.value(state).unwrap_or(Value::Null),
        }
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse::<Number>().ok()?.as_f64(),
        _ => None,
    }
}

fn compare(left: &Value, operator: Operator, right: &Value) -> bool {
    let order = order(left, right);
    match operator {
        Operator::Equal => order == Some(Ordering::Equal),
        Operator::NotEqual => order != Some(Ordering::Equal),
        Operator::Less => order == Some(Ordering::Less),
        Operator::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Operator::Greater => order == Some(Ordering::Greater),
        Operator::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Operator::Contains => false,
    }
}

/// Compares two values. Numbers compare by value, even if one of them is written as text. Other text compares as text
/// without surrounding spaces. Any other values are only equal or not.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    if let (Some(left), Some(right)) = (as_number(left), as_number(right)) {
        return left.partial_cmp(&right);
    }
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.trim().cmp(right.trim())),
        (Value::Bool(truth), Value::String(text)) | (Value::String(text), Value::Bool(truth)) => {
            text.trim().eq_ignore_ascii_case(if *truth { "true" } else { "false" }).then_some(Ordering::Equal)
        }
        _ => (left == right).then_some(Ordering::Equal),
    }
}

/// Returns true if a text contains a text, a list an element, or an object a key. A step's whole result also counts as
/// its text.
fn contains(left: &Operand, needle: &Value, state: &ProgressState) -> bool {
    let needle_text = plain_text(needle);
    let held = match left.value(state) {
        Value::String(text) => text.contains(&needle_text),
        Value::Array(items) => items.iter().any(|item| order(item, needle) == Some(Ordering::Equal)),
        Value::Object(members) => members.contains_key(&needle_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    let whole = matches!(left, Operand::Reference(Reference { part: ReferencePart::Result(path), .. }) if path.is_empty());
    held || (whole && matches!(left, Operand::Reference(reference) if reference.text(state).is_ok_and(|text| text.contains(&needle_text))))
}

#[cfg(test)]
mod tests;
