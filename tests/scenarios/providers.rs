//! Runs against servers that check every request as the real services do.
//!
//! Each situation is tried with each provider. A refusal that the client learns from must not end a run, and nothing else may be refused.

mod compaction;
mod direct;
mod fallback;
mod faults;
mod forms;
mod killed;
mod planned;
mod refusals;
#[cfg(feature = "mcp")]
mod refused_tools;
mod secrets;
mod talks;
mod texts;

use aime_scripted_server::{Provider, Received, Reply, Script};
use serde_json::Value;

use crate::harness::World;

/// A service, and how a user reaches it.
#[derive(Debug, Clone, Copy)]
struct Service {
    name: &'static str,
    provider: Provider,
    model: &'static str,
    /// The address of the real service. Requests to it go to the scripted server, which is the HTTP proxy of the run. Without an address the
    /// scripted server is named by its own, which tells nothing of the provider.
    address: Option<&'static str>,
}

const fn local(name: &'static str, provider: Provider, model: &'static str) -> Service {
    Service { name, provider, model, address: None }
}

const fn hosted(name: &'static str, provider: Provider, model: &'static str, address: &'static str) -> Service {
    Service { name, provider, model, address: Some(address) }
}

/// The services whose forms must be learned from their refusals, and the same where the address tells them.
const SERVICES: [Service; 11] = [
    local("OpenAI, learned", Provider::OpenAi, "gpt-5.6-terra"),
    hosted("OpenAI", Provider::OpenAi, "gpt-5.6-terra", "http://api.openai.com/v1"),
    local("DeepSeek, by the model", Provider::DeepSeek, "deepseek-v4"),
    hosted("DeepSeek", Provider::DeepSeek, "deepseek-v4", "http://api.deepseek.com"),
    local("OpenRouter, learned", Provider::OpenRouter, "anthropic/claude-5"),
    hosted("OpenRouter", Provider::OpenRouter, "anthropic/claude-5", "http://openrouter.ai/api/v1"),
    local("Gemini, learned", Provider::Gemini, "gemini-3-pro"),
    hosted("Gemini", Provider::Gemini, "gemini-3-pro", "http://generativelanguage.googleapis.com/v1beta/openai"),
    local("Mistral, learned", Provider::Mistral, "devstral-2"),
    hosted("Mistral", Provider::Mistral, "devstral-2", "http://api.mistral.ai/v1"),
    local("another server", Provider::Generic, "qwen4"),
];

impl Service {
    /// A world whose default model this service serves, with further settings of that model and further sections.
    fn world(&self, script: Script, of_model: &str, sections: &str) -> World {
        let mut world = World::with(script.provider(self.provider));
        self.configure(&mut world, of_model, sections);
        world
    }

    /// Takes the place of the service before with a new server, which remembers nothing.
    fn take_over(&self, world: &mut World, script: Script) {
        world.serve(script.provider(self.provider));
        self.configure(world, "", "");
    }

    fn configure(&self, world: &mut World, of_model: &str, sections: &str) {
        let mut model = format!("[models.default]\nmodel = {:?}\n{of_model}", self.model);
        if let Some(address) = self.address {
            let proxy = world.server().url().trim_end_matches("/v1").to_owned();
            world.set("http_proxy", &proxy);
            model += &format!("base_url = {address:?}\n");
        }
        world.file("aime.toml", &format!("{model}{sections}"));
    }

    /// The number of refusals from which a run learns that acts before it answers in a form, and of one that answers in a form first.
    fn lessons(&self) -> (usize, usize) {
        match (self.provider, self.address) {
            // To use Responses for tools. Chat completions refuse the name of the bound and the temperature before.
            (Provider::OpenAi, None) => (1, 3),
            // To leave out `stream_options`.
            (Provider::Mistral, None) => (1, 1),
            _ => (0, 0),
        }
    }
}

/// A reply in which the model has thought first. Each thought is another one.
fn thought(number: usize, reply: Reply) -> Reply {
    reply.with_reasoning(format!("Thought number {number} is about the task."))
}

/// The services that are reached by an address of this machine, which tells nothing of them.
fn local_services() -> impl Iterator<Item = Service> {
    SERVICES.into_iter().filter(|service| service.address.is_none())
}

/// Each local service before each other one.
fn pairs() -> impl Iterator<Item = (Service, Service)> {
    local_services().flat_map(|first| local_services().filter(move |other| other.name != first.name).map(move |other| (first, other)))
}

/// The requests that the service refused.
fn refused(world: &World) -> Vec<Received> {
    world.server().received().into_iter().filter(|received| received.rule.is_none()).collect()
}

/// The requests that were answered.
fn accepted(world: &World) -> Vec<Value> {
    world.server().received().into_iter().filter(|received| received.rule.is_some()).map(|received| received.body).collect()
}

/// The messages of a chat, or the items of a request to Responses.
fn entries(request: &Value) -> &Vec<Value> {
    request.get("messages").or_else(|| request.get("input")).and_then(Value::as_array).unwrap()
}

/// The name of the schema that an answer must follow.
fn schema(request: &Value) -> Option<&str> {
    ["/response_format/json_schema/name", "/text/format/name"].into_iter().find_map(|pointer| request.pointer(pointer)?.as_str())
}

/// Whether a request offers tools.
fn acts(request: &Value) -> bool {
    request.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
}

/// The opaque state in a request that only its provider can read, in order.
fn opaque(request: &Value) -> Vec<Value> {
    const MEMBERS: [&str; 6] =
        ["encrypted_content", "reasoning_content", "reasoning_details", "thought_signature", "signature", "thinking"];
    fn collect(value: &Value, found: &mut Vec<Value>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, member)| match MEMBERS.contains(&name.as_str()) {
                true => found.push(member.clone()),
                false => collect(member, found),
            }),
            Value::Array(list) => list.iter().for_each(|one| collect(one, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    entries(request).iter().for_each(|entry| collect(entry, &mut found));
    found
}

/// The results of calls in a request.
fn results(request: &Value) -> Vec<String> {
    let result = |entry: &Value| match (entry["role"].as_str(), entry["type"].as_str()) {
        (Some("tool"), _) => Some(entry["content"].to_string()),
        (_, Some("function_call_output")) => Some(entry["output"].to_string()),
        _ => None,
    };
    entries(request).iter().filter_map(result).collect()
}

/// The names of the called tools in a request, in order.
fn calls(request: &Value) -> Vec<String> {
    let of = |entry: &Value| -> Vec<String> {
        let chat = entry["tool_calls"].as_array().into_iter().flatten().map(|call| &call["function"]["name"]);
        let item = (entry["type"] == "function_call").then_some(&entry["name"]);
        chat.chain(item).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    entries(request).iter().flat_map(of).collect()
}
