//! Runs against servers that check every request as the real services do.
//!
//! Each situation is tried with each provider. A refusal that the client learns from must not end a run, and nothing else may be refused.

mod compaction;
mod costs;
mod direct;
mod fallback;
mod faults;
mod forms;
mod images;
mod keys;
mod killed;
mod led;
mod planned;
mod reading;
mod refusals;
#[cfg(feature = "mcp")]
mod refused_tools;
#[cfg(feature = "web")]
mod searches;
mod secrets;
mod talks;
mod texts;

use aime_scripted_server::{Provider, ReceivedRequest, Reply, Script, ScriptedServer};
use serde_json::Value;

use crate::harness::World;

/// A service, and how a user reaches it.
#[derive(Debug, Clone, Copy)]
struct Service {
    name: &'static str,
    provider: Provider,
    model: &'static str,
    reached: Reached,
    /// Settings of the model.
    settings: &'static str,
    /// The number of refusals from which a run learns that acts before it answers in a form, and of one that answers in a form first.
    lessons: (usize, usize),
}

/// The address of a service.
#[derive(Debug, Clone, Copy)]
enum Reached {
    /// A path of the scripted server, whose own address tells nothing of the provider.
    Here(&'static str),
    /// The address of the real service. Requests to it go to the scripted server, which is the HTTP proxy of the run.
    There(&'static str),
}

impl Service {
    const fn new(name: &'static str, provider: Provider, model: &'static str, reached: Reached) -> Self {
        Self { name, provider, model, reached, settings: "", lessons: (0, 0) }
    }

    const fn with(self, settings: &'static str) -> Self {
        Self { settings, ..self }
    }

    const fn learns(self, direct: usize, planned: usize) -> Self {
        Self { lessons: (direct, planned), ..self }
    }
}

const V1: Reached = Reached::Here("/v1");
const CLAUDE: &str = "provider = \"anthropic\"\neffort = \"high\"\n";

/// Services whose forms must be learned from their refusals, the same where the address or a setting tells them, and each of their protocols.
const SERVICES: [Service; 15] = [
    // To use Responses for tools. Chat completions refuse the name of the bound before.
    Service::new("OpenAI, learned", Provider::OpenAi, "gpt-5.6-terra", V1).learns(1, 2),
    Service::new("OpenAI, Responses", Provider::OpenAi, "gpt-5.6-terra", V1).with("protocol = \"responses\"\n"),
    Service::new("OpenAI, by its address", Provider::OpenAi, "gpt-5.6-terra", Reached::There("http://api.openai.com/v1")),
    Service::new("DeepSeek, by the model", Provider::DeepSeek, "deepseek-v4", V1),
    Service::new("DeepSeek", Provider::DeepSeek, "deepseek-v4-pro", V1).with("provider = \"deepseek\"\neffort = \"high\"\n"),
    Service::new("OpenRouter, unknown", Provider::OpenRouter, "anthropic/claude-5", V1),
    Service::new("OpenRouter, by its address", Provider::OpenRouter, "anthropic/claude-5", Reached::There("http://openrouter.ai/api/v1")),
    Service::new("Gemini, compatible", Provider::Gemini, "gemini-3-pro", Reached::Here("/v1beta/openai")),
    Service::new("Gemini", Provider::Gemini, "gemini-3-pro", Reached::Here("/v1beta")).with("provider = \"gemini\"\neffort = \"high\"\n"),
    // To leave out `stream_options`.
    Service::new("Mistral, learned", Provider::Mistral, "devstral-2", V1).learns(1, 1),
    Service::new("Mistral", Provider::Mistral, "devstral-2", V1).with("provider = \"mistral\"\n"),
    Service::new("Claude, adaptive", Provider::Anthropic, "claude-opus-5", Reached::Here("")).with(CLAUDE),
    Service::new("Claude, bound", Provider::Anthropic, "claude-sonnet-5-5", Reached::There("http://api.anthropic.com")).with(CLAUDE),
    Service::new("Claude, with a budget", Provider::Anthropic, "claude-sonnet-4-5", Reached::Here("/v1/messages")).with(CLAUDE),
    Service::new("another server", Provider::Generic, "qwen4", V1),
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
        let origin = world.server().origin();
        let model = self.section("default", world.server());
        world.set("http_proxy", &origin);
        world.set("SERVICE_KEY", "key-of-the-service");
        // A project's file may not send a key to a server of its own.
        world.user_settings(&format!("{model}{of_model}{sections}"));
    }

    /// The settings of a model that this service serves.
    fn section(&self, name: &str, server: &ScriptedServer) -> String {
        let address = match self.reached {
            Reached::Here(path) => format!("{}{path}", server.origin()),
            Reached::There(address) => address.to_owned(),
        };
        let Self { model, settings, .. } = self;
        format!("[models.{name}]\nmodel = {model:?}\nbase_url = {address:?}\napi_key_env = \"SERVICE_KEY\"\n{settings}")
    }

    fn is_here(&self) -> bool {
        matches!(self.reached, Reached::Here(_))
    }
}

/// Services one of which goes on with what the other began: each before three others.
fn pairs() -> impl Iterator<Item = (Service, Service)> {
    let here: Vec<Service> = SERVICES.into_iter().filter(Service::is_here).collect();
    let count = here.len();
    let pair = move |first: usize, step: usize| (here[first], here[(first + step) % count]);
    (0..count).flat_map(move |first| [1, 4, count - 2].map(|step| (first, step))).map(move |(first, step)| pair(first, step))
}

/// A reply in which the model has thought first. Each thought is another one.
fn thought(number: usize, reply: Reply) -> Reply {
    reply.with_reasoning(format!("Thought number {number} is about the task."))
}

/// The requests that the service refused.
fn refused(world: &World) -> Vec<ReceivedRequest> {
    world.server().received().into_iter().filter(|received| received.rule.is_none()).collect()
}

/// The requests that were answered.
fn accepted(world: &World) -> Vec<Value> {
    world.server().received().into_iter().filter(|received| received.rule.is_some()).map(|received| received.body).collect()
}
