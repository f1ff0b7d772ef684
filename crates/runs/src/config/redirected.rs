//! Models whose server an untrusted project file sets. They do not get the user's keys, headers and body members.

use std::{collections::BTreeMap, path::Path};

use aime_messages::{Message, message};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Config, Provider};
use crate::models::ProviderDefaults;

/// Model whose server a project file changes.
#[derive(Debug)]
pub(super) struct RedirectedModel {
    name: String,
    /// True if the file names an address; otherwise it names another provider.
    by_address: bool,
    /// True if the file names the key for the provider that it names, as [`drop_keys`] allows.
    has_own_key: bool,
    /// Headers and body members that the file itself names.
    headers: BTreeMap<String, String>,
    extra_body: BTreeMap<String, Value>,
}

/// Returns the models whose server a project file sets, given the documents read before it. The file's keys were checked by [`drop_keys`].
pub(super) fn redirected_by(document: &Value, before: &[Value]) -> Vec<RedirectedModel> {
    let models = models(document).into_iter().flatten();
    let redirected = models.filter_map(|(name, model)| {
        let by_address = model.get("base_url").is_some();
        let known = before.iter().rev().find_map(|document| provider(document, name)).unwrap_or_default();
        let by_user = before.iter().any(|document| has_address(document, name));
        let other_provider = !by_user && provider(document, name).is_some_and(|provider| provider != known);
        let has_own_key = model.get("api_key_env").is_some();
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

/// Removes the variables of keys that a project file names, except those of the model's provider for the provider's own address: otherwise
/// a server would get another secret of the user. `before` and `later` are the documents of the user.
pub(super) fn drop_keys(document: &mut Value, before: &[Value], later: &[Value], path: &Path) -> Vec<Message> {
    let models = document.get_mut("models").and_then(Value::as_object_mut);
    let mut notes = Vec::new();
    for (name, model) in models.into_iter().flatten() {
        let Some(model) = model.as_object_mut() else { continue };
        let Some(variable) = model.get("api_key_env").and_then(Value::as_str).map(str::to_owned) else { continue };
        let named = model.get("provider").and_then(|provider| Provider::deserialize(provider).ok());
        let of_user = |documents: &[Value]| documents.iter().rev().find_map(|document| provider(document, name));
        let served = ProviderDefaults::of(of_user(later).or(named).or_else(|| of_user(before)).unwrap_or_default());
        let is_own = served.is_some_and(|served| served.keys.contains(&variable.as_str()));
        let by_address = model.contains_key("base_url");
        let by_user = before.iter().chain(later).any(|document| has_address(document, name));
        if is_own && !by_address && !by_user {
            continue;
        }
        model.shift_remove("api_key_env");
        notes.push(if by_address || (named.is_some() && !by_user) {
            message!("key-kept", name = name, variable = variable, file = path.display())
        } else {
            message!("additions-out", name = name, key = "api_key_env", file = path.display())
        });
    }
    notes
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

fn has_address(document: &Value, name: &str) -> bool {
    model_of(document, name).is_some_and(|model| model.get("base_url").is_some())
}

fn model_of<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    models(document)?.get(name)
}

fn models(document: &Value) -> Option<&Map<String, Value>> {
    document.get("models").and_then(Value::as_object)
}
