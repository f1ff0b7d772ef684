//! Tools made from a parameter type and a function.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use aime_llm::ToolDefinition;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolScope, ToolSpec, ValidatedCall, schema::schema_of};

/// Additional time that the runtime grants a tool that enforces a chosen time limit itself, so that the tool can report how far it came.
const BEHIND_CHOSEN: Duration = Duration::from_secs(5);

/// A tool whose parameters are a type. The doc comments of its fields are the descriptions for the model. By default a call may change
/// anything and needs a person's consent; the setters reduce that.
pub struct TypedTool<P, F> {
    spec: Arc<ToolSpec>,
    chosen_limit: Option<&'static str>,
    call: F,
    parameters: PhantomData<fn(P)>,
}

impl<P, F, C> TypedTool<P, F>
where
    P: DeserializeOwned + JsonSchema,
    F: Fn(P, ToolContext) -> C + Send + Sync,
    C: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    /// Creates a tool that answers calls with `call`. `name`: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    pub fn new(name: &str, description: &str, call: F) -> Self {
        Self { spec: Arc::new(spec::<P>(name, description)), chosen_limit: None, call, parameters: PhantomData }
    }

    /// Declares that a call changes nothing, and so may be repeated. Also declares that it reads nothing outside the run, unless
    /// [`touches`](Self::touches) says otherwise.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.with(|spec| {
            (spec.read_only, spec.idempotent) = (true, true);
            if spec.touches == ToolScope::Anything {
                spec.touches = ToolScope::Nothing;
            }
        })
    }

    /// Declares that a second identical call changes nothing more.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.with(|spec| spec.idempotent = true)
    }

    /// Sets the resources that a call may touch.
    #[must_use]
    pub fn touches(self, touches: ToolScope) -> Self {
        self.with(|spec| spec.touches = touches)
    }

    /// Sets the time limit of a call.
    #[must_use]
    pub fn time_limit(self, limit: Duration) -> Self {
        self.with(|spec| spec.time_limit = limit)
    }

    /// Sets the parameter in which the caller may choose another time limit, in seconds. The tool enforces that limit itself.
    #[must_use]
    pub fn time_limit_chosen_in(mut self, parameter: &'static str) -> Self {
        self.chosen_limit = Some(parameter);
        self
    }

    /// Sets the tools to use instead when this one fails.
    #[must_use]
    pub fn alternatives(self, names: &[&str]) -> Self {
        self.with(|spec| spec.alternatives = names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Requires at least one of these parameters in a call.
    #[must_use]
    pub(crate) fn needs_one_of(self, parameters: &[&str]) -> Self {
        self.with(|spec| spec.needs.push(parameters.iter().map(|name| (*name).to_owned()).collect()))
    }

    /// Sets the simpler definition for small models: this description, and only these parameters. A `?` at the end of a name makes it
    /// optional.
    #[must_use]
    pub(crate) fn for_small_models(self, description: &str, parameters: &[&str]) -> Self {
        self.with(|spec| {
            let mut definition = spec.definition.clone();
            description.clone_into(&mut definition.description);
            let required: Vec<&str> = parameters.iter().filter(|name| !name.ends_with('?')).copied().collect();
            if let Some(schema) = Arc::make_mut(&mut definition.parameters).as_object_mut() {
                if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
                    properties.retain(|name, _| parameters.iter().any(|kept| kept.trim_end_matches('?') == name));
                }
                schema.insert("required".to_owned(), required.into());
            }
            spec.simple = Some(Arc::new(definition));
        })
    }

    /// Sets the origin of the tool's results.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub(crate) fn of_source(self, source: crate::Source) -> Self {
        self.with(|spec| spec.source = source)
    }

    /// Sets the tools that change nothing, of those that a call may name in its parameter `name` to have them called.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub(crate) fn calls_reading(self, names: Vec<String>) -> Self {
        self.with(|spec| spec.reads = names)
    }

    /// Declares that the tool reads the URL in its parameter `url`, without consent at hosts that match these patterns.
    #[cfg(feature = "web")]
    #[must_use]
    pub(crate) fn reads_hosts(self, hosts: Vec<String>) -> Self {
        self.with(|spec| spec.hosts = Some(hosts))
    }

    /// Sets the description of a parameter, for descriptions that only the creator of the tool can write.
    #[must_use]
    pub(crate) fn describes(self, parameter: &str, text: &str) -> Self {
        self.with(|spec| *spec = spec.with_parameter_text(parameter, text))
    }

    fn with(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(Arc::make_mut(&mut self.spec));
        self
    }
}

/// Returns the spec of a tool with parameters of a type.
pub(crate) fn spec<P: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let parameters = Arc::new(schema_of::<P>());
    ToolSpec::new(ToolDefinition { name: name.to_owned(), description: description.to_owned(), parameters })
}

impl<P, F, C> Tool for TypedTool<P, F>
where
    P: DeserializeOwned + JsonSchema,
    F: Fn(P, ToolContext) -> C + Send + Sync,
    C: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn time_limit(&self, parameters: &Map<String, Value>) -> Duration {
        let Some(parameter) = self.chosen_limit else {
            return self.spec.time_limit;
        };
        let chosen = parameters.get(parameter).and_then(Value::as_u64).map(Duration::from_secs);
        chosen.unwrap_or(self.spec.time_limit).saturating_add(BEHIND_CHOSEN)
    }

    fn call<'a>(&'a self, call: ValidatedCall, context: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match serde_json::from_value(Value::Object(call.into_parameters())) {
            Ok(parameters) => Box::pin((self.call)(parameters, context.clone())),
            Err(error) => Box::pin(async move { Err(ToolError::InvalidParameters(format!("The parameters do not fit: {error}."))) }),
        }
    }
}

impl<P, F> fmt::Debug for TypedTool<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}
