//! The body of a request in the server's protocol and dialect.

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::form::{Writing, arranged};
use super::written::{Items, Written, WrittenTools};
use super::{chat, responses};
use crate::{ChatRequest, Protocol, ResponseFormat, ToolChoice};

/// A body that is ready to be sent.
#[derive(Debug)]
pub(super) struct Body {
    model: String,
    messages: Vec<Items>,
    /// The name of the field that holds them.
    field: &'static str,
    pub(super) tools: Option<WrittenTools>,
    /// Everything else.
    pub(super) settings: Map<String, Value>,
    /// Whether the form of the answer was left open.
    pub(super) open_form: bool,
    pub(super) bound: Option<u32>,
}

impl Body {
    /// Writes a request. Messages and tools of earlier requests are taken from `written`.
    pub(super) fn new(
        model: &str,
        request: &ChatRequest,
        dialect: &Dialect,
        writing: &Writing<'_>,
        written: &mut Written,
    ) -> serde_json::Result<Self> {
        let messages = written.messages(&arranged(request, &dialect.form), dialect, writing)?;
        let tools = written.tools(&request.tools, dialect)?;
        let (field, settings) = match dialect.protocol {
            Protocol::Chat => ("messages", chat::settings(request, dialect, writing, tools.is_some())),
            Protocol::Responses => ("input", responses::settings(request, dialect, writing, tools.is_some())),
        };
        // A tool that is left out cannot be demanded.
        let named = match &request.tool_choice {
            ToolChoice::Only(name) => tools.as_ref().is_none_or(|tools| tools.names.contains(name)),
            _ => true,
        };
        let mut settings = settings;
        if !named {
            settings.remove("tool_choice");
        }
        let open_form = request.format == ResponseFormat::Text;
        Ok(Self { model: model.to_owned(), messages, field, tools, settings, open_form, bound: writing.bound })
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let messages: Vec<&RawValue> = self.messages.iter().flat_map(|items| items.iter().map(AsRef::as_ref)).collect();
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.model)?;
        body.serialize_entry(self.field, &messages)?;
        if let Some(tools) = &self.tools {
            body.serialize_entry("tools", tools.raw.as_ref())?;
        }
        self.settings.iter().try_for_each(|(name, value)| body.serialize_entry(name, value))?;
        body.end()
    }
}
