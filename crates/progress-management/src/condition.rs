//! Conditions of conditional edges: comparisons over references.
//!
//! ```text
//! @{steps.find.result.count} > 0
//! @{steps.check.status} == completed and not (@{steps.check.result} contains "error")
//! ```
//! Operators: `== != < <= > >= contains`, `and or not` (also `&& || !`), parentheses. Literals: numbers, quoted text,
//! `true false null`, and bare words, which are text. A path that does not exist is `null`, so a condition always has an answer.
//!
//! A status compares without regard to case, and `success` and `failure` are read as `completed` and `failed`. A step that was
//! rolled back had failed, so its status equals `failed`, too.

use std::{cmp::Ordering, fmt};

use serde_json::{Number, Value};

use crate::{
    ProgressState, TaskId, TaskStatus,
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
    /// A step has this status.
    Status(Reference, TaskStatus),
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

    /// Returns true for the literal `true`, which makes a conditional edge a plain dependency.
    #[must_use]
    pub(crate) fn is_always_true(&self) -> bool {
        self.root == Expression::Truth(Operand::Literal(Value::Bool(true)))
    }

    /// Returns each reference to a status that is used as a truth, or compared with a value that no ended step has as its status.
    /// The second is that value.
    #[must_use]
    pub(crate) fn misused_statuses(&self) -> Vec<(&Reference, Option<String>)> {
        let mut found = Vec::new();
        self.root.misused_statuses(&mut found);
        found
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
            Self::Status(reference, _) => found.push(reference),
            Self::Compare(left, _, right) => [left, right].into_iter().for_each(operand),
            Self::Truth(value) => operand(value),
        }
    }

    fn misused_statuses<'a>(&'a self, found: &mut Vec<(&'a Reference, Option<String>)>) {
        match self {
            Self::Or(parts) | Self::And(parts) => parts.iter().for_each(|part| part.misused_statuses(found)),
            Self::Not(part) => part.misused_statuses(found),
            Self::Compare(_, Operator::Contains, _) => {}
            Self::Compare(Operand::Reference(reference), _, Operand::Literal(value))
            | Self::Compare(Operand::Literal(value), _, Operand::Reference(reference))
                if reference.part == ReferencePart::Status =>
            {
                found.push((reference, Some(plain_text(value))));
            }
            Self::Truth(Operand::Reference(reference)) if reference.part == ReferencePart::Status => found.push((reference, None)),
            Self::Status(reference, status) if !ENDS.contains(status) => found.push((reference, Some(status.word().to_owned()))),
            Self::Status(..) | Self::Compare(..) | Self::Truth(_) => {}
        }
    }

    fn holds(&self, state: &ProgressState) -> bool {
        match self {
            Self::Or(parts) => parts.iter().any(|part| part.holds(state)),
            Self::And(parts) => parts.iter().all(|part| part.holds(state)),
            Self::Not(part) => !part.holds(state),
            Self::Status(reference, wanted) => {
                let status = state.tasks.get(&reference.task).map(|task| task.status);
                status == Some(*wanted) || (*wanted == TaskStatus::Failed && status == Some(TaskStatus::RolledBack))
            }
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

/// The statuses of a step that has ended. Conditions are evaluated only then.
const ENDS: [TaskStatus; 4] = [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Skipped, TaskStatus::RolledBack];

/// Returns the status that a word means.
fn status_of(word: &str) -> Option<TaskStatus> {
    let word = word.trim().to_lowercase().replace([' ', '-'], "_");
    match word.as_str() {
        "success" | "successful" | "succeeded" | "done" | "complete" => Some(TaskStatus::Completed),
        "failure" | "error" | "fail" => Some(TaskStatus::Failed),
        "rolledback" => Some(TaskStatus::RolledBack),
        word => TaskStatus::ALL.into_iter().find(|status| status.word() == word),
    }
}

/// Returns a comparison. Equality of a status and a word for a status compares statuses.
fn comparison(left: Operand, operator: Operator, right: Operand) -> Expression {
    let status = match (&left, operator, &right) {
        (Operand::Reference(reference), Operator::Equal | Operator::NotEqual, Operand::Literal(Value::String(word)))
        | (Operand::Literal(Value::String(word)), Operator::Equal | Operator::NotEqual, Operand::Reference(reference))
            if reference.part == ReferencePart::Status =>
        {
            status_of(word).map(|status| Expression::Status(reference.clone(), status))
        }
        _ => None,
    };
    match status {
        Some(status) if operator == Operator::NotEqual => Expression::Not(Box::new(status)),
        Some(status) => status,
        None => Expression::Compare(left, operator, right),
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
