//! Models whose server an untrusted project file sets. They do not get the user's keys, headers and body members.

use std::{collections::BTreeMap, path::Path};

use aime_messages::{Message, message};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Config, Provider};

/// Model whose server a project file changes.
#[derive(Debug)]
pub(super) struct RedirectedModel {
    name: String,
    /// True if the file names an address; otherwise it names another provider.
    by_address: bool,
    /// True if the file names the key for the provider that it names.
    has_own_key: bool,
    /// Headers and body members that the file itself names.
    headers: BTreeMap<String, String>,
    extra_body: BTreeMap<String, Value>,
}

/// Returns the models whose server a project file sets, given the documents read before it.
pub(super) fn redirected_by(document: &Value, before: &[Value]) -> Vec<RedirectedModel> {
    let models = models(document).into_iter().flatten();
    let redirected = models.filter_map(|(name, model)| {
        let by_address = model.get("base_url").is_some();
        let known = before.iter().rev().find_map(|document| provider(document, name)).unwrap_or_default();
        let has_address = before.iter().any(|document| model_of(document, name).is_some_and(|model| model.get("base_url").is_some()));
        let other_provider = !has_address && provider(document, name).is_some_and(|provider| provider != known);
        let has_own_key = !by_address && model.get("api_key_env").is_some();
        let headers = table(model, "headers").filter(|_| by_address).unwrap_or_default();
        let extra_body = table(model, "extra_body").filter(|_| by_address).unwrap_or_default();
        let redirected = RedirectedModel { name: name.clone(), by_address, has_own_key, headers, extra_body };
        (by_address || other_provider).then_some(redirected)
    });
    redirected.collect()
}

impl RedirectedModel {
    /// Returns true if a later document of the user names the server itself.
    pub(super) fn is_ended_by(&self, document: &Value) -> bool {
        let model = model_of(document, &self.name);
        model.is_some_and(|model| model.get("base_url").is_some() || (!self.by_address && model.get("provider").is_some()))
    }

    /// Removes the user's key and headers from the model, and returns notes about it.
    pub(super) fn keep_secrets(self, config: &mut Config, project: &Path) -> Vec<Message> {
        let Some(model) = config.models.get_mut(&self.name) else { return Vec::new() };
        let (name, mut notes) = (&self.name, Vec::new());
        let place = project.display();
        if !self.has_own_key
            && let Some(variable) = model.api_key_env.take()
        {
            notes.push(message!("key-kept", name = name, variable = variable, file = place));
        }
        if model.headers != self.headers {
            notes.push(message!("headers-kept", name = name, file = place));
            model.headers = self.headers;
        }
        if model.extra_body != self.extra_body {
            notes.push(message!("body-kept", name = name, file = place));
            model.extra_body = self.extra_body;
        }
        notes
    }
}

/// Removes the headers and body members that a project file adds for servers that it does not name: they would be sent with the user's key
/// and at the user's expense.
pub(super) fn drop_additions(document: &mut Value, path: &Path) -> Vec<Message> {
    let models = document.get_mut("models").and_then(Value::as_object_mut);
    let mut notes = Vec::new();
    for (name, model) in models.into_iter().flatten() {
        let Some(model) = model.as_object_mut().filter(|model| !model.contains_key("base_url")) else { continue };
        for key in ["headers", "extra_body"] {
            if model.shift_remove(key).is_some() {
                notes.push(message!("additions-out", name = name, key = key, file = path.display()));
            }
        }
    }
    notes
}

fn table<T: DeserializeOwned>(model: &Value, key: &str) -> Option<BTreeMap<String, T>> {
    BTreeMap::deserialize(model.get(key)?).ok()
}

fn provider(document: &Value, name: &str) -> Option<Provider> {
    Provider::deserialize(model_of(document, name)?.get("provider")?).ok()
}

fn model_of<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    models(document)?.get(name)
}

fn models(document: &Value) -> Option<&Map<String, Value>> {
    document.get("models").and_then(Value::as_object)
}
