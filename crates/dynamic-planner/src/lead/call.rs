//! Parses the parameters of a call and collects all faults.

use aime_progress_management::Criterion;
use serde_json::{Map, Value};

use crate::{PlanFault, parse::criterion};

/// A call during the parsing of its parameters.
#[derive(Debug)]
pub(super) struct Call<'a> {
    parameters: &'a Map<String, Value>,
    faults: Vec<PlanFault>,
}

impl<'a> Call<'a> {
    pub(super) const fn of(parameters: &'a Map<String, Value>) -> Self {
        Self { parameters, faults: Vec::new() }
    }

    /// Returns a required text. Ids may be enclosed in backticks, as messages show them.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let text = self.argument(name).and_then(text);
        let text = text.filter(|text| !text.is_empty());
        if text.is_none() {
            self.faults.push(PlanFault::new(name, "is missing"));
        }
        text
    }

    /// Returns a required criterion.
    pub(super) fn criterion(&mut self, name: &str) -> Option<Criterion> {
        let Some(given) = self.argument(name) else {
            self.faults.push(PlanFault::new(name, "is missing"));
            return None;
        };
        criterion(given, name, &mut self.faults)
    }

    /// Returns a list of texts; a text alone is a list of one.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        match self.argument(name) {
            Some(Value::Array(items)) => items.iter().filter_map(text).filter(|text| !text.is_empty()).collect(),
            Some(one) => text(one).into_iter().filter(|text| !text.is_empty()).collect(),
            None => Vec::new(),
        }
    }

    /// Returns a required number.
    pub(super) fn number(&mut self, name: &str) -> Option<usize> {
        if self.argument(name).is_none() {
            self.faults.push(PlanFault::new(name, "is missing"));
        }
        self.count(name)
    }

    /// Returns an optional number.
    pub(super) fn count(&mut self, name: &str) -> Option<usize> {
        let given = self.argument(name)?;
        let count = text(given).and_then(|text| text.parse().ok());
        if count.is_none() {
            self.faults.push(PlanFault::new(name, format!("{given} is not a whole number")));
        }
        count
    }

    /// Adds faults.
    pub(super) fn refuse(&mut self, faults: impl IntoIterator<Item = PlanFault>) {
        self.faults.extend(faults);
    }

    /// Returns the parsed value.
    ///
    /// # Errors
    ///
    /// All faults; at least one.
    pub(super) fn close<T>(self, read: Option<T>) -> Result<T, Vec<PlanFault>> {
        match read {
            Some(read) if self.faults.is_empty() => Ok(read),
            None if self.faults.is_empty() => Err(vec![PlanFault::new("parameters", "cannot be read")]),
            _ => Err(self.faults),
        }
    }

    fn argument(&self, name: &str) -> Option<&'a Value> {
        self.parameters.get(name).filter(|value| !value.is_null())
    }
}

/// A text, or a number as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().trim_matches('`').to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
