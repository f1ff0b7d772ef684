//! Model lists.

use serde_json::{Value, json};

use crate::provider::Provider;
use crate::script::Script;

/// Returns the models of a script in the format of the service: Google's at `…/v1beta/models`, Anthropic's for Anthropic, and OpenAI's
/// elsewhere.
pub(crate) fn list(script: &Script, path: &str) -> Value {
    let names = script.models.iter();
    if path.ends_with("/v1beta/models") {
        // Format: <https://ai.google.dev/api/models>
        let model = |name: &String| {
            json!({
                "name": format!("models/{name}"), "version": "001", "displayName": name, "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"], "thinking": true,
            })
        };
        return json!({"models": names.map(model).collect::<Vec<_>>()});
    }
    if script.provider == Provider::Anthropic {
        // Format: <https://platform.claude.com/docs/en/api/models/list>
        let model = |name: &String| json!({"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"});
        let (first, last) = (script.models.first(), script.models.last());
        return json!({"data": names.map(model).collect::<Vec<_>>(), "has_more": false, "first_id": first, "last_id": last});
    }
    let model = |name: &String| {
        let mut model = json!({"id": name, "object": "model", "owned_by": "script"});
        if let (Some(window), Some(members)) = (script.window, model.as_object_mut()) {
            members.insert("max_model_len".to_owned(), json!(window));
        }
        model
    };
    json!({"object": "list", "data": names.map(model).collect::<Vec<_>>()})
}
